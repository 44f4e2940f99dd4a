//! Uploads in pieces: lost connections, killed servers, two writers.

use std::fs;
use std::io::Write;
use std::net::TcpStream;

use crate::server::{Answer, Server, eventually};
use crate::support::{Scene, data};

const TUS: (&str, &str) = ("tus-resumable", "1.0.0");
const BYTES: (&str, &str) = ("content-type", "application/offset+octet-stream");

/// Begins an upload of `length` bytes of the name `heap.hprof`; gives its path.
pub fn begin(server: &Server, length: usize) -> String {
    let length = length.to_string();
    let headers = [
        TUS,
        ("upload-length", length.as_str()),
        ("upload-metadata", "filetype YQ==,filename aGVhcC5ocHJvZg=="),
    ];
    let answer = server.request("POST", "/api/v1/uploads", &headers, b"");
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.header("tus-resumable"), "1.0.0");
    answer.header("location").to_owned()
}

pub fn offset(server: &Server, path: &str) -> usize {
    let answer = server.request("HEAD", path, &[TUS], b"");
    assert_eq!(answer.status, 200);
    answer.header("upload-offset").parse().unwrap()
}

pub fn send(server: &Server, path: &str, offset: usize, bytes: &[u8]) -> Answer {
    let offset = offset.to_string();
    let headers = [TUS, BYTES, ("upload-offset", offset.as_str())];
    server.request("PATCH", path, &headers, bytes)
}

/// Sends a part of what a request announces, and breaks the connection off.
pub fn break_off(server: &Server, path: &str, offset: usize, announced: usize, bytes: &[u8]) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nTus-Resumable: 1.0.0\r\n\
         Content-Type: application/offset+octet-stream\r\nUpload-Offset: {offset}\r\n\
         Content-Length: {announced}\r\n\r\n",
        server.address, server.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(bytes).unwrap();
}

#[test]
fn an_upload_survives_a_lost_connection_and_a_killed_server() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let path = begin(&server, bytes.len());
    break_off(&server, &path, 0, bytes.len(), &bytes[..100_000]);
    eventually("what came before the connection was lost", || {
        (offset(&server, &path) == 100_000).then_some(())
    });
    // The lost connection may be noticed later than its bytes.
    eventually("the next piece", || {
        let answer = send(&server, &path, 100_000, &bytes[100_000..150_000]);
        assert!([204, 423].contains(&answer.status), "{}", answer.text());
        (answer.status == 204).then_some(())
    });
    break_off(
        &server,
        &path,
        150_000,
        bytes.len() - 150_000,
        &bytes[150_000..200_000],
    );
    eventually("the piece after that", || {
        (offset(&server, &path) == 200_000).then_some(())
    });
    server.kill();

    let server = Server::start(&scene, &[]);
    assert_eq!(offset(&server, &path), 200_000);
    let answer = send(&server, &path, 200_000, &bytes[200_000..]);
    assert_eq!(answer.status, 204, "{}", answer.text());
    let id = answer.header("hprof-dump").to_owned();
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["name"], "heap.hprof");
    assert_eq!(dump["bytes"], bytes.len());
    assert!(server.get(&format!("/api/v1/dumps/{id}/file")).body == bytes);
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
    // A client that missed the last answer learns the dump by asking again.
    let again = server.request("HEAD", &path, &[TUS], b"");
    assert_eq!(again.header("upload-offset"), bytes.len().to_string());
    assert_eq!(again.header("hprof-dump"), id);
    let again = send(&server, &path, bytes.len(), b"");
    assert_eq!(
        (again.status, again.header("hprof-dump")),
        (204, id.as_str())
    );
}

#[test]
fn a_piece_at_the_wrong_place_or_by_a_second_writer_changes_nothing() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let path = begin(&server, bytes.len());
    send(&server, &path, 10, &bytes[10..20]).assert_problem(409, "conflict");
    // A writer that has not finished.
    let mut first = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nTus-Resumable: 1.0.0\r\n\
         Content-Type: application/offset+octet-stream\r\nUpload-Offset: 0\r\nContent-Length: 100\r\n\r\n",
        server.address, server.token
    );
    first.write_all(head.as_bytes()).unwrap();
    first.write_all(&bytes[..50]).unwrap();
    eventually("the first bytes", || {
        (offset(&server, &path) == 50).then_some(())
    });
    send(&server, &path, 50, &bytes[50..60]).assert_problem(423, "locked");
    first.write_all(&bytes[50..100]).unwrap();
    eventually("the first writer", || {
        (offset(&server, &path) == 100).then_some(())
    });
    eventually("the last piece", || {
        let answer = send(&server, &path, 100, &bytes[100..]);
        (answer.status == 204).then_some(())
    });
}

#[test]
fn an_upload_that_is_too_long_given_up_or_no_dump_leaves_nothing() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--max-upload", "1M"]);
    let headers = [TUS, ("upload-length", "2000000")];
    let answer = server.request("POST", "/api/v1/uploads", &headers, b"");
    answer.assert_problem(413, "too-large");
    let headers = [("upload-length", "20")];
    let answer = server.request("POST", "/api/v1/uploads", &headers, b"");
    answer.assert_problem(412, "tus-version");

    let path = begin(&server, 20);
    let more = send(&server, &path, 0, &[b'x'; 21]);
    more.assert_problem(413, "too-large");
    assert_eq!(server.request("DELETE", &path, &[TUS], b"").status, 204);
    server
        .request("DELETE", &path, &[TUS], b"")
        .assert_problem(404, "not-found");

    let path = begin(&server, 20);
    send(&server, &path, 0, b"{\"this\": \"is JSON\"}\n").assert_problem(415, "not-a-dump");
    assert_eq!(server.request("HEAD", &path, &[TUS], b"").status, 404);
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
}
