//! Running JVMs in the place of files. Commands that read a heap dump have the JVM write one; the others name the command
//! that looks into a JVM.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;

use crate::attach::Target;
use crate::capture::{DumpWish, Interrupt, dump};
use crate::jvm::pick;
use crate::jvm::process::Pid;
use crate::render::out::tell;
use crate::render::screen::bytes;

/// How long a JVM may take for its dump.
const LIMIT: Duration = Duration::from_secs(3600);

/// A heap dump that a JVM has written. Its file has no name, and goes when this process ends.
struct Dumped {
    file: File,
    name: String,
}

static DUMPED: Mutex<Option<HashMap<u32, Dumped>>> = Mutex::new(None);

/// A file to open, and how to call it.
pub struct Readable {
    /// The path to open.
    pub path: PathBuf,
    /// The name to show, where that is not the path's.
    pub name: Option<String>,
}

/// The heap dump that `path` names: its file, or if there is none and it is the process id or the name of a JVM, a dump
/// that this has written now. One process writes one dump, however often it is asked for.
///
/// # Errors
/// If several JVMs have that name, or the JVM writes no dump.
pub fn heap_dump(path: &Path) -> anyhow::Result<Readable> {
    let Some(found) = pick::instead_of_file(path) else {
        return Ok(Readable {
            path: path.to_owned(),
            name: None,
        });
    };
    let pid = found.map_err(anyhow::Error::msg)?;
    let mut dumped = DUMPED.lock().unwrap_or_else(PoisonError::into_inner);
    let dumped = dumped.get_or_insert_default();
    let found = match dumped.entry(pid) {
        Entry::Occupied(found) => found.into_mut(),
        Entry::Vacant(place) => place.insert(write(pid)?),
    };
    Ok(Readable {
        path: PathBuf::from(format!("/proc/self/fd/{}", found.file.as_raw_fd())),
        name: Some(found.name.clone()),
    })
}

fn write(pid: u32) -> anyhow::Result<Dumped> {
    let found = Target::find(Pid(pid));
    found.with_context(|| format!("there is no file {pid}, and it is no JVM's process id"))?;
    tell!(
        "hprof-rs: there is no file {pid}: process {pid} writes a heap dump, and stands still meanwhile"
    );
    let wish = DumpWish {
        pid: Pid(pid),
        is_live: false,
        folder: PathBuf::from("/tmp"),
        limit: LIMIT,
    };
    let (file, program) = dump(&wish, &Interrupt::watch()?)?;
    let length = file.metadata()?.len();
    tell!(
        "hprof-rs: its dump of {} goes when this command ends; `hprof-rs dump {pid}` keeps one for more questions",
        bytes(length)
    );
    Ok(Dumped {
        file,
        name: format!("heap dump of {program} (process {pid})"),
    })
}

/// Advice on a running JVM, for a command that takes files and was given a process id or a program's name. `None` if the
/// path names no JVM.
pub fn advice(path: &Path) -> Option<String> {
    let pid = pick::instead_of_file(path)?.ok()?;
    Some(format!(
        "{} is no file, but a running JVM: `hprof-rs record {pid} -d 30 -o cpu.html` records it, `hprof-rs live {pid}` \
         and `hprof-rs stacks {pid}` show what it does, `hprof-rs dump {pid}` writes a heap dump",
        path.display()
    ))
}
