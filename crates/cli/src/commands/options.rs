//! `hprof-rs options`: the agent's options.

use std::process::ExitCode;

use clap::Args;
use hprof_options::table::{self as options, OptionSpec, Section};

use crate::render::out::print;
use crate::render::table;

/// Show the agent's options as a table.
///
/// Pass them after `--agent`, or after `-agentpath:LIBRARY=`, separated by commas without spaces.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs options | less")]
pub struct Options {
    /// Also show options for debugging the agent, and removed ones.
    #[arg(long)]
    all: bool,
}

impl Options {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let rows = options::all()
            .filter(|spec| self.all || spec.is_listed())
            .map(|spec| {
                [
                    format!("{}={}", spec.name, spec.value),
                    spec.default.to_owned(),
                    meaning(spec),
                ]
            });
        let text = table::text(["Option", "Default", "Meaning"], rows, table::width());
        print(&text)
    }
}

fn meaning(spec: &OptionSpec) -> String {
    let remark = match spec.section {
        Section::New => "New: ",
        Section::Debug => "Debugging: ",
        Section::Standard | Section::Obsolete | Section::Removed => "",
    };
    // The texts are Markdown for docs/options.md; a terminal shows them plain.
    format!("{remark}{}", spec.details.replace('`', ""))
}
