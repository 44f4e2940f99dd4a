//! The state that all parts of the listener share: the agents and their commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hprof_format::binary::IdSize;
use hprof_wire::command::{Command, Control, Frame, ThreadObject};
use hprof_wire::marks::{Identity, Mark};

use super::address::{Peer, Source, Stream};
use super::follow::{Follower, Kind, Note, Part, Summary};
use super::report::{Event, Report};
use super::script::{Order, Target};

/// Ended agents beyond this number are forgotten, the oldest first.
const MAX_ENDED: usize = 1000;
/// Agents that are not ours do not answer some commands; these count as done after this time.
const SILENT: Duration = Duration::from_secs(1);
/// Agents of other makers may say nothing for long; after this time they are taken for such.
const INTRODUCTION: Duration = Duration::from_secs(2);
/// Commands that one agent has not answered.
const MAX_PENDING: usize = 1000;

/// More connections than this are not kept.
const MAX_AGENTS: usize = 1000;

/// Who may connect how often, and be silent for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections from one address.
    pub per_source: usize,
    /// How long a connection may be without the beginning of a profile. The JDK's agent fills a
    /// buffer before it sends anything.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_source: 250,
            silence: Duration::from_secs(600),
        }
    }
}

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
    since: Instant,
    from: Source,
    /// It was closed so that others find room.
    has_made_room: bool,
    path: Option<PathBuf>,
    summary: Option<Summary>,
    pending: Vec<Pending>,
    stream: Option<Stream>,
}

/// How a stream ended.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// The file, if there is anything to save.
    pub file: Option<PathBuf>,
    /// Whether something is missing at its end.
    pub is_cut: bool,
    /// The error, if any.
    pub fault: Option<String>,
}

/// A command that has not been answered.
#[derive(Debug)]
struct Pending {
    serial: u32,
    order: Order,
    sent: Instant,
    bytes_before: u64,
    /// Answered, and about to be reported.
    is_answered: bool,
}

/// An answer, to be shown.
#[derive(Debug)]
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
}

#[derive(Debug, Default)]
struct State {
    agents: BTreeMap<u32, Agent>,
    last_number: u32,
    last_serial: u32,
    failures: u64,
}

/// See the module.
pub struct Hub {
    state: Mutex<State>,
    changed: Condvar,
    closing: AtomicBool,
    folder: PathBuf,
    limits: Limits,
    answers: Sender<Answer>,
    /// Where events are shown.
    pub report: Report,
}

impl Hub {
    /// Without agents.
    pub fn new(folder: PathBuf, limits: Limits, report: Report, answers: Sender<Answer>) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
            folder,
            limits,
            answers,
            report,
        }
    }

    /// Where profiles are saved.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Who may do what.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether everything is to end.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Ends all streams, each at a place where it can be cut.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// Makes room for one more connection. Those that have begun no profile make room for others,
    /// the oldest first.
    ///
    /// # Errors
    /// Why there is none.
    pub fn admit(&self, peer: &Peer) -> Result<(), String> {
        if self.is_closing() {
            return Err(format!("{}: refused, the listener closes", peer.name));
        }
        let mut state = self.lock();
        state.make_room(MAX_AGENTS, "there are", |_| true, peer)?;
        let from = peer.from;
        let what = format!("{from} has");
        state.make_room(
            self.limits.per_source,
            &what,
            |agent| agent.from == from,
            peer,
        )
    }

    /// A new agent; its number.
    pub fn add(&self, stream: Option<Stream>, peer: &Peer) -> u32 {
        let mut state = self.lock();
        state.last_number += 1;
        let number = state.last_number;
        let agent = Agent {
            number,
            peer: peer.name.clone(),
            identity: None,
            kind: None,
            records: 0,
            bytes: 0,
            samples: None,
            end: None,
            since: Instant::now(),
            from: peer.from,
            has_made_room: false,
            path: None,
            summary: None,
            pending: Vec::new(),
            stream,
        };
        state.agents.insert(number, agent);
        drop(state);
        let peer = &peer.name;
        self.report.event(&Event::Connected { number, peer });
        self.changed.notify_all();
        number
    }

    /// Bytes have come.
    pub fn progress(
        &self,
        number: u32,
        bytes: u64,
        follower: &Follower,
        path: Option<&Path>,
        notes: &mut Vec<Note>,
    ) {
        let mut state = self.lock();
        let Some(agent) = state.agents.get_mut(&number) else {
            return;
        };
        agent.bytes += bytes;
        agent.records = follower.records();
        if agent.path.is_none() {
            agent.path = path.map(Path::to_owned);
        }
        let mut has_news = false;
        for note in notes.drain(..) {
            has_news = true;
            match note {
                Note::Kind(kind) => agent.kind = Some(kind),
                Note::Samples(total) => agent.samples = Some(total),
                Note::Summary(summary) => agent.summary = Some(summary),
                // It comes once; whoever sends more has no say in what is shown.
                Note::Mark(Mark::Agent(_)) if agent.identity.is_some() => {}
                Note::Mark(Mark::Agent(identity)) => {
                    self.report.event(&Event::Identified {
                        number,
                        identity: &identity,
                    });
                    agent.identity = Some(identity);
                }
                Note::Mark(Mark::Reply(reply)) => {
                    let index = agent.waiting(|it| it.serial == reply.serial);
                    self.answered(agent, index, reply.refused);
                }
                // Agents that mark their answers do so after them.
                Note::Done(part) if agent.identity.is_none() => {
                    let index = agent.waiting(|it| it.order.part() == Some(part));
                    self.answered(agent, index, None);
                }
                Note::Done(_) => {}
            }
        }
        if has_news {
            drop(state);
            self.changed.notify_all();
        }
    }

    fn answered(&self, agent: &mut Agent, index: Option<usize>, refused: Option<String>) {
        let Some(pending) = index.and_then(|index| agent.pending.get_mut(index)) else {
            return;
        };
        pending.is_answered = true;
        let answer = Answer {
            agent: agent.number,
            serial: pending.serial,
            order: pending.order.clone(),
            refused,
            took: pending.sent.elapsed(),
            bytes: agent.bytes - pending.bytes_before,
            path: agent.path.clone(),
            summary: agent.summary,
        };
        let _ = self.answers.send(answer);
    }

    /// An answer was shown.
    pub fn shown(&self, answer: &Answer) {
        let mut state = self.lock();
        if answer.refused.is_some() {
            state.failures += 1;
        }
        if let Some(agent) = state.agents.get_mut(&answer.agent) {
            agent.pending.retain(|it| it.serial != answer.serial);
        }
        self.changed.notify_all();
    }

    /// A stream has ended.
    pub fn end(&self, number: u32, mut end: End) {
        let mut state = self.lock();
        let Some(agent) = state.agents.get_mut(&number) else {
            return;
        };
        agent.stream = None;
        if agent.has_made_room {
            let why = "it had begun no profile, and made room for others";
            end.fault = Some(why.to_owned());
        }
        let lost: Vec<Order> = agent
            .pending
            .iter()
            .filter(|it| !it.is_answered && it.order.expects_answer())
            .map(|it| it.order.clone())
            .collect();
        agent.pending.retain(|it| it.is_answered);
        self.report.event(&Event::Ended { agent, end: &end });
        for order in &lost {
            // The VM's end is the answer.
            if *order != Order::Exit {
                let why = "the connection ended before the answer";
                self.report.event(&Event::Lost { number, order, why });
            }
        }
        agent.end = Some(end.clone());
        state.failures += lost.iter().filter(|order| **order != Order::Exit).count() as u64;
        let ended = state.agents.values().filter(|agent| agent.end.is_some());
        if ended.clone().count() > MAX_ENDED
            && let Some(oldest) = ended.map(|agent| agent.number).next()
        {
            state.agents.remove(&oldest);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Sends a command; returns to how many agents.
    pub fn send(&self, target: &Target, order: &Order) -> usize {
        let mut state = self.lock();
        let mut sent = 0;
        let mut serial = state.last_serial;
        let mut failures = 0;
        for agent in state.agents.values_mut() {
            if agent.end.is_some() || !target.matches(agent) {
                continue;
            }
            serial = serial.wrapping_add(1);
            match agent.send(serial, order) {
                Ok(()) => sent += 1,
                Err(why) => {
                    failures += 1;
                    let number = agent.number;
                    self.report.event(&Event::Lost {
                        number,
                        order,
                        why: &why,
                    });
                }
            }
        }
        state.last_serial = serial;
        state.failures += failures;
        sent
    }

    /// The number of refused or lost commands so far.
    pub fn failures(&self) -> u64 {
        self.lock().failures
    }

    /// Counts a mistake.
    pub fn fail(&self) {
        self.lock().failures += 1;
    }

    /// Waits until something is so; false if time runs out or everything ends.
    pub fn wait(&self, limit: Option<Duration>, is_so: impl Fn(&[&Agent]) -> bool) -> bool {
        let start = Instant::now();
        let mut state = self.lock();
        loop {
            if is_so(&state.agents.values().collect::<Vec<_>>()) {
                return true;
            }
            let is_over = limit.is_some_and(|limit| start.elapsed() >= limit);
            if is_over || self.is_closing() {
                return false;
            }
            // Looks again now and then: some conditions come about by time alone.
            let pause = Duration::from_millis(200);
            let waited = self.changed.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Looks at all agents.
    pub fn with_agents<T>(&self, look: impl FnOnce(&[&Agent]) -> T) -> T {
        look(&self.lock().agents.values().collect::<Vec<_>>())
    }

    /// Looks at one.
    pub fn with_agent<T>(&self, number: u32, look: impl FnOnce(&Agent) -> T) -> Option<T> {
        self.lock().agents.get(&number).map(look)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes room for one more among the connections that are meant, if there are `most` of them.
    fn make_room(
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
    /// Whether all its commands are done.
    pub fn is_idle(&self) -> bool {
        let is_done = |it: &Pending| {
            !it.is_answered
                && !it.order.expects_answer()
                && self.identity.is_none()
                && it.sent.elapsed() > SILENT
        };
        self.end.is_some() && self.pending.is_empty() || self.pending.iter().all(is_done)
    }

    /// Whether it is known who it is, or it is of those that do not tell.
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

    fn waiting(&self, is_meant: impl Fn(&Pending) -> bool) -> Option<usize> {
        self.pending
            .iter()
            .position(|it| !it.is_answered && is_meant(it))
    }

    fn send(&mut self, serial: u32, order: &Order) -> Result<(), String> {
        let Some(stream) = &self.stream else {
            return Err("the agent takes no more commands".to_owned());
        };
        let command = order.command(self.kind, self.identity.is_some());
        let frame = Frame { serial, command };
        if let Err(error) = stream.send_now(&frame.encode()) {
            // A part of a frame may have gone, so nothing may follow.
            self.stream = None;
            return Err(format!("the agent takes no commands: {error}"));
        }
        if command == Command::Eof {
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
        });
        Ok(())
    }
}

impl Order {
    /// The command for an agent. That of the JDK reads ids in the byte order of its machine.
    fn command(&self, kind: Option<Kind>, is_ours: bool) -> Command {
        let thread = |id: u64| match kind {
            Some(Kind::Binary(IdSize::Eight)) => ThreadObject::Wide(id),
            _ if is_ours => ThreadObject::Narrow(id as u32),
            _ => ThreadObject::Narrow((id as u32).swap_bytes()),
        };
        match *self {
            Self::Gc => Command::ForceGc,
            Self::DumpHeap => Command::DumpHeap,
            Self::Sites { flags, cutoff } => Command::AllocSites { flags, cutoff },
            Self::Summary => Command::HeapSummary,
            Self::Exit => Command::Exit,
            Self::Traces => Command::DumpTraces,
            Self::Samples { cutoff } => Command::CpuSamples { flags: 0, cutoff },
            Self::Alloc(true) => Command::Control(Control::AllocTracesOn),
            Self::Alloc(false) => Command::Control(Control::AllocTracesOff),
            Self::Sampling(true, id) => Command::Control(Control::CpuSamplingOn(thread(id))),
            Self::Sampling(false, id) => Command::Control(Control::CpuSamplingOff(thread(id))),
            Self::ClearSamples => Command::Control(Control::ClearCpu),
            Self::ClearSites => Command::Control(Control::ClearSites),
            Self::Depth(depth) => Command::Control(Control::Depth(depth)),
            Self::Eof => Command::Eof,
        }
    }

    /// The part of the stream that answers it, if any.
    pub fn part(&self) -> Option<Part> {
        match self {
            Self::DumpHeap => Some(Part::HeapDump),
            Self::Sites { .. } => Some(Part::Sites),
            Self::Samples { .. } => Some(Part::Samples),
            Self::Summary => Some(Part::Summary),
            _ => None,
        }
    }

    fn expects_answer(&self) -> bool {
        self.part().is_some() || *self == Self::Exit
    }
}
