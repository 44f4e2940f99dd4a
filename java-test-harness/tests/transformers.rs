//! Java agents of others, whose transformers run Java code while classes are loaded, linked and retransformed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use java_test_harness::{
    Jdk, Outcome, Run, each_jdk, lazy_transformer, slow_transformer, workspace,
};

/// Where Debian's packages put libraries.
const LIBRARIES: &str = "/usr/share/java";

/// Runs a program with the agent before and behind the Java agent `other`, and checks calls that are counted.
fn in_both_orders(jdk: &'static Jdk, other: &str, flags: &[&str]) {
    for mode in ["cpu=times,cutoff=0", "monitor=y,heap=all"] {
        let run = || Run::new(jdk).jvm_args(flags.iter().copied());
        let before = run().jvm_arg(other).agent(mode);
        let behind = run().agent(mode).jvm_arg(other);
        for run in [before, behind] {
            let outcome = run.class("LazyTransformer").run().expect_status(0);
            assert_eq!(outcome.stdout, "done\n");
            if mode.starts_with("cpu=times") {
                check_calls(&outcome, "LazyTransformer.counted");
            }
        }
    }
}

fn check_calls(outcome: &Outcome, method: &str) {
    let profile = outcome.profile();
    assert_eq!(profile.calls(method), 1000);
    assert_eq!(profile.counter("internal_errors"), 0);
}

/// A library of Debian's packages; without it the test fails where the command of all tests runs, which installs it.
fn library(name: &str) -> Option<PathBuf> {
    let path = Path::new(LIBRARIES).join(name);
    let is_required =
        std::env::var_os("HPROF_RS_BUILD_TOOLS").as_deref() == Some(OsStr::new("required"));
    assert!(
        path.exists() || !is_required,
        "no {}: scripts/setup integrations",
        path.display()
    );
    path.exists().then_some(path)
}

fn run_tool(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// Where two of the agent's threads ran such code at the start, each waited for a class that the other was linking.
#[test]
fn transformers_of_others_do_not_hold_the_start_up() {
    each_jdk(|jdk| {
        let other = format!("-javaagent:{}", lazy_transformer().display());
        in_both_orders(jdk, &other, &[]);
    });
}

#[test]
fn a_coverage_agent_starts_with_this_one() {
    let Some(jar) = library("org.jacoco.agent.jar") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // The agent is a file within the library.
    let tool = Jdk::compiler().tool("jar");
    run_tool(
        Command::new(tool)
            .arg("xf")
            .arg(jar)
            .arg("jacocoagent.jar")
            .current_dir(&folder),
    );
    let other = folder.path().join("jacocoagent.jar");
    let other = format!("-javaagent:{}=output=none", other.display());
    each_jdk(|jdk| {
        // Debian's version does not read class files of later releases.
        if jdk.feature() <= 17 {
            in_both_orders(jdk, &other, &[]);
        }
    });
}

#[test]
fn a_weaver_of_aspects_starts_with_this_agent() {
    let Some(jar) = library("aspectjweaver.jar") else {
        return;
    };
    let other = format!("-javaagent:{}", jar.display());
    each_jdk(|jdk| in_both_orders(jdk, &other, &[]));
}

#[test]
fn an_agent_made_with_byte_buddy_starts_with_this_one() {
    let Some(jar) = library("byte-buddy.jar") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = workspace().join("java-test-harness/java-agents/Advised.java");
    let compiler = Jdk::compiler();
    let mut javac = Command::new(compiler.tool("javac"));
    javac
        .args(["--release", "11", "-cp"])
        .arg(&jar)
        .arg("-d")
        .arg(folder.path());
    run_tool(javac.arg(source));
    let manifest = folder.path().join("manifest");
    let text = format!(
        "Premain-Class: Advised\nCan-Retransform-Classes: true\nClass-Path: {}\n",
        jar.display()
    );
    fs::write(&manifest, text).unwrap();
    let agent = folder.path().join("advised.jar");
    let mut tool = Command::new(compiler.tool("jar"));
    tool.arg("cfm")
        .arg(&agent)
        .arg(&manifest)
        .arg("-C")
        .arg(folder.path())
        .arg("Advised.class");
    run_tool(
        tool.arg("-C")
            .arg(folder.path())
            .arg("Advised$OnEnter.class"),
    );
    let other = format!("-javaagent:{}", agent.display());
    // Debian's version reads class files of later releases by this flag only.
    each_jdk(|jdk| in_both_orders(jdk, &other, &["-Dnet.bytebuddy.experimental=true"]));
}

/// Calls of the program are counted all the same, as its classes are loaded later.
#[test]
fn a_start_that_another_agent_holds_up_gives_up_in_the_end() {
    let other = format!("-javaagent:{}", slow_transformer().display());
    let run = Run::new(Jdk::feature_release(17)).time_limit(Duration::from_secs(240));
    let run = run.jvm_arg(&other).agent("cpu=times,cutoff=0");
    let outcome = run.class("SlowTransformer").run().expect_status(0);
    check_calls(&outcome, "SlowTransformer.counted");
    let said = &outcome.stderr;
    assert!(
        said.contains("the JVM has not started after 30 s"),
        "{said}"
    );
    assert!(said.contains("that are loaded are not counted"), "{said}");
}

/// JDK 8 has no event for allocations, so its classes get hooks, too. Instances are counted by `Object`, which comes first, and
/// arrays of the program by its class, which is loaded later.
#[test]
fn hooks_for_allocations_give_up_beside_another_agent_in_the_end() {
    let Some(jdk) = Jdk::find(8) else {
        eprintln!("skipped: no JDK 8 found; `scripts/setup jdks` fetches it");
        return;
    };
    let other = format!("-javaagent:{}", slow_transformer().display());
    let run = Run::new(jdk).time_limit(Duration::from_secs(240));
    let run = run.jvm_arg(&other).agent("heap=sites,cutoff=0,depth=6");
    let outcome = run.class("SlowTransformer").run().expect_status(0);
    let profile = outcome.profile();
    for class in ["SlowTransformer", "int[]"] {
        let rows = profile.sites_with("SlowTransformer.counted");
        let rows = rows.filter(|row| row.class == class);
        let made: u64 = rows.map(|row| row.allocated_objects).sum();
        assert_eq!(made, 1000, "{class}");
    }
    let said = &outcome.stderr;
    for line in [
        "the JVM has not started after 30 s: heap=sites waits",
        "that are loaded are not counted",
    ] {
        assert!(said.contains(line), "{said}");
    }
}
