//! `hprof-rs control`: requests to the agent in a running JVM.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use hprof_wire::control::{Reply, Request};
use hprof_wire::object_query::MAX_LIMIT;
use serde_json::{Map, Value};

use super::objects;
use crate::attach::{self, Target};
use crate::jvm::process::Pid;
use crate::render::screen::{Align, headless, print, print_json, printable, printable_lines};

/// Command the agent in a running JVM: start, stop, dump, reset, status, detach.
///
/// The agent was loaded at the start of the JVM, or by `hprof-rs attach`.
#[derive(Debug, Args)]
#[command(after_long_help = LONG_HELP)]
pub struct Control {
    /// The JVM's process id, or a part of its program's name, as `hprof-rs ps` shows them.
    #[arg(value_name = "PID", value_parser = crate::jvm::pick::pid)]
    pid: u32,

    /// The request: start, stop, dump, reset, gc, status, metrics, object or detach.
    #[arg(value_name = "REQUEST", required = true, num_args = 1..)]
    request: Vec<String>,

    /// With `object CLASS`: only objects whose field has this value.
    #[arg(long = "where", value_name = "FIELD=VALUE")]
    condition: Option<String>,

    /// With `object`: the most objects to show [default: 10].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
    limit: Option<u32>,

    /// With `object`: do not look for referrers, which stops the program for a walk over the heap.
    #[arg(long)]
    no_referrers: bool,

    /// The time limit for the answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    timeout: u64,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const LONG_HELP: &str = "\
Requests:
  start [MODE...]    resume the stopped modes
  start OPTIONS      start more modes, or with other options: start cpu=samples,depth=16
  stop [MODE...]     pause recording; the counts stay
  dump [MODE...]     write the profile, and set the counts to zero; those of
                     heap=sites go on, as living objects are among them
  reset [MODE...]    set the counts to zero
  gc                 collect garbage
  status             modes, output and counts
  metrics            counters of the run, and the cost of the agent
  object CLASS       live objects of a class: fields, size, referrers, each with an id
  object #ID[,#ID]   these objects again, as long as they live
  object forget      forget all ids
  detach             write the last profile, end the run, free everything

  MODE is cpu, sites, heap, monitor, native, nativelock or slow; the default is all of them.

Examples:
  hprof-rs control 4242 status
  hprof-rs control 4242 stop cpu
  hprof-rs control 4242 reset; sleep 60; hprof-rs control 4242 dump
      profiles one minute
  hprof-rs control 4242 object com.acme.Cart --where 'owner=Ada' --limit 3
  hprof-rs control 4242 object '#17'

Exit status:
  0; 1 if the agent refused or is not loaded.";

impl Control {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let request = self.request()?;
        attach::sweep();
        let target = Target::find(Pid(self.pid))?;
        let reply = attach::control(&target, &request, Duration::from_secs(self.timeout))?;
        let is_about_objects = matches!(request, Request::Object(_));
        if self.json {
            let json = if is_about_objects {
                objects::as_json
            } else {
                as_json
            };
            print_json(&json(&reply))?;
        } else if reply.error.is_none() {
            let text = if is_about_objects {
                objects::as_text
            } else {
                as_text
            };
            print(&text(&reply))?;
        }
        match reply.error {
            None => Ok(ExitCode::SUCCESS),
            Some(_) if self.json => Ok(ExitCode::FAILURE),
            Some(error) => bail!("{}", printable_lines(&error)),
        }
    }
}

impl Control {
    fn request(&self) -> anyhow::Result<Request> {
        let mut request: Request = self.request.join(" ").parse()?;
        match &mut request {
            Request::Object(query) => {
                if let Some(condition) = &self.condition {
                    // The grammar is the agent's.
                    let with = format!("{query} where={condition}");
                    *query = with.parse()?;
                }
                query.limit = self.limit.unwrap_or(query.limit);
                query.referrers &= !self.no_referrers;
            }
            _ if self.condition.is_some() || self.limit.is_some() || self.no_referrers => {
                bail!("--where, --limit and --no-referrers are for the request `object`");
            }
            _ => {}
        }
        Ok(request)
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
