//! The questions of docs/fleet over dumps with planted growth, suspects, regressions and
//! duplicates: DuckDB, and Spark if `HPROF_RS_SPARK` names a Python that has PySpark, must answer
//! with the planted rows.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::export;
use crate::made::Made;
use crate::made::Put::{Int, Ref};
use crate::support::{Scene, run, stderr, stdout};

/// The questions, and the least rows that tell them from an empty answer.
const QUESTIONS: [(&str, usize); 7] = [
    ("growing-classes", 3),
    ("suspects", 2),
    ("regressions", 1),
    ("duplicate-strings", 2),
    ("duplicate-contents", 1),
    ("top-retained", 4),
    ("thread-counts", 2),
];

/// The contents of a dump.
struct Planted {
    sessions: u32,
    /// Sessions of another kind, whose number goes up and down.
    visits: u32,
    buffer: u32,
    cached: u32,
    copies: u32,
    workers: u32,
}

impl Planted {
    fn dump(&self) -> Vec<u8> {
        let mut made = Made::new();
        let object = made.object();
        let objects = made.class("java.lang.Object[]", object, &[]);
        let text = made.class("java.lang.String", object, &[("value", Ref(0))]);
        let thread = made.class("java.lang.Thread", object, &[("name", Ref(0))]);
        let session = made.class("com.example.Session", object, &[("id", Int(0))]);
        let visit = made.class("com.example.Visit", object, &[("id", Int(0))]);
        let mut held: Vec<u64> = (0..self.sessions)
            .map(|id| made.instance(session, &[("id", Int(id as i32))]))
            .collect();
        held.extend((0..self.visits).map(|_| made.instance(visit, &[])));
        held.extend((0..self.copies).map(|_| made.string(text, "a text that is there many times")));
        held.push(made.primitives(8, self.buffer, &vec![7; self.buffer as usize]));
        let all = made.array(objects, &held);
        let cached: Vec<u64> = (0..self.cached)
            .map(|at| made.primitives(8, 10_000, &[at as u8; 10_000]))
            .collect();
        let entries = made.array(objects, &cached);
        let statics = [("ENTRIES", Ref(entries)), ("ALL", Ref(all))];
        let cache = made.class_with("com.example.Cache", object, &[], &statics, 0);
        made.root(0x05, cache);
        for worker in 1..=self.workers {
            let name = made.string(text, &format!("worker-{worker}"));
            let started = made.instance(thread, &[("name", Ref(name))]);
            made.thread(started, worker);
        }
        made.bytes()
    }
}

/// Exports the dumps of the fleet.
fn lake(scene: &Scene) -> PathBuf {
    let mut lake = PathBuf::new();
    for (service, host) in [("shop", "web-1"), ("shop", "web-2"), ("42", "pay-1")] {
        let is_shop = service == "shop";
        for day in 1..=4u32 {
            let build = if day < 4 { "old" } else { "new" };
            let planted = Planted {
                sessions: if is_shop { 1000 * day } else { 500 },
                visits: [300, 100, 400, 200][day as usize - 1],
                buffer: if is_shop && day == 4 {
                    3_000_000
                } else {
                    100_000
                },
                cached: if is_shop { 3 } else { 60 },
                copies: if is_shop { 100 } else { 10 * day },
                workers: if is_shop { 2 + day } else { 1 },
            };
            let name = format!("{host}-{day}.hprof");
            fs::write(scene.path(&name), planted.dump()).expect("a dump");
            let date = format!("2026-11-0{day}");
            let labels = [
                "--service",
                service,
                "--host",
                host,
                "--date",
                &date,
                "--build",
                build,
            ];
            lake = export(scene, &name, &[&labels[..], &["--no-index"]].concat());
        }
    }
    lake
}

/// The program of DuckDB: the one that `HPROF_RS_DUCKDB` names, or that `scripts/setup duckdb` has
/// fetched.
fn duckdb() -> Option<PathBuf> {
    if let Some(named) = env::var_os("HPROF_RS_DUCKDB") {
        return Some(PathBuf::from(named));
    }
    let cache = env::var_os("HPROF_RS_CACHE").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache/hprof-rs")))?;
    let found = cache.join("duckdb/duckdb");
    if found.exists() {
        return Some(found);
    }
    assert!(
        env::var_os("CI").is_none(),
        "no DuckDB: run scripts/setup duckdb"
    );
    println!("no DuckDB: run scripts/setup duckdb for this test");
    None
}

fn fleet() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet")
}

/// Numbers as fractions, since engines write whole ones differently.
fn in_one_form(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(cells) => cells.into_iter().map(in_one_form).collect(),
        Value::Object(cells) => {
            let cells = cells.into_iter();
            Value::Object(
                cells
                    .map(|(name, cell)| (name, in_one_form(cell)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// Compares an answer with the planted rows, which `expected/` has for each question; adds what
/// differs to `faults`.
fn check(faults: &mut Vec<String>, engine: &str, question: &str, least: usize, answer: &str) {
    let found: Value = serde_json::from_str(answer).unwrap_or_else(|_| panic!("{answer}"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/expected");
    let expected = fs::read_to_string(folder.join(format!("{question}.json")));
    let expected = expected.unwrap_or_else(|_| "[]".to_owned());
    let expected: Value = serde_json::from_str(&expected).expect("JSON");
    let rows = found.as_array().expect("rows").len();
    if in_one_form(found.clone()) != in_one_form(expected) || rows < least {
        faults.push(format!("{engine}, {question}: {found}"));
    }
}

#[test]
fn questions_of_a_fleet_find_what_is_planted() {
    let Some(duckdb) = duckdb() else {
        return;
    };
    let scene = Scene::new();
    let lake = lake(&scene);
    let mut faults = Vec::new();
    let views = fs::read_to_string(fleet().join("views.sql")).expect("views");
    for (question, least) in QUESTIONS {
        let sql = fs::read_to_string(fleet().join(format!("{question}.sql"))).expect("a question");
        let mut command = Command::new(&duckdb);
        // Beside the folder `lake`, as docs/fleet/README.md has it.
        command.current_dir(lake.parent().expect("a folder"));
        command.args(["-json", "-c", &views, "-c", &sql]);
        let output = run(&mut command, "");
        assert!(output.status.success(), "{question}: {}", stderr(&output));
        check(&mut faults, "DuckDB", question, least, &stdout(&output));
    }
    if let Some(python) = env::var_os("HPROF_RS_SPARK") {
        ask_spark(&mut faults, Path::new(&python), &lake);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn ask_spark(faults: &mut Vec<String>, python: &Path, lake: &Path) {
    let mut command = Command::new(python);
    command.arg(fleet().join("ask_spark.py")).arg(lake);
    command.args(QUESTIONS.map(|(question, _)| fleet().join(format!("{question}.sql"))));
    let output = run(&mut command, "");
    assert!(output.status.success(), "{}", stderr(&output));
    let answers = stdout(&output);
    let answers: Vec<&str> = answers
        .lines()
        .filter(|line| line.starts_with('['))
        .collect();
    assert_eq!(answers.len(), QUESTIONS.len(), "{answers:?}");
    for ((question, least), answer) in QUESTIONS.into_iter().zip(answers) {
        check(faults, "Spark", question, least, answer);
    }
}
