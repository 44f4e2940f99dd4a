//! Sends requests on a thread of its own, and keeps some in bounded memory and some on the disk while the receiver is away.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::destination::Destination;
use super::parcels::Parcel;
use super::spool::{Spool, Waiting};
use crate::capture::Body;
use crate::render::out::tell;
use crate::render::screen::{bytes, count, plural, printable};

/// The bodies that wait in memory, in bytes. Others wait on the disk.
const ROOM: u64 = 16 << 20;
/// The first pause before a request is repeated; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The shortest wait for a change.
const LOOK: Duration = Duration::from_millis(50);

/// The requests and their fate.
#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Waiting>>,
    /// Requests that memory has no room for, on the disk.
    spool: Spool,
    /// The first of them is on its way.
    is_busy: bool,
    /// The bodies in memory.
    bytes: u64,
    delivered: u64,
    delivered_bytes: u64,
    /// Given up, as neither memory nor disk had room.
    dropped: u64,
    /// Refused by the receiver for good.
    refused: u64,
    /// Profiles that the receiver has taken no part of, in requests that it took.
    rejected: u64,
    attempts_failed: u64,
    why: Option<String>,
    /// Nothing more will come.
    is_last: bool,
    /// The end is near, and no pause is worth it.
    is_urgent: bool,
}

impl State {
    /// Gives the room of a request back.
    fn leave(&mut self, gone: &Waiting) {
        self.bytes -= gone.in_memory();
        self.spool.leave(gone);
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How an attempt ended.
enum Fate {
    Delivered {
        rejected: u64,
        why: Option<String>,
    },
    /// The receiver may take it later, after a pause that it may name.
    Later(String, Option<Duration>),
    Refused(String),
}

/// Sends what it is given, in order.
pub struct Sender {
    shared: Arc<Shared>,
    to: Arc<Destination>,
}

impl Sender {
    /// Begins with nothing to send.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(to: Destination) -> anyhow::Result<Self> {
        let (shared, to) = (Arc::new(Shared::default()), Arc::new(to));
        let sender = Self {
            shared: Arc::clone(&shared),
            to: Arc::clone(&to),
        };
        let thread = thread::Builder::new().name("push".to_owned());
        thread.spawn(move || work(&shared, &to))?;
        Ok(sender)
    }

    /// The receiver.
    pub fn destination(&self) -> &Destination {
        &self.to
    }

    /// Sends a request some time.
    pub fn send(&self, parcel: Parcel) {
        let mut state = self.shared.lock();
        let length = parcel.body.len() as u64;
        // Those on the disk come first, and a single one is always worth its memory.
        let has_room = state.bytes + length <= ROOM || state.waiting.is_empty();
        let waiting = match has_room {
            true => Ok(Waiting::memory(parcel)),
            false => state.spool.put(parcel),
        };
        match waiting {
            Ok(waiting) => {
                state.bytes += waiting.in_memory();
                state.waiting.push_back(Arc::new(waiting));
            }
            Err(error) => {
                state.dropped += 1;
                state.why = Some(format!("no room for what waits: {error}"));
            }
        }
        // What is on its way stays, and so does the newest.
        let first = usize::from(state.is_busy);
        while state.spool.is_full() && state.waiting.len() > first + 1 {
            if let Some(old) = state.waiting.remove(first) {
                state.leave(&old);
                state.dropped += 1;
            }
        }
        self.shared.changed.notify_all();
    }

    /// Waits until all is sent, no longer than patience lasts, and reports the result in one line. Returns true if the
    /// receiver has taken everything.
    pub fn finish(self) -> bool {
        let until = Instant::now() + self.to.patience;
        let mut state = self.shared.lock();
        state.is_last = true;
        state.is_urgent = true;
        self.shared.changed.notify_all();
        while !state.waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            // Without patience there is one attempt, which has a limit of its own.
            if left.is_zero() && (state.attempts_failed > 0 || !self.to.patience.is_zero()) {
                break;
            }
            let left = left.max(LOOK);
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        // The thread may still wait for an answer, and the folder is to go now.
        drop(std::mem::take(&mut state.spool));
        let undelivered = state.waiting.len() as u64;
        let lost = undelivered + state.dropped + state.refused;
        let all = lost + state.delivered;
        if lost == 0 && state.rejected == 0 {
            tell!(
                "hprof-rs: pushed {} ({}) to {}",
                plural(state.delivered, "request", "requests"),
                bytes(state.delivered_bytes),
                self.to.shown
            );
            return true;
        }
        let why = state
            .why
            .as_deref()
            .unwrap_or("the receiver gave no answer in time");
        if lost > 0 {
            tell!(
                "hprof-rs: not delivered to {}: {} of {} after {}: {}",
                self.to.shown,
                count(lost),
                plural(all, "request", "requests"),
                plural(state.attempts_failed, "failed attempt", "failed attempts"),
                printable(why)
            );
        } else {
            tell!(
                "hprof-rs: {} rejected {}: {}",
                self.to.shown,
                plural(state.rejected, "profile", "profiles"),
                printable(why)
            );
        }
        false
    }
}

/// Sends until the last.
fn work(shared: &Shared, to: &Destination) {
    let mut pause = FIRST_PAUSE;
    let mut state = shared.lock();
    loop {
        let Some(parcel) = state.waiting.front().map(Arc::clone) else {
            if state.is_last {
                return;
            }
            let waited = shared.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        state.is_busy = true;
        drop(state);
        let fate = attempt(to, &parcel);
        state = shared.lock();
        state.is_busy = false;
        match fate {
            Fate::Later(why, asked) => {
                state.attempts_failed += 1;
                state.why = Some(why);
                shared.changed.notify_all();
                let until = Instant::now() + asked.unwrap_or(pause).min(MAX_PAUSE);
                pause = (pause * 2).min(MAX_PAUSE);
                // Requests that come meanwhile wake this thread.
                loop {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    if state.is_urgent {
                        state.is_urgent = false;
                        pause = FIRST_PAUSE;
                        break;
                    }
                    let waited = shared.changed.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                continue;
            }
            Fate::Delivered { rejected, why } => {
                pause = FIRST_PAUSE;
                state.delivered += 1;
                state.delivered_bytes += parcel.length;
                state.rejected += rejected;
                state.why = why.or(state.why.take());
            }
            Fate::Refused(why) => {
                state.attempts_failed += 1;
                state.refused += 1;
                state.why = Some(why);
            }
        }
        state.waiting.pop_front();
        state.leave(&parcel);
        shared.changed.notify_all();
    }
}

fn attempt(to: &Destination, waiting: &Waiting) -> Fate {
    let parcel = &waiting.parcel;
    let spooled;
    let mut body = match waiting.body() {
        Ok(None) => &parcel.body[..],
        Ok(Some(read)) => {
            spooled = read;
            &spooled[..]
        }
        Err(error) => {
            return Fate::Refused(format!(
                "a request that waited on the disk is lost: {error}"
            ));
        }
    };
    let mut headers = vec![("content-type", parcel.content_type)];
    if let Some(encoding) = parcel.encoding {
        headers.push(("content-encoding", encoding));
    }
    let own = to.headers.iter();
    headers.extend(own.map(|(name, value)| (name.as_str(), value.as_str())));
    let length = body.len() as u64;
    let path = &parcel.path;
    match to
        .client
        .once("POST", path, &headers, Body::Bytes(&mut body, length))
    {
        Ok(answer) if (200..300).contains(&answer.status) => {
            let partly = hprof_foreign::otlp::rejected(answer.body());
            let (rejected, why) = partly.unwrap_or_default();
            Fate::Delivered {
                rejected,
                why: (!why.is_empty()).then_some(why),
            }
        }
        Ok(answer) => {
            let why = match answer.status {
                401 | 403 => format!(
                    "the receiver answers with status {}: check the credentials in the headers",
                    answer.status
                ),
                404 => "the receiver answers with status 404: check the path of the URL".to_owned(),
                status => format!("the receiver answers with status {status}"),
            };
            match answer.is_passing() {
                true => Fate::Later(why, answer.retry_after()),
                false => Fate::Refused(why),
            }
        }
        Err(error) => match crate::capture::lasting(&error) {
            Ok(()) => Fate::Later(format!("{error:#}"), None),
            Err(error) => Fate::Refused(format!("{error:#}")),
        },
    }
}
