//! The description of the API against the server: a public tool makes requests from it, and compares
//! the answers with what it declares.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Server;
use crate::support::{Scene, data, run, stderr, stdout};

/// The program of Schemathesis: the one that `HPROF_RS_SCHEMATHESIS` names, or that
/// `scripts/setup schemathesis` has fetched.
fn schemathesis() -> Option<PathBuf> {
    if let Some(named) = env::var_os("HPROF_RS_SCHEMATHESIS") {
        return Some(PathBuf::from(named));
    }
    let cache = env::var_os("HPROF_RS_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache/hprof-rs")))?;
    let found = cache.join("schemathesis/bin/schemathesis");
    if found.exists() {
        return Some(found);
    }
    assert!(
        env::var_os("CI").is_none(),
        "no Schemathesis: run scripts/setup schemathesis"
    );
    println!("no Schemathesis: run scripts/setup schemathesis for this test");
    None
}

/// The comparisons: the answer's status, media type, headers and body with those that are declared,
/// and that the server does not fail.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
     response_headers_conformance,response_schema_conformance";

/// The hooks that put a dump which is there into half of the paths, as made-up ones are not found.
const HOOKS: &str = "
import os
import schemathesis

DUMPS = os.environ['DUMPS'].split(',')

schemathesis.serializer.alias('application/offset+octet-stream', 'application/octet-stream')

@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if path_parameters and 'id' in path_parameters and '/dumps/' in context.operation.path:
        known = sum(map(ord, str(path_parameters['id'])))
        if known % 2 == 0:
            path_parameters['id'] = DUMPS[known // 2 % len(DUMPS)]
    return path_parameters
";

#[test]
fn a_public_tool_finds_nothing_that_the_description_does_not_declare() {
    let Some(schemathesis) = schemathesis() else {
        return;
    };
    let scene = Scene::new();
    // JVMs of this machine are left alone.
    let server = Server::start(&scene, &["--no-jvms", "--max-rate", "100000"]);
    let files = ["hprof-32.bin", "cpu-samples.txt"];
    let ids = files.map(|name| {
        let id = server.upload(Path::new(&data(name)));
        server.wait_for(&id, "done");
        id
    });
    fs::write(scene.path("hooks.py"), HOOKS).unwrap();
    let bearer = format!("Authorization: Bearer {}", server.token);
    let document = format!("http://{}/api/v1/openapi.json", server.address);
    let mut command = Command::new(schemathesis);
    command
        .current_dir(scene.path(""))
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", scene.path(""))
        .env("DUMPS", ids.join(","))
        .args(["run", &document, "--header", &bearer])
        // Bounded in number and time, and the same each time.
        .args(["--phases", "examples,coverage,fuzzing"])
        .args(["--max-examples", "4", "--generation-deterministic"])
        .args(["--request-timeout", "60", "--suppress-health-check", "all"])
        .args(["--checks", CHECKS, "--no-color", "--warnings", "off"])
        // News do not end, and dumps have to stay.
        .args(["--exclude-path", "/api/v1/events"])
        .args(["--exclude-method", "DELETE"]);
    let output = run(&mut command, "");
    let text = format!("{}\n{}", stdout(&output), stderr(&output));
    assert!(output.status.success(), "{text}");
    assert!(text.contains("API Operations:"), "{text}");
    for id in ids {
        assert_eq!(server.dump(&id)["job"]["state"], "done");
    }
}
