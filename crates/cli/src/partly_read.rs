//! Notes that a file of another tool was read in part only, so that the command says so at its end and fails.
//!
//! The command shows the part that was read all the same: a user sees the message, a script the exit status.

use std::sync::Mutex;

use hprof_analysis::contents::Contents;
use hprof_foreign::jfr::facts::Skipped;

use crate::render::out::tell;
use crate::render::screen::bytes;

/// Name and lost bytes of each file.
static FILES: Mutex<Vec<(String, u64)>> = Mutex::new(Vec::new());

/// Notes a profile, if bytes of it were not read.
pub fn note(name: &str, contents: &Contents) {
    if contents.is_partly_read() {
        add(name, contents.damage.lost_bytes);
    }
}

/// Notes a recording that was read for collections or thread dumps, if bytes of it were not read.
pub fn note_recording(name: &str, skipped: &Skipped) {
    let lost = skipped.damage.iter();
    let lost = lost.fold(0, |sum: u64, it| sum.saturating_add(it.lost_bytes));
    if lost > 0 {
        add(name, lost);
    }
}

fn add(name: &str, lost: u64) {
    if let Ok(mut files) = FILES.lock() {
        files.push((name.to_owned(), lost));
    }
}

/// Says which files were read in part; true if there are any.
pub fn say() -> bool {
    let Ok(files) = FILES.lock() else {
        return false;
    };
    for (name, lost) in files.iter() {
        tell!(
            "hprof-rs: {name}: {} were not read, so figures lack what is there; `hprof-rs check FILE` lists the places",
            bytes(*lost)
        );
    }
    !files.is_empty()
}
