//! Heaps with known answers: the first sentence on the first suspect leads to the line of code that leaks, with
//! the size that a walk without its object finds. Nothing is said about heaps without a leak.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::retained::freed_without;
use hprof_analysis::snapshot::{OpenOptions, Snapshot};
use java_test_harness::{Jdk, Run, classes_for, each_jdk};
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

/// The cases that one program builds one after the other, at most: each takes the memory that the one before has left.
const TOGETHER: usize = 9;

/// The variable that asks for all cases on every JDK.
const ALL: &str = "HPROF_RS_ALL_LEAKS";

/// The variable that asks only for the cases whose names contain one of some words, divided by commas.
const ONLY: &str = "HPROF_RS_LEAKS";

/// The variable with the folder for the table of the cases on [`MAIN`], and for what was wrong on each JDK.
const TABLE: &str = "HPROF_RS_LEAK_TABLE";

/// The variable with a command of an earlier version, whose sentences stand in the table beside those of today.
const BEFORE: &str = "HPROF_RS_COMMAND_BEFORE";

/// The variable with the page of the table, which keeps the earlier version's sentences when there is no such command.
const PAGE: &str = "HPROF_RS_LEAK_PAGE";

/// Stands for the sentence about a heap of which nothing is said.
const NOTHING: &str = "nothing";

/// A case and its answer, as the program declares it.
#[derive(Debug, Default)]
struct Case {
    name: String,
    /// Words of the first sentence.
    says: Vec<String>,
    /// Words of the other sentences.
    tells: Vec<String>,
    /// Words of what is observed beside suspects.
    observes: Vec<String>,
    /// Words of no sentence.
    never: Vec<String>,
    /// The class, static field and further fields that lead to what keeps the memory.
    holder: String,
    /// The start of the names of the threads that keep it.
    threads: String,
    is_healthy: bool,
    /// True if other cases of its family can run in the program after it.
    is_shared: bool,
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
                "observes" => case.observes.push(value),
                "never" => case.never.push(value),
                "holder" => case.holder = value,
                "threads" => case.threads = value,
                "shared" => case.is_shared = value == "true",
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
        let are_all = std::env::var_os(ALL).is_some();
        cases.retain(|case| match jdk.feature() {
            MAIN => case.since <= MAIN,
            other => {
                case.since <= other
                    && (are_all || case.since > MAIN || EVERYWHERE.contains(&case.name.as_str()))
            }
        });
        if let Ok(words) = std::env::var(ONLY) {
            cases.retain(|case| words.split(',').any(|word| case.name.contains(word)));
        }
        cases.retain(|case| case.library.as_ref().is_none_or(|it| it.exists()));
        assert!(!cases.is_empty());
        let runs = Mutex::new(runs(cases));
        let judged = Mutex::new(Vec::new());
        let next = || runs.lock().unwrap().pop();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(cases) = next() {
                        let of_run = judge(jdk, cases);
                        judged.lock().unwrap().extend(of_run);
                    }
                });
            }
        });
        let mut judged = judged.into_inner().unwrap();
        judged.sort_by(|a, b| a.case.cmp(&b.case));
        let is_part = std::env::var_os(ONLY).is_some() || !are_all && jdk.feature() != MAIN;
        if let Some(folder) = std::env::var_os(TABLE).filter(|_| !is_part) {
            write_results(Path::new(&folder), jdk, &judged);
        }
        let failed = judged.iter().filter(|it| !it.wrong.is_empty());
        let failed: Vec<String> = failed
            .map(|it| format!("{}:\n  {}", it.case, it.wrong.join("\n  ")))
            .collect();
        assert!(failed.is_empty(), "on {jdk}\n{}", failed.join("\n"));
    });
}

/// The cases of each program that is run: one that has threads or registers something has a program for itself.
fn runs(cases: Vec<Case>) -> Vec<Vec<Case>> {
    let mut runs: Vec<Vec<Case>> = Vec::new();
    for case in cases {
        let family = |case: &Case| case.name.split('.').next().map(str::to_owned);
        let same = runs.iter_mut().find(|run| {
            case.is_shared
                && run[0].is_shared
                && run.len() < TOGETHER
                && family(&run[0]) == family(&case)
        });
        match same {
            Some(run) => run.push(case),
            None => runs.push(vec![case]),
        }
    }
    runs
}

/// A case with what the report says.
struct Judged {
    case: String,
    /// The first sentence, if there is one.
    headline: Option<String>,
    /// The first sentence of an earlier version, if there is a command of that.
    before: Option<Before>,
    /// The size that it has.
    bytes: u64,
    /// The size that a walk without the object finds, if it is one object.
    truth: Option<u64>,
    is_healthy: bool,
    wrong: Vec<String>,
}

/// The answer of an earlier version.
struct Before {
    headline: Option<String>,
    is_right: bool,
}

impl Before {
    fn of(case: &Case, dump: &Path) -> Option<Self> {
        let command = std::env::var_os(BEFORE)?;
        let report = leaks(Path::new(&command), dump);
        let suspects = report["leaks"]["suspects"].as_array().unwrap();
        let first = suspects.first().filter(|it| is_shown(it));
        let headline = first
            .and_then(|it| it["headline"].as_str())
            .map(str::to_owned);
        let is_right = match &headline {
            Some(said) => !case.is_healthy && missing("sentence", said, &case.says).is_empty(),
            None => case.is_healthy,
        };
        Some(Self { headline, is_right })
    }
}

/// Returns true if a suspect is one that the report names.
fn is_shown(suspect: &Value) -> bool {
    suspect["share"].as_f64() >= Some(0.1)
}

/// Builds the heaps of cases, and looks at the report on each.
fn judge(jdk: &'static Jdk, cases: Vec<Case>) -> Vec<Judged> {
    let run = Run::new(jdk).jvm_arg("-Xmx96m").jvm_arg("-XX:+UseSerialGC");
    let names = cases.iter().enumerate();
    let args = names.flat_map(|(at, case)| [case.name.clone(), format!("heap{at}.hprof")]);
    let run = run.class("LeakCorpus").args(args);
    let run = match cases.iter().find_map(|case| case.library.as_ref()) {
        Some(library) => {
            let mut path = classes_for(jdk).as_os_str().to_owned();
            path.push(":");
            path.push(library);
            run.class_path(Path::new(&path))
        }
        None => run,
    };
    let outcome = run.run().expect_status(0);
    let dumps = (0..cases.len()).map(|at| outcome.path(&format!("heap{at}.hprof")));
    cases
        .iter()
        .zip(dumps)
        .map(|(case, dump)| judged(case, &dump))
        .collect()
}

/// The report on a case, with all that is wrong with it.
fn judged(case: &Case, dump: &Path) -> Judged {
    let report = leaks(Path::new(env!("CARGO_BIN_EXE_hprof-rs")), dump);
    let suspects = report["leaks"]["suspects"].as_array().unwrap();
    let mut judged = Judged {
        case: case.name.clone(),
        headline: None,
        before: Before::of(case, dump),
        bytes: 0,
        truth: None,
        is_healthy: case.is_healthy,
        wrong: Vec::new(),
    };
    let wrong = &mut judged.wrong;
    let observed = report["observations"].to_string();
    wrong.extend(missing("observations", &observed, &case.observes));
    if case.is_healthy {
        let named = suspects.iter().filter(|suspect| is_shown(suspect));
        wrong.extend(named.map(|it| format!("is healthy, but: {}", it["headline"])));
        return judged;
    }
    let Some(first) = suspects.first().filter(|suspect| is_shown(suspect)) else {
        wrong.push(format!("nothing is said; the largest: {suspects:?}"));
        return judged;
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
    (judged.headline, judged.bytes) = (Some(headline.to_owned()), bytes);
    let snapshot = Snapshot::open(dump, &OpenOptions::default()).unwrap();
    // The sentence on the rest of an object leaves out what other suspects keep, and says so.
    let is_rest = |headline: &str| headline.contains("besides what other suspects keep");
    let object_of = |suspect: &Value| {
        let id = suspect["subject_id"].as_str()?;
        let is_whole = !is_rest(suspect["headline"].as_str()?);
        let id = u64::from_str_radix(id.trim_start_matches("0x"), 16).unwrap();
        snapshot.graph().number(id).filter(|_| is_whole)
    };
    let mut sizes: Vec<(ObjectNumber, &Value)> = (suspects.iter())
        .filter_map(|suspect| Some((object_of(suspect)?, suspect)))
        .collect();
    if !case.holder.is_empty() {
        sizes.push((holder(&snapshot, &case.holder), first));
    }
    for (object, suspect) in sizes {
        let truth = freed_without(&snapshot, |other| other == object).unwrap();
        if std::ptr::eq(suspect, first) {
            judged.truth = Some(truth.bytes);
        }
        if suspect["retained_bytes"] != truth.bytes {
            wrong.push(format!("truth is {}: {}", truth.bytes, suspect["headline"]));
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
        judged.truth = Some(truth);
        if bytes > truth || bytes < truth / 100 * 95 {
            wrong.push(format!("{bytes} bytes, truth {truth}: {headline}"));
        }
    }
    // The path shows the size of the sentence.
    for suspect in suspects {
        let end = suspect["path"]["steps"].as_array().unwrap().last().unwrap();
        let headline = suspect["headline"].as_str().unwrap();
        let is_one = suspect["count"] == 1 && !is_rest(headline);
        if is_one && end["retained_bytes"] != suspect["retained_bytes"] {
            wrong.push(format!("{} at the end of: {}", end, suspect["headline"]));
        }
    }
    judged
}

/// Writes what was found on a JDK: a row that counts the cases, and on [`MAIN`] the table of their sentences.
fn write_results(folder: &Path, jdk: &Jdk, judged: &[Judged]) {
    std::fs::create_dir_all(folder).unwrap();
    let wrong = judged.iter().filter(|it| !it.wrong.is_empty());
    let wrong: Vec<&str> = wrong.map(|it| it.case.as_str()).collect();
    let healthy = judged.iter().filter(|it| it.is_healthy).count();
    let names = match wrong.is_empty() {
        true => "none".to_owned(),
        false => wrong.join(", "),
    };
    let row = format!(
        "| {} | {} | {healthy} | {} | {names} |\n",
        jdk.feature(),
        judged.len() - healthy,
        judged.len() - wrong.len(),
    );
    std::fs::write(folder.join(format!("{:02}.row", jdk.feature())), row).unwrap();
    if jdk.feature() == MAIN {
        std::fs::write(folder.join("sentences"), table(judged)).unwrap();
    }
}

/// The cases as a table of a document.
fn table(judged: &[Judged]) -> String {
    let mut text = String::from(
        "| Case | First sentence before | First sentence now | Retained, by the report | Without the object, by a walk |\n\
         | --- | --- | --- | ---: | ---: |\n",
    );
    let kept = kept_sentences();
    for it in judged {
        let headline = match &it.headline {
            None if it.is_healthy => "nothing: it is healthy".to_owned(),
            headline => cell(headline.as_deref()),
        };
        let before = match &it.before {
            None => kept.get(&it.case).cloned().unwrap_or_default(),
            Some(before) if before.headline == it.headline => "as now".to_owned(),
            Some(before) if before.is_right => cell(before.headline.as_deref()),
            Some(before) => format!("**not right:** {}", cell(before.headline.as_deref())),
        };
        let bytes = match it.headline {
            Some(_) => it.bytes.to_string(),
            None => String::new(),
        };
        let truth = it.truth.map_or(String::new(), |it| it.to_string());
        text.push_str(&format!(
            "| {} | {before} | {headline} | {bytes} | {truth} |\n",
            it.case
        ));
    }
    text
}

/// A sentence in a cell of the table.
fn cell(sentence: Option<&str>) -> String {
    let text = sentence.unwrap_or(NOTHING);
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// The sentences of an earlier version by case, as they stand in the page.
fn kept_sentences() -> HashMap<String, String> {
    let page = std::env::var_os(PAGE).and_then(|path| std::fs::read_to_string(path).ok());
    let page = page.unwrap_or_default();
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
        (cells.len() == 5).then(|| (cells[0].to_owned(), cells[1].to_owned()))
    });
    rows.collect()
}

fn missing(place: &str, text: &str, words: &[String]) -> Vec<String> {
    let missing = words.iter().filter(|word| !text.contains(*word));
    missing
        .map(|word| format!("{word} is missing in the {place}: {text}"))
        .collect()
}

/// The JSON of a command's `leaks` about a dump.
fn leaks(command: &Path, dump: &Path) -> Value {
    let mut command = Command::new(command);
    command.args(["leaks", "--json", "--no-index"]).arg(dump);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
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
