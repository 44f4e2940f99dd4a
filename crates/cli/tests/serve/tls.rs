//! TLS from end to end, with a certificate that is made for the test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::postgres::Cluster;
use crate::server::Server;
use crate::support::{Scene, data, run, stderr, stdout};

/// A process that is killed in the end.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_dump_travels_by_tls_to_a_server_whose_certificate_is_known() {
    let scene = Scene::new();
    for (name, host) in [("good", "localhost"), ("other", "elsewhere.example")] {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([host.to_owned()]).unwrap();
        fs::write(scene.path(&format!("{name}.pem")), cert.pem()).unwrap();
        fs::write(
            scene.path(&format!("{name}.key")),
            signing_key.serialize_pem(),
        )
        .unwrap();
    }
    let serve = ["serve", "--folder", "serve", "--listen", "127.0.0.1:0"];
    let tls = [
        "--tls-cert",
        "good.pem",
        "--tls-key",
        "good.key",
        "--memory",
        "1G",
    ];
    let mut command = scene.hprof_rs(&serve);
    let command = command
        .args(tls)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = Guard(command.spawn().unwrap());
    let mut line = String::new();
    let out = child.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let link = line.trim().strip_prefix("Open ").expect("a link");
    assert!(link.starts_with("https://127.0.0.1:"), "{link}");
    let link = link.replace("127.0.0.1", "localhost");
    let heap = data("hprof-32.bin");
    let capture = |flags: &[&str]| {
        let mut command = scene.hprof_rs(&["capture", &heap, "--server", &link]);
        run(command.args(["--patience", "5"]).args(flags), "")
    };
    let sent = capture(&["--ca", "good.pem"]);
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert!(
        stdout(&sent).contains("https://localhost:"),
        "{}",
        stdout(&sent)
    );
    // No authority vouches for the certificate, or one vouches for another certificate.
    for flags in [&[][..], &["--ca", "other.pem"]] {
        let refused = capture(flags);
        assert_eq!(refused.status.code(), Some(2));
        let text = stderr(&refused);
        assert!(text.contains("--ca"), "{text}");
    }
    // A server that is asked without TLS answers nothing.
    let plain = link.replace("https://", "http://");
    let plain = ["capture", &heap, "--server", &plain, "--patience", "1"];
    assert_eq!(run(&mut scene.hprof_rs(&plain), "").status.code(), Some(2));
}

#[test]
fn the_way_to_the_database_is_encrypted_and_its_certificate_is_checked() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    cluster.database("fleet");
    let scene = Scene::new();
    let make = |host: &str| generate_simple_self_signed([host.to_owned()]).unwrap();
    let (good, other) = (make("localhost"), make("localhost"));
    fs::write(scene.path("good.pem"), good.cert.pem()).unwrap();
    fs::write(scene.path("other.pem"), other.cert.pem()).unwrap();
    let serve = |url: &str, authorities: &str| {
        let folder = [
            "--folder",
            "serve",
            "--store",
            "store",
            "--listen",
            "127.0.0.1:0",
        ];
        let mut command = scene.hprof_rs(&[&["serve", "--no-jvms"], &folder[..]].concat());
        command
            .env("HPROF_RS_DATABASE", url)
            .env("SSL_CERT_FILE", scene.path(authorities));
        command
    };
    let port = cluster.speak_tls(&good.cert.pem(), &good.signing_key.serialize_pem());
    let url = format!("postgres://hprof@localhost:{port}/fleet?sslmode=require");
    let server = Server::of_command(&mut serve(&url, "good.pem"));
    assert_eq!(server.get("/api/v1/dumps").status, 200);
    let sql =
        "SELECT count(*) > 0 AND bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'hprof-rs'";
    assert_eq!(cluster.ask("fleet", sql), "t");
    drop(server);
    // No authority vouches for the certificate, or it is of another host.
    let refused = |url: &str, authorities: &str, words: &str| {
        let began = std::time::Instant::now();
        let refused = run(&mut serve(url, authorities), "");
        let said = stderr(&refused);
        assert!(!refused.status.success() && said.contains(words), "{said}");
        assert!(
            began.elapsed().as_secs() < 20,
            "a wrong certificate is waited for: {said}"
        );
    };
    refused(&url, "other.pem", "certificate");
    refused(
        &url.replace("localhost", "127.0.0.1"),
        "good.pem",
        "certificate",
    );
}
