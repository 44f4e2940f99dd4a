//! The `hprof-rs` command: starts Java programs under the HPROF agent, which it
//! carries inside itself.
//!
//! One file per sub-command lies in [`commands`]; each parses its flags, lets a
//! module without a command line do the work, and prints the result.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod agent_library;
mod agent_options;
mod attach;
mod cli;
mod commands;
mod export;
mod jvm;
mod launch;
mod listen;
mod memory;
mod open;
mod query;
mod render;
mod report;
mod snapshot;

use std::io;
use std::process::ExitCode;

use clap::Parser;

use cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().command.execute() {
        Ok(status) => status,
        // The reader of a pipe has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if is_bare(&error) => {
            eprintln!("hprof-rs: cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("hprof-rs: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True for an error of a disk that is full and not said to be that of a file.
fn is_bare(error: &anyhow::Error) -> bool {
    let is_full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
    error.chain().count() == 1 && error.downcast_ref::<io::Error>().is_some_and(is_full)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
