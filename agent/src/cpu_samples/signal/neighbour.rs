//! Other profilers in this JVM.
//!
//! Two profilers that sample by signals interrupt each other's handlers, so that stacks end in
//! methods that were not running; and one that takes the signal of the other leaves it without
//! samples. Neither shows in the numbers, so it is said.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use super::SignalEngine;
use super::handler;
use crate::os::signals::{Installed, handler_of};

/// How often to look.
const EVERY: Duration = Duration::from_secs(1);
/// Fewer signals than this may come from a user's `kill`.
const MIN_FOREIGN_SIGNALS: u64 = 10;

/// Looks for other profilers now and then.
#[derive(Debug, Default)]
pub struct Watch {
    looked: Option<Instant>,
    found: Option<String>,
}

impl Watch {
    /// Looks, unless that was just done. Returns a sentence when something is found for the first
    /// time.
    pub fn look(&mut self, engine: &SignalEngine, installed: Installed) -> Option<&str> {
        if self.looked.is_some_and(|looked| looked.elapsed() < EVERY) {
            return None;
        }
        self.look_now(engine, installed)
    }

    /// As [`Self::look`], at once.
    pub fn look_now(&mut self, engine: &SignalEngine, installed: Installed) -> Option<&str> {
        if self.found.is_some() {
            return None;
        }
        self.looked = Some(Instant::now());
        self.found = look(installed, engine.foreign_signals());
        self.found()
    }

    /// The sentence, if anything was found.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }
}

fn look(installed: Installed, foreign: u64) -> Option<String> {
    let signal = installed.signal();
    if !handler::is_in_place(installed) {
        return Some(format!(
            "{} has taken signal {signal} over, so cpu=samples gets no more samples; run one \
             profiler at a time",
            owner(signal)
        ));
    }
    let advice = "stacks can end in methods that were not at work; run one profiler at a time";
    if signal != libc::SIGPROF && is_handled(libc::SIGPROF) && !is_flight_recorder() {
        return Some(format!(
            "{} handles SIGPROF, as profilers do, beside cpu=samples: {advice}",
            owner(libc::SIGPROF)
        ));
    }
    if has_interval_timer() {
        return Some(format!(
            "this process has an interval timer for SIGPROF (setitimer) of another profiler: {advice}"
        ));
    }
    (foreign >= MIN_FOREIGN_SIGNALS).then(|| {
        format!(
            "signal {signal} comes from elsewhere than the timers of cpu=samples, as if another \
             profiler used it: {advice}"
        )
    })
}

/// Returns true if the VM itself handles SIGPROF. Flight Recorder of JDK 25 does (JEP 509): its handler notes where the
/// thread is, and leaves the walk of its stack to a safepoint, so that it is hardly ever interrupted.
fn is_flight_recorder() -> bool {
    let library = handler_of(libc::SIGPROF).ok().and_then(library_of);
    library.is_some_and(|name| name == "libjvm.so")
}

fn is_handled(signal: i32) -> bool {
    handler_of(signal).is_ok_and(|handler| handler != libc::SIG_DFL && handler != libc::SIG_IGN)
}

/// The library that handles a signal, in words.
fn owner(signal: i32) -> String {
    let name = handler_of(signal).ok().and_then(library_of);
    name.map_or_else(
        || "another library".to_owned(),
        |name| format!("another library ({name})"),
    )
}

/// The file name of the library that holds an address.
fn library_of(address: usize) -> Option<String> {
    // SAFETY: a Dl_info of zero bytes is valid.
    let mut found: libc::Dl_info = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: any address may be asked for; the answer goes into the local.
    let result = unsafe { libc::dladdr(address as *const libc::c_void, &raw mut found) };
    if result == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own string, which lives as long as the library.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
    let name = path.rsplit('/').next()?;
    Some(name.chars().filter(|c| !c.is_control()).collect())
}

fn has_interval_timer() -> bool {
    // SAFETY: an itimerval of zero bytes is valid.
    let mut timer: libc::itimerval = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the kernel writes the local.
    let result = unsafe { libc::getitimer(libc::ITIMER_PROF, &raw mut timer) };
    result == 0 && (timer.it_value.tv_sec, timer.it_value.tv_usec) != (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::signals::{SignalNumber, install};

    extern "C" fn other(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {}

    /// Signals that no other test uses, one after the other: handlers belong to the process.
    #[test]
    fn others_are_found_and_named() {
        let signal = libc::SIGRTMIN() + 9;
        let wanted = Some(SignalNumber(signal));
        let installed = install(wanted, handler::on_signal).unwrap();
        assert_eq!(look(installed, MIN_FOREIGN_SIGNALS - 1), None);
        let text = look(installed, MIN_FOREIGN_SIGNALS).unwrap();
        assert!(
            text.contains(&format!("signal {signal} comes from elsewhere")),
            "{text}"
        );
        installed.remove(handler::on_signal);
        let theirs = install(wanted, other).unwrap();
        let text = look(installed, 0).unwrap();
        assert!(
            text.contains(&format!("has taken signal {signal} over")),
            "{text}"
        );
        assert!(text.starts_with("another library (hprof_rs-"), "{text}");
        theirs.remove(other);
    }
}
