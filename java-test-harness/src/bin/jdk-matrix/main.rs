//! Runs each mode on each JDK, with each collector and each way to run code, and prints the matrix as a page.

mod cell;
mod command;
mod machine;
mod mode;
mod page;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use java_test_harness::{Jdk, Run};

use cell::{Cell, Difference, Lost};
use command::{USES, Use};
use machine::{COLLECTORS, FLAGS, Machine, USUAL};
use mode::{MODES, Mode, Seen};
use page::Table;

/// The releases of the page.
const RELEASES: [u32; 8] = [8, 11, 17, 21, 25, 26, 27, 28];
/// Modes for which the collector matters.
const OF_COLLECTORS: [&str; 4] = ["cpu=samples", "heap=sites", "heap=dump", "heap=all"];
/// Modes for which it matters how code runs and how objects lie.
const OF_FLAGS: [&str; 6] = [
    "cpu=samples",
    "cpu=times",
    "monitor=y",
    "heap=sites",
    "heap=dump",
    "heap=all",
];

/// Runs every mode on every JDK and prints the matrix.
#[derive(Debug, Parser)]
#[command(name = "jdk-matrix")]
struct Arguments {
    /// Feature releases, as 17,28; all of the page by default.
    #[arg(long, value_delimiter = ',')]
    jdk: Vec<u32>,
    /// A JDK by its home, in place of releases.
    #[arg(long, conflicts_with = "jdk")]
    home: Option<PathBuf>,
    /// Only rows with this in their name.
    #[arg(long)]
    only: Option<String>,
    /// The built command, for the rows of its uses.
    #[arg(long)]
    command: Option<PathBuf>,
    /// JVMs that run at once.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

/// A busy machine may put the share of a sample out of its bounds now and then, or delay a signal, not each time.
const MORE_ATTEMPTS: usize = 2;

/// A run that the page needs.
struct Task {
    jdk: &'static Jdk,
    machine: &'static Machine,
    mode: &'static Mode,
    /// Why its JVM cannot run so.
    refused: Option<String>,
}

type Done = (Cell, Option<Lost>);
type Key = (&'static str, &'static str, u32);

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("jdk-matrix: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the page. False if a figure is wrong.
fn run(arguments: &Arguments) -> Result<bool> {
    let jdks = jdks(arguments)?;
    let is_wanted = |name: &str| arguments.only.as_deref().is_none_or(|it| name.contains(it));
    let modes: Vec<&'static Mode> = MODES.iter().filter(|it| is_wanted(it.name)).collect();
    let some = |names: &[&str]| -> Vec<(&'static Mode, String)> {
        let modes = names.iter().map(|name| Mode::named(name));
        modes.map(|mode| (mode, mode.name.to_owned())).collect()
    };
    let parts = [(COLLECTORS, some(&OF_COLLECTORS)), (FLAGS, some(&OF_FLAGS))];
    let mut rows: Vec<(&'static Machine, &'static Mode)> =
        modes.iter().map(|mode| (&USUAL, *mode)).collect();
    for (machines, of_part) in &parts {
        for machine in *machines {
            let named = of_part.iter().map(|(mode, _)| (machine, *mode));
            rows.extend(
                named.filter(|(machine, mode)| is_wanted(machine.name) || is_wanted(mode.name)),
            );
        }
    }
    let done = run_all(&tasks(&jdks, &rows), arguments.jobs);
    let cells = |machine: &Machine, mode: &Mode| -> Vec<Cell> {
        let of = |jdk: &&Jdk| done[&(machine.name, mode.name, jdk.feature())].0.clone();
        jdks.iter().map(of).collect()
    };
    let mut tables = vec![Table {
        title: "Modes".to_owned(),
        corner: "Mode",
        rows: modes
            .iter()
            .map(|mode| (format!("`{}`", mode.name), cells(&USUAL, mode)))
            .collect(),
    }];
    for ((machines, of_part), (title, corner)) in parts.iter().zip([
        ("Collectors", "Mode, collector"),
        ("Ways to run code, layouts of objects", "Mode, JVM"),
    ]) {
        let mut table = Table {
            title: title.to_owned(),
            corner,
            rows: Vec::new(),
        };
        for (mode, name) in of_part {
            for machine in *machines {
                if is_wanted(machine.name) || is_wanted(mode.name) {
                    let row = format!("`{name}`, {}", machine.name);
                    table.rows.push((row, cells(machine, mode)));
                }
            }
        }
        tables.push(table);
    }
    let lost = modes.iter().filter(|mode| mode.lost.is_some()).map(|mode| {
        let of = |jdk: &&Jdk| done[&(USUAL.name, mode.name, jdk.feature())].1;
        (mode.name.to_owned(), jdks.iter().map(of).collect())
    });
    let used = use_command(arguments, &jdks, is_wanted)?;
    if !used.is_empty() {
        tables.insert(
            1,
            Table {
                title: "The command".to_owned(),
                corner: "`hprof-rs`",
                rows: used.clone(),
            },
        );
    }
    let versions: Vec<String> = jdks.iter().map(|jdk| jdk.version().to_owned()).collect();
    print!("{}", page::page(&versions, &tables, &lost.collect()));
    let mut is_right = true;
    for (machine, mode, release) in done.keys() {
        if let Cell::Wrong(what) = &done[&(*machine, *mode, *release)].0 {
            eprintln!("jdk-matrix: JDK {release}, {machine}, {mode}: {what}");
            is_right = false;
        }
    }
    for (name, cells) in &used {
        for (jdk, cell) in jdks.iter().zip(cells) {
            if let Cell::Wrong(what) = cell {
                eprintln!("jdk-matrix: {jdk}, {name}: {what}");
                is_right = false;
            }
        }
    }
    Ok(is_right)
}

/// The rows of the command, one cell per JDK.
fn use_command(
    arguments: &Arguments,
    jdks: &[&'static Jdk],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Vec<Cell>)>> {
    let uses: Vec<&Use> = USES.iter().filter(|it| is_wanted(it.name)).collect();
    if uses.is_empty() {
        return Ok(Vec::new());
    }
    let command = arguments.command.as_deref();
    let command = command.context("--command names the built hprof-rs")?;
    let cells = |it: &Use| -> Vec<Cell> {
        let of = |jdk: &&'static Jdk| {
            let cell = it.cell(command, jdk);
            eprintln!("{jdk}, {}: {cell:?}", it.name);
            cell
        };
        jdks.iter().map(of).collect()
    };
    let row = |it: &&Use| (format!("`{}`", it.name), cells(it));
    Ok(uses.iter().map(row).collect())
}

fn jdks(arguments: &Arguments) -> Result<Vec<&'static Jdk>> {
    if let Some(home) = &arguments.home {
        let jdk = Jdk::at(home).with_context(|| format!("{} is no JDK", home.display()))?;
        return Ok(vec![Box::leak(Box::new(jdk))]);
    }
    let releases = match arguments.jdk.is_empty() {
        true => &RELEASES[..],
        false => &arguments.jdk[..],
    };
    let found = releases.iter().map(|&release| {
        Jdk::find(release)
            .with_context(|| format!("no JDK {release} found; `scripts/setup jdks` fetches it"))
    });
    found.collect()
}

/// The runs of these rows, each once.
fn tasks(jdks: &[&'static Jdk], rows: &[(&'static Machine, &'static Mode)]) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for &jdk in jdks {
        let mut refused: HashMap<&str, Option<String>> = HashMap::new();
        for &(machine, mode) in rows {
            let is_there = |task: &&Task| {
                task.jdk == jdk && task.machine.name == machine.name && task.mode.name == mode.name
            };
            if tasks.iter().find(is_there).is_none() {
                let refused = refused
                    .entry(machine.name)
                    .or_insert_with(|| machine.reason_against(jdk));
                let refused = refused.clone().or_else(|| mode.reason_against(jdk));
                tasks.push(Task {
                    jdk,
                    machine,
                    mode,
                    refused,
                });
            }
        }
    }
    tasks
}

fn run_all(tasks: &[Task], jobs: usize) -> HashMap<Key, Done> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (machine, mode) = (task.machine.name, task.mode.name);
                    let result = task.run();
                    eprintln!("{}, {machine}, {mode}: {:?}", task.jdk, result.0);
                    let key = (machine, mode, task.jdk.feature());
                    done.lock().unwrap().insert(key, result);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

impl Task {
    fn run(&self) -> Done {
        if let Some(why) = &self.refused {
            return (Cell::NotPossible(why.clone()), None);
        }
        let mut done = self.attempt();
        for _ in 0..MORE_ATTEMPTS {
            match &done.0 {
                Cell::Wrong(_) if self.mode.lost.is_some() => done = self.attempt(),
                Cell::Fallback(_) | Cell::Lossy(_) => done = self.attempt(),
                _ => break,
            }
        }
        done
    }

    fn attempt(&self) -> Done {
        let mode = self.mode;
        let run = Run::new(self.jdk).time_limit(Duration::from_secs(300));
        let run = run
            .jvm_arg("-Xmx128m")
            .jvm_args(self.machine.flags.iter().copied());
        let run = run.agent(&mode.options()).class(mode.program[0]);
        let outcome = run.args(mode.program[1..].iter().copied()).run();
        let compared = match outcome.status {
            Some(0) => guarded(|| {
                (mode.compare)(&Seen {
                    outcome: &outcome,
                    collects: self.machine.collects,
                })
            }),
            _ => Err(Difference::Wrong("the JVM failed".to_owned())),
        };
        let lost = mode.lost.filter(|_| outcome.status == Some(0));
        let lost = lost.and_then(|lost| guarded(|| Ok(lost(&outcome))).ok());
        let cell = Cell::of(&outcome, compared);
        if matches!(cell, Cell::Wrong(_)) {
            eprintln!("{}", outcome.report());
        }
        (cell, lost)
    }
}

/// The result of a comparison, also where the profile cannot be read.
fn guarded<T>(compare: impl FnOnce() -> Result<T, Difference>) -> Result<T, Difference> {
    catch_unwind(AssertUnwindSafe(compare)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&it| it.to_owned()));
        let text = text.unwrap_or_else(|| "the profile cannot be read".to_owned());
        Err(Difference::Wrong(text))
    })
}
