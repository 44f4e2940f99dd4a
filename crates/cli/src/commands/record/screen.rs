//! The lines on the screen while a program is recorded.

use std::time::Duration;

use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::Weights;
use hprof_server::live::Recording;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::out::{self, tell};
use crate::render::screen::{count, percent, printable};

/// Methods on the screen.
const TOP: usize = 5;

/// The methods with the highest costs so far, and the time.
pub struct Screen {
    bar: ProgressBar,
    revision: u64,
}

impl Screen {
    /// Begins a recording that ends after `limit`, if there is one. Where standard error is no terminal, or is the
    /// program's, this is one line.
    pub fn begin(recording: &Recording, limit: Option<Duration>, is_shared: bool) -> Self {
        let name = printable(&recording.facts.name);
        let until = match limit {
            Some(limit) => format!("for {} s", limit.as_secs()),
            None if is_shared => "until it ends".to_owned(),
            None => "until Ctrl+C".to_owned(),
        };
        if is_shared || !out::tells_terminal() {
            tell!("hprof-rs: recording {name} {until}");
            return Self {
                bar: ProgressBar::hidden(),
                revision: 0,
            };
        }
        let length = limit.map(|limit| limit.as_secs());
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(4));
        let template = match length {
            Some(_) => "recording {prefix}: {pos} of {len} s, Ctrl+C ends it{msg}",
            None => "recording {prefix}: {pos} s, Ctrl+C ends it{msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(name);
        Self { bar, revision: 0 }
    }

    /// Shows the state after this time.
    pub fn show(&mut self, recording: &Recording, past: Duration) {
        self.bar.set_position(past.as_secs());
        let revision = recording.status().revision;
        if revision != self.revision && !self.bar.is_hidden() {
            self.revision = revision;
            self.bar.set_message(top(&recording.contents()));
        }
    }

    /// Prints something above the lines.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the lines away.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// The methods that cost most by themselves, a line each.
fn top(contents: &Contents) -> String {
    let Some(weights) = Weights::first_of(contents) else {
        return String::new();
    };
    let mut costs = std::collections::HashMap::<String, u64>::new();
    for row in &weights.rows {
        let frames = contents.stacks.frames_of(row.trace);
        let name = frames
            .first()
            .map(|&frame| contents.stacks.frame(frame).name());
        *costs.entry(name.unwrap_or_default()).or_default() += row.value;
    }
    let mut rows: Vec<(u64, String)> = costs.into_iter().map(|(name, cost)| (cost, name)).collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut text = format!(", {} {}", count(weights.total), weights.measure.unit());
    for (cost, name) in rows.iter().take(TOP) {
        let name = match name.as_str() {
            "" => "no Java frame",
            name => name,
        };
        let share = percent(*cost, weights.total);
        text.push_str(&format!("\n{share:>7}  {}", printable(name)));
    }
    text
}
