//! Thread dumps from files and from running JVMs.

mod recorded;
pub mod text;
mod virtual_threads;

pub use virtual_threads::add_virtual_threads;

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use hprof_analysis::input::Input;
use hprof_thread_dumps::{Dumps, Report};

use crate::attach::{self, Limits, Request, Target};
use crate::jvm::process::Pid;
use crate::memory::{self, MemoryArgument};
use crate::recordings::{self, Opened};
use crate::render::screen::{count, plural};
use crate::what_it_is;

/// How long a JVM may take to open its socket, and to write its dump: all threads must stop first.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(10),
    answer: Duration::from_secs(60),
};
/// A larger file is no thread dump: a million virtual threads take some hundred megabytes.
const MAX_BYTES: u64 = 2 << 30;

/// Reads the dumps of files, in their order, and sentences on what was not read.
///
/// # Errors
/// If a file cannot be read or has no dump.
pub fn read(files: &[PathBuf], memory: MemoryArgument) -> anyhow::Result<(Dumps, Vec<String>)> {
    let mut dumps = Dumps::default();
    let mut notes = Vec::new();
    for path in files {
        let input = Input::open(path).map_err(|error| what_it_is::explained(path, error.into()))?;
        memory.watch(&input.name);
        let name = input.name.clone();
        let input = match recordings::open(input)? {
            Opened::Recording {
                input,
                is_cut_short,
            } => {
                notes.extend(recorded::add(&mut dumps, &input, is_cut_short)?);
                continue;
            }
            Opened::Other(input) => input,
        };
        let added = match input.mapped() {
            Some(bytes) if bytes.len() as u64 <= MAX_BYTES => dumps.add(bytes),
            Some(_) => bail!("{name}: larger than 2 GiB; cut the dumps out of the file first"),
            None => {
                let mut bytes = Vec::new();
                let mut stream = input.into_reader().take(MAX_BYTES);
                stream
                    .read_to_end(&mut bytes)
                    .with_context(|| format!("cannot read {name}"))?;
                memory::has_read(bytes.len() as u64);
                dumps.add(&bytes)
            }
        };
        if let Err(error) = added {
            let hint = what_it_is::hint(path, "stacks");
            bail!("{name}: {error}{hint}");
        }
    }
    if dumps.without_threads > 0 {
        let left_out = plural(
            dumps.without_threads as u64,
            "dump without a thread is",
            "dumps without a thread are",
        );
        notes.push(format!("{left_out} left out."));
    }
    Ok((dumps, notes))
}

/// Has a JVM write a dump.
///
/// # Errors
/// If there is no such JVM, it is another user's, or it does not answer.
pub fn take(pid: u32) -> anyhow::Result<String> {
    attach::sweep();
    let target = Target::find(Pid(pid))?;
    let answer = attach::ask(&target, &Request::Threads, LIMITS)?;
    if answer.status != 0 {
        bail!("the JVM of process {pid}: {}", attach::said(&answer));
    }
    Ok(answer.text)
}

/// Sentences on the limits of the tables.
pub fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let cut = report.dumps.iter().filter(|dump| dump.is_cut).count();
    if cut > 0 {
        let dumps = plural(report.dumps.len() as u64, "dump ends", "dumps end");
        notes.push(format!("{} of {dumps} in the middle.", count(cut as u64)));
    }
    if report.threads_left_out > 0 {
        let left_out = plural(report.threads_left_out as u64, "thread is", "threads are");
        notes.push(format!(
            "{left_out} not listed one by one; the groups have all."
        ));
    }
    notes
}

/// The sentence of a report that matters most.
pub fn headline(report: &Report) -> String {
    if let Some(deadlock) = report.deadlocks.first() {
        let threads = plural(deadlock.steps.len() as u64, "thread waits", "threads wait");
        return format!("{threads} for each other without an end.");
    }
    if let Some(lock) = report.locks.first() {
        let threads = plural(lock.waiting as u64, "thread waits", "threads wait");
        return format!("{threads} for a lock of {}.", lock.lock.class);
    }
    let threads = report.dumps.last().map_or(0, |dump| dump.threads);
    format!(
        "No thread of {} waits for a lock that another holds.",
        count(threads as u64)
    )
}
