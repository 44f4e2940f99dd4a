//! The `hprof-rs` command: starts Java programs under the HPROF agent, which it
//! carries inside itself.
//!
//! One file per sub-command lies in [`commands`]; each parses its flags, lets a
//! module without a command line do the work, and prints the result.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]
// A build with fewer commands has code that only the others call.
#![cfg_attr(
    not(all(
        feature = "capture",
        feature = "fleet",
        feature = "live",
        feature = "mcp",
        feature = "parquet",
        feature = "query",
        feature = "serve"
    )),
    allow(dead_code)
)]

mod agent_library;
mod agent_options;
mod attach;
mod blocks;
mod by_time;
mod calls;
mod capture;
mod cli;
mod commands;
mod events;
mod export;
mod findings;
mod from_jvm;
mod gc;
mod headings;
mod jvm;
mod launch;
mod left_out;
mod listen;
mod mapping;
mod measure;
mod memory;
mod not_built;
mod nothing;
mod observations;
mod open;
mod partly_read;
mod process_memory;
#[cfg(feature = "capture")]
mod push;
#[cfg(feature = "query")]
mod query;
mod recordings;
mod render;
mod report;
mod serve;
mod sheet;
mod snapshot;
mod sources;
mod strip_rules;
mod suspects;
mod thread_dumps;
mod what_it_is;
mod window;
mod written;

use std::error::Error;
use std::io;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use cli::Cli;
use not_built::NotBuilt;
use render::foreign;
use render::out::tell;
use render::steps;

fn main() -> ExitCode {
    memory::give_back_what_is_freed();
    let parsed = headings::command().try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(mut error) => {
            suggest(&mut error);
            return refuse(&error);
        }
    };
    if cli.raw {
        foreign::print_raw();
    }
    if let Some(form) = cli.progress {
        steps::select(form);
    }
    std::panic::set_hook(Box::new(|panic| tell!("hprof-rs: {panic}")));
    let answers_itself = cli.command.answers_itself();
    match cli.command.execute() {
        Ok(ExitCode::SUCCESS) if !answers_itself && partly_read::say() => ExitCode::FAILURE,
        Ok(status) => status,
        // The reader of a pipe has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if is_bare(&error) => {
            tell!("hprof-rs: cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
        Err(error) => {
            tell!("hprof-rs: {error:#}");
            match error.is::<NotBuilt>() {
                true => NotBuilt::STATUS.into(),
                false => ExitCode::FAILURE,
            }
        }
    }
}

/// Names the flag that is meant: for short ones clap finds no similar one.
fn suggest(error: &mut clap::Error) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let given = given.split('=').next().unwrap_or_default().to_owned();
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some()
    {
        return;
    }
    let command = Cli::command();
    let names: Vec<String> = std::env::args().skip(1).collect();
    let Some(found) = names.iter().find_map(|name| command.find_subcommand(name)) else {
        return;
    };
    let flags = found
        .get_arguments()
        .filter_map(|flag| Some(format!("--{}", flag.get_long()?)));
    let distance = |flag: &String| strsim::damerau_levenshtein(flag, &given);
    if let Some(flag) = flags
        .min_by_key(distance)
        .filter(|flag| distance(flag) <= 2)
    {
        error.remove(ContextKind::Suggested);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
    }
}

/// Help, or what is wrong with the command line, which may hold names of others too.
fn refuse(error: &clap::Error) -> ExitCode {
    let mut text = error.to_string();
    if let Some((parser, plain)) = in_plain_words(error) {
        text = text.replacen(&format!(": {parser}"), &format!(": {plain}"), 1);
        tell!("{}", text.trim_end());
    } else if error.use_stderr() && foreign::page(&text) != text {
        tell!("{}", text.trim_end());
    } else {
        // There is nowhere to say that this failed.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The message of a parser of the standard library, and a plain message to print instead.
fn in_plain_words(error: &clap::Error) -> Option<(String, &'static str)> {
    let source = error.source()?;
    let plain = if let Some(error) = source.downcast_ref::<ParseIntError>() {
        match error.kind() {
            IntErrorKind::PosOverflow => "the number is too large",
            _ => "give a whole number such as 10",
        }
    } else if source.is::<ParseFloatError>() {
        "give a number such as 0.5"
    } else if source.is::<AddrParseError>() {
        "give an address and a port, such as 127.0.0.1:8080"
    } else {
        return None;
    };
    Some((source.to_string(), plain))
}

/// True for an error of a disk that is full and not said to be that of a file: one of the system, without words of ours.
fn is_bare(error: &anyhow::Error) -> bool {
    let is_full = |error: &io::Error| {
        error.kind() == io::ErrorKind::StorageFull && error.raw_os_error().is_some()
    };
    error.chain().count() == 1 && error.downcast_ref::<io::Error>().is_some_and(is_full)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_of_another_file_is_none_of_standard_output() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        assert!(is_bare(&full().into()));
        assert!(!is_bare(&anyhow::Error::from(full()).context("a file")));
        let of_scratch = io::Error::new(io::ErrorKind::StorageFull, "the scratch file is full");
        assert!(!is_bare(&of_scratch.into()));
        assert!(!is_bare(&io::Error::from_raw_os_error(libc::EIO).into()));
    }
}
