//! A build without the feature `capture` sends nothing, and says so.

use std::convert::Infallible;
use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use hprof_analysis::contents::Contents;
use hprof_server::live::JvmFacts;
use hprof_stacks::events::Chunk;

use crate::not_built::NotBuilt;

/// The option that such a build does not have.
#[derive(Debug, Args)]
pub struct PushOptions {
    #[arg(long, value_name = "URL", num_args = 0..=1, hide = true)]
    #[expect(
        clippy::option_option,
        reason = "the option without a value means the environment"
    )]
    push: Option<Option<OsString>>,
}

impl PushOptions {
    /// Returns true if there is to be a receiver.
    pub fn is_wanted(&self) -> bool {
        self.push.is_some()
    }

    /// These options.
    pub fn or_every(self, _: Duration) -> Self {
        self
    }

    /// Refuses the option.
    ///
    /// # Errors
    /// If it is given.
    pub fn start(&self, _: Option<Duration>) -> anyhow::Result<Option<Pushing>> {
        match self.push {
            None => Ok(None),
            Some(_) => Err(NotBuilt {
                feature: "capture",
                wish: "`record --push`",
            }
            .into()),
        }
    }
}

/// There is none.
pub enum Delivery {
    /// As in a build with the feature.
    All,
    /// As in a build with the feature.
    Part(Option<Vec<u8>>),
}

/// There is none.
pub struct Pushing(Infallible);

impl Pushing {
    pub fn begin(&mut self, _: &JvmFacts) {
        match self.0 {}
    }

    pub fn is_due(&self) -> bool {
        match self.0 {}
    }

    pub fn add(&mut self, _: &[Chunk]) {
        match self.0 {}
    }

    pub fn take(&mut self, _: Contents) -> Contents {
        match self.0 {}
    }

    pub fn send(&mut self, _: &str, _: impl FnOnce(&[Chunk]) -> anyhow::Result<Vec<u8>>) {
        match self.0 {}
    }

    pub fn skip(&mut self) {
        match self.0 {}
    }

    pub fn has_any(&self) -> bool {
        match self.0 {}
    }

    pub fn finish(self) -> Delivery {
        match self.0 {}
    }
}
