//! Why a profile has no samples, or none with a stack.

use std::time::Duration;

use super::{EngineTotals, SamplesRecorder};
use crate::cpu_samples::counts::SampleCounts;
use crate::cpu_samples::engine::Engine;
use crate::cpu_samples::signal::is_in_place;
use crate::recording::{Nothing, Run};

/// Fewer intervals say nothing.
const LEAST_INTERVALS: u32 = 10;

/// The intervals of earlier dumps.
#[derive(Default)]
pub(super) struct Past {
    intervals: u64,
    without_stack: u64,
    /// A request has stopped the mode once.
    pub(super) was_stopped: bool,
}

impl Past {
    /// Adds counts that are about to be cleared.
    pub(super) fn add(&mut self, counts: &SampleCounts) {
        self.intervals += counts.total();
        self.without_stack += without_stack(counts);
    }
}

fn without_stack(counts: &SampleCounts) -> u64 {
    counts.failures().values().sum()
}

impl SamplesRecorder {
    /// Why there are no samples although CPU time was used, or none with a stack. `None` when there are some.
    pub(super) fn why_nothing(&self, run: &Run) -> Option<Nothing> {
        let option = match &run.settings.event {
            _ if self.apart.is_wall() => "cpu=wall".to_owned(),
            Some(sampling) => format!("event={}", sampling.event),
            None => "cpu=samples".to_owned(),
        };
        let intervals = self.past.intervals + self.counts.total();
        let without = self.past.without_stack + without_stack(&self.counts);
        let why = if run.settings.depth == 0 && !self.sampling.is_on() {
            "depth=0 keeps no stacks, so leave it out".to_owned()
        } else if run.settings.event.is_some() && !self.sampling.is_on() {
            return Some(Nothing::reported(format!(
                "{option} is off, as the kernel refuses it; the agent's message says why and what helps"
            )));
        } else if intervals == 0 {
            let Nothing { text, is_reported } = self.why_no_sample(run)?;
            let text = format!("{option} has no sample with a stack: {text}");
            return Some(Nothing { text, is_reported });
        } else if intervals == without && intervals >= u64::from(LEAST_INTERVALS) {
            let other = match self.sampling.engine() {
                Engine::Safepoint => "engine=signal",
                _ => "engine=safepoint",
            };
            format!("the VM gave no stack for any of {intervals}; try {other}")
        } else {
            return None;
        };
        Some(Nothing::because(format!(
            "{option} has no sample with a stack: {why}"
        )))
    }

    fn why_no_sample(&self, run: &Run) -> Option<Nothing> {
        let Engine::Signal(engine, installed) = self.sampling.engine() else {
            return None;
        };
        let totals = EngineTotals::of(engine, run);
        let least = run.settings.interval * LEAST_INTERVALS;
        if let Some(sampling) = &run.settings.event {
            return Some(match run.threads.without_timer() {
                0 => Nothing::because(format!(
                    "no thread had {} such events; record for longer, or choose a smaller every=",
                    sampling.every
                )),
                _ => Nothing::reported(
                    "each thread needs an open file, and the process had too many; raise the limit (ulimit -n)"
                        .to_owned(),
                ),
            });
        }
        let is_unwanted = self.past.was_stopped || self.all_muted || !self.muted.is_empty();
        if is_unwanted || self.apart.is_wall() {
            return None;
        }
        // The agent knows no CPU time of threads that it does not sample.
        if run.threads.without_timer() > 0 {
            return Some(Nothing::reported(
                "threads got no CPU timer; raise the limit of pending signals (ulimit -i) or use engine=safepoint"
                    .to_owned(),
            ));
        }
        if totals.cpu < least && run.java_threads.get().is_some() {
            return None;
        }
        let signal = installed.signal();
        if totals.lost > 0 {
            return Some(Nothing::because(format!(
                "all {} were lost, as the machine left the agent no time; choose a larger interval=",
                totals.lost
            )));
        }
        if !is_in_place(installed) {
            return Some(Nothing::because(format!(
                "the program has put a handler of its own in place of the one for signal {signal}; choose another with \
                 signal="
            )));
        }
        let reported = if run.java_threads.get().is_none() {
            Some("this VM hides its threads from the signal engine; use engine=safepoint")
        } else if self.deaf.found() + engine.ended_deaf() > 0 {
            Some("threads block the signal of the profiler; choose another with signal=")
        } else {
            None
        };
        if let Some(why) = reported {
            return Some(Nothing::reported(why.to_owned()));
        }
        Some(Nothing::because(format!(
            "signal {signal} never came in {} ms of CPU time; use engine=safepoint",
            Duration::as_millis(&totals.cpu)
        )))
    }
}
