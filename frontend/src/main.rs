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
use render::foreign;
use render::out::tell;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    if cli.raw {
        foreign::print_raw();
    }
    std::panic::set_hook(Box::new(|panic| tell!("hprof-rs: {panic}")));
    match cli.command.execute() {
        Ok(status) => status,
        // The reader of a pipe has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if is_bare(&error) => {
            tell!("hprof-rs: cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
        Err(error) => {
            tell!("hprof-rs: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Help, or what is wrong with the command line, which may hold names of others too.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    if error.use_stderr() && foreign::page(&text) != text {
        tell!("{}", text.trim_end());
    } else {
        // There is nowhere to say that this failed.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
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
