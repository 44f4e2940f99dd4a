//! The sub-commands, one file each.

mod agent_path;
mod completions;
mod options;
mod run;

use std::process::ExitCode;

use clap::Subcommand;

/// A sub-command with its flags.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a Java program under the agent.
    Run(run::Run),
    /// Unpack the agent library and print its path.
    AgentPath(agent_path::AgentPath),
    /// Show the agent's options as a table.
    Options(options::Options),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
}

impl Command {
    /// Does it. `Run` returns only if the program could not be started.
    ///
    /// # Errors
    /// What the user has to know, as one sentence or several lines.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Run(command) => command.execute(),
            Self::AgentPath(command) => command.execute(),
            Self::Options(command) => command.execute(),
            Self::Completions(command) => command.execute(),
        }
    }
}
