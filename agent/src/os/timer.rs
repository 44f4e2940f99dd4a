//! POSIX timers on the CPU clock of one thread, by raw system calls: glibc's
//! wrappers allocate, and live in another library before glibc 2.34.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use crate::vm::Fault;

/// The kernel's number of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerId(pub i32);

/// The clock that ticks while thread `tid` runs: the kernel builds the id from
/// the inverted thread id, bit 2 (one thread) and value 2 (scheduler time); see
/// `CPUCLOCK_PERTHREAD_MASK` and `CPUCLOCK_SCHED` in the kernel's posix-timers.h.
fn cpu_clock(tid: i32) -> libc::clockid_t {
    (!tid << 3) | 6
}

/// CPU time of a thread of this process in nanoseconds; 0 when it has ended. Safe in a signal handler.
pub fn thread_cpu_nanos(tid: i32) -> u64 {
    clock_nanos(cpu_clock(tid))
}

/// CPU time of the current thread in nanoseconds. Safe in a signal handler.
pub fn current_cpu_nanos() -> u64 {
    clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The monotonic clock of the system in nanoseconds, by which the JDK's Flight Recorder times events too. Safe in a
/// signal handler.
pub fn monotonic_nanos() -> u64 {
    clock_nanos(libc::CLOCK_MONOTONIC)
}

/// A clock's time in nanoseconds; 0 when there is no such clock. Safe in a signal handler.
fn clock_nanos(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return 0;
    }
    (time.tv_sec as u64)
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec as u64)
}

/// CPU time of this process in nanoseconds, threads that have ended included.
pub fn process_cpu_nanos() -> u64 {
    clock_nanos(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The members of `siginfo_t` for a timer (`man 2 sigaction`); the libc crate
/// does not show the overrun count. With `SI_QUEUE`, the value has the same place.
#[repr(C)]
pub struct TimerInfo {
    signal: i32,
    errno: i32,
    /// `SI_TIMER` if a timer sent the signal, `SI_QUEUE` for [`super::signals::send`].
    pub code: i32,
    padding: i32,
    timer: i32,
    /// Expiries that found the signal pending.
    pub overrun: i32,
    /// The value given to [`create`].
    pub value: usize,
}

/// Creates a timer on the CPU clock of `tid`, whose signal goes to that thread and carries `value`.
///
/// # Errors
/// The kernel's error; `EAGAIN` when `ulimit -i` is reached.
pub fn create(tid: i32, value: usize, signal: i32) -> io::Result<TimerId> {
    if Fault::NoTimers.is_wanted() {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    }
    create_on(cpu_clock(tid), tid, value, signal)
}

/// As [`create`], on the monotonic clock of the system, whose timers do not wait for the scheduler's tick.
///
/// # Errors
/// The kernel's error; `EAGAIN` when `ulimit -i` is reached.
pub fn create_on_wall(tid: i32, value: usize, signal: i32) -> io::Result<TimerId> {
    create_on(libc::CLOCK_MONOTONIC, tid, value, signal)
}

fn create_on(clock: libc::clockid_t, tid: i32, value: usize, signal: i32) -> io::Result<TimerId> {
    // SAFETY: a sigevent of zero bytes is valid.
    let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_notify_thread_id = tid;
    event.sigev_signo = signal;
    event.sigev_value = libc::sigval {
        sival_ptr: value as *mut libc::c_void,
    };
    let mut id: i32 = -1;
    // SAFETY: the kernel reads the event and writes the id, both locals.
    let result =
        unsafe { libc::syscall(libc::SYS_timer_create, clock, &raw mut event, &raw mut id) };
    if result == 0 {
        Ok(TimerId(id))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns true if an error of [`create`] or [`start`] says that the thread has ended: where [`probe`]
/// succeeds, the kernel refuses with these only the clock of a thread that is not there
/// (`pid_for_clock` in the kernel's posix-cpu-timers.c).
pub fn has_ended(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ESRCH))
}

/// Starts the timer, with its first expiry `first` nanoseconds from now on its clock, and then one each `interval`; no
/// more if that is zero. Safe in a signal handler.
///
/// # Errors
/// The kernel's error: there is no such timer.
pub fn start(id: TimerId, first: u64, interval: Duration) -> io::Result<()> {
    if Fault::NoSignals.is_wanted() {
        return Ok(());
    }
    let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let spec = libc::itimerspec {
        it_interval: timespec(nanos),
        it_value: timespec(first.max(1)),
    };
    // SAFETY: the kernel reads the specification, a local.
    let result = unsafe {
        libc::syscall(
            libc::SYS_timer_settime,
            id.0,
            0,
            &raw const spec,
            std::ptr::null_mut::<u8>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Deletes a timer; an error can only mean that it was deleted already.
pub fn delete(id: TimerId) {
    // SAFETY: the call takes a number only.
    unsafe { libc::syscall(libc::SYS_timer_delete, id.0) };
}

/// Tries whether this kernel gives timers on a thread's CPU clock at all.
///
/// # Errors
/// The kernel's error.
pub fn probe() -> io::Result<()> {
    // SAFETY: the call has no arguments and cannot fail.
    let tid = unsafe { libc::gettid() };
    create_on(cpu_clock(tid), tid, 0, libc::SIGPROF).map(delete)
}

fn timespec(nanos: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    }
}

/// Nanoseconds between two looks of the kernel at the timers of a running
/// thread: the scheduler tick, which is also the resolution of the coarse clock.
pub fn scheduler_tick_nanos() -> u64 {
    let mut resolution = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `resolution` is writable.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut resolution) };
    if result == 0 && resolution.tv_sec == 0 {
        resolution.tv_nsec as u64
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::{sleep, spawn};

    use super::*;

    /// Repeats a call until it fails, and gives its error.
    fn error_of<T>(mut call: impl FnMut() -> io::Result<T>, undo: impl Fn(T)) -> io::Error {
        for _ in 0..5000 {
            match call() {
                Ok(result) => undo(result),
                Err(error) => return error,
            }
            sleep(Duration::from_millis(1));
        }
        panic!("the call succeeds for a thread that has ended");
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs timers")]
    fn a_thread_that_has_ended_is_told_from_one_without_a_timer() {
        let (send_tid, tids) = channel();
        let (end, wait) = channel::<()>();
        let thread = spawn(move || {
            // SAFETY: the call has no arguments and cannot fail.
            send_tid.send(unsafe { libc::gettid() }).unwrap();
            let _ = wait.recv();
        });
        let tid = tids.recv().unwrap();
        let timer = create(tid, 0, libc::SIGPROF).unwrap();
        drop(end);
        thread.join().unwrap();

        // The kernel takes a moment to forget a thread that was joined.
        let refused = error_of(|| create(tid, 0, libc::SIGPROF), delete);
        assert!(has_ended(&refused), "{refused}");
        // An hour of CPU time never comes.
        let hour = Duration::from_secs(3600);
        let refused = error_of(|| start(timer, 3_600_000_000_000, hour), drop);
        assert!(has_ended(&refused), "{refused}");
        delete(timer);
        assert!(!has_ended(&io::Error::from_raw_os_error(libc::EAGAIN)));
    }
}
