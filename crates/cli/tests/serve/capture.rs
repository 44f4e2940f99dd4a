//! `hprof-rs capture`: from a JVM or a file to the report, whatever happens on the way.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use java_test_harness::rights::{self, NOBODY};
use java_test_harness::{Jdk, Run, classes, each_jdk};
use serde_json::{Value, json};

use crate::proxy::{Fault, Proxy};
use crate::server::{Server, Unanswering, chain, eventually, signal};
use crate::support::{Scene, data, run, start, stderr, stdout};

/// A token with a role.
pub fn token(scene: &Scene, role: &str) -> String {
    let command = ["serve", "--folder", "serve", "--new-token", role];
    stdout(&run(&mut scene.hprof_rs(&command), ""))
        .trim()
        .to_owned()
}

fn capture(scene: &Scene, server: &Server, arguments: &[&str]) -> Command {
    let url = format!("http://{}", server.address);
    let mut command = scene.hprof_rs(&["capture", "--server", &url]);
    command.args(arguments).env("HPROF_RS_TOKEN", &server.token);
    command
}

/// The id of the dump in the link that was printed last.
#[track_caller]
fn id_of(output: &Output) -> String {
    let text = stdout(output);
    assert!(output.status.success(), "{text}{}", stderr(output));
    let last = text.lines().last().expect("a link");
    last.rsplit('/').next().expect("an id").to_owned()
}

#[test]
fn a_file_becomes_a_report_whose_link_has_no_token() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    // The printed link is an address, and has the token.
    let link = format!("http://{}/?token={}", server.address, server.token);
    let heap = data("hprof-32.bin");
    let command = ["capture", &heap, "--server", &link, "--name", "a b"];
    let labels = ["--label", "service=shop", "--label", "build=812"];
    let output = run(scene.hprof_rs(&command).args(labels), "");
    let id = id_of(&output);
    let shown = stdout(&output) + &stderr(&output);
    assert!(!shown.contains(&server.token), "{shown}");
    let dump = server.dump(&id);
    assert_eq!(
        (&dump["name"], &dump["job"]["state"]),
        (&"a b".into(), &"done".into())
    );
    assert_eq!(dump["labels"]["service"], "shop");
    assert_eq!(dump["labels"]["build"], "812");
    assert!(
        shown.contains(dump["headline"].as_str().unwrap()),
        "{shown}"
    );
    // Labels of a second capture of the file come to those that are there.
    let more = ["--label", "host=a", "--json", &heap];
    let output = run(&mut capture(&scene, &server, &more), "");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&json["dump"], &json["state"]),
        (&id.as_str().into(), &"done".into())
    );
    assert_eq!(server.dump(&id)["labels"].as_object().unwrap().len(), 3);
}

#[test]
fn a_file_is_compressed_and_stripped_before_it_is_sent() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let heap = data("hprof-32.bin");
    let kept = ["--strip", "--keep", "sent.hprof.gz", &heap];
    let output = run(&mut capture(&scene, &server, &kept), "");
    let id = id_of(&output);
    let sent = fs::read(scene.path("sent.hprof.gz")).unwrap();
    assert!(sent.starts_with(&[0x1f, 0x8b]) && sent.len() * 2 < fs::read(&heap).unwrap().len());
    assert!(server.get(&format!("/api/v1/dumps/{id}/file")).body == sent);
    let report = server.get(&format!("/api/v1/dumps/{id}/report")).json();
    let notes = report["notes"].to_string();
    assert!(notes.contains("blank"), "{notes}");
    let plain = run(&mut capture(&scene, &server, &[&heap]), "");
    assert_ne!(id_of(&plain), id);
}

#[test]
fn a_capture_strips_by_every_policy_and_the_server_tells_what_the_sender_said() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let heap = data("hprof-32.bin");
    for (options, rules) in [
        (&["--strip"][..], json!({})),
        (
            &["--strip-fields", "--strip-thread-names", "remove"],
            json!({"fields": true, "thread_names": "remove"}),
        ),
        (
            &["--strip-keep-strings", "--strip-drop", "java.util.*"],
            json!({"keep_strings": true, "drop": ["java.util.*"]}),
        ),
        (
            &["--strip-keep", "java.lang.Thread.name"],
            json!({"keep": ["java.lang.Thread.name"]}),
        ),
        (
            &[
                "--strip-redact-pattern",
                "user.home",
                "--strip-bitmaps",
                "dedupe",
            ],
            json!({"redact": true, "redact_pattern": ["user.home"], "bitmaps": true}),
        ),
    ] {
        let sent = [options, &["--keep", "sent.hprof", &heap]].concat();
        let id = id_of(&run(&mut capture(&scene, &server, &sent), ""));
        let dump = server.dump(&id);
        let step = &dump["strippings"][0];
        assert_eq!(
            (&dump["stripped"], &step["by"]),
            (&false.into(), &"sender".into())
        );
        for (rule, value) in rules.as_object().expect("rules") {
            assert_eq!(&step["rules"][rule], value, "{options:?}");
        }
        assert!(step["figures"]["emptied"].as_u64() > Some(0) || rules["redact"] == true);
        // It is what `strip` makes with the same options.
        let plain = options.iter().map(|it| it.replace("--strip-", "--"));
        let plain: Vec<String> = plain.filter(|it| it != "--strip").collect();
        let mut command = scene.hprof_rs(&["strip", "-o", "copy.hprof", &heap]);
        assert!(run(command.args(plain), "").status.success());
        let copy = fs::read(scene.path("copy.hprof")).unwrap();
        assert!(
            copy == fs::read(scene.path("sent.hprof")).unwrap(),
            "{options:?}"
        );
        assert_eq!(
            step["figures"]["secrets"] == 0,
            rules["redact"] != true,
            "{step}"
        );
    }
    let wrong = run(
        &mut capture(&scene, &server, &["--strip-redact-pattern", "(", &heap]),
        "",
    );
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("regular expression"),
        "{}",
        stderr(&wrong)
    );
}

#[test]
fn a_capture_survives_lost_connections_errors_and_a_restart_of_the_server() {
    let scene = Scene::new();
    let token = token(&scene, "uploader:ci");
    let server = Server::start(&scene, &[]);
    let heap = chain(&scene.path("chain.hprof"), 150_000);
    let length = fs::metadata(&heap).unwrap().len();
    let busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let wait = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
    let faults = [
        Fault::Say(busy),
        Fault::Cut(1_000_000),
        Fault::Say(wait),
        Fault::Cut(700_000),
        Fault::Cut(10),
    ];
    let proxy = Proxy::new(&server.address, &faults);
    let url = format!("http://{}", proxy.address);
    let arguments = [
        "capture",
        "--server",
        &url,
        "--patience",
        "60",
        "chain.hprof",
    ];
    let mut command = scene.hprof_rs(&arguments);
    let child = start(command.env("HPROF_RS_TOKEN", &token), "");
    eventually("the first broken connections", || {
        (proxy.left() < 2).then_some(())
    });
    server.kill();
    let server = Server::start(&scene, &[]);
    proxy.lead_to(&server.address);
    let output = child.wait_with_output().unwrap();
    let id = id_of(&output);
    assert_eq!(proxy.left(), 0);
    let dump = server.wait_for(&id, "done");
    assert_eq!(dump["bytes"], length);
    assert!(server.get(&format!("/api/v1/dumps/{id}/file")).body == fs::read(&heap).unwrap());
}

#[test]
fn an_interrupted_capture_leaves_no_upload() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    // More than the buffers of both connections take.
    chain(&scene.path("chain.hprof"), 1_500_000);
    let proxy = Proxy::new(&server.address, &[Fault::Stall(1_000_000)]);
    let url = format!("http://{}", proxy.address);
    let mut command = scene.hprof_rs(&["capture", "chain.hprof", "--server", &url]);
    let child = start(command.env("HPROF_RS_TOKEN", &server.token), "");
    let parts = || fs::read_dir(scene.path("serve/parts")).unwrap();
    eventually("a part that has begun", || {
        let length = parts().next()?.ok()?.metadata().ok()?.len();
        (length > 500_000).then_some(())
    });
    signal(child.id(), libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let text = stderr(&output);
    assert!(text.contains("interrupted"), "{text}");
    assert!(
        text.contains("removed the upload from the server"),
        "{text}"
    );
    assert_eq!(parts().count(), 0);
}

#[test]
fn a_silent_server_is_given_up_with_the_option_that_waits_longer() {
    let scene = Scene::new();
    // Connections wait for an accept that never comes.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let heap = data("hprof-32.bin");
    let mut command = scene.hprof_rs(&["capture", &heap, "--server", &url]);
    command.args(["--silence", "1", "--patience", "0"]);
    let output = run(command.env("HPROF_RS_TOKEN", "x"), "");
    assert_eq!(output.status.code(), Some(2));
    let words = "it gave no byte for 1 s (--silence SECONDS waits longer)";
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_sent() {
    let scene = Scene::new();
    let reader = token(&scene, "reader:team");
    let server = Server::start(&scene, &["--max-upload", "100000"]);
    let heap = data("hprof-32.bin");
    let json = scene.path("x.json");
    fs::write(&json, "{\"a\": 1}".repeat(20_000)).unwrap();
    let json = json.to_str().unwrap();
    let url = format!("http://{}", server.address);
    let with = |token: &str, arguments: &[&str]| {
        let mut command = scene.hprof_rs(&["capture", "--patience", "0"]);
        let output = run(command.args(arguments).env("HPROF_RS_TOKEN", token), "");
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        stderr(&output)
    };
    for (token, arguments, words) in [
        ("", &[&*heap, "--server", &url][..], "there is no token"),
        ("x", &[&heap, "--server", &url], "Who are you?"),
        (&reader, &[&heap, "--server", &url], "lets you read only"),
        (
            &server.token,
            &["missing", "--server", &url],
            "cannot read missing",
        ),
        (&server.token, &[&heap], "--server"),
        (
            &server.token,
            &[&heap, "--server", "nonsense"],
            "takes a URL",
        ),
        (
            &server.token,
            &[&heap, "--server", "http://127.0.0.1:1"],
            "no answer from",
        ),
        (
            &server.token,
            &[&heap, "--server", &url],
            "at most 100000 bytes",
        ),
        (
            &server.token,
            &[json, "--server", &url, "--keep", "/"],
            "cannot write",
        ),
    ] {
        let text = with(token, arguments);
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
    let broken = [
        "capture",
        &heap,
        "--server",
        &url,
        "--fail-above",
        "suspect=0",
    ];
    let output = run(&mut scene.hprof_rs(&broken), "");
    assert!(
        stderr(&output).contains("there are retained"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        server.get("/api/v1/dumps").json()["items"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn a_file_that_is_no_dump_is_refused_in_words_and_not_sent_again() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let json = scene.path("x.json");
    fs::write(&json, "{\"a\": 1}".repeat(20_000)).unwrap();
    let began = Instant::now();
    let output = run(&mut capture(&scene, &server, &["x.json"]), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("this is JSON"),
        "{}",
        stderr(&output)
    );
    assert!(began.elapsed() < Duration::from_secs(90));
    assert_eq!(fs::read_dir(scene.path("serve/parts")).unwrap().count(), 0);
}

/// Files of captures that are left in a folder.
fn leftovers(folder: &str) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().flatten();
    let names = names.map(|it| it.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with(".hprof-rs-") && name.ends_with(".hprof"))
        .collect()
}

#[test]
fn the_heap_of_a_jvm_becomes_a_report() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let server = Server::start(&scene, &[]);
        let jvm = Run::new(jdk).class("Idle").start();
        jvm.wait_for_line("ready");
        let pid = jvm.pid().to_string();
        let output = run(&mut capture(&scene, &server, &[&pid]), "");
        let all = server.dump(&id_of(&output));
        assert_eq!(all["name"], format!("Idle-{pid}.hprof"));
        assert!(
            all["summary"]["live_objects"].as_u64().unwrap() > 1000,
            "{all}"
        );
        let flags = ["--strip", "--live", "--keep", "sent.hprof.gz", &pid];
        let output = run(&mut capture(&scene, &server, &flags), "");
        let live = server.dump(&id_of(&output));
        let report = format!("/api/v1/dumps/{}/report", live["id"].as_str().unwrap());
        let report = server.get(&report).json();
        assert!(
            report["notes"].to_string().contains("blank"),
            "{}",
            report["notes"]
        );
        assert_eq!(jvm.stdout(), "ready\n", "no thread dump by the signal");
        assert_eq!(
            leftovers("/tmp")
                .iter()
                .filter(|it| it.contains(&pid))
                .count(),
            0
        );
        // A folder in which the JVM cannot write, and one that is not there.
        for folder in ["/proc", "/nothing/here"] {
            let flags = ["--dump-folder", folder, &pid];
            let output = run(&mut capture(&scene, &server, &flags), "");
            assert_eq!(output.status.code(), Some(2));
            assert!(
                stderr(&output).contains("--dump-folder"),
                "{}",
                stderr(&output)
            );
        }
    });
}

#[test]
fn an_interrupted_dump_leaves_no_file() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let jvm = Run::new(Jdk::tested()[0]).class("Idle").start();
    jvm.wait_for_line("ready");
    let pid = jvm.pid().to_string();
    let request = std::path::PathBuf::from(format!("/tmp/.attach_pid{pid}"));
    let unanswering = Unanswering::hold(jvm.pid());
    let child = start(&mut capture(&scene, &server, &[&pid]), "");
    eventually("the request", || request.exists().then_some(()));
    signal(child.id(), libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    drop(unanswering);
    assert_eq!(output.status.code(), Some(130));
    let text = stderr(&output);
    assert!(
        text.contains("has not begun its dump; if it does later, remove"),
        "{text}"
    );
    assert!(!request.exists());
    // It continues, and can be captured.
    let output = run(&mut capture(&scene, &server, &[&pid]), "");
    id_of(&output);
    assert_eq!(
        leftovers("/tmp")
            .iter()
            .filter(|it| it.contains(&pid))
            .count(),
        0
    );
}

#[test]
fn the_jvm_of_another_user_in_a_container_is_captured() {
    if !rights::may_make_containers() || !rights::may_act_for_others() {
        return;
    }
    let is_open = |jdk: &&Jdk| !jdk.home().starts_with("/root");
    let Some(jdk) = Jdk::tested().into_iter().find(is_open) else {
        eprintln!("not tested: this takes a JDK that everybody can read");
        return;
    };
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let word = format!("captured-{}", std::process::id());
    let shared = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in("/var/tmp")
        .unwrap();
    fs::copy(
        classes().join("Idle.class"),
        shared.path().join("Idle.class"),
    )
    .unwrap();
    let nobody = format!("--reuid={NOBODY}");
    let script = format!(
        "mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp && cd / && \
         exec setpriv {nobody} --clear-groups \"$0\" -cp \"$1\" Idle \"$2\""
    );
    let child = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", &script])
        .arg(jdk.home().join("bin/java"))
        .arg(shared.path())
        .arg(&word)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("unshare");
    let mut child = Guard(child);
    let pid = eventually("the JVM", || {
        assert!(
            child.0.try_wait().unwrap().is_none(),
            "the container has ended"
        );
        let output = run(&mut scene.hprof_rs(&["ps", "--json", &word]), "");
        let rows: Value = serde_json::from_slice(&output.stdout).ok()?;
        let row = rows
            .as_array()?
            .iter()
            .find(|row| row["program"] == "Idle")?
            .clone();
        Some(row["pid"].to_string())
    });
    // A change of user has taken the order away to end with `unshare`.
    let _jvm = Killed(pid.parse().unwrap());
    let output = run(&mut capture(&scene, &server, &[&pid]), "");
    let dump = server.dump(&id_of(&output));
    assert_eq!(dump["job"]["state"], "done");
    assert!(leftovers(&format!("/proc/{pid}/root/tmp")).is_empty());
}

/// The number of a process that is killed in the end.
struct Killed(u32);

impl Drop for Killed {
    fn drop(&mut self) {
        signal(self.0, libc::SIGKILL);
    }
}

/// A process that is killed in the end.
struct Guard(std::process::Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_watched_folder_sends_each_dump_once_it_is_complete_and_removes_it() {
    let scene = Scene::new();
    let server = Server::start(&scene, &[]);
    let folder = scene.path("dumps");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("notes.txt"), "no dump").unwrap();
    let label = ["--label", "service=shop"];
    let mut command = capture(&scene, &server, &["dumps", "--watch", "--remove"]);
    let mut watching = command
        .args(label)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let dumps = || {
        let list = server.get("/api/v1/dumps").json();
        list["items"].as_array().unwrap().clone()
    };
    let running = Run::new(Jdk::feature_release(17))
        .jvm_args(["-Xmx24m", "-XX:+HeapDumpOnOutOfMemoryError"])
        .jvm_arg(format!("-XX:HeapDumpPath={}", folder.display()))
        .class("OutOfMemory")
        .start();
    let listed = eventually("the dump of the full heap", || {
        dumps().into_iter().find(|it| it["job"]["state"] == "done")
    });
    assert_eq!(listed["labels"]["service"], "shop");
    eventually("its end in the folder", || {
        let names = fs::read_dir(&folder).unwrap().flatten();
        let names: Vec<_> = names.map(|it| it.file_name()).collect();
        (names == ["notes.txt"]).then_some(())
    });
    assert_eq!(dumps().len(), 1);
    signal(watching.id(), libc::SIGTERM);
    assert!(watching.wait().unwrap().code().is_some());
    running.finish();
}
