//! Every route of the OpenAPI document against every client that may not use it: each case is refused, and all
//! are counted. SECURITY.md tells the number.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::capture::token;
use crate::server::{Answer, Server};
use crate::support::{Scene, data};

/// A dump that is not there.
const NONE: &str = "0a1b2c3d4e5f6071";

/// Names that would lead elsewhere, or are none.
const TRICKS: [&str; 14] = [
    "..",
    "%2e%2e",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2fcatalogue.db",
    "%2fetc%2fpasswd",
    "..%5c..%5cwindows",
    "%252e%252e%252f",
    "%c0%ae%c0%ae%2f",
    "a%00b",
    "%0d%0aSet-Cookie:x=y",
    "0A1B2C3D4E5F6071",
    "0a1b2c3d4e5f6071%2f..",
    "-1",
    "~root",
];

/// A route of the document.
struct Route {
    method: String,
    template: String,
}

impl Route {
    /// Its path with a name in the place of each parameter; the first is of a dump in most.
    fn path(&self, first: &str, others: &str) -> String {
        let mut path = String::new();
        let mut is_first = true;
        for part in self.template.split('/').skip(1) {
            path.push('/');
            path.push_str(match (part.starts_with('{'), is_first) {
                (false, _) => part,
                (true, true) => first,
                (true, false) => others,
            });
            is_first &= !part.starts_with('{');
        }
        path
    }

    fn parameters(&self) -> usize {
        self.template.matches('{').count()
    }

    fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    /// The role that it needs at least, by docs/serve.md.
    fn role(&self) -> &'static str {
        let is_jvm = self.template.starts_with("/api/v1/jvms");
        let is_dump = self.template == "/api/v1/dumps/{id}" && self.method == "DELETE";
        let is_path = self.template == "/api/v1/dumps" && self.method == "POST";
        let is_query = self.template.ends_with("/query") && self.method == "POST";
        let is_upload = self.template.starts_with("/api/v1/uploads");
        if is_dump || is_path || (is_jvm && !self.is_safe()) {
            "admin"
        } else if (self.is_safe() && !is_upload) || is_query {
            "reader"
        } else {
            "uploader"
        }
    }
}

fn routes(server: &Server) -> Vec<Route> {
    let document = server.get("/api/v1/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    let of_path = |(template, methods): (&String, &Value)| -> Vec<Route> {
        let methods = methods.as_object().expect("methods").keys();
        let route = |method: &String| Route {
            method: method.to_uppercase(),
            template: template.clone(),
        };
        methods.map(route).collect()
    };
    let routes: Vec<Route> = paths.iter().flat_map(of_path).collect();
    assert!(routes.len() > 50, "{} routes", routes.len());
    routes
}

/// Counts refusals.
struct Cases<'a> {
    server: &'a Server,
    count: usize,
}

impl Cases<'_> {
    #[track_caller]
    fn refused(&mut self, route: &Route, headers: &[(&str, &str)], status: u16, kind: &str) {
        let path = route.path(NONE, "1");
        let answer = self.server.bare_request(&route.method, &path, headers, b"");
        self.count += 1;
        let what = format!("{} {path} {headers:?}", route.method);
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        // An answer to HEAD has no body.
        if route.method != "HEAD" {
            assert_eq!(answer.json()["type"], kind, "{what}");
        }
    }

    #[track_caller]
    fn harmless(&mut self, what: &str, answer: &Answer) {
        self.count += 1;
        let text = answer.text();
        assert!(
            (400..500).contains(&answer.status),
            "{what}: {} {text}",
            answer.status
        );
        for secret in ["root:x:", "SQLite format"] {
            assert!(!text.contains(secret), "{what}: {text}");
        }
        assert_eq!(answer.header("set-cookie"), "", "{what}");
    }
}

#[test]
fn every_route_refuses_everybody_who_may_not() {
    let scene = Scene::new();
    let (reader, uploader) = (token(&scene, "reader:team"), token(&scene, "uploader:ci"));
    let (reader, uploader) = (format!("Bearer {reader}"), format!("Bearer {uploader}"));
    let server = Server::start(&scene, &["--max-rate", "1000000"]);
    let id = server.upload(Path::new(&data("hprof-32.bin")));
    server.wait_for(&id, "done");
    let before = server.dump(&id);
    let routes = routes(&server);
    let wrong = "0".repeat(64);
    let (bearer, cookie) = (
        format!("Bearer {wrong}"),
        format!("hprof_rs_session={wrong}"),
    );
    let own = format!("Bearer {}", server.token);
    let own_cookie = format!("hprof_rs_session={}", server.token);
    let mut cases = Cases {
        server: &server,
        count: 0,
    };
    for route in &routes {
        // A client without credentials, and three whose credentials are not valid.
        for headers in [
            &[][..],
            &[("authorization", bearer.as_str())],
            &[("authorization", "Basic YTpi")],
            &[("cookie", cookie.as_str())],
        ] {
            cases.refused(route, headers, 401, "no-token");
        }
        if route.role() != "reader" {
            cases.refused(route, &[("authorization", &reader)], 403, "wrong-role");
        }
        if route.role() == "admin" {
            cases.refused(route, &[("authorization", &uploader)], 403, "wrong-role");
        }
        let token = ("authorization", own.as_str());
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost:80@evil.example",
        ] {
            cases.refused(route, &[token, ("host", host)], 421, "foreign-host");
        }
        let of_browser = ("cookie", own_cookie.as_str());
        for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
            let headers = [of_browser, ("origin", origin)];
            cases.refused(route, &headers, 403, "foreign-origin");
        }
        let cross = [
            of_browser,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "cors"),
        ];
        cases.refused(route, &cross, 403, "foreign-origin");
        if !route.is_safe() {
            cases.refused(route, &[of_browser], 403, "no-origin");
        }
    }
    for route in routes.iter().filter(|route| route.parameters() > 0) {
        let long = "a".repeat(8000);
        for trick in TRICKS.into_iter().chain([long.as_str()]) {
            let mut paths = vec![route.path(trick, "1")];
            if route.parameters() > 1 {
                paths.push(route.path(&id, trick));
            }
            for path in paths {
                let kind = [("content-type", "application/json")];
                let answer = server.request(&route.method, &path, &kind, b"{}");
                cases.harmless(&format!("{} {path}", route.method), &answer);
            }
        }
    }
    // Bodies that are no uploads have a limit.
    let large = vec![b' '; (1 << 20) + 1];
    let takes_body = |route: &&Route| {
        let is_upload = route.method == "PUT" || route.template.starts_with("/api/v1/uploads/");
        !route.is_safe() && !is_upload
    };
    for route in routes.iter().filter(takes_body) {
        let path = route.path(NONE, "1");
        let kind = [("content-type", "application/json")];
        let answer = server.request(&route.method, &path, &kind, &large);
        cases.harmless(&format!("{} {path}", route.method), &answer);
        assert_eq!(answer.status, 413, "{} {path}", route.method);
    }
    let count = cases.count;
    eprintln!("{count} cases, {} routes", routes.len());
    let mut after = server.dump(&id);
    assert_eq!(after["job"].take(), before["job"], "nothing has changed");
    assert_eq!(
        server.get("/api/v1/dumps").json()["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
    assert!(
        count >= told(),
        "{count} cases, and SECURITY.md tells {}",
        told()
    );
}

/// The number of cases that SECURITY.md tells.
fn told() -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let text = fs::read_to_string(root).unwrap();
    let (before, _) = text
        .split_once(" cases of `crates/cli/tests/serve/refusals.rs`")
        .unwrap();
    let number = before.rsplit(|c: char| c.is_whitespace()).next().unwrap();
    number.replace(',', "").parse().unwrap()
}
