//! Progress for programs: with `--progress json`, one line of JSON on standard error per step and
//! per quarter of a second in it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::Serialize;

use super::out;

/// How often the figures of a step are reported.
const PAUSE: Duration = Duration::from_millis(250);

/// The forms of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// Bars, on a terminal.
    Bar,
    /// Lines of JSON on standard error: phase, done, total, unit, bytes_per_second, seconds_left.
    Json,
}

static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Tells progress in this form from now on.
pub fn select(form: ProgressForm) {
    IS_JSON.store(form == ProgressForm::Json, Ordering::Relaxed);
}

/// Returns true if lines of JSON are wanted.
pub fn are_told() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// A line.
#[derive(Debug, Serialize)]
struct Line {
    phase: &'static str,
    done: u64,
    /// 0 if it is not known.
    total: u64,
    unit: &'static str,
    bytes_per_second: f64,
    seconds_left: Option<f64>,
}

/// Tells programs how far a step is: done and in all, in a unit that has no rate.
pub fn tell(
    phase: &'static str,
    (done, total): (u64, u64),
    unit: &'static str,
    seconds_left: Option<f64>,
) {
    tell_line(&Line {
        phase,
        done,
        total,
        unit,
        bytes_per_second: 0.0,
        seconds_left,
    });
}

fn tell_line(line: &Line) {
    if let Ok(text) = serde_json::to_string(line) {
        out::tell_line(&text);
    }
}

/// A step that takes long.
pub struct Step(Mutex<Figures>);

struct Figures {
    phase: &'static str,
    done: u64,
    total: u64,
    began: Instant,
    told: Instant,
}

impl Step {
    /// Begins a step of `total` bytes, 0 if that is not known.
    pub fn begin(phase: &'static str, total: u64) -> Self {
        let now = Instant::now();
        let figures = Figures {
            phase,
            done: 0,
            total,
            began: now,
            told: now,
        };
        figures.tell();
        Self(Mutex::new(figures))
    }

    /// More bytes of the step are done.
    pub fn add(&self, bytes: u64) {
        let Ok(mut figures) = self.0.lock() else {
            return;
        };
        figures.done += bytes;
        if figures.told.elapsed() >= PAUSE {
            figures.told = Instant::now();
            figures.tell();
        }
    }
}

impl Figures {
    fn tell(&self) {
        if !are_told() {
            return;
        }
        let seconds = self.began.elapsed().as_secs_f64();
        let rate = match self.done {
            0 => 0.0,
            done => done as f64 / seconds.max(1e-3),
        };
        let left = self.total.saturating_sub(self.done);
        tell_line(&Line {
            phase: self.phase,
            done: self.done,
            total: self.total,
            unit: "bytes",
            bytes_per_second: rate.round(),
            seconds_left: (rate > 0.0 && self.total > 0).then(|| left as f64 / rate),
        });
    }
}
