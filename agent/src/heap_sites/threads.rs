//! What each thread records into, and how others read it.

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::cache::{Cache, Entry};
use super::live::Segment;
use super::sites::{Count, SiteTable};
use crate::vm::StackFrame;

/// What a thread does with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadMode {
    /// Counts it.
    Recording,
    /// Waits for one.
    Priming,
    /// One was there.
    Primed,
}

/// A thread's own memory. Except for what is atomic or locked, only the thread
/// itself touches it.
pub(super) struct ThreadState {
    cache: UnsafeCell<Cache>,
    /// The cache is being changed, not just counted in.
    reshaping: AtomicBool,
    /// Shared so that a dump finds it.
    segment: Mutex<Arc<Segment>>,
    open: Cell<*const Segment>,
    pub(super) mode: Cell<ThreadMode>,
    /// An event is being handled.
    pub(super) inside: Cell<bool>,
    /// Serial of the thread, 0 when it is not known.
    pub(super) serial: Cell<u32>,
    /// Serial of the virtual thread it runs, 0 for none.
    pub(super) virtual_serial: Cell<u32>,
    /// The virtual thread has allocated.
    pub(super) virtual_used: Cell<bool>,
    pub(super) buffer: Cell<Vec<StackFrame>>,
    random: Cell<u64>,
    events: AtomicU64,
    /// Stacks that were not known by their keys.
    taken: AtomicU64,
}

// SAFETY: `cache` is changed by its thread alone, and only while `Threads` lets
// nobody read it; the cells are touched by its thread alone.
unsafe impl Send for ThreadState {}
// SAFETY: as above.
unsafe impl Sync for ThreadState {}

const FIRST_SEGMENT: usize = 1 << 6;
const SEGMENT: usize = 1 << 10;

impl ThreadState {
    fn new() -> Arc<Self> {
        let segment = Segment::new(FIRST_SEGMENT);
        let state = Arc::new(Self {
            cache: UnsafeCell::new(Cache::new()),
            reshaping: AtomicBool::new(false),
            open: Cell::new(Arc::as_ptr(&segment)),
            segment: Mutex::new(segment),
            mode: Cell::new(ThreadMode::Recording),
            inside: Cell::new(false),
            serial: Cell::new(0),
            virtual_serial: Cell::new(0),
            virtual_used: Cell::new(false),
            buffer: Cell::new(Vec::new()),
            random: Cell::new(0),
            events: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        });
        // Any seed will do, if it is not 0 and another one in each thread.
        state.random.set(Arc::as_ptr(&state) as u64 | 1);
        state
    }

    /// The cache, for the thread itself.
    #[inline]
    pub(super) fn cache(&self) -> &Cache {
        // SAFETY: only this thread ever changes it, in `Threads::reshape`, which
        // no caller of ours is inside of.
        unsafe { &*self.cache.get() }
    }

    /// The segment to add to, for the thread itself.
    #[inline]
    pub(super) fn open_segment(&self) -> &Segment {
        // SAFETY: `segment` keeps it alive, and only this thread replaces it.
        unsafe { &*self.open.get() }
    }

    /// Replaces the segment by an empty one and returns it. The old one is shown
    /// to `hand_over` first, so that at no time it is nowhere.
    pub(super) fn replace_segment(&self, hand_over: impl FnOnce(Arc<Segment>)) {
        let next = Segment::new(SEGMENT);
        let mut segment = self.segment.lock();
        hand_over(Arc::clone(&segment));
        self.open.set(Arc::as_ptr(&next));
        *segment = next;
    }

    /// Counts an event.
    #[inline]
    pub(super) fn count_event(&self) {
        let events = self.events.load(Ordering::Relaxed);
        self.events.store(events + 1, Ordering::Relaxed);
    }

    /// Counts a stack that was not known by its key.
    #[inline]
    pub(super) fn count_taken(&self) {
        let taken = self.taken.load(Ordering::Relaxed);
        self.taken.store(taken + 1, Ordering::Relaxed);
    }

    /// True once in 2^shift calls, at random (xorshift, Marsaglia 2003).
    #[inline]
    pub(super) fn one_in(&self, shift: u8) -> bool {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        // The high bits of a xorshift are the better ones.
        (x >> 16) & ((1 << shift.min(40)) - 1) == 0
    }
}

thread_local! {
    /// 0 until the thread has a state, `IGNORED`, or its address.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

const IGNORED: usize = 1;

/// All threads that have recorded something.
#[derive(Default)]
pub(super) struct Threads {
    states: Mutex<HashMap<usize, Arc<ThreadState>>>,
    /// Caches may only be counted in.
    frozen: AtomicBool,
    ended_events: AtomicU64,
    ended_taken: AtomicU64,
}

/// How long a dump waits for a thread that is changing its cache. That takes less than a
/// millisecond; it can only last longer when the thread does not run.
const PATIENCE: Duration = Duration::from_secs(5);

impl Threads {
    /// The state of the current thread, made at its first event; `None` for the
    /// agent's own threads.
    #[inline]
    pub(super) fn current(&self) -> Option<&ThreadState> {
        let address = CURRENT.get();
        if address > IGNORED {
            // SAFETY: the address was taken from an Arc that stays in `states`
            // until `end_current` on this very thread, which clears `CURRENT`.
            return Some(unsafe { &*(address as *const ThreadState) });
        }
        if address == IGNORED {
            return None;
        }
        let state = ThreadState::new();
        let address = Arc::as_ptr(&state) as usize;
        self.states.lock().insert(address, state);
        CURRENT.set(address);
        self.current()
    }

    /// Lets the current thread, one of the agent's own, record nothing.
    pub(super) fn ignore_current(&self) {
        CURRENT.set(IGNORED);
    }

    /// The current thread ends: its counts go to `sites`, its segment to
    /// `hand_over`.
    pub(super) fn end_current(&self, sites: &SiteTable, hand_over: impl FnOnce(Arc<Segment>)) {
        let address = CURRENT.replace(0);
        if address <= IGNORED {
            return;
        }
        let mut states = self.states.lock();
        let Some(state) = states.remove(&address) else {
            return;
        };
        for (site, count) in state.cache().counts() {
            sites.add(site, count);
        }
        let events = state.events.load(Ordering::Relaxed);
        self.ended_events.fetch_add(events, Ordering::Relaxed);
        let taken = state.taken.load(Ordering::Relaxed);
        self.ended_taken.fetch_add(taken, Ordering::Relaxed);
        hand_over(Arc::clone(&state.segment.lock()));
    }

    /// Changes the cache of the current thread, `state`, unless a dump is reading
    /// it. Returns what became of `change`.
    pub(super) fn reshape<'a>(
        &self,
        state: &'a ThreadState,
        change: impl FnOnce(&mut Cache) -> Option<&Entry>,
    ) -> Option<&'a Entry> {
        state.reshaping.store(true, Ordering::SeqCst);
        if self.frozen.load(Ordering::SeqCst) {
            state.reshaping.store(false, Ordering::Release);
            return None;
        }
        // SAFETY: this thread is the only one to change the cache, and is not
        // using it; readers set `frozen` first and wait for `reshaping` to be
        // false, and one of the two sequentially consistent pairs sees the other.
        let entry = change(unsafe { &mut *state.cache.get() }).map(|entry| &raw const *entry);
        state.reshaping.store(false, Ordering::Release);
        // SAFETY: the entry lies in the cache, which changes only here.
        entry.map(|entry| unsafe { &*entry })
    }

    /// The counts of all sites by their numbers, those in caches included.
    pub(super) fn totals(&self, sites: &SiteTable) -> Totals {
        // A thread that ends now waits, so that its counts are not missed.
        let states = self.states.lock();
        self.frozen.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + PATIENCE;
        let is_stuck = |state: &ThreadState| {
            while state.reshaping.load(Ordering::SeqCst) {
                if Instant::now() >= deadline {
                    return true;
                }
                std::thread::yield_now();
            }
            false
        };
        let readable: Vec<_> = states.values().filter(|state| !is_stuck(state)).collect();
        // What threads moved from their caches to the table is there by now.
        let mut rows: Vec<Count> = sites.rows().iter().map(|&(_, _, count)| count).collect();
        let mut cache_bytes = 0;
        for state in &readable {
            // SAFETY: frozen, and the owner was seen outside of `reshape`.
            let cache = unsafe { &*state.cache.get() };
            cache_bytes += cache.bytes();
            for (site, count) in cache.counts() {
                let row = site.0 as usize;
                if rows.len() <= row {
                    rows.resize(row + 1, Count::default());
                }
                if let Some(row) = rows.get_mut(row) {
                    *row += count;
                }
            }
        }
        let unread = states.len() - readable.len();
        self.frozen.store(false, Ordering::SeqCst);
        let sum = |counter: fn(&ThreadState) -> &AtomicU64| -> u64 {
            let counters = states.values().map(|state| counter(state));
            counters.map(|it| it.load(Ordering::Relaxed)).sum()
        };
        Totals {
            rows,
            events: sum(|state| &state.events) + self.ended_events.load(Ordering::Relaxed),
            taken: sum(|state| &state.taken) + self.ended_taken.load(Ordering::Relaxed),
            unread,
            cache_bytes,
        }
    }

    /// The segments that threads are filling.
    pub(super) fn open_segments(&self) -> Vec<Arc<Segment>> {
        let states = self.states.lock();
        states
            .values()
            .map(|state| Arc::clone(&state.segment.lock()))
            .collect()
    }
}

/// What [`Threads::totals`] reads.
pub(super) struct Totals {
    /// By the numbers of the sites.
    pub(super) rows: Vec<Count>,
    /// Events handled.
    pub(super) events: u64,
    /// Stacks that were not known by their keys.
    pub(super) taken: u64,
    /// Caches that could not be read.
    pub(super) unread: usize,
    /// Bytes that the caches take.
    pub(super) cache_bytes: usize,
}
