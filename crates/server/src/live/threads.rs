//! A JVM's threads, locks and deadlocks now, from the thread dump that HotSpot prints with `-l`.

use hprof_thread_dumps::{Deadlock as Found, Lock, Report, State};
use serde::Serialize;
use utoipa::ToSchema;

/// A lock that a thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct WaitsFor {
    /// Class and address.
    pub lock: String,
    /// The name of the thread that holds it, where that is known.
    pub owner: Option<String>,
}

/// A Java thread.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LiveThread {
    /// Its name.
    pub name: String,
    /// Its state: `RUNNABLE`, `BLOCKED`, `WAITING`, `TIMED_WAITING` ...
    pub state: String,
    /// Its number for the operating system.
    pub os_id: Option<u64>,
    /// CPU time so far, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// Its frames, innermost first.
    pub frames: Vec<String>,
    /// The lock that it waits for.
    pub waits_for: Option<WaitsFor>,
    /// The locks that it holds: class and address.
    pub holds: Vec<String>,
}

/// Threads that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Deadlock {
    /// Who waits for whom, in words.
    pub sentence: String,
    /// The names of the threads.
    pub threads: Vec<String>,
}

/// The contents of a thread dump.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct ThreadDump {
    /// Java threads in the order of the JVM.
    pub threads: Vec<LiveThread>,
    /// Deadlocks that the JVM has found.
    pub deadlocks: Vec<Deadlock>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// Reads a thread dump; lines of other forms are passed over.
pub fn thread_dump(text: &str) -> ThreadDump {
    let mut dump = ThreadDump::default();
    let found = match hprof_thread_dumps::read(text.as_bytes()) {
        Ok(found) => found,
        Err(_) => {
            let note = "the JVM's answer has no threads";
            dump.notes.push(note.to_owned());
            return dump;
        }
    };
    let report = Report::of(&found);
    let last = found.dumps.last().map(|last| &last.threads[..]);
    // The report has them in the order of the dump, with their owners.
    for (thread, row) in last.unwrap_or_default().iter().zip(&report.threads) {
        if thread.state == State::Vm {
            continue;
        }
        dump.threads.push(LiveThread {
            name: thread.name.clone(),
            state: thread.state.name().to_owned(),
            os_id: thread.os_id,
            cpu_ms: thread.cpu_ms,
            frames: found.frames.of(thread.stack).map(str::to_owned).collect(),
            waits_for: thread.wait.as_ref().map(|wait| WaitsFor {
                lock: name(&wait.lock),
                owner: row.owner.clone(),
            }),
            holds: thread.holds.iter().map(name).collect(),
        });
    }
    dump.deadlocks = report.deadlocks.iter().map(deadlock).collect();
    let of_vm = report.threads.len() - dump.threads.len();
    if of_vm > 0 {
        dump.notes
            .push(format!("{of_vm} threads of the JVM itself are not listed"));
    }
    if report.threads_left_out > 0 {
        dump.notes.push(format!(
            "{} more threads are not listed: {} are taken",
            report.threads_left_out,
            report.threads.len()
        ));
    }
    dump
}

/// Class and address of a lock.
fn name(lock: &Lock) -> String {
    format!("{} {}", lock.class, lock.id)
}

fn deadlock(found: &Found) -> Deadlock {
    let steps = found.steps.iter();
    let sentences = steps.clone().map(|step| {
        let lock = match &*step.lock {
            "" => "a lock",
            class => class,
        };
        format!(
            "\"{}\" waits for {lock}, which \"{}\" holds",
            step.thread, step.owner
        )
    });
    Deadlock {
        sentence: sentences.collect::<Vec<_>>().join("; "),
        threads: steps.map(|step| step.thread.clone()).collect(),
    }
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
