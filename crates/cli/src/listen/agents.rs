//! The agents of a listener, with the commands that they have not answered.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hprof_wire::marks::{self, Identity};

use super::address::{Peer, Source, Stream};
use super::follow::{Kind, Summary};
use super::save::file_name;
use super::script::Order;

/// Ended agents beyond this number are forgotten, the oldest first.
const MAX_ENDED: usize = 1000;
/// Agents that are not ours do not answer some commands; these count as done after this time.
const SILENT: Duration = Duration::from_secs(1);
/// Agents of other makers may say nothing for long; after this time they are taken for such.
const INTRODUCTION: Duration = Duration::from_secs(2);
/// Commands that one agent has not answered.
const MAX_PENDING: usize = 1000;
/// Bytes of the values of one answer.
const MAX_VALUES: usize = 8 << 20;

/// An agent, or the profile that one has sent.
#[derive(Debug)]
pub struct Agent {
    /// Its number, from 1 on.
    pub number: u32,
    /// Its address.
    pub peer: String,
    /// Its mark about itself; agents of other makers send none.
    pub identity: Option<Identity>,
    /// The format, once something has come.
    pub kind: Option<Kind>,
    /// Records, or lines of text.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
    /// The sum of the last table of samples.
    pub samples: Option<u64>,
    /// How its stream ended, if it has.
    pub end: Option<End>,
    pub(super) since: Instant,
    pub(super) from: Source,
    /// It was closed so that others find room.
    pub(super) has_made_room: bool,
    pub(super) path: Option<PathBuf>,
    pub(super) summary: Option<Summary>,
    pub(super) pending: Vec<Pending>,
    pub(super) stream: Option<Stream>,
}

/// How a stream ended.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// The file, if there is anything to save.
    pub file: Option<PathBuf>,
    /// True if something is missing at its end.
    pub is_cut: bool,
    /// The error, if any.
    pub fault: Option<String>,
}

/// A command that has not been answered.
#[derive(Debug)]
pub(super) struct Pending {
    /// Its number.
    pub serial: u32,
    /// The command.
    pub order: Order,
    /// When it was sent.
    pub sent: Instant,
    /// The bytes of the stream at that time.
    pub bytes_before: u64,
    /// Answered, and about to be reported.
    pub is_answered: bool,
    /// The answer to a request, as far as it has come.
    pub values: Values,
}

/// Names and values of an answer, in order.
#[derive(Debug, Clone, Default)]
pub struct Values {
    pairs: Vec<(String, String)>,
    bytes: usize,
}

impl Values {
    /// Adds a value. Those beyond a bound are left out: any client that connects can send them.
    fn push(&mut self, name: String, value: String) {
        const PAIR: usize = 64;
        let bytes = self.bytes + name.len() + value.len() + PAIR;
        if bytes <= MAX_VALUES {
            self.bytes = bytes;
            self.pairs.push((name, value));
        }
    }

    /// All of them.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }
}

/// An answer, to be shown.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The agent's number.
    pub agent: u32,
    /// The command's.
    pub serial: u32,
    /// The command.
    pub order: Order,
    /// Why it was not done, if so.
    pub refused: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// The bytes received meanwhile.
    pub bytes: u64,
    /// The stream's file so far.
    pub path: Option<PathBuf>,
    /// The totals of the heap, if these were asked for.
    pub summary: Option<Summary>,
    /// The answer to a request.
    pub values: Values,
}

/// All agents of a listener.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Agents by number.
    pub agents: BTreeMap<u32, Agent>,
    /// The number of the last agent.
    pub last_number: u32,
    /// The number of the last command.
    pub last_serial: u32,
    /// Commands that were refused or lost, and mistakes.
    pub failures: u64,
    /// The commands for whose answers a thread waits, by number.
    pub asked: BTreeMap<u32, Option<Answer>>,
}

impl State {
    /// Forgets the oldest of too many agents that have ended.
    pub fn forget_oldest(&mut self) {
        let ended = self.agents.values().filter(|agent| agent.end.is_some());
        if ended.clone().count() > MAX_ENDED
            && let Some(oldest) = ended.map(|agent| agent.number).next()
        {
            self.agents.remove(&oldest);
        }
    }

    /// Makes room for one more among the connections that are meant, if there are `most` of them.
    pub fn make_room(
        &mut self,
        most: usize,
        what: &str,
        is_meant: impl Fn(&Agent) -> bool,
        peer: &Peer,
    ) -> Result<(), String> {
        let is_live =
            |agent: &&mut Agent| agent.end.is_none() && !agent.has_made_room && is_meant(agent);
        let live = self.agents.values_mut().filter(is_live).count();
        if live < most {
            return Ok(());
        }
        let is_silent = |agent: &&mut Agent| agent.kind.is_none() && agent.stream.is_some();
        let mut silent = self.agents.values_mut().filter(is_live).filter(is_silent);
        let Some(oldest) = silent.next() else {
            return Err(format!(
                "{}: refused, {what} {live} connections already",
                peer.name
            ));
        };
        oldest.has_made_room = true;
        if let Some(stream) = &oldest.stream {
            stream.close();
        }
        Ok(())
    }
}

impl Agent {
    /// Returns true if all its commands are done.
    pub fn is_idle(&self) -> bool {
        let is_done = |it: &Pending| {
            !it.is_answered
                && !it.order.expects_answer()
                && self.identity.is_none()
                && it.sent.elapsed() > SILENT
        };
        self.end.is_some() && self.pending.is_empty() || self.pending.iter().all(is_done)
    }

    /// Returns true if the agent has named itself, or has had the time for it.
    pub fn has_introduced_itself(&self) -> bool {
        self.identity.is_some() || self.since.elapsed() > INTRODUCTION
    }

    /// The class or archive that it runs.
    pub fn name(&self) -> &str {
        let main = self.identity.as_ref().map_or("", |it| it.main.as_str());
        let name = main.rsplit('/').next().unwrap_or(main);
        if name.ends_with(".jar") {
            return name;
        }
        name.rsplit('.').next().unwrap_or(name)
    }

    /// The name of its file, without the ending.
    pub(super) fn file_name(&self) -> String {
        let identity = self.identity.as_ref();
        let main = identity.map_or("", |identity| identity.main.as_str());
        file_name(main, identity.map(|identity| identity.pid), self.number)
    }

    /// The place of the first unanswered command that is meant.
    pub(super) fn waiting(&self, is_meant: impl Fn(&Pending) -> bool) -> Option<usize> {
        self.pending
            .iter()
            .position(|it| !it.is_answered && is_meant(it))
    }

    /// A value of an answer has come.
    pub(super) fn value(&mut self, value: marks::Value) {
        let Some(index) = self.waiting(|it| it.serial == value.serial) else {
            return;
        };
        if let Order::Request(_) = self.pending[index].order {
            self.pending[index].values.push(value.name, value.value);
        }
    }

    /// Sends a command.
    ///
    /// # Errors
    /// Why the agent does not get it.
    pub(super) fn send(&mut self, serial: u32, order: &Order) -> Result<(), String> {
        let Some(stream) = &self.stream else {
            return Err("the agent takes no more commands".to_owned());
        };
        let is_ours = self.identity.is_some();
        if let Order::Request(_) = order
            && !is_ours
        {
            return Err("agents of other makers take no requests".to_owned());
        }
        if let Err(error) = stream.send_now(&order.encode(serial, self.kind, is_ours)) {
            // A part of a frame may have gone, so nothing may follow.
            self.stream = None;
            return Err(format!("the agent takes no commands: {error}"));
        }
        if *order == Order::Eof {
            self.stream = None;
            return Ok(());
        }
        if self.pending.len() >= MAX_PENDING {
            self.pending.remove(0);
        }
        self.pending.push(Pending {
            serial,
            order: order.clone(),
            sent: Instant::now(),
            bytes_before: self.bytes,
            is_answered: false,
            values: Values::default(),
        });
        Ok(())
    }
}
