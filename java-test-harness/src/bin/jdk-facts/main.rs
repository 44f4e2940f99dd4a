//! Compares what the agent knows of JDKs: the VM's exported tables, versions, flags, names of threads, and the code of classes
//! that get hooks.

mod exported;
mod facts;

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use java_test_harness::{Collector, Jdk, Run, Signal, workspace};

use facts::Facts;

/// Classes of the JDK whose code or fields the agent depends on, as docs/new-jdk-checklist.md says.
const CLASSES: [&str; 10] = [
    "java.lang.Object",
    "java.lang.Thread",
    "java.lang.VirtualThread",
    "java.util.concurrent.SynchronousQueue",
    "java.util.concurrent.locks.AbstractQueuedLongSynchronizer",
    "java.util.concurrent.locks.AbstractQueuedSynchronizer",
    "java.util.concurrent.locks.LockSupport",
    "java.util.concurrent.locks.StampedLock",
    "jdk.internal.vm.Continuation",
    "jdk.internal.vm.StackChunk",
];

/// Prints how two JDKs differ in what the agent knows of them.
#[derive(Debug, Parser)]
#[command(name = "jdk-facts")]
struct Arguments {
    /// Home of the JDK that is known.
    known: PathBuf,
    /// Home of the new one.
    new: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("jdk-facts: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let jdk = |home: &PathBuf| -> Result<&'static Jdk> {
        let jdk = Jdk::at(home).with_context(|| format!("{} is no JDK", home.display()))?;
        Ok(Box::leak(Box::new(jdk)))
    };
    let (known, new) = (jdk(&arguments.known)?, jdk(&arguments.new)?);
    let facts = [facts_of(known)?, facts_of(new)?];
    let path = workspace().join("docs/new-jdk-checklist.md");
    let checklist = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let used: BTreeSet<&str> = checklist.split('`').skip(1).step_by(2).collect();
    let uses =
        |name: &str| used.contains(name) || CLASSES.iter().any(|class| name.starts_with(class));
    let [old_name, new_name] = [known, new].map(Jdk::to_string);
    println!("# {new_name} beside {old_name}");
    print!(
        "{}",
        facts::differences([&old_name, &new_name], &facts, uses)
    );
    Ok(())
}

fn facts_of(jdk: &'static Jdk) -> Result<Facts> {
    let mut facts = Facts::default();
    add_exported(&mut facts, jdk)?;
    add_versions(&mut facts, jdk)?;
    add_flags(&mut facts, jdk)?;
    add_threads(&mut facts, jdk);
    add_code(&mut facts, jdk)?;
    // Nothing of a section that every JDK has: it is laid out in another way.
    for section in [
        "exported fields",
        "exported types",
        "exported constants",
        "flags",
        "bytecode",
    ] {
        ensure!(
            facts.count(section) > 30,
            "{jdk}: hardly any {section} were found"
        );
    }
    Ok(facts)
}

/// The output of a command of the JDK, on both streams.
fn output(jdk: &Jdk, tool: &str, arguments: &[&str]) -> Result<String> {
    let path = jdk.tool(tool);
    let output = Command::new(&path).args(arguments).output();
    let output = output.with_context(|| path.display().to_string())?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    ensure!(
        output.status.success(),
        "{} {arguments:?}: {said}",
        path.display()
    );
    Ok(said)
}

fn add_exported(facts: &mut Facts, jdk: &'static Jdk) -> Result<()> {
    let running = Run::new(jdk).class("Idle").start();
    running.wait_for_line("ready");
    let added = exported::add(facts, running.pid());
    running.signal(Signal::Kill);
    running.finish();
    added.with_context(|| jdk.to_string())
}

fn add_versions(facts: &mut Facts, jdk: &Jdk) -> Result<()> {
    let settings = output(jdk, "java", &["-XshowSettings:properties", "-version"])?;
    let property = |name: &str| {
        settings
            .lines()
            .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(" = "))
    };
    for name in ["java.class.version", "java.vm.specification.version"] {
        facts.add("versions", name, property(name).unwrap_or("unknown"));
    }
    let path = jdk.home().join("include/jvmti.h");
    let Ok(header) = fs::read_to_string(&path) else {
        facts.add("versions", "JVMTI_VERSION", "no header");
        return Ok(());
    };
    let version = header
        .lines()
        .find_map(|line| line.trim().strip_prefix("JVMTI_VERSION = "));
    facts.add("versions", "JVMTI_VERSION", version.unwrap_or("unknown"));
    // Functions by their place in the table: "/*   5 : Get Thread State */".
    let mut place = None;
    for line in header.lines().map(str::trim) {
        if let Some((number, _)) = line.strip_prefix("/*").and_then(|it| it.split_once(" : ")) {
            place = number.trim().parse::<u32>().ok();
        } else if let Some(nth) = place
            && let Some(name) = line
                .split("JNICALL *")
                .nth(1)
                .and_then(|it| it.split(')').next())
        {
            facts.add("JVMTI functions", &format!("{nth:3}"), name);
            place = None;
        }
    }
    Ok(())
}

fn add_flags(facts: &mut Facts, jdk: &Jdk) -> Result<()> {
    let unlock = [
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+UnlockExperimentalVMOptions",
    ];
    let arguments = [
        unlock[0],
        unlock[1],
        "-Xmx128m",
        "-XX:+PrintFlagsFinal",
        "-version",
    ];
    for line in output(jdk, "java", &arguments)?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [kind, name, "=" | ":=", rest @ ..] = &words[..] {
            facts.add("flags", name, &format!("{kind} {}", rest.join(" ")));
        }
    }
    Ok(())
}

fn add_threads(facts: &mut Facts, jdk: &'static Jdk) {
    let collectors = Collector::ALL.into_iter().filter(|it| it.supported_by(jdk));
    for collector in collectors {
        let run = Run::new(jdk).jvm_args(collector.arguments().iter().copied());
        let running = run.class("Idle").start();
        running.wait_for_line("ready");
        let tasks = fs::read_dir(format!("/proc/{}/task", running.pid()));
        for task in tasks.into_iter().flatten().flatten() {
            // A thread may have ended.
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            let name = name.trim().trim_end_matches(|c: char| c.is_ascii_digit());
            if !name.is_empty() {
                facts.add("names of threads", &format!("{collector}: {name}"), "there");
            }
        }
        running.signal(Signal::Kill);
        running.finish();
    }
}

/// The code of each method, with the constants that it names in place of their numbers.
fn add_code(facts: &mut Facts, jdk: &Jdk) -> Result<()> {
    for class in CLASSES {
        let Ok(listing) = output(jdk, "javap", &["-c", "-p", class]) else {
            facts.add("bytecode", class, "absent");
            continue;
        };
        for method in listing.split("\n\n") {
            let mut lines = method
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty());
            let Some(head) =
                lines.find(|line| line.ends_with(';') && !line.starts_with("Compiled"))
            else {
                continue;
            };
            let mut hasher = DefaultHasher::new();
            for line in lines {
                let words = line
                    .split_whitespace()
                    .filter(|word| !word.starts_with('#'));
                words.collect::<Vec<_>>().hash(&mut hasher);
            }
            let head = head.trim_end_matches(';');
            let value = format!("{:016x}", hasher.finish());
            facts.add("bytecode", &format!("{class}: {head}"), &value);
        }
    }
    Ok(())
}
