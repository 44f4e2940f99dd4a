//! The agent's options: one table, three stages. Agent and command share this crate; it knows no JVM.
//!
//! Every option is a row of [`table::all`]. From that table come
//!
//! * the parser ([`mod@parse`]): the option string to [`Raw`], what was written;
//! * the resolver ([`mod@resolve`]): [`Raw`] to [`Settings`], what it means after
//!   defaults and cross checks;
//! * the `help` text ([`help`]), the table of docs/options.md ([`table::markdown_table`])
//!   and the names for shell completion ([`table::names`]).
//!
//! [`load`] goes through all of it. Nothing here prints, exits or reads the
//! process environment: a refusal is a [`Failure`], which the caller prints and
//! obeys.
//!
//! Names, values, quirks and error texts are those of the HPROF agent of JDK 8,
//! with these departures: `%p`, `%t` and `%%` in `file` are replaced; `net`
//! takes IPv6 addresses in brackets and refuses ports outside 1 to 65535;
//! `depth` has an upper limit; `cpu=samples` and `cpu=times|old` exclude each
//! other, because that agent added samples and milliseconds into one counter.

mod depth;
pub mod error;
pub mod event;
pub mod file_name;
pub mod help;
mod hints;
mod name_end;
pub mod native_lock;
mod numbers;
mod packing;
pub mod parse;
mod patterns;
pub mod picture;
mod push;
pub mod raw;
pub mod resolve;
pub mod settings;
mod signals;
mod slow;
mod strip;
pub mod table;
mod threads;

pub use depth::with_depth;
pub use error::{Cause, ErrorPolicy, ExitKind, Failure, OptionError};
pub use event::{EventSampling, KernelEvent};
pub use file_name::{StartTime, expand_file_name, unique_name};
pub use help::help_text;
pub use packing::{Packing, unique_packed_name};
pub use parse::{Request, parse};
pub use patterns::{Patterns, glob};
pub use picture::{PICTURE_DEPTH, Picture, unique_picture_name};
pub use push::PushUrl;
pub use raw::{Raw, RawDestination, Timing};
pub use resolve::resolve;
pub use settings::{
    Clock, Destination, Engine, Format, Live, Locks, Lost, Modes, Process, SampleClock, Settings,
};
pub use slow::{SPANS, SlowMethods, SlowPattern, SlowThreshold};
pub use strip::{Keeps, Strip};
pub use threads::ThreadFilter;

/// The task that the options give the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Print this text on standard output and end the process with status 0.
    Help(String),
    /// Profile.
    Profile(Box<Settings>),
}

/// Parses, resolves and checks the options.
///
/// `command_line` is the text after `-agentlib:hprof=`, empty if there is
/// none; `environment` is the value of the variable `_JAVA_HPROF_OPTIONS`
/// ([`parse::ENVIRONMENT_VARIABLE`]), `None` if it is not set.
///
/// # Errors
///
/// A [`Failure`] holding the lines for standard error and the way to end the
/// process.
///
/// ```
/// use hprof_options::{Process, Start, StartTime, load};
///
/// let process = Process { pid: 42, start: StartTime::default() };
/// let Ok(Start::Profile(settings)) = load("cpu=samples,depth=8", None, &process) else {
///     unreachable!("these options are good");
/// };
/// assert!(settings.modes.cpu_samples);
/// assert_eq!(settings.depth, 8);
/// ```
pub fn load(
    command_line: &str,
    environment: Option<&str>,
    process: &Process,
) -> Result<Start, Failure> {
    let raw = match parse(command_line, environment)? {
        Request::Help => return Ok(Start::Help(help_text())),
        Request::Options(raw) => raw,
    };
    let settings = resolve(&raw, process)?;
    Ok(Start::Profile(Box::new(settings)))
}

/// Parses, resolves and checks the options for a running VM, where options that name no mode ask for none.
///
/// # Errors
///
/// As [`load`].
pub fn load_late(options: &str, process: &Process) -> Result<Option<Settings>, Failure> {
    let raw = match parse(options, None)? {
        // No reader is left.
        Request::Help => return Ok(None),
        Request::Options(raw) => raw,
    };
    let settings = resolve(&raw, process)?;
    if settings.modes.by_default {
        return Ok(None);
    }
    Ok(Some(settings))
}

#[cfg(test)]
mod tests;
