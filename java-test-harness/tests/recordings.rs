//! Recordings of the JDK Flight Recorder are read as the JDK's own `jfr print` reads them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use hprof_foreign::jfr::write::write;
use hprof_foreign::{Kind, Profile, read};
use hprof_java_names::source_form;
use hprof_stacks::pictures::profile::Profile as Pictured;
use hprof_stacks::{Measure, Weights, by_method};
use java_test_harness::{Jdk, Run, each_release};
use serde_json::Value;

const SETTINGS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.ExecutionSample">
    <setting name="enabled">true</setting><setting name="period">10 ms</setting>
  </event>
  <event name="jdk.ObjectAllocationSample">
    <setting name="enabled">true</setting><setting name="throttle">300/s</setting>
  </event>
  <event name="jdk.ObjectAllocationInNewTLAB"><setting name="enabled">true</setting></event>
  <event name="jdk.ObjectAllocationOutsideTLAB"><setting name="enabled">true</setting></event>
  <event name="jdk.JavaMonitorEnter">
    <setting name="enabled">true</setting><setting name="threshold">1 ms</setting>
  </event>
</configuration>"#;

/// The values of all events with one of some names, by the JDK's tool.
fn printed(jdk: &Jdk, file: &Path, events: &str) -> Vec<Value> {
    let mut print = Command::new(jdk.tool("jfr"));
    print.args(["print", "--json", "--stack-depth", "64", "--events", events]);
    let output = print.arg(file).output().expect("jfr print runs");
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let events = printed["recording"]["events"].as_array().expect("events");
    events.iter().map(|event| event["values"].clone()).collect()
}

/// Own and total costs by method.
type Costs = BTreeMap<String, (u64, u64)>;

fn expected(events: &[Value], cost: impl Fn(&Value) -> u64) -> Costs {
    let mut costs = Costs::new();
    for event in events {
        let frames = event["stackTrace"]["frames"].as_array();
        let mut seen = Vec::new();
        for (depth, frame) in frames.into_iter().flatten().enumerate() {
            let method = &frame["method"];
            let class = source_form(method["type"]["name"].as_str().expect("a class"));
            // JDK 21 prints hidden classes with an address, and with a number behind it.
            let class = hprof_stacks::family(&class).into_owned();
            let class = hprof_stacks::family(&class);
            let name = format!("{class}.{}", method["name"].as_str().expect("a name"));
            let sums = costs.entry(name.clone()).or_default();
            sums.0 += if depth == 0 { cost(event) } else { 0 };
            sums.1 += if seen.contains(&name) { 0 } else { cost(event) };
            seen.push(name);
        }
    }
    costs
}

fn weights(profile: &Profile, measure: Measure) -> &Weights {
    let mut all = profile.weights.iter();
    let found = all.find(|it| it.measure == measure);
    found.unwrap_or_else(|| panic!("no {measure}"))
}

fn found(profile: &Profile, measure: Measure) -> Costs {
    let costs = by_method(&profile.stacks, weights(profile, measure));
    let costs = costs.into_iter().filter(|it| it.name != "<empty trace>");
    costs.map(|it| (it.name, (it.own, it.total))).collect()
}

/// Milliseconds of `PT0.0398S`.
fn millis(duration: &Value) -> f64 {
    let text = duration.as_str().expect("a duration");
    let seconds = text.strip_prefix("PT").and_then(|it| it.strip_suffix('S'));
    let seconds = seconds.expect("seconds").parse::<f64>();
    seconds.expect("a number") * 1000.0
}

#[test]
fn shares_are_those_of_jfr_print() {
    each_release(|jdk| {
        let run = Run::new(jdk).file("s.jfc", SETTINGS);
        let (settings, file) = (run.path("s.jfc"), run.path("r.jfr"));
        let option = format!(
            "-XX:StartFlightRecording=settings={},filename={}",
            settings.display(),
            file.display()
        );
        let outcome = run.jvm_arg(option).class("Recorded").args(["1500"]).run();
        let outcome = outcome.expect_status(0);
        let bytes = outcome.bytes("r.jfr");
        assert_eq!(Kind::of(&bytes), Some(Kind::Jfr));
        let profile = read(&bytes, Kind::Jfr, &mut |_| {}).expect("a recording");
        assert_eq!(profile.damaged, 0, "{:?}", profile.damage);

        let samples = printed(jdk, &file, "jdk.ExecutionSample");
        assert!(samples.len() > 10, "{} samples", samples.len());
        let all = weights(&profile, Measure::Samples);
        assert_eq!(all.total, samples.len() as u64);
        assert_eq!(found(&profile, Measure::Samples), expected(&samples, |_| 1));

        let bytes = |event: &Value, name: &str| event[name].as_u64().unwrap_or(0);
        let allocations = match jdk.feature() {
            ..16 => printed(
                jdk,
                &file,
                "jdk.ObjectAllocationInNewTLAB,jdk.ObjectAllocationOutsideTLAB",
            ),
            // Not the two others, which would count the same bytes again.
            _ => printed(jdk, &file, "jdk.ObjectAllocationSample"),
        };
        let cost = |event: &Value| {
            let sizes = ["weight", "tlabSize", "allocationSize"].map(|name| bytes(event, name));
            sizes.into_iter().find(|&size| size > 0).unwrap_or(0)
        };
        assert!(!allocations.is_empty());
        assert_eq!(
            found(&profile, Measure::AllocatedBytes),
            expected(&allocations, cost)
        );

        let enters = printed(jdk, &file, "jdk.JavaMonitorEnter");
        assert!(!enters.is_empty());
        let waited: f64 = enters.iter().map(|event| millis(&event["duration"])).sum();
        let total = weights(&profile, Measure::Contention).total as f64;
        assert!((total - waited).abs() <= 1.0, "{total} {waited}");
        assert!(profile.threads.iter().any(|it| it.name == "main"));
        the_jdk_reads_what_is_written(jdk, &profile, &outcome.path("written.jfr"));
    });
}

/// Writes a profile as a recording, which the JDK's tool must read as this crate does.
fn the_jdk_reads_what_is_written(jdk: &Jdk, original: &Profile, file: &Path) {
    let thread_name = |serial| {
        let mut all = original.threads.iter();
        all.find(|it| it.serial == serial).map(|it| it.name.clone())
    };
    let bytes = write(
        &Pictured {
            title: "test",
            stacks: &original.stacks,
            weights: original.weights.clone(),
            thread_name: &thread_name,
            remarks: &[],
            own: None,
            depth: None,
        },
        None,
        original.created_millis,
        None,
    );
    std::fs::write(file, &bytes).expect("a file");
    let mut summary = Command::new(jdk.tool("jfr"));
    let summary = summary
        .arg("summary")
        .arg(file)
        .output()
        .expect("jfr summary runs");
    let text = String::from_utf8_lossy(&summary.stdout).into_owned();
    assert!(
        summary.status.success() && text.contains("jdk.ExecutionSample"),
        "{summary:?}"
    );
    let samples = printed(jdk, file, "jdk.ExecutionSample");
    assert_eq!(found(original, Measure::Samples), expected(&samples, |_| 1));
    let main = |event: &Value| event["sampledThread"]["javaName"] == "main";
    assert!(samples.iter().any(main));
    let allocations = printed(jdk, file, "jdk.ObjectAllocationSample");
    let weight = |event: &Value| event["weight"].as_u64().expect("bytes");
    assert_eq!(
        found(original, Measure::AllocatedBytes),
        expected(&allocations, weight)
    );
    let enters = printed(jdk, file, "jdk.JavaMonitorEnter");
    let waited: f64 = enters.iter().map(|event| millis(&event["duration"])).sum();
    let total = weights(original, Measure::Contention).total as f64;
    assert!((total - waited).abs() < 0.01, "{total} {waited}");
}
