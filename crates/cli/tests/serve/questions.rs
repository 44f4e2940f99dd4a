//! Questions over many dumps, from uploads to answers.

use std::fs;

use serde_json::{Value, json};

use crate::server::{Server, chain, eventually};
use crate::support::Scene;

/// Where the time of a dump with 4-byte identifiers lies in its head.
const TIME: std::ops::Range<usize> = 23..31;

/// Uploads a list of a number of nodes that was dumped at a time, and waits for its analysis.
fn analysed(server: &Server, scene: &Scene, nodes: u32, build: u64) -> String {
    let path = chain(&scene.path(&format!("{build}.hprof")), nodes);
    let mut bytes = fs::read(&path).unwrap();
    bytes[TIME].copy_from_slice(&(1_700_000_000_000 + build).to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let id = server.upload(&path);
    let labels = json!({"labels": {"service": "shop", "host": "eu-1", "build": build.to_string()}});
    let kind = [("content-type", "application/json")];
    let answer = server.request(
        "PATCH",
        &format!("/api/v1/dumps/{id}"),
        &kind,
        labels.to_string().as_bytes(),
    );
    assert_eq!(answer.status, 200, "{}", answer.text());
    server.wait_for(&id, "done");
    id
}

fn rows(server: &Server, question: &str) -> Vec<Value> {
    let answer = server.get(&format!("/api/v1/fleet/{question}"));
    assert_eq!(answer.status, 200, "{question}: {}", answer.text());
    answer.json()["rows"].as_array().unwrap().clone()
}

/// The own bytes of the nodes of a dump.
fn shallow(server: &Server, dump: &str) -> u64 {
    let path = format!("/api/v1/dumps/{dump}/histogram?filter=^Node$");
    server.get(&path).json()["rows"][0]["shallow"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_fleet_is_asked_over_its_dumps_and_forgets_those_that_are_deleted() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--no-jvms"]);
    assert_eq!(rows(&server, "services"), Vec::<Value>::new());
    // They come in another order than they were taken in.
    let dumps = [3, 1, 2].map(|build| {
        let nodes = 2000 * u32::try_from(build).unwrap();
        (build, analysed(&server, &scene, nodes, build))
    });
    let id = |build: u64| &dumps.iter().find(|dump| dump.0 == build).unwrap().1;
    let sizes = [1, 2, 3].map(|build| shallow(&server, id(build)));

    let grown = rows(&server, "growth?service=shop&by=shallow");
    let node = grown.iter().find(|row| row["name"] == "Node").unwrap();
    assert_eq!(node["trend"], json!(sizes));
    assert_eq!(node["grown_delta"], sizes[2] - sizes[0]);
    assert_eq!(
        (&node["objects"], &node["hosts"]),
        (&json!(6000), &json!(1))
    );
    let csv = server.get("/api/v1/fleet/growth?service=shop&by=shallow&format=csv");
    let trend = format!("{} {} {}", sizes[0], sizes[1], sizes[2]);
    assert!(csv.text().contains(&trend), "{}", csv.text());

    let regressions = rows(&server, "regressions?service=shop&old=1&new=3&by=shallow");
    let node = regressions
        .iter()
        .find(|row| row["name"] == "Node")
        .unwrap();
    assert_eq!(
        (&node["old"], &node["new"]),
        (&json!(sizes[0]), &json!(sizes[2]))
    );
    let builds = rows(&server, "builds?service=shop");
    let names: Vec<&Value> = builds.iter().map(|row| &row["build"]).collect();
    assert_eq!(names, ["3", "2", "1"]);

    // The suspect of a dump leads to all who carry it.
    let suspects = server
        .get(&format!("/api/v1/dumps/{}/suspects", id(1)))
        .json();
    let code = suspects["items"][0]["code"].as_str().unwrap().to_owned();
    let found = rows(&server, "suspects?service=shop");
    assert_eq!(found[0]["code"], code.as_str());
    assert_eq!(
        (&found[0]["dumps"], &found[0]["services"]),
        (&json!(3), &json!(1))
    );
    assert!(found[0]["signature"].as_str().unwrap().contains("Node"));
    let carriers = rows(&server, &format!("suspects/{code}"));
    assert_eq!(carriers[0]["dump"], id(3).as_str());
    let waste = rows(&server, "waste");
    assert_eq!(
        (&waste[0]["service"], &waste[0]["hosts"]),
        (&json!("shop"), &json!(1))
    );

    for (wrong, status, kind) in [
        ("growth?service=shop&last=2", 400, "bad-request"),
        ("growth", 400, "bad-request"),
        ("growth?service=shop&by=weight", 400, "bad-request"),
        ("services?sort=nothing", 400, "bad-request"),
        ("sql/schema.md", 404, "not-found"),
        ("suspects/nothing", 404, "not-found"),
        ("suspects?code=%27", 400, "bad-request"),
    ] {
        let answer = server.get(&format!("/api/v1/fleet/{wrong}"));
        answer.assert_problem(status, kind);
    }
    let sql = server.get("/api/v1/fleet/sql/suspects.sql").text();
    assert!(sql.contains("SELECT f.signature"), "{sql}");

    // A catalogue of an earlier version has no figures; the reports are read when the server starts.
    server.terminate();
    let catalogue = rusqlite::Connection::open(scene.path("serve/catalogue.db")).unwrap();
    catalogue
        .execute_batch(
            "DELETE FROM class_figures; DELETE FROM suspect_figures; UPDATE dumps SET figures = 0",
        )
        .unwrap();
    drop(catalogue);
    let server = Server::start(&scene, &["--no-jvms"]);
    eventually("the figures of all dumps", || {
        let services = rows(&server, "services");
        (services.first()?["dumps"] == 3).then_some(())
    });
    assert_eq!(rows(&server, "growth?service=shop&by=shallow"), grown);
    assert_eq!(rows(&server, "suspects?service=shop"), found);

    let path = format!("/api/v1/dumps/{}", id(3));
    assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    assert_eq!(rows(&server, "growth?service=shop"), Vec::<Value>::new());
    assert_eq!(
        rows(&server, &format!("suspects/{code}"))[0]["dump"],
        id(2).as_str()
    );
}
