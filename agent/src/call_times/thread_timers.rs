//! A timer on each thread's own CPU clock: its signal has the thread book its CPU
//! time by itself, however busy the machine is.
//!
//! The [`sampler`](super::sampler) looks more often, but only when the system lets
//! it run. Where the kernel or the program leaves no signal for this, it works alone.
//!
//! The rules for signal handlers are those of [`crate::cpu_samples::signal`].

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

use hprof_lockfree::counters::{Counters, Head};
use hprof_lockfree::slots::{SlotToken, Slots};

use crate::os::TimerError;
use crate::os::signals::{self, Installed, SignalNumber};
use crate::os::timer::{self, TimerId, TimerInfo};

/// CPU time between two signals; the kernel looks at timers at its own tick, every
/// 1 to 10 ms.
const INTERVAL: Duration = Duration::from_millis(1);

/// The threads that timers' signals stand for, by where they count. Never freed: a
/// signal may come at any time.
static OWNERS: OnceLock<Slots<Owner>> = OnceLock::new();

type Owner = AtomicPtr<Head>;

/// True if a thread that the sampler passes over has burnt CPU time.
static WOKEN: AtomicBool = AtomicBool::new(false);
static FOREIGN: AtomicU64 = AtomicU64::new(0);

/// The timers of all threads.
pub(super) struct ThreadTimers {
    installed: Option<Installed>,
    owners: &'static Slots<Owner>,
}

/// One thread's timer.
#[derive(Debug)]
pub(super) struct ThreadTimer {
    owner: SlotToken,
    id: TimerId,
}

impl ThreadTimers {
    /// Installs the handler. `wanted` is the user's choice of signal, if any.
    ///
    /// # Errors
    /// The kernel gives no timers, or no signal can be had.
    pub(super) fn install(wanted: Option<SignalNumber>) -> Result<Self, TimerError> {
        timer::probe().map_err(TimerError::Timer)?;
        let mut timers = Self::none();
        timers.installed = Some(signals::install(wanted, on_signal)?);
        Ok(timers)
    }

    /// No timers.
    pub(super) fn none() -> Self {
        Self {
            installed: None,
            owners: OWNERS.get_or_init(Slots::new),
        }
    }

    /// Takes the handler away. All timers have ended.
    pub(super) fn detach(&mut self) {
        if let Some(installed) = self.installed.take() {
            installed.remove(on_signal);
        }
    }

    /// The signal, if there is one.
    pub(super) fn signal(&self) -> Option<i32> {
        self.installed.map(Installed::signal)
    }

    /// Returns true if another library has replaced the handler.
    pub(super) fn is_replaced(&self) -> bool {
        self.installed
            .is_some_and(|installed| !installed.is_handled_by(on_signal))
    }

    /// Signals of our number that no timer of ours sent.
    pub(super) fn foreign(&self) -> u64 {
        FOREIGN.load(Ordering::Relaxed)
    }

    /// Starts a timer for `tid`, which books to `counters`. `None` where the kernel
    /// has none left.
    pub(super) fn start(&self, tid: i32, counters: Counters) -> Option<ThreadTimer> {
        let installed = self.installed?;
        let owner = self
            .owners
            .acquire(|owner| owner.store(counters.as_pointer(), Ordering::Relaxed))?;
        let started = timer::create(tid, owner.as_signal_value(), installed.signal());
        let started = started.and_then(|id| {
            // At once: the first tick that hits a short thread is not lost.
            timer::start(id, 1, INTERVAL)
                .map(|()| id)
                .inspect_err(|_| timer::delete(id))
        });
        match started {
            Ok(id) => Some(ThreadTimer { owner, id }),
            Err(_) => {
                self.owners.release(owner, |_| ());
                None
            }
        }
    }

    /// Ends a timer. Signals still under way find no thread.
    pub(super) fn end(&self, timer: ThreadTimer) {
        timer::delete(timer.id);
        self.owners.release(timer.owner, |_| ());
    }

    /// Returns true if some thread that was idle has run, since the last question.
    pub(super) fn woken() -> bool {
        WOKEN.load(Ordering::Relaxed) && WOKEN.swap(false, Ordering::Acquire)
    }
}

/// Books the CPU time of the current thread.
extern "C" fn on_signal(_signal: i32, info: *mut libc::siginfo_t, _context: *mut c_void) {
    signals::keep_errno(|| {
        if !info.is_null() {
            // SAFETY: the kernel filled in `info`, and siginfo_t is larger than the view.
            let info = unsafe { &*info.cast::<TimerInfo>() };
            if info.code == libc::SI_TIMER {
                book(info.value);
            } else {
                FOREIGN.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
}

fn book(signal_value: usize) {
    let Some(owners) = OWNERS.get() else {
        return;
    };
    // Another thread may end this timer now, and start one of its own in the slot: then
    // nothing is read.
    let head = owners.read(signal_value, |owner| owner.load(Ordering::Relaxed));
    // SAFETY: slots hold pointers of `Counters`, whose memory is never freed.
    let Some(counters) = head.and_then(|head| unsafe { Counters::from_pointer(head) }) else {
        return;
    };
    // SAFETY: the call has no arguments and cannot fail.
    let tid = unsafe { libc::gettid() };
    counters.book(timer::thread_cpu_nanos(tid));
    if counters.note_running() {
        WOKEN.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::{CallClock, State};
    use super::*;
    use hprof_lockfree::nodes::NodeNumber;

    /// The old timer's signal may come after another thread ended it, for instance to
    /// pause counting.
    #[test]
    fn a_late_signal_books_nothing_for_the_next_owner() {
        let states = [0, 1].map(|_| State::new(10, CallClock::Sampled).unwrap());
        let owners = ThreadTimers::none().owners;
        let acquire = |state: &State| {
            let pointer = state.counters().as_pointer();
            let token = owners.acquire(|owner| owner.store(pointer, Ordering::Relaxed));
            token.unwrap()
        };
        let booked = |state: &State| state.counters().nanos(NodeNumber::ROOT);
        let old = acquire(&states[0]);
        book(old.as_signal_value());
        assert!(booked(&states[0]) > 0);
        owners.release(old, |_| ());
        let new = acquire(&states[1]);
        book(old.as_signal_value());
        assert_eq!(booked(&states[1]), 0);
        book(new.as_signal_value());
        assert!(booked(&states[1]) > 0);
        owners.release(new, |_| ());
    }
}
