//! Rewrites every class of a jar or of a directory tree and writes the result to a directory.
//!
//! `rewrite-jar INPUT OUTPUT [--hook CLASS] [--count-leaves] [--passes N]`
//!
//! Classes that cannot be rewritten are written as they are, other files are left out. All classes
//! are read before the clock starts and written after it stopped, so the printed time is that of
//! the rewriting alone. With `--passes`, the rewriting is repeated and the best time printed.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use hprof_instrument::{Hooks, MethodHook, MethodInfo, MethodNumber, Rewriter, Shape};

struct Arguments {
    input: PathBuf,
    output: PathBuf,
    hook: String,
    count_leaves: bool,
    passes: u32,
}

fn arguments() -> Option<Arguments> {
    let mut plain = Vec::new();
    let mut hook = "java/lang/HprofHooks".to_owned();
    let mut count_leaves = false;
    let mut passes = 1;
    let mut all = std::env::args().skip(1);
    while let Some(argument) = all.next() {
        match argument.as_str() {
            "--hook" => hook = all.next()?,
            "--count-leaves" => count_leaves = true,
            "--passes" => passes = all.next()?.parse().ok()?,
            _ => plain.push(PathBuf::from(argument)),
        }
    }
    let [input, output] = <[PathBuf; 2]>::try_from(plain).ok()?;
    Some(Arguments {
        input,
        output,
        hook,
        count_leaves,
        passes,
    })
}

type Classes = Vec<(PathBuf, Vec<u8>)>;

fn read_directory(root: &Path, at: &Path, classes: &mut Classes) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(at)? {
        let path = entry?.path();
        if path.is_dir() {
            read_directory(root, &path, classes)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "class")
        {
            classes.push((path.strip_prefix(root)?.to_owned(), fs::read(&path)?));
        }
    }
    Ok(())
}

fn read_jar(jar: &Path, classes: &mut Classes) -> Result<(), Box<dyn Error>> {
    let mut archive = zip::ZipArchive::new(File::open(jar)?)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let Some(path) = entry.enclosed_name() else {
            continue;
        };
        if path
            .extension()
            .is_some_and(|extension| extension == "class")
        {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            classes.push((path, bytes));
        }
    }
    Ok(())
}

/// The result of one pass over all classes.
#[derive(Default)]
struct Totals {
    classes: usize,
    methods: u64,
    count_only: u64,
    natives: u64,
    no_longer_compiled: u64,
    bytes_before: usize,
    bytes_after: usize,
    class_skips: BTreeMap<String, u64>,
    method_skips: BTreeMap<String, u64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(arguments) = arguments() else {
        eprintln!("rewrite-jar INPUT OUTPUT [--hook CLASS] [--count-leaves] [--passes N]");
        std::process::exit(2);
    };
    let mut classes = Vec::new();
    if arguments.input.is_dir() {
        read_directory(&arguments.input, &arguments.input, &mut classes)?;
    } else {
        read_jar(&arguments.input, &mut classes)?;
    }
    let hooks = Hooks {
        class: arguments.hook.as_bytes(),
        enter: b"enter",
        exit: b"exit",
        repair: b"repair",
        count: b"count",
    };
    let mut best = Duration::MAX;
    let mut totals = Totals::default();
    let mut results: Vec<Option<Vec<u8>>> = Vec::new();
    let mut rewriter = Rewriter::new();
    for pass in 0..arguments.passes.max(1) {
        let mut number = 0;
        let mut select = |method: &MethodInfo<'_>| {
            let leaf = arguments.count_leaves && method.is_leaf();
            let shape = if leaf { Shape::CountOnly } else { Shape::Full };
            number += 1;
            Some(MethodHook {
                number: MethodNumber(number - 1),
                shape,
            })
        };
        totals = Totals::default();
        results.clear();
        let mut spent = Duration::ZERO;
        for (_, class) in &classes {
            let start = Instant::now();
            let outcome = rewriter.rewrite(class, &hooks, &mut select);
            spent += start.elapsed();
            totals.classes += usize::from(outcome.is_ok());
            totals.bytes_before += class.len();
            totals.bytes_after += outcome
                .as_ref()
                .map_or(class.len(), |done| done.bytes.len());
            if let Err(reason) = &outcome {
                *totals.class_skips.entry(reason.to_string()).or_default() += 1;
            }
            if pass == 0 {
                results.push(outcome.ok().map(|done| done.bytes.to_vec()));
            }
            let tally = rewriter.tally();
            totals.methods += u64::from(tally.hooked);
            totals.count_only += u64::from(tally.count_only);
            totals.natives += u64::from(tally.natives);
            totals.no_longer_compiled += u64::from(tally.no_longer_compiled);
            for skipped in &tally.skipped {
                *totals
                    .method_skips
                    .entry(skipped.reason.to_string())
                    .or_default() += 1;
            }
        }
        best = best.min(spent);
        if pass == 0 {
            write(&arguments.output, &classes, &results)?;
        }
    }
    println!("classes {} of {}", totals.classes, classes.len());
    println!(
        "methods {} ({} count only)",
        totals.methods, totals.count_only
    );
    println!("natives {}", totals.natives);
    println!("no longer compiled {}", totals.no_longer_compiled);
    for (reason, count) in &totals.class_skips {
        println!("classes skipped {count}: {reason}");
    }
    for (reason, count) in &totals.method_skips {
        println!("methods skipped {count}: {reason}");
    }
    println!("bytes {} -> {}", totals.bytes_before, totals.bytes_after);
    println!("seconds {:.3}", best.as_secs_f64());
    Ok(())
}

fn write(
    output: &Path,
    classes: &Classes,
    results: &[Option<Vec<u8>>],
) -> Result<(), Box<dyn Error>> {
    for ((path, class), result) in classes.iter().zip(results) {
        if path
            .components()
            .any(|part| !matches!(part, Component::Normal(_)))
        {
            continue;
        }
        let path = output.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, result.as_ref().unwrap_or(class))?;
    }
    Ok(())
}
