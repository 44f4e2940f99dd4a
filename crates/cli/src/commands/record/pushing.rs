//! A recording on its way to a receiver: all of it at the end, or the costs of each window while the program runs.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::contents::{Contents, ReadOptions, read};
use hprof_analysis::input::{Compression, Input};
use hprof_server::live::JvmFacts;
use hprof_stacks::events::Chunk;
use hprof_stacks::timeline::Window;
use jiff::Timestamp;

use super::windows::Windows;
use super::words::duration;
use crate::export::Resource;
use crate::open::Opened;
use crate::push::{PushArguments, Sender, add_program, parcels};
use crate::render::out::tell;

/// How long the end of a recording waits for a receiver that is away.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a recording is sent.
#[derive(Debug, Args)]
pub struct PushOptions {
    /// Send the profile to a receiver: http://HOST:4318 for OTLP/HTTP, pyroscope+http://HOST:4040 for Pyroscope. A file is
    /// written too if -o names one [default: `OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT`].
    #[arg(long, value_name = "URL", num_args = 0..=1, value_parser = url)]
    #[expect(
        clippy::option_option,
        reason = "the option without a value means the environment"
    )]
    push: Option<Option<String>>,

    /// With --push: send a profile for each time of this length while the program runs [default: one at the end].
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "push")]
    every: Option<Duration>,

    #[command(flatten)]
    how: PushArguments,
}

/// Takes a URL; a word that is none is the process, written behind `--push` by mistake.
fn url(text: &str) -> Result<String, String> {
    match text.contains("://") {
        true => Ok(text.to_owned()),
        false => Err(
            "a receiver is a URL such as http://localhost:4318; for that of the environment, write the process before --push"
                .to_owned(),
        ),
    }
}

impl PushOptions {
    /// Returns true if there is to be a receiver.
    pub fn is_wanted(&self) -> bool {
        self.push.is_some()
    }

    /// These options; where they say no time, a profile is sent for each time of this length.
    pub fn or_every(self, each: Duration) -> Self {
        Self {
            every: self.every.or(Some(each)),
            ..self
        }
    }

    /// The receiver, if there is one; nothing is sent yet. With `--loop` each file's time is sent.
    ///
    /// # Errors
    /// If the receiver or its options are not as they must be.
    pub fn start(&self, each: Option<Duration>) -> anyhow::Result<Option<Pushing>> {
        let Some(url) = &self.push else {
            if self.how.push_as.is_some() || self.how.push_headers.is_some() {
                bail!("--push-as and --push-headers say how --push sends: add --push URL");
            }
            return Ok(None);
        };
        let destination = self.how.destination(url.as_deref(), PATIENCE)?;
        let resource = Resource::of_environment().context("OTEL_RESOURCE_ATTRIBUTES")?;
        let each = self.every.or(each);
        Ok(Some(Pushing {
            sender: Sender::start(destination)?,
            resource,
            windows: each.map(|each| Windows::new(each, 0)),
            times: Vec::new(),
            since: Timestamp::now(),
            profile: None,
            has_sent: false,
            has_failed: false,
        }))
    }
}

/// The end of sending.
pub enum Delivery {
    /// The receiver has taken all that was recorded.
    All,
    /// It has not; this is what was recorded, where there is one profile of all of it.
    Part(Option<Vec<u8>>),
}

/// Profiles on their way to a receiver.
pub struct Pushing {
    sender: Sender,
    resource: Resource,
    windows: Option<Windows>,
    /// Samples with their times that were not sent.
    times: Vec<Chunk>,
    /// The end of what was sent.
    since: Timestamp,
    /// The whole recording as one profile; none where each window is one.
    profile: Option<Vec<u8>>,
    has_sent: bool,
    /// The last profile could not be made.
    has_failed: bool,
}

impl Pushing {
    /// Begins with a program.
    pub fn begin(&mut self, facts: &JvmFacts) {
        add_program(&mut self.resource, facts);
        self.since = Timestamp::now();
    }

    /// Returns true if it is time for the next profile.
    pub fn is_due(&self) -> bool {
        self.windows.as_ref().is_some_and(Windows::is_due)
    }

    /// Adds samples with their times that came since the last call.
    pub fn add(&mut self, times: &[Chunk]) {
        self.times.extend_from_slice(times);
    }

    /// The costs that were not sent, of all costs.
    pub fn take(&mut self, contents: Contents) -> Contents {
        match &mut self.windows {
            Some(windows) => windows.take(contents),
            None => contents,
        }
    }

    /// Sends costs that were taken; `text` writes them with their times as a profile.
    pub fn send(&mut self, name: &str, text: impl FnOnce(&[Chunk]) -> anyhow::Result<Vec<u8>>) {
        let now = Timestamp::now();
        let span = Window {
            from: nanos(self.since),
            to: nanos(now),
        };
        let sent = text(&self.times).and_then(|text| {
            self.profile = self.windows.is_none().then(|| text.clone());
            self.send_text(name, text, span)
        });
        self.has_failed = sent.is_err();
        if let Err(error) = sent {
            tell!("hprof-rs: a profile could not be made for the receiver: {error:#}");
            return;
        }
        self.has_sent = true;
        self.are_sent(now);
    }

    /// Notes that nothing has happened since what was sent last.
    pub fn skip(&mut self) {
        self.are_sent(Timestamp::now());
    }

    fn are_sent(&mut self, until: Timestamp) {
        self.times.clear();
        self.since = until;
        if let Some(windows) = &mut self.windows {
            // There are no files.
            windows.wrote(Path::new("").to_owned());
        }
    }

    fn send_text(&self, name: &str, text: Vec<u8>, span: Window) -> anyhow::Result<()> {
        let options = ReadOptions {
            with_heap: false,
            with_times: true,
            ..ReadOptions::default()
        };
        let mut contents = read(Input::from_bytes(name, text), &options)?;
        contents.span = contents.span.or(Some(span));
        let opened = Opened {
            name: name.to_owned(),
            file_bytes: None,
            compression: Compression::None,
            modified: Some(SystemTime::now()),
            window: None,
            event: None,
            contents,
        };
        for parcel in parcels(&opened, &self.resource, self.sender.destination())? {
            self.sender.send(parcel);
        }
        Ok(())
    }

    /// Returns true if there was anything to send.
    pub fn has_any(&self) -> bool {
        self.has_sent || self.has_failed
    }

    /// Waits for the receiver, as long as patience lasts, and reports the result in one line.
    pub fn finish(self) -> Delivery {
        let is_taken = !self.has_sent || self.sender.finish();
        match is_taken && !self.has_failed {
            true => Delivery::All,
            false => Delivery::Part(self.profile),
        }
    }
}

fn nanos(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}
