//! Readers of the JDK's agent read our text: gprof2dot as it is on PyPI.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use java_test_harness::{Jdk, Outcome, Run};

/// The script that `HPROF_RS_GPROF2DOT` names, or that `scripts/setup readers` has fetched.
fn gprof2dot() -> Option<PathBuf> {
    if let Some(named) = env::var_os("HPROF_RS_GPROF2DOT") {
        return Some(PathBuf::from(named));
    }
    let cache = env::var_os("HPROF_RS_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache/hprof-rs")))?;
    let found = cache.join("readers/gprof2dot.py");
    if found.exists() {
        return Some(found);
    }
    assert!(
        env::var_os("CI").is_none(),
        "no gprof2dot: run scripts/setup readers"
    );
    println!("no gprof2dot: run scripts/setup readers for this test");
    None
}

/// The call graph that gprof2dot makes of a profile. It waits for ever for a section that does not come, so it gets a minute.
fn graph(script: &Path, outcome: &Outcome) -> String {
    let dot = outcome.path("graph.dot");
    let mut child = Command::new("python3")
        .arg(script)
        // All nodes and edges, however small.
        .args(["-f", "hprof", "-n", "0", "-e", "0", "-o"])
        .arg(&dot)
        .arg(outcome.path("java.hprof.txt"))
        .spawn()
        .expect("python3 starts");
    let deadline = Instant::now() + Duration::from_secs(240);
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().expect("a child");
            panic!("gprof2dot does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "gprof2dot: {status}");
    std::fs::read_to_string(&dot).expect("a graph")
}

#[test]
fn gprof2dot_reads_the_text_of_each_cpu_mode() {
    let Some(script) = gprof2dot() else {
        return;
    };
    let modes = [
        ("cpu=samples,depth=8", "Spin"),
        ("cpu=samples,lineno=n", "Spin"),
        ("cpu=samples,engine=safepoint", "Spin"),
        ("cpu=samples,cstack=y,vmthreads=y", "Spin"),
        ("cpu=wall", "Spin"),
        ("cpu=times,cutoff=0", "CallCounts"),
        ("cpu=times,clock=exact", "CallCounts"),
    ];
    for (options, program) in modes {
        let jdk = Jdk::feature_release(17);
        let outcome = Run::new(jdk).agent(options).class(program).run();
        let outcome = outcome.expect_status(0);
        // The rules that other readers have are checked here.
        let profile = outcome.profile();
        let table = profile.tables.last().or(profile.times.last());
        let rows = &table.expect("a table").rows;
        let graph = graph(&script, &outcome);
        assert!(!rows.is_empty(), "{options}");
        for row in rows {
            let method = profile.traces[&row.trace].methods()[0].to_owned();
            assert!(
                graph.contains(&method) || graph.contains(&method.replace("\\", "\\\\")),
                "{options}: {method} is not in the graph"
            );
        }
    }
}
