//! The memory that the hooks of slow= read and write: records of threads, and blocks of methods.
//!
//! Its layout is that of `HprofSlow.java` in `agent/hooks/`, whose class file has the two addresses. It is made once in a
//! process and stays: a method that was running when a run ended still ends its call.

use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hprof_stacks::slow::{COUNTERS, Histogram};

const RECORD: usize = 512;
const RECORDS_LOG: u32 = 17;
/// The records in which that of a thread may be, from the first on.
const PLACES: usize = 8;
/// Records of all threads, further places behind the last first one, and one record of no thread.
const RECORDS: usize = (1 << RECORDS_LOG) + PLACES + 1;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

const USED: usize = 8;
const LAST_WALL: usize = 16;
const MORE_CPU: usize = 32;
const TRACE_HIGH: usize = 40;
const TRACE_LOW: usize = 48;
const SPAN: usize = 56;
const SET: usize = 64;
const CALLS: usize = 72;
const CALL: usize = 24;
const BEGAN: usize = 8;

const THRESHOLD: usize = 0;
const FLOOR: usize = 8;
const RECURSIVE: usize = 16;
const LOST: usize = 24;
const SKIPPED: usize = 32;
const NUMBER: usize = 40;
const SLOW: usize = 48;
const IS_SPAN: usize = 56;
const MOVED: usize = 64;
const STRIPES: usize = 128;
const STRIPE_COUNT: usize = 4;
const WALL_SUM: usize = 0;
const CPU_SUM: usize = 8;
const STRIPE_COUNTERS: usize = 64;
const STRIPE: usize = STRIPE_COUNTERS + COUNTERS * 8;
const BLOCK: usize = STRIPES + STRIPE_COUNT * STRIPE;

/// Methods at most, in all runs of a process.
pub(super) const MAX_METHODS: usize = 1000;
/// Behind the blocks of methods: the number of the run that times calls.
const RUN: usize = MAX_METHODS * 8;
/// A threshold that no call reaches.
pub(super) const NO_THRESHOLD: u64 = i64::MAX as u64;

/// Memory that is mapped for ever and used as words.
#[derive(Clone, Copy)]
struct Words {
    start: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the words are atomic, and never unmapped.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// Pages of zeros; `None` when there are none.
    fn map(bytes: usize) -> Option<Self> {
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        // Few pages of it are used. No harm if it fails.
        // SAFETY: the range was just mapped.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        let start = NonNull::new(start.cast::<AtomicU64>())?;
        Some(Self { start, bytes })
    }

    fn address(self) -> usize {
        self.start.as_ptr().expose_provenance()
    }

    /// The word at a distance in bytes from the start; the first where there is none.
    fn at(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset + 8 <= self.bytes && offset.is_multiple_of(8));
        let offset = match offset + 8 <= self.bytes {
            true => offset / 8,
            false => 0,
        };
        // SAFETY: a word of the mapping, which stays.
        unsafe { self.start.add(offset).as_ref() }
    }

    fn get(&self, offset: usize) -> u64 {
        self.at(offset).load(Ordering::Relaxed)
    }

    fn set(&self, offset: usize, value: u64) {
        self.at(offset).store(value, Ordering::Relaxed);
    }
}

/// The counters of a method.
#[derive(Clone, Copy)]
pub(super) struct Block(Words);

/// The sums of a method's counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) times: Histogram,
    pub(super) wall: u64,
    pub(super) cpu: u64,
    pub(super) recursive: u64,
    pub(super) lost: u64,
    pub(super) slow: u64,
    pub(super) moved: u64,
}

impl Block {
    /// The block of the method of this number, or of spans of a name.
    pub(super) fn new(number: u32, is_span: bool) -> Option<Self> {
        let block = Self(Words::map(BLOCK)?);
        block.0.set(NUMBER, number.into());
        block.0.set(IS_SPAN, is_span.into());
        block.0.set(THRESHOLD, NO_THRESHOLD);
        Some(block)
    }

    pub(super) fn address(self) -> u64 {
        self.0.address() as u64
    }

    /// Calls that take as many nanoseconds are slow from now on.
    pub(super) fn set_threshold(self, nanos: u64) {
        self.0.set(THRESHOLD, nanos.min(NO_THRESHOLD));
    }

    pub(super) fn threshold(self) -> Option<u64> {
        let threshold = self.0.get(THRESHOLD);
        (threshold < NO_THRESHOLD).then_some(threshold)
    }

    /// Longer calls are passed to the agent.
    pub(super) fn set_floor(self, nanos: u64) {
        self.0.set(FLOOR, nanos);
    }

    /// One call in 2^`bits` is timed from now on.
    pub(super) fn skip(self, bits: u32) {
        self.0.set(SKIPPED, (1 << bits) - 1);
    }

    pub(super) fn count_slow(self) {
        self.0.at(SLOW).fetch_add(1, Ordering::Relaxed);
    }

    /// The counters. No call has taken longer than `longest`.
    pub(super) fn sums(self, longest: u64) -> Sums {
        let last = Histogram::counter(longest) as usize;
        let stripes = (0..STRIPE_COUNT).map(|stripe| STRIPES + stripe * STRIPE);
        let sum = |at: usize| stripes.clone().map(|stripe| self.0.get(stripe + at)).sum();
        let counters = (0..=last).map(|counter| {
            let count = sum(STRIPE_COUNTERS + counter * 8);
            (counter as u32, count)
        });
        Sums {
            times: Histogram::new(counters),
            wall: sum(WALL_SUM),
            cpu: sum(CPU_SUM),
            recursive: self.0.get(RECURSIVE),
            lost: self.0.get(LOST),
            slow: self.0.get(SLOW),
            moved: self.0.get(MOVED),
        }
    }

    /// Sets all counters to zero.
    pub(super) fn reset(self) {
        for word in [FLOOR, RECURSIVE, LOST, SLOW, MOVED] {
            self.0.set(word, 0);
        }
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).unwrap_or(1 << 16).min(BLOCK);
        // The first page has the number of the method, which hooks still read.
        let rest = self.0.address() + page;
        let rest = ptr::with_exposed_provenance_mut::<libc::c_void>(rest);
        // SAFETY: whole pages of the mapping, which read as zero from now on.
        let is_given_back = unsafe { libc::madvise(rest, BLOCK - page, libc::MADV_DONTNEED) } == 0;
        let end = match is_given_back {
            true => page,
            false => BLOCK,
        };
        for word in (STRIPES..end).step_by(8) {
            self.0.set(word, 0);
        }
    }
}

/// A call that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunningCall {
    /// The id of its thread.
    pub(super) tid: u64,
    /// The address of the block of its method.
    pub(super) block: u64,
    /// When it began, in nanoseconds of the monotonic clock.
    pub(super) began: u64,
}

/// The request that a thread works for, as the program names it: the ids of its trace and span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceContext {
    trace: u128,
    span: u64,
}

impl TraceContext {
    /// The ids as the headers of W3C have them.
    pub(super) fn ids(self) -> (String, String) {
        (
            format!("{:032x}", self.trace),
            format!("{:016x}", self.span),
        )
    }
}

/// The records of threads, and the table of methods.
pub(super) struct Memory {
    records: Words,
    methods: Words,
    /// A bit for each record that a thread has had.
    taken: Vec<AtomicU64>,
}

impl Memory {
    /// The memory of this process; `None` when the system gives none.
    pub(super) fn the() -> Option<&'static Self> {
        static MEMORY: OnceLock<Option<Memory>> = OnceLock::new();
        MEMORY.get_or_init(Self::new).as_ref()
    }

    fn new() -> Option<Self> {
        Some(Self {
            records: Words::map(RECORDS * RECORD)?,
            methods: Words::map(RUN + 8)?,
            taken: (0..RECORDS.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        })
    }

    /// Where the records are, for the class file.
    pub(super) fn records_address(&self) -> u64 {
        self.records.address() as u64
    }

    /// Where the table of methods is, for the class file.
    pub(super) fn methods_address(&self) -> u64 {
        self.methods.address() as u64
    }

    /// Calls of the method of this number are timed in `block`, or not any more.
    pub(super) fn set_block(&self, number: u32, block: Option<Block>) {
        let address = block.map_or(0, Block::address);
        let word = self.methods.at(number as usize * 8);
        word.store(address, Ordering::Release);
    }

    /// Spans and requests are asked for from now on, by the run of this number, or, by 0, not any more.
    pub(super) fn set_run(&self, run: u32) {
        self.methods.at(RUN).store(run.into(), Ordering::Release);
    }

    /// The request that a thread works for, or has worked for since `began` of the monotonic clock.
    pub(super) fn context(&self, tid: u64, began: i64) -> Option<TraceContext> {
        let record = self.find(tid)?;
        let word = |at: usize| self.records.get(record + at);
        let set = word(SET);
        let is_of_then = set & 1 != 0 || (set != 0 && set.cast_signed() >= began);
        is_of_then.then(|| TraceContext {
            trace: u128::from(word(TRACE_HIGH)) << 64 | u128::from(word(TRACE_LOW)),
            span: word(SPAN),
        })
    }

    /// The number of the method whose block is at this address, by what hooks say.
    ///
    /// # Safety
    /// It is the address of a block.
    pub(super) unsafe fn number_of(block: u64) -> u32 {
        let word = ptr::with_exposed_provenance::<AtomicU64>(block as usize + NUMBER);
        // SAFETY: a word of a block, by the caller's promise; blocks stay.
        unsafe { (*word).load(Ordering::Relaxed) as u32 }
    }

    /// The distance from the start of the first record that may be that of a thread.
    fn first(tid: u64) -> usize {
        (tid.wrapping_mul(SPREAD) >> (64 - RECORDS_LOG)) as usize * RECORD
    }

    /// The record of a thread, by its distance from the start.
    fn find(&self, tid: u64) -> Option<usize> {
        let first = Self::first(tid);
        let mut places = (0..PLACES).map(|place| first + place * RECORD);
        places.find(|&record| self.records.get(record) == tid)
    }

    /// Gives a thread, the current one, a record. Returns its address, or 0 if all are taken in which that may be.
    pub(super) fn claim(&self, tid: u64) -> u64 {
        let first = Self::first(tid);
        for record in (0..PLACES).map(|place| first + place * RECORD) {
            let word = self.records.at(record);
            let is_free = word.load(Ordering::Relaxed) == 0;
            if is_free
                && word
                    .compare_exchange(0, tid, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                for word in [USED, LAST_WALL, MORE_CPU, SET] {
                    self.records.set(record + word, 0);
                }
                let index = record / RECORD;
                if let Some(bits) = self.taken.get(index / 64) {
                    bits.fetch_or(1 << (index % 64), Ordering::Relaxed);
                }
                return (self.records.address() + record) as u64;
            }
        }
        0
    }

    /// A thread, the current one, ends.
    pub(super) fn end(&self, tid: u64) {
        if let Some(record) = self.find(tid) {
            self.release(record);
        }
    }

    fn release(&self, record: usize) {
        self.records.set(record + USED, 0);
        self.records.at(record).store(0, Ordering::Release);
    }

    /// A virtual thread leaves its carrier, which is the current thread and has used `cpu` nanoseconds.
    pub(super) fn unmount(&self, tid: u64, cpu: impl FnOnce() -> u64) {
        let Some(record) = self.find(tid) else {
            return;
        };
        if self.records.get(record + USED) == 0 {
            // There may be a million of them.
            self.release(record);
            return;
        }
        let more = self.records.get(record + MORE_CPU);
        self.records
            .set(record + MORE_CPU, more.wrapping_add(cpu()));
        self.records.set(record + LAST_WALL, 0);
    }

    /// A virtual thread runs on a carrier, which is the current thread and has used `cpu` nanoseconds.
    pub(super) fn mount(&self, tid: u64, cpu: impl FnOnce() -> u64) {
        let Some(record) = self.find(tid) else {
            return;
        };
        let more = self.records.get(record + MORE_CPU);
        self.records
            .set(record + MORE_CPU, more.wrapping_sub(cpu()));
        self.records.set(record + LAST_WALL, 0);
    }

    fn each_taken(&self, mut body: impl FnMut(usize)) {
        for (word, bits) in self.taken.iter().enumerate() {
            let mut bits = bits.load(Ordering::Relaxed);
            while bits != 0 {
                let index = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.records.get(index * RECORD) != 0 {
                    body(index * RECORD);
                }
            }
        }
    }

    fn calls(&self, record: usize) -> impl Iterator<Item = usize> + use<> {
        let most = (RECORD - CALLS) / CALL;
        let used = self.records.get(record + USED) as usize / CALL;
        (0..used.min(most)).map(move |call| record + CALLS + call * CALL)
    }

    /// The calls that have not ended.
    pub(super) fn running(&self) -> Vec<RunningCall> {
        let mut running = Vec::new();
        self.each_taken(|record| {
            let tid = self.records.get(record);
            for call in self.calls(record) {
                let block = self.records.get(call);
                if block != 0 {
                    let began = self.records.get(call + BEGAN);
                    running.push(RunningCall { tid, block, began });
                }
            }
        });
        running
    }

    /// Calls that began before a run count for none. Nothing is timed meanwhile.
    pub(super) fn forget_running(&self) {
        self.each_taken(|record| {
            for call in self.calls(record) {
                self.records.set(call, 0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(memory: &Memory, tid: u64) -> usize {
        (memory.claim(tid) - memory.records_address()) as usize
    }

    #[test]
    fn a_thread_has_one_record_until_its_end() {
        let memory = Memory::new().unwrap();
        let record = own(&memory, 77);
        assert_eq!(record % RECORD, 0);
        assert_eq!(memory.find(77), Some(record));
        memory.end(77);
        assert_eq!(memory.find(77), None);
        // Threads of one first place.
        let same: Vec<u64> = (1u64..)
            .filter(|tid| Memory::first(*tid) == Memory::first(77))
            .take(PLACES + 1)
            .collect();
        let claimed: Vec<_> = same.iter().map(|tid| memory.claim(*tid)).collect();
        assert!(claimed[..PLACES].iter().all(|address| *address != 0));
        assert_eq!(claimed[PLACES], 0, "there is no room");
    }

    #[test]
    fn a_call_has_the_request_that_its_thread_has_worked_for() {
        let memory = Memory::new().unwrap();
        assert_eq!(memory.context(5, 0), None);
        let record = own(&memory, 5);
        assert_eq!(memory.context(5, 0), None, "none was set");
        for (word, value) in [(TRACE_HIGH, 0x4bf9), (TRACE_LOW, 7), (SPAN, 9), (SET, 101)] {
            memory.records.set(record + word, value);
        }
        let ids = || memory.context(5, 200).map(TraceContext::ids);
        let expected = (
            "0000000000004bf90000000000000007".to_owned(),
            "0000000000000009".to_owned(),
        );
        assert_eq!(ids(), Some(expected.clone()), "it still does");
        memory.records.set(record + SET, 150);
        assert_eq!(ids(), None, "it no longer did when the call began");
        memory.records.set(record + SET, 250);
        assert_eq!(ids(), Some(expected));
        memory.end(5);
        own(&memory, 5);
        assert_eq!(ids(), None, "another thread has no request");
    }

    #[test]
    fn the_cpu_time_of_a_virtual_thread_goes_with_it() {
        let memory = Memory::new().unwrap();
        let record = own(&memory, 5);
        memory.records.set(record + USED, CALL as u64);
        let more = || memory.records.get(record + MORE_CPU) as i64;
        memory.unmount(5, || 1_000);
        memory.mount(5, || 300);
        // At 300 of the new carrier it has used the 1,000 that it had.
        assert_eq!(more() + 300, 1_000);
        memory.records.set(record + USED, 0);
        memory.unmount(5, || 400);
        assert_eq!(memory.find(5), None, "it is in no call");
    }

    #[test]
    fn calls_in_progress_are_seen_and_forgotten() {
        let memory = Memory::new().unwrap();
        let record = own(&memory, 5);
        memory.records.set(record + CALLS, 4096);
        memory.records.set(record + CALLS + BEGAN, 9);
        memory.records.set(record + USED, CALL as u64);
        let call = RunningCall {
            tid: 5,
            block: 4096,
            began: 9,
        };
        assert_eq!(memory.running(), [call]);
        memory.forget_running();
        assert_eq!(memory.running(), []);
    }

    #[test]
    fn a_block_sums_what_threads_count() {
        let block = Block::new(7, false).unwrap();
        // SAFETY: it is a block.
        assert_eq!(unsafe { Memory::number_of(block.address()) }, 7);
        assert_eq!(block.threshold(), None);
        for stripe in 0..STRIPE_COUNT {
            let stripe = STRIPES + stripe * STRIPE;
            let counter = Histogram::counter(1_000_000) as usize;
            block.0.set(stripe + STRIPE_COUNTERS + counter * 8, 2);
            block.0.set(stripe + WALL_SUM, 10);
            block.0.set(stripe + CPU_SUM, 1);
        }
        let sums = block.sums(2_000_000);
        assert_eq!((sums.times.count(), sums.wall, sums.cpu), (8, 40, 4));
        block.reset();
        assert_eq!(block.sums(u64::MAX).times.count(), 0);
        // SAFETY: as above.
        assert_eq!(unsafe { Memory::number_of(block.address()) }, 7);
    }
}
