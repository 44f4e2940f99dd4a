//! `hprof-rs ps`: the JVMs of this machine.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hprof_wire::control::{Reply, Request};
use serde_json::json;

use crate::attach::{self, Target};
use crate::jvm::{self, AgentState, Jvm};
use crate::render::screen::{Align, Style, columns, print, print_json, printable};

/// List the JVMs of this machine, those in containers too.
///
/// Only root sees whether the agent is loaded in other users' JVMs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Ps {
    /// Show only JVMs whose program or arguments contain this text.
    #[arg(value_name = "TEXT")]
    filter: Option<String>,

    /// Show the program's arguments.
    #[arg(short = 'l', long)]
    long: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// Print process id and short name of each, for completion scripts.
    #[arg(long, hide = true, conflicts_with_all = ["long", "json"])]
    complete: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs ps
  hprof-rs ps -l tomcat
  hprof-rs attach $(hprof-rs ps --json MyApp | jq .[0].pid) cpu=samples

Columns:
  agent      state and modes of the agent, - if it is not loaded, ? if only root can see it
  where      container: the JVM has its own file system or process ids";

impl Ps {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        if self.complete {
            return complete();
        }
        attach::sweep();
        let mut found = jvm::all()?;
        if let Some(filter) = &self.filter {
            found.retain(|jvm| {
                jvm.main.contains(filter.as_str())
                    || jvm
                        .arguments
                        .iter()
                        .any(|word| word.contains(filter.as_str()))
            });
        }
        if self.json {
            return print_json(&found.iter().map(as_json).collect::<Vec<_>>());
        }
        if let Some(filter) = self.filter.as_ref().filter(|_| found.is_empty()) {
            let filter = printable(filter);
            return print(&format!(
                "No JVM found whose program or arguments contain {filter}.\n"
            ));
        }
        if found.is_empty() {
            return print("No JVM found. Those of other users need root to be told as such.\n");
        }
        let rows: Vec<[String; 6]> = found.iter().map(|jvm| self.row(jvm)).collect();
        let head = [
            ("pid", Align::Right),
            ("user", Align::Left),
            ("jdk", Align::Left),
            ("agent", Align::Left),
            ("where", Align::Left),
            ("program", Align::Left),
        ];
        print(&columns(Style::of_stdout(), head, &rows))
    }

    fn row(&self, jvm: &Jvm) -> [String; 6] {
        let mut program = jvm.main.clone();
        if self.long {
            for word in &jvm.arguments {
                program.push(' ');
                program.push_str(word);
            }
        }
        let agent = match (jvm.agent(), status(jvm)) {
            (AgentState::Absent, _) => "-".to_owned(),
            (AgentState::Unknown, None) => "?".to_owned(),
            (AgentState::Loaded, None) => "loaded".to_owned(),
            (AgentState::Loaded | AgentState::Unknown, Some(status)) => {
                let word = |name| status.get(name).unwrap_or_default();
                printable(&format!("{} {}", word("state"), word("modes")))
                    .trim()
                    .to_owned()
            }
        };
        let place = match jvm.in_container {
            Some(true) => "container",
            Some(false) => "host",
            None => "?",
        };
        [
            jvm.pid.0.to_string(),
            jvm.user.clone(),
            jvm.version.clone().unwrap_or_else(|| "?".to_owned()),
            agent,
            place.to_owned(),
            printable(&program),
        ]
    }
}

/// Prints process ids and short names. A name is one word, and no shell takes a part of it for a command.
fn complete() -> anyhow::Result<ExitCode> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let lines = jvm::all()?.into_iter().map(|jvm| {
        let name = jvm.short_name().replace(|c| !is_plain(c), "_");
        format!("{}\t{name}\n", jvm.pid.0)
    });
    print(&lines.collect::<String>())
}

/// The status of the agent; none if it has no control socket, or is busy.
fn status(jvm: &Jvm) -> Option<Reply> {
    if jvm.agent() == AgentState::Absent {
        return None;
    }
    let target = Target::find(jvm.pid).ok()?;
    let reply = attach::control_as_it_is(&target, &Request::Status, Duration::from_secs(1)).ok()?;
    reply.error.is_none().then_some(reply)
}

fn as_json(jvm: &Jvm) -> serde_json::Value {
    let status = status(jvm);
    let agent = match jvm.agent() {
        AgentState::Absent => Some(false),
        AgentState::Loaded => Some(true),
        AgentState::Unknown => status.is_some().then_some(true),
    };
    let word = |name| status.as_ref().and_then(|status| status.get(name));
    json!({
        "pid": jvm.pid.0,
        "inner_pid": jvm.status.inner_pid,
        "user": jvm.user,
        "uid": jvm.status.uid,
        "jdk": jvm.version,
        "program": jvm.main,
        "arguments": jvm.arguments,
        "in_container": jvm.in_container,
        "agent_loaded": agent,
        "agent_state": word("state"),
        "agent_modes": word("modes"),
    })
}
