//! Threads that block the signal of the signal engine: no sample ever comes of them.
//!
//! A native library may block signals on threads that it uses. The signal stays pending then. The VM is asked for the
//! stacks of such threads, as the safepoint engine does, until a signal gets through.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::SamplesRecorder;
use crate::cpu_samples::engine::Engine;
use crate::cpu_samples::safepoint::SafepointSampler;
use crate::cpu_samples::signal::SlotToken;
use crate::os::signals::Installed;
use crate::os::{task, timer};
use crate::recording::Run;
use crate::report;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Threads that one look is at; the next one is at others. Each takes half a microsecond.
const MAX_THREADS: usize = 1024;
/// Threads that are named.
const MAX_NAMES: usize = 3;

/// The threads that block the signal, as far as they are known.
#[derive(Default)]
pub(super) struct DeafThreads {
    /// Threads that are sampled at safepoints, by serial.
    threads: HashMap<u32, Deaf>,
    found: u64,
    looked: Option<Instant>,
    /// The serial of the last thread that was looked at.
    last: u32,
    is_reported: bool,
    is_end_reported: bool,
}

#[derive(Clone, Copy)]
struct Deaf {
    slot: SlotToken,
    tid: i32,
}

impl DeafThreads {
    /// None is sampled at safepoints.
    pub(super) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Threads that were found to block the signal.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// The CPU clock of a thread that is sampled at safepoints, in nanoseconds.
    pub(super) fn cpu_nanos(&self, serial: u32) -> Option<u64> {
        let thread = self.threads.get(&serial)?;
        Some(timer::thread_cpu_nanos(thread.tid)).filter(|&nanos| nanos != 0)
    }

    /// Counts these threads, by kernel thread id, and says so once.
    pub(super) fn report(&mut self, tids: &[i32], installed: Installed) {
        self.found += tids.len() as u64;
        if tids.is_empty() || std::mem::replace(&mut self.is_reported, true) {
            return;
        }
        let names = tids
            .iter()
            .take(MAX_NAMES)
            .filter_map(|&tid| task::name(tid));
        let names: Vec<String> = names.map(|name| quoted(&name)).collect();
        let (threads, their) = match tids.len() {
            1 => (format!("thread {} blocks", names.join("")), "its"),
            count => (
                format!("{count} threads, such as {}, block", names.join(", ")),
                "their",
            ),
        };
        report::note(&format!(
            "{threads} signal {}: {their} stacks are taken at safepoints, which is biased; \
             choose another signal with signal=",
            installed.signal(),
        ));
    }
}

impl SamplesRecorder {
    /// Looks for threads that block the signal, if that is due, or `now`. They are sampled at safepoints from now on.
    pub(super) fn look_for_deaf_threads(&mut self, run: &Run, now: bool) {
        let Engine::Signal(engine, installed) = self.sampling.engine() else {
            return;
        };
        let is_due = self
            .deaf
            .looked
            .is_none_or(|looked| looked.elapsed() >= EVERY);
        if self.apart.is_wall()
            || run.settings.event.is_some()
            || self.is_stopped
            || !is_due && !now
        {
            return;
        }
        self.deaf.looked = Some(Instant::now());
        self.deaf
            .threads
            .retain(|_, thread| engine.is_deaf(thread.slot));
        let mut live = run.threads.live();
        live.sort_unstable_by_key(|thread| thread.serial);
        let first = live.partition_point(|thread| thread.serial.get() <= self.deaf.last);
        live.rotate_left(first);
        live.truncate(MAX_THREADS);
        self.deaf.last = live.last().map_or(0, |thread| thread.serial.get());
        let (interval, depth) = (run.settings.interval, self.depth);
        let mut found = Vec::new();
        for thread in live {
            let Some(slot) = thread.slot else {
                continue;
            };
            let Some((tid, moments)) = engine.turns_deaf(slot, installed) else {
                continue;
            };
            let serial = thread.serial.get();
            self.safepoint
                .get_or_insert_with(|| SafepointSampler::new(interval, depth))
                .adopt(serial, moments);
            self.deaf.threads.insert(serial, Deaf { slot, tid });
            found.push(tid);
        }
        if self.deaf.is_empty() {
            self.safepoint = None;
        }
        self.deaf.report(&found, installed);
        let ended = engine.ended_deaf();
        if now && ended > 0 && !std::mem::replace(&mut self.deaf.is_end_reported, true) {
            report::note(&format!(
                "{ended} threads that have ended blocked signal {}, so the profile lacks their CPU time; \
                 choose another signal with signal=",
                installed.signal()
            ));
        }
    }
}

/// A thread's name, whatever it holds.
fn quoted(name: &str) -> String {
    let name: String = name.chars().filter(|it| !it.is_control()).collect();
    format!("\"{name}\"")
}
