//! How far a step is: a bar on a terminal, or lines of JSON.

use std::io::{self, Read};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::out;
use crate::render::steps::{self, Step};

/// A step of the capture.
pub struct Meter {
    bar: ProgressBar,
    step: Step,
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Meter {
    /// Begins a step of `total` bytes, 0 if that is not known. `phase` is a word such as `sending`.
    pub fn begin(phase: &'static str, total: u64) -> Self {
        let bar = match steps::are_told() || !out::tells_terminal() {
            true => ProgressBar::hidden(),
            false => bar(phase, total),
        };
        Self {
            bar,
            step: Step::begin(phase, total),
        }
    }

    /// More bytes are done.
    pub fn add(&self, bytes: u64) {
        self.bar.inc(bytes);
        self.step.add(bytes);
    }

    /// Counts what is read.
    pub fn read<R: Read>(&self, reader: R) -> Counted<'_, R> {
        Counted {
            meter: self,
            reader,
        }
    }
}

fn bar(phase: &'static str, total: u64) -> ProgressBar {
    let (length, template) = match total {
        0 => (None, "{spinner} {msg} {decimal_bytes}"),
        total => (
            Some(total),
            "{msg} {wide_bar} {percent:>3}% of {decimal_total_bytes}, {eta} left",
        ),
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(phase);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A reader whose bytes are counted.
pub struct Counted<'a, R> {
    meter: &'a Meter,
    reader: R,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.meter.add(read as u64);
        Ok(read)
    }
}
