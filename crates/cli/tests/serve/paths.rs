//! A path means one thing in one form: others are not found, whatever they would look like decoded.

use crate::server::Server;
use crate::support::Scene;

/// The media types that a browser asks for when a link is followed.
const OF_BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

#[test]
fn other_forms_of_a_path_are_not_found() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    for path in [
        "/%61pi",
        "/%61pi/v1/dumps",
        "/%2561pi/v1/dumps",
        "/API",
        "/API/v1/dumps",
        "/Api/v1/dumps",
        "/api",
        "/api/",
        "/api/v1",
        "/api/V1/dumps",
        "/api/v1/dumps/",
        "/api/v1//dumps",
        "/api/v1/%64umps",
        "/api%2fv1/dumps",
        "//api/v1/dumps",
        "/healthz/",
        "/Healthz",
        "/%68ealthz",
        "//healthz",
        "/metrics/",
        "/assets",
        "/assets/",
        "/assets/nothing.js",
        "//assets/nothing.js",
    ] {
        for headers in [&[][..], &[OF_BROWSER]] {
            let answer = server.request("GET", path, headers, b"");
            assert_eq!(answer.status, 404, "{path}: {}", answer.text());
            answer.assert_problem(404, "not-found");
        }
    }
    // Files of the page have one path, too.
    let page = server.get("/").text();
    let script = page.split('"').find(|it| it.starts_with("/assets/index-"));
    let script = script.expect("a script");
    assert_eq!(server.get(script).status, 200);
    for other in [
        format!("/{script}"),
        script.replace("/assets/", "/assets//"),
        script.replace("/assets/", "/assets/./"),
        script.replace("/assets/", "/%61ssets/"),
        script.to_uppercase(),
    ] {
        server.get(&other).assert_problem(404, "not-found");
    }
}

#[test]
fn deep_links_show_the_page_and_other_paths_say_that_they_are_none() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let page = server.get("/");
    assert_eq!(page.status, 200);
    for path in [
        "/dumps/0a1b2c3d4e5f6071",
        "/dumps/0a1b2c3d4e5f6071/histogram?sort=-bytes",
        "/dumps/0a1b2c3d4e5f6071/objects/2a",
        "/compare/histogram?dumps=a,b",
        "/fleet",
        "/fleet/growth",
        "/jvms/7",
        "/jvms/docker%3A7/flame",
        "/index.html",
    ] {
        let answer = server.bare_request("GET", path, &[], b"");
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.body, page.body, "{path}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        let put = server.bare_request("PUT", path, &[], b"");
        put.assert_problem(405, "method-not-allowed");
        assert_eq!(put.header("allow"), "GET,HEAD");
    }
    for path in [
        "/nothing",
        "/Fleet",
        "/fleet/",
        "/dumps",
        "/dumps//x",
        "/.env",
    ] {
        let shown = server.bare_request("GET", path, &[OF_BROWSER], b"");
        assert_eq!((shown.status, &shown.body), (404, &page.body), "{path}");
        let program = server.bare_request("GET", path, &[], b"");
        program.assert_problem(404, "not-found");
        let put = server.bare_request("PUT", path, &[], b"");
        put.assert_problem(404, "not-found");
    }
}

#[test]
fn files_of_the_page_are_sent_compressed_to_those_who_take_that() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let plain = server.bare_request("GET", "/", &[("accept-encoding", "identity")], b"");
    let script = plain.text();
    let script = script
        .split('"')
        .find(|it| it.starts_with("/assets/index-"));
    let script = script.expect("a script");
    let get = |takes: &str| server.bare_request("GET", script, &[("accept-encoding", takes)], b"");
    let (plain, packed) = (get("gzip;q=0"), get("br, gzip"));
    assert_eq!(plain.header("content-encoding"), "");
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert_eq!(packed.header("vary"), "accept-encoding");
    assert!(packed.body.len() * 2 < plain.body.len());
    let mut unpacked = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(&packed.body[..]);
    std::io::Read::read_to_end(&mut reader, &mut unpacked).unwrap();
    assert_eq!(unpacked, plain.body);
}
