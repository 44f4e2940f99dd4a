//! The way from a recording to its agent: a process of this machine, or an agent that streams its
//! profile to the server.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hprof_format::binary::mutf8;
use hprof_wire::command::{Command, SiteFlags};
use hprof_wire::control::{Reply, Request};

use super::machine::{Machine, Pid, Refused, RefusedKind};
use super::network::{Ask, Network};
use super::stream::{AgentStream, Lost};

/// The parameter `id` of the routes of JVMs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JvmId {
    /// A process of the server's machine: its number.
    Process(Pid),
    /// An agent that streams to the server: `n` and its number.
    Sender(u32),
}

impl fmt::Display for JvmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(pid) => pid.fmt(f),
            Self::Sender(number) => write!(f, "n{number}"),
        }
    }
}

impl FromStr for JvmId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| text.parse().ok().filter(|&number: &u32| number > 0);
        match text.strip_prefix('n') {
            Some(rest) => number(rest).map(Self::Sender),
            None => number(text).map(|pid| Self::Process(Pid(pid))),
        }
        .ok_or(())
    }
}

/// The tables that a look asks the agent to write at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The table of allocation sites.
    Sites,
    /// Traces that the stream lacks; its answer marks the end of what was dumped.
    Traces,
}

/// A connection to an agent.
pub trait Link: Send {
    /// Sends a request.
    ///
    /// # Errors
    /// If the agent has gone, or does not answer in time.
    fn control(&self, request: &Request, limit: Duration) -> Result<Reply, Refused>;

    /// Has the agent write something, and gives all text up to its answer.
    ///
    /// # Errors
    /// If the answer does not come.
    fn look(&mut self, look: Look, limit: Duration) -> Result<String, Lost>;

    /// Returns whether the agent has closed its stream.
    fn has_ended(&self) -> bool;

    /// The tables that the agent wrote by itself at its end, for which this waits.
    fn rest(&mut self, limit: Duration) -> String;

    /// Ends what the recording has begun.
    ///
    /// # Errors
    /// If the agent refuses.
    fn detach(&self, limit: Duration) -> Result<(), Refused>;
}

/// The agent of a recording that the server has loaded into a process.
pub struct ProcessLink {
    /// The process.
    pub pid: Pid,
    /// Its machine.
    pub machine: Arc<dyn Machine>,
    /// The stream that the server has asked for.
    pub stream: AgentStream,
}

impl Link for ProcessLink {
    fn control(&self, request: &Request, limit: Duration) -> Result<Reply, Refused> {
        self.machine.control(self.pid, request, limit)
    }

    fn look(&mut self, look: Look, limit: Duration) -> Result<String, Lost> {
        let command = match look {
            Look::Sites => Command::AllocSites {
                flags: SiteFlags::default(),
                cutoff: 0.0,
            },
            Look::Traces => Command::DumpTraces,
        };
        self.stream.ask(command, limit)
    }

    fn has_ended(&self) -> bool {
        self.stream.has_ended()
    }

    fn rest(&mut self, limit: Duration) -> String {
        self.stream.rest(limit)
    }

    fn detach(&self, limit: Duration) -> Result<(), Refused> {
        match self.machine.control(self.pid, &Request::Detach, limit) {
            Ok(Reply { error: None, .. }) => Ok(()),
            Ok(Reply {
                error: Some(why), ..
            }) => Err(Refused::new(RefusedKind::Refused, why)),
            Err(refused) if refused.kind == RefusedKind::Missing => Ok(()),
            Err(refused) => Err(refused),
        }
    }
}

/// The most text of one look.
const MAX_LOOK: usize = 128 << 20;

/// An agent that streams to the server. Its stream is a file that grows; other parts of the server
/// keep it.
pub struct SenderLink {
    /// The agent's number.
    pub number: u32,
    /// Whatever takes its stream.
    pub network: Arc<dyn Network>,
    /// The bytes of the stream that were read.
    pub read: u64,
}

impl SenderLink {
    /// The text that has come since the last time, in whole lines.
    ///
    /// # Errors
    /// If the stream cannot be read, or too much has come.
    pub fn take(&mut self) -> Result<String, Lost> {
        let mut text = Vec::new();
        loop {
            let from = self.read + text.len() as u64;
            let more = self.network.read(self.number, from);
            let more = more.map_err(|_| Lost::Ended)?;
            if more.is_empty() {
                break;
            }
            text.extend_from_slice(&more);
            if text.len() > MAX_LOOK {
                return Err(Lost::TooMuch);
            }
        }
        let whole = text.iter().rposition(|&byte| byte == b'\n');
        text.truncate(whole.map_or(0, |at| at + 1));
        self.read += text.len() as u64;
        Ok(mutf8::decode(&text).into_owned())
    }
}

impl Link for SenderLink {
    fn control(&self, request: &Request, limit: Duration) -> Result<Reply, Refused> {
        let ask = Ask::Request(request.clone());
        self.network.ask(self.number, &ask, limit)
    }

    fn look(&mut self, look: Look, limit: Duration) -> Result<String, Lost> {
        let ask = match look {
            Look::Sites => Ask::Sites,
            Look::Traces => Ask::Traces,
        };
        match self.network.ask(self.number, &ask, limit) {
            Ok(_) => self.take(),
            Err(refused) => match refused.kind {
                RefusedKind::Late => Err(Lost::Late),
                _ => Err(Lost::Ended),
            },
        }
    }

    fn has_ended(&self) -> bool {
        !self.network.is_connected(self.number)
    }

    fn rest(&mut self, _: Duration) -> String {
        // Its stream continues.
        String::new()
    }

    fn detach(&self, _: Duration) -> Result<(), Refused> {
        // The agent is the program's own; it records on for its stream.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back() {
        for id in [JvmId::Process(Pid(17)), JvmId::Sender(3)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "n", "0", "n0", "x", "-1", "n-1", "99999999999"] {
            assert_eq!(text.parse::<JvmId>(), Err(()));
        }
    }
}
