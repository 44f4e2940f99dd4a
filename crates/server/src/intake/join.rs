//! The files of one rotated log, put together as one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{Digested, Incoming};
use crate::catalogue::{Dump, DumpKind};
use crate::ids::DumpId;
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::PartId;

/// The beginning of a file, in which its first time is.
const BEGINNING: u64 = 64 << 10;
/// Bytes that are copied at once.
const PIECE: usize = 256 << 10;

impl AppState {
    /// Makes one log of the files that a JVM has rotated, in the order of their times. Blocks until they are copied.
    ///
    /// # Errors
    /// If one of them is no garbage collection log, or the disk fails.
    pub fn join_logs(&self, ids: &[DumpId], name: Option<&str>) -> Result<Dump, Problem> {
        let mut logs = Vec::new();
        let mut length = 0;
        for id in ids {
            let analysis = self.analysis(id)?;
            if analysis.kind != DumpKind::GcLog {
                return Err(Problem::conflict(format!(
                    "{} is no garbage collection log; only the files of one such log can be joined",
                    analysis.name
                )));
            }
            let about = std::fs::metadata(&analysis.file).map_err(Problem::internal)?;
            length += about.len() + 1;
            // A file without a time is the latest: it has just been begun.
            let time = time_of(&analysis.file).unwrap_or(i64::MAX);
            logs.push((time, analysis));
        }
        self.has_room(length)?;
        logs.sort_by(|(a, one), (b, other)| (a, &one.name).cmp(&(b, &other.name)));
        let name = match name.map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None => joined_name(logs.iter().map(|(_, analysis)| analysis.name.as_str())),
        };
        let part = PartId::new().map_err(Problem::internal)?;
        let file = self.store().create_part(&part);
        let file = file.map_err(|error| super::of_disk(&error))?;
        let limit = self.config().max_upload;
        let mut incoming = Incoming::new(self, file, Digested::default(), limit);
        let mut copy = || -> Result<(), Problem> {
            for (_, analysis) in &logs {
                append(&mut incoming, &analysis.file)?;
            }
            incoming.sync()
        };
        let admitted = copy().and_then(|()| self.admit(&part, &name, incoming.digested));
        if admitted.is_err() {
            self.store().delete_part(&part).map_err(Problem::internal)?;
        }
        admitted
    }
}

/// Copies a file, whose last line may lack its end.
fn append(incoming: &mut Incoming, path: &Path) -> Result<(), Problem> {
    let mut file = File::open(path).map_err(Problem::internal)?;
    let mut piece = vec![0; PIECE];
    let mut last = b'\n';
    loop {
        let length = file.read(&mut piece).map_err(Problem::internal)?;
        let Some(end) = length.checked_sub(1) else {
            break;
        };
        last = piece[end];
        incoming.write(&piece[..length])?;
    }
    match last {
        b'\n' => Ok(()),
        _ => incoming.write(b"\n"),
    }
}

fn time_of(path: &Path) -> Option<i64> {
    let mut beginning = Vec::new();
    let file = File::open(path).ok()?;
    file.take(BEGINNING).read_to_end(&mut beginning).ok()?;
    hprof_gclog::first_time(&beginning)
}

/// `gc.log (3 files)` for `gc.log`, `gc.log.0` and `gc.log.1`.
fn joined_name<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let count = names.clone().count();
    let shortest = names.min_by_key(|name| name.len()).unwrap_or_default();
    let plain = shortest
        .trim_end_matches(".gz")
        .trim_end_matches(".current");
    let stem = plain.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let stem = match stem.strip_suffix('.') {
        Some(stem) if stem.len() < plain.len() && !stem.is_empty() => stem,
        _ => plain,
    };
    format!("{stem} ({count} files)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_log_has_the_name_of_its_files_without_their_numbers() {
        for (names, joined) in [
            (&["gc.log.1", "gc.log.0", "gc.log"][..], "gc.log (3 files)"),
            (&["gc.log.0.gz", "gc.log.1.gz"], "gc.log (2 files)"),
            (&["gc.log.0.current", "gc.log.1"], "gc.log (2 files)"),
            (&["2", "1"], "2 (2 files)"),
            (&["gc17", "gc18"], "gc17 (2 files)"),
        ] {
            assert_eq!(joined_name(names.iter().copied()), joined);
        }
    }
}
