//! The phases of a report: shown while they run, with an estimate, and timed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hprof_analysis::trace::{Progress, Timing, Trace, Work};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::out;
use crate::render::out::tell;
use crate::render::steps;

/// How often progress is looked at.
const PAUSE: Duration = Duration::from_millis(200);
/// The parts of the whole in lines for programs.
const PARTS: u64 = 1000;
/// Less time than this is not told as time that is left.
const SHORT: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Shows how far a report is, from the opening of the dump on, and keeps the times of its phases.
pub struct Phases {
    trace: Trace,
    /// The phases that may come.
    works: Vec<Work>,
    bar: Option<ProgressBar>,
    /// The steps of [`crate::snapshot::open_for`] report the opening to programs.
    is_opened: Arc<AtomicBool>,
    /// The thread that looks; it ends when the sender goes.
    showing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Phases {
    /// Begins, with a line on a terminal that is written to, or lines for programs.
    pub fn begin(has_index: bool) -> Self {
        let works = Work::ALL.iter().copied();
        let works: Vec<Work> = works
            .filter(|&work| has_index || work != Work::Index)
            .collect();
        let trace = Trace::begin();
        let bar = (!steps::are_told() && out::tells_terminal()).then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(None, target);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        let is_opened = Arc::new(AtomicBool::new(false));
        let showing = (bar.is_some() || steps::are_told()).then(|| {
            let (ending, ended) = mpsc::channel();
            let (trace, bar, is_opened) = (trace.clone(), bar.clone(), Arc::clone(&is_opened));
            let works = works.clone();
            let look = move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(PAUSE) {
                    let progress = trace.progress(&works);
                    match &bar {
                        Some(bar) => bar.set_message(line(&progress)),
                        None if is_opened.load(Ordering::Relaxed) => tell_programs(&progress),
                        None => {}
                    }
                }
            };
            (ending, thread::spawn(look))
        });
        Self {
            trace,
            works,
            bar,
            is_opened,
            showing,
        }
    }

    /// Runs work whose phases are shown and timed.
    pub fn see<T>(&self, work: impl FnOnce() -> T) -> T {
        self.trace.enter(work)
    }

    /// Prints something while the line is away.
    pub fn pause<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Tells programs from now on that the report is being worked out.
    pub fn opened(&self) {
        if steps::are_told() {
            tell_programs(&self.trace.progress(&self.works));
        }
        self.is_opened.store(true, Ordering::Relaxed);
    }

    /// The times of the phases that have ended so far.
    pub fn timings(&self) -> Vec<Timing> {
        self.trace.timings()
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        if let Some((ending, thread)) = self.showing.take() {
            drop(ending);
            // It has nothing to say.
            let _ = thread.join();
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn tell_programs(progress: &Progress) {
    let done = (progress.done * PARTS as f64) as u64;
    let left = progress.left.map(|left| left.as_secs_f64());
    steps::tell("report", (done.min(PARTS), PARTS), "parts", left);
}

/// The progress as a line, such as `report, 43 %, about 5 s left: duplicates, suspects`.
fn line(progress: &Progress) -> String {
    let running = progress.running.iter().map(|(name, part)| match part {
        Some(part) => format!("{name} {:.0} %", 100.0 * part),
        None => (*name).to_owned(),
    });
    let running: Vec<String> = running.collect();
    let left = match progress.left {
        Some(left) if left >= 2 * MINUTE => {
            format!(", about {} min left", left.as_secs() / MINUTE.as_secs())
        }
        Some(left) if left >= SHORT => format!(", about {} s left", left.as_secs()),
        _ => String::new(),
    };
    let done = 100.0 * progress.done;
    format!("report, {done:.0} %{left}: {}", running.join(", "))
}

/// Prints the times of phases, those of the threads with them; some run side by side.
pub fn say_timings(timings: &[Timing]) {
    for timing in timings {
        let threads: Vec<String> = (timing.threads.iter())
            .map(|it| format!("{} {:.0}", it.thread, it.cpu_ms))
            .collect();
        tell!(
            "hprof-rs: {}: {:.0} ms, from {:.0} ms on; CPU {:.0} ms ({})",
            timing.phase,
            timing.wall_ms,
            timing.began_ms,
            timing.cpu_ms,
            threads.join(", ")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_phases_and_an_estimate() {
        let progress = |done, left, running| {
            line(&Progress {
                done,
                left,
                running,
            })
        };
        let running = vec![("references", Some(0.25)), ("suspects", None)];
        let left = Some(Duration::from_secs(65));
        assert_eq!(
            progress(0.333, left, running.clone()),
            "report, 33 %, about 65 s left: references 25 %, suspects"
        );
        let left = Some(Duration::from_secs(605));
        let shown = progress(0.333, left, running);
        assert!(shown.contains(", about 10 min left: "), "{shown}");
        assert_eq!(
            progress(0.01, None, vec![("objects", None)]),
            "report, 1 %: objects"
        );
    }
}
