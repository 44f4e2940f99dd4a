//! `hprof-rs completions`: completion scripts.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::render::out::print;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs completions bash > ~/.local/share/bash-completion/completions/hprof-rs
  hprof-rs completions zsh > ~/.zfunc/_hprof-rs        (with ~/.zfunc in fpath)
  hprof-rs completions fish > ~/.config/fish/completions/hprof-rs.fish";

impl Completions {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        // `generate` panics when its writer fails, so it gets one that cannot.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "hprof-rs", &mut script);
        print(&String::from_utf8(script)?)
    }
}
