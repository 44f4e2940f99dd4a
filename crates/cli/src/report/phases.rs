//! The phases of a report: shown while they run, and timed.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::out;
use crate::render::steps::{self, Step};

/// The parts that [`Report::new`](super::Report::new) works out, for the share that is done.
const PARTS: usize = 8;

/// Shows which parts of a report are being worked out, and keeps when each began and how long it took.
pub struct Phases {
    began: Instant,
    bar: Option<ProgressBar>,
    _step: Option<Step>,
    done: AtomicUsize,
    running: Mutex<Vec<&'static str>>,
    times: Mutex<Vec<Phase>>,
}

/// The time of a part.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// From the start of the report to its start.
    pub began: Duration,
    /// Its length.
    pub took: Duration,
}

impl Phases {
    /// Begins, with a line on a terminal that is written to, or a step for programs.
    pub fn begin() -> Self {
        let bar = (!steps::are_told() && out::tells_terminal()).then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(PARTS as u64), target);
            if let Ok(style) =
                ProgressStyle::with_template("{spinner} report, {pos} of {len} parts: {msg}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            began: Instant::now(),
            bar,
            _step: steps::are_told().then(|| Step::begin("report", 0)),
            done: AtomicUsize::new(0),
            running: Mutex::default(),
            times: Mutex::default(),
        }
    }

    /// Works out the part `name`.
    pub fn run<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let began = self.began.elapsed();
        self.show(|running| running.push(name));
        let made = work();
        self.done.fetch_add(1, Ordering::Relaxed);
        self.show(|running| running.retain(|it| *it != name));
        let took = self.began.elapsed() - began;
        if let Ok(mut times) = self.times.lock() {
            times.push(Phase { name, began, took });
        }
        made
    }

    fn show(&self, change: impl FnOnce(&mut Vec<&'static str>)) {
        let Ok(mut running) = self.running.lock() else {
            return;
        };
        change(&mut running);
        if let Some(bar) = &self.bar {
            bar.set_position(self.done.load(Ordering::Relaxed) as u64);
            bar.set_message(running.join(", "));
        }
    }

    /// Removes the line, and returns the times of the parts in the order in which they began.
    pub fn end(self) -> Vec<Phase> {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        let mut times = self.times.into_inner().unwrap_or_default();
        times.sort_by_key(|phase| phase.began);
        times
    }
}

/// Runs two pieces of work side by side.
pub fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let made = one();
        match other.join() {
            Ok(rest) => (made, rest),
            Err(panic) => resume_unwind(panic),
        }
    })
}
