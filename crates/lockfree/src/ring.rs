//! The way of samples from the handlers to the profile thread: a bounded queue
//! of many producers and one consumer (D. Vyukov's bounded MPMC queue), in
//! memory that is allocated before the first signal. A producer never waits; a
//! full queue refuses the sample.

use std::mem::MaybeUninit;

use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};

/// Bytes that the frames of a ring may take. The kernel maps a page of them when
/// a sample first comes there.
const MAX_BYTES: usize = 8 << 20;
const MAX_CELLS: usize = if cfg!(loom) {
    2
} else if cfg!(miri) {
    64
} else {
    16 << 10
};
const MIN_CELLS: usize = if cfg!(loom) { 2 } else { 64 };

/// The data of a sample besides its frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The number of intervals of CPU time it represents. On the wall clock, intervals of that.
    pub weight: u32,
    /// On the wall clock: how many of these intervals the thread had to wait for a CPU.
    pub ready: u32,
    /// When it was taken, in nanoseconds of a clock that the producers choose.
    pub at: u64,
    /// Serial of the platform thread.
    pub thread: u32,
    /// Serial of the virtual thread that ran on it; 0 for none.
    pub virtual_thread: u32,
    /// The number of frames, or a code for their absence: 0 or less.
    pub frame_count: i32,
}

/// A sample in the ring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a, F> {
    /// See [`Header::weight`].
    pub weight: u32,
    /// See [`Header::ready`].
    pub ready: u32,
    /// See [`Header::at`].
    pub at: u64,
    /// See [`Header::thread`].
    pub thread: u32,
    /// See [`Header::virtual_thread`].
    pub virtual_thread: u32,
    /// The frames, innermost first, or the code for their absence.
    pub frames: Result<&'a [F], i32>,
}

/// Who may touch `header` and the frames of the cell, by its turn. In the round that begins at position `r` of the
/// queue: `r` is the producer that claims the cell, `r + 1` the consumer. `r + cells` is again a producer, one round
/// later. A new cell is all zero, so that the kernel maps its page when a sample first comes there.
struct Cell {
    turn: AtomicUsize,
    header: UnsafeCell<Header>,
}

impl Cell {
    #[cfg(not(loom))]
    fn all(count: usize) -> Box<[Self]> {
        let cells = Box::<[Self]>::new_zeroed_slice(count);
        // SAFETY: zero is a value of an atomic and of each number of a header.
        unsafe { cells.assume_init() }
    }

    /// loom's types are more than their values.
    #[cfg(loom)]
    fn all(count: usize) -> Box<[Self]> {
        let cell = |_| Self {
            turn: AtomicUsize::new(0),
            header: UnsafeCell::new(Header::default()),
        };
        (0..count).map(cell).collect()
    }
}

/// The queue. `F` is a frame.
pub struct Ring<F> {
    cells: Box<[Cell]>,
    /// `depth` frames for each cell.
    frames: Box<[std::cell::UnsafeCell<MaybeUninit<F>>]>,
    depth: u32,
    tail: AtomicUsize,
    head: AtomicUsize,
    draining: AtomicBool,
}

// SAFETY: a cell and its frames belong to one thread at a time, which its turn
// names; the acquire/release pair on the turn hands them over.
unsafe impl<F: Send> Send for Ring<F> {}
// SAFETY: as above; `draining` keeps a second consumer out.
unsafe impl<F: Send + Sync> Sync for Ring<F> {}

/// A cell that its producer fills. The cell is lost, and all later ones wait for
/// it, unless it is [published](Claim::publish).
#[must_use = "the ring stops at a cell that is claimed and not published"]
pub struct Claim<'a, F> {
    ring: &'a Ring<F>,
    cell: &'a Cell,
    /// Which of the ring's cells it is.
    place: usize,
    /// The position at which the queue's round begins.
    round: usize,
}

impl<F: Copy> Ring<F> {
    /// A ring of cells with room for `depth` frames each.
    pub fn new(depth: u32) -> Self {
        let cell_size = size_of::<Cell>() + depth as usize * size_of::<F>();
        let most = (MAX_BYTES / cell_size).clamp(MIN_CELLS, MAX_CELLS);
        let cells = if most.is_power_of_two() {
            most
        } else {
            most.next_power_of_two() / 2
        };
        let frames = Box::new_uninit_slice(cells * depth as usize);
        Self {
            cells: Cell::all(cells),
            // SAFETY: the elements are cells of `MaybeUninit`, which need no value.
            frames: unsafe { frames.assume_init() },
            depth,
            tail: AtomicUsize::new(0),
            head: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
        }
    }

    /// How many samples there is room for.
    pub fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// The cell of a position, and its place.
    #[inline]
    fn cell(&self, position: usize) -> Option<(&Cell, usize)> {
        // The number of cells is a power of two, and at least one.
        let place = position & self.cells.len().wrapping_sub(1);
        Some((self.cells.get(place)?, place))
    }

    /// The first frame of the cell at `place`, which is below the number of cells.
    #[inline]
    fn frames(&self, place: usize) -> *mut F {
        let first = place.wrapping_mul(self.depth as usize);
        // The address of a cell's content, with the right to all that follow it.
        let start = self.frames.as_ptr().cast::<F>().cast_mut();
        start.wrapping_add(first)
    }

    /// Takes a cell to fill, `None` when all are full. Safe in a signal handler.
    #[inline]
    pub fn claim(&self) -> Option<Claim<'_, F>> {
        let mut position = self.tail.load(Ordering::Relaxed);
        loop {
            let (cell, place) = self.cell(position)?;
            let round = position.wrapping_sub(place);
            let turn = cell.turn.load(Ordering::Acquire);
            let lead = turn.wrapping_sub(round) as isize;
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
                            cell,
                            place,
                            round,
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

    /// Hands every full cell to `consume`, in order, and returns how many there
    /// were: none while another thread, or `consume` itself, drains.
    pub fn drain(&self, mut consume: impl FnMut(Sample<'_, F>)) -> usize {
        if self.draining.swap(true, Ordering::Acquire) {
            return 0;
        }
        let _draining = Draining(&self.draining);
        let mut position = self.head.load(Ordering::Relaxed);
        let mut count = 0;
        while let Some((cell, place)) = self.cell(position)
            && let round = position.wrapping_sub(place)
            && cell.turn.load(Ordering::Acquire) == round.wrapping_add(1)
        {
            // SAFETY: the turn says that the cell is the consumer's, and
            // `draining` that this is the only one.
            let header = cell.header.with(|header| unsafe { *header });
            let frames = if header.frame_count > 0 {
                let len = header.frame_count.unsigned_abs().min(self.depth) as usize;
                // SAFETY: as above; the producer promised that many frames.
                Ok(unsafe { std::slice::from_raw_parts(self.frames(place), len) })
            } else {
                Err(header.frame_count)
            };
            consume(Sample {
                weight: header.weight,
                ready: header.ready,
                at: header.at,
                thread: header.thread,
                virtual_thread: header.virtual_thread,
                frames,
            });
            let next_round = round.wrapping_add(self.cells.len());
            cell.turn.store(next_round, Ordering::Release);
            position = position.wrapping_add(1);
            self.head.store(position, Ordering::Relaxed);
            count += 1;
        }
        count
    }
}

/// Lets others drain, also after a panic.
struct Draining<'a>(&'a AtomicBool);

impl Drop for Draining<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl<F: Copy> Claim<'_, F> {
    /// Room for [`Self::depth`] frames, for this claim alone until it is published.
    #[inline]
    pub fn frames(&self) -> *mut F {
        self.ring.frames(self.place)
    }

    /// The number of frames there is room for.
    #[inline]
    pub fn depth(&self) -> i32 {
        self.ring.depth as i32
    }

    /// Hands the cell to the consumer. Safe in a signal handler.
    ///
    /// # Safety
    /// The first `header.frame_count` of [`Self::frames`], if that is positive, were
    /// written; with a larger number than [`Self::depth`], all of them.
    #[inline]
    pub unsafe fn publish(self, header: Header) {
        // SAFETY: the claim owns the cell until the turn below is stored.
        self.cell.header.with_mut(|at| unsafe { *at = header });
        let full = self.round.wrapping_add(1);
        self.cell.turn.store(full, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn header(weight: u32, frame_count: i32) -> Header {
        Header {
            weight,
            ready: 0,
            at: 0,
            thread: 1,
            virtual_thread: 2,
            frame_count,
        }
    }

    #[test]
    fn samples_come_out_in_order_and_a_full_ring_refuses() {
        // Few cells: Miri is slow.
        let ring = Ring::<[u64; 4096]>::new(2);
        let cells = ring.capacity();
        assert_eq!(cells, 64);
        for round in 0..2 {
            for weight in 0..cells as u32 {
                let claim = ring.claim().unwrap();
                assert_eq!(claim.depth(), 2);
                // SAFETY: the claim has room for two frames, of which one is written.
                unsafe {
                    claim.frames().cast::<u64>().write_bytes(0, 4096);
                    claim.frames().cast::<u64>().write(u64::from(weight));
                    claim.publish(header(weight, 1));
                }
            }
            assert!(ring.claim().is_none(), "round {round}");
            let mut expected = 0;
            let drained = ring.drain(|sample| {
                assert_eq!(sample.weight, expected);
                assert_eq!(sample.frames.unwrap()[0][0], u64::from(expected));
                expected += 1;
            });
            assert_eq!(drained, cells);
        }
    }

    #[test]
    fn an_unfinished_cell_holds_back_the_later_ones() {
        let ring = Ring::<u64>::new(1);
        let first = ring.claim().unwrap();
        let second = ring.claim().unwrap();
        // SAFETY: neither has frames.
        unsafe { second.publish(header(2, -5)) };
        assert_eq!(ring.drain(|_| ()), 0);
        // SAFETY: as above.
        unsafe { first.publish(header(1, -6)) };
        let mut seen = Vec::new();
        ring.drain(|sample| seen.push((sample.weight, sample.frames.err())));
        assert_eq!(seen, [(1, Some(-6)), (2, Some(-5))]);
    }

    #[test]
    fn only_one_drains_at_a_time() {
        let ring = Ring::<u64>::new(0);
        for weight in 1..=2 {
            // SAFETY: it has no frames.
            unsafe { ring.claim().unwrap().publish(header(weight, 0)) };
        }
        let mut inner = 0;
        assert_eq!(ring.drain(|_| inner += ring.drain(|_| ())), 2);
        assert_eq!(inner, 0);
    }

    /// Under Miri also: no reference to a whole cell exists while another thread
    /// loads its turn.
    #[test]
    fn four_producers_lose_nothing() {
        const EACH: u32 = if cfg!(miri) { 50 } else { 10_000 };
        let ring = Ring::<[u64; 8192]>::new(1);
        let done = AtomicUsize::new(0);
        let mut total = 0u64;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for weight in 1..=EACH {
                        loop {
                            match ring.claim() {
                                // SAFETY: it has no frames.
                                Some(claim) => break unsafe { claim.publish(header(weight, 0)) },
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
                std::thread::yield_now();
            }
        });
        let each = u64::from(EACH);
        assert_eq!(total, 4 * each * (each + 1) / 2);
    }
}
