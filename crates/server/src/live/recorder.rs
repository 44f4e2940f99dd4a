//! The thread of a live recording: reads the agent's counts, more often while a client views them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_wire::control::{self, Reply, Request};

use super::link::{JvmId, Link, Look};
use super::machine::RefusedKind;
use super::modes::{self, Mode};
use super::recording::{Afterwards, Cost, End, Recording};
use super::stream::Lost;
use crate::events::{Event, Events};

/// How often a recording with a viewer is read.
const WATCHED: Duration = Duration::from_secs(1);
/// How often any other is.
const UNWATCHED: Duration = Duration::from_secs(10);
/// How long a client counts as a viewer after a request.
const WATCHES: Duration = Duration::from_secs(30);
/// After this time without a request the agent is detached.
pub const MAX_UNVIEWED: Duration = Duration::from_secs(30 * 60);
/// Dumps take at most one in N parts of the time: that of locks stops the program.
const DUMP_SHARE: u32 = 20;
/// Whole looks take at most this share. They wait for the agent's thread, and stop nothing.
const LOOK_SHARE: u32 = 4;
/// How often the agent is asked for its cost.
const COST_EACH: Duration = Duration::from_secs(5);
/// How long an answer may take. Counts that come later are added with the next look.
const ANSWER: Duration = Duration::from_secs(10);
/// How long the stream of an agent that has ended may stay open.
const REST: Duration = Duration::from_secs(3);
/// The longest sleep: the end of the program shows within it.
const TICK: Duration = Duration::from_secs(1);

/// Looks at a recording until it ends.
pub struct Recorder {
    recording: Arc<Recording>,
    link: Box<dyn Link>,
    /// The listeners for news.
    events: Arc<Events>,
    /// How long the last dump took; zero at first.
    dump_took: Duration,
    /// The agent times calls too (`slow=`). They are in no mode of a recording, and are wanted once.
    times_calls: bool,
}

/// The result of a step of a recording: it continues, or ends.
enum Next {
    Continues,
    Ends(End),
}

/// The agent's CPU time at a moment.
struct Measured {
    at: Instant,
    cpu_ms: u64,
    stacks: u64,
}

impl Recorder {
    /// A recorder over a connection to the agent.
    pub fn new(recording: &Arc<Recording>, link: Box<dyn Link>, events: &Arc<Events>) -> Self {
        Self {
            recording: Arc::clone(recording),
            link,
            events: Arc::clone(events),
            dump_took: Duration::ZERO,
            times_calls: false,
        }
    }

    /// Takes the calls of an agent with these options, if it times any.
    pub fn with_calls(self, options: &str) -> Self {
        Self {
            times_calls: modes::times_calls(options),
            ..self
        }
    }

    /// Looks until the recording is to end or the program has ended; then the agent is detached.
    pub fn run(mut self) {
        let mut looked = Instant::now();
        let mut rest = Duration::ZERO;
        let mut measured: Option<Measured> = None;
        let why = loop {
            let unviewed = self.recording.unviewed();
            if unviewed > MAX_UNVIEWED {
                let minutes = MAX_UNVIEWED.as_secs() / 60;
                break End::Unviewed(minutes, self.afterwards());
            }
            let pause = if unviewed < WATCHES {
                WATCHED
            } else {
                UNWATCHED
            };
            let pause = pause.max(rest);
            let left = pause.saturating_sub(looked.elapsed());
            if !left.is_zero() {
                if self.recording.pause(left.min(TICK)) {
                    break End::Requested(self.afterwards());
                }
                if !self.link.has_ended() {
                    continue;
                }
            }
            looked = Instant::now();
            if let Next::Ends(why) = self.look(false) {
                break why;
            }
            if measured
                .as_ref()
                .is_none_or(|last| last.at.elapsed() > COST_EACH)
            {
                measured = self.measure(measured.as_ref());
            }
            rest = (self.dump_took * DUMP_SHARE).max(looked.elapsed() * LOOK_SHARE);
            self.tell();
        };
        if !self.link.has_ended() {
            // Takes the counts since the last look, and the calls since the start.
            let _ = self.look(true);
            self.detach();
        }
        let rest = self.link.rest(REST);
        if !rest.is_empty() {
            self.recording.add(&rest);
        }
        self.recording.end(why);
        self.tell();
        self.events.send(Event::JvmGone {
            id: self.recording.id.to_string(),
        });
    }

    fn afterwards(&self) -> Afterwards {
        match self.recording.id {
            JvmId::Process(_) => Afterwards::Detached,
            JvmId::Sender(_) => Afterwards::Sends,
        }
    }

    fn tell(&self) {
        let status = self.recording.status();
        self.events.send(Event::Jvm {
            id: self.recording.id.to_string(),
            since: status.since,
            revision: status.revision,
            samples: status.samples,
        });
    }

    /// Has the agent write what is new, and adds it.
    fn look(&mut self, is_last: bool) -> Next {
        let started = self.recording.started();
        // A dump of sites through the control socket would collect garbage.
        let mut dumped: Vec<control::Mode> = started
            .iter()
            .filter(|&&mode| mode != Mode::Alloc)
            .map(|mode| mode.of_agent())
            .collect();
        if is_last && self.times_calls {
            dumped.push(control::Mode::Slow);
        }
        let began = Instant::now();
        if !dumped.is_empty() {
            match self.control(&Request::Dump(dumped)) {
                Err(next) => return next,
                Ok(Reply {
                    error: Some(error), ..
                }) => self.recording.note(&error),
                Ok(_) => {}
            }
        }
        self.dump_took = began.elapsed();
        let look = match started.contains(&Mode::Alloc) {
            true => Look::Sites,
            false => Look::Traces,
        };
        match self.link.look(look, ANSWER) {
            Ok(text) => self.recording.add(&text),
            Err(Lost::Late) => self.recording.note(LATE),
            Err(Lost::Ended) => return Next::Ends(End::Gone),
            Err(Lost::TooMuch) => {
                self.detach();
                return Next::Ends(End::TooMuch);
            }
        }
        Next::Continues
    }

    /// Sends a request; what ends the recording is an error.
    fn control(&self, request: &Request) -> Result<Reply, Next> {
        match self.link.control(request, ANSWER) {
            Ok(reply) => Ok(reply),
            Err(refused) => match refused.kind {
                RefusedKind::Missing => Err(Next::Ends(End::Gone)),
                RefusedKind::Late => {
                    self.recording.note(LATE);
                    Ok(Reply::default())
                }
                _ => {
                    self.recording.note(&refused.text);
                    Ok(Reply::default())
                }
            },
        }
    }

    fn measure(&self, last: Option<&Measured>) -> Option<Measured> {
        let reply = self.control(&Request::Metrics).ok()?;
        let number = |name| reply.get(name).and_then(|text| text.parse::<u64>().ok());
        let now = Measured {
            at: Instant::now(),
            cpu_ms: number("profile_thread_cpu_ms")?,
            stacks: self.recording.status().samples,
        };
        let bytes = number("table_bytes").unwrap_or(0);
        if let Some(last) = last {
            let seconds = now.at.duration_since(last.at).as_secs_f64().max(0.001);
            let percent = now.cpu_ms.saturating_sub(last.cpu_ms) as f64 / 10.0 / seconds;
            let percent = (percent * 100.0).round() / 100.0;
            let stacks = now.stacks.saturating_sub(last.stacks) as f64 / seconds;
            self.recording.set_cost(Cost {
                cpu_percent: percent,
                memory_bytes: bytes,
                sentence: format!(
                    "The agent's own thread takes {percent:.2} % of one core, its tables {:.1} MB. \
                     The program's threads take {stacks:.0} samples a second, which is not in it.",
                    bytes as f64 / 1e6
                ),
            });
        }
        Some(now)
    }

    fn detach(&self) {
        if let Err(refused) = self.link.detach(ANSWER) {
            let why = refused.text;
            tracing::warn!(jvm = %self.recording.id, why, "the agent could not be detached");
            self.recording
                .note(&format!("the agent could not be detached: {why}"));
        }
    }
}

const LATE: &str = "the JVM did not answer within 10 s at times; what it had counted came later";
