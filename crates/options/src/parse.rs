//! The option string, read from left to right into [`Raw`].
//!
//! The grammar is that of the JDK's agent, with its quirks, because command
//! lines and scripts depend on them:
//!
//! ```text
//! options := "" | "help" | item ("," item)* [","]
//! item    := name "=" value
//! ```
//!
//! A name is everything up to the next `=`, commas included; a value is
//! everything up to the next comma. Blanks are not skipped, names are not
//! abbreviated, and the last of several occurrences wins - except that `heap`
//! and `cpu` add up, and that `file` and `net` may occur only once in total.

use super::error::{Cause, Failure, Hint, OptionError};
use super::hints;
use super::numbers;
use super::raw::{Raw, RawDestination};
use super::table::{self, Kind, OptionSpec};

/// The environment variable whose text is appended to the options of the
/// command line.
pub const ENVIRONMENT_VARIABLE: &str = "_JAVA_HPROF_OPTIONS";

/// The variable by which the command `hprof-rs run` has the agent say at the program's end where the
/// profile is. Its value is the folder that the user is in.
pub const RUN_FROM: &str = "HPROF_RS_RUN_FROM";

/// The variable by which `hprof-rs run` tells JVMs that a script or a build tool starts from a JVM that it
/// starts itself. Its value is when the command began, in nanoseconds since 1970.
pub const RUN_BEGAN: &str = "HPROF_RS_RUN_BEGAN";

/// Longest name in bytes.
const NAME_MAX: usize = 15;
/// Longest value of a switch in bytes.
const SWITCH_MAX: usize = 79;
/// Longest port in bytes.
const PORT_MAX: usize = 15;
/// Longest value of any other option in bytes.
const VALUE_MAX: usize = 4096;

/// Advice for colons that do not separate host and port.
pub(super) const BRACKETS: &str = "an IPv6 address goes in brackets, as in net=[::1]:8000";

/// The request in the option string.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// The help text.
    Help,
    /// Profiling.
    Options(Box<Raw>),
}

/// Reads the options of the command line and of the environment.
///
/// `environment` is the value of [`ENVIRONMENT_VARIABLE`], `None` if it is not
/// set; it is not looked at when the command line is exactly `help`.
///
/// # Errors
///
/// The first thing that is not understood, as a [`Failure`] that respects
/// `errorexit`, `coredump` and `debug` as far as they precede it.
pub fn parse(command_line: &str, environment: Option<&str>) -> Result<Request, Failure> {
    if command_line == "help" {
        return Ok(Request::Help);
    }
    let mut text = command_line.to_owned();
    if let Some(more) = environment.filter(|more| !more.is_empty()) {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(more);
    }
    let mut raw = Raw::default();
    let mut scanner = Scanner { rest: &text };
    while !scanner.rest.is_empty() {
        if let Err(error) = item(&mut scanner, &mut raw) {
            return Err(Failure::new(&error, &text, raw.error_policy()));
        }
    }
    raw.text = text;
    Ok(Request::Options(Box::new(raw)))
}

/// Why there is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoToken {
    /// The text before the separator, or before the end, is empty.
    Empty,
    /// It is longer than it may be.
    TooLong,
}

/// The rest of the option string.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    /// Takes everything up to `separator`, and the separator; without one,
    /// everything to the end.
    fn token(&mut self, separator: char, max: usize) -> Result<&'a str, NoToken> {
        let (token, rest) = self.rest.split_once(separator).unwrap_or((self.rest, ""));
        if token.is_empty() {
            return Err(NoToken::Empty);
        }
        if token.len() > max {
            return Err(NoToken::TooLong);
        }
        self.rest = rest;
        Ok(token)
    }
}

/// Reads one `name=value`.
fn item(scanner: &mut Scanner<'_>, raw: &mut Raw) -> Result<(), OptionError> {
    let name = match scanner.token('=', NAME_MAX) {
        Ok(name) => name,
        Err(fault) => {
            let hint = match fault {
                NoToken::Empty => Hint::new("there is no name before '='"),
                NoToken::TooLong => hints::long_name(scanner.rest, NAME_MAX),
            };
            return Err(Cause::GeneralSyntax { hint }.into());
        }
    };
    match table::find(name) {
        Some(spec) => {
            value(spec, scanner, raw)?;
            raw.has_format |= spec.name == "format";
            raw.has_depth |= spec.name == "depth";
            raw.has_cutoff |= spec.name == "cutoff";
            raw.has_force |= spec.name == "force";
            Ok(())
        }
        None => Err(Cause::UnknownOption {
            name: name.to_owned(),
            hint: hints::name(name),
        }
        .into()),
    }
}

/// Reads the value of `spec` and records it.
fn value(
    spec: &'static OptionSpec,
    scanner: &mut Scanner<'_>,
    raw: &mut Raw,
) -> Result<(), OptionError> {
    let name = spec.name;
    let bad = |rule: &str, hint: Hint| {
        Err(Cause::BadValue {
            name,
            rule: rule.to_owned(),
            hint,
        }
        .into())
    };
    match &spec.kind {
        Kind::Switch(field) => match scanner.token(',', SWITCH_MAX) {
            Ok("y") => *field(raw) = true,
            Ok("n") => *field(raw) = false,
            Ok(other) => return bad("y|n", hints::switch(name, other)),
            Err(fault) => return bad("y|n", no_value(spec, fault, SWITCH_MAX)),
        },
        Kind::Choice(choices) => {
            let words: Vec<_> = choices.iter().map(|choice| choice.word).collect();
            let rule = words.join("|");
            let value = scanner
                .token(',', VALUE_MAX)
                .map_err(|f| syntax(spec, &rule, f))?;
            match choices.iter().find(|choice| choice.word == value) {
                Some(choice) => (choice.set)(raw),
                None => return bad(&rule, hints::word(name, value, &words)),
            }
        }
        Kind::Decimal { min, rule, field } => {
            let value = scanner
                .token(',', VALUE_MAX)
                .map_err(|f| syntax(spec, "DECIMAL", f))?;
            match numbers::decimal(value) {
                Some(number) if number >= *min => *field(raw) = number,
                _ => return bad(rule, hints::number(name, value)),
            }
        }
        Kind::Bytes(field) => {
            let value = scanner
                .token(',', VALUE_MAX)
                .map_err(|f| syntax(spec, "BYTES", f))?;
            match numbers::bytes(value) {
                Some(number) => *field(raw) = number,
                None => {
                    return bad(
                        "a number of bytes below 2g, with k or m for units",
                        hints::bytes(name, value),
                    );
                }
            }
        }
        Kind::Fraction(field) => {
            let value = scanner
                .token(',', VALUE_MAX)
                .map_err(|f| syntax(spec, "DOUBLE", f))?;
            match numbers::strtod(value) {
                // A NaN passes, as it always has: it switches the cutoff off.
                Some(number) if number >= 0.0 || number.is_nan() => *field(raw) = number,
                _ => return bad("floating point and >= 0", hints::fraction(name, value)),
            }
        }
        Kind::Mask(field) => match scanner.token(',', VALUE_MAX) {
            Ok(value) => *field(raw) = numbers::strtol(value, 0).0 as i32,
            Err(fault) => return bad("numeric", no_value(spec, fault, VALUE_MAX)),
        },
        Kind::Text(field) => {
            let value = scanner
                .token(',', VALUE_MAX)
                .map_err(|f| syntax(spec, spec.value, f))?;
            *field(raw) = Some(value.to_owned());
        }
        Kind::File => {
            only_destination(raw)?;
            let value = scanner
                .token(',', VALUE_MAX)
                .map_err(|f| syntax(spec, "filename", f))?;
            raw.destination = Some(RawDestination::File(value.to_owned()));
        }
        Kind::Net => {
            only_destination(raw)?;
            raw.destination = Some(net(scanner)?);
        }
        Kind::Removed { instead } => return Err(Cause::Removed { name, instead }.into()),
    }
    Ok(())
}

fn only_destination(raw: &Raw) -> Result<(), OptionError> {
    match &raw.destination {
        None => Ok(()),
        Some(first) => {
            let hint = Hint::new(format!("{first} came first, leave out one of them"));
            Err(Cause::DestinationTwice { hint }.into())
        }
    }
}

/// Reads `host:port`, where the host may be an IPv6 address in brackets.
fn net(scanner: &mut Scanner<'_>) -> Result<RawDestination, OptionError> {
    // A host may be called "unix"; its port begins with a digit, or is missing.
    if let Some(path) = scanner.rest.strip_prefix("unix:")
        && path.starts_with(['/', '.'])
    {
        scanner.rest = path;
        let path = scanner
            .token(',', VALUE_MAX)
            .map_err(|_| Cause::NetWithoutPort {
                hint: Hint::new("the path is longer than 4096 bytes"),
            })?;
        return Ok(RawDestination::Unix(path.to_owned()));
    }
    let without_host = |hint| Cause::NetWithoutHost {
        hint: Hint::new(hint),
    };
    let host = if let Some(bracketed) = scanner.rest.strip_prefix('[') {
        let (host, after) = bracketed
            .split_once(']')
            .filter(|(host, _)| (1..=VALUE_MAX).contains(&host.len()))
            .ok_or_else(|| without_host("write an IPv6 address as in net=[::1]:8000"))?;
        // Without the colon there is no port, whatever else follows.
        scanner.rest = after.strip_prefix(':').unwrap_or("");
        host
    } else {
        let bare_ipv6 = scanner.rest.starts_with("::");
        scanner.token(':', VALUE_MAX).map_err(|fault| match fault {
            NoToken::Empty if bare_ipv6 => without_host(BRACKETS),
            NoToken::Empty => without_host("write net=<host>:<port>"),
            NoToken::TooLong => without_host("the host is longer than 4096 bytes"),
        })?
    };
    let port = scanner.token(',', PORT_MAX).map_err(|fault| {
        let hint = match fault {
            NoToken::Empty => "write net=<host>:<port>",
            NoToken::TooLong if scanner.rest.contains(':') => BRACKETS,
            NoToken::TooLong => "the port is longer than 15 bytes",
        };
        Cause::NetWithoutPort {
            hint: Hint::new(hint),
        }
    })?;
    Ok(RawDestination::Net {
        host: host.to_owned(),
        port: port.to_owned(),
    })
}

/// The error for a value that is missing, empty or too long.
#[track_caller]
fn syntax(spec: &'static OptionSpec, expected: &str, fault: NoToken) -> OptionError {
    let hint = no_value(spec, fault, VALUE_MAX);
    Cause::ValueSyntax {
        name: spec.name,
        expected: expected.to_owned(),
        hint,
    }
    .into()
}

fn no_value(spec: &OptionSpec, fault: NoToken, max: usize) -> Hint {
    match fault {
        NoToken::Empty => Hint::new(format!(
            "{0} needs a value, write {0}={1}",
            spec.name, spec.value
        )),
        NoToken::TooLong => Hint::new(format!("the value is longer than {max} bytes")),
    }
}

#[cfg(test)]
mod tests;
