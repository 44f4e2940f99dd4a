//! The store in object storage, with a bounded cache on this machine.
//!
//! `uploads/BLOB` are uploads under way that do not pass through a server, `blobs/BLOB` bytes of dumps, `dumps/DUMP` says which of them a dump is, `analyses/DUMP/RUN/` are
//! files of an analysis, `analyses/DUMP/ATTEMPT.json` says which run an attempt was. The two kinds of
//! entries are written last and only if there is none (`If-None-Match: *`): what is not complete is
//! not visible, and of two that write one entry one wins. The last of several attempts counts, so a worker that was
//! thought dead changes nothing. `pushed/SEGMENT` are pushed profiles, of which the database has the list.
//!
//! Parts and the folders of attempts under way lie on this machine.

mod direct;
mod failure;
mod fetch;
mod manifest;
mod orphans;
mod pushed;
mod remote;

pub(super) use failure::fault_of;
pub(super) use remote::Remote;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};

use super::cache::Cache;
use super::direct::Direct;
use super::{
    CacheSettings, FILE_TIME, Fault, FolderStore, Local, OpenError, PartId, PushedFiles, Store,
    set_time,
};
use crate::ids::{ContentHash, DumpId};
use manifest::{AnalysisEntry, DumpEntry, FileEntry, attempt_of, name_of};

/// How long the last attempt of a dump is believed to be the last.
const BELIEVED: Duration = Duration::from_secs(10);
/// Entries of dumps and analyses that are remembered.
const MAX_KNOWN: usize = 10_000;

/// Dumps and analyses in object storage.
pub(super) struct ObjectFiles {
    remote: Remote,
    cache: Cache,
    /// Parts, and attempts under way.
    here: FolderStore,
    dumps: Mutex<HashMap<DumpId, DumpEntry>>,
    analyses: Mutex<HashMap<DumpId, (Instant, u32, AnalysisEntry)>>,
    /// Keeps other processes out of the cache.
    _lock: File,
}

impl ObjectFiles {
    /// A store over storage, with the cache of the process before.
    pub(super) fn open(remote: Remote, settings: &CacheSettings) -> Result<Self, OpenError> {
        let wrong = |error| OpenError::Folder(settings.folder.clone(), error);
        let here = FolderStore::open(&settings.folder).map_err(wrong)?;
        let lock = File::create(settings.folder.join("cache-lock")).map_err(wrong)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| OpenError::InUse(settings.folder.clone()))?;
        Ok(Self {
            remote,
            cache: Cache::open(&settings.folder, settings.bytes).map_err(wrong)?,
            here,
            dumps: Mutex::default(),
            analyses: Mutex::default(),
            _lock: lock,
        })
    }

    /// Puts a part into the cache as a dump. It keeps its own name too, where the disk knows several for a file.
    fn cache_part(&self, part: &PartId, dump: &DumpId) -> io::Result<()> {
        let path = self.here.part(part);
        set_time(&path, FILE_TIME)?;
        let second = self.here.part(&PartId::new()?);
        let path = match fs::hard_link(&path, &second) {
            Ok(()) => second,
            Err(_) => path,
        };
        self.cache.adopt(&dump_key(dump), &path)
    }

    /// The entry of a dump, which never changes.
    fn entry(&self, dump: &DumpId) -> io::Result<DumpEntry> {
        if let Some(entry) = self.dumps.lock().get(dump) {
            return Ok(entry.clone());
        }
        let path = self.remote.path(&["dumps", dump.as_str()]);
        let entry = DumpEntry::parse(&self.remote.read(&path)?, dump)?;
        remember(&mut self.dumps.lock(), dump, entry.clone());
        Ok(entry)
    }

    /// The entry of the last attempt that was published.
    fn last(&self, dump: &DumpId) -> io::Result<Option<(u32, AnalysisEntry)>> {
        let known = self.analyses.lock().get(dump).cloned();
        if let Some((at, attempt, entry)) = &known
            && at.elapsed() < BELIEVED
        {
            return Ok(Some((*attempt, entry.clone())));
        }
        let found = self.look(dump);
        match (found, known) {
            // The last known entry is better than none.
            (Err(error), Some((_, attempt, entry))) if Fault::of(&error).is_some() => {
                Ok(Some((attempt, entry)))
            }
            (Ok(Some((attempt, entry))), _) => {
                let known = (Instant::now(), attempt, entry.clone());
                remember(&mut self.analyses.lock(), dump, known);
                Ok(Some((attempt, entry)))
            }
            (Ok(None), _) => {
                self.analyses.lock().remove(dump);
                Ok(None)
            }
            (Err(error), _) => Err(error),
        }
    }

    fn look(&self, dump: &DumpId) -> io::Result<Option<(u32, AnalysisEntry)>> {
        let folder = self.remote.path(&["analyses", dump.as_str()]);
        let found = self.remote.list_flat(&folder)?;
        let attempts = found
            .iter()
            .filter_map(|it| attempt_of(it.location.filename()?));
        let Some(attempt) = attempts.max() else {
            return Ok(None);
        };
        self.read_attempt(dump, attempt)
            .map(|entry| Some((attempt, entry)))
    }

    fn read_attempt(&self, dump: &DumpId, attempt: u32) -> io::Result<AnalysisEntry> {
        let name = name_of(attempt);
        let path = self.remote.path(&["analyses", dump.as_str(), &name]);
        AnalysisEntry::parse(&self.remote.read(&path)?, dump)
    }

    fn delete_blob(&self, blob: &str) -> io::Result<()> {
        self.remote.delete(&self.remote.path(&["blobs", blob]))
    }

    /// Makes a blob in the storage a dump, unless there is one: then the blob goes.
    fn name_blob(
        &self,
        blob: &PartId,
        bytes: u64,
        dump: &DumpId,
        sha256: &ContentHash,
    ) -> io::Result<()> {
        let entry = DumpEntry::new(blob, bytes, sha256);
        let path = self.remote.path(&["dumps", dump.as_str()]);
        let text = serde_json::to_vec(&entry)?;
        let is_ours = match self.remote.create(&path, text)? {
            true => true,
            // Perhaps by the same request, whose answer was lost.
            false => DumpEntry::parse(&self.remote.read(&path)?, dump)?.blob == blob.as_str(),
        };
        match is_ours {
            true => Ok(()),
            false => self.delete_blob(blob.as_str()),
        }
    }
}

/// Adds to a map that stays small.
fn remember<T>(map: &mut HashMap<DumpId, T>, dump: &DumpId, value: T) {
    if map.len() >= MAX_KNOWN {
        map.clear();
    }
    map.insert(dump.clone(), value);
}

impl Store for ObjectFiles {
    fn create_part(&self, part: &PartId) -> io::Result<File> {
        self.here.create_part(part)
    }

    fn open_part(&self, part: &PartId) -> io::Result<File> {
        self.here.open_part(part)
    }

    fn adopt(&self, file: &File, part: &PartId) -> io::Result<()> {
        self.here.adopt(file, part)
    }

    fn delete_part(&self, part: &PartId) -> io::Result<()> {
        self.here.delete_part(part)
    }

    fn parts(&self) -> io::Result<Vec<PartId>> {
        self.here.parts()
    }

    fn publish(&self, part: &PartId, dump: &DumpId, sha256: &ContentHash) -> io::Result<()> {
        match self.entry(dump) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let file = self.here.open_part(part)?;
        let about = file.metadata()?;
        let blob = self.remote.path(&["blobs", part.as_str()]);
        self.remote.send(file, &blob)?;
        self.name_blob(part, about.len(), dump, sha256)?;
        // A file that has another link would get another time.
        if about.nlink() > 1 {
            return Ok(());
        }
        // It is a dump by now, and one that is not cached can be fetched.
        if let Err(error) = self.cache_part(part, dump) {
            tracing::warn!(%error, %dump, "a dump was not put into the cache");
        }
        Ok(())
    }

    fn dump(&self, dump: &DumpId) -> io::Result<Local> {
        let entry = self.entry(dump)?;
        let path = self.remote.path(&["blobs", &entry.blob]);
        let file = FileEntry {
            name: dump.to_string(),
            bytes: entry.bytes,
            sha256: entry.sha256,
            modified_nanos: FILE_TIME,
        };
        self.cache.get(&dump_key(dump), entry.bytes, |to| {
            fetch::file(&self.remote, &path, &file, to)
        })
    }

    fn dumps(&self) -> io::Result<Vec<DumpId>> {
        let found = self.remote.list_flat(&self.remote.path(&["dumps"]))?;
        let names = found.iter().filter_map(|it| it.location.filename());
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }

    fn delete(&self, dump: &DumpId) -> io::Result<()> {
        let blob = match self.entry(dump) {
            Ok(entry) => Some(entry.blob),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // An entry that cannot be read goes all the same.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            Err(error) => return Err(error),
        };
        self.dumps.lock().remove(dump);
        self.analyses.lock().remove(dump);
        self.remote
            .delete(&self.remote.path(&["dumps", dump.as_str()]))?;
        if let Some(blob) = blob {
            self.delete_blob(&blob)?;
        }
        let folder = self.remote.path(&["analyses", dump.as_str()]);
        for object in self.remote.list(&folder)? {
            self.remote.delete(&object.location)?;
        }
        self.cache.forget(&dump_key(dump))?;
        for key in self.cache.keys(&format!("analyses/{dump}.")) {
            self.cache.forget(&key)?;
        }
        Ok(())
    }

    fn begin_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<PathBuf> {
        self.here.begin_analysis(dump, attempt)
    }

    fn publish_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<()> {
        let folder = self.here.attempt(dump, attempt);
        let run = PartId::new()?;
        let mut entry = AnalysisEntry {
            run: run.as_str().to_owned(),
            files: Vec::new(),
        };
        for file in fetch::entries(&folder)? {
            let to = ["analyses", dump.as_str(), run.as_str(), &file.name];
            let to = self.remote.path(&to);
            self.remote
                .send(File::open(folder.join(&file.name))?, &to)?;
            entry.files.push(file);
        }
        let name = name_of(attempt);
        let path = self.remote.path(&["analyses", dump.as_str(), &name]);
        if !self.remote.create(&path, serde_json::to_vec(&entry)?)?
            && self.read_attempt(dump, attempt)?.run != entry.run
        {
            self.delete_run(dump, &entry.run)?;
            return Err(Fault::Published.into());
        }
        self.analyses.lock().remove(dump);
        self.cache.adopt(&analysis_key(dump, &entry), &folder)
    }

    fn abandon_analysis(&self, dump: &DumpId, attempt: u32) -> io::Result<()> {
        self.here.abandon_analysis(dump, attempt)
    }

    fn analysis(&self, dump: &DumpId) -> io::Result<Option<Local>> {
        let Some((_, entry)) = self.last(dump)? else {
            return Ok(None);
        };
        let fetched = self
            .cache
            .get(&analysis_key(dump, &entry), entry.bytes(), |to| {
                let below = |name: &str| {
                    self.remote
                        .path(&["analyses", dump.as_str(), &entry.run, name])
                };
                fetch::folder(&self.remote, below, &entry.files, to)
            });
        fetched.map(Some)
    }

    fn analysis_file(&self, dump: &DumpId, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((_, entry)) = self.last(dump)? else {
            return Ok(None);
        };
        let mut files = entry.files.iter();
        let about = files.find(|it| it.name == name && it.bytes <= most);
        let Some(about) = about else {
            return Ok(None);
        };
        if let Some(folder) = self.cache.find(&analysis_key(dump, &entry)) {
            return fs::read(folder.join(name)).map(Some);
        }
        let from = ["analyses", dump.as_str(), &entry.run, name];
        let to = PartId::new()?;
        let path = self.here.part(&to);
        let fetched = fetch::file(&self.remote, &self.remote.path(&from), about, &path);
        let read = fetched.and_then(|()| fs::read(&path));
        self.here.delete_part(&to)?;
        read.map(Some)
    }

    fn abandon_all(&self) -> io::Result<()> {
        self.here.abandon_all()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.here.free_bytes()
    }

    fn cache_room(&self) -> Option<u64> {
        Some(self.cache.room())
    }

    fn occupied(&self) -> io::Result<HashMap<DumpId, u64>> {
        let mut occupied = HashMap::new();
        for dump in self.dumps()? {
            let bytes = self.entry(&dump).map_or(0, |entry| entry.bytes);
            occupied.insert(dump, bytes);
        }
        let folder = self.remote.path(&["analyses"]);
        let depth = folder.parts().count();
        for object in self.remote.list(&folder)? {
            let name = object.location.parts().nth(depth);
            let dump = name.and_then(|name| name.as_ref().parse::<DumpId>().ok());
            if let Some(bytes) = dump.and_then(|dump| occupied.get_mut(&dump)) {
                *bytes += object.size;
            }
        }
        Ok(occupied)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn direct(&self) -> Option<&dyn Direct> {
        self.remote.signing().map(|_| self as &dyn Direct)
    }

    fn pushed(&self) -> Option<&dyn PushedFiles> {
        Some(self)
    }

    fn sweep(&self, age: Duration, is_upload: &dyn Fn(&PartId) -> bool) -> io::Result<usize> {
        self.remove_orphans(age, is_upload)
    }
}

impl ObjectFiles {
    fn delete_run(&self, dump: &DumpId, run: &str) -> io::Result<()> {
        let folder = self.remote.path(&["analyses", dump.as_str(), run]);
        for object in self.remote.list(&folder)? {
            self.remote.delete(&object.location)?;
        }
        Ok(())
    }
}

fn dump_key(dump: &DumpId) -> String {
    format!("dumps/{dump}")
}

fn analysis_key(dump: &DumpId, entry: &AnalysisEntry) -> String {
    format!("analyses/{dump}.{}", entry.run)
}
