//! Errors in the options, their messages, and the exit of the process.
//!
//! The lines have the shape of the JDK's agent, which scripts look for:
//! `HPROF ERROR: hprof option error: <detail> (<all options>) [<file>:<line>]`.
//! Each detail starts with that agent's text. The text after a semicolon is ours
//! and says what to change.

use std::fmt;
use std::panic::Location;

use thiserror::Error;

/// Advice after the text of an error, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hint(Option<String>);

impl Hint {
    /// No advice.
    pub const NONE: Hint = Hint(None);

    /// Advice that follows the text after a semicolon.
    pub fn new(text: impl Into<String>) -> Self {
        Hint(Some(text.into()))
    }
}

impl From<Option<String>> for Hint {
    fn from(text: Option<String>) -> Self {
        Hint(text)
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(text) => write!(f, "; {text}"),
            None => Ok(()),
        }
    }
}

/// The violated rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Cause {
    /// There is no option of this name.
    #[error("Unknown option: {name}{hint}")]
    UnknownOption {
        /// The name as written.
        name: String,
        /// The probable intention.
        hint: Hint,
    },
    /// The name of an option is empty or longer than 15 bytes.
    #[error("general syntax error parsing options{hint}")]
    GeneralSyntax {
        /// The likely mistake.
        hint: Hint,
    },
    /// A second `file` or `net`.
    #[error("file or net options should only appear once{hint}")]
    DestinationTwice {
        /// The change that helps.
        hint: Hint,
    },
    /// The value is missing, empty or too long.
    #[error("syntax error parsing {name}={expected}{hint}")]
    ValueSyntax {
        /// The option.
        name: &'static str,
        /// Its values.
        expected: String,
        /// The change that helps.
        hint: Hint,
    },
    /// `net` without a host.
    #[error("net option missing ':'{hint}")]
    NetWithoutHost {
        /// The change that helps.
        hint: Hint,
    },
    /// `net` without a port.
    #[error("net option missing port{hint}")]
    NetWithoutPort {
        /// The change that helps.
        hint: Hint,
    },
    /// The value is not one the option takes.
    #[error("{name} option value must be {rule}{hint}")]
    BadValue {
        /// The option.
        name: &'static str,
        /// The rule for values.
        rule: String,
        /// The probable intention.
        hint: Hint,
    },
    /// An option that the JDK's agent had in the past.
    #[error("The {name} option was removed, use {instead}")]
    Removed {
        /// The option.
        name: &'static str,
        /// The replacement.
        instead: &'static str,
    },
    /// A mode that has no binary output.
    #[error("{mode} is not supported with format=b; leave out format=b, or {mode}")]
    NotInBinary {
        /// The mode.
        mode: &'static str,
    },
    /// Such a mode, and a name that selects binary output.
    #[error("{file} selects format=b, which {mode} does not support; give the file another name")]
    NotInPacked {
        /// The mode.
        mode: &'static str,
        /// The file.
        file: String,
    },
    /// A mode that cannot be drawn.
    #[error(
        "a {mode} has no stacks to draw, so it cannot go to {file}; use cpu=samples, cpu=times or \
         heap=sites, or give the file another name"
    )]
    NoPicture {
        /// The name of the mode.
        mode: &'static str,
        /// The file.
        file: String,
    },
    /// A name that promises a format which the agent does not write.
    #[error(
        "the agent does not write {end}, as {file} says; name it .txt, .hprof (with format=b), .hprof.gz, \
         .hprof.zst, .html, .svg, .collapsed, .pb.gz or .speedscope.json, or give format=a|b for text or binary in a \
         file of any name"
    )]
    ForeignFormat {
        /// The end of the name.
        end: String,
        /// The file.
        file: String,
    },
    /// Less than all of a heap dump that is no binary one.
    #[error(
        "{option} needs format=b; leave it out for text, which never holds primitive values and always \
         holds references"
    )]
    OnlyInBinary {
        /// The option with its value.
        option: String,
    },
    /// A level below 2 with a finer rule.
    #[error("dumplevel={level} and strip= cannot be combined; write only one of them")]
    LevelWithStrip {
        /// The level.
        level: u8,
    },
    /// Samples and call times in one run.
    #[error(
        "cpu=samples and cpu={times} cannot be combined: \
         run the program once with each of them"
    )]
    SamplesWithTimes {
        /// `times` or `old`.
        times: &'static str,
    },
    /// Chosen calls and all calls in one run.
    #[error(
        "slow= and cpu={times} cannot be combined, as both put hooks into methods; use cpu=samples or cpu=wall with slow=, \
         or run the program once with each of them"
    )]
    SlowWithTimes {
        /// `times` or `old`.
        times: &'static str,
    },
    /// Sites of the heap and of native memory in one run.
    #[error(
        "native= and heap=sites cannot be combined, as tables of sites are of one kind of memory: run the program once \
         with each of them"
    )]
    NativeWithSites,
    /// An event of the kernel with another way to take samples.
    #[error(
        "event= and {option} cannot be combined, as samples are taken in one way: leave out one of them"
    )]
    EventWith {
        /// The option.
        option: &'static str,
    },
    /// More frames than a trace can have.
    #[error("depth option value must be at most {max}; {given} frames per trace are too many")]
    DepthTooLarge {
        /// The value.
        given: i32,
        /// The limit.
        max: u32,
    },
    /// A port that cannot exist. This is a set-up error, not an option error.
    #[error("invalid port number: {port} in {net}; a port is 1 to 65535{hint}")]
    InvalidPort {
        /// The port as written.
        port: String,
        /// The whole option.
        net: String,
        /// A further change that helps.
        hint: Hint,
    },
}

impl Cause {
    /// Returns whether the JDK's agent would call this an option error; otherwise it is
    /// an error in setting up, whose line does not quote the options.
    fn is_option_error(&self) -> bool {
        !matches!(self, Cause::InvalidPort { .. })
    }
}

/// A [`Cause`] and the place in this agent's source that found it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{cause}")]
pub struct OptionError {
    /// The violated rule.
    pub cause: Cause,
    location: &'static Location<'static>,
}

impl From<Cause> for OptionError {
    #[track_caller]
    fn from(cause: Cause) -> Self {
        OptionError {
            cause,
            location: Location::caller(),
        }
    }
}

/// The handling of errors that the options ask for, at the place in the option string
/// where the error happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorPolicy {
    /// Every error is fatal (`errorexit=y`).
    pub fatal: bool,
    /// A fatal error aborts (`coredump=y` or `debug=y`).
    pub abort: bool,
}

/// The exit of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// Exit with this status, without running exit handlers of the JVM.
    Status(i32),
    /// Restore the default action of SIGABRT and abort.
    Abort,
}

/// The agent cannot start: lines for standard error and the exit of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Lines without line ends.
    pub lines: Vec<String>,
    /// The exit after them.
    pub exit: ExitKind,
}

impl Failure {
    /// The failure for `error`; `options` are all options including those of
    /// the environment.
    #[must_use]
    pub fn new(error: &OptionError, options: &str, policy: ErrorPolicy) -> Self {
        let text = if error.cause.is_option_error() {
            format!("hprof option error: {error} ({options})")
        } else {
            error.to_string()
        };
        let mut lines = vec![error_line(&text, error.location)];
        if !policy.fatal {
            return Failure {
                lines,
                exit: ExitKind::Status(1),
            };
        }
        let (more, exit) = fatal_end(policy);
        lines.extend(more.iter().map(|&line| line.to_owned()));
        Failure { lines, exit }
    }
}

/// The lines after a fatal error, without line ends, and the exit of the process.
#[must_use]
pub fn fatal_end(policy: ErrorPolicy) -> (&'static [&'static str], ExitKind) {
    const LINES: &[&str] = &["HPROF TERMINATED PROCESS", "HPROF DUMPING CORE"];
    if policy.abort {
        (LINES, ExitKind::Abort)
    } else {
        (&LINES[..1], ExitKind::Status(9))
    }
}

/// The line `HPROF ERROR: <text> [<file>:<line>]` without its line end.
///
/// Control characters are escaped, so that it is one line whatever the text
/// quotes.
#[must_use]
pub fn error_line(text: &str, location: &Location<'_>) -> String {
    let file = location
        .file()
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default();
    let mut line = String::from("HPROF ERROR: ");
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line + &format!(" [{file}:{}]", location.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(fatal: bool, abort: bool) -> Failure {
        let error = OptionError::from(Cause::GeneralSyntax { hint: Hint::NONE });
        Failure::new(&error, "=x", ErrorPolicy { fatal, abort })
    }

    #[test]
    fn the_line_has_the_shape_of_the_jdk_agent() {
        let Failure { lines, exit } = failure(false, true);
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        let start = "HPROF ERROR: hprof option error: general syntax error parsing options (=x) \
                     [error.rs:";
        assert!(line.starts_with(start), "{line}");
        assert!(line.ends_with(']'), "{line}");
        assert_eq!(exit, ExitKind::Status(1));
    }

    #[test]
    fn errorexit_makes_it_fatal_and_coredump_aborts() {
        let fatal = failure(true, false);
        assert_eq!(fatal.lines[1..], ["HPROF TERMINATED PROCESS"]);
        assert_eq!(fatal.exit, ExitKind::Status(9));
        let abort = failure(true, true);
        assert_eq!(
            abort.lines[1..],
            ["HPROF TERMINATED PROCESS", "HPROF DUMPING CORE"]
        );
        assert_eq!(abort.exit, ExitKind::Abort);
    }

    #[test]
    fn a_line_stays_one_line() {
        let line = error_line("a\nb\u{1b}", Location::caller());
        assert!(line.starts_with("HPROF ERROR: a\\nb\\u{1b} ["), "{line}");
    }
}
