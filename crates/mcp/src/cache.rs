//! The folder of analyses, which outlives the server: the next conversation finds its dumps read.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hprof_server::{TemporaryFolder, temporary_folder};
use tempfile::TempDir;

/// The most bytes of all analyses together.
const LIMIT: u64 = 10 << 30;
/// Analyses that were used within this time stay: another server may have them open.
const IN_USE: Duration = Duration::from_secs(3600);
/// How the name of an unfinished analysis begins.
const UNFINISHED: &str = ".making-";

/// The folder of analyses.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Removes the folder at the end, where it is a temporary one.
    _temporary: Option<TemporaryFolder>,
}

impl Cache {
    /// Opens or makes the folder. One that others could write to is not used, as indexes are trusted.
    ///
    /// # Errors
    /// If no folder can be made.
    pub fn open(folder: Option<&Path>) -> io::Result<Self> {
        if let Some(folder) = folder
            && make(folder).is_ok()
        {
            return Ok(Self {
                folder: folder.to_owned(),
                _temporary: None,
            });
        }
        let temporary = temporary_folder("mcp-")?;
        Ok(Self {
            folder: temporary.path().to_owned(),
            _temporary: Some(temporary),
        })
    }

    /// The folder of an analysis, if there is one that is whole.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        let folder = self.folder.join(key);
        let outcome = folder.join("outcome.json");
        // Notes that it is in use; a folder that goes now goes as a whole.
        let touched =
            fs::File::open(&outcome).and_then(|file| file.set_modified(SystemTime::now()));
        touched.is_ok().then_some(folder)
    }

    /// An empty folder for an analysis that is being made.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn begin(&self) -> io::Result<TempDir> {
        self.prune(LIMIT);
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.folder)
    }

    /// Gives a finished analysis its name.
    ///
    /// # Errors
    /// If it cannot be renamed, and no other process has made one meanwhile.
    pub fn publish(&self, made: TempDir, key: &str) -> io::Result<PathBuf> {
        let folder = self.folder.join(key);
        match fs::rename(made.path(), &folder) {
            Ok(()) => {
                // It has gone from there.
                let _ = made.keep();
                Ok(folder)
            }
            Err(error) => self.find(key).ok_or(error),
        }
    }

    /// Removes analyses that were not used for longest, until the rest is below a limit; and what
    /// servers have left that were killed.
    fn prune(&self, limit: u64) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let now = SystemTime::now();
        let mut sum = 0;
        let mut found: Vec<(SystemTime, u64, PathBuf)> = entries
            .map(|entry| {
                let path = entry.path();
                let used = fs::metadata(path.join("outcome.json")).or_else(|_| fs::metadata(&path));
                let used = used.and_then(|about| about.modified()).unwrap_or(now);
                let files = fs::read_dir(&path).into_iter().flatten().flatten();
                // The bytes that files occupy on the disk, not their lengths.
                let bytes = files
                    .filter_map(|file| Some(file.metadata().ok()?.blocks() * 512))
                    .sum();
                sum += bytes;
                (used, bytes, path)
            })
            .collect();
        found.sort();
        for (used, bytes, path) in found {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let is_left = name.starts_with(UNFINISHED.as_bytes());
            let age = now.duration_since(used).unwrap_or_default();
            // An analysis of the largest dumps takes less than a day.
            let goes = match is_left {
                true => age > 24 * IN_USE,
                false => sum > limit && age > IN_USE,
            };
            if goes && fs::remove_dir_all(&path).is_ok() {
                sum -= bytes;
            }
        }
    }
}

/// Makes a folder that only its user can open, or checks that it is one.
fn make(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let about = fs::symlink_metadata(folder)?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    match about.is_dir() && is_own && about.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::other("others may write to it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn analysis(cache: &Cache, key: &str, age: Duration) {
        let made = cache.begin().unwrap();
        fs::write(made.path().join("index"), vec![1; 100_000]).unwrap();
        fs::write(made.path().join("outcome.json"), "{}").unwrap();
        let folder = cache.publish(made, key).unwrap();
        let file = fs::File::open(folder.join("outcome.json")).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn what_was_not_used_for_longest_goes_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(&place.path().join("new/cache"))).unwrap();
        for (key, hours) in [("a", 30), ("b", 20), ("c", 0)] {
            analysis(&cache, key, hours * IN_USE);
        }
        assert!(cache.find("a").is_some(), "and so it is in use");
        cache.prune(0);
        assert!(cache.find("a").is_some() && cache.find("c").is_some());
        assert!(cache.find("b").is_none());
        let again = cache.begin().unwrap();
        fs::write(again.path().join("outcome.json"), "{}").unwrap();
        assert!(
            cache.publish(again, "a").is_ok(),
            "another server was first"
        );
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let cache = Cache::open(Some(&open)).unwrap();
        assert_ne!(cache.folder, open);
        assert!(cache.folder.is_dir());
    }
}
