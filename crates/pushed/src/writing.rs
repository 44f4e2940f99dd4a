//! The one thread that writes: requests to the log, and what is in memory to segments.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crate::batch::At;
use crate::head::Head;
use crate::index::Done;
use crate::log::{self, Log};
use crate::seen::{Digest, Seen};
use crate::segment::{self, Segment};
use crate::{Job, Shared, Task, failed};

/// How often it looks whether a segment is due.
const PAUSE: Duration = Duration::from_secs(1);
/// Requests that one write takes.
const TOGETHER: usize = 256;
/// And their bytes.
const TOGETHER_BYTES: usize = 16 << 20;
/// The memory from which a segment is written, in bytes.
const MAX_MEMORY: usize = 64 << 20;
/// The log from which a segment is written, in bytes; as much is read at the next start.
const MAX_LOG: u64 = 64 << 20;
/// How long after a failure the next attempt is made.
const AGAIN: Duration = Duration::from_secs(10);

/// The fate of a request that the disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is new.
    New,
    /// It came before, and nothing was written.
    Before,
}

/// The asker of a segment.
type Wish = SyncSender<io::Result<()>>;

/// The thread's state.
pub(super) struct Writer {
    shared: Arc<Shared>,
    log: Log,
    /// Bytes of the log that are in no segment.
    pending: u64,
    /// When the oldest of them came.
    since: Option<Instant>,
    /// Not before this time is a segment written.
    not_before: Instant,
    /// Requests that came lately.
    seen: Seen,
}

impl Writer {
    /// A thread that continues a log; `pending` bytes of earlier files are in memory.
    pub(super) fn new(shared: Arc<Shared>, log: Log, pending: u64, seen: Seen) -> Self {
        let now = Instant::now();
        Self {
            shared,
            log,
            pending,
            since: (pending > 0).then_some(now),
            not_before: now,
            seen,
        }
    }

    /// Writes until the store is dropped.
    pub(super) fn run(mut self, tasks: &Receiver<Task>) {
        loop {
            let mut due = None;
            match tasks.recv_timeout(PAUSE) {
                Ok(Task::Write(job)) => due = self.write(*job, tasks),
                Ok(Task::Segment(done)) => due = Some(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Some(done) = due {
                // The asker may be gone.
                let _ = done.send(self.segment());
            } else if self.is_due() {
                self.keep();
            }
        }
    }

    fn is_due(&self) -> bool {
        let is_old = self
            .since
            .is_some_and(|since| since.elapsed() > self.shared.freshness);
        let is_much = self.pending > MAX_LOG || self.shared.held.read().head.bytes() > MAX_MEMORY;
        (is_old || is_much) && Instant::now() >= self.not_before
    }

    /// Writes a request with those that wait. Gives a wish for a segment that was among them.
    fn write(&mut self, first: Job, tasks: &Receiver<Task>) -> Option<Wish> {
        let mut bytes = Vec::new();
        // The same request may be among those that wait, as its client was impatient.
        let mut new: Vec<Digest> = Vec::new();
        let mut together = vec![self.join(first, &mut new, &mut bytes)];
        let mut wish = None;
        while together.len() < TOGETHER && bytes.len() < TOGETHER_BYTES {
            match tasks.try_recv() {
                Ok(Task::Write(job)) => {
                    together.push(self.join(*job, &mut new, &mut bytes));
                }
                Ok(Task::Segment(done)) => {
                    wish = Some(done);
                    break;
                }
                Err(_) => break,
            }
        }
        // No segment could be written for long.
        let is_full = self.shared.held.read().head.bytes() > 4 * MAX_MEMORY;
        let written = match is_full {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false if bytes.is_empty() => Ok(()),
            false => self.log.append(&bytes),
        };
        match written {
            Ok(()) => {
                self.pending += bytes.len() as u64;
                if !bytes.is_empty() {
                    self.since.get_or_insert_with(Instant::now);
                }
                let mut held = self.shared.held.write();
                for (Job { decoded, .. }, written) in &together {
                    if *written == Written::New {
                        held.head.add(&decoded.batch);
                        if let Some(digest) = decoded.digest {
                            self.seen.add(digest, decoded.entry.came);
                        }
                    }
                }
                drop(held);
                for (job, written) in together {
                    self.shared.counters.count(&job.decoded, written);
                    // A client that is gone sends the request again, which is known then.
                    self.end(job, Ok(written));
                }
            }
            Err(error) => {
                tracing::error!(%error, "pushed profiles cannot be written");
                for (job, _) in together {
                    self.end(job, Err(io::Error::from(error.kind())));
                }
            }
        }
        wish
    }

    /// Tells what became of a request.
    fn end(&self, job: Job, written: io::Result<Written>) {
        let waiting = &self.shared.counters.waiting;
        waiting.fetch_sub(1, Ordering::Relaxed);
        (job.done)(written);
    }

    /// Adds a request to bytes for the log, unless it came before.
    fn join(&self, job: Job, new: &mut Vec<Digest>, bytes: &mut Vec<u8>) -> (Job, Written) {
        if let Some(digest) = job.decoded.digest {
            if self.seen.has(&digest) || new.contains(&digest) {
                return (job, Written::Before);
            }
            new.push(digest);
        }
        job.decoded.entry.encode(bytes);
        (job, Written::New)
    }

    /// Makes a segment of what is in memory.
    fn keep(&mut self) {
        if let Err(error) = self.segment() {
            tracing::error!(%error, "a segment of pushed profiles cannot be written");
            self.not_before = Instant::now() + AGAIN;
        }
    }

    /// Makes a segment of what is in memory, which then counts in the place of the log.
    fn segment(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let number = shared.next_segment.fetch_add(1, Ordering::Relaxed);
        // Nothing but this thread changes what is in memory.
        let held = shared.held.read();
        let segment = Arc::new(write(&shared, &held.head, number)?);
        drop(held);
        let next = Log::create(&shared.folder, self.log.number + 1)?;
        let done = self.log.number;
        self.log = next;
        let log = Done {
            number: done,
            seen: self.seen.fresh(),
        };
        let changed = shared
            .index
            .change(std::slice::from_ref(&segment), &[], Some(log));
        changed.map_err(failed)?;
        self.seen.are_kept();
        let mut held = shared.held.write();
        held.head = Head::default();
        held.segments.push(segment);
        drop(held);
        (self.pending, self.since) = (0, None);
        for (number, path) in log::files(&shared.folder)? {
            if number <= done {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Writes costs to a segment.
fn write(shared: &Shared, head: &Head, number: u64) -> io::Result<Segment> {
    let path = shared.segment(number);
    let new = path.with_extension("new");
    let mut writer = segment::Writer::create(&new, true)?;
    for (series, rows) in head.series.iter().zip(&head.rows) {
        let mut rows: Vec<(At, u64)> = rows.iter().map(|(at, value)| (*at, *value)).collect();
        writer.add(series, &mut rows)?;
    }
    writer.finish(&head.tree)?;
    fs::rename(&new, &path)?;
    log::sync_folder(&shared.folder)?;
    Segment::open(&path, number, 0)
}
