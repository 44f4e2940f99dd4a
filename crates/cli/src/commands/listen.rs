//! `hprof-rs listen`: the front-end of the agent's option `net`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::listen::{self, Address, Limits, Settings, Step};

/// Receive the profiles of programs started with the agent's option net=HOST:PORT.
///
/// It serves any number of agents, this project's and the JDK's, in text and binary. It saves each
/// stream as a file. On a terminal it shows a table of the streams and a prompt for commands.
#[derive(Debug, Args)]
#[command(after_long_help = long_help())]
pub struct Listen {
    /// The address to listen on: HOST:PORT, PORT, :PORT (all interfaces), or unix:/PATH.
    #[arg(value_name = "ADDR", default_value = "localhost:8642")]
    address: String,

    /// The folder for the profiles.
    #[arg(long, value_name = "DIR", default_value = ".")]
    save: PathBuf,

    /// Commands to run, separated by semicolons.
    #[arg(long, value_name = "COMMANDS", value_parser = script)]
    exec: Option<Script>,

    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,

    /// The largest number of connections from one address. Beyond it, a new connection replaces
    /// the oldest that has begun no profile. Raise it if many agents share an address.
    #[arg(long, value_name = "N", default_value_t = 250,
        value_parser = clap::value_parser!(u16).range(1..))]
    per_address: u16,

    /// The time after which a connection that has begun no profile is closed, in seconds. The
    /// JDK's agent may be silent for minutes.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    silence: u32,
}

/// Steps, in a type of its own: clap takes a bare list for a repeated argument.
#[derive(Debug, Clone)]
struct Script(Vec<Step>);

fn script(text: &str) -> Result<Script, String> {
    listen::parse_script(text)
        .map(Script)
        .map_err(|error| format!("{error:#}"))
}

fn long_help() -> String {
    format!(
        "\
Examples:
  hprof-rs listen
      on localhost:8642; the programs are started with
      hprof-rs run --agent cpu=samples,net=localhost:8642 -- java App

  hprof-rs listen unix:/tmp/profiles.sock --save /var/tmp/profiles
      agents of this machine: net=unix:/tmp/profiles.sock

  hprof-rs listen --exec 'dump heap; wait; quit'
      waits for an agent, takes a heap dump, exits; the program continues

  hprof-rs listen --json --exec 'wait agents 3; dump samples; wait 60; quit'

Commands, at the prompt, with --exec, or as lines of standard input:
{}
  They go to all agents, or to those named with `use` or with `@` before a
  command: `@2 dump heap`, `@App gc`.

Files:
  NAME-PID.hprof, or NAME-PID.hprof.txt for text. Of a truncated stream, the
  file holds all whole records, and its name contains .cut. An unfinished file
  is called agent-N-*.part.

Exit status:
  0; 1 if a command was refused or not answered, or a wait timed out.",
        listen::help()
    )
}

impl Listen {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        listen::listen(Settings {
            address: Address::parse(&self.address)?,
            folder: self.save,
            script: self.exec.map(|script| script.0),
            json: self.json,
            limits: Limits {
                stream: Limits::default().stream,
                per_source: usize::from(self.per_address),
                silence: Duration::from_secs(u64::from(self.silence)),
            },
        })
    }
}
