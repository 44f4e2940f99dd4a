//! Files of the storage on this machine, bounded in bytes.
//!
//! An entry is a file or a folder below one folder. The least recently used go first, and those in
//! use stay. An entry comes into being under a temporary name and gets its name by a rename, so
//! that a name stands for something complete, also after a crash.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::{Fault, Local, PartId};

/// The folders of entries.
pub(super) const FOLDERS: [&str; 2] = ["dumps", "analyses"];
/// The folder of entries that are coming.
const COMING: &str = "coming";

/// A bounded cache in a folder.
pub(super) struct Cache {
    folder: PathBuf,
    limit: u64,
    entries: Mutex<Entries>,
    /// One thread at a time fetches an entry.
    fetches: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<String, Entry>,
    /// Bytes of entries, and of those that are coming.
    bytes: u64,
    clock: u64,
}

struct Entry {
    bytes: u64,
    used: u64,
    /// Held by this map and by every user.
    pin: Arc<()>,
}

impl Cache {
    /// The cache in a folder, with the entries of the process before.
    pub(super) fn open(folder: &Path, limit: u64) -> io::Result<Self> {
        let coming = folder.join(COMING);
        match fs::remove_dir_all(&coming) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut found: Vec<(SystemTime, String, u64)> = Vec::new();
        for name in FOLDERS.into_iter().chain([COMING]) {
            let below = folder.join(name);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&below)?;
            for entry in fs::read_dir(&below)? {
                let entry = entry?;
                let used = entry.metadata()?.accessed()?;
                let key = format!("{name}/{}", entry.file_name().to_string_lossy());
                found.push((used, key, size(&entry.path())));
            }
        }
        found.sort();
        let mut entries = Entries::default();
        for (_, key, bytes) in found {
            entries.add(key, bytes);
        }
        let cache = Self {
            folder: folder.to_owned(),
            limit,
            entries: Mutex::new(entries),
            fetches: Mutex::default(),
        };
        cache.shrink(&mut cache.entries.lock(), 0);
        Ok(cache)
    }

    /// An entry; `fetch` makes it at a temporary path if it is missing, of `bytes` bytes. However many
    /// ask for it at once, one fetches it.
    pub(super) fn get(
        &self,
        key: &str,
        bytes: u64,
        fetch: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Local> {
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        let turn = Arc::clone(self.fetches.lock().entry(key.to_owned()).or_default());
        let fetched = {
            let _turn = turn.lock();
            match self.find(key) {
                Some(found) => Ok(found),
                None => self.fetch(key, bytes, fetch),
            }
        };
        let mut fetches = self.fetches.lock();
        // This one and the map's.
        if Arc::strong_count(&turn) <= 2 {
            fetches.remove(key);
        }
        fetched
    }

    fn fetch(
        &self,
        key: &str,
        bytes: u64,
        fetch: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Local> {
        self.reserve(bytes)?;
        let coming = self.folder.join(COMING).join(PartId::new()?.as_str());
        let fetched = fetch(&coming).and_then(|()| self.place(key, &coming));
        let mut entries = self.entries.lock();
        entries.bytes = entries.bytes.saturating_sub(bytes);
        if let Err(error) = fetched {
            drop(entries);
            remove(&coming)?;
            return Err(error);
        }
        entries.add(key.to_owned(), bytes);
        Ok(entries.pin(key, self.folder.join(key)))
    }

    fn place(&self, key: &str, from: &Path) -> io::Result<()> {
        let to = self.folder.join(key);
        // No code knows the files that an earlier entry of that name left.
        remove(&to)?;
        fs::rename(from, &to)
    }

    /// Takes a file or folder of this machine as an entry, if there is room.
    pub(super) fn adopt(&self, key: &str, from: &Path) -> io::Result<()> {
        let bytes = size(from);
        if self.find(key).is_some() || self.reserve(bytes).is_err() {
            return remove(from);
        }
        let placed = self.place(key, from);
        let mut entries = self.entries.lock();
        entries.bytes = entries.bytes.saturating_sub(bytes);
        if placed.is_ok() {
            entries.add(key.to_owned(), bytes);
        }
        placed
    }

    /// Removes an entry. Code that has its files open or mapped keeps them.
    pub(super) fn forget(&self, key: &str) -> io::Result<()> {
        let mut entries = self.entries.lock();
        entries.remove(key);
        remove(&self.folder.join(key))
    }

    /// The keys that begin so.
    pub(super) fn keys(&self, start: &str) -> Vec<String> {
        let entries = self.entries.lock();
        let keys = entries.by_key.keys();
        keys.filter(|key| key.starts_with(start)).cloned().collect()
    }

    /// An entry that is here, which counts as used now.
    pub(super) fn find(&self, key: &str) -> Option<Local> {
        let mut entries = self.entries.lock();
        entries.clock += 1;
        let now = entries.clock;
        entries.by_key.get_mut(key)?.used = now;
        Some(entries.pin(key, self.folder.join(key)))
    }

    /// Makes room for bytes that are coming, and counts them.
    fn reserve(&self, bytes: u64) -> io::Result<()> {
        let mut entries = self.entries.lock();
        self.shrink(&mut entries, bytes);
        if entries.bytes + bytes > self.limit {
            let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
            let (limit, needed) = (megabytes(self.limit), megabytes(bytes));
            return Err(Fault::CacheFull { limit, needed }.into());
        }
        entries.bytes += bytes;
        Ok(())
    }

    /// The bytes that entries could take which are coming: all but those in use.
    pub(super) fn room(&self) -> u64 {
        let entries = self.entries.lock();
        let is_used = |entry: &&Entry| Arc::strong_count(&entry.pin) > 1;
        let used: u64 = (entries.by_key.values().filter(is_used))
            .map(|entry| entry.bytes)
            .sum();
        self.limit.saturating_sub(used)
    }

    /// Removes the least recently used until `more` bytes have room, or the rest is in use.
    fn shrink(&self, entries: &mut Entries, more: u64) {
        while entries.bytes + more > self.limit {
            let is_free = |entry: &Entry| Arc::strong_count(&entry.pin) == 1;
            let free = entries.by_key.iter().filter(|(_, entry)| is_free(entry));
            let Some((key, _)) = free.min_by_key(|(_, entry)| entry.used) else {
                return;
            };
            let key = key.clone();
            if let Err(error) = remove(&self.folder.join(&key)) {
                tracing::warn!(%error, "a file of the cache cannot be removed");
                return;
            }
            entries.remove(&key);
        }
    }
}

impl Entries {
    fn add(&mut self, key: String, bytes: u64) {
        self.remove(&key);
        self.clock += 1;
        self.bytes += bytes;
        let entry = Entry {
            bytes,
            used: self.clock,
            pin: Arc::default(),
        };
        self.by_key.insert(key, entry);
    }

    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.by_key.remove(key) {
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }

    fn pin(&self, key: &str, path: PathBuf) -> Local {
        match self.by_key.get(key) {
            Some(entry) => Local::pinned(path, Arc::<()>::clone(&entry.pin)),
            None => path.into(),
        }
    }
}

/// The length of a file, or of all files of a folder.
fn size(path: &Path) -> u64 {
    let Ok(about) = fs::symlink_metadata(path) else {
        return 0;
    };
    match about.is_dir() {
        false => about.len(),
        true => fs::read_dir(path).map_or(0, |entries| {
            entries.flatten().map(|entry| size(&entry.path())).sum()
        }),
    }
}

/// Removes a file or folder, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
