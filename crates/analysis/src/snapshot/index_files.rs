//! Where indexes lie, and how many of them stay.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::FxHasher;

/// How the name of an index ends.
const ENDING: &str = ".hprof-rs-index";

/// The folder of indexes that cannot lie beside their dumps: `$XDG_CACHE_HOME/hprof-rs/index`, or
/// `~/.cache/hprof-rs/index`.
pub fn index_cache() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("hprof-rs").join("index"))
}

/// The index of a dump in the dump's own folder, or in one that the user names.
pub(super) fn in_folder(dump: &Path, folder: Option<&Path>) -> Option<PathBuf> {
    let mut name = dump.file_name()?.to_owned();
    name.push(ENDING);
    Some(match folder {
        Some(folder) => folder.join(name),
        None => dump.with_file_name(name),
    })
}

/// The index of a dump in a folder for those of all dumps: dumps of the same name lie in different
/// folders, so a hash of the whole path is in the name.
pub(super) fn in_cache(dump: &Path, cache: &Path) -> Option<PathBuf> {
    let mut hasher = FxHasher::default();
    hasher.write(fs::canonicalize(dump).ok()?.as_os_str().as_encoded_bytes());
    let mut name = dump.file_name()?.to_owned();
    name.push(format!("-{:016x}{ENDING}", hasher.finish()));
    Some(cache.join(name))
}

/// Makes the folder of the cache, for its user alone.
pub(super) fn make_cache(cache: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(cache)
}

/// Notes that an index was used, so that others go before it.
pub(super) fn touch(index: &Path) {
    // Only the order in which indexes go depends on it.
    let _ = File::open(index).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes indexes from a cache, those that were not used for longest first, until the rest and
/// `more` bytes are below the limit. Gives the bytes that were removed.
pub(super) fn prune(cache: &Path, more: u64, limit: u64) -> u64 {
    let Ok(entries) = fs::read_dir(cache) else {
        return 0;
    };
    let mut found: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .ends_with(ENDING.as_bytes())
        })
        .filter_map(|entry| {
            let about = entry.metadata().ok().filter(|about| about.is_file())?;
            // What it occupies, not how far it reaches.
            Some((about.modified().ok()?, about.blocks() * 512, entry.path()))
        })
        .collect();
    found.sort();
    let mut sum: u64 = more + found.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
    let mut removed = 0;
    for (_, bytes, path) in found {
        if sum <= limit {
            break;
        }
        if fs::remove_file(path).is_ok() {
            sum -= bytes;
            removed += bytes;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_indexes_that_were_not_used_for_longest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        for (age, name) in [(30, "a"), (20, "b"), (10, "c")] {
            let path = folder.path().join(format!("{name}{ENDING}"));
            fs::write(&path, vec![1; 100_000]).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age);
            File::open(&path).unwrap().set_modified(time).unwrap();
        }
        fs::write(folder.path().join("other"), vec![1; 100_000]).unwrap();
        let path = |name: &str| folder.path().join(format!("{name}{ENDING}"));
        touch(&path("a"));
        assert_eq!(prune(folder.path(), 0, 1 << 30), 0);
        assert!(prune(folder.path(), 100_000, 320_000) >= 100_000);
        assert!(!path("b").exists() && path("a").exists() && path("c").exists());
        prune(folder.path(), 0, 0);
        assert!(!path("a").exists() && folder.path().join("other").exists());
    }
}
