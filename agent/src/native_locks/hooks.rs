//! The functions that stand for those of the C library, and what they lead to.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::time::{Duration, Instant};

use libc::{pthread_mutex_t, pthread_rwlock_t};

use crate::native_calls::{Capture, Inside, StackId, Stacks, end_in_child};
use crate::os::imports::{Import, address_of};
use crate::os::signals::keep_errno;

/// A function that waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum Function {
    Mutex,
    Read,
    Write,
}

impl Function {
    const ALL: [Self; 3] = [Self::Mutex, Self::Read, Self::Write];

    pub(super) fn from_number(number: u8) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|it| *it as u8 == number).unwrap_or(Self::Mutex)
    }

    fn symbol(self) -> &'static CStr {
        match self {
            Self::Mutex => c"pthread_mutex_lock",
            Self::Read => c"pthread_rwlock_rdlock",
            Self::Write => c"pthread_rwlock_wrlock",
        }
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
        }
    }
}

/// The entries of import tables that lead to the hooks.
pub(super) fn imports() -> Vec<Import> {
    let import = |function: Function| Import {
        name: function.symbol(),
        original: address_of(function.symbol()),
        hook: function.hook(),
        not_in: 0,
        only_in: 0,
    };
    Function::ALL.into_iter().map(import).collect()
}

/// Waits are recorded. The child of a fork records none.
static IS_ON: AtomicBool = AtomicBool::new(false);

static STATE: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

/// The state that hooks record into. Leaked, since a hook may be late.
pub(super) struct State {
    pub(super) capture: Capture,
    pub(super) stacks: Stacks,
    /// The shortest wait that counts, in nanoseconds.
    threshold: AtomicU64,
    /// Waits that were shorter.
    below: AtomicU64,
    /// The number of times that recording began: what a wait has found is of the time in which it began.
    epoch: AtomicU32,
    /// Hooks that use the tables of stacks now. None does while it waits.
    inside: AtomicUsize,
}

/// A wait that has begun.
struct Wait {
    began: Instant,
    epoch: u32,
    stack: StackId,
}

impl State {
    /// The one state of this process.
    pub(super) fn the() -> &'static Self {
        if let Some(state) = Self::get() {
            return state;
        }
        let state = Box::into_raw(Box::new(Self {
            capture: Capture::default(),
            stacks: Stacks::new(),
            threshold: AtomicU64::new(0),
            below: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            inside: AtomicUsize::new(0),
        }));
        STATE.store(state, Ordering::Release);
        // SAFETY: it has just been leaked. The child of a fork has none of the agent's threads.
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
            &*state
        }
    }

    fn get() -> Option<&'static Self> {
        let state = STATE.load(Ordering::Acquire);
        // SAFETY: null, or leaked.
        unsafe { state.as_ref() }
    }

    /// Begins a recording of waits that are as long or longer: all is forgotten.
    pub(super) fn begin(&self, threshold: Duration) {
        self.pause();
        self.stacks.clear();
        self.below.store(0, Ordering::Relaxed);
        let nanos = u64::try_from(threshold.as_nanos()).unwrap_or(u64::MAX);
        self.threshold.store(nanos, Ordering::Relaxed);
    }

    /// Waits that begin from now on are recorded.
    pub(super) fn resume(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        IS_ON.store(true, Ordering::SeqCst);
    }

    /// No wait is recorded from now on, also of those under way.
    pub(super) fn pause(&self) {
        IS_ON.store(false, Ordering::SeqCst);
        while self.inside.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }

    pub(super) fn is_on(&self) -> bool {
        IS_ON.load(Ordering::Relaxed)
    }

    /// Waits that were shorter than the threshold.
    pub(super) fn below(&self) -> u64 {
        self.below.load(Ordering::Relaxed)
    }

    /// Calls `body`, which may use the tables, unless nothing is recorded.
    fn with<T>(&self, body: impl FnOnce() -> Option<T>) -> Option<T> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let result = match IS_ON.load(Ordering::SeqCst) {
            true => body(),
            false => None,
        };
        self.inside.fetch_sub(1, Ordering::SeqCst);
        result
    }

    fn begins(&self, function: Function) -> Option<Wait> {
        let began = Instant::now();
        self.with(|| {
            Some(Wait {
                began,
                epoch: self.epoch.load(Ordering::SeqCst),
                stack: self.capture.take(function as u8, &self.stacks),
            })
        })
    }

    fn ends(&self, wait: &Wait) {
        let nanos = u64::try_from(wait.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let _ = self.with(|| {
            if self.epoch.load(Ordering::SeqCst) == wait.epoch {
                if nanos < self.threshold.load(Ordering::Relaxed) {
                    self.below.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.stacks.add(wait.stack, nanos, 1);
                }
            }
            Some(())
        });
    }
}

/// The child of a fork records nothing.
unsafe extern "C" fn in_child() {
    end_in_child();
    IS_ON.store(false, Ordering::SeqCst);
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
    // A mutex whose owner has died belongs to the thread too.
    if let (Some((state, wait)), 0 | libc::EOWNERDEAD) = (&begun, code) {
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
    if !IS_ON.load(Ordering::Relaxed) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of the C library are those of the hooks: for a mutex that its owner takes again, one whose owner has died,
    /// and a lock that the thread holds.
    #[test]
    #[cfg_attr(miri, ignore = "calls the C library")]
    fn results_are_those_of_the_c_library() {
        // SAFETY: the locks are initialized before they are used, by this thread and one that ends meanwhile.
        unsafe {
            for is_on in [false, true] {
                IS_ON.store(is_on, Ordering::SeqCst);
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
            IS_ON.store(false, Ordering::SeqCst);
        }
    }
}
