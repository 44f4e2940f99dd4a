//! The functions that stand for those of the C library.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use libc::{clockid_t, pthread_mutex_t, pthread_rwlock_t, timespec};

use super::state::{GATE, State};
use crate::native_calls::Inside;
use crate::os::imports::{Import, address_of};
use crate::os::signals::keep_errno;

/// A function that waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum Function {
    Mutex,
    Read,
    Write,
    TimedMutex,
    TimedRead,
    TimedWrite,
    ClockMutex,
    ClockRead,
    ClockWrite,
}

/// The functions themselves, by number. Not every C library has those with a limit, so that nothing links to them.
static ORIGINALS: [AtomicUsize; Function::ALL.len()] =
    [const { AtomicUsize::new(0) }; Function::ALL.len()];

impl Function {
    const ALL: [Self; 9] = [
        Self::Mutex,
        Self::Read,
        Self::Write,
        Self::TimedMutex,
        Self::TimedRead,
        Self::TimedWrite,
        Self::ClockMutex,
        Self::ClockRead,
        Self::ClockWrite,
    ];

    pub(super) fn from_number(number: u8) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|it| *it as u8 == number).unwrap_or(Self::Mutex)
    }

    fn symbol(self) -> &'static CStr {
        match self {
            Self::Mutex => c"pthread_mutex_lock",
            Self::Read => c"pthread_rwlock_rdlock",
            Self::Write => c"pthread_rwlock_wrlock",
            Self::TimedMutex => c"pthread_mutex_timedlock",
            Self::TimedRead => c"pthread_rwlock_timedrdlock",
            Self::TimedWrite => c"pthread_rwlock_timedwrlock",
            Self::ClockMutex => c"pthread_mutex_clocklock",
            Self::ClockRead => c"pthread_rwlock_clockrdlock",
            Self::ClockWrite => c"pthread_rwlock_clockwrlock",
        }
    }

    /// The address of the function itself. Not 0 in its hook, which only import tables with that address lead to.
    fn original(self) -> usize {
        ORIGINALS
            .get(self as usize)
            .map_or(0, |it| it.load(Ordering::Relaxed))
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        self.symbol().to_str().unwrap_or_default()
    }

    fn hook(self) -> usize {
        match self {
            Self::Mutex => mutex_lock as *const () as usize,
            Self::Read => rwlock_rdlock as *const () as usize,
            Self::Write => rwlock_wrlock as *const () as usize,
            Self::TimedMutex => mutex_timedlock as *const () as usize,
            Self::TimedRead => rwlock_timedrdlock as *const () as usize,
            Self::TimedWrite => rwlock_timedwrlock as *const () as usize,
            Self::ClockMutex => mutex_clocklock as *const () as usize,
            Self::ClockRead => rwlock_clockrdlock as *const () as usize,
            Self::ClockWrite => rwlock_clockwrlock as *const () as usize,
        }
    }
}

/// The entries of import tables that lead to the hooks.
pub(super) fn imports() -> Vec<Import> {
    for (function, original) in Function::ALL.into_iter().zip(&ORIGINALS) {
        original.store(address_of(function.symbol()), Ordering::Relaxed);
    }
    let import = |function: Function| Import {
        name: function.symbol(),
        original: function.original(),
        hook: function.hook(),
        not_in: 0,
        only_in: 0,
    };
    Function::ALL.into_iter().map(import).collect()
}

/// Waits for a lock that another thread has, or that the current one has already.
#[cold]
#[inline(never)]
fn wait(function: Function, lock: impl FnOnce() -> c_int) -> c_int {
    let mut begun = None;
    if let (Some(state), Some(inside)) = (State::get(), Inside::enter()) {
        keep_errno(|| begun = state.begins(function).map(|wait| (state, wait)));
        drop(inside);
    }
    let code = lock();
    // A mutex whose owner has died belongs to the thread too, and one that was not got in time was waited for.
    if let (Some((state, wait)), 0 | libc::EOWNERDEAD | libc::ETIMEDOUT) = (&begun, code) {
        keep_errno(|| state.ends(wait));
    }
    code
}

/// Takes a lock if it is free, and else waits for it. What `attempt` finds wrong, `lock` says in its own way.
#[inline]
fn take(
    function: Function,
    attempt: impl FnOnce() -> c_int,
    lock: impl FnOnce() -> c_int,
) -> c_int {
    if !GATE.is_open() {
        return lock();
    }
    match attempt() {
        code @ (0 | libc::EOWNERDEAD) => code,
        libc::EBUSY => wait(function, lock),
        _ => lock(),
    }
}

/// The place of a mutex's kind in glibc, and the bit of robust ones (`__kind` and `PTHREAD_MUTEX_ROBUST_NORMAL_NP`).
#[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
const KIND: (usize, i32) = (16, 16);

/// Returns true for mutexes that only `pthread_mutex_lock` may take: where the owner of a robust mutex has died for good, glibc's
/// `pthread_mutex_trylock` fails and keeps the mutex locked, so that others wait for ever instead of failing too.
///
/// # Safety
/// There is a mutex at the address.
#[inline]
unsafe fn is_robust(mutex: *mut pthread_mutex_t) -> bool {
    #[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
    {
        let (offset, bit) = KIND;
        let kind = mutex.wrapping_byte_add(offset).cast::<i32>();
        // SAFETY: the place is an aligned part of the mutex, which glibc reads and writes as a whole.
        let kind = unsafe { AtomicI32::from_ptr(kind) };
        kind.load(Ordering::Relaxed) & bit != 0
    }
    #[cfg(not(all(target_env = "gnu", target_pointer_width = "64")))]
    {
        let _ = mutex;
        false
    }
}

// The functions below have the contracts of those that they call, with the caller's arguments.

unsafe extern "C" fn mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: by the caller's promise.
    if unsafe { is_robust(mutex) } {
        // SAFETY: by the caller's promise.
        return unsafe { libc::pthread_mutex_lock(mutex) };
    }
    take(
        Function::Mutex,
        // SAFETY: by the caller's promise.
        || unsafe { libc::pthread_mutex_trylock(mutex) },
        // SAFETY: by the caller's promise.
        || unsafe { libc::pthread_mutex_lock(mutex) },
    )
}

unsafe extern "C" fn rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int {
    take(
        Function::Read,
        // SAFETY: by the caller's promise.
        || unsafe { libc::pthread_rwlock_tryrdlock(lock) },
        // SAFETY: by the caller's promise.
        || unsafe { libc::pthread_rwlock_rdlock(lock) },
    )
}

unsafe extern "C" fn rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int {
    take(
        Function::Write,
        // SAFETY: by the caller's promise.
        || unsafe { libc::pthread_rwlock_trywrlock(lock) },
        // SAFETY: by the caller's promise.
        || unsafe { libc::pthread_rwlock_wrlock(lock) },
    )
}

/// Hooks of the functions that give up at a moment: of the clock of the wall, or of one that the caller names.
macro_rules! with_limit {
    ($($timed:ident $clocked:ident: $lock:ty, $timed_as:ident, $clocked_as:ident, $attempt:path, $is_passed_on:expr;)+) => {$(
        unsafe extern "C" fn $timed(lock: *mut $lock, until: *const timespec) -> c_int {
            type Itself = unsafe extern "C" fn(*mut $lock, *const timespec) -> c_int;
            // SAFETY: the address of a function of this type, see `Function::original`; the arguments are the caller's.
            let itself = || unsafe {
                std::mem::transmute::<usize, Itself>(Function::$timed_as.original())(lock, until)
            };
            if $is_passed_on(lock) {
                return itself();
            }
            // SAFETY: by the caller's promise.
            take(Function::$timed_as, || unsafe { $attempt(lock) }, itself)
        }

        unsafe extern "C" fn $clocked(lock: *mut $lock, clock: clockid_t, until: *const timespec) -> c_int {
            type Itself = unsafe extern "C" fn(*mut $lock, clockid_t, *const timespec) -> c_int;
            // SAFETY: as above.
            let itself = || unsafe {
                std::mem::transmute::<usize, Itself>(Function::$clocked_as.original())(lock, clock, until)
            };
            // A clock that the function refuses is refused for a free lock too.
            let is_known = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC);
            if !is_known || $is_passed_on(lock) {
                return itself();
            }
            // SAFETY: by the caller's promise.
            take(Function::$clocked_as, || unsafe { $attempt(lock) }, itself)
        }
    )+};
}

with_limit! {
    // SAFETY: by the caller's promise, there is a mutex.
    mutex_timedlock mutex_clocklock: pthread_mutex_t, TimedMutex, ClockMutex, libc::pthread_mutex_trylock, |it| unsafe { is_robust(it) };
    rwlock_timedrdlock rwlock_clockrdlock: pthread_rwlock_t, TimedRead, ClockRead, libc::pthread_rwlock_tryrdlock, |_| false;
    rwlock_timedwrlock rwlock_clockwrlock: pthread_rwlock_t, TimedWrite, ClockWrite, libc::pthread_rwlock_trywrlock, |_| false;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions with a limit return what the C library does, for free locks, held ones, and clocks and times that they refuse.
    #[test]
    #[cfg_attr(miri, ignore = "calls the C library")]
    fn limits_are_those_of_the_c_library() {
        let _ = imports();
        let past = timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let wrong = timespec {
            tv_sec: 1,
            tv_nsec: -1,
        };
        // SAFETY: the locks are initialized, and used by this thread and one that ends meanwhile.
        unsafe {
            for is_on in [false, true] {
                if is_on {
                    GATE.open();
                }
                let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
                let mut lock = libc::PTHREAD_RWLOCK_INITIALIZER;
                let (at, lock_at) = (&raw mut mutex, &raw mut lock);
                assert_eq!(mutex_timedlock(at, &raw const past), 0);
                assert_eq!(mutex_timedlock(at, &raw const past), libc::ETIMEDOUT);
                assert_eq!(mutex_timedlock(at, &raw const wrong), libc::EINVAL);
                if Function::ClockMutex.original() != 0 {
                    let (monotonic, cpu) = (libc::CLOCK_MONOTONIC, libc::CLOCK_THREAD_CPUTIME_ID);
                    assert_eq!(
                        mutex_clocklock(at, monotonic, &raw const past),
                        libc::ETIMEDOUT
                    );
                    assert_eq!(libc::pthread_mutex_unlock(at), 0);
                    assert_eq!(mutex_clocklock(at, cpu, &raw const past), libc::EINVAL);
                    assert_eq!(mutex_clocklock(at, monotonic, &raw const past), 0);
                }
                assert_eq!(libc::pthread_mutex_unlock(at), 0);

                assert_eq!(rwlock_timedwrlock(lock_at, &raw const past), 0);
                let place = lock_at as usize;
                let other = std::thread::spawn(move || {
                    let lock = place as *mut pthread_rwlock_t;
                    let codes = [
                        rwlock_timedrdlock(lock, &raw const past),
                        rwlock_timedwrlock(lock, &raw const past),
                    ];
                    assert_eq!(codes, [libc::ETIMEDOUT; 2]);
                    if Function::ClockRead.original() != 0 {
                        let clock = libc::CLOCK_MONOTONIC;
                        let codes = [
                            rwlock_clockrdlock(lock, clock, &raw const past),
                            rwlock_clockwrlock(lock, clock, &raw const past),
                        ];
                        assert_eq!(codes, [libc::ETIMEDOUT; 2]);
                    }
                });
                assert!(other.join().is_ok());
                assert_eq!(libc::pthread_rwlock_unlock(lock_at), 0);
                assert_eq!(rwlock_timedrdlock(lock_at, &raw const past), 0);
                assert_eq!(libc::pthread_rwlock_unlock(lock_at), 0);
            }
            GATE.close();
        }
    }

    /// The results of the C library are those of the hooks: for a mutex that its owner takes again, one whose owner has died,
    /// and a lock that the thread holds.
    #[test]
    #[cfg_attr(miri, ignore = "calls the C library")]
    fn results_are_those_of_the_c_library() {
        // SAFETY: the locks are initialized before they are used, by this thread and one that ends meanwhile.
        unsafe {
            for is_on in [false, true] {
                if is_on {
                    GATE.open();
                }
                let mut attributes = std::mem::zeroed();
                libc::pthread_mutexattr_init(&raw mut attributes);
                libc::pthread_mutexattr_settype(
                    &raw mut attributes,
                    libc::PTHREAD_MUTEX_ERRORCHECK,
                );
                let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
                libc::pthread_mutex_init(&raw mut mutex, &raw const attributes);
                assert_eq!(mutex_lock(&raw mut mutex), 0);
                assert_eq!(mutex_lock(&raw mut mutex), libc::EDEADLK);
                assert_eq!(libc::pthread_mutex_unlock(&raw mut mutex), 0);

                libc::pthread_mutexattr_settype(&raw mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
                libc::pthread_mutex_init(&raw mut mutex, &raw const attributes);
                assert_eq!(mutex_lock(&raw mut mutex), 0);
                assert_eq!(mutex_lock(&raw mut mutex), 0);
                assert_eq!(libc::pthread_mutex_unlock(&raw mut mutex), 0);
                assert_eq!(libc::pthread_mutex_unlock(&raw mut mutex), 0);

                libc::pthread_mutexattr_settype(&raw mut attributes, libc::PTHREAD_MUTEX_NORMAL);
                libc::pthread_mutexattr_setrobust(&raw mut attributes, libc::PTHREAD_MUTEX_ROBUST);
                libc::pthread_mutex_init(&raw mut mutex, &raw const attributes);
                let place = &raw mut mutex as usize;
                let owner = std::thread::spawn(move || mutex_lock(place as *mut pthread_mutex_t));
                assert_eq!(owner.join().unwrap(), 0);
                assert_eq!(mutex_lock(&raw mut mutex), libc::EOWNERDEAD);
                // It is unlocked without having been made consistent.
                assert_eq!(libc::pthread_mutex_unlock(&raw mut mutex), 0);
                assert_eq!(mutex_lock(&raw mut mutex), libc::ENOTRECOVERABLE);
                assert_eq!(mutex_lock(&raw mut mutex), libc::ENOTRECOVERABLE);

                let mut lock = libc::PTHREAD_RWLOCK_INITIALIZER;
                assert_eq!(rwlock_wrlock(&raw mut lock), 0);
                assert_eq!(rwlock_wrlock(&raw mut lock), libc::EDEADLK);
                assert_eq!(rwlock_rdlock(&raw mut lock), libc::EDEADLK);
                assert_eq!(libc::pthread_rwlock_unlock(&raw mut lock), 0);
                assert_eq!(rwlock_rdlock(&raw mut lock), 0);
                assert_eq!(rwlock_rdlock(&raw mut lock), 0);
                assert_eq!(libc::pthread_rwlock_unlock(&raw mut lock), 0);
                assert_eq!(libc::pthread_rwlock_unlock(&raw mut lock), 0);
            }
            GATE.close();
        }
    }
}
