//! The table into which each thread records, and how other threads read it.

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jni_sys::JNIEnv;
use parking_lot::Mutex;

use super::cache::{Cache, Entry};
use super::live::{Followed, Segment};
use super::sites::{Count, SiteTable};
use super::spare::{Spare, Words};
use crate::vm::{CodePlaces, StackFrame, WeakRef};

/// The action of a thread on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadMode {
    /// Counts it.
    Recording,
    /// Waits for one.
    Priming,
    /// One was there.
    Primed,
}

/// The table into which a thread records. Only the thread itself has it: it is neither `Send` nor
/// `Sync`.
pub(super) struct ThreadState {
    shared: Arc<Shared>,
    /// Its run.
    run: u32,
    /// The segment in `shared`.
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
    /// The thread's environment, once it had an event.
    pub(super) jni: Cell<*mut JNIEnv>,
    /// The class of the object whose event is to come, as the object has it; 0 for none.
    pub(super) class_word: Cell<u64>,
    /// The array that `java.lang.reflect.Array` has made last, until it is known whether that was for a copy.
    pub(super) reflected: Cell<Option<WeakRef>>,
    /// The code on its stack.
    pub(super) places: CodePlaces,
    random: Cell<u64>,
}

/// The part of a thread's table that dumps read.
struct Shared {
    /// Changed by its thread alone, in [`Threads::reshape`].
    cache: UnsafeCell<Cache>,
    /// References for its next objects. Only its thread uses them.
    spare: Cell<Words>,
    /// The cache is being changed, not just counted in.
    reshaping: AtomicBool,
    segment: Mutex<Arc<Segment>>,
    events: AtomicU64,
    /// Objects that were counted without one.
    without_event: AtomicU64,
    /// Stacks that were not known by their keys.
    taken: AtomicU64,
}

// SAFETY: `cache` is changed by its thread alone, and only while `Threads` lets no other thread read it. `spare` is
// used by its thread alone, and by `Threads::clear` when that is in no event. The rest is atomic or locked. Counters in
// a cache are atomics.
unsafe impl Sync for Shared {}

const FIRST_SEGMENT: usize = 1 << 6;
const SEGMENT: usize = 1 << 10;

impl ThreadState {
    fn new(run: u32) -> Rc<Self> {
        let segment = Segment::new(FIRST_SEGMENT);
        let open = Cell::new(Arc::as_ptr(&segment));
        let shared = Arc::new(Shared {
            cache: UnsafeCell::new(Cache::new()),
            spare: Cell::default(),
            reshaping: AtomicBool::new(false),
            segment: Mutex::new(segment),
            events: AtomicU64::new(0),
            without_event: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        });
        Rc::new(Self {
            // Any seed will do, if it is not 0 and another one in each thread.
            random: Cell::new(Arc::as_ptr(&shared) as u64 | 1),
            shared,
            run,
            open,
            mode: Cell::new(ThreadMode::Recording),
            inside: Cell::new(false),
            serial: Cell::new(0),
            virtual_serial: Cell::new(0),
            virtual_used: Cell::new(false),
            buffer: Cell::new(Vec::new()),
            jni: Cell::new(ptr::null_mut()),
            class_word: Cell::new(0),
            reflected: Cell::new(None),
            places: CodePlaces::default(),
        })
    }

    /// The cache.
    #[inline]
    pub(super) fn cache(&self) -> &Cache {
        // SAFETY: only this thread ever changes it, in `Threads::reshape`, whose caller
        // promises to have no such reference.
        unsafe { &*self.shared.cache.get() }
    }

    #[inline]
    fn open_segment(&self) -> &Segment {
        // SAFETY: `segment` keeps it alive, and only this thread replaces it, in
        // `replace_segment`, which no caller of ours is inside of.
        unsafe { &*self.open.get() }
    }

    /// Returns true if the segment has room for another object.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.open_segment().has_room()
    }

    /// Adds an object to the segment; false without room.
    #[inline]
    pub(super) fn push(&self, object: Followed) -> bool {
        self.open_segment().push(object)
    }

    /// Replaces the segment by an empty one. The old one is given to `hand_over`
    /// first, so that at no time it is nowhere.
    pub(super) fn replace_segment(&self, hand_over: impl FnOnce(Arc<Segment>)) {
        let next = Segment::new(SEGMENT);
        let mut segment = self.shared.segment.lock();
        hand_over(Arc::clone(&segment));
        self.open.set(Arc::as_ptr(&next));
        *segment = next;
    }

    /// A reference for a new object, from those that `spare` has.
    #[inline]
    pub(super) fn spare_reference(&self, spare: &Spare) -> Option<WeakRef> {
        let mut words = self.shared.spare.get();
        let weak = words.take().or_else(|| {
            words = spare.take();
            words.take()
        });
        self.shared.spare.set(words);
        weak
    }

    /// Counts an event.
    #[inline]
    pub(super) fn count_event(&self) {
        let events = self.shared.events.load(Ordering::Relaxed);
        self.shared.events.store(events + 1, Ordering::Relaxed);
    }

    /// Counts an object that has no event.
    #[inline]
    pub(super) fn count_without_event(&self) {
        let counter = &self.shared.without_event;
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts a stack that was not known by its key.
    #[inline]
    pub(super) fn count_taken(&self) {
        let taken = self.shared.taken.load(Ordering::Relaxed);
        self.shared.taken.store(taken + 1, Ordering::Relaxed);
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
    /// Null until the thread has a state, [`IGNORED`], or an `Rc` as a pointer. It has no
    /// destructor: the VM may allocate after those of the thread have run.
    static CURRENT: Cell<*const ThreadState> = const { Cell::new(ptr::null()) };
    /// The run in which the thread has ended, and 1; 0 for none. A thread of the system can be one of the VM
    /// several times.
    static ENDED: Cell<u32> = const { Cell::new(0) };
}

/// The value for the agent's own threads.
const IGNORED: *const ThreadState = ptr::without_provenance(align_of::<ThreadState>());

/// All threads that have recorded something.
pub(super) struct Threads {
    states: Mutex<HashMap<usize, Arc<Shared>>>,
    /// The number of the run. States of another are empty.
    run: AtomicU32,
    /// Caches may only be counted in.
    frozen: AtomicBool,
    ended_events: AtomicU64,
    ended_without_event: AtomicU64,
    ended_taken: AtomicU64,
}

/// A number that no run of this process has had.
fn next_run() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            states: Mutex::default(),
            run: AtomicU32::new(next_run()),
            frozen: AtomicBool::new(false),
            ended_events: AtomicU64::new(0),
            ended_without_event: AtomicU64::new(0),
            ended_taken: AtomicU64::new(0),
        }
    }
}

/// How long a dump waits for a thread that is changing its cache. That takes less than a
/// millisecond; it can only last longer when the thread does not run.
const PATIENCE: Duration = Duration::from_secs(5);

impl Threads {
    /// The state of the current thread, made at its first event; `None` for the
    /// agent's own threads, and for one that has ended: it may still allocate in other agents' callbacks, but its state
    /// would outlive what the VM knows of it.
    #[inline]
    pub(super) fn current(&self) -> Option<Rc<ThreadState>> {
        let current = CURRENT.get();
        if current == IGNORED {
            return None;
        }
        if current.is_null() {
            let has_ended = ENDED.get() == self.ended_now();
            return (!has_ended).then(|| self.add_current());
        }
        // SAFETY: the pointer came from `Rc::into_raw` on this very thread, and counts as
        // one of the references until `end_current` takes it back.
        let state = unsafe {
            Rc::increment_strong_count(current);
            Rc::from_raw(current)
        };
        if state.run == self.run.load(Ordering::Relaxed) {
            return Some(state);
        }
        drop(Self::take_current(ptr::null()));
        Some(self.add_current())
    }

    /// Hands the current thread's state to `body`, if it has had an event.
    #[inline]
    pub(super) fn with_known<T>(&self, body: impl FnOnce(&ThreadState) -> T) -> Option<T> {
        let current = CURRENT.get();
        if current.is_null() || current == IGNORED {
            return None;
        }
        // SAFETY: the pointer came from `Rc::into_raw` on this very thread, and counts as one of the references until
        // `end_current` takes it back, which `body` does not call.
        let state = unsafe { &*current };
        (state.run == self.run.load(Ordering::Relaxed)).then(|| body(state))
    }

    #[cold]
    fn add_current(&self) -> Rc<ThreadState> {
        let mut states = self.states.lock();
        let state = ThreadState::new(self.run.load(Ordering::Relaxed));
        let shared = Arc::clone(&state.shared);
        states.insert(Arc::as_ptr(&shared).addr(), shared);
        drop(states);
        CURRENT.set(Rc::into_raw(Rc::clone(&state)));
        state
    }

    /// The value of [`ENDED`] for this run.
    fn ended_now(&self) -> u32 {
        self.run.load(Ordering::Relaxed).wrapping_add(1)
    }

    /// The current thread starts, possibly again.
    pub(super) fn start_current(&self) {
        ENDED.set(0);
    }

    /// Takes the state from the current thread, if it has one.
    fn take_current(next: *const ThreadState) -> Option<Rc<ThreadState>> {
        let current = CURRENT.replace(next);
        let has_state = !current.is_null() && current != IGNORED;
        // SAFETY: as in `current`; nothing has the pointer any more.
        has_state.then(|| unsafe { Rc::from_raw(current) })
    }

    /// Lets the current thread, one of the agent's own, record nothing.
    pub(super) fn ignore_current(&self) {
        drop(Self::take_current(IGNORED));
    }

    /// The current thread ends: its counts go to `sites`, its segment to
    /// `hand_over`. Returns the references it has left.
    pub(super) fn end_current(
        &self,
        sites: &SiteTable,
        hand_over: impl FnOnce(Arc<Segment>),
    ) -> Words {
        ENDED.set(self.ended_now());
        let Some(state) = Self::take_current(ptr::null()) else {
            return Words::default();
        };
        let mut states = self.states.lock();
        let Some(shared) = states.remove(&Arc::as_ptr(&state.shared).addr()) else {
            return Words::default();
        };
        for (site, count) in state.cache().counts() {
            sites.add(site, count);
        }
        let events = shared.events.load(Ordering::Relaxed);
        self.ended_events.fetch_add(events, Ordering::Relaxed);
        let without = shared.without_event.load(Ordering::Relaxed);
        self.ended_without_event
            .fetch_add(without, Ordering::Relaxed);
        let taken = shared.taken.load(Ordering::Relaxed);
        self.ended_taken.fetch_add(taken, Ordering::Relaxed);
        hand_over(Arc::clone(&shared.segment.lock()));
        shared.spare.take()
    }

    /// Empties the states of all threads; each gets a new one at its next event. Returns the segments that they were
    /// filling, and the references that they had left.
    ///
    /// # Safety
    /// No thread is inside of an event, or comes into one, before this returns.
    pub(super) unsafe fn clear(&self) -> (Vec<Arc<Segment>>, Vec<Words>) {
        let mut states = self.states.lock();
        self.run.store(next_run(), Ordering::Relaxed);
        self.ended_events.store(0, Ordering::Relaxed);
        self.ended_without_event.store(0, Ordering::Relaxed);
        self.ended_taken.store(0, Ordering::Relaxed);
        let left = states.drain().map(|(_, shared)| {
            // SAFETY: its thread is in no event, by the caller's promise, and a thread that ends reads its cache under the
            // lock that is held here, and only if it has a place in the table.
            unsafe { *shared.cache.get() = Cache::none() };
            let segment = std::mem::replace(&mut *shared.segment.lock(), Segment::new(0));
            (segment, shared.spare.take())
        });
        left.unzip()
    }

    /// Changes the cache of the current thread, `state`, unless a dump is reading
    /// it. Returns what became of `change`.
    ///
    /// # Safety
    /// The caller has no reference into the cache, and `change` gets none but its own.
    pub(super) unsafe fn reshape<'a>(
        &self,
        state: &'a ThreadState,
        change: impl FnOnce(&mut Cache) -> Option<&Entry>,
    ) -> Option<&'a Entry> {
        let shared = &*state.shared;
        shared.reshaping.store(true, Ordering::SeqCst);
        if self.frozen.load(Ordering::SeqCst) {
            shared.reshaping.store(false, Ordering::Release);
            return None;
        }
        // SAFETY: this thread is the only one to change the cache, and the caller is not
        // using it; readers set `frozen` first and wait for `reshaping` to be
        // false, and one of the two sequentially consistent pairs sees the other.
        let entry = change(unsafe { &mut *shared.cache.get() }).map(|entry| &raw const *entry);
        shared.reshaping.store(false, Ordering::Release);
        // SAFETY: the entry lies in the cache, which changes only here.
        entry.map(|entry| unsafe { &*entry })
    }

    /// The counts of all sites by their numbers, those in caches included.
    pub(super) fn totals(&self, sites: &SiteTable) -> Totals {
        // A thread that ends now waits, so that its counts are not missed.
        let states = self.states.lock();
        self.frozen.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + PATIENCE;
        let is_stuck = |state: &Shared| {
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
        let sum = |counter: fn(&Shared) -> &AtomicU64| -> u64 {
            let counters = states.values().map(|state| counter(state));
            counters.map(|it| it.load(Ordering::Relaxed)).sum()
        };
        Totals {
            rows,
            events: sum(|state| &state.events) + self.ended_events.load(Ordering::Relaxed),
            without_event: sum(|state| &state.without_event)
                + self.ended_without_event.load(Ordering::Relaxed),
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

/// The result of [`Threads::totals`].
pub(super) struct Totals {
    /// By the numbers of the sites.
    pub(super) rows: Vec<Count>,
    /// Events handled.
    pub(super) events: u64,
    /// Objects counted without an event.
    pub(super) without_event: u64,
    /// Stacks that were not known by their keys.
    pub(super) taken: u64,
    /// Caches that could not be read.
    pub(super) unread: usize,
    /// Bytes that the caches take.
    pub(super) cache_bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant that is true if a type may be shared: the constant of the type itself, if it is `Sync`, comes
    /// before that of the trait.
    mod shared {
        use std::marker::PhantomData;

        pub(super) struct Type<T>(PhantomData<T>);
        pub(super) trait Any {
            const IS_SYNC: bool = false;
        }
        impl<T> Any for Type<T> {}
        impl<T: Sync> Type<T> {
            pub(super) const IS_SYNC: bool = true;
        }
    }

    /// Cells in what other threads can reach would be a race.
    #[test]
    fn no_other_thread_reaches_the_cells() {
        use shared::{Any as _, Type};
        const { assert!(!Type::<ThreadState>::IS_SYNC) }
        const { assert!(Type::<Threads>::IS_SYNC) }
    }

    #[test]
    fn a_thread_that_ended_begins_anew() {
        let (threads, sites) = (Threads::default(), SiteTable::new());
        let first = threads.current().unwrap();
        first.serial.set(7);
        assert_eq!(threads.current().unwrap().serial.get(), 7);
        let mut handed_over = 0;
        threads.end_current(&sites, |_| handed_over += 1);
        threads.end_current(&sites, |_| handed_over += 1);
        assert_eq!((handed_over, threads.open_segments().len()), (1, 0));
        assert_eq!(first.serial.get(), 7, "who still has it may use it");
        assert!(threads.current().is_none(), "it has ended");
        assert!(Threads::default().current().is_some(), "in that run only");
        threads.start_current();
        assert_eq!(threads.current().unwrap().serial.get(), 0);
        assert_eq!(threads.open_segments().len(), 1);
        threads.ignore_current();
        assert!(threads.current().is_none());
    }
}
