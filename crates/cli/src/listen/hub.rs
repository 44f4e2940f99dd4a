//! The state that all parts of the listener share: the agents, and the commands sent to them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hprof_wire::marks::Mark;

use super::address::{Peer, Stream};
use super::agents::{Agent, Answer, End, State};
use super::follow::{Follower, Note};
use super::report::{Event, Report};
use super::script::{Order, Target};

/// More connections than this are not kept.
const MAX_AGENTS: usize = 1000;

/// Who may connect how often, and be silent for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections from one address.
    pub per_source: usize,
    /// The longest stream, in bytes.
    pub stream: u64,
    /// How long a connection may be without the beginning of a profile. The JDK's agent fills a
    /// buffer before it sends anything.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_source: 250,
            stream: u64::MAX,
            silence: Duration::from_secs(600),
        }
    }
}

/// Why a command has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The agent's stream has ended.
    Gone,
    /// It was not sent.
    NotSent(String),
    /// It has not come in time; it may come later.
    Late,
}

/// The agents behind a lock, and a signal when something changes.
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

    /// Returns true if everything is to end.
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
        let mut answers = Vec::new();
        let mut identified = None;
        for note in notes.drain(..) {
            has_news = true;
            match note {
                Note::Kind(kind) => agent.kind = Some(kind),
                Note::Samples(total) => agent.samples = Some(total),
                Note::Summary(summary) => agent.summary = Some(summary),
                // It comes once; an agent that sends more does not change what is shown.
                Note::Mark(Mark::Agent(_)) if agent.identity.is_some() => {}
                Note::Mark(Mark::Agent(identity)) => {
                    agent.identity = Some(identity.clone());
                    identified = Some(identity);
                }
                Note::Mark(Mark::Value(value)) => agent.value(value),
                Note::Mark(Mark::Reply(reply)) => {
                    let index = agent.waiting(|it| it.serial == reply.serial);
                    answers.extend(answered(agent, index, reply.refused));
                }
                // Agents that mark their answers do so after them.
                Note::Done(part) if agent.identity.is_none() => {
                    let index = agent.waiting(|it| it.order.part() == Some(part));
                    answers.extend(answered(agent, index, None));
                }
                Note::Done(_) | Note::Mark(Mark::Nothing(_)) => {}
            }
        }
        for answer in answers {
            if let Some(asked) = state.asked.get_mut(&answer.serial) {
                *asked = Some(answer.clone());
            }
            let _ = self.answers.send(answer);
        }
        drop(state);
        if let Some(identity) = &identified {
            self.report.event(&Event::Identified { number, identity });
        }
        if has_news {
            self.changed.notify_all();
        }
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
            // The VM's end is the answer to `exit`.
            .filter(|it| !it.is_answered && it.order.expects_answer() && it.order != Order::Exit)
            .map(|it| it.order.clone())
            .collect();
        agent.pending.retain(|it| it.is_answered);
        let (bytes, records) = (agent.bytes, agent.records);
        drop(state);
        // A thread that waits for the end of this agent must not overtake the lines about it.
        self.report.event(&Event::Ended {
            number,
            bytes,
            records,
            end: &end,
        });
        for order in &lost {
            let why = "the connection ended before the answer";
            self.report.event(&Event::Lost { number, order, why });
        }
        let mut state = self.lock();
        if let Some(agent) = state.agents.get_mut(&number) {
            agent.end = Some(end);
        }
        state.failures += lost.len() as u64;
        state.forget_oldest();
        drop(state);
        self.changed.notify_all();
    }

    /// Sends a command; returns to how many agents.
    pub fn send(&self, target: &Target, order: &Order) -> usize {
        let mut state = self.lock();
        let mut sent = 0;
        let mut serial = state.last_serial;
        let mut lost = Vec::new();
        for agent in state.agents.values_mut() {
            if agent.end.is_some() || !target.matches(agent) {
                continue;
            }
            serial = serial.wrapping_add(1);
            match agent.send(serial, order) {
                Ok(()) => sent += 1,
                Err(why) => lost.push((agent.number, why)),
            }
        }
        state.last_serial = serial;
        state.failures += lost.len() as u64;
        drop(state);
        for (number, why) in &lost {
            let number = *number;
            self.report.event(&Event::Lost { number, order, why });
        }
        sent
    }

    /// Sends a command to one agent, and waits for its answer.
    ///
    /// # Errors
    /// Why there is none.
    pub fn ask(&self, number: u32, order: &Order, limit: Duration) -> Result<Answer, Unanswered> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        let serial = state.last_serial.wrapping_add(1);
        state.last_serial = serial;
        let live = state.agents.get_mut(&number).filter(|it| it.end.is_none());
        let agent = live.ok_or(Unanswered::Gone)?;
        agent.send(serial, order).map_err(Unanswered::NotSent)?;
        state.asked.insert(serial, None);
        loop {
            if let Some(Some(answer)) = state.asked.get(&serial) {
                let answer = answer.clone();
                state.asked.remove(&serial);
                return Ok(answer);
            }
            let agent = state.agents.get(&number);
            let left = deadline.saturating_duration_since(Instant::now());
            let is_gone = agent.is_none_or(|agent| agent.end.is_some());
            if is_gone || left.is_zero() {
                state.asked.remove(&serial);
                return Err(match is_gone {
                    true => Unanswered::Gone,
                    false => Unanswered::Late,
                });
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
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

/// An agent has answered the command at a place.
fn answered(agent: &mut Agent, index: Option<usize>, refused: Option<String>) -> Option<Answer> {
    let pending = agent.pending.get_mut(index?)?;
    pending.is_answered = true;
    Some(Answer {
        agent: agent.number,
        serial: pending.serial,
        order: pending.order.clone(),
        refused,
        took: pending.sent.elapsed(),
        bytes: agent.bytes - pending.bytes_before,
        path: agent.path.clone(),
        summary: agent.summary,
        values: std::mem::take(&mut pending.values),
    })
}
