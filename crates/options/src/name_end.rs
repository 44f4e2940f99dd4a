//! Ends of file names that select a format, such as `.html` or `.hprof.gz`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A name without its end, the end as it is written, and what that means.
pub(crate) fn split<T: Copy>(path: &Path, ends: &[(&str, T)]) -> Option<(String, String, T)> {
    let name = path.file_name()?.to_str()?;
    let &(end, meaning) = ends.iter().find(|(end, _)| {
        name.len() > end.len()
            && name
                .get(name.len() - end.len()..)
                .is_some_and(|found| found.eq_ignore_ascii_case(end))
    })?;
    let (stem, end) = name.split_at(name.len() - end.len());
    Some((stem.to_owned(), end.to_owned(), meaning))
}

/// The name with a process id before its end, or at its end if it has none of these.
pub(crate) fn with_pid<T: Copy>(path: &Path, ends: &[(&str, T)], pid: u32) -> PathBuf {
    match split(path, ends) {
        Some((stem, end, _)) => path.with_file_name(format!("{stem}.{pid}{end}")),
        None => {
            let mut name = OsString::from(path);
            name.push(format!(".{pid}"));
            name.into()
        }
    }
}
