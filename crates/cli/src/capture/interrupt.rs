//! Ctrl+C leaves nothing on this machine, and no half upload on the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::render::out::tell;

/// Removes something; gives what to say about it.
type Removal = Box<dyn FnOnce() -> String + Send>;

/// The things to remove, by number.
#[derive(Default)]
struct Leftovers {
    last: u64,
    removals: Vec<(u64, Removal)>,
}

/// Waits for signals that end the command.
#[derive(Clone, Default)]
pub struct Interrupt {
    leftovers: Arc<Mutex<Leftovers>>,
    is_raised: Arc<AtomicBool>,
}

/// Something is to be removed if a signal comes while this is there.
pub struct Leftover {
    interrupt: Interrupt,
    number: u64,
}

impl Drop for Leftover {
    fn drop(&mut self) {
        // A signal holds the lock until the command has ended.
        let number = self.number;
        self.interrupt.lock().removals.retain(|it| it.0 != number);
    }
}

impl Interrupt {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on.
    ///
    /// # Errors
    /// If the system lets none be caught.
    pub fn watch() -> anyhow::Result<Self> {
        let interrupt = Self::default();
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot catch signals")?;
        let waiting = interrupt.clone();
        let thread = thread::Builder::new().name("signals".to_owned());
        thread.spawn(move || {
            if let Some(signal) = signals.forever().next() {
                waiting.end(signal);
            }
        })?;
        Ok(interrupt)
    }

    fn lock(&self) -> MutexGuard<'_, Leftovers> {
        // Every change is a single call.
        self.leftovers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something removed if a signal comes before the result is dropped.
    pub fn removes(&self, removal: impl FnOnce() -> String + Send + 'static) -> Leftover {
        let mut leftovers = self.lock();
        leftovers.last += 1;
        let number = leftovers.last;
        leftovers.removals.push((number, Box::new(removal)));
        Leftover {
            interrupt: self.clone(),
            number,
        }
    }

    /// Returns true if a signal has come.
    pub fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Relaxed)
    }

    /// Never returns if a signal has come: the command ends when all is removed.
    pub fn hold(&self) {
        while self.is_raised() {
            thread::park();
        }
    }

    /// Removes everything, and ends the command as the signal would.
    fn end(&self, signal: i32) {
        self.is_raised.store(true, Ordering::Relaxed);
        let mut leftovers = self.lock();
        tell!("hprof-rs: interrupted");
        // The latest first: it may build on those before.
        while let Some((_, removal)) = leftovers.removals.pop() {
            tell!("hprof-rs: {}", removal());
        }
        std::process::exit(128 + signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_still_there_is_removed() {
        let interrupt = Interrupt::default();
        let first = interrupt.removes(|| "first".to_owned());
        let second = interrupt.removes(|| "second".to_owned());
        drop(first);
        let left: Vec<u64> = interrupt.lock().removals.iter().map(|it| it.0).collect();
        assert_eq!(left, [second.number]);
        interrupt.hold();
    }
}
