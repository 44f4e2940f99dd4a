//! Views over HTTP: statuses, problems, CSV, cursors, profiles apart from heap dumps.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use hprof_server::Config;
use hprof_server::catalogue::{
    Catalogue, Claim, DumpKind, Ending, NewDump, Outcome, Queue, Role, SqliteCatalogue,
};
use hprof_server::ids::{ContentHash, DumpId};
use hprof_server::state::AppState;
use hprof_server::store::{FolderStore, Store};
use serde_json::Value;
use tower::ServiceExt;

use super::opening::data;

/// A server with dumps whose jobs are done, but for the last.
struct Site {
    state: AppState,
    token: String,
    heap: DumpId,
    profile: DumpId,
    waiting: DumpId,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let store = FolderStore::open(folder.path()).unwrap();
    let catalogue = SqliteCatalogue::open(&folder.path().join("catalogue.db")).unwrap();
    let add = |byte: u8, name: &str, kind: DumpKind| {
        let sha256 = ContentHash::of_bytes([byte; 32]);
        let id = DumpId::of_hash(&sha256);
        let path = folder.path().join("dumps").join(id.as_str());
        std::fs::copy(data(name), &path).unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len();
        let name = name.to_owned();
        let new = NewDump {
            id: id.clone(),
            name,
            bytes,
            sha256,
            stripped: false,
            strippings: Vec::new(),
            note: String::new(),
        };
        catalogue.add_dump(&new).unwrap();
        if kind != DumpKind::Unknown {
            let claim = Claim {
                worker: "test",
                room: u64::MAX,
                lease: std::time::Duration::from_secs(60),
            };
            let job = catalogue.claim(&claim).unwrap().unwrap();
            let attempt = job.attempt;
            let folder = store.begin_analysis(&id, attempt).unwrap();
            std::fs::write(folder.join("report.json"), "{}").unwrap();
            store.publish_analysis(&id, attempt).unwrap();
            let outcome = Outcome {
                kind,
                headline: None,
                summary: None,
                figures: None,
            };
            let done = Ending::Done(outcome);
            catalogue.end(job.id, attempt, &done).unwrap();
        }
        id
    };
    let heap = add(1, "hprof-32.bin", DumpKind::Heap);
    let profile = add(2, "cpu-samples-thread.txt", DumpKind::Profile);
    let waiting = add(3, "monitor.txt", DumpKind::Unknown);
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        folder: folder.path().to_owned(),
        fleet: Default::default(),
        store: None,
        executable: "/bin/false".into(),
        memory: 1 << 30,
        workers: 1,
        allowed_roots: Vec::new(),
        max_upload: 1 << 30,
        strip: None,
        connections: hprof_server::ConnectionLimits::default(),
        pace: hprof_server::MinimumPace::default(),
        hosts: Vec::new(),
        tls: None,
        behind_proxy: false,
        max_rate: 10_000,
        keep_pushed: Default::default(),
        keep: Default::default(),
        recognise: |_| None,
        machine: None,
        network: None,
    };
    let state = AppState::new(config, Box::new(catalogue), Arc::new(store));
    let token = state
        .add_token(Role::Reader, "test")
        .unwrap()
        .reveal()
        .to_owned();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    Site {
        state,
        token,
        heap,
        profile,
        waiting,
        runtime,
        _folder: folder,
    }
}

impl Site {
    fn send(&self, method: &str, path: &str, body: &str) -> (Response<()>, String) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1")
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        self.runtime.block_on(async {
            let router = hprof_server::api::router(self.state.clone());
            let response = router.oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap();
            (
                Response::from_parts(parts, ()),
                String::from_utf8(bytes.to_vec()).unwrap(),
            )
        })
    }

    fn get(&self, id: &DumpId, view: &str) -> (StatusCode, Value) {
        let (response, body) = self.send("GET", &format!("/api/v1/dumps/{id}/{view}"), "");
        let json = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{view}: {body}"));
        (response.status(), json)
    }

    fn ok(&self, id: &DumpId, view: &str) -> Value {
        let (status, json) = self.get(id, view);
        assert_eq!(status, StatusCode::OK, "{view}: {json}");
        json
    }
}

#[test]
fn every_view_of_a_heap_dump_answers() {
    let site = site();
    let heap = &site.heap;
    for view in [
        "histogram",
        "histogram?by=superclass",
        "dominators?by=class",
        "roots",
        "threads",
        "loaders",
        "duplicate-classes",
        "duplicates",
        "collections",
        "unreachable",
        "buffers",
        "references",
        "properties",
        "environment",
        "android",
        "sites",
    ] {
        let table = site.ok(heap, view);
        assert!(!table["columns"].as_array().unwrap().is_empty(), "{view}");
        assert!(table["rows"].as_array().unwrap().len() <= 100, "{view}");
    }
    let top = site.ok(heap, "dominators?limit=1");
    let id = top["rows"][0]["object"].as_str().unwrap().to_owned();
    let node = top["rows"][0]["node"].as_str().unwrap();
    site.ok(heap, &format!("dominators?node={node}"));
    for view in [
        "",
        "/fields",
        "/entries",
        "/references?direction=in",
        "/path",
    ] {
        site.ok(heap, &format!("objects/{id}{view}"));
    }
    let class = site.ok(heap, &format!("objects/{id}"))["class"]["id"].clone();
    let class = class.as_str().unwrap();
    for view in ["", "/instances", "/paths"] {
        site.ok(heap, &format!("classes/{class}{view}"));
    }
    let thread = site.ok(heap, "threads")["rows"][0]["object"].clone();
    let stack = site.ok(heap, &format!("threads/{}", thread.as_str().unwrap()));
    assert!(stack["frames"].is_array());
    assert_eq!(site.ok(heap, "treemap")["name"], "heap");
    assert!(site.ok(heap, "suspects")["items"].is_array());
    assert_eq!(site.ok(heap, "overview")["file"], "hprof-32.bin");
    let same = site.ok(heap, &format!("compare?with={heap}&limit=1000"));
    assert!(
        same["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["objects_delta"] == 0)
    );
    for view in ["", "/flame", "/methods", "/tree"] {
        site.ok(&site.profile, &format!("profile{view}"));
    }
    site.ok(
        &site.profile,
        &format!("profile/compare?with={}", site.profile),
    );
}

#[test]
fn pages_follow_one_another_by_their_cursors() {
    let site = site();
    let (mut names, mut path) = (Vec::new(), "histogram?limit=50&sort=name".to_owned());
    loop {
        let table = site.ok(&site.heap, &path);
        let rows = table["rows"].as_array().unwrap();
        names.extend(
            rows.iter()
                .map(|row| row["name"].as_str().unwrap().to_owned()),
        );
        let Some(next) = table["next"].as_str() else {
            assert_eq!(table["total"], names.len());
            break;
        };
        path = format!("histogram?limit=50&sort=name&cursor={next}");
    }
    assert!(names.len() > 100 && names.is_sorted());
    let url = format!("/api/v1/dumps/{}/histogram?format=csv&sort=name", site.heap);
    let (response, csv) = site.send("GET", &url, "");
    assert_eq!(
        response.headers()["content-type"],
        "text/csv; charset=utf-8; header=present"
    );
    assert_eq!(csv.lines().count(), names.len() + 1);
    assert!(csv.starts_with("name,objects,shallow,retained\n"));
}

#[test]
fn problems_have_a_kind_and_a_sentence() {
    let site = site();
    let (heap, profile, waiting) = (&site.heap, &site.profile, &site.waiting);
    let missing = DumpId::of_hash(&ContentHash::of_bytes([9; 32]));
    for (id, view, status, kind) in [
        (&missing, "histogram", 404, "not-found"),
        (waiting, "histogram", 409, "not-ready"),
        (profile, "histogram", 409, "conflict"),
        (heap, "profile", 409, "conflict"),
        (heap, "histogram?limit=0", 400, "bad-request"),
        (heap, "histogram?limit=x", 400, "bad-request"),
        (heap, "histogram?by=colour", 400, "bad-request"),
        (heap, "histogram?sort=colour", 400, "bad-request"),
        (heap, "histogram?filter=(", 400, "bad-request"),
        (heap, "histogram?cursor=x", 400, "bad-request"),
        (heap, "dominators?node=x", 400, "bad-request"),
        (heap, "objects/12", 400, "bad-request"),
        (heap, "objects/0x1", 404, "not-found"),
        (heap, "classes/0x1/instances", 404, "not-found"),
        (heap, "compare?with=x", 400, "bad-request"),
        (heap, "treemap?depth=99", 400, "bad-request"),
    ] {
        let (found, json) = site.get(id, view);
        assert_eq!(
            (found.as_u16(), json["type"].as_str()),
            (status, Some(kind)),
            "{view}: {json}"
        );
        assert!(!json["detail"].as_str().unwrap().is_empty(), "{view}");
    }
    for (view, sentence) in [
        (
            "histogram?by=colour",
            "by=colour: no such value; it is one of class, superclass, package, loader",
        ),
        (
            "dominators?limit=x",
            "limit=x: give a whole number from 0 on",
        ),
        ("compare", "with: the parameter is missing"),
    ] {
        assert_eq!(site.get(heap, view).1["detail"], sentence, "{view}");
    }
    let (_, body) = site.send("GET", "/api/v1/jobs/x", "");
    assert!(body.contains("\"id=x: give a whole number"), "{body}");
    let (response, body) = site.send("GET", "/api/v1/dumps/..%2f..%2fetc/histogram", "");
    assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{body}");
    let kind = &response.headers()["content-type"];
    assert_eq!(kind, "application/problem+json");
    let query = format!("/api/v1/dumps/{heap}/query");
    let (response, body) = site.send("POST", &query, "{\"sql\": 7}");
    assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{body}");
}

#[test]
fn the_description_of_the_api_has_all_views() {
    let site = site();
    let (response, body) = site.send("GET", "/api/v1/openapi.json", "");
    assert_eq!(response.status(), StatusCode::OK);
    let document: Value = serde_json::from_str(&body).unwrap();
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/dumps/{id}/histogram",
        "/dumps/{id}/query",
        "/dumps/{id}/profile/flame",
    ] {
        assert!(paths.contains_key(&format!("/api/v1{path}")), "{path}");
    }
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let mut names: Vec<&str> = (operation["parameters"].as_array().into_iter().flatten())
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{method} {path} names a parameter twice");
        }
    }
}

#[test]
fn a_view_that_breaks_ends_nothing_but_its_request() {
    let site = site();
    let state = site.state.clone();
    let broken = state.blocking(|_| -> Result<(), hprof_server::Problem> { panic!("broken") });
    let problem = site.runtime.block_on(broken).unwrap_err();
    assert_eq!(problem.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!problem.detail.contains("broken"));
    site.ok(&site.heap, "histogram");
}

#[test]
fn rules_that_somebody_else_judged_meanwhile_are_shown_as_judged() {
    use hprof_server::rules::{Rule, Verdict};

    let site = site();
    let rule: Rule = "suspects=0".parse().unwrap();
    let catalogue = site.state.catalogue();
    let open = [Verdict::open(&rule)];
    assert!(catalogue.set_rules(&site.profile, &open, None).unwrap());
    let read = || catalogue.dump(&site.profile).unwrap().unwrap();
    let (mut first, mut second) = (read(), read());
    site.state.judge_in(&mut first).unwrap();
    site.state.judge_in(&mut second).unwrap();
    assert_eq!(first.rules[0].passed, Some(false));
    assert_eq!(second.rules, first.rules);
}
