//! Shows how far the opening of a heap dump is.

use std::time::Duration;

use hprof_analysis::snapshot::Stage;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::out;
use crate::render::screen::bytes;
use crate::render::steps::{self, Step};

/// A bar on standard error for each stage that takes long.
pub struct Progress {
    /// False if another one shows the progress to people. Programs have their lines in any case.
    has_bars: bool,
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    step: Option<Step>,
}

impl Progress {
    /// Nothing is done yet.
    pub fn new(has_bars: bool) -> Self {
        Self {
            has_bars,
            bar: None,
            stage: None,
            step: None,
        }
    }

    /// More bytes are done with.
    pub fn tell(&mut self, stage: Stage, bytes: u64) {
        if steps::are_told() {
            if self.stage != Some(stage) {
                self.stage = Some(stage);
                self.step = Some(step(stage));
            }
            if let Some(step) = &self.step {
                step.add(bytes);
            }
            return;
        }
        if !self.has_bars || !out::tells_terminal() {
            return;
        }
        if self.stage != Some(stage) {
            if let Some(bar) = self.bar.take() {
                bar.finish_and_clear();
            }
            self.stage = Some(stage);
            self.bar = Some(bar(stage));
        }
        if let Some(bar) = &self.bar {
            bar.inc(bytes);
        }
    }

    /// Removes the bar.
    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn step(stage: Stage) -> Step {
    match stage {
        Stage::Unpacking => Step::begin("unpacking", 0),
        Stage::Graph { total } => Step::begin("graph", total),
        Stage::Dominators => Step::begin("dominators", 0),
        Stage::Index => Step::begin("index", 0),
    }
}

fn bar(stage: Stage) -> ProgressBar {
    let (length, template) = match stage {
        Stage::Unpacking => (None, "{spinner} unpacking {decimal_bytes}"),
        Stage::Graph { total } => (Some(total), "{wide_bar} {percent:>3}% of {msg}, {eta} left"),
        Stage::Dominators => (None, "{spinner} working out what keeps what alive"),
        Stage::Index => (None, "{spinner} writing the index"),
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if let Stage::Graph { total } = stage {
        // The file is passed over twice.
        bar.set_message(bytes(total / 2));
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
