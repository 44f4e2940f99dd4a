//! `hprof-rs push`: sends a profile to a receiver of profiles.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::export::Resource;
use crate::open::{self, FileArgument, Times};
use crate::push::{PushArguments, Sender, parcels};
use crate::window::{Bound, WindowArgument};

/// How long the command tries while the receiver is away.
const PATIENCE: Duration = Duration::from_secs(30);

/// Send a profile to OpenTelemetry's collector or to Pyroscope.
///
/// The command reads a profile or recording of any kind that `samples` reads, and sends all its measures: stacks, values,
/// threads, and the time of each sample where the file has it. Where the receiver is away, it tries again for a while.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Push {
    #[command(flatten)]
    file: FileArgument,

    /// The receiver: http://HOST:4318 for OTLP/HTTP, pyroscope+http://HOST:4040 for Pyroscope [default:
    /// `OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT`].
    #[arg(value_name = "URL")]
    url: Option<String>,

    #[command(flatten)]
    push: PushArguments,

    /// Send only what happened from this time on, of files that have times: a clock time (14:03:10), a date with it, or
    /// a distance from the start (+30s) or the end (-10s).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<Bound>,

    /// Send only what happened before this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<Bound>,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs push recording.jfr http://localhost:4318
  OTEL_SERVICE_NAME=shop hprof-rs push java.hprof.txt pyroscope+http://localhost:4040
  OTEL_RESOURCE_ATTRIBUTES=k8s.pod.name=shop-1 hprof-rs push recording.jfr https://collector.example.com:4318 \\
      --push-headers headers

Exit status:
  0; 1 if the receiver has not taken everything, or the file cannot be read.";

impl Push {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        // Mistakes show before a large file is read.
        let destination = self.push.destination(self.url.as_deref(), PATIENCE)?;
        let resource = Resource::of_environment().context("OTEL_RESOURCE_ATTRIBUTES")?;
        let window = WindowArgument {
            from: self.from,
            until: self.until,
        };
        let times = Times {
            window: Some(&window),
            calls: None,
            are_wanted: true,
            lanes_are_wanted: false,
        };
        let opened = self.file.open_part(false, 0, times)?;
        open::warn_of_damage(&opened);
        let requests = parcels(&opened, &resource, &destination)?;
        let sender = Sender::start(destination)?;
        for request in requests {
            sender.send(request);
        }
        let is_taken = sender.finish();
        Ok(ExitCode::from(u8::from(!is_taken)))
    }
}
