//! Recordings: rows over time in JSON and a page.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use java_test_harness::Jdk;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::browser::{Browser, keys};
use crate::support::{Scene, run, stderr, stdout};
use crate::{cgroups, started};

/// The data in a page.
fn data_of(page: &Path) -> Value {
    let text = fs::read_to_string(page).expect("a page");
    let (_, rest) = text.split_once("application/json\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn a_recording_shows_rows_over_time_in_a_page() {
    let jdk = Jdk::feature_release(17);
    let scene = Scene::new();
    let jvm = started(jdk, "grows", &[]);
    let pid = jvm.pid().to_string();
    let folder = cgroups(&scene, 2000 << 20, 250 << 20, 0, 100 << 20);
    let record = [
        "memory",
        &pid,
        "--record",
        "2s",
        "--watch",
        "250ms",
        "--cgroups",
        &folder,
        "-o",
        "memory.html",
    ];
    let output = run(&mut scene.hprof_rs(&record), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("The row \"malloc in use\" grows by"),
        "{said}"
    );
    assert!(said.contains("; malloc in use grows by +"), "{said}");
    let page = scene.path("memory.html");
    let data = data_of(&page);
    assert_eq!(data["ended"], "time");
    let verdict = &data["course"]["verdict"];
    assert_eq!(
        (&verdict["verdict"], &verdict["kind"]),
        (&"grows".into(), &"native_malloc".into())
    );
    assert_eq!(verdict["limit"], 2000_u64 << 20);
    // The limit leaves 1750 MiB, as page cache goes.
    let rate = data["course"]["resident"]["recent_rate"]
        .as_f64()
        .expect("a rate");
    let left = verdict["seconds_to_limit"].as_f64().expect("a time");
    assert!(
        (left * rate / f64::from(1750 << 20) - 1.0).abs() < 0.01,
        "{left} {rate}"
    );
    let points = data["series"]["points"].as_array().expect("points");
    assert!(points.len() >= 3, "{}", points.len());
    for point in points {
        let rows = point["rows"].as_object().expect("rows");
        let sum: u64 = rows.values().filter_map(Value::as_u64).sum();
        assert_eq!(point["resident"], sum);
    }
    look_at(&page);
}

/// The page in a browser: its texts, its keys, its colours, on a screen and on a phone.
fn look_at(page: &Path) {
    let Some(browser) = Browser::open(1280, 900) else {
        return;
    };
    let clean = |browser: &Browser| {
        assert_eq!(browser.inaccessible(), [] as [String; 0]);
        assert_eq!(browser.complaints(), [] as [String; 0]);
    };
    browser.go(page, "");
    assert_eq!(browser.text("document.title"), "Memory: NativeMemory");
    let rows = browser.text("document.getElementById('rows-table').textContent");
    assert!(rows.contains("<img src=x onerror=alert(1)>.bin"), "{rows}");
    assert_eq!(browser.value("document.images.length"), 0);
    let first = "document.querySelector('#growth-table tbody td').textContent";
    assert_eq!(browser.text(first), "malloc in use");
    assert!(
        browser
            .value("document.querySelectorAll('#rows-chart polygon').length")
            .as_u64()
            > Some(4)
    );
    // Along the looks by keys.
    let says = "document.querySelector('#rows-chart .says').textContent";
    let end = browser.text(says);
    browser.value("document.querySelector('#rows-chart svg').focus()");
    browser.press(&[keys::HOME]);
    let start = browser.text(says);
    assert!(
        start.starts_with("After 0 s:") && start != end,
        "{start} {end}"
    );
    browser.press(&[keys::RIGHT]);
    assert_ne!(browser.text(says), start);
    browser.click("#growth-table th:nth-child(1) button");
    assert_ne!(browser.text(first), "");
    clean(&browser);
    browser.screenshot("memory.png");
    browser.scheme("dark");
    clean(&browser);
    browser.screenshot("memory-dark.png");
    browser.metrics(390, 844, true);
    browser.go(page, "");
    let overflow = "document.documentElement.scrollWidth - innerWidth";
    assert_eq!(browser.value(overflow), 0);
    clean(&browser);
    browser.screenshot("memory-phone.png");
}

#[test]
fn a_recording_ends_with_its_process() {
    let jdk = Jdk::feature_release(17);
    let scene = Scene::new();
    let jvm = started(jdk, "healthy", &[]);
    let pid = jvm.pid().to_string();
    let record = [
        "memory", &pid, "--record", "10m", "--watch", "100ms", "--json",
    ];
    let mut command = scene.hprof_rs(&[&record[..], &["--cgroups", "none"]].concat());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hprof-rs starts");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    // A line for each look, and one of tracking.
    for _ in 0..3 {
        said.read_line(&mut String::new()).expect("a line");
    }
    let killed = Pid::from_raw(jvm.pid().cast_signed()).expect("a pid");
    kill_process(killed, Signal::KILL).expect("a signal");
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("messages");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{rest}");
    assert!(rest.contains("the process ended after"), "{rest}");
    let recording: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(recording["ended"], "process");
    assert!(recording["series"]["looks"].as_u64() >= Some(2));
    assert!(recording["last"]["table"]["resident"].as_u64() > Some(1 << 20));
    // It can be read again.
    fs::write(scene.path("memory.json"), stdout(&output)).expect("a file");
    let again = ["memory", "--post-mortem", "memory.json"];
    let again = run(&mut scene.hprof_rs(&again), "");
    assert!(
        stdout(&again).contains("resident set"),
        "{}",
        stderr(&again)
    );
    assert!(
        stderr(&again).contains("the process ended after"),
        "{}",
        stderr(&again)
    );
    for (output, words) in [
        ("x.txt", "end the name in .html"),
        ("none/x.html", "there is no folder none"),
    ] {
        // Before anything is looked at.
        let refused = [
            "memory",
            &std::process::id().to_string(),
            "--record",
            "10m",
            "-o",
            output,
        ];
        let refused = run(&mut scene.hprof_rs(&refused), "");
        assert!(!refused.status.success());
        assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
    }
}
