//! Makes a snapshot of a file.

use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use memmap2::Mmap;
use thiserror::Error;

use super::index::Found;
use super::notes::{KeptNotes, Notes};
use super::{CollectionNotes, IndexState, Snapshot, index, index_files, seals};
use crate::contents::{Contents, ReadError, read_outline};
use crate::dominators::Dominators;
use crate::duplicates::Digests;
use crate::graph::{Follow, Graph, GraphError, GraphOptions, Store};
use crate::input::{Input, OpenError, Source};
use crate::parallel;
use crate::trace::{Work, phase};

/// The steps that take long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A compressed file or a pipe is written to a temporary file.
    Unpacking,
    /// The dump is passed over, twice. Bytes count.
    Graph {
        /// All the bytes there will be.
        total: u64,
    },
    /// Dominators are worked out.
    Dominators,
    /// The index is written.
    Index,
}

/// Where the index of a dump lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexPlace {
    /// There is none.
    Nowhere,
    /// Beside the dump, if the dump is so large that one is of use; in the cache if nothing can be
    /// written there, or another user has put a file there.
    Beside,
    /// In the folder of [`index_cache`](super::index_cache).
    Cache,
    /// In a folder.
    Folder(PathBuf),
}

/// The limit of all indexes in the cache together, in bytes.
pub const INDEX_LIMIT: u64 = 10 << 30;

/// Smaller dumps are read in less time than it takes to look at the answer.
const INDEXED: usize = 32 << 20;

/// How to make a snapshot.
#[derive(Clone)]
pub struct OpenOptions<'a> {
    /// The number of the heap dump in the file, from 0; the last one if there is none.
    pub dump: Option<usize>,
    /// Which references keep objects alive.
    pub follow: Follow,
    /// The memory that the process may occupy, in bytes.
    pub memory: Option<u64>,
    /// Where temporary files go that keep memory below the limit.
    pub scratch: PathBuf,
    /// The number of threads to use; 0 for as many as the machine has.
    pub threads: usize,
    /// Where the index is looked for, and written to.
    pub index: IndexPlace,
    /// True if only this program writes to the folder of the index: checksums tell that it is whole
    /// then, and its numbers are not looked at one by one.
    pub trusts_index: bool,
    /// The limit of all indexes in the cache together, in bytes.
    pub index_limit: u64,
    /// True for a snapshot from an index or none: [`SnapshotError::NoIndex`].
    pub only_indexed: bool,
    /// True for object numbers of eight bytes, however few there are.
    pub wide: bool,
    /// True for a command that works for a while after the snapshot is there, and calls [`Snapshot::write_index_now`] beside that.
    pub index_later: bool,
    /// True for a command that will ask for [`duplicates`](crate::duplicates): their walk over the dump is done while dominators are
    /// computed, if memory is not limited.
    pub digests: bool,
    /// Receives the number of bytes that a stage has done since the last call, from any thread.
    pub progress: &'a (dyn Fn(Stage, u64) + Sync),
}

impl Default for OpenOptions<'_> {
    fn default() -> Self {
        Self {
            dump: None,
            follow: Follow::default(),
            memory: None,
            scratch: std::env::temp_dir(),
            threads: 0,
            index: IndexPlace::Nowhere,
            trusts_index: false,
            index_limit: INDEX_LIMIT,
            only_indexed: false,
            wide: false,
            index_later: false,
            digests: false,
            progress: &|_, _| {},
        }
    }
}

/// Why there is no snapshot.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no room.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The file has no heap dump.
    #[error("{0}")]
    NoDump(String),
    /// There is no index of the file as it is now, and only that was asked for.
    #[error("there is no index")]
    NoIndex,
}

/// The file in memory, and why its end is missing. What cannot be mapped is unpacked into a temporary file first.
pub(crate) fn map(
    input: Input,
    options: &OpenOptions<'_>,
) -> io::Result<(Mmap, Option<io::Error>)> {
    let mut stream: Box<dyn Read + Send> = match input.source {
        Source::Mapped(map) => return Ok((map, None)),
        Source::Bytes(bytes) => Box::new(Cursor::new(bytes)),
        Source::Stream(stream) => stream,
    };
    let mut file = tempfile::tempfile_in(&options.scratch)?;
    let mut buffer = vec![0; 1 << 20];
    let mut unpacked = 0;
    let damage = loop {
        let length = match stream.read(&mut buffer) {
            Ok(0) => break None,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A compressed file that is damaged: what came before counts.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && unpacked > 0 => {
                break Some(error);
            }
            Err(error) => return Err(error),
        };
        file.write_all(&buffer[..length])?;
        unpacked += length;
        (options.progress)(Stage::Unpacking, length as u64);
    };
    Ok((map_file(&file)?, damage))
}

pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read, as bytes, which have no invalid values. If another process
    // cuts the file meanwhile, access ends this process with SIGBUS; that is the contract of
    // every program that maps files, and no memory is corrupted.
    let map = unsafe { Mmap::map(file) }?;
    crate::input::in_small_pages(&map);
    Ok(map)
}

impl Snapshot {
    /// Makes a snapshot of a file, or of standard input for the path `-`.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no such heap dump. Damage is no error.
    pub fn open(path: &Path, options: &OpenOptions<'_>) -> Result<Self, SnapshotError> {
        let input = Input::open(path)?;
        let name = input.name.clone();
        let is_mapped = input.mapped().is_some();
        let left_out = input.left_out.clone();
        if options.only_indexed && !is_mapped {
            return Err(SnapshotError::NoIndex);
        }
        let (file, damage) = map(input, options)?;
        let file = Arc::new(file);
        // Compressed files have one only if asked for: they are unpacked all the same.
        let beside_is_of_use = is_mapped && file.len() >= INDEXED;
        let is_asked_for = matches!(options.index, IndexPlace::Cache | IndexPlace::Folder(_));
        let is_named = std::fs::metadata(path).is_ok_and(|found| found.is_file());
        let is_wanted = match options.index {
            // It may have been asked for then.
            IndexPlace::Beside => beside_is_of_use || options.only_indexed,
            _ => is_asked_for,
        };
        if options.only_indexed && !(is_named && is_wanted) {
            return Err(SnapshotError::NoIndex);
        }
        if !is_named || !is_wanted {
            let mut snapshot = Self::of_unpacked(name, file, damage, options)?;
            snapshot.contents.lacks_elements = left_out.is_so();
            if is_asked_for {
                snapshot.index = IndexState::Nameless.into();
            }
            return Ok(snapshot);
        }
        // Before anything is read, so that the limit holds from the start.
        let store = store(options, &file)?;
        let mut contents = outline(&file)?;
        contents.lacks_elements = left_out.is_so();
        if let Some(damage) = damage {
            contents.damage.note_first(damage.to_string());
        }
        let dump = select_dump(&name, &contents, options.dump)?;
        let key = index::Key::new(path, &file, dump, &options.follow, options.wide)?;
        let mut places = Vec::new();
        for place in places_of(path, options) {
            match index::read(&place.path, &key, options.trusts_index, &store) {
                Found::Index(found) => {
                    let (graph, dominators) = *found;
                    if place.cache.is_some() {
                        index_files::touch(&place.path);
                        // Which changes the file. One that is trusted was not looked at in full.
                        if !options.trusts_index {
                            seal(&place.path);
                        }
                    }
                    return Ok(Self {
                        name,
                        store,
                        file,
                        contents,
                        dump,
                        graph,
                        dominators,
                        index: IndexState::Used.into(),
                        later: Mutex::default(),
                        // An index that is trusted was not looked at in full.
                        notes: KeptNotes::on(
                            (!options.trusts_index)
                                .then(|| Notes::on(&place.path))
                                .flatten(),
                        ),
                        collections: CollectionNotes::default(),
                        stripped: OnceLock::new(),
                        digests: Mutex::default(),
                    });
                }
                Found::Nothing => places.push(place),
                // Not to be touched.
                Found::Foreign => {}
            }
        }
        if options.only_indexed {
            return Err(SnapshotError::NoIndex);
        }
        let mut snapshot = Self::build(name, file, contents, dump, options, store)?;
        snapshot.notes = KeptNotes::waiting();
        snapshot.later = Mutex::new(Some(LaterIndex {
            places,
            key,
            limit: options.index_limit,
        }));
        if !options.index_later {
            (options.progress)(Stage::Index, 0);
            snapshot.write_index_now();
        }
        Ok(snapshot)
    }

    /// Writes the index that was to be [written later](OpenOptions::index_later), if there is one to be written.
    pub fn write_index_now(&self) {
        let later = self
            .later
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(later) = later else {
            return;
        };
        let index = phase(Work::Index, 0, || {
            self.write_index(&later.places, &later.key, later.limit)
        });
        self.notes.begin(match &index {
            IndexState::Written { path, .. } => Notes::on(path),
            _ => None,
        });
        // Who took it from where it lay is the only one.
        let _ = self.index.set(index);
    }

    /// Writes an index to the first place that takes it.
    fn write_index(&self, places: &[Place], key: &index::Key, limit: u64) -> IndexState {
        let foreign = "a file of that name belongs to another user, or other users may write to it";
        let mut failure = io::Error::other(foreign);
        for place in places {
            let written = match &place.cache {
                None => index::write(&place.path, key, &self.graph, &self.dominators, u64::MAX),
                Some(cache) => index_files::make_cache(cache).and_then(|()| {
                    index::write(&place.path, key, &self.graph, &self.dominators, limit)
                }),
            };
            match written {
                Ok(bytes) => {
                    let path = place.path.clone();
                    let cache = place.cache.as_deref();
                    let removed = cache.map_or(0, |cache| {
                        // The new one is the last to go, and it fits.
                        index_files::touch(&path);
                        index_files::prune(cache, 0, limit)
                    });
                    seal(&path);
                    return IndexState::Written {
                        path,
                        bytes,
                        removed,
                    };
                }
                Err(error) => failure = error,
            }
        }
        IndexState::Failed(failure)
    }

    /// Makes a snapshot of a file in memory, without an index.
    ///
    /// # Errors
    /// If it is no binary file with such a heap dump.
    pub fn of_map(
        name: String,
        file: Arc<Mmap>,
        options: &OpenOptions<'_>,
    ) -> Result<Self, SnapshotError> {
        Self::of_unpacked(name, file, None, options)
    }

    /// As [`Self::of_map`], of a file whose end may be missing for a reason.
    fn of_unpacked(
        name: String,
        file: Arc<Mmap>,
        damage: Option<io::Error>,
        options: &OpenOptions<'_>,
    ) -> Result<Self, SnapshotError> {
        let store = store(options, &file)?;
        let mut contents = outline(&file)?;
        if let Some(damage) = damage {
            contents.damage.note_first(damage.to_string());
        }
        let dump = select_dump(&name, &contents, options.dump)?;
        Self::build(name, file, contents, dump, options, store)
    }

    fn build(
        name: String,
        file: Arc<Mmap>,
        contents: Contents,
        dump: usize,
        options: &OpenOptions<'_>,
        store: Store,
    ) -> Result<Self, SnapshotError> {
        let total = 2 * file.len() as u64;
        let graph = Graph::new(
            &file,
            &contents,
            dump,
            GraphOptions {
                follow: &options.follow,
                store: &store,
                threads: options.threads,
                wide: options.wide,
                progress: &|bytes| (options.progress)(Stage::Graph { total }, bytes),
                forget: &|range| crate::input::forget(&file, range),
            },
        )?;
        (options.progress)(Stage::Dominators, 0);
        let dominators = || Dominators::new(&graph, &store, options.threads);
        let (dominators, digests) = match options.digests && !store.is_limited() {
            true => {
                // The dominators take one core for most of their time.
                let threads = (parallel::threads(options.threads) / 2).max(1);
                let digests = || {
                    let total = file.len() as u64;
                    phase(Work::Digests, total, || {
                        Digests::of(&file, &graph, &store, None, threads)
                    })
                };
                let (dominators, digests) = parallel::both(dominators, digests);
                (dominators, Some(digests))
            }
            false => (dominators(), None),
        };
        let dominators = dominators?;
        Ok(Self {
            name,
            file,
            contents,
            dump,
            graph,
            dominators,
            store,
            index: OnceLock::new(),
            later: Mutex::default(),
            notes: KeptNotes::default(),
            collections: CollectionNotes::default(),
            stripped: OnceLock::new(),
            digests: Mutex::new(digests),
        })
    }
}

fn outline(file: &Mmap) -> Result<Contents, ReadError> {
    phase(Work::Outline, 0, || {
        read_outline(file, &|range| crate::input::forget(file, range))
    })
}

/// An index that is still to be written.
pub(crate) struct LaterIndex {
    places: Vec<Place>,
    key: index::Key,
    limit: u64,
}

/// A place for an index.
struct Place {
    path: PathBuf,
    /// The cache, if it lies in there.
    cache: Option<PathBuf>,
}

/// Notes of an index that was written or found sound just now that it need not be looked at again.
fn seal(index: &Path) {
    if let Ok(Some(file)) = index::open_own(index)
        && let Some(folder) = seals::folder_for(&file)
    {
        seals::seal(&folder, &file);
    }
}

/// The places in which the index of a dump may lie, the first to be preferred.
fn places_of(dump: &Path, options: &OpenOptions<'_>) -> Vec<Place> {
    let in_folder = |folder: Option<&Path>| {
        let path = index_files::in_folder(dump, folder)?;
        Some(Place { path, cache: None })
    };
    let in_cache = || {
        let cache = index_files::index_cache()?;
        let path = index_files::in_cache(dump, &cache)?;
        let cache = Some(cache);
        Some(Place { path, cache })
    };
    let places = match &options.index {
        IndexPlace::Nowhere => [None, None],
        IndexPlace::Folder(folder) => [in_folder(Some(folder)), None],
        IndexPlace::Beside => [in_folder(None), in_cache()],
        IndexPlace::Cache => [in_cache(), None],
    };
    places.into_iter().flatten().collect()
}

fn store(options: &OpenOptions<'_>, file: &Arc<Mmap>) -> io::Result<Store> {
    let store = match options.memory {
        Some(limit) => Store::limited(limit, options.scratch.clone())?,
        None => Store::memory(),
    };
    store.watch_map(file);
    Ok(store)
}

/// The number of the heap dump that is asked for.
pub(crate) fn select_dump(
    name: &str,
    contents: &Contents,
    wanted: Option<usize>,
) -> Result<usize, SnapshotError> {
    let count = contents.dumps.len();
    if count == 0 {
        let advice = match contents.text_dumps.is_empty() {
            true => "`hprof-rs summary` shows what it has",
            false => "its heap dump is in text; take dumps with format=b to have them analysed",
        };
        let mut message = match contents.instead_of_data() {
            Some(instead) => format!("{name} holds {instead}"),
            None => format!("{name} holds no binary heap dump: {advice}"),
        };
        // Then there may have been one.
        if let Some(first) = contents.damage.entries.first() {
            message = format!(
                "{name} holds no binary heap dump before it is damaged: {}",
                first.message
            );
        }
        return Err(SnapshotError::NoDump(message));
    }
    match wanted {
        Some(dump) if dump < count => Ok(dump),
        Some(dump) => Err(SnapshotError::NoDump(format!(
            "{name} holds {count} heap dump{}, not {}",
            if count == 1 { "" } else { "s" },
            dump + 1
        ))),
        None => Ok(count - 1),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn a_full_disk_is_told_of_once() {
        let full = || io::Error::other("no space");
        for error in [SnapshotError::from(full()), GraphError::from(full()).into()] {
            let (mut text, mut next) = (error.to_string(), error.source());
            while let Some(source) = next {
                text += &source.to_string();
                next = source.source();
            }
            assert_eq!(text.matches("no space").count(), 1, "{text}");
        }
    }
}
