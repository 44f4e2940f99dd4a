//! The files of a log that the JVM has rotated: `gc.log.0`, `gc.log.1`, ..., and `gc.log` or `gc.log.2.current`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hprof_analysis::input::Input;
use hprof_gclog::{Reader, first_time};

/// The beginning of a file, in which its first time is.
const BEGINNING: u64 = 64 << 10;
/// A JVM keeps at most 1000 files (`filecount`).
const MAX_FILES: usize = 1000;

/// The log's files in the order of their times, from any of them or from the name that they have in common.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return vec![path.to_owned()];
    };
    let stem = stem(name);
    let entries = fs::read_dir(folder_of(path))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let others = names.filter(|other| other != name && self::stem(other) == stem);
    let others = others.map(|other| path.with_file_name(other));
    let mut files: Vec<PathBuf> = others
        .filter(|other| other.is_file())
        .take(MAX_FILES)
        .collect();
    // The JVM of JDK 8 writes no file of the name that is given to it.
    if files.is_empty() || path.exists() {
        files.push(path.to_owned());
    }
    in_order(files)
}

/// The files of the only log in a folder, in the order of their times.
///
/// # Errors
/// If it cannot be read, or has no log or several.
pub fn in_folder(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut logs: Vec<(String, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if path.is_file() && beginning(&path).is_some_and(|bytes| is_log(&bytes)) {
            logs.push((stem(&name).to_owned(), path));
        }
    }
    logs.sort();
    let mut stems: Vec<&str> = logs.iter().map(|(stem, _)| &**stem).collect();
    stems.dedup();
    match &stems[..] {
        [] => bail!(
            "{}: no garbage collection log is in this folder",
            folder.display()
        ),
        [_] => Ok(in_order(logs.into_iter().map(|(_, path)| path).collect())),
        several => bail!(
            "{} has several logs: give one of {}",
            folder.display(),
            several.join(", ")
        ),
    }
}

/// True if these are different files of one log by their names.
pub fn are_one_log(paths: &[PathBuf]) -> bool {
    let others = |at: usize| paths.iter().skip(at + 1);
    if (paths.iter().enumerate()).any(|(at, path)| others(at).any(|other| other == path)) {
        return false;
    }
    let parts = || {
        paths.iter().map(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            (folder_of(path), name.map(stem))
        })
    };
    let first = parts().next();
    parts().all(|part| part.1.is_some() && Some(part) == first)
}

/// Files in the order of their times.
pub fn in_order(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    if files.len() > 1 {
        // A file without a time is the latest: it has just been begun.
        files.sort_by_cached_key(|file| {
            let time = beginning(file).and_then(|bytes| first_time(&bytes));
            (time.unwrap_or(i64::MAX), file.clone())
        });
    }
    files
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The name that the files of a log have in common: that of `STEM`, `STEM.N`, of JDK 8 `STEM.N.current`, each also with
/// `.gz`.
pub fn stem(name: &str) -> &str {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let numbered = name.strip_suffix(".current").unwrap_or(name);
    match numbered.rsplit_once('.') {
        Some((stem, number))
            if (1..=3).contains(&number.len())
                && !stem.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            stem
        }
        _ => name,
    }
}

/// True if this is the beginning of a log.
pub fn is_log(beginning: &[u8]) -> bool {
    let mut reader = Reader::new();
    reader.feed(beginning);
    let summary = reader.finish();
    summary.collector.is_some() || summary.pauses.count > 0 || summary.stops.count > 0
}

/// The first bytes of a file, unpacked; none if it cannot be read.
fn beginning(path: &Path) -> Option<Vec<u8>> {
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
    Some(beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, uptime) in files {
            let line = format!("[{uptime}s][info][gc] GC(0) Pause Remark 1M->1M(2M) 0.1ms\n");
            fs::write(folder.path().join(name), line).unwrap();
        }
        folder
    }

    fn names(files: &[PathBuf]) -> Vec<&str> {
        let names = files.iter().map(|file| file.file_name().unwrap());
        names.map(|name| name.to_str().unwrap()).collect()
    }

    #[test]
    fn files_are_in_the_order_of_their_times() {
        let folder = written(&[
            ("gc.log", "30.0"),
            ("gc.log.0", "20.0"),
            ("gc.log.1", "4.5"),
            ("gc.log.1.current", "40.0"),
            ("gc.log.x", "1.0"),
            ("other.log.0", "1.0"),
        ]);
        let ordered = ["gc.log.1", "gc.log.0", "gc.log", "gc.log.1.current"];
        // From any of them.
        for name in ordered {
            assert_eq!(names(&files(&folder.path().join(name))), ordered, "{name}");
        }
        assert_eq!(names(&files(&folder.path().join("gc.log.x"))), ["gc.log.x"]);
        assert_eq!(names(&files(&folder.path().join("none.log"))), ["none.log"]);
    }

    /// JDK 8 writes no file of the name that it is given.
    #[test]
    fn the_name_that_files_have_in_common_is_enough() {
        let folder = written(&[("gc.log.0", "1.0"), ("gc.log.1.current", "5.0")]);
        let expected = ["gc.log.0", "gc.log.1.current"];
        assert_eq!(names(&files(&folder.path().join("gc.log"))), expected);
        assert_eq!(names(&in_folder(folder.path()).unwrap()), expected);
        let given = expected.map(|name| folder.path().join(name));
        assert!(are_one_log(&given));
        assert!(!are_one_log(&[
            given[0].clone(),
            folder.path().join("b.log.1")
        ]));
        assert!(!are_one_log(&[given[0].clone(), PathBuf::from("gc.log.1")]));
        fs::write(folder.path().join("README"), "hello\n").unwrap();
        assert_eq!(names(&in_folder(folder.path()).unwrap()), expected);
        fs::copy(&given[0], folder.path().join("b.log")).unwrap();
        let error = in_folder(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("give one of b.log, gc.log"), "{error}");
        fs::remove_file(&given[0]).unwrap();
    }
}
