//! `hprof-rs completions`: completion scripts.

mod jvms;

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::render::out::print;

/// Print a completion script for a shell.
///
/// Where a command takes a process id, the scripts of bash, zsh and fish complete those of the JVMs that run, with their programs' names.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  hprof-rs completions bash > ~/.local/share/bash-completion/completions/hprof-rs
  hprof-rs completions zsh > ~/.zfunc/_hprof-rs        (with ~/.zfunc in fpath)
  hprof-rs completions fish > ~/.config/fish/completions/hprof-rs.fish";

impl Completions {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let mut command = jvms::hinted(Cli::command());
        let takers = jvms::takers(&command);
        // `generate` panics when its writer fails, so it gets one that cannot.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "hprof-rs", &mut script);
        print(&jvms::added(
            self.shell,
            String::from_utf8(script)?,
            &takers,
        ))
    }
}
