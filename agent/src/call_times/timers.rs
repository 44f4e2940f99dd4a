//! A timer on each thread's own CPU clock: its signal has the thread book its CPU
//! time by itself, however busy the machine is.
//!
//! The [`sampler`](super::sampler) looks more often, but only when the system lets
//! it run. Where the kernel or the program leaves no signal for this, it works alone.
//!
//! The rules for signal handlers are those of [`crate::cpu_samples::signal`].

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::state::Head;
use crate::os::TimerError;
use crate::os::signals::{self, Installed, SignalNumber};
use crate::os::timer::{self, TimerId, TimerInfo};

/// CPU time between two signals; the kernel looks at timers at its own timer, every
/// 1 to 10 ms.
const INTERVAL: Duration = Duration::from_millis(1);
/// Threads with a timer at one time.
const MAX_TIMERS: usize = 1 << 15;

/// The thread that a timer's number stands for.
struct Owner {
    /// Its kernel id, 0 without a thread. The handler looks at the rest only on
    /// this very thread.
    tid: AtomicI32,
    head: AtomicPtr<Head>,
}

static OWNERS: [Owner; MAX_TIMERS] = [const {
    Owner {
        tid: AtomicI32::new(0),
        head: AtomicPtr::new(ptr::null_mut()),
    }
}; MAX_TIMERS];

/// Whether a thread that the sampler passes over has burnt CPU time.
static WOKEN: AtomicBool = AtomicBool::new(false);
static FOREIGN: AtomicU64 = AtomicU64::new(0);

/// The timers of all threads.
pub(super) struct ThreadTimers {
    installed: Option<Installed>,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    numbers: Vec<u32>,
    used: u32,
}

/// One thread's timer.
#[derive(Debug)]
pub(super) struct ThreadTimer {
    number: u32,
    timer: TimerId,
}

impl ThreadTimers {
    /// Installs the handler. `wanted` is the user's choice of signal, if any.
    ///
    /// # Errors
    /// The kernel gives no timers, or no signal can be had.
    pub(super) fn install(wanted: Option<SignalNumber>) -> Result<Self, TimerError> {
        timer::probe().map_err(TimerError::Timer)?;
        let installed = signals::install(wanted, on_signal)?;
        Ok(Self {
            installed: Some(installed),
            free: Mutex::default(),
        })
    }

    /// No timers.
    pub(super) fn none() -> Self {
        Self {
            installed: None,
            free: Mutex::default(),
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

    /// Whether another library has replaced the handler.
    pub(super) fn is_replaced(&self) -> bool {
        self.installed
            .is_some_and(|installed| !installed.is_handled_by(on_signal))
    }

    /// Signals of our number that no timer of ours sent.
    pub(super) fn foreign(&self) -> u64 {
        FOREIGN.load(Ordering::Relaxed)
    }

    /// Starts a timer for `tid`. `None` where the kernel has none left.
    ///
    /// # Safety
    /// `head` lives until the timer is [ended](Self::end), which the thread `tid`
    /// itself does.
    pub(super) unsafe fn start(&self, tid: i32, head: *mut Head) -> Option<ThreadTimer> {
        let installed = self.installed?;
        let number = self.free.lock().take()?;
        let owner = &OWNERS[number as usize];
        owner.head.store(head, Ordering::Relaxed);
        owner.tid.store(tid, Ordering::Release);
        let started = timer::create(tid, number as usize, installed.signal()).and_then(|timer| {
            // At once: the first timer that hits a short thread is not lost.
            timer::start(timer, 1, INTERVAL).map(|()| timer)
        });
        match started {
            Ok(timer) => Some(ThreadTimer { number, timer }),
            Err(_) => {
                self.release(number);
                None
            }
        }
    }

    /// Ends a timer. Signals still under way find no thread.
    pub(super) fn end(&self, timer: ThreadTimer) {
        timer::delete(timer.timer);
        self.release(timer.number);
    }

    fn release(&self, number: u32) {
        let owner = &OWNERS[number as usize];
        owner.tid.store(0, Ordering::Release);
        owner.head.store(ptr::null_mut(), Ordering::Relaxed);
        self.free.lock().numbers.push(number);
    }

    /// Whether some thread that was idle has run, since the last question.
    pub(super) fn woken() -> bool {
        WOKEN.load(Ordering::Relaxed) && WOKEN.swap(false, Ordering::Acquire)
    }
}

impl Free {
    fn take(&mut self) -> Option<u32> {
        if let Some(number) = self.numbers.pop() {
            return Some(number);
        }
        let number = self.used;
        ((number as usize) < MAX_TIMERS).then(|| {
            self.used += 1;
            number
        })
    }
}

/// Books the CPU time of the current thread.
extern "C" fn on_signal(_signal: i32, info: *mut libc::siginfo_t, _context: *mut c_void) {
    signals::keep_errno(|| {
        if info.is_null() {
            return;
        }
        // SAFETY: the kernel filled in `info`, and siginfo_t is larger than the view.
        let info = unsafe { &*info.cast::<TimerInfo>() };
        if info.code == libc::SI_TIMER {
            book(info.value);
        } else {
            FOREIGN.fetch_add(1, Ordering::Relaxed);
        }
    });
}

fn book(number: usize) {
    let Some(owner) = OWNERS.get(number) else {
        return;
    };
    // SAFETY: the call takes nothing and cannot fail.
    let tid = unsafe { libc::gettid() };
    if owner.tid.load(Ordering::Acquire) != tid {
        return;
    }
    // SAFETY: only this thread ends its timer, so it has not, and `start` was promised
    // that the head lives until then.
    let Some(head) = (unsafe { owner.head.load(Ordering::Relaxed).as_ref() }) else {
        return;
    };
    head.book(timer::thread_cpu_nanos(tid));
    if head.note_running() {
        WOKEN.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_end() {
        let mut free = Free::default();
        assert_eq!(free.take(), Some(0));
        assert_eq!(free.take(), Some(1));
        free.numbers.push(0);
        assert_eq!(free.take(), Some(0));
        free.used = MAX_TIMERS as u32;
        assert_eq!(free.take(), None);
    }
}
