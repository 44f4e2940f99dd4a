//! Who may not: each is refused, and nothing changes.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use java_test_harness::contains;
use serde_json::json;

use crate::server::Server;
use crate::support::{Scene, data, run, stderr, stdout};

const SOME: &str = "/api/v1/dumps/0a1b2c3d4e5f6071";

#[test]
fn without_a_token_nothing_but_the_page_is_shown() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let wrong = "0".repeat(64);
    let bearer = format!("Bearer {wrong}");
    let cookie = format!("hprof_rs_session={wrong}");
    let attempts: [&[(&str, &str)]; 4] = [
        &[],
        &[("authorization", &bearer)],
        &[("cookie", &cookie)],
        &[("authorization", "Basic YTpi")],
    ];
    let some_file = format!("{SOME}/file");
    for headers in attempts {
        for (method, path) in [
            ("GET", "/api/v1/server"),
            ("GET", "/api/v1/dumps"),
            ("GET", "/api/v1/events"),
            ("GET", "/api/v1/openapi.json"),
            ("GET", "/metrics"),
            ("GET", some_file.as_str()),
            ("GET", "/api/v1/no/such/route"),
            ("PUT", "/api/v1/dumps?name=a"),
            ("POST", "/api/v1/dumps"),
            ("POST", "/api/v1/uploads"),
            ("PATCH", "/api/v1/uploads/0"),
            ("DELETE", SOME),
            ("POST", "/api/v1/jobs/1/cancel"),
        ] {
            let answer = server.bare_request(method, path, headers, b"");
            answer.assert_problem(401, "no-token");
        }
    }
    assert_eq!(server.bare_request("GET", "/", &[], b"").status, 200);
    let link = server.bare_request("GET", &format!("/?token={wrong}"), &[], b"");
    link.assert_problem(401, "no-token");
    assert_eq!(link.header("set-cookie"), "");
    // A browser gets the page, which asks for another token.
    let browser = [("accept", "text/html,*/*;q=0.8")];
    let path = format!("/dumps/0a1b2c3d4e5f6071/histogram?sort=name&token={wrong}");
    let refused = server.bare_request("GET", &path, &browser, b"");
    let expected = "/dumps/0a1b2c3d4e5f6071/histogram?sort=name&signin=refused";
    assert_eq!(
        (refused.status, refused.header("location")),
        (303, expected)
    );
    assert_eq!(refused.header("set-cookie"), "");
}

#[test]
fn a_link_leads_to_its_view_and_outlives_a_restart() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let path = format!("/dumps/0a1b2c3d4e5f6071?token={}&sort=name", server.token);
    let answer = server.bare_request("GET", &path, &[("accept", "text/html")], b"");
    let expected = "/dumps/0a1b2c3d4e5f6071?sort=name";
    assert_eq!((answer.status, answer.header("location")), (303, expected));
    let cookie = answer.header("set-cookie").to_owned();
    let cookie = cookie.split(';').next().unwrap();
    // What is no view of the page gives no session.
    for path in ["//example.com/", "/no/such/view/at/all", "/healthz"] {
        let path = format!("{path}?token={}", server.token);
        let answer = server.bare_request("GET", &path, &[("accept", "text/html")], b"");
        assert_eq!(answer.header("set-cookie"), "", "{path}");
    }
    let token = server.token.clone();
    server.terminate();
    let kept = scene.path("serve/link-token");
    let mode = fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let server = Server::start(&scene, &[]);
    assert_eq!(server.token, token);
    let shown = server.bare_request("GET", "/api/v1/server", &[("cookie", cookie)], b"");
    assert_eq!(shown.status, 200);
    server.terminate();
    // Without the file, and where others could read it, there is a new one.
    fs::set_permissions(&kept, Permissions::from_mode(0o644)).unwrap();
    let server = Server::start(&scene, &[]);
    assert_ne!(server.token, token);
    let shown = server.bare_request("GET", "/api/v1/server", &[("cookie", cookie)], b"");
    shown.assert_problem(401, "no-token");
}

#[test]
fn labels_come_with_the_bytes() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let dump = fs::read(data("cpu-samples.txt")).unwrap();
    let path = "/api/v1/dumps?name=a&label=service%3Dshop&label=build%3D8%3D12";
    let added = server.request("PUT", path, &[], &dump);
    assert_eq!(added.status, 201);
    assert_eq!(
        added.json()["labels"],
        json!({"service": "shop", "build": "8=12"})
    );
    for wrong in ["label=shop", "label=%3Dshop"] {
        let path = format!("/api/v1/dumps?name=b&{wrong}");
        let refused = server.request("PUT", &path, &[], &dump);
        refused.assert_problem(400, "bad-request");
    }
}

#[test]
fn the_link_gives_a_cookie_that_scripts_cannot_read() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let answer = server.bare_request("GET", &format!("/?token={}", server.token), &[], b"");
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    let cookie = answer.header("set-cookie").to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    let shown = server.bare_request("GET", "/api/v1/server", &[("cookie", cookie)], b"");
    assert_eq!(shown.json()["role"], "admin");
    // Another page can have the browser send it; only an own page has the right origin.
    let no_origin =
        server.bare_request("POST", "/api/v1/jobs/1/cancel", &[("cookie", cookie)], b"");
    no_origin.assert_problem(403, "no-origin");
    let origin = format!("http://{}", server.address);
    let headers = [("cookie", cookie), ("origin", origin.as_str())];
    let own = server.bare_request("POST", "/api/v1/jobs/1/cancel", &headers, b"");
    own.assert_problem(404, "not-found");
}

#[test]
fn each_role_may_do_its_own_and_no_more() {
    let scene = Scene::new();
    let token = |role: &str| {
        let command = ["serve", "--folder", "serve", "--new-token", role];
        let output = run(&mut scene.hprof_rs(&command), "");
        format!("Bearer {}", stdout(&output).trim())
    };
    let (reader, uploader) = (token("reader:team"), token("uploader"));
    let server = Server::start(&scene, &[]);
    let dump = fs::read(data("cpu-samples.txt")).unwrap();
    let ask = |who: &str, method: &str, path: &str, body: &[u8]| {
        let headers = [("authorization", who), ("content-type", "application/json")];
        server.bare_request(method, path, &headers, body)
    };
    assert_eq!(ask(&reader, "GET", "/api/v1/dumps", b"").status, 200);
    assert_eq!(
        ask(&uploader, "PUT", "/api/v1/dumps?name=a", &dump).status,
        201
    );
    let path = json!({"path": "/etc/passwd"}).to_string();
    for (who, method, path, body) in [
        (&reader, "PUT", "/api/v1/dumps?name=a", &dump[..]),
        (&reader, "PATCH", SOME, b"{}"),
        (&reader, "POST", "/api/v1/uploads", b""),
        (&reader, "POST", "/api/v1/jobs/1/cancel", b""),
        (&reader, "DELETE", SOME, b""),
        (&uploader, "DELETE", SOME, b""),
        (&uploader, "POST", "/api/v1/dumps", path.as_bytes()),
    ] {
        ask(who, method, path, body).assert_problem(403, "wrong-role");
    }
    let remove = ["serve", "--folder", "serve", "--remove-token", "team"];
    assert_eq!(
        stdout(&run(&mut scene.hprof_rs(&remove), "")),
        "removed 1 tokens\n"
    );
    ask(&reader, "GET", "/api/v1/dumps", b"").assert_problem(401, "no-token");
    // A reader of the catalogue learns no token.
    let files = ["catalogue.db", "catalogue.db-wal"];
    let bytes = files.map(|name| fs::read(scene.path("serve").join(name)).unwrap_or_default());
    let secret = uploader.trim_start_matches("Bearer ").as_bytes();
    for secret in [secret, server.token.as_bytes()] {
        assert!(!contains(&bytes.concat(), secret));
    }
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--host", "dumps.example.com"]);
    let (_, port) = server.address.split_once(':').unwrap();
    for (host, status) in [
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("dumps.example.com", 200),
    ] {
        let answer = server.request("GET", "/api/v1/dumps", &[("host", host)], b"");
        assert_eq!(answer.status, status, "{host}: {}", answer.text());
    }
    for (headers, status) in [
        (&[("origin", "https://evil.example")][..], 403),
        (&[("origin", "null")], 403),
        (
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
            403,
        ),
        (&[("sec-fetch-site", "same-origin")], 200),
    ] {
        let answer = server.request("GET", "/api/v1/dumps", headers, b"");
        assert_eq!(answer.status, status, "{headers:?}");
    }
    let other_port = format!("http://127.0.0.1:1{port}");
    let answer = server.request("GET", "/api/v1/dumps", &[("origin", &other_port)], b"");
    answer.assert_problem(403, "foreign-origin");
}

#[test]
fn browsers_are_told_to_be_careful() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    for path in ["/", "/api/v1/dumps", "/api/v1/nothing", "/healthz"] {
        let answer = server.get(path);
        let policy = answer.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
    }
    assert_eq!(
        server.get("/api/v1/dumps").header("cache-control"),
        "no-store"
    );
}

#[test]
fn no_path_leads_out_of_the_allowed_folder() {
    let scene = Scene::new();
    let root = scene.path("root");
    fs::create_dir(&root).unwrap();
    let outside = scene.path("outside.hprof");
    fs::copy(data("hprof-32.bin"), &outside).unwrap();
    fs::create_dir(root.join("folder")).unwrap();
    symlink(&outside, root.join("link.hprof")).unwrap();
    symlink(scene.path(""), root.join("up")).unwrap();
    let fifo = Command::new("mkfifo")
        .arg(root.join("fifo"))
        .status()
        .unwrap();
    assert!(fifo.success());
    let flags = ["--allow-root", root.to_str().unwrap()];
    let server = Server::start(&scene, &flags);
    let below = |name: &str| format!("{}/{name}", root.display());
    let out = outside.to_str().unwrap().to_owned();
    for (path, status) in [
        (out, 403),
        (below("../outside.hprof"), 403),
        (below("./../outside.hprof"), 403),
        (below("link.hprof"), 403),
        (below("up/outside.hprof"), 403),
        ("/etc/passwd".to_owned(), 403),
        ("root/x.hprof".to_owned(), 403),
        ("/proc/self/environ".to_owned(), 403),
        (below("fifo"), 400),
        (below(""), 404),
        (below("folder"), 400),
        (below("nothing"), 404),
        (below("a\0b"), 403),
    ] {
        let answer = server.post("/api/v1/dumps", &json!({"path": path}));
        assert_eq!(answer.status, status, "{path:?}: {}", answer.text());
    }
    for path in [
        "/api/v1/dumps/..%2f..%2fetc%2fpasswd/file",
        "/api/v1/dumps/%2e%2e/file",
        "/api/v1/uploads/..%2fcatalogue.db",
        "/assets/..%2f..%2fCargo.toml",
    ] {
        let answer = server.get(path);
        assert!(
            [404, 405].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
    }
    let name = "..%2f..%2f..%2fevil%00%1b%5b31m";
    let bytes = fs::read(data("cpu-samples.txt")).unwrap();
    let put = server.request("PUT", &format!("/api/v1/dumps?name={name}"), &[], &bytes);
    assert_eq!(put.json()["name"], "evil[31m", "{}", put.text());
}

#[test]
fn bodies_that_are_too_large_or_too_slow_are_refused() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--max-upload", "1M", "--body-timeout", "1"]);
    let head = |method: &str, path: &str, rest: &str| {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{rest}\r\n\r\n",
            server.address, server.token
        )
    };
    // It is refused by what it announces.
    let announced = head("PUT", "/api/v1/dumps", "Content-Length: 2000000");
    assert!(server.raw(announced.as_bytes()).starts_with("HTTP/1.1 413"));
    // It announces nothing, and is cut off.
    let mut chunked = head("PUT", "/api/v1/dumps", "Transfer-Encoding: chunked").into_bytes();
    chunked.extend(b"1E8480\r\nJAVA PROFILE 1.0.2\0");
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream.write_all(&chunked).unwrap();
    // The server may have answered and gone before all is sent.
    let _ = stream.write_all(&vec![0; 1_500_000]);
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
    let body = vec![b' '; 1_100_000];
    let kind = [("content-type", "application/json")];
    let json = server.request("POST", "/api/v1/dumps", &kind, &body);
    json.assert_problem(413, "too-large");

    let began = Instant::now();
    let mut slow = head("PUT", "/api/v1/dumps", "Content-Length: 1000").into_bytes();
    slow.extend(b"JAVA PROFILE");
    assert!(server.raw(&slow).starts_with("HTTP/1.1 408"));
    // The head must come too.
    assert!(
        !server
            .raw(b"GET / HTTP/1.1\r\nHost: local")
            .starts_with("HTTP/1.1 200")
    );
    assert!(
        began.elapsed() < Duration::from_secs(50),
        "{:?}",
        began.elapsed()
    );
    let headers: String = (0..200)
        .map(|number| format!("X-{number}: y\r\n"))
        .collect();
    let many = head("GET", "/api/v1/dumps", headers.trim_end());
    assert!(server.raw(many.as_bytes()).starts_with("HTTP/1.1 431"));
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
}

/// A connection closed while the body comes would be a broken pipe for the client, and the reason lost.
#[test]
fn a_refusal_reaches_a_client_that_still_sends() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let body = vec![0; 3_000_000];
    for _ in 0..20 {
        let put = |path: &str| server.request("PUT", path, &[], &body);
        put("/api/v1/dumps?strip=perhaps").assert_problem(400, "bad-request");
        server
            .bare_request("PUT", "/api/v1/dumps", &[], &body)
            .assert_problem(401, "no-token");
    }
    // Who waits to be asked for the body is not asked.
    let waits = format!(
        "PUT /api/v1/dumps HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        server.address
    );
    let answer = server.raw(waits.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(!answer.contains("100 Continue"), "{answer}");
}

#[test]
fn an_address_that_sends_too_much_has_to_wait() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--max-rate", "2"]);
    let answers: Vec<_> = (0..12).map(|_| server.get("/api/v1/server")).collect();
    let refused: Vec<_> = answers.iter().filter(|it| it.status == 429).collect();
    assert!(
        !refused.is_empty() && refused.len() < 12,
        "{}",
        refused.len()
    );
    refused[0].assert_problem(429, "too-many-requests");
    assert_eq!(refused[0].header("retry-after"), "2");
    // A machine that asks for the server's health has no limit.
    assert!((0..12).all(|_| server.get("/healthz").status == 200));
}

#[test]
fn an_address_open_to_others_needs_tokens_and_tls() {
    let scene = Scene::new();
    let start = |flags: &[&str]| {
        let mut command = vec!["serve", "--folder", "serve", "--listen", "0.0.0.0:0"];
        command.extend(flags);
        let output = run(&mut scene.hprof_rs(&command), "");
        assert!(!output.status.success());
        stderr(&output)
    };
    assert!(start(&[]).contains("there is no token"));
    assert!(start(&["--behind-proxy"]).contains("there is no token"));
    let token = ["serve", "--folder", "serve", "--new-token", "reader"];
    assert!(run(&mut scene.hprof_rs(&token), "").status.success());
    assert!(start(&[]).contains("--tls-cert"));
    let key = scene.path("key.pem");
    fs::write(&key, "no key").unwrap();
    let key = key.to_str().unwrap();
    assert!(start(&["--tls-cert", key, "--tls-key", key]).contains("key.pem"));
}

#[test]
fn the_folder_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let id = server.upload(Path::new(&data("hprof-32.bin")));
    server.wait_for(&id, "done");
    let mode = |path: &str| fs::metadata(scene.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("serve"), 0o700);
    assert_eq!(mode(&format!("serve/dumps/{id}")), 0o600);
    assert_eq!(mode(&format!("serve/analyses/{id}")), 0o700);
}
