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
mod head;
mod index;
mod ingest;
mod keeping;
mod kind;
mod log;
mod movers;
mod scan;
mod seen;
mod segment;
mod selector;
mod sums;
mod tree;
mod writing;

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use parking_lot::{Mutex, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

pub use answers::{CostsOverTime, CostsQuery, Lane, SeriesFound, SeriesList, SeriesQuery, Window};
pub use archive::{Archive, Choice, Cost};
pub use ingest::Ingest;
pub(crate) use keeping::run;
pub use movers::{Mover, Movers};
pub use selector::Selector;

use batch::Batch;
use head::Head;
use index::Index;
use log::{Entry, Log, Protocol, Wrong};
use seen::{Digest, Seen};
use segment::Segment;

use crate::problem::Problem;
use crate::state::AppState;
use crate::time::Millis;

/// The longest body of a request, in bytes.
pub const MAX_BODY: usize = 16 << 20;
/// The longest body when it is unpacked.
pub(crate) const MAX_UNPACKED: usize = 32 << 20;
/// The bytes of all bodies that are being received at once.
const MAX_UNDER_WAY: usize = 64 << 20;
/// Bodies that are decoded at once.
const DECODERS: usize = 2;
/// Decoded requests that wait for the disk.
const WAITING: usize = 256;

/// Why a request is not taken.
#[derive(Debug)]
pub enum Refusal {
    /// It is not as its protocol has it.
    Invalid(String),
    /// It is too large.
    TooLarge(String),
    /// Others come first; the sender may repeat it.
    Busy,
    /// The disk does not take it; the sender may repeat it.
    Disk(io::Error),
    /// The server fails.
    Failed(Problem),
}

impl From<Wrong> for Refusal {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::Invalid(detail) => Self::Invalid(detail),
            Wrong::TooLarge(detail) => Self::TooLarge(detail),
        }
    }
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

/// Counts a request that waits, until it does not or its client is gone.
struct Waits<'a>(&'a AtomicU64);

impl<'a> Waits<'a> {
    fn new(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
    /// One change of segments at a time, beside new ones.
    keeping: Mutex<()>,
}

/// A request that waits for the disk.
struct Job {
    entry: Entry,
    batch: Batch,
    digest: Option<Digest>,
    done: oneshot::Sender<io::Result<Written>>,
}

/// What became of a request that the disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// It is new.
    New,
    /// It came before, and nothing was written.
    Before,
}

/// A task of the store's thread.
enum Task {
    /// Write a request.
    Write(Box<Job>),
    /// Make a segment of what is in memory.
    Segment(oneshot::Sender<io::Result<()>>),
}

/// The store of pushed profiles.
pub struct Pushed {
    shared: Arc<Shared>,
    queue: SyncSender<Task>,
    room: Arc<Semaphore>,
    decoders: Arc<Semaphore>,
}

/// The room of a body, until it is dropped.
pub struct Room(#[expect(dead_code, reason = "held for its end")] OwnedSemaphorePermit);

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
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(number) = number
            && path.extension().is_some_and(|ending| ending == "seg")
        {
            let segment = Segment::open(&path, number, 0)?;
            index.change(Some(&segment), &[], None).map_err(failed)?;
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
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        let is_known = |number: u64| known.iter().any(|known| known.0 == number);
        match (ending, number) {
            (Some("seg"), Some(number)) => {
                last = last.max(number);
                if !is_known(number) {
                    fs::remove_file(&path)?;
                }
            }
            (Some("new"), _) => fs::remove_file(&path)?,
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
                Ok(batch) => {
                    head.add(&batch);
                    if let Some(digest) = seen::digest(&entry) {
                        seen.add(digest, entry.came);
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
            keeping: Mutex::default(),
        });
        let (queue, jobs) = sync_channel(WAITING);
        let writer = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("pushed".to_owned())
            .spawn(move || writing::Writer::new(writer, log, pending, seen).run(&jobs))?;
        Ok(Self {
            shared,
            queue,
            room: Arc::new(Semaphore::new(MAX_UNDER_WAY)),
            decoders: Arc::new(Semaphore::new(DECODERS)),
        })
    }

    /// Room for a body of that many bytes; none if too many come at once.
    pub fn room(&self, bytes: usize) -> Option<Room> {
        let bytes = u32::try_from(bytes).ok()?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(bytes);
        room.ok().map(Room)
    }

    /// Takes a request of OTLP.
    ///
    /// # Errors
    /// If it is wrong, or cannot be kept now.
    pub async fn take_otlp(
        &self,
        state: &AppState,
        body: Vec<u8>,
        is_packed: bool,
    ) -> Result<Taken, Refusal> {
        let protocol = Protocol::Otlp;
        self.take(state, protocol, body, is_packed).await
    }

    /// Takes a request to Pyroscope's `/ingest`.
    ///
    /// # Errors
    /// If it is wrong, or cannot be kept now.
    pub async fn take_ingest(
        &self,
        state: &AppState,
        ingest: Ingest,
        content_type: String,
        body: Vec<u8>,
        is_packed: bool,
    ) -> Result<Taken, Refusal> {
        let protocol = Protocol::Ingest(ingest, content_type);
        self.take(state, protocol, body, is_packed).await
    }

    async fn take(
        &self,
        state: &AppState,
        protocol: Protocol,
        body: Vec<u8>,
        is_packed: bool,
    ) -> Result<Taken, Refusal> {
        let taken = self.take_uncounted(state, protocol, body, is_packed).await;
        if taken.is_err() {
            self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    async fn take_uncounted(
        &self,
        state: &AppState,
        protocol: Protocol,
        body: Vec<u8>,
        is_packed: bool,
    ) -> Result<Taken, Refusal> {
        let counters = &self.shared.counters;
        let came = u64::try_from(Millis::now().0 / 1000).unwrap_or_default();
        let entry = Entry {
            protocol,
            is_packed,
            came,
            body,
        };
        let place = Arc::clone(&self.decoders).acquire_owned().await;
        let place = place.map_err(|error| Refusal::Failed(Problem::internal(error)))?;
        let decoded = state.blocking(move |_| {
            let _place = place;
            let batch = entry.decode();
            let digest = seen::digest(&entry);
            Ok((entry, batch, digest))
        });
        let (entry, batch, digest) = decoded.await.map_err(Refusal::Failed)?;
        let batch = batch?;
        let taken = Taken {
            rejected: batch.rejected,
            reason: batch.reason.clone(),
        };
        let (mut profiles, bytes) = (batch.profiles, entry.body.len() as u64);
        if !batch.costs.is_empty() {
            let (done, answer) = oneshot::channel();
            let job = Job {
                entry,
                batch,
                digest,
                done,
            };
            let _waits = Waits::new(&counters.waiting);
            let queued = self.queue.try_send(Task::Write(Box::new(job)));
            let answer = match queued {
                Ok(()) => answer.await,
                Err(TrySendError::Full(_)) => return Err(Refusal::Busy),
                Err(TrySendError::Disconnected(_)) => {
                    let problem = Problem::internal("the thread of pushed profiles has ended");
                    return Err(Refusal::Failed(problem));
                }
            };
            let written = answer.map_err(|error| Refusal::Failed(Problem::internal(error)))?;
            if written.map_err(Refusal::Disk)? == Written::Before {
                counters.repeated.fetch_add(1, Ordering::Relaxed);
                profiles = 0;
            }
        }
        counters.requests.fetch_add(1, Ordering::Relaxed);
        counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        counters.profiles.fetch_add(profiles, Ordering::Relaxed);
        counters
            .rejected
            .fetch_add(taken.rejected, Ordering::Relaxed);
        Ok(taken)
    }

    /// Makes a segment of what is in memory, as age and size do. Blocks.
    ///
    /// # Errors
    /// If the disk or the index fails.
    pub fn make_segment(&self) -> io::Result<()> {
        let (done, answer) = oneshot::channel();
        let sent = self.queue.send(Task::Segment(done));
        sent.map_err(|_| io::Error::other("the thread has ended"))?;
        answer.blocking_recv().map_err(io::Error::other)?
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
