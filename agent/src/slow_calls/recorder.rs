//! The recorder of slow=.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use hprof_stacks::slow::{Slow, SlowMethod, SlowPattern, Threshold};
use hprof_wire::control::{Mode, Reply};

use super::SlowCalls;
use super::memory::RunningCall;
use super::methods::Timed;
use super::owners::Watch;
use super::rows::{Texts, method, threshold};
use crate::os::clock::LocalTime;
use crate::os::timer::monotonic_nanos;
use crate::recording::{Activity, Context, Incomplete, Nothing, Recorder};
use crate::report;
use crate::vm::{Jni, StillInside};

/// How often thresholds follow the calls, and rates are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Looks take one part in this many of the time at most.
const MOST_SHARE: u32 = 100;
/// Calls in a second from which on a method is too hot for each to be timed.
const TOO_HOT: f64 = 1e6;
/// Calls in a second that are timed then, about.
const BEARABLE: f64 = 1e5;
/// One call in 65,536 is timed at least.
const MOST_BITS: u32 = 16;

/// Writes what [`SlowCalls`] has timed.
pub struct SlowRecorder {
    slow: &'static SlowCalls,
    looked: Instant,
    /// How long the last look took.
    look_took: Duration,
    watch: Watch,
    /// Why nothing is timed, where the start has failed.
    failed: Option<String>,
    was_stopped: bool,
    is_on: bool,
    has_counted: bool,
    has_reported: bool,
}

impl SlowRecorder {
    /// A recorder of `slow`.
    pub fn new(slow: &'static SlowCalls) -> Self {
        Self {
            slow,
            looked: Instant::now(),
            look_took: Duration::ZERO,
            watch: Watch::default(),
            failed: None,
            was_stopped: false,
            is_on: false,
            has_counted: false,
            has_reported: false,
        }
    }

    /// The methods with what they have counted for a dump, those first that took most time.
    fn methods(&self) -> Vec<SlowMethod> {
        let running = self.slow.memory.running();
        let now = monotonic_nanos();
        let mut methods = self.slow.methods.lock();
        let counted = |timed: &Timed| method(timed, &running, now);
        let mut rows: Vec<_> = methods.timed().map(counted).collect();
        methods.timed_mut().for_each(|timed| timed.spans.dump());
        rows.sort_by_key(|row| (Reverse(row.wall), row.full_name(), row.descriptor.clone()));
        rows
    }

    fn patterns(&self, jni: &Jni) -> Vec<SlowPattern> {
        // Looked up first: classes are asked for, which may be loaded meanwhile.
        let wanted = self.slow.methods.lock().wanted().clone();
        let found = self.slow.methods.lock().patterns(&|_| String::new());
        let why = |row: SlowPattern, pattern: &crate::options::SlowPattern| SlowPattern {
            why: match row.why {
                Some(why) if why.is_empty() => Some(self.slow.why_missing(jni, pattern)),
                why => why,
            },
            ..row
        };
        let rows = found.into_iter().zip(wanted.patterns());
        rows.map(|(row, pattern)| why(row, pattern)).collect()
    }

    /// Has thresholds follow the calls, and times fewer calls of methods that are too hot.
    fn look(&mut self) {
        let passed = self.looked.elapsed();
        // A look at a thousand methods takes a while.
        if passed < LOOK.max(self.look_took * MOST_SHARE) || !self.is_on {
            return;
        }
        self.looked = Instant::now();
        // Printed without the lock: standard error may be a pipe that is full, and threads of the program wait for the lock.
        let mut hot = Vec::new();
        let mut methods = self.slow.methods.lock();
        for timed in methods.timed_mut() {
            let row = method(timed, &[], 0);
            if let Threshold::Share(share) = timed.asked
                && let Some(nanos) = threshold(&row, share)
            {
                timed.block.set_threshold(nanos);
            }
            let calls = row.calls().saturating_add(row.recursive);
            let new = calls.saturating_sub(timed.looked_at);
            timed.looked_at = calls;
            let rate = new as f64 / passed.as_secs_f64();
            let timed_rate = rate / f64::from(1u32 << timed.totals.bits());
            if timed_rate > TOO_HOT && timed.totals.bits() < MOST_BITS {
                let bits = (rate / BEARABLE).log2().ceil();
                let bits = (bits as u32).clamp(timed.totals.bits() + 1, MOST_BITS);
                let counted = timed.block.sums(timed.longest());
                timed.totals.skip(&counted, bits);
                timed.block.skip(bits);
                hot.push(format!(
                    "slow=: {} is called {:.1} million times a second, too often for each call to be timed: one in {} is \
                     from now on, and its figures are estimates",
                    row.full_name(),
                    rate / 1e6,
                    1u32 << bits
                ));
            }
        }
        drop(methods);
        self.look_took = self.looked.elapsed();
    }

    fn remarks(&self, methods: &[SlowMethod], patterns: &[SlowPattern]) -> Vec<String> {
        let sum = |of: fn(&SlowMethod) -> u64| methods.iter().map(of).sum::<u64>();
        let mut lines = vec![format!(
            "hprof-rs {}: slow={} methods={} calls={} recursive={} moved={} running={} not_timed={} refused_classes={} \
             too_many_methods={} internal_errors={}",
            env!("CARGO_PKG_VERSION"),
            patterns.len(),
            methods.len(),
            sum(SlowMethod::calls),
            sum(|it| it.recursive),
            sum(|it| it.moved),
            sum(|it| it.running),
            sum(|it| it.lost),
            self.slow.refused.load(std::sync::atomic::Ordering::Relaxed),
            self.slow.methods.lock().too_many(),
            crate::vm::panics(),
        )];
        let missing = patterns
            .iter()
            .filter_map(|it| Some((it, it.why.as_ref()?)));
        lines.extend(missing.map(|(it, why)| format!("hprof-rs: slow={}: {why}", it.pattern)));
        lines
    }

    /// Says on standard error what was asked for and is not in the table.
    fn report(&self, methods: &[SlowMethod], patterns: &[SlowPattern]) {
        for pattern in patterns {
            if let Some(why) = &pattern.why {
                report::note(&format!(
                    "slow={} has timed no call: {why}",
                    pattern.pattern
                ));
            }
        }
        let lost: u64 = methods.iter().map(|it| it.lost).sum();
        if lost > 0 {
            report::note(&format!(
                "slow= has not timed {lost} calls: more than 18 timed methods call each other, or more than 100,000 threads \
                 are in calls; name fewer methods"
            ));
        }
        let too_many = self.slow.methods.lock().too_many();
        if too_many > 0 {
            report::note(&format!(
                "slow= has timed {} methods and names of spans, and not {too_many} others; give it narrower patterns, and spans \
                 names without ids or numbers",
                super::memory::MAX_METHODS
            ));
        }
    }
}

impl Recorder for SlowRecorder {
    fn mode(&self) -> Mode {
        Mode::Slow
    }

    fn is_on(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.looked = Instant::now();
        match self.slow.start(cx.vm.jni) {
            Ok(()) => {
                self.is_on = true;
                if cx.settings().picture.is_some() {
                    report::note(
                        "pictures and files of other tools have no place for the table of slow=: write it to a .txt or \
                         .hprof file",
                    );
                }
            }
            Err(line) => {
                report::error(&format!("{line}: no call is timed"));
                self.failed = Some(line);
            }
        }
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        self.look();
        if self.is_on {
            self.watch.look(self.slow, cx);
        }
        Activity::Idle
    }

    fn nothing(&self, _cx: &Context<'_>) -> Option<Nothing> {
        if self.has_counted || self.was_stopped {
            return None;
        }
        if let Some(line) = &self.failed {
            return Some(Nothing::reported(format!(
                "slow= has timed no call: {line}"
            )));
        }
        Some(match self.slow.methods.lock().timed().count() {
            0 => Nothing::reported("slow= has found no method".to_owned()),
            count => Nothing::because(format!(
                "slow= has timed no call: the program ended no call of the {count} methods that it names"
            )),
        })
    }

    fn dump(&mut self, cx: &mut Context<'_>, is_last: bool) -> Result<(), Incomplete> {
        cx.announce(" slow calls ...");
        let methods = self.methods();
        let patterns = self.patterns(cx.vm.jni);
        self.has_counted |= methods.iter().any(|it| it.calls() > 0);
        let has_overloads = |method: &SlowMethod| {
            let same = |other: &&SlowMethod| other.full_name() == method.full_name();
            methods.iter().filter(same).count() > 1
        };
        let texts: Vec<_> = methods
            .iter()
            .map(|method| Texts::of(method, has_overloads(method)))
            .collect();
        let rows: Vec<_> = texts
            .iter()
            .zip(&methods)
            .map(|(texts, method)| texts.row(method))
            .collect();
        cx.output
            .write(|writer| writer.slow_table(&rows, &LocalTime::now().ctime()));
        cx.output.mark_after_tables(Slow::patterns_text(&patterns));
        for method in &methods {
            cx.output.mark_after_tables(method.text());
        }
        let remarks = self.remarks(&methods, &patterns);
        cx.comment(&remarks);
        if is_last && self.failed.is_none() && !self.has_reported {
            self.has_reported = true;
            self.report(&methods, &patterns);
        }
        Ok(())
    }

    /// Figures are those since the start. Slow calls themselves are in one dump.
    fn end_dump(&mut self, _cx: &mut Context<'_>, is_written: bool) {
        if is_written {
            let mut methods = self.slow.methods.lock();
            methods.timed_mut().for_each(|timed| timed.spans.written());
        }
    }

    fn reset(&mut self, _cx: &mut Context<'_>) {
        let mut methods = self.slow.methods.lock();
        methods.timed_mut().for_each(Timed::reset);
    }

    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        self.was_stopped = true;
        self.is_on = false;
        self.slow.methods.lock().end(self.slow.memory);
        Ok(())
    }

    fn resume(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        if self.failed.is_none() {
            self.is_on = true;
            self.slow.methods.lock().resume(self.slow.memory);
        }
        Ok(())
    }

    fn detach(&mut self, cx: &mut Context<'_>, limit: Duration) -> Result<(), StillInside> {
        self.is_on = false;
        self.slow.detach(cx.vm.jni, limit)
    }

    fn is_recording(&self) -> bool {
        self.is_on
    }

    fn status(&self, reply: &mut Reply) {
        let running: Vec<RunningCall> = self.slow.memory.running();
        reply.push("slow_methods", self.slow.methods.lock().timed().count());
        reply.push("slow_running", running.len());
    }
}
