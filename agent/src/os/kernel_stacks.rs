//! The kernel's own frames of a sample, from the buffer in which the kernel hands them out (perf_event_open(2), "MMAP layout").
//!
//! Each event of a thread has a buffer of one page, beside a page that tells how far it is written. The kernel writes the record of
//! a sample before it sends the signal, so that the handler, which runs on the thread itself, finds the record of its own sample last.
//! No other thread reads the buffer.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The page that the kernel describes the buffer in, and the page of records: the number of these must be a power of two.
const PAGE: usize = 4096;
const SIZE: usize = 2 * PAGE;
/// Places in the first page (`struct perf_event_mmap_page`).
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// `PERF_RECORD_SAMPLE`, of which all that is asked for is the chain of callers.
const SAMPLE: u32 = 9;
/// From here on addresses are marks that tell whose frames follow (`enum perf_callchain_context`).
const FIRST_MARK: u64 = 4095_u64.wrapping_neg();
/// The bit that addresses of the kernel have, on x86-64 and AArch64 alike.
const KERNEL: usize = 1 << 63;
const WORD: u64 = 8;

/// Threads that got no buffer.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Buffers of events that were ended by other threads than their own, which may be reading them.
static RETIRED: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());

/// The address of a buffer; the kernel keeps it while it is mapped, whether its event is open or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer(usize);

impl Buffer {
    /// Maps the buffer of an event.
    ///
    /// # Errors
    /// The kernel's error: `EPERM` if the user has locked as much memory as `kernel.perf_event_mlock_kb` and `RLIMIT_MEMLOCK`
    /// allow.
    pub fn map(file: i32) -> io::Result<Self> {
        // SAFETY: the kernel chooses a free place; the descriptor is that of an event.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file,
                0,
            )
        };
        match address {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            address => Ok(Self(address as usize)),
        }
    }

    /// The buffer of a number that [`Self::as_number`] returned.
    pub fn from_number(number: usize) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// A number that is not 0.
    pub fn as_number(self) -> usize {
        self.0
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// Nothing reads the buffer, now or later.
    pub unsafe fn unmap(self) {
        // SAFETY: by the caller's promise; these are the pages that `map` has mapped.
        unsafe { libc::munmap(self.0 as *mut libc::c_void, SIZE) };
    }

    /// Keeps the buffer until [`unmap_retired`].
    pub fn retire(self) {
        RETIRED.lock().push(self);
    }

    /// Hands out the kernel's frames of the newest sample, the innermost first, until `receive` returns false, and frees the buffer for
    /// the next ones. Safe in a signal handler.
    ///
    /// # Safety
    /// The buffer is mapped, and no other thread reads it meanwhile.
    pub unsafe fn newest(self, mut receive: impl FnMut(usize) -> bool) {
        let head = self.counter(HEAD).load(Ordering::Acquire);
        let tail = self.counter(TAIL);
        let mut at = tail.load(Ordering::Relaxed);
        let mut newest = None;
        while at < head {
            let header = self.word(at);
            // Type, a half word of details, and the size in bytes.
            let (kind, size) = (header as u32, header.wrapping_shr(48));
            if size < WORD || size % WORD != 0 {
                break;
            }
            if kind == SAMPLE {
                newest = Some((at, size));
            }
            at = at.wrapping_add(size);
        }
        if let Some((at, size)) = newest {
            let room = size.wrapping_div(WORD).saturating_sub(2);
            let count = self.word(at.wrapping_add(WORD)).min(room);
            let mut place = at.wrapping_add(2 * WORD);
            for _ in 0..count {
                let address = self.word(place);
                place = place.wrapping_add(WORD);
                if address < FIRST_MARK
                    && is_of_kernel(address as usize)
                    && !receive(address as usize)
                {
                    break;
                }
            }
        }
        tail.store(head, Ordering::Release);
    }

    /// A counter of the first page.
    fn counter(self, place: usize) -> &'static AtomicU64 {
        // SAFETY: the first page is mapped while the buffer is; the place is one of `HEAD` and `TAIL`, aligned words in it that only the
        // kernel and the one reader change.
        unsafe { &*ptr::with_exposed_provenance::<AtomicU64>(self.0.wrapping_add(place)) }
    }

    /// A word of the records, which go round in their page.
    fn word(self, at: u64) -> u64 {
        let place = PAGE.wrapping_add(at as usize & (PAGE - 1) & !(WORD as usize - 1));
        self.counter(place).load(Ordering::Relaxed)
    }
}

/// Returns true for addresses of the kernel's code.
pub fn is_of_kernel(address: usize) -> bool {
    address & KERNEL != 0
}

/// A thread got no buffer: its samples have no frames of the kernel.
pub fn note_refused() {
    REFUSED.fetch_add(1, Ordering::Relaxed);
}

/// Threads that have got no buffer in this run.
pub fn refused() -> usize {
    REFUSED.load(Ordering::Relaxed)
}

/// Counts threads without a buffer from 0 on.
pub fn begin() {
    REFUSED.store(0, Ordering::Relaxed);
}

/// Unmaps buffers of events that ended while their threads could have read them.
///
/// # Safety
/// No handler runs that began before the last of these events ended.
pub unsafe fn unmap_retired() {
    for buffer in std::mem::take(&mut *RETIRED.lock()) {
        // SAFETY: its event has ended, and by the caller's promise no handler that knows it runs.
        unsafe { buffer.unmap() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer as the kernel leaves it, with records at these places.
    fn buffer(tail: u64, records: &[&[u64]]) -> Vec<u64> {
        let mut words = vec![0; SIZE / 8];
        let mut at = tail;
        for word in records.iter().copied().flatten() {
            words[(PAGE + at as usize % PAGE) / 8] = *word;
            at += WORD;
        }
        words[HEAD / 8] = at;
        words[TAIL / 8] = tail;
        words
    }

    fn frames(words: &mut [u64], most: usize) -> Vec<usize> {
        let buffer = Buffer(words.as_mut_ptr().expose_provenance());
        let mut found = Vec::new();
        // SAFETY: the words are as large as a buffer, and of this test alone.
        unsafe {
            buffer.newest(|address| {
                found.push(address);
                found.len() < most
            });
        }
        assert_eq!(words[TAIL / 8], words[HEAD / 8]);
        found
    }

    const MARK: u64 = 128_u64.wrapping_neg();
    const CODE: u64 = 0xffff_ffff_8100_0000;

    fn sample(words: u64) -> u64 {
        u64::from(SAMPLE) | (words * WORD) << 48
    }

    #[test]
    fn frames_are_those_of_the_newest_sample() {
        let older = [sample(4), 2, MARK, CODE];
        let newer = [sample(5), 3, MARK, CODE + 16, CODE + 32];
        let mut words = buffer(8, &[&older, &newer]);
        assert_eq!(
            frames(&mut words, 9),
            [CODE as usize + 16, CODE as usize + 32]
        );
        // They are read once.
        assert_eq!(frames(&mut words, 9), [0; 0]);
    }

    #[test]
    fn records_go_round_at_the_end_of_the_page() {
        let record = [sample(5), 3, MARK, CODE, CODE + 8];
        let mut words = buffer(3 * PAGE as u64 - 24, &[&record]);
        assert_eq!(frames(&mut words, 1), [CODE as usize]);
    }

    #[test]
    fn records_that_are_none_end_the_search() {
        for header in [0, u64::from(SAMPLE), u64::from(SAMPLE) | 12 << 48] {
            let mut words = buffer(0, &[&[header, 7, 7]]);
            assert_eq!(frames(&mut words, 9), [0; 0], "{header:x}");
        }
        // More frames than the record has room for, and those of the program.
        let mut words = buffer(0, &[&[sample(4), 900, 0x7f00_0000_1000, CODE]]);
        assert_eq!(frames(&mut words, 9), [CODE as usize]);
    }
}
