//! How many threads are inside an environment, and its end, which waits for them.
//!
//! Every callback of an environment and every call through its table enters its gate. The thread that closes the gate
//! first keeps newcomers out, then waits until the threads inside have left. So nothing uses the environment when it is
//! disposed of, and no end has to sleep and hope.
//!
//! A thread counts in one of several cells, chosen by the address of its stack, so that threads in hot
//! callbacks do not share a cache line. Entering and leaving cost an atomic addition each.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

/// Counts in this many places; a power of two.
const CELLS: usize = 16;

/// Stacks of threads lie at least this power of two of bytes apart, mostly.
const STACK_SHIFT: u32 = 20;

/// How long a closing thread sleeps between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Counts who is inside.
#[derive(Default)]
pub struct Gate {
    cells: [CachePadded<AtomicUsize>; CELLS],
    closed: AtomicBool,
}

/// Proof that the gate was open; leaves on drop.
pub struct Inside<'a> {
    cell: &'a AtomicUsize,
}

/// A thread was still inside when the time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a callback or call is still under way")]
pub struct StillInside;

impl Gate {
    /// Enters, if the gate is open.
    #[inline]
    pub fn enter(&self) -> Option<Inside<'_>> {
        let cell = &*self.cells[cell_of_current_thread()];
        // Count first, then look: the closing thread stores first, then counts. All four are SeqCst, so one of the two
        // sees the other.
        cell.fetch_add(1, Ordering::SeqCst);
        let inside = Inside { cell };
        (!self.closed.load(Ordering::SeqCst)).then_some(inside)
    }

    /// Lets no caller in, and waits until none is inside. May be tried again.
    ///
    /// # Errors
    /// If a thread is still inside after `limit`. A thread that is inside itself waits in vain.
    pub fn close(&self, limit: Duration) -> Result<(), StillInside> {
        self.closed.store(true, Ordering::SeqCst);
        let began = Instant::now();
        for cell in &self.cells {
            // Once a cell was seen at 0, only those who find the gate closed count in it.
            while cell.load(Ordering::SeqCst) != 0 {
                if began.elapsed() >= limit {
                    return Err(StillInside);
                }
                std::thread::sleep(LOOK_EVERY);
            }
        }
        Ok(())
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: what was done inside happens before the end.
        self.cell.fetch_sub(1, Ordering::Release);
    }
}

/// The cell of a thread. Any cell is correct; one that is usually the thread's own avoids contention.
#[inline]
fn cell_of_current_thread() -> usize {
    let here = 0u8;
    ((&raw const here as usize) >> STACK_SHIFT) & (CELLS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn a_closed_gate_lets_nobody_in() {
        let gate = Gate::default();
        drop(gate.enter().expect("open"));
        assert_eq!(gate.close(Duration::ZERO), Ok(()));
        assert!(gate.enter().is_none());
        assert_eq!(gate.close(Duration::ZERO), Ok(()), "closed twice");
    }

    #[test]
    fn closing_waits_for_those_inside_and_gives_up_in_time() {
        let gate = Gate::default();
        let inside = gate.enter();
        assert_eq!(gate.close(Duration::from_millis(5)), Err(StillInside));
        assert!(gate.enter().is_none(), "closed all the same");
        drop(inside);
        assert_eq!(gate.close(Duration::ZERO), Ok(()));
    }

    #[test]
    fn nobody_is_inside_after_the_gate_was_closed() {
        for _ in 0..50 {
            let gate = Gate::default();
            let valid = AtomicBool::new(true);
            let start = Barrier::new(5);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        start.wait();
                        while let Some(_inside) = gate.enter() {
                            assert!(valid.load(Ordering::Relaxed), "used after its end");
                        }
                    });
                }
                start.wait();
                gate.close(Duration::from_secs(20)).expect("all leave");
                valid.store(false, Ordering::Relaxed);
            });
        }
    }
}
