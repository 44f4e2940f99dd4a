//! The JVMs of this machine for the server, over what `ps`, `attach` and `control` use.

use std::path::Path;
use std::time::Duration;

use hprof_analysis::contents::Contents;
use hprof_server::live::{JvmFacts, Machine, MemoryNow, Pid, Refused, RefusedKind, Socket};
use hprof_stacks::events::Chunk;
use hprof_wire::control::{Reply, Request as ControlRequest};

use crate::attach::{self, Limits, Refusal, Request, Target};
use crate::export;
use crate::jvm::process;
use crate::jvm::{self, AgentState, Jvm};
use crate::process_memory::{self, Effort};
use crate::render::screen::printable;

/// How long a JVM may take to open its socket.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may take for small answers, and to load the agent.
const ANSWER: Duration = Duration::from_secs(60);
/// How long a heap dump may take.
const DUMP: Duration = Duration::from_secs(60 * 60);

/// This machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalMachine;

impl Machine for LocalMachine {
    fn jvms(&self) -> Result<Vec<JvmFacts>, Refused> {
        let found = jvm::all().map_err(|error| {
            Refused::new(
                RefusedKind::Failed,
                format!("processes cannot be listed: {error}"),
            )
        })?;
        Ok(found.iter().map(facts).collect())
    }

    fn jvm(&self, pid: Pid) -> Result<JvmFacts, Refused> {
        let pid = process::Pid(pid.0);
        match Jvm::started(pid) {
            Ok(Some(jvm)) => Ok(facts(&jvm)),
            Ok(None) | Err(_) => Err(Refused::new(
                RefusedKind::Missing,
                format!(
                    "there is no JVM {}; `hprof-rs ps` lists those of this machine",
                    pid.0
                ),
            )),
        }
    }

    fn socket(&self, pid: Pid) -> Result<Socket, Refused> {
        let mut number = [0; 8];
        let name = getrandom::fill(&mut number).map(|()| u64::from_ne_bytes(number));
        let name = name.map_err(|error| Refused::new(RefusedKind::Failed, error.to_string()))?;
        let listening = target(pid)
            .and_then(|target| attach::listen(&target, &format!("{name:016x}")))
            .map_err(|refusal| refused(&refusal))?;
        Ok(Socket {
            listener: listening.listener,
            path: listening.path,
            process: Some(pid),
            name: Box::new(listening.name),
        })
    }

    fn load_agent(&self, pid: Pid, options: &str) -> Result<(), Refused> {
        let limits = Limits {
            connect: CONNECT,
            answer: ANSWER,
        };
        let loaded = target(pid).and_then(|target| attach::load_agent(&target, options, limits));
        loaded.map(drop).map_err(|refusal| match refusal {
            // A JVM that ends takes no agent any more, and is there for a moment yet.
            Refusal::AgentRefused { .. } if has_ended_soon(pid) => {
                refused(&Refusal::Ended(process::Pid(pid.0)))
            }
            Refusal::AgentRefused { reason: None, .. } => Refused::new(
                RefusedKind::Refused,
                format!("{refusal}. {}", likely_reason(pid)),
            ),
            refusal => refused(&refusal),
        })
    }

    fn control(
        &self,
        pid: Pid,
        request: &ControlRequest,
        limit: Duration,
    ) -> Result<Reply, Refused> {
        let reply = target(pid).and_then(|target| attach::control(&target, request, limit));
        reply.map_err(|refusal| refused(&refusal))
    }

    fn histogram(&self, pid: Pid, live: bool) -> Result<String, Refused> {
        ask(pid, &Request::Histogram { live }, ANSWER)
    }

    fn thread_dump(&self, pid: Pid) -> Result<String, Refused> {
        ask(pid, &Request::Threads, ANSWER)
    }

    fn memory(&self, pid: Pid) -> Result<MemoryNow, Refused> {
        let target = target(pid).map_err(|refusal| refused(&refusal))?;
        let effort = Effort {
            objects: false,
            collect: false,
            loaders: false,
            no_attach: false,
            cgroups: process_memory::CGROUPS.into(),
        };
        let found = process_memory::look(&target, &effort);
        found
            .map(|snapshot| process_memory::text::for_server(&snapshot))
            .map_err(|error| Refused::new(RefusedKind::Refused, printable(&format!("{error:#}"))))
    }

    fn heap_dump(&self, pid: Pid, file: &Path, live: bool) -> Result<(), Refused> {
        let file = file.to_str().ok_or_else(|| {
            Refused::new(
                RefusedKind::Failed,
                "the server's folder must have a name in UTF-8",
            )
        })?;
        ask(pid, &Request::HeapDump { file, live }, DUMP).map(drop)
    }

    fn profile_file(&self, contents: &Contents, times: &[Chunk]) -> Result<Vec<u8>, Refused> {
        let mut bytes = Vec::new();
        let written = export::hprof::text_with_times(contents, times, &mut bytes);
        written.map_err(|error| Refused::new(RefusedKind::Refused, format!("{error:#}")))?;
        Ok(bytes)
    }
}

/// Returns true if a process ends within a fraction of a second.
fn has_ended_soon(pid: Pid) -> bool {
    (0..4).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        target(pid).is_err()
    })
}

/// Why an agent probably did not start.
fn likely_reason(pid: Pid) -> String {
    format!(
        "Another command may have started it at the same moment: `hprof-rs control {} status` shows what it does",
        pid.0
    )
}

fn target(pid: Pid) -> Result<Target, Refusal> {
    Target::find(process::Pid(pid.0))
}

fn ask(pid: Pid, request: &Request<'_>, answer: Duration) -> Result<String, Refused> {
    let limits = Limits {
        connect: CONNECT,
        answer,
    };
    let asked = target(pid).and_then(|target| attach::ask(&target, request, limits));
    let asked = asked.map_err(|refusal| refused(&refusal))?;
    match asked.status {
        0 => Ok(asked.text),
        _ => Err(Refused::new(
            RefusedKind::Refused,
            format!("the JVM of process {pid}: {}", attach::said(&asked)),
        )),
    }
}

fn refused(refusal: &Refusal) -> Refused {
    let kind = match refusal {
        Refusal::NoProcess(_)
        | Refusal::NotAJvm { .. }
        | Refusal::Ended(_)
        | Refusal::NoAgent(_) => RefusedKind::Missing,
        Refusal::OtherUser { .. } => RefusedKind::Forbidden,
        Refusal::NoAnswer { .. } | Refusal::Late { .. } => RefusedKind::Late,
        _ => RefusedKind::Refused,
    };
    // The sentences are for terminals, too.
    Refused::new(kind, printable(&refusal.to_string()))
}

fn facts(jvm: &Jvm) -> JvmFacts {
    let began = jvm.pid.began().unwrap_or(0);
    let age = jvm.pid.age().ok().map(|seconds| seconds as u64);
    let own = rustix::process::geteuid();
    let is_other = own.as_raw() != jvm.status.uid;
    let refusal = if jvm.libraries.as_ref().is_some_and(|found| found.openj9) {
        Some(Refusal::OpenJ9(jvm.pid))
    } else if is_other && !own.is_root() {
        Some(Refusal::OtherUser {
            pid: jvm.pid,
            owner: jvm.user.clone(),
        })
    } else if jvm.refuses_attach() {
        Some(Refusal::Disabled(jvm.pid))
    } else {
        None
    };
    let pid = jvm.pid.0;
    let elsewhere = match jvm.in_container {
        Some(true) => Some("is in a container"),
        None => Some("does not show whether it is in a container"),
        Some(false) => None,
    };
    let apart = if let Some(reason) = elsewhere {
        Some(format!(
            "process {pid} {reason}, and cannot write a heap dump into the server's folder; \
             `hprof-rs capture {pid} --server URL` sends one"
        ))
    } else if is_other {
        Some(format!(
            "process {pid} runs as {}, and cannot write a heap dump into the server's folder; \
             `hprof-rs capture {pid} --server URL` sends one",
            jvm.user
        ))
    } else {
        None
    };
    JvmFacts {
        pid: Pid(pid),
        began,
        name: printable(jvm.short_name()),
        version: jvm.version.as_deref().map(printable),
        user: printable(&jvm.user),
        uptime: age,
        resident: jvm.pid.resident().unwrap_or(0),
        refusal: refusal.map(|refusal| printable(&refusal.to_string())),
        apart,
        has_agent: jvm.agent() == AgentState::Loaded,
        in_container: jvm.in_container == Some(true),
    }
}
