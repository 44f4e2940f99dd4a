//! Marks: short texts about the agent in its own stream, which readers of profiles skip.
//!
//! In text each is a remark, a line that begins with `# `; in binary it is a UTF8 record whose string no other
//! record refers to.
//!
//! ```text
//! hprof-rs agent: version=0.1.0 pid=4711 format=b modes=cpu=samples main=App
//! hprof-rs value: serial=3 samples=1234
//! hprof-rs nothing: mode=cpu cpu=times has counted no call: the program loaded no class that include= and exclude= choose
//! hprof-rs reply: serial=3 done
//! hprof-rs reply: serial=4 refused no allocation sites are recorded: start with heap=sites
//! ```

use std::fmt;

use crate::control::{Mode, escape, unescape};

const AGENT: &str = "hprof-rs agent: ";
const REPLY: &str = "hprof-rs reply: ";
const NOTHING: &str = "hprof-rs nothing: ";
const VALUE: &str = "hprof-rs value: ";

/// Who writes the profile. Comes once, near the start; files have it as well. The reader of a stream believes the first
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The agent's version.
    pub version: String,
    /// The process, as numbered where it runs.
    pub pid: u32,
    /// `a` or `b`.
    pub format: String,
    /// The modes, such as `cpu=samples,heap=dump`.
    pub modes: String,
    /// Main class, module or archive of the program; empty when not known.
    pub main: String,
}

/// A command was carried out, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The number of the command.
    pub serial: u32,
    /// Why it was not carried out, if so. One line.
    pub refused: Option<String>,
}

/// A value of the answer to a request. The values of one request come in order, before its
/// [`Reply`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The number of the request.
    pub serial: u32,
    /// Its name, without blanks or `=`.
    pub name: String,
    /// Any text.
    pub value: String,
}

/// A mode has counted nothing of what it was asked for in the whole run. Comes in the last dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nothing {
    /// The mode.
    pub mode: Mode,
    /// The option, what it has nothing of, why, and what to do. One line.
    pub why: String,
}

/// A text of the agent about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Who writes.
    Agent(Identity),
    /// The result of a command.
    Reply(Reply),
    /// A part of the answer to a request.
    Value(Value),
    /// A mode has counted nothing.
    Nothing(Nothing),
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            version,
            pid,
            format,
            modes,
            main,
        } = self;
        write!(
            f,
            "{AGENT}version={version} pid={pid} format={format} modes={modes} main={main}"
        )
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{REPLY}serial={} ", self.serial)?;
        match &self.refused {
            None => f.write_str("done"),
            Some(why) => write!(f, "refused {}", one_line(why)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            serial,
            name,
            value,
        } = self;
        write!(f, "{VALUE}serial={serial} {name}={}", escape(value))
    }
}

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, why } = self;
        write!(f, "{NOTHING}mode={} {}", mode.name(), one_line(why))
    }
}

impl Mark {
    /// Reads the text of a remark (without its `# `) or of a UTF8 record; `None` when it is none of
    /// these.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix(AGENT) {
            let mut identity = Identity::default();
            // The last value may contain blanks.
            for part in rest.splitn(5, ' ') {
                match part.split_once('=')? {
                    ("version", value) => identity.version = value.to_owned(),
                    ("pid", value) => identity.pid = value.parse().ok()?,
                    ("format", value) => identity.format = value.to_owned(),
                    ("modes", value) => identity.modes = value.to_owned(),
                    ("main", value) => identity.main = value.to_owned(),
                    _ => {}
                }
            }
            return Some(Self::Agent(identity));
        }
        if let Some(rest) = text.strip_prefix(VALUE) {
            let (serial, pair) = rest.strip_prefix("serial=")?.split_once(' ')?;
            let (name, value) = pair.split_once('=')?;
            return Some(Self::Value(Value {
                serial: serial.parse().ok()?,
                name: name.to_owned(),
                value: unescape(value),
            }));
        }
        if let Some(rest) = text.strip_prefix(NOTHING) {
            let (mode, why) = rest.strip_prefix("mode=")?.split_once(' ')?;
            return Some(Self::Nothing(Nothing {
                mode: mode.parse().ok()?,
                why: why.to_owned(),
            }));
        }
        let rest = text.strip_prefix(REPLY)?.strip_prefix("serial=")?;
        let (serial, outcome) = rest.split_once(' ')?;
        let refused = match outcome.strip_prefix("refused ") {
            Some(why) => Some(why.to_owned()),
            None if outcome == "done" => None,
            None => return None,
        };
        Some(Self::Reply(Reply {
            serial: serial.parse().ok()?,
            refused,
        }))
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn marks_come_back(
            pid in any::<u32>(),
            serial in any::<u32>(),
            main in "[a-zA-Z ./=]{0,40}",
            why in "[^\n\r]{0,60}",
            refused in any::<bool>(),
        ) {
            let identity = Identity {
                version: "0.1.0".into(),
                pid,
                format: "b".into(),
                modes: "cpu=samples,heap=dump".into(),
                main,
            };
            prop_assert_eq!(Mark::parse(&identity.to_string()), Some(Mark::Agent(identity)));
            let nothing = Nothing { mode: Mode::Cpu, why: why.clone() };
            prop_assert_eq!(Mark::parse(&nothing.to_string()), Some(Mark::Nothing(nothing)));
            let reply = Reply { serial, refused: refused.then_some(why) };
            prop_assert_eq!(Mark::parse(&reply.to_string()), Some(Mark::Reply(reply)));
        }

        #[test]
        fn values_come_back_in_one_line(
            serial in any::<u32>(),
            name in "[a-z_.]{1,12}",
            value in "(?s).{0,60}",
        ) {
            let value = Value { serial, name, value };
            let text = value.to_string();
            prop_assert!(!text.contains(['\n', '\r']));
            prop_assert_eq!(Mark::parse(&text), Some(Mark::Value(value)));
        }

        #[test]
        fn other_text_is_no_mark(text in ".{0,80}") {
            prop_assert_eq!(Mark::parse(&text), None);
        }
    }
}
