//! The remarks of a profile of samples, beside its table.

use std::time::Duration;

use hprof_format::model::CpuRow;

use super::{EngineTotals, SamplesRecorder};
use crate::cpu_samples::engine::Engine;
use crate::cpu_samples::signal::is_in_place;
use crate::cpu_samples::vm_threads::Part;
use crate::cpu_samples::wall::{WallSampler, WallState};
use crate::os::kernel_stacks;
use crate::os::perf_event::KernelStacks;
use crate::recording::Context;
use crate::report;

impl SamplesRecorder {
    /// The facts outside the tables of the profile, as comment lines.
    pub(super) fn remarks(&mut self, cx: &Context<'_>) -> Vec<String> {
        let counts = &self.counts;
        let threads = &cx.run.threads;
        let interval = cx.run.settings.interval.as_millis();
        let version = env!("CARGO_PKG_VERSION");
        let mut lines = Vec::new();
        match self.sampling.engine() {
            Engine::Signal(engine, installed) => {
                self.dumped = EngineTotals::of(engine, cx.run);
                lines.push(format!(
                    "hprof-rs {version}: engine=signal signal={} interval_ms={interval} \
                     samples={} stacks={} cpu_ms={} threads={}",
                    installed.signal(),
                    counts.total(),
                    counts.stacks(),
                    self.dumped.cpu.saturating_sub(self.base.cpu).as_millis(),
                    threads.threads_seen(),
                ));
                lines.push(format!(
                    "hprof-rs: lost_samples={} foreign_signals={} threads_without_timer={} \
                     threads_blocking_signal={} delayed_timers={} handler_replaced={}",
                    self.dumped.lost - self.base.lost,
                    engine.foreign_signals(),
                    threads.without_timer(),
                    self.deaf.found() + engine.ended_deaf(),
                    engine.delayed_timers(),
                    if is_in_place(installed) { "n" } else { "y" },
                ));
                lines.extend(engine.walk_counts().map(|walk| {
                    format!(
                        "hprof-rs: walker={} walks_checked={} walks_tried={} walks_agreed={} walks_cut={} \
                         walks_in_heap={} walks_to_heap={} walks_failed={}",
                        if walk.is_on { "y" } else { "n" },
                        walk.checks,
                        walk.trials,
                        walk.agreed,
                        walk.cut,
                        walk.in_heap,
                        walk.heap,
                        walk.failed
                    )
                }));
                if let Some(text) = self.other_profilers.look_now(engine, installed) {
                    report::note(text);
                }
                let found = self.other_profilers.found();
                lines.extend(found.map(|text| format!("hprof-rs: {text}")));
            }
            Engine::Safepoint => lines.push(format!(
                "hprof-rs {version}: engine=safepoint interval_ms={interval} samples={} \
                 stacks={} threads={}",
                counts.total(),
                counts.stacks(),
                threads.threads_seen(),
            )),
            Engine::None => {}
        }
        if let Some(sampling) = &cx.run.settings.event {
            let (has_kernel, stacks) = match self.sampling.engine() {
                Engine::Signal(engine, _) => (engine.counts_kernel(), engine.kernel_stacks()),
                _ => (false, KernelStacks::None),
            };
            let refused = kernel_stacks::refused();
            lines.push(format!(
                "hprof-rs: event={} every={} event_in_kernel={} kernel_stacks={} \
                 threads_without_kernel_stacks={refused}",
                sampling.event,
                sampling.every,
                if has_kernel { 'y' } else { 'n' },
                if stacks == KernelStacks::Given {
                    'y'
                } else {
                    'n'
                },
            ));
        }
        if self.apart.is_wall() {
            let (looks, asked) = self.wall.as_ref().map_or((0, 0), WallSampler::counts);
            let states = WallState::ALL.into_iter().zip(counts.states());
            let states: String = states
                .map(|(state, weight)| format!("{}={weight} ", state.word()))
                .collect();
            lines.push(format!(
                "hprof-rs: clock=wall {states}looks={looks} stacks_asked={asked}"
            ));
        }
        let failed: u64 = counts.failures().values().sum();
        let reasons: String = counts
            .failures()
            .iter()
            .map(|(reason, weight)| format!(" {}={weight}", reason.label()))
            .collect();
        lines.push(format!("hprof-rs: samples_without_stack={failed}{reasons}"));
        let lost = self.times.lost();
        lines.extend(lost.map(|lost| format!("hprof-rs: samples_without_time={lost}")));
        lines.push(cx.general_remark());
        lines
    }

    /// The rows of threads that run no Java code, one for each part of them that has used CPU time.
    pub(super) fn vm_rows(&mut self, cx: &mut Context<'_>) -> Vec<CpuRow> {
        let Engine::Signal(engine, _) = self.sampling.engine() else {
            return Vec::new();
        };
        let Some(threads) = &mut self.vm_threads else {
            return Vec::new();
        };
        let (run, interval) = (cx.run, cx.run.settings.interval);
        let java = EngineTotals::of(engine, run).cpu;
        self.dumped_parts = threads.parts(|tid| run.threads.get(tid).is_some(), java);
        let parts = Part::ALL.into_iter().zip(self.dumped_parts);
        parts
            .zip(self.base_parts)
            .filter_map(|((part, nanos), base)| {
                let count = intervals(nanos.saturating_sub(base), interval);
                (count > 0).then(|| CpuRow {
                    cost: count,
                    count,
                    trace: cx.names.intern_label(None, part.label()),
                })
            })
            .collect()
    }
}

/// How many intervals a time is, rounded.
fn intervals(nanos: u64, interval: Duration) -> u64 {
    let interval = u64::try_from(interval.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    nanos.saturating_add(interval / 2) / interval
}
