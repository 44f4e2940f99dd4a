//! Checks that a dump without values says of its objects what the full dump says: ids, classes, sizes, dominators.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use java_test_harness::Jdk;
use serde_json::Value;

use super::Arguments;
use super::figures::{Figure, Figures, Wanted};
use super::graph::cache_folder;
use super::heap::big;
use super::listener::front_end;

/// The table of all objects.
const OBJECTS: &str = "SELECT id, class, size, retained, live, dominator, length FROM objects";

/// The reports that are compared, without descriptions of objects, which quote contents.
const TEXTS: [&[&str]; 3] = [
    &["histogram", "--json", "--top", "0"],
    &["retained", "--json", "--top", "0"],
    &["dominators", "--json", "--top", "1000"],
];

/// The output of a command on a dump that is called `heap.hprof` for it.
fn report(command: &Path, arguments: &[&str], folder: &Path) -> Result<Value> {
    let output = Command::new(command)
        .args(arguments)
        .arg("heap.hprof")
        .current_dir(folder)
        .stderr(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "{arguments:?} failed");
    ensure!(!output.stdout.is_empty(), "{arguments:?} says nothing");
    let mut report = serde_json::from_slice(&output.stdout)?;
    drop_names(&mut report);
    Ok(report)
}

/// Leaves only the class in descriptions of objects.
fn drop_names(report: &mut Value) {
    match report {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "description" => {
                        let words = if text.starts_with("class ") { 2 } else { 1 };
                        *text = text.splitn(words + 1, ' ').take(words).collect();
                    }
                    value => drop_names(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_names),
        _ => {}
    }
}

/// Calls `each` with the hash of every row of the table of objects.
fn rows(command: &Path, folder: &Path, mut each: impl FnMut(u64)) -> Result<u64> {
    let mut child = Command::new(command)
        .args(["query", "--csv", "heap.hprof", OBJECTS])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let out = child.stdout.take().context("no output")?;
    let mut out = BufReader::with_capacity(1 << 20, out);
    let (mut line, mut count) = (Vec::new(), 0);
    while out.by_ref().read_until(b'\n', &mut line)? > 0 {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        each(hasher.finish());
        line.clear();
        count += 1;
    }
    ensure!(child.wait()?.success(), "the query failed");
    Ok(count - 1)
}

/// The full dump of 13 million objects against its stripped copy, and against the agent's dump of level 1 of the
/// same JVM.
pub fn same(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let command = front_end()?;
    let temporary = tempfile::tempdir_in(cache_folder()?)?;
    let base = arguments.keep.as_deref().unwrap_or(temporary.path());
    let jdk = Jdk::compiler();
    let folders = ["full", "strip", "level-1"].map(|name| base.join(name));
    for folder in &folders {
        fs::create_dir_all(folder)?;
    }
    let [full, stripped, level] = folders.each_ref().map(|it| it.join("heap.hprof"));
    let options = format!(
        "heap=dump,doe=n,dumplevel=1,format=b,file={}",
        level.display()
    );
    // Objects that nothing moves any more have their last address at the first dump.
    let running = big(jdk)
        .jvm_args(["-XX:+UseSerialGC"])
        .agent(&options)
        .args(["wait"])
        .start();
    running.wait_for_line("full");
    let path = full.to_str().context("no text")?;
    for _ in 0..2 {
        running.jcmd(&["GC.heap_dump", path]);
        if !level.exists() {
            running.jcmd(&["JVMTI.data_dump"]);
            fs::remove_file(&full)?;
        }
    }
    fs::write(running.path("end"), "")?;
    running.finish().expect_status(0);
    let strip = Command::new(&command)
        .args(["strip", path, "-o"])
        .arg(&stripped)
        .stderr(Stdio::null())
        .status()?;
    ensure!(strip.success(), "strip failed");
    for (name, other) in [("strip", &folders[1]), ("level 1", &folders[2])] {
        let mut add = |measure, unit, plain: f64, result: f64, wanted| {
            figures.add(Figure {
                benchmark: "same",
                case: format!("{jdk}, {name}"),
                measure,
                plain: Some(plain),
                profiled: result,
                unit,
                result,
                wanted,
            });
        };
        let mut known = HashSet::new();
        let count = rows(&command, &folders[0], |row| {
            known.insert(row);
        })?;
        let mut more = 0_u64;
        rows(&command, other, |row| {
            more += u64::from(!known.remove(&row))
        })?;
        let differing = (known.len() as u64 + more) as f64;
        // The VM's own objects change between two dumps of a JVM.
        let most = if name == "strip" { 0.0 } else { 1000.0 };
        add(
            "rows in one only",
            "rows",
            count as f64,
            differing,
            Wanted::AtMost(most),
        );
        for arguments in TEXTS {
            let (before, after) = (
                report(&command, arguments, &folders[0])?,
                report(&command, arguments, other)?,
            );
            let differs = f64::from(u8::from(before != after));
            let wanted = if name == "strip" {
                Wanted::AtMost(0.0)
            } else {
                Wanted::Any
            };
            add(
                arguments[0],
                "differs",
                before.to_string().len() as f64,
                differs,
                wanted,
            );
        }
    }
    Ok(())
}
