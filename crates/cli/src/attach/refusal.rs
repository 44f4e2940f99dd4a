//! Why a JVM cannot be attached to, each with what to do about it.

use std::fmt;
use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::jvm::process::Pid;

/// Why a JVM may not open its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// None of the reasons below is known to hold.
    Unknown,
    /// Its root folder cannot be read, and may be another one.
    RootAssumed,
    /// It has opened its socket before, and the file is gone.
    Removed,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "it may be stopped, hang at a safepoint, or have no room in its /tmp",
            Self::RootAssumed => {
                "its root folder cannot be read, as it has rights that you lack (setcap, setuid), so it was \
                 looked for in our /tmp; if it runs in a chroot or container, run this command as root"
            }
            Self::Removed => {
                "the file of its socket, /tmp/.java_pidN, has been removed, perhaps by a cleaner of temporary \
                 folders, and old JVMs make no other: restart the program, or update its JDK"
            }
        })
    }
}

/// Why a JVM cannot be attached to, or has refused a request.
#[derive(Debug, Error)]
pub enum Refusal {
    /// No process has this number.
    #[error("there is no process {}; `hprof-rs ps` lists the JVMs of this machine", .0.0)]
    NoProcess(Pid),
    /// A process, but no JVM.
    #[error("process {} is no JVM ({command}); `hprof-rs ps` lists those of this machine", .pid.0)]
    NotAJvm {
        /// The process.
        pid: Pid,
        /// Its command.
        command: String,
    },
    /// Another user's.
    #[error(
        "process {} belongs to the user {owner}, and a JVM listens to its own user and to root \
         only: run this command as {owner} (`sudo -u {owner} hprof-rs ...`) or as root",
        .pid.0
    )]
    OtherUser {
        /// The process.
        pid: Pid,
        /// Its user.
        owner: String,
    },
    /// OpenJ9 has another protocol.
    #[error(
        "process {} runs OpenJ9, and attaching works with HotSpot only; start it with \
         -agentpath:LIBRARY=OPTIONS (`hprof-rs agent-path` prints LIBRARY)", .0.0
    )]
    OpenJ9(Pid),
    /// Attaching is switched off.
    #[error(
        "process {} was started with -XX:+DisableAttachMechanism, so nothing can be attached to \
         it; start it without that flag, or with -agentpath:LIBRARY=OPTIONS", .0.0
    )]
    Disabled(Pid),
    /// A signal has stopped the process.
    #[error(
        "process {} is stopped by a signal (SIGSTOP, Ctrl+Z) and cannot answer; `kill -CONT {}` lets it go on",
        .0.0, .0.0
    )]
    Stopped(Pid),
    /// The process does not catch SIGQUIT, which would therefore kill it.
    #[error(
        "process {} does not listen for requests to attach: it is still starting (try again), or \
         its JVM is ending", .0.0
    )]
    NotListening(Pid),
    /// Its root folder is hidden, and it is not ours.
    #[error(
        "process {} does not show its root folder ({error}), and it has process ids of its own, as in a \
         container: run this command as root", .pid.0
    )]
    Hidden {
        /// The process.
        pid: Pid,
        /// Why it cannot be opened.
        error: io::Error,
    },
    /// No answer in time.
    #[error(
        "the JVM of process {} has not opened its socket within {} s; {cause}. `--timeout` waits longer",
        .pid.0, .limit.as_secs()
    )]
    NoAnswer {
        /// The process.
        pid: Pid,
        /// How long it was waited for.
        limit: Duration,
        /// The likely reason.
        cause: Silence,
    },
    /// No reply in time.
    #[error(
        "process {} has not answered within {} s; `--timeout` waits longer", .pid.0, .limit.as_secs()
    )]
    Late {
        /// The process.
        pid: Pid,
        /// How long it was waited for.
        limit: Duration,
    },
    /// Another process has the name of the JVM's socket.
    #[error(
        "process {} cannot be asked: {path} in its file system is not the socket of its JVM ({why}). \
         Somebody may have put it there; remove it, as root if need be, and try again", .pid.0
    )]
    Taken {
        /// The process.
        pid: Pid,
        /// The name, as the process sees it.
        path: String,
        /// The reason.
        why: String,
    },
    /// The process ended meanwhile.
    #[error("process {} ended meanwhile", .0.0)]
    Ended(Pid),
    /// Not even a file to ask with.
    #[error(
        "cannot write to the current folder or /tmp of process {}, where a JVM looks for requests \
         to attach: {error}", .pid.0
    )]
    NoPlaceToAsk {
        /// The process.
        pid: Pid,
        /// Why.
        error: io::Error,
    },
    /// An argument that the protocol cannot carry.
    #[error("{what} longer than 1,024 bytes cannot be passed to a running JVM")]
    TooLong {
        /// The name of the part that is too long.
        what: &'static str,
    },
    /// `-XX:-EnableDynamicAgentLoading`.
    #[error(
        "process {} does not let agents in while it runs (JEP 451): it was started with \
         -XX:-EnableDynamicAgentLoading. Start it without, or with -agentpath:LIBRARY=OPTIONS",
        .0.0
    )]
    NoDynamicAgents(Pid),
    /// The VM's own words.
    #[error("the JVM of process {} refused: {message}", .pid.0)]
    Refused {
        /// The process.
        pid: Pid,
        /// Its message.
        message: String,
    },
    /// The agent refused; where it could not be asked for its reason, that is on the standard error of the program.
    #[error("{}", agent_refused(*pid, *code, reason.as_deref()))]
    AgentRefused {
        /// The process.
        pid: Pid,
        /// The result of `Agent_OnAttach`, 0 if it was asked by its socket.
        code: i32,
        /// The reason in the agent's words.
        reason: Option<String>,
    },
    /// The library that was loaded before has no file any more.
    #[error(
        "the agent is in process {} already, but its file {path} is gone or has been replaced, and \
         a second copy in one JVM cannot work; restart the program to profile it", .pid.0
    )]
    AgentFileGone {
        /// The process.
        pid: Pid,
        /// Where the file was.
        path: String,
    },
    /// The agent listens, and its socket cannot be found even after it was asked for another.
    #[error(
        "the control socket of the agent in process {} has been removed, and could not be made again; \
         `jcmd {} JVMTI.agent_load LIBRARY` with the library of that agent has it try once more",
        .0.0, .0.0
    )]
    SocketLost(Pid),
    /// No process listens at the control socket.
    #[error(
        "there is no agent at work in process {}; `hprof-rs attach {} cpu=samples` loads it",
        .0.0, .0.0
    )]
    NoAgent(Pid),
    /// No folder for the library.
    #[error(
        "there is no place for the agent library that process {} can load from:{reasons}", .pid.0
    )]
    NoPlaceForLibrary {
        /// The process.
        pid: Pid,
        /// A line for each place.
        reasons: String,
    },
    /// No folder for the socket of a recording.
    #[error(
        "there is no place for a socket that process {} can connect to:{reasons}", .pid.0
    )]
    NoPlaceForSocket {
        /// The process.
        pid: Pid,
        /// A line for each place.
        reasons: String,
    },
    /// The connection broke, or the like.
    #[error("process {}: {what}: {error}", .pid.0)]
    Io {
        /// The process.
        pid: Pid,
        /// The attempted action.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
}

fn agent_refused(pid: Pid, code: i32, reason: Option<&str>) -> String {
    let pid = pid.0;
    match reason {
        Some(reason) => format!("the agent in process {pid} refuses: {reason}"),
        None => format!(
            "the agent did not start (it returned {code}): the standard error of process {pid} says why"
        ),
    }
}
