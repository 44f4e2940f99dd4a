//! The files of a log that the JVM has rotated: `gc.log.0`, `gc.log.1`, ..., and `gc.log`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use hprof_analysis::input::Input;
use hprof_gclog::first_time;

/// The beginning of a file, in which its first time is.
const BEGINNING: u64 = 64 << 10;
/// A JVM keeps at most 1000 files (`filecount`).
const MAX_FILES: usize = 1000;

/// The log's files in the order of their times. A name that ends in a number is a file alone.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_owned()];
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return files;
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // gc.log.gz has gc.log.0.gz beside it.
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let others = names.filter(|other| other != name && is_part(other, stem));
    files.extend(
        others
            .map(|other| path.with_file_name(other))
            .take(MAX_FILES),
    );
    if files.len() > 1 {
        // A file without a time is the latest: it has just been begun.
        files.sort_by_cached_key(|file| (time_of(file).unwrap_or(i64::MAX), file.clone()));
    }
    files
}

/// Whether this is `STEM.N`, `STEM.N.gz` or, of JDK 8, `STEM.N.current`.
fn is_part(name: &str, stem: &str) -> bool {
    let number = name
        .strip_prefix(stem)
        .and_then(|rest| rest.strip_prefix('.'));
    let number = number.map(|rest| rest.trim_end_matches(".gz").trim_end_matches(".current"));
    number.is_some_and(|number| {
        (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn time_of(path: &Path) -> Option<i64> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return None;
    }
    let input = Input::open(path).ok()?;
    let mut beginning = Vec::new();
    // What comes before damage is enough.
    let _ = input
        .into_reader()
        .take(BEGINNING)
        .read_to_end(&mut beginning);
    first_time(&beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_order_of_their_times() {
        let folder = tempfile::tempdir().unwrap();
        for (name, uptime) in [
            ("gc.log", "30.0"),
            ("gc.log.0", "20.0"),
            ("gc.log.1", "4.5"),
            ("gc.log.1.current", "40.0"),
            ("gc.log.x", "1.0"),
            ("other.log.0", "1.0"),
        ] {
            let line = format!("[{uptime}s][info][gc] GC(0) Pause Remark 1M->1M(2M) 0.1ms\n");
            fs::write(folder.path().join(name), line).unwrap();
        }
        let files = files(&folder.path().join("gc.log"));
        let names = files
            .iter()
            .map(|file| file.file_name().unwrap().to_str().unwrap());
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["gc.log.1", "gc.log.0", "gc.log", "gc.log.1.current"]
        );
    }
}
