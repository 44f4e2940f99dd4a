//! `hprof-rs record --calls`: each call once.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use java_test_harness::{Run, each_jdk};
use support::{Scene, run};

/// The calls of a method in a profile in text.
fn calls(profile: &str, method: &str) -> u64 {
    let rows = profile
        .lines()
        .map(|line| line.split_whitespace().collect());
    let rows = rows.filter(|row: &Vec<&str>| row.len() == 6 && row[5] == method);
    rows.map(|row| row[3].parse::<u64>().expect("a count"))
        .sum()
}

#[test]
fn calls_are_counted_exactly_while_a_jvm_is_recorded() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let running = Run::new(jdk).class("Late").args(["CallCounts"]).start();
        running.wait_for_line("ready");
        let round = |number: u32| {
            fs::write(running.path(&format!("round{number}")), "").unwrap();
            running.wait_for_line(&format!("round {number}"));
        };
        round(1);
        let pid = running.pid().to_string();
        for (output, rounds) in [("calls.txt", [2, 3]), ("again.txt", [5, 6])] {
            let record = ["record", &pid, "--calls", "-o", output];
            let mut command = scene.hprof_rs(&record);
            let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
            let mut said = BufReader::new(child.stderr.take().unwrap());
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            assert!(line.contains("until Ctrl+C"), "{line}");
            rounds.into_iter().for_each(round);
            let pid = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
            said.read_to_string(&mut line).unwrap();
            assert!(child.wait().unwrap().success(), "{line}");
            round(rounds[1] + 1);
            let profile = fs::read_to_string(scene.path(output)).unwrap();
            for (method, each) in [
                ("CallCounts.fib", 1973),
                ("CallCounts.leaf", 50_000),
                ("CallCounts.reflected", 3000),
                ("CallCounts.thrower", 1000),
            ] {
                assert_eq!(calls(&profile, method), 2 * each, "{jdk}: {method}");
            }
        }
        let status = run(&mut scene.hprof_rs(&["control", &pid, "status"]), "");
        assert_eq!(status.status.code(), Some(1), "the agent is still at work");
    });
}
