//! Profiles that other programs push, kept and asked about (docs/continuous.md).
//!
//! A request is decoded, written to a log (`log.rs`) and acknowledged when the log is on the disk; one write serves all
//! requests that wait. Its costs are added to those in memory (`head.rs`) as sums of a second, a thread and a stack. When
//! there are enough of them they become a segment (`segment.rs`), which the index (`index.rs`) has count in the place of
//! the log, in one transaction: what was acknowledged counts once, wherever the process is killed. Segments are merged
//! and go by age and space (`keeping.rs`).

mod answers;
mod archive;
mod batch;
mod chunk;
mod head;
mod index;
mod ingest;
mod keeping;
mod kind;
mod log;
mod movers;
mod numbers;
mod push_service;
mod scan;
mod seen;
mod segment;
mod selector;
mod sharing;
mod stacks;
mod sums;
mod texts;
mod tree;
mod writing;

#[cfg(test)]
mod detail_tests;
#[cfg(test)]
mod sharing_tests;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

pub use answers::{
    CostsOverTime, CostsQuery, Lane, Nothing, SeriesFound, SeriesList, SeriesQuery, Window,
};
pub use archive::{Archive, Choice, Cost};
pub use ingest::Ingest;
pub use keeping::Retention;
pub use kind::is_state;
pub use log::{Entry, Protocol, Wrong};
pub use movers::{Mover, Movers};
pub use selector::Selector;
pub use sharing::{Fleet, FleetId, FleetSegment, Reservation};
pub use writing::Written;

use batch::Batch;
use head::Head;
use index::Index;
use log::Log;
use seen::{Digest, Seen};
use segment::Segment;

/// The longest body when it is unpacked, in bytes.
const MAX_UNPACKED: usize = 32 << 20;
/// The age at which a segment is written.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Decoded requests that wait for the disk.
const WAITING: usize = 256;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The question makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The answer is too large.
    #[error("{0}")]
    TooLarge(String),
    /// The disk fails.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

/// Why a decoded request does not wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotQueued {
    /// Others come first; the sender may repeat it.
    Full,
    /// The store's thread has ended.
    Ended,
}

/// The outcome of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Profiles that are not kept.
    pub rejected: u64,
    /// Why not.
    pub reason: String,
}

/// Figures for `/metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Requests that were acknowledged since the start.
    pub requests: u64,
    /// Their bytes as they came.
    pub bytes: u64,
    /// Profiles that were taken since the start.
    pub profiles: u64,
    /// Profiles that were not kept since the start.
    pub rejected: u64,
    /// Requests that were refused since the start.
    pub refused: u64,
    /// Requests that came once more since the start, and count once.
    pub repeated: u64,
    /// Requests that wait for the disk.
    pub waiting: u64,
    /// The segments.
    pub segments: u64,
    /// Their bytes.
    pub segment_bytes: u64,
    /// Their rows.
    pub segment_rows: u64,
    /// Rows in memory, which are in the log only.
    pub memory_rows: u64,
    /// About the bytes of these.
    pub memory_bytes: u64,
}

#[derive(Default)]
struct Counters {
    requests: AtomicU64,
    bytes: AtomicU64,
    profiles: AtomicU64,
    rejected: AtomicU64,
    refused: AtomicU64,
    repeated: AtomicU64,
    waiting: AtomicU64,
}

impl Counters {
    /// Counts a request that was acknowledged.
    fn count(&self, decoded: &Decoded, written: Written) {
        let add = |counter: &AtomicU64, count: u64| counter.fetch_add(count, Ordering::Relaxed);
        match written {
            Written::New => add(&self.profiles, decoded.batch.profiles),
            Written::Before => add(&self.repeated, 1),
        };
        add(&self.requests, 1);
        add(&self.bytes, decoded.entry.body.len() as u64);
        add(&self.rejected, decoded.batch.rejected);
    }
}

/// All costs: those in memory, and the segments.
struct Held {
    head: Head,
    segments: Vec<Arc<Segment>>,
}

/// The part of the store that its thread shares.
struct Shared {
    folder: PathBuf,
    index: Index,
    held: RwLock<Held>,
    next_segment: AtomicU64,
    counters: Counters,
    stacks: stacks::StacksCache,
    /// One change of segments at a time, beside new ones.
    keeping: Mutex<sharing::Names>,
    /// The age at which what is in memory becomes a segment.
    freshness: Duration,
}

/// A request whose profiles are known.
pub struct Decoded {
    entry: Entry,
    batch: Batch,
    digest: Option<Digest>,
}

impl Decoded {
    /// Its profiles that the store does not keep, and why.
    pub fn taken(&self) -> Taken {
        Taken {
            rejected: self.batch.rejected,
            reason: self.batch.reason.clone(),
        }
    }
}

/// Gets what became of a request.
type WhenDone = Box<dyn FnOnce(io::Result<Written>) + Send>;

/// A request that waits for the disk.
struct Job {
    decoded: Decoded,
    done: WhenDone,
}

/// A task of the store's thread.
enum Task {
    /// Write a request.
    Write(Box<Job>),
    /// Make a segment of what is in memory.
    Segment(SyncSender<io::Result<()>>),
}

/// The store of pushed profiles.
pub struct Pushed {
    shared: Arc<Shared>,
    queue: SyncSender<Task>,
}

fn failed(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}

impl Shared {
    /// The path of a segment.
    fn segment(&self, number: u64) -> PathBuf {
        segment_path(&self.folder, number)
    }
}

fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:016}.seg"))
}

/// Has all segments of a folder count whose index was lost.
fn adopt(folder: &Path, index: &Index) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(number) = log::number_of(&path)
            && path.extension().is_some_and(|ending| ending == "seg")
        {
            let segment = Segment::open(&path, number, 0)?;
            index
                .change(&[Arc::new(segment)], &[], None)
                .map_err(failed)?;
            tracing::warn!(number, "a segment of pushed profiles is in a new index");
        }
    }
    Ok(())
}

/// Removes files that do not count: those of changes that were cut off.
fn remove_strangers(folder: &Path, known: &[(u64, u32)]) -> io::Result<u64> {
    let mut last = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|it| it.to_str());
        let number = log::number_of(&path);
        let is_known = |number: u64| known.iter().any(|known| known.0 == number);
        match (ending, number) {
            (Some("seg"), Some(number)) => {
                last = last.max(number);
                if !is_known(number) {
                    fs::remove_file(&path)?;
                }
            }
            (Some("new"), _) => fs::remove_file(&path)?,
            (Some("shared"), Some(number)) if !is_known(number) => fs::remove_file(&path)?,
            _ => {}
        }
    }
    Ok(last)
}

impl Pushed {
    /// Opens the store in a folder, which is made if it is not there, and reads what only the log has.
    ///
    /// # Errors
    /// If the disk or the index fails.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_with(folder, MAX_AGE)
    }

    /// As [`Pushed::open`], for a server that [shares](Pushed::share) its segments: others see a profile after this time.
    ///
    /// # Errors
    /// If the disk or the index fails.
    pub fn open_with(folder: &Path, freshness: Duration) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let index_file = folder.join("index.db");
        let is_new = !index_file.exists();
        let index = Index::open(&index_file).map_err(failed)?;
        if is_new {
            adopt(folder, &index)?;
        }
        let known = index.known().map_err(failed)?;
        let last = remove_strangers(folder, &known.segments)?;
        let mut segments = Vec::new();
        for &(number, level) in &known.segments {
            match Segment::open(&segment_path(folder, number), number, level) {
                Ok(segment) => segments.push(Arc::new(segment)),
                Err(error) => tracing::error!(
                    number,
                    %error,
                    "a segment of pushed profiles cannot be read, and answers lack it"
                ),
            }
        }
        let mut head = Head::default();
        let mut seen = Seen::default();
        known.seen.iter().for_each(|bytes| seen.load(bytes));
        seen.are_kept();
        let mut pending = 0;
        let mut number = known.done;
        for (at, path) in log::files(folder)? {
            number = number.max(at);
            if at <= known.done {
                fs::remove_file(&path)?;
                continue;
            }
            pending += fs::metadata(&path)?.len();
            let left = log::replay(&path, &mut |entry| match entry.decode() {
                Ok(decoded) => {
                    head.add(&decoded.batch);
                    if let Some(digest) = decoded.digest {
                        seen.add(digest, decoded.entry.came);
                    }
                }
                Err(wrong) => tracing::error!(?wrong, "a logged profile cannot be read any more"),
            })?;
            if left > 0 {
                tracing::info!(bytes = left, "the end of a log was not acknowledged");
            }
        }
        let log = Log::create(folder, number + 1)?;
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            index,
            held: RwLock::new(Held { head, segments }),
            next_segment: AtomicU64::new(last + 1),
            counters: Counters::default(),
            stacks: stacks::StacksCache::default(),
            keeping: Mutex::default(),
            freshness,
        });
        let (queue, jobs) = sync_channel(WAITING);
        let writer = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("pushed".to_owned())
            .spawn(move || writing::Writer::new(writer, log, pending, seen).run(&jobs))?;
        Ok(Self { shared, queue })
    }

    /// Writes a request, and calls `done` when the disk has it. It does not wait for that.
    ///
    /// # Errors
    /// [`NotQueued`], if `done` will not be called.
    pub fn write(
        &self,
        decoded: Decoded,
        done: impl FnOnce(io::Result<Written>) + Send + 'static,
    ) -> Result<(), NotQueued> {
        let counters = &self.shared.counters;
        if decoded.batch.costs.is_empty() {
            counters.count(&decoded, Written::New);
            done(Ok(Written::New));
            return Ok(());
        }
        let done = Box::new(done);
        let job = Box::new(Job { decoded, done });
        // Before the store's thread takes it away again.
        counters.waiting.fetch_add(1, Ordering::Relaxed);
        self.queue.try_send(Task::Write(job)).map_err(|error| {
            counters.waiting.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => NotQueued::Full,
                TrySendError::Disconnected(_) => NotQueued::Ended,
            }
        })
    }

    /// Counts a request that was refused.
    pub fn count_refused(&self) {
        self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes a segment of what is in memory, as age and size do. Blocks.
    ///
    /// # Errors
    /// If the disk or the index fails.
    pub fn make_segment(&self) -> io::Result<()> {
        let (done, answer) = sync_channel(1);
        let sent = self.queue.send(Task::Segment(done));
        sent.map_err(|_| io::Error::other("the thread has ended"))?;
        answer.recv().map_err(io::Error::other)?
    }

    /// Figures for `/metrics`.
    pub fn figures(&self) -> Figures {
        let counters = &self.shared.counters;
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let held = self.shared.held.read();
        Figures {
            requests: number(&counters.requests),
            bytes: number(&counters.bytes),
            profiles: number(&counters.profiles),
            rejected: number(&counters.rejected),
            refused: number(&counters.refused),
            repeated: number(&counters.repeated),
            waiting: number(&counters.waiting),
            segments: held.segments.len() as u64,
            segment_bytes: held.segments.iter().map(|it| it.bytes).sum(),
            segment_rows: held.segments.iter().map(|it| it.rows()).sum(),
            memory_rows: held.head.count as u64,
            memory_bytes: held.head.bytes() as u64,
        }
    }
}
