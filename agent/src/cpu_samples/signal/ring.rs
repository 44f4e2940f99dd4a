//! The way of samples from the handlers to the profile thread: a bounded queue
//! of many producers and one consumer (D. Vyukov's bounded MPMC queue), in
//! memory that is allocated before the first signal. A producer never waits; a
//! full queue loses the sample, which is counted.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::asgct::AsgctFrame;

/// Bytes that the ring may take; the VM's pages behind it are touched only as
/// far as samples pile up.
const MEMORY: usize = 8 << 20;
const MOST_CELLS: usize = 16 << 10;
const FEWEST_CELLS: usize = 64;

#[repr(C)]
struct CellHeader {
    sequence: AtomicUsize,
    weight: u32,
    thread: u32,
    virtual_thread: u32,
    frame_count: i32,
}

/// A sample in the ring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// How many intervals of CPU time it stands for: one, and one for each
    /// expiry of the timer that the kernel folded into the signal.
    pub weight: u32,
    /// Serial of the platform thread.
    pub thread: u32,
    /// Serial of the virtual thread that ran on it; 0 for none.
    pub virtual_thread: u32,
    /// The frames, innermost first, or the VM's failure code.
    pub frames: Result<&'a [AsgctFrame], i32>,
}

pub(super) struct Ring {
    memory: *mut u8,
    cell_size: usize,
    depth: u32,
    mask: usize,
    tail: AtomicUsize,
    head: AtomicUsize,
}

// SAFETY: cells are handed over by the acquire/release pair on their sequence.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

/// A cell that its producer fills.
pub(super) struct Claim<'a> {
    ring: &'a Ring,
    header: *mut CellHeader,
    position: usize,
}

impl Ring {
    /// A ring of cells with room for `depth` frames each.
    pub(super) fn new(depth: u32) -> Self {
        let cell_size = size_of::<CellHeader>() + depth as usize * size_of::<AsgctFrame>();
        let most = (MEMORY / cell_size).clamp(FEWEST_CELLS, MOST_CELLS);
        let cells = if most.is_power_of_two() {
            most
        } else {
            most.next_power_of_two() / 2
        };
        let layout = Self::layout(cells * cell_size);
        // SAFETY: the layout has a size that is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        let ring = Self {
            memory,
            cell_size,
            depth,
            mask: cells - 1,
            tail: AtomicUsize::new(0),
            head: AtomicUsize::new(0),
        };
        for index in 0..cells {
            // SAFETY: the cell is in bounds and zeroed, and nobody else sees it yet.
            unsafe { (*ring.header(index)).sequence = AtomicUsize::new(index) };
        }
        ring
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size.max(8), 64).unwrap_or(Layout::new::<u64>())
    }

    fn header(&self, position: usize) -> *mut CellHeader {
        let offset = (position & self.mask) * self.cell_size;
        // SAFETY: the masked position is below the number of cells; cells and
        // frames are multiples of eight bytes, so the header is aligned.
        unsafe { self.memory.add(offset).cast() }
    }

    fn frames(header: *mut CellHeader) -> *mut AsgctFrame {
        // SAFETY: each cell has its frames right after its header.
        unsafe { header.add(1).cast() }
    }

    /// Takes a cell to fill, `None` when all are full. Safe in a signal handler.
    pub(super) fn claim(&self) -> Option<Claim<'_>> {
        let mut position = self.tail.load(Ordering::Relaxed);
        loop {
            let header = self.header(position);
            // SAFETY: the header is in bounds; its sequence is atomic.
            let sequence = unsafe { &(*header).sequence }.load(Ordering::Acquire);
            let lead = sequence.wrapping_sub(position) as isize;
            if lead == 0 {
                let next = position.wrapping_add(1);
                match self.tail.compare_exchange_weak(
                    position,
                    next,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        return Some(Claim {
                            ring: self,
                            header,
                            position,
                        });
                    }
                    Err(now) => position = now,
                }
            } else if lead < 0 {
                return None;
            } else {
                position = self.tail.load(Ordering::Relaxed);
            }
        }
    }

    /// Hands every full cell to `consume`, in order. Only one thread may drain.
    pub(super) fn drain(&self, mut consume: impl FnMut(Sample<'_>)) -> usize {
        let mut position = self.head.load(Ordering::Relaxed);
        let mut count = 0;
        loop {
            let header = self.header(position);
            // SAFETY: the header is in bounds; its sequence is atomic.
            let sequence = unsafe { &(*header).sequence };
            if sequence.load(Ordering::Acquire) != position.wrapping_add(1) {
                break;
            }
            // SAFETY: the producer published the cell with this sequence and
            // does not touch it before the consumer gives it back.
            let cell = unsafe { &*header };
            let frames = if cell.frame_count > 0 {
                let len = cell.frame_count.unsigned_abs().min(self.depth) as usize;
                // SAFETY: the producer wrote `frame_count` frames, at most `depth`.
                Ok(unsafe { std::slice::from_raw_parts(Self::frames(header), len) })
            } else {
                Err(cell.frame_count)
            };
            consume(Sample {
                weight: cell.weight,
                thread: cell.thread,
                virtual_thread: cell.virtual_thread,
                frames,
            });
            sequence.store(position.wrapping_add(self.mask + 1), Ordering::Release);
            position = position.wrapping_add(1);
            self.head.store(position, Ordering::Relaxed);
            count += 1;
        }
        count
    }
}

impl Claim<'_> {
    /// Room for [`Self::depth`] frames.
    pub(super) fn frames(&self) -> *mut AsgctFrame {
        Ring::frames(self.header)
    }

    pub(super) fn depth(&self) -> i32 {
        self.ring.depth as i32
    }

    /// Hands the cell to the consumer.
    pub(super) fn publish(self, weight: u32, thread: u32, virtual_thread: u32, frame_count: i32) {
        // SAFETY: the claim owns the cell until the sequence below is stored.
        let cell = unsafe { &mut *self.header };
        cell.weight = weight;
        cell.thread = thread;
        cell.virtual_thread = virtual_thread;
        cell.frame_count = frame_count;
        cell.sequence
            .store(self.position.wrapping_add(1), Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout.
        unsafe { std::alloc::dealloc(self.memory, Self::layout((self.mask + 1) * self.cell_size)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_out_in_order_and_a_full_ring_refuses() {
        let ring = Ring::new(2);
        let cells = ring.mask + 1;
        for weight in 0..cells as u32 {
            let claim = ring.claim().unwrap();
            let frame = AsgctFrame {
                location: weight as i32,
                method: std::ptr::null_mut(),
            };
            // SAFETY: the claim has room for two frames.
            unsafe { *claim.frames() = frame };
            claim.publish(weight, 1, 2, 1);
        }
        assert!(ring.claim().is_none());
        let mut expected = 0;
        let drained = ring.drain(|sample| {
            assert_eq!(sample.weight, expected);
            assert_eq!(sample.frames.unwrap()[0].location, expected as i32);
            expected += 1;
        });
        assert_eq!(drained, cells);
        assert!(ring.claim().is_some());
    }

    #[test]
    fn an_unfinished_cell_holds_back_the_later_ones() {
        let ring = Ring::new(1);
        let first = ring.claim().unwrap();
        ring.claim().unwrap().publish(2, 0, 0, -5);
        assert_eq!(ring.drain(|_| ()), 0);
        first.publish(1, 0, 0, -6);
        let mut seen = Vec::new();
        ring.drain(|sample| seen.push((sample.weight, sample.frames.err())));
        assert_eq!(seen, [(1, Some(-6)), (2, Some(-5))]);
    }

    #[test]
    fn four_producers_lose_nothing() {
        let ring = Ring::new(1);
        let done = AtomicUsize::new(0);
        let mut total = 0u64;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for weight in 1..=10_000u32 {
                        loop {
                            match ring.claim() {
                                Some(claim) => break claim.publish(weight, 0, 0, 0),
                                None => std::thread::yield_now(),
                            }
                        }
                    }
                    done.fetch_add(1, Ordering::Release);
                });
            }
            loop {
                let last = done.load(Ordering::Acquire) == 4;
                ring.drain(|sample| total += u64::from(sample.weight));
                if last {
                    break;
                }
            }
        });
        assert_eq!(total, 4 * 10_000 * 10_001 / 2);
    }
}
