//! Attaching to a running JVM by HotSpot's own protocol, without the JDK's `jdk.attach` module, so that
//! it works where only a `java` is, and across the walls of containers. And talking to the agent
//! that is there then, or was there from the start, over its control socket.

mod channel;
mod library;
mod listener;
mod protocol;
mod refusal;
mod target;

use std::io::{self, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use hprof_wire::local::{ConnectError, Node, Timed, Users};
use hprof_wire::socket::Found;
use hprof_wire::{control, socket};

use crate::agent_options;
use crate::render::screen::{printable, printable_lines};
pub use listener::listen;
pub use protocol::{Answer, MAX_ARGUMENT, Request};
pub use refusal::Refusal;
pub use target::Target;

/// A longer reply of the agent is none.
const MAX_REPLY: u64 = 4 << 20;

/// How the agent got in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The library, by the path under which the JVM has it.
    pub library: String,
    /// True if it was in the JVM before.
    pub was_there: bool,
}

/// How long to wait for a JVM.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until it listens.
    pub connect: Duration,
    /// Until it has answered in full.
    pub answer: Duration,
}

/// Asks a JVM for something and waits for the answer.
///
/// # Errors
/// If it cannot be asked; whether it has done what it should, the answer tells.
pub fn ask(target: &Target, request: &Request<'_>, limits: Limits) -> Result<Answer, Refusal> {
    on_its_terms(target, || exchange(target, request, limits))
}

/// Loads the agent that this command carries, and has it do what the options say. One that listens in the JVM is asked
/// by its socket, where it answers with its reason if it refuses.
///
/// # Errors
/// If it is not there afterwards, or has refused the options.
pub fn load_agent(target: &Target, options: &str, limits: Limits) -> Result<Loaded, Refusal> {
    let begin = control::Request::Start(options.to_owned());
    let ask = || control_as_it_is(target, &begin, limits.answer);
    // Without a mode there is nothing to begin, and the agent is to open its socket.
    let names_mode = agent_options::names_mode(options);
    if !names_mode {
        return load(target, options, limits);
    }
    let status = || control_as_it_is(target, &control::Request::Status, limits.answer);
    let was_absent = match status() {
        Ok(_) => {
            target.check_attachable()?;
            return began(target, &ask()?, None, String::new());
        }
        // One that is slow to answer, or has lost its socket, is there for others.
        Err(refusal) => matches!(refusal, Refusal::NoAgent(_)),
    };
    let code = match load(target, options, limits) {
        Err(Refusal::AgentRefused { code, .. }) => code,
        loaded => return loaded,
    };
    // Its reason went to the program's standard error. It says it again to a caller of its socket.
    let idle = load(target, "", limits).ok();
    let asked = idle.and_then(|loaded| Some((loaded, ask().ok()?)));
    let outcome = match asked {
        Some((loaded, reply)) => began(target, &reply, Some(code), loaded.library),
        None => Err(Refusal::AgentRefused {
            pid: target.pid(),
            code,
            reason: None,
        }),
    };
    let is_idle = || status().is_ok_and(|reply| reply.get("state") == Some("idle"));
    if outcome.is_err() && was_absent && is_idle() {
        // It stays for nothing.
        let _ = control_as_it_is(target, &control::Request::Detach, limits.answer);
    }
    outcome
}

/// The result of a request to begin.
fn began(
    target: &Target,
    reply: &control::Reply,
    code: Option<i32>,
    library: String,
) -> Result<Loaded, Refusal> {
    match &reply.error {
        None => Ok(Loaded {
            library,
            was_there: code.is_none(),
        }),
        Some(reason) => Err(Refusal::AgentRefused {
            pid: target.pid(),
            code: code.unwrap_or_default(),
            reason: Some(printable_lines(
                reason.strip_prefix("HPROF ERROR: ").unwrap_or(reason),
            )),
        }),
    }
}

fn load(target: &Target, options: &str, limits: Limits) -> Result<Loaded, Refusal> {
    on_its_terms(target, || {
        let loaded = library::place(target, limits)?;
        let request = Request::Load {
            library: &loaded.library,
            options,
        };
        let answer = exchange_when_live(target, &request, limits)?;
        let pid = target.pid();
        match protocol::agent_status(&answer.text) {
            Some(0) if answer.status == 0 => Ok(loaded),
            Some(code) if code != 0 => Err(Refusal::AgentRefused {
                pid,
                code,
                reason: None,
            }),
            _ if answer.text.contains("Dynamic agent loading is not enabled") => {
                Err(Refusal::NoDynamicAgents(pid))
            }
            _ => Err(Refusal::Refused {
                pid,
                message: said(&answer),
            }),
        }
    })
}

/// The VM's answer in one line.
pub fn said(answer: &Answer) -> String {
    let lines = answer
        .text
        .lines()
        .map(|line| printable(line.trim()))
        .filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("; ");
    match text.is_empty() {
        true => format!("status {}", answer.status),
        false => text,
    }
}

/// As [`exchange`], again and again while the JVM is still starting: since JDK 26 it listens before it takes agents. No longer
/// than it may take to connect.
fn exchange_when_live(
    target: &Target,
    request: &Request<'_>,
    limits: Limits,
) -> Result<Answer, Refusal> {
    let end = Instant::now() + limits.connect;
    loop {
        let answer = exchange(target, request, limits)?;
        if !protocol::comes_too_early(&answer.text) || Instant::now() >= end {
            return Ok(answer);
        }
        thread::sleep(BETWEEN_TRIES);
    }
}

/// Between two requests to a JVM that is still starting.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Sends one request to the JVM's attach listener, within the limits for connecting and for the answer.
fn exchange(target: &Target, request: &Request<'_>, limits: Limits) -> Result<Answer, Refusal> {
    let bytes = request.encode().map_err(|what| Refusal::TooLong { what })?;
    let stream = channel::connect(target, limits.connect)?;
    let mut stream = Timed::new(stream, Instant::now() + limits.answer);
    protocol::exchange(&mut stream, &bytes).map_err(|error| {
        let pid = target.pid();
        match error.kind() {
            io::ErrorKind::TimedOut => Refusal::Late {
                pid,
                limit: limits.answer,
            },
            _ => Refusal::Io {
                pid,
                what: "its attach listener",
                error,
            },
        }
    })
}

/// Sends a request to the agent in a JVM, over its control socket. An agent whose socket has been removed makes
/// another first.
///
/// # Errors
/// If there is no agent, or it does not answer; what it answers may be an error as well.
pub fn control(
    target: &Target,
    request: &control::Request,
    limit: Duration,
) -> Result<control::Reply, Refusal> {
    let node = match find_socket(target)? {
        Found::Removed if knows_agent(target) => {
            let limits = Limits {
                connect: limit,
                answer: limit,
            };
            load(target, "", limits)?;
            find_socket(target)?
        }
        found => found,
    };
    ask_at(target, node, request, limit)
}

/// Returns true if the file of the agent is known; another one would be a second agent.
fn knows_agent(target: &Target) -> bool {
    let libraries = target.jvm.libraries.as_ref();
    libraries.is_some_and(|found| found.agent.is_some())
}

/// As [`control`], but has nothing done in the JVM to find the socket.
///
/// # Errors
/// As [`control`].
pub fn control_as_it_is(
    target: &Target,
    request: &control::Request,
    limit: Duration,
) -> Result<control::Reply, Refusal> {
    ask_at(target, find_socket(target)?, request, limit)
}

/// Removes what killed JVMs of this user have left.
pub fn sweep() {
    socket::sweep();
}

/// With our own rights: those of its user need not show its descriptors.
fn find_socket(target: &Target) -> Result<Found, Refusal> {
    let pid = target.pid();
    let (owner, inner_pid) = (target.status().uid, target.status().inner_pid);
    match socket::find(&pid.path("fd"), owner, inner_pid) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let node = socket::find_below(|base| target.root.folder(base), owner, inner_pid);
            Ok(node.map_or(Found::Nothing, Found::Socket))
        }
        found => found.map_err(|error| Refusal::Io {
            pid,
            what: "cannot look for its control socket",
            error,
        }),
    }
}

fn ask_at(
    target: &Target,
    found: Found,
    request: &control::Request,
    limit: Duration,
) -> Result<control::Reply, Refusal> {
    let pid = target.pid();
    let node = match found {
        Found::Socket(node) => node,
        Found::Removed => return Err(Refusal::SocketLost(pid)),
        Found::Nothing => return Err(Refusal::NoAgent(pid)),
    };
    let talk = || talk(target, &node, request, limit);
    target.as_its_user(talk).map_err(|error| Refusal::Io {
        pid,
        what: "cannot take the rights of its user",
        error,
    })?
}

fn talk(
    target: &Target,
    node: &Node,
    request: &control::Request,
    limit: Duration,
) -> Result<control::Reply, Refusal> {
    let pid = target.pid();
    let io = |what, error| Refusal::Io { pid, what, error };
    let late = || Refusal::Late { pid, limit };
    let deadline = Instant::now() + limit;
    let connected = node.connect(Users::OrRoot(target.status().uid), deadline);
    let stream = connected.map_err(|error| match error {
        error if error.is_absent() => Refusal::NoAgent(pid),
        ConnectError::Busy => late(),
        error => io("its control socket", error.into()),
    })?;
    if let Some(other) = channel::other_process(&stream, pid) {
        let error = io::Error::other(format!("process {} listens there", other.0));
        return Err(io("its control socket", error));
    }
    let mut stream = Timed::new(stream, deadline);
    let exchange = || -> io::Result<String> {
        stream.write_all(format!("{request}\n").as_bytes())?;
        let mut text = String::new();
        stream.take(MAX_REPLY).read_to_string(&mut text)?;
        Ok(text)
    };
    let answered = |error: io::Error| match error.kind() {
        io::ErrorKind::TimedOut => late(),
        _ => io("its agent does not answer", error),
    };
    let text = exchange().map_err(answered)?;
    let cut = || answered(io::ErrorKind::UnexpectedEof.into());
    control::Reply::parse(&text).ok_or_else(cut)
}

fn on_its_terms<T: Send>(
    target: &Target,
    work: impl FnOnce() -> Result<T, Refusal> + Send,
) -> Result<T, Refusal> {
    target.check_attachable()?;
    channel::clear_left_over(target);
    target.as_its_user(work).map_err(|error| Refusal::Io {
        pid: target.pid(),
        what: "cannot take the rights of its user",
        error,
    })?
}
