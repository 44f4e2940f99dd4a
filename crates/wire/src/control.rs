//! Requests and replies on the control socket.
//!
//! A client connects, sends one line, and reads lines until the agent closes the connection:
//!
//! ```text
//! > status
//! < ok
//! < state=running
//! < modes=cpu=samples
//! < samples=1234
//! ```
//!
//! The first line of a reply is `ok`, or `error ` with what is wrong and what to do about it. Each
//! further line is a name, `=`, and a value; values have `\n`, `\r` and `\\` escaped in this way.
//! Names may be added, so a client passes over those that it does not know.
//!
//! | Request | Effect |
//! |---|---|
//! | `start [MODE ...]` | resumes these modes, or all that are stopped |
//! | `start OPTIONS` | begins to profile with these agent options, or adds their modes to the run |
//! | `stop [MODE ...]` | records no more in these modes, or in all; counts stay |
//! | `dump [MODE ...]` | writes the tables of these modes, or of all, to the run's output, and sets the counts to zero |
//! | `reset [MODE ...]` | sets the counts of these modes, or of all, to zero without writing anything (what JVMPI called DATA_RESET_REQUEST) |
//! | `gc` | collects garbage |
//! | `status` | what is going on, for people |
//! | `metrics` | counters of the run and of the agent's own cost, for machines |
//! | `object CLASS ...` | shows live objects with fields and referrers; see [`object_query`](crate::object_query) |
//! | `detach` | writes the last dump (unless `doe=n`), ends the run, frees everything, closes the socket |

use std::fmt;
use std::str::FromStr;

use crate::object_query::ObjectQuery;

/// The longest line of a request in bytes.
pub const MAX_REQUEST: usize = 16 << 10;

/// Something that is recorded, and can be stopped, dumped and reset by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// `cpu`: samples or times.
    Cpu,
    /// `sites`: allocation sites.
    Sites,
    /// `heap`: the heap dump, which is only ever dumped.
    Heap,
    /// `monitor`: locks.
    Monitor,
    /// `native`: memory outside of the heap.
    Native,
    /// `nativelock`: locks of native code.
    NativeLock,
    /// `slow`: calls of chosen methods, each timed.
    Slow,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 7] = [
        Self::Cpu,
        Self::Sites,
        Self::Heap,
        Self::Monitor,
        Self::Native,
        Self::NativeLock,
        Self::Slow,
    ];

    /// Its name in requests and replies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Sites => "sites",
            Self::Heap => "heap",
            Self::Monitor => "monitor",
            Self::Native => "native",
            Self::NativeLock => "nativelock",
            Self::Slow => "slow",
        }
    }
}

impl FromStr for Mode {
    type Err = RequestError;

    fn from_str(text: &str) -> Result<Self, RequestError> {
        let mut modes = Self::ALL.into_iter();
        let found = modes.find(|mode| mode.name() == text);
        found.ok_or_else(|| RequestError::Mode(text.to_owned()))
    }
}

/// A request to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Begin with these options, or add their modes.
    Start(String),
    /// Record again in these modes. An empty list means all modes, here and below.
    Resume(Vec<Mode>),
    /// Record no more.
    Stop(Vec<Mode>),
    /// Write a dump.
    Dump(Vec<Mode>),
    /// Forget what was counted.
    Reset(Vec<Mode>),
    /// Collect garbage.
    Gc,
    /// State, modes, output and counts of the run.
    Status,
    /// Counters.
    Metrics,
    /// Live objects.
    Object(ObjectQuery),
    /// End everything.
    Detach,
}

/// Why a line is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Unknown first word.
    #[error(
        "unknown request '{0}'; there are start, stop, dump, reset, gc, status, metrics, object, detach"
    )]
    Verb(String),
    /// Unknown mode.
    #[error("unknown mode '{0}'; there are cpu, sites, heap, monitor, native, nativelock, slow")]
    Mode(String),
    /// A question about objects that makes no sense.
    #[error("{0}")]
    Object(String),
    /// Text after a request without arguments.
    #[error("'{0}' takes no arguments")]
    Surplus(&'static str),
}

impl Request {
    /// Its first word.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Start(_) | Self::Resume(_) => "start",
            Self::Stop(_) => "stop",
            Self::Dump(_) => "dump",
            Self::Reset(_) => "reset",
            Self::Gc => "gc",
            Self::Status => "status",
            Self::Metrics => "metrics",
            Self::Object(_) => "object",
            Self::Detach => "detach",
        }
    }
}

impl FromStr for Request {
    type Err = RequestError;

    fn from_str(line: &str) -> Result<Self, RequestError> {
        let line = line.trim();
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let modes = || {
            rest.split_whitespace()
                .map(Mode::from_str)
                .collect::<Result<Vec<_>, _>>()
        };
        let alone = |name, request| match rest {
            "" => Ok(request),
            _ => Err(RequestError::Surplus(name)),
        };
        match verb {
            // No option of the agent is a mode's bare name.
            "start" => Ok(modes().map_or_else(|_| Self::Start(rest.to_owned()), Self::Resume)),
            "stop" => Ok(Self::Stop(modes()?)),
            "dump" => Ok(Self::Dump(modes()?)),
            "reset" => Ok(Self::Reset(modes()?)),
            "gc" => alone("gc", Self::Gc),
            "status" => alone("status", Self::Status),
            "metrics" => alone("metrics", Self::Metrics),
            "object" => rest.parse().map(Self::Object),
            "detach" => alone("detach", Self::Detach),
            other => Err(RequestError::Verb(other.to_owned())),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb())?;
        match self {
            Self::Start(options) => write!(f, " {options}"),
            Self::Object(query) => write!(f, " {query}"),
            Self::Resume(modes) | Self::Stop(modes) | Self::Dump(modes) | Self::Reset(modes) => {
                modes
                    .iter()
                    .try_for_each(|mode| write!(f, " {}", mode.name()))
            }
            Self::Gc | Self::Status | Self::Metrics | Self::Detach => Ok(()),
        }
    }
}

/// The agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// The error, if any.
    pub error: Option<String>,
    /// Names and values, in order.
    pub values: Vec<(String, String)>,
}

impl Reply {
    /// A reply that something is wrong.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            error: Some(text.into()),
            values: Vec::new(),
        }
    }

    /// Adds a value.
    pub fn push(&mut self, name: &str, value: impl fmt::Display) {
        self.values.push((name.to_owned(), value.to_string()));
    }

    /// The first value of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Reads a whole reply; `None` when it is none, or was cut off before its first line ended.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text
            .split_inclusive('\n')
            .map_while(|line| line.strip_suffix('\n'));
        let error = match lines.next()? {
            "ok" => None,
            line => Some(unescape(line.strip_prefix("error ")?)),
        };
        let values = lines
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), unescape(value)))
            .collect();
        Some(Self { error, values })
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            None => f.write_str("ok\n")?,
            Some(text) => writeln!(f, "error {}", escape(text))?,
        }
        self.values
            .iter()
            .try_for_each(|(name, value)| writeln!(f, "{name}={}", escape(value)))
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

pub(crate) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            (c, false) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests() -> impl Strategy<Value = Request> {
        let modes = || prop::collection::vec(prop::sample::select(&Mode::ALL[..]), 0..4);
        prop_oneof![
            "cpu=[a-z=,%/.0-9]{1,60}".prop_map(Request::Start),
            modes().prop_map(Request::Resume),
            modes().prop_map(Request::Stop),
            modes().prop_map(Request::Dump),
            modes().prop_map(Request::Reset),
            Just(Request::Gc),
            Just(Request::Status),
            Just(Request::Metrics),
            Just(Request::Detach),
        ]
    }

    proptest! {
        #[test]
        fn requests_come_back(request in requests()) {
            prop_assert_eq!(request.to_string().parse(), Ok(request));
        }

        #[test]
        fn replies_come_back(
            error in prop::option::of(".{0,40}"),
            values in prop::collection::vec(("[a-z_.]{1,12}", "(?s).{0,40}"), 0..6),
        ) {
            let reply = Reply { error, values };
            prop_assert_eq!(Reply::parse(&reply.to_string()), Some(reply));
        }

        #[test]
        fn any_line_is_a_request_or_an_error(line in ".{0,80}") {
            if let Err(error) = line.parse::<Request>() {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn bare_modes_are_resumed_and_options_begin() {
        let request = |line: &str| line.parse::<Request>().unwrap();
        assert_eq!(request("start"), Request::Resume(Vec::new()));
        let modes = vec![Mode::Cpu, Mode::Sites];
        assert_eq!(request("start cpu sites"), Request::Resume(modes));
        let options = "cpu=samples,depth=8".to_owned();
        assert_eq!(
            request("start cpu=samples,depth=8"),
            Request::Start(options)
        );
    }

    #[test]
    fn a_reply_that_was_cut_off_is_none() {
        assert_eq!(Reply::parse(""), None);
        assert_eq!(Reply::parse("o"), None);
        assert_eq!(Reply::parse("ok"), None);
        assert_eq!(Reply::parse("ok\na=1\nb").unwrap().values.len(), 1);
    }
}
