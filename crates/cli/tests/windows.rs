//! Parts of a recording's time: `--from` and `--to`, and costs by time, of recordings of each JDK.

mod support;

use std::path::Path;

use java_test_harness::{Run, classes_for, each_release};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

const SETTINGS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.ExecutionSample">
    <setting name="enabled">true</setting><setting name="period">10 ms</setting>
  </event>
  <event name="jdk.ActiveSetting"><setting name="enabled">true</setting></event>
</configuration>"#;

/// The answer of a command as JSON.
#[track_caller]
fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// The standard error of a command that fails.
#[track_caller]
fn refusal(scene: &Scene, arguments: &[&str]) -> String {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(!output.status.success(), "{}", stdout(&output));
    stderr(&output)
}

/// The samples of a method with all that it calls.
fn with_calls(answer: &Value, method: &str) -> u64 {
    let mut rows = answer["rows"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["name"] == method);
    row.map_or(0, |row| row["total"].as_u64().expect("a number"))
}

/// A moment of the program's clock.
fn moment(millis: u64) -> String {
    let millis = i64::try_from(millis).expect("a time");
    jiff::Timestamp::from_millisecond(millis)
        .expect("a time")
        .to_string()
}

#[test]
fn a_window_has_what_happened_in_it() {
    each_release(|jdk| {
        let scene = Scene::new();
        let run_of = Run::new(jdk).file("s.jfc", SETTINGS);
        let (settings, file) = (run_of.path("s.jfc"), run_of.path("r.jfr"));
        let option = format!(
            "-XX:StartFlightRecording=settings={},filename={}",
            settings.display(),
            file.display()
        );
        let phases = ["idle=300", "alpha=1000", "idle=500", "beta=1000"];
        let outcome = run_of.jvm_arg(option).class("Phases").args(phases).run();
        let outcome = outcome.expect_status(0);
        std::fs::write(scene.path("r.jfr"), outcome.bytes("r.jfr")).unwrap();
        let printed = &outcome.stdout;
        let lines: Vec<Vec<&str>> = printed
            .lines()
            .map(|line| line.split(' ').collect())
            .filter(|words: &Vec<&str>| words.len() == 3)
            .collect();
        let times = |method: &str| {
            let line = lines.iter().find(|words| words[0] == method);
            let line = line.expect("the phase was printed");
            let [from, to] = [line[1], line[2]].map(|it| it.parse::<u64>().expect("a time"));
            // The clocks of recording and program may be some milliseconds apart.
            (moment(from - 50), moment(to + 50))
        };
        let samples = |window: &[&str]| {
            let arguments = ["samples", "--json", "--top", "0", "--measure", "samples"];
            json(&scene, &[&arguments, window, &["r.jfr"]].concat())
        };
        let all = samples(&[]);
        let mut sum = 0;
        for (method, other) in [("alpha", "beta"), ("beta", "alpha")] {
            let (from, to) = times(method);
            let part = samples(&["--from", &from, "--to", &to]);
            let own = with_calls(&part, &format!("Phases.{method}"));
            let total = part["total"].as_u64().expect("a number");
            // A busy machine lets it, and the recorder's own sampler, run for a part of the time. Within 50 ms of its ends main prints a line, whose first one links
            // classes.
            assert!(own >= 3 && own * 4 >= total * 3, "{method}: {part}");
            assert_eq!(with_calls(&part, &format!("Phases.{other}")), 0, "{part}");
            sum += own;
        }
        let both = with_calls(&all, "Phases.alpha") + with_calls(&all, "Phases.beta");
        assert_eq!(sum, both, "each sample is in one of the windows");

        let (from, to) = times("beta");
        let windows = [
            "--before-to",
            &from,
            "--after-from",
            &from,
            "--after-to",
            &to,
        ];
        let arguments = [
            &["diff", "--json", "--measure", "samples"],
            &windows[..],
            &["r.jfr"],
        ];
        let diff = json(&scene, &arguments.concat());
        let rows = diff["rows"].as_array().expect("rows");
        let row = |name: &str| rows.iter().find(|row| row["name"] == name);
        let alpha = row("Phases.alpha").unwrap_or_else(|| panic!("{diff}"));
        assert!(
            alpha["before"].as_u64() > Some(0) && alpha["after"] == 0,
            "{alpha}"
        );

        let by_time = [
            "samples",
            "--by",
            "time",
            "--measure",
            "samples",
            "--json",
            "r.jfr",
        ];
        let by_time = json(&scene, &by_time);
        let rows = by_time["rows"].as_array().expect("rows");
        let values = rows
            .iter()
            .map(|row| row["value"].as_u64().expect("a number"));
        assert_eq!(Some(values.sum()), all["total"].as_u64());
        // A sample stands for the 10 ms of the settings.
        let summary = json(&scene, &["summary", "--json", "r.jfr"]);
        assert_eq!(summary["timeline"]["cpu"]["unit"], "cores", "{summary}");

        let outside = refusal(&scene, &["samples", "--from", "+1h", "r.jfr"]);
        assert!(outside.contains("the recording is of"), "{outside}");
        let inverted = ["samples", "--from", "+2s", "--to", "+1s", "r.jfr"];
        let inverted = refusal(&scene, &inverted);
        assert!(inverted.contains("not before the end"), "{inverted}");
    });
}

#[test]
fn a_file_without_times_says_so() {
    let scene = Scene::new();
    std::fs::write(scene.path("x.collapsed"), "a/B.m;a/B.n 3\n").unwrap();
    // What is written of it has no times either, although recordings have.
    let convert = ["convert", "-o", "x.jfr", "x.collapsed"];
    let output = run(&mut scene.hprof_rs(&convert), "");
    assert!(output.status.success(), "{}", stderr(&output));
    for file in ["x.collapsed", "x.jfr"] {
        for arguments in [
            vec!["samples", "--from", "+1s", file],
            vec!["samples", "--by", "time", file],
            vec!["samples", "--by", "time", "--json", file],
            vec!["convert", "--until", "-1s", "-o", "y.svg", file],
            vec!["diff", "--before-to", "+1s", file],
        ] {
            let refusal = refusal(&scene, &arguments);
            assert!(refusal.contains("no times"), "{arguments:?}: {refusal}");
            assert!(refusal.contains(file), "{arguments:?}: {refusal}");
        }
    }
}

/// The phases of a program as it prints them: name, start and end in milliseconds.
fn phases(printed: &str) -> Vec<(String, u64, u64)> {
    let lines = printed
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    lines
        .filter(|words| words.len() == 3)
        .map(|words| {
            let number = |text: &str| text.parse::<u64>().expect("a time");
            (words[0].to_owned(), number(words[1]), number(words[2]))
        })
        .collect()
}

/// Each phase has nothing but its own method in its time, to 2 points; the phases make up all that the methods used.
fn assert_phases_are_apart(scene: &Scene, file: &str, printed: &str) {
    let samples = |window: &[&str]| {
        let arguments = ["samples", "--json", "--top", "0", "--measure", "samples"];
        json(scene, &[&arguments, window, &[file]].concat())
    };
    let all = samples(&[]);
    let mut sum = 0;
    for (name, from, to) in phases(printed) {
        // The program reads the clock before it prints.
        let (from, to) = (moment(from), moment(to));
        if name == "idle" {
            // At the edges the JVM may use a moment of it; mostly there is nothing, which is an answer of its own.
            let arguments = ["samples", "--json", "--from", &from, "--to", &to, file];
            let output = run(&mut scene.hprof_rs(&arguments), "");
            let is_empty = stderr(&output).contains("no costs of that time");
            assert!(is_empty || output.status.success(), "{}", stderr(&output));
            continue;
        }
        let part = samples(&["--from", &from, "--to", &to]);
        let total = part["total"].as_u64().expect("a number");
        let own = with_calls(&part, &format!("Phases.{name}"));
        // A phase begins in the millisecond in which its name was split, and may end a moment after its last millisecond:
        // a sample of either may be in its window, and where the kernel's timers expire at ticks, one sample stands for
        // up to 4 ms.
        const EDGE: u64 = 8;
        assert!(
            own >= 20 && (own + EDGE) * 100 >= total * 98,
            "{file}, {name}: {part}"
        );
        sum += own;
    }
    let both = with_calls(&all, "Phases.alpha") + with_calls(&all, "Phases.beta");
    // The last moments of a phase are in the millisecond in which the clock was read: a sample of each, as above.
    assert!(
        sum <= both && sum * 100 + 800 >= both * 95,
        "{file}: {sum} of {both}"
    );
    let summary = json(scene, &["summary", "--json", file]);
    assert_eq!(summary["timeline"]["cpu"]["unit"], "cores", "{summary}");
}

#[test]
fn recordings_of_our_own_have_the_times_of_samples() {
    each_release(|jdk| {
        let scene = Scene::new();
        let java = jdk.home().join("bin/java");
        let classes = classes_for(jdk);
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        let (java, classes) = (text(&java), text(classes));
        let record = [
            "record",
            "-o",
            "r.jfr",
            "--options",
            "interval=1",
            "--",
            &java,
            "-cp",
            &classes,
            "Phases",
            "idle=100",
            "alpha=500",
            "idle=200",
            "beta=500",
        ];
        let output = run(&mut scene.hprof_rs(&record), "");
        assert!(output.status.success(), "{}", stderr(&output));
        assert_phases_are_apart(&scene, "r.jfr", &stdout(&output));
        let tool = jdk.home().join("bin/jfr");
        if tool.exists() {
            let print = ["print", "--events", "jdk.ExecutionSample"];
            let printed = std::process::Command::new(tool)
                .args(print)
                .arg(scene.path("r.jfr"))
                .output()
                .expect("jfr runs");
            let printed = stdout(&printed);
            let all = json(&scene, &["samples", "--json", "r.jfr"]);
            let events = printed.matches("jdk.ExecutionSample {").count() as u64;
            assert_eq!(Some(events), all["total"].as_u64(), "{printed}");
        }
    });
}

#[test]
fn profiles_in_both_formats_keep_times() {
    let jdk = java_test_harness::Jdk::compiler();
    for (options, name) in [("format=a", "a.hprof.txt"), ("format=b", "a.hprof")] {
        let scene = Scene::new();
        let options = format!("cpu=samples,interval=1,depth=64,timeline=y,{options},file={name}");
        let phases = ["idle=100", "alpha=400", "beta=400"];
        let outcome = Run::new(jdk)
            .agent(&options)
            .class("Phases")
            .args(phases)
            .run();
        let outcome = outcome.expect_status(0);
        std::fs::write(scene.path(name), outcome.bytes(name)).unwrap();
        assert_phases_are_apart(&scene, name, &outcome.stdout);
        // What the times were written for has them too.
        let convert = ["convert", "-o", "b.jfr", name];
        let output = run(&mut scene.hprof_rs(&convert), "");
        assert!(output.status.success(), "{}", stderr(&output));
        assert_phases_are_apart(&scene, "b.jfr", &outcome.stdout);
    }
    let scene = Scene::new();
    let name = "few.hprof.txt";
    let options = format!("cpu=samples,interval=1,timeline=y,timelinemax=10,file={name}");
    let outcome = Run::new(jdk)
        .agent(&options)
        .class("Phases")
        .args(["alpha=300"])
        .run()
        .expect_status(0);
    assert!(
        outcome.stderr.contains("timelinemax="),
        "{}",
        outcome.stderr
    );
    std::fs::write(scene.path(name), outcome.bytes(name)).unwrap();
    let output = run(&mut scene.hprof_rs(&["samples", "--from", "+0s", name]), "");
    assert!(
        stderr(&output).contains("have no time"),
        "{}",
        stderr(&output)
    );
    let total = |arguments: &[&str]| json(&scene, arguments)["total"].as_u64();
    let timed = total(&["samples", "--json", "--from", "+0s", name]);
    assert!(timed >= Some(10) && timed < total(&["samples", "--json", name]));
}

#[test]
fn a_burst_is_said_with_its_time_and_method() {
    let scene = Scene::new();
    let name = "burst.hprof.txt";
    let recorded = || {
        let outcome = Run::new(java_test_harness::Jdk::compiler())
            .agent("cpu=samples,interval=1,depth=64,timeline=y,file=burst.hprof.txt")
            .class("Phases")
            .args(["idle=900", "alpha=700", "idle=900"])
            .run()
            .expect_status(0);
        std::fs::write(scene.path(name), outcome.bytes(name)).unwrap();
        let answer = json(&scene, &["samples", "--json", "--top", "0", name]);
        // A machine that lets it run for a part of its phase makes another load of it, with holes.
        let is_a_burst = with_calls(&answer, "Phases.alpha") >= 600;
        is_a_burst.then_some((outcome, answer))
    };
    let mut tries = std::iter::repeat_with(recorded).take(3);
    let Some((outcome, answer)) = tries.find_map(|it| it) else {
        return;
    };
    let found = &answer["change"];
    assert_eq!(found["method"], "Phases.alpha", "{found}");
    let share = found["share"].as_f64().expect("a share");
    assert!(share >= 0.95, "{found}");
    let (_, from, to) = phases(&outcome.stdout)
        .into_iter()
        .find(|(name, ..)| name == "alpha")
        .expect("alpha");
    let time = |key: &str| {
        let at: jiff::Timestamp = found[key].as_str().expect("a time").parse().expect("ISO");
        u64::try_from(at.as_millisecond()).expect("a time")
    };
    // Stretches of 100 ms; a busy machine may not let it run for some of them.
    let (first, last) = (time("from").max(from), time("to").min(to));
    assert!(last > first && (last - first) * 4 >= to - from, "{found}");
    assert!(
        time("from") + 200 >= from && time("to") <= to + 200,
        "{found}"
    );
    let output = run(&mut scene.hprof_rs(&["samples", name]), "");
    let sentence = stdout(&output);
    let line = sentence.lines().find(|it| it.starts_with("Between "));
    let line = line.unwrap_or_else(|| panic!("{sentence}"));
    assert!(
        line.contains(" CPU use was ") && line.contains(" cores instead of 0."),
        "{line}"
    );
    assert!(
        line.ends_with(" % of the difference in Phases.alpha."),
        "{line}"
    );

    // Findings of a recording say the same.
    let written = run(&mut scene.hprof_rs(&["convert", name, "-o", "b.jfr"]), "");
    assert!(written.status.success(), "{}", stderr(&written));
    let samples = json(&scene, &["samples", "--json", "b.jfr"]);
    assert_eq!(samples["change"]["method"], "Phases.alpha");
    let report = json(&scene, &["report", "--json", "b.jfr"]);
    assert_eq!(report["change"], samples["change"]);
    let said = report["change_sentence"].as_str().expect("a sentence");
    for form in [&["report", "b.jfr"][..], &["report", "--md", "b.jfr"]] {
        let text = stdout(&run(&mut scene.hprof_rs(form), ""));
        assert!(text.contains(said), "{said}: {text}");
    }
}
