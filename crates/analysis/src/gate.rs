//! A gate at which the threads of this process wait while its memory is let go of.
//!
//! A thread that reads maps of files in any order brings pages back faster than another thread can let
//! go of them, as each page fault maps the pages around the one that is touched too. So a thread that reads or
//! writes large arrays in any order asks at the gate, once for each object, and waits while it is closed. A
//! limit of memory holds for a process, so there is one gate for all stores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of those who keep the gate closed.
static CLOSED: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static OPENED: Condvar = Condvar::new();

/// No thread waits longer. To let go of gigabytes takes a fraction of this.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits while the gate is closed. To find it open takes a load.
#[inline(always)]
pub(crate) fn pass() {
    if CLOSED.load(Ordering::Relaxed) != 0 {
        wait();
    }
}

#[cold]
#[inline(never)]
fn wait() {
    let is_closed = |(): &mut ()| CLOSED.load(Ordering::Relaxed) != 0;
    // After a timeout the thread continues as well: the gate bounds memory, and no result depends on it.
    let _ = OPENED.wait_timeout_while(lock(), PATIENCE, is_closed);
}

fn lock() -> MutexGuard<'static, ()> {
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The gate is closed as long as this is there.
#[derive(Debug)]
pub(crate) struct Closed(());

/// Closes the gate. The thread that does so must not ask at it before it is open again.
pub(crate) fn close() -> Closed {
    CLOSED.fetch_add(1, Ordering::Relaxed);
    Closed(())
}

impl Drop for Closed {
    fn drop(&mut self) {
        // Under the lock, so that no thread begins to wait between the change and the call.
        let _guard = lock();
        CLOSED.fetch_sub(1, Ordering::Relaxed);
        OPENED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn threads_wait_until_everybody_has_opened_the_gate() {
        let (first, second) = (close(), close());
        let (sender, passed) = mpsc::channel();
        std::thread::spawn(move || {
            pass();
            let _ = sender.send(());
        });
        let soon = Duration::from_millis(20);
        assert!(passed.recv_timeout(soon).is_err());
        drop(first);
        assert!(passed.recv_timeout(soon).is_err());
        drop(second);
        assert_eq!(passed.recv_timeout(PATIENCE), Ok(()));
        pass();
    }
}
