//! Choosing a signal, and installing and removing its handler.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use super::task;
use crate::vm::Fault;

/// The number of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalNumber(pub i32);

/// The handler in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installed {
    signal: i32,
    /// The action before: the default one, or to ignore it.
    was: usize,
}

/// Why no signal could be had.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    /// The signal that the user asked for has a handler.
    #[error("signal {0} already has a handler in this process; choose another with signal=")]
    Taken(i32),
    /// Each of the signals that are tried has a handler.
    #[error("SIGSTKFLT and the signals used in its place all have handlers in this process")]
    AllTaken,
    /// The kernel says no.
    #[error("signal {0} cannot be handled: {1}")]
    Refused(i32, std::io::Error),
}

/// `struct sigaction` as the kernel has it; the C library hides the restorer.
#[repr(C)]
#[derive(Default)]
struct KernelAction {
    handler: usize,
    flags: usize,
    restorer: usize,
    mask: u64,
}

/// A handler as `sigaction` takes it.
pub type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);

impl Installed {
    /// The signal's number.
    pub fn signal(self) -> i32 {
        self.signal
    }

    /// Where the handler returns to: a piece of the C library that ends signal
    /// handlers, the same for all of them. 0 when the kernel does not tell.
    pub fn restorer(self) -> usize {
        let mut action = KernelAction::default();
        // SAFETY: the kernel only writes the action, whose layout this is; the
        // size of a signal set is eight bytes.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                self.signal,
                std::ptr::null::<KernelAction>(),
                &raw mut action,
                size_of::<u64>(),
            )
        };
        if result == 0 { action.restorer } else { 0 }
    }

    /// Takes the handler away, if it is still there. No timer of ours may be left:
    /// signals that are still on their way are dropped.
    pub fn remove(self, handler: Handler) {
        if !self.is_handled_by(handler) {
            return;
        }
        // Ignoring a signal drops those that are pending (POSIX, sigaction); the
        // default action of most is the end of the process.
        for action in [libc::SIG_IGN, self.was] {
            // SAFETY: sets an action that needs no handler.
            unsafe { libc::signal(self.signal, action) };
        }
    }

    /// Returns true if `handler` still gets the signal: another library may have replaced it.
    pub fn is_handled_by(self, handler: Handler) -> bool {
        handler_of(self.signal).is_ok_and(|current| current == handler as usize)
    }
}

/// The signals to choose from, the best first.
///
/// No program, library or kernel of today sends SIGSTKFLT, a number from the time of coprocessors. SIGPWR is an init's.
/// SIGPROF comes last, though no worse: Flight Recorder of JDK 25 and async-profiler want it, and do nothing if it is
/// taken.
pub fn candidates() -> [SignalNumber; 4] {
    let real_time = libc::SIGRTMIN().saturating_add(12);
    [libc::SIGSTKFLT, real_time, libc::SIGPWR, libc::SIGPROF].map(SignalNumber)
}

/// Installs `handler` for the wanted signal, or for that of the [`candidates`] which has no handler and which the fewest
/// threads block.
///
/// # Errors
/// [`SignalError`] when the signal, or each of the usual ones, has an owner.
pub fn install(wanted: Option<SignalNumber>, handler: Handler) -> Result<Installed, SignalError> {
    if let Some(SignalNumber(signal)) = wanted {
        return if is_free(signal)? {
            set(signal, handler)
        } else {
            Err(SignalError::Taken(signal))
        };
    }
    let masks = task::blocked_signals_of_all();
    let blocking = |signal: SignalNumber| masks.iter().filter(|mask| mask.has(signal)).count();
    let free = candidates().into_iter().filter_map(|signal| {
        let is_free = is_free(signal.0);
        is_free.map(|free| free.then_some(signal)).transpose()
    });
    let free: Vec<SignalNumber> = free.collect::<Result<_, _>>()?;
    let best = free.into_iter().min_by_key(|&signal| blocking(signal));
    set(best.ok_or(SignalError::AllTaken)?.0, handler)
}

/// The signals that a thread blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalMask(pub u64);

impl SignalMask {
    /// Returns true if the signal is blocked.
    pub fn has(self, signal: SignalNumber) -> bool {
        let bit = u32::try_from(signal.0)
            .ok()
            .and_then(|it| it.checked_sub(1));
        bit.and_then(|bit| self.0.checked_shr(bit))
            .is_some_and(|rest| rest & 1 == 1)
    }
}

/// Returns true if the current thread blocks the signal.
pub fn is_blocked(signal: i32) -> bool {
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is a local, of zero bytes at first, which are the empty set; the call only reads the mask.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
        libc::sigismember(mask.as_ptr(), signal) == 1
    }
}

/// Lets the current thread have the signal, and tells whether it had blocked it: a thread inherits the mask of the
/// thread that started it.
pub fn unblock(signal: i32) -> bool {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are locals, of zero bytes at first, which are the empty set; the call changes the mask of this
    // thread only.
    unsafe {
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), before.as_mut_ptr());
        libc::sigismember(before.as_ptr(), signal) == 1
    }
}

fn set(signal: i32, handler: Handler) -> Result<Installed, SignalError> {
    let was = handler_of(signal)?;
    // SAFETY: a sigaction of zero bytes is valid.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as usize;
    // SA_ONSTACK: code such as Go's runs on small stacks and gives the thread an
    // alternate one for handlers; without such a stack the flag does nothing.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the action is valid, and the handler keeps the rules for handlers.
    if unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } != 0 {
        return Err(SignalError::Refused(
            signal,
            std::io::Error::last_os_error(),
        ));
    }
    if Fault::NoHandler.is_wanted() {
        // SAFETY: sets an action that needs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    Ok(Installed { signal, was })
}

fn is_free(signal: i32) -> Result<bool, SignalError> {
    let handler = handler_of(signal)?;
    Ok(handler == libc::SIG_DFL || handler == libc::SIG_IGN)
}

/// The address of the handler of a signal, `SIG_DFL` or `SIG_IGN`.
///
/// # Errors
/// There is no such signal.
pub fn handler_of(signal: i32) -> Result<usize, SignalError> {
    // SAFETY: a sigaction of zero bytes is valid.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: only reads the current action into the local.
    if unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } != 0 {
        return Err(SignalError::Refused(
            signal,
            std::io::Error::last_os_error(),
        ));
    }
    Ok(action.sa_sigaction)
}

/// Sends a signal with a value to a thread of this process, as `sigqueue` does.
///
/// # Errors
/// The kernel's error: there is no such thread, or too many signals are pending.
pub fn send(tid: i32, signal: i32, value: usize) -> std::io::Result<()> {
    // SAFETY: the call has no arguments and cannot fail.
    let process = unsafe { libc::getpid() };
    // SAFETY: a siginfo_t of zero bytes is valid.
    let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
    info.si_signo = signal;
    info.si_code = libc::SI_QUEUE;
    // SAFETY: siginfo_t is larger than the view of it, in which the value has the place that the kernel
    // reads (`man 2 rt_sigqueueinfo`).
    unsafe {
        let view = (&raw mut info).cast::<super::timer::TimerInfo>();
        (*view).value = value;
    }
    // SAFETY: the kernel reads the structure, a local.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            process,
            tid,
            signal,
            &raw const info,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Runs the body of a signal handler; `errno` is as it was afterwards.
#[inline]
pub fn keep_errno(body: impl FnOnce()) {
    // SAFETY: __errno_location returns this thread's errno, which is plain memory.
    let errno_at = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let errno = unsafe { *errno_at };
    body();
    // SAFETY: as above.
    unsafe { *errno_at = errno };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{self, Process, StartTime};

    #[test]
    fn a_mask_begins_with_signal_1() {
        let mask = SignalMask(1 << 15 | 1 << 63);
        let has = |signal| mask.has(SignalNumber(signal));
        assert!(has(libc::SIGSTKFLT) && has(64) && !has(17) && !has(0) && !has(-1) && !has(65));
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs /proc")]
    fn a_blocked_signal_is_seen_and_unblocked() {
        let signal = libc::SIGRTMIN() + 8;
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is a local; the mask is that of this thread.
        let tid = unsafe {
            libc::sigaddset(set.as_mut_ptr(), signal);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            libc::gettid()
        };
        let is_blocked = || {
            task::blocked_signals(tid)
                .unwrap()
                .has(SignalNumber(signal))
        };
        assert!(is_blocked() && super::is_blocked(signal));
        assert!(unblock(signal));
        assert!(!is_blocked() && !unblock(signal));
    }

    #[test]
    fn the_option_takes_each_candidate() {
        for SignalNumber(signal) in candidates() {
            let process = Process {
                pid: 1,
                start: StartTime::local(std::time::SystemTime::now()),
            };
            let text = format!("cpu=samples,signal={signal}");
            let settings = options::load_late(&text, &process).unwrap().unwrap();
            assert_eq!(settings.signal, Some(signal));
        }
    }
}
