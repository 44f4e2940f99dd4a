//! `hprof-rs control`: requests to the agent in a running JVM.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use hprof_wire::control::{Reply, Request};
use serde_json::{Map, Value};

use crate::attach::{self, Target};
use crate::jvm::process::Pid;
use crate::render::screen::{Align, headless, print, print_json, printable};

/// Command the agent in a running JVM: start, stop, dump, reset, status, detach.
///
/// The agent was loaded at the start of the JVM, or by `hprof-rs attach`.
#[derive(Debug, Args)]
#[command(after_long_help = LONG_HELP)]
pub struct Control {
    /// The JVM's process id, as `hprof-rs ps` shows it.
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,

    /// The request: start, stop, dump, reset, gc, status, metrics or detach.
    #[arg(value_name = "REQUEST", required = true, num_args = 1..)]
    request: Vec<String>,

    /// The time limit for the answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    timeout: u64,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const LONG_HELP: &str = "\
Requests:
  start              resume the stopped modes
  start OPTIONS      start more modes, or with other options: start cpu=samples,depth=16
  stop [MODE...]     pause recording; the counts stay
  dump [MODE...]     write the profile, and set the counts to zero
  reset [MODE...]    set the counts to zero
  gc                 collect garbage
  status             modes, output and counts
  metrics            counters of the run, and the cost of the agent
  detach             write the last profile, end the run, free everything

  MODE is cpu, sites, heap or monitor; the default is all of them.

Examples:
  hprof-rs control 4242 status
  hprof-rs control 4242 stop cpu
  hprof-rs control 4242 reset; sleep 60; hprof-rs control 4242 dump
      profiles one minute

Exit status:
  0; 1 if the agent refused or is not loaded.";

impl Control {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let request: Request = self.request.join(" ").parse()?;
        let target = Target::find(Pid(self.pid))?;
        let reply = attach::control(&target, &request, Duration::from_secs(self.timeout))?;
        if self.json {
            print_json(&as_json(&reply))?;
        } else if reply.error.is_none() {
            print(&as_text(&reply))?;
        }
        match reply.error {
            None => Ok(ExitCode::SUCCESS),
            Some(_) if self.json => Ok(ExitCode::FAILURE),
            Some(error) => bail!("{}", printable(&error)),
        }
    }
}

fn as_text(reply: &Reply) -> String {
    let values = reply.values.iter();
    let rows = values.map(|(name, value)| [printable(name), printable(value)]);
    headless([Align::Left, Align::Left], rows.collect())
}

fn as_json(reply: &Reply) -> Value {
    let values = reply.values.iter().map(|(name, value)| {
        // Numbers as numbers, where nothing is lost by that.
        let number = value
            .parse::<i64>()
            .ok()
            .filter(|it| it.to_string() == *value);
        (
            name.clone(),
            number.map_or_else(|| value.clone().into(), Value::from),
        )
    });
    let values: Map<String, Value> = values.collect();
    serde_json::json!({"ok": reply.error.is_none(), "error": reply.error, "values": values})
}
