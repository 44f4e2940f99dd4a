//! Heaps with known answers: the first sentence on the first suspect leads to the line of code that leaks, with
//! the size that a walk without its object finds. Nothing is said about heaps without a leak.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::retained::freed_without;
use hprof_analysis::snapshot::{OpenOptions, Snapshot};
use java_test_harness::{Jdk, Run, classes, each_jdk};
use serde_json::Value;

/// The JDK that all cases run on; the others run those of [`EVERYWHERE`].
const MAIN: u32 = 17;

/// Cases whose heaps look otherwise on other JDKs.
const EVERYWHERE: [&str; 8] = [
    "LeakHolders.concurrentMap",
    "LeakNodes.concurrentQueue",
    "LeakThreads.threadLocalsOfAPool",
    "LeakThreads.backlog",
    "LeakLives.shutdownHooks",
    "LeakTasks.pingsNeverCancelled",
    "LeakCaches.smallDirectBuffers",
    "HealthyHeaps.nothing",
];

/// A case and its answer, as the program declares it.
#[derive(Debug, Default)]
struct Case {
    name: String,
    /// Words of the first sentence.
    says: Vec<String>,
    /// Words of the other sentences.
    tells: Vec<String>,
    /// Words of no sentence.
    never: Vec<String>,
    /// The class, static field and further fields that lead to what keeps the memory.
    holder: String,
    /// The start of the names of the threads that keep it.
    threads: String,
    is_healthy: bool,
    since: u32,
    /// A library that it needs.
    library: Option<PathBuf>,
}

impl Case {
    fn read(line: &str) -> Self {
        let mut parts = line.split('\t');
        let mut case = Self {
            name: parts.next().unwrap_or_default().to_owned(),
            ..Self::default()
        };
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.to_owned();
            match key {
                "says" => case.says.push(value),
                "tells" => case.tells.push(value),
                "never" => case.never.push(value),
                "holder" => case.holder = value,
                "threads" => case.threads = value,
                "healthy" => case.is_healthy = value == "true",
                "since" => case.since = value.parse().unwrap(),
                "library" if value.is_empty() => {}
                "library" => case.library = Some(Path::new("/usr/share/java").join(value)),
                other => panic!("{other}"),
            }
        }
        case
    }

    fn all(jdk: &'static Jdk) -> Vec<Self> {
        let outcome = Run::new(jdk).class("LeakCorpus").run().expect_status(0);
        outcome.stdout.lines().map(Self::read).collect()
    }
}

#[test]
fn the_first_sentence_names_what_leaks() {
    each_jdk(|jdk| {
        let mut cases = Case::all(jdk);
        cases.retain(|case| match jdk.feature() {
            MAIN => case.since <= MAIN,
            other => {
                case.since <= other
                    && (case.since > MAIN || EVERYWHERE.contains(&case.name.as_str()))
            }
        });
        cases.retain(|case| case.library.as_ref().is_none_or(|it| it.exists()));
        assert!(!cases.is_empty());
        let cases = Mutex::new(cases);
        let failed = Mutex::new(Vec::new());
        let next = || cases.lock().unwrap().pop();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(case) = next() {
                        let wrong = wrong_in(jdk, &case);
                        if !wrong.is_empty() {
                            let text = format!("{}:\n  {}", case.name, wrong.join("\n  "));
                            failed.lock().unwrap().push(text);
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner().unwrap();
        assert!(failed.is_empty(), "on {jdk}\n{}", failed.join("\n"));
    });
}

/// All that is wrong with the report on a case.
fn wrong_in(jdk: &'static Jdk, case: &Case) -> Vec<String> {
    let run = Run::new(jdk).jvm_arg("-Xmx96m").jvm_arg("-XX:+UseSerialGC");
    let run = run.class("LeakCorpus").args([&case.name, "heap.hprof"]);
    let run = match &case.library {
        Some(library) => {
            let mut path = classes().as_os_str().to_owned();
            path.push(":");
            path.push(library);
            run.class_path(Path::new(&path))
        }
        None => run,
    };
    let outcome = run.run().expect_status(0);
    let dump = outcome.path("heap.hprof");
    let suspects = suspects(&dump);
    let mut wrong = Vec::new();
    let shown = |suspect: &Value| suspect["share"].as_f64() >= Some(0.1);
    if case.is_healthy {
        let named = suspects.iter().filter(|suspect| shown(suspect));
        wrong.extend(named.map(|it| format!("is healthy, but: {}", it["headline"])));
        return wrong;
    }
    let Some(first) = suspects.first().filter(|suspect| shown(suspect)) else {
        return vec![format!("nothing is said; the largest: {suspects:?}")];
    };
    let headline = first["headline"].as_str().unwrap();
    let sentences: Vec<&str> = (first["sentences"].as_array().unwrap().iter())
        .filter_map(Value::as_str)
        .collect();
    let all = format!("{headline}\n{}", sentences.join("\n"));
    wrong.extend(missing("first sentence", headline, &case.says));
    wrong.extend(missing("sentences", &all, &case.tells));
    let said = case.never.iter().filter(|word| all.contains(*word));
    wrong.extend(said.map(|word| format!("{word} is in: {all}")));
    let bytes = first["retained_bytes"].as_u64().unwrap();
    let snapshot = Snapshot::open(&dump, &OpenOptions::default()).unwrap();
    if !case.holder.is_empty() {
        let object = holder(&snapshot, &case.holder);
        let truth = freed_without(&snapshot, |other| other == object).unwrap();
        if truth.bytes != bytes {
            wrong.push(format!("{bytes} bytes, truth {}: {headline}", truth.bytes));
        }
    }
    if !case.threads.is_empty() {
        let threads = snapshot.threads();
        let is_one = |object: ObjectNumber| {
            let name = |it: &str| it.starts_with(&case.threads);
            (threads.iter()).any(|it| it.object == object && it.name.as_deref().is_some_and(name))
        };
        // Together they also free what they share.
        let truth = freed_without(&snapshot, is_one).unwrap().bytes;
        if bytes > truth || bytes < truth / 100 * 95 {
            wrong.push(format!("{bytes} bytes, truth {truth}: {headline}"));
        }
    }
    // The path shows the size of the sentence.
    for suspect in &suspects {
        let end = suspect["path"]["steps"].as_array().unwrap().last().unwrap();
        // The sentence on the rest of an object leaves out what other suspects keep, and says so.
        let headline = suspect["headline"].as_str().unwrap();
        let is_rest = headline.contains("besides what other suspects keep");
        let is_one = suspect["count"] == 1 && !is_rest;
        if is_one && end["retained_bytes"] != suspect["retained_bytes"] {
            wrong.push(format!("{} at the end of: {}", end, suspect["headline"]));
        }
    }
    wrong
}

fn missing(place: &str, text: &str, words: &[String]) -> Vec<String> {
    let missing = words.iter().filter(|word| !text.contains(*word));
    missing
        .map(|word| format!("{word} is missing in the {place}: {text}"))
        .collect()
}

fn suspects(dump: &Path) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hprof-rs"));
    command.args(["leaks", "--json", "--no-index"]).arg(dump);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    json["leaks"]["suspects"].as_array().unwrap().clone()
}

/// The object that a class, a static field of it and fields from there on lead to.
fn holder(snapshot: &Snapshot, way: &str) -> ObjectNumber {
    let mut fields = way.split('.');
    let class = fields.next().unwrap();
    let mut classes = snapshot.graph().classes().list().iter();
    let class = classes.find(|it| it.name == class && it.id != 0).unwrap();
    let Some(name) = fields.next() else {
        return snapshot.graph().number(class.id).unwrap();
    };
    let field = class.statics.iter().find(|it| it.name == name).unwrap();
    let object = snapshot.graph().number(field.bits).unwrap();
    fields.fold(object, |at, name| snapshot.field_object(at, name).unwrap())
}
