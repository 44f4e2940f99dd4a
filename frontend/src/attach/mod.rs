//! Attaching to a JVM that runs: HotSpot's own way, without the JDK's `jdk.attach` module, so that
//! it works where only a `java` is, and across the walls of containers. And talking to the agent
//! that is there then, or was there from the start, over its control socket.

mod channel;
mod library;
mod protocol;
mod refusal;
mod target;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hprof_wire::{control, socket};

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
    /// Whether it was in the JVM before.
    pub was_there: bool,
}

/// Asks a JVM for something and waits for the answer.
///
/// # Errors
/// If it cannot be asked; whether it has done what it should, the answer tells.
pub fn ask(target: &Target, request: &Request<'_>, limit: Duration) -> Result<Answer, Refusal> {
    on_its_terms(target, || exchange(target, request, limit))
}

/// Loads the agent that this command carries, and has it do what the options say.
///
/// # Errors
/// If it is not there afterwards, or has refused the options.
pub fn load_agent(target: &Target, options: &str, limit: Duration) -> Result<Loaded, Refusal> {
    on_its_terms(target, || {
        let loaded = library::place(target)?;
        let request = Request::Load {
            library: &loaded.library,
            options,
        };
        let answer = exchange(target, &request, limit)?;
        let pid = target.pid();
        match protocol::agent_status(&answer.text) {
            Some(0) if answer.status == 0 => Ok(loaded),
            Some(code) if code != 0 => Err(Refusal::AgentRefused { pid, code }),
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

/// What the VM said, in one line.
pub fn said(answer: &Answer) -> String {
    let lines = answer
        .text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("; ");
    match text.is_empty() {
        true => format!("status {}", answer.status),
        false => text,
    }
}

fn exchange(target: &Target, request: &Request<'_>, limit: Duration) -> Result<Answer, Refusal> {
    let bytes = request.encode().map_err(|what| Refusal::TooLong { what })?;
    let mut stream = channel::connect(target, limit)?;
    protocol::exchange(&mut stream, &bytes).map_err(|error| Refusal::Io {
        pid: target.pid(),
        what: "its attach listener",
        error,
    })
}

/// Sends a request to the agent in a JVM, over its control socket.
///
/// # Errors
/// If there is no agent, or it does not answer; what it answers may be an error as well.
pub fn control(
    target: &Target,
    request: &control::Request,
    limit: Duration,
) -> Result<control::Reply, Refusal> {
    target
        .as_its_user(|| talk(target, request, limit))
        .map_err(|error| Refusal::Io {
            pid: target.pid(),
            what: "cannot take the rights of its user",
            error,
        })?
}

fn talk(
    target: &Target,
    request: &control::Request,
    limit: Duration,
) -> Result<control::Reply, Refusal> {
    let pid = target.pid();
    let path = socket::path(target.status().inner_pid);
    let stream = UnixStream::connect(target.inside(&path.to_string_lossy()));
    let mut stream = stream.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Refusal::NoAgent(pid),
        _ => Refusal::Io {
            pid,
            what: "its control socket",
            error,
        },
    })?;
    let exchange = || -> io::Result<String> {
        stream.set_read_timeout(Some(limit))?;
        stream.write_all(format!("{request}\n").as_bytes())?;
        let mut text = String::new();
        stream.take(MAX_REPLY).read_to_string(&mut text)?;
        Ok(text)
    };
    let answered = |error| Refusal::Io {
        pid,
        what: "its agent does not answer",
        error,
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
    target.as_its_user(work).map_err(|error| Refusal::Io {
        pid: target.pid(),
        what: "cannot take the rights of its user",
        error,
    })?
}
