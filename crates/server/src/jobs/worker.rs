//! One worker process: its start, its progress, its end.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, OwnedSemaphorePermit, watch};

use super::{Progress, shared};
use crate::DATABASE_VARIABLE;
use crate::catalogue::{DumpKind, Ending, Figures, Job, JobError, Outcome};
use crate::events::Event;
use crate::ids::{DumpId, JobId};
use crate::problem::Problem;
use crate::state::{AppState, REPORT, UNPACKED};
use crate::store;
use crate::views::report::Report;
use crate::worker_status::{DISK_FULL, NO_MEMORY, PANICKED};

/// The pause before the catalogue is asked again that has failed.
const PAUSE: Duration = Duration::from_secs(2);
/// The lines of a worker that are kept for the reason of its failure.
const MAX_LINES: usize = 12;

/// How a worker ended.
enum End {
    /// By itself.
    Exit(ExitStatus),
    /// The job was cancelled.
    Cancelled,
    /// The server stops.
    Stopping,
}

/// The contents of `outcome.json`, which the worker writes.
#[derive(Deserialize)]
struct OutcomeFile {
    kind: DumpKind,
    headline: Option<String>,
    summary: Option<serde_json::Value>,
}

/// Runs an attempt to its end, and notes how it ended. Its place is free when its process has ended.
pub(super) async fn supervise(state: AppState, job: Job, place: OwnedSemaphorePermit) {
    let (id, attempt) = (job.id, job.attempt);
    let cancel = {
        let running = state.jobs().lock();
        running.get(&id).map(|it| Arc::clone(&it.cancel))
    };
    let cancel = cancel.unwrap_or_default();
    let keeper = shared::keep(state.clone(), id, attempt, Arc::clone(&cancel));
    let keeper = tokio::spawn(keeper);
    let ending = Arc::new(attempt_it(&state, &job, attempt, cancel, place).await);
    let dump = job.dump.clone();
    // Before the catalogue needs room: the files of the attempt may be what fills the disk.
    let removed = state.blocking(move |state| {
        let removed = state.store().abandon_analysis(&dump, attempt);
        removed.map_err(Problem::internal)
    });
    // The next start removes any rest.
    let _ = removed.await;
    loop {
        let (ending, dump) = (Arc::clone(&ending), job.dump.clone());
        let noted =
            state.blocking(move |state| note(state, id, &dump, attempt, ending.as_ref().as_ref()));
        // Until the disk has room again, or the next start finds the job running.
        if noted.await.is_ok() || *state.jobs().stopping().borrow() {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    keeper.abort();
    state.jobs().forget(id, attempt);
}

/// Notes the end of an attempt in the catalogue, and sends the news to all listeners. Blocks.
fn note(
    state: &AppState,
    id: JobId,
    dump: &DumpId,
    attempt: u32,
    ending: Option<&Ending>,
) -> Result<(), Problem> {
    if let Some(ending) = ending
        && !state.catalogue().end(id, attempt, ending)?
    {
        tracing::warn!(job = %id, attempt, "an attempt ended after its job");
    }
    // It was deleted meanwhile.
    if state.catalogue().dump(dump)?.is_none() {
        state.store().delete(dump).map_err(Problem::internal)?;
    }
    state.jobs().forget(id, attempt);
    // If this fails, the next request for the dump judges its rules.
    let _ = state.judge(dump);
    state.announce(id);
    Ok(())
}

/// Gives how the attempt ended; none if the job is cancelled.
async fn attempt_it(
    state: &AppState,
    job: &Job,
    attempt: u32,
    cancel: Arc<Notify>,
    place: OwnedSemaphorePermit,
) -> Option<Ending> {
    let dump = job.dump.clone();
    let id = job.id;
    let prepared = state.blocking(move |state| {
        state.announce(id);
        if state.catalogue().is_shared() {
            // The workers that had them were killed, or will find that the job is not theirs.
            for earlier in 1..attempt {
                let gone = state.store().abandon_analysis(&dump, earlier);
                gone.map_err(Problem::internal)?;
            }
        }
        let found = state.catalogue().dump(&dump)?;
        let name = found.map_or_else(|| dump.to_string(), |found| found.name);
        let begun = state.store().begin_analysis(&dump, attempt);
        let file = state.store().dump(&dump);
        let file = file.map_err(|error| store::problem(&error))?;
        Ok((begun.map_err(Problem::internal)?, name, file))
    });
    let (folder, name, file) = match prepared.await {
        Ok(prepared) => prepared,
        Err(problem) => return Some(unprepared(state, &problem)),
    };
    tracing::info!(job = %id, attempt, dump = %job.dump, "a worker starts");
    let mut child = match start(state, &file, &folder, &name) {
        Ok(child) => child,
        Err(error) => return Some(Ending::Failed(not_started(&error.to_string()))),
    };
    let mut lines = VecDeque::new();
    let end = follow(state, job, attempt, &mut child, cancel, &mut lines).await;
    if !matches!(end, End::Exit(_)) {
        // An error means that it has ended already.
        let _ = child.kill().await;
    }
    drop(place);
    state.jobs().wake();
    let status = match end {
        End::Cancelled => return None,
        End::Stopping => return Some(Ending::Interrupted),
        End::Exit(status) => status,
    };
    tracing::info!(job = %id, attempt, %status, "a worker ended");
    if status.success() {
        if !shared::holds(state, id, attempt).await {
            return match *state.jobs().stopping().borrow() {
                true => Some(Ending::Interrupted),
                false => None,
            };
        }
        let dump = job.dump.clone();
        let published = state.blocking(move |state| {
            let text = std::fs::read_to_string(folder.join("outcome.json"));
            let text = text.map_err(Problem::internal)?;
            let outcome: OutcomeFile = serde_json::from_str(&text).map_err(Problem::internal)?;
            let figures = figures(outcome.kind, &folder);
            let published = state.store().publish_analysis(&dump, attempt);
            published.map_err(|error| store::problem(&error))?;
            state.views().forget(dump.as_str());
            Ok((outcome, figures))
        });
        return Some(match published.await {
            Ok((outcome, figures)) => Ending::Done(Outcome {
                kind: outcome.kind,
                headline: outcome.headline,
                summary: outcome.summary,
                figures,
            }),
            Err(problem) => Ending::Crashed(not_started(&problem.detail)),
        });
    }
    let shown = lines.make_contiguous().join("\n");
    // Visitors know the file by its name.
    let said = shown.replace(&*file.to_string_lossy(), &name);
    let unpacked = folder.join(UNPACKED);
    let said = said.replace(&*unpacked.to_string_lossy(), &name);
    let said = said.replace(&*folder.to_string_lossy(), "the folder of the analysis");
    Some(failure(status, said.trim_start_matches("hprof-rs: ")))
}

/// The figures of a heap dump for questions over many.
fn figures(kind: DumpKind, folder: &Path) -> Option<Figures> {
    if kind != DumpKind::Heap {
        return None;
    }
    let report = Report::read(&folder.join(REPORT));
    let report = report.inspect_err(|reason| tracing::warn!(reason, "a dump has no figures"));
    report.ok().as_ref().map(Figures::of)
}

fn start(state: &AppState, file: &Path, folder: &Path, name: &str) -> std::io::Result<Child> {
    let config = state.config();
    let memory = config.memory / config.workers.max(1) as u64;
    start_worker(&config.executable, file, folder, name, memory)
}

/// Starts the process that analyses a file into a folder, within `memory` bytes. Standard error has its progress as
/// JSON, a line each. The process ends when the value is dropped.
///
/// # Errors
/// If the executable cannot be started.
pub fn start_worker(
    executable: &Path,
    file: &Path,
    folder: &Path,
    name: &str,
    memory: u64,
) -> std::io::Result<Child> {
    Command::new(executable)
        .arg("worker")
        .arg(file)
        .arg("--analysis")
        .arg(folder)
        .arg(format!("--name={name}"))
        .args(["--memory", &memory.to_string(), "--progress", "json"])
        .env("RUST_BACKTRACE", "0")
        .env_remove(DATABASE_VARIABLE)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // Ctrl+C in a terminal is for the server, which then ends its workers.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Ends when the server stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender lives as long as the server.
    let _ = stopping.wait_for(|stops| *stops).await;
}

/// Reads what a worker says until it ends, or has to.
async fn follow(
    state: &AppState,
    job: &Job,
    attempt: u32,
    child: &mut Child,
    cancel: Arc<Notify>,
    kept: &mut VecDeque<String>,
) -> End {
    let mut stopping = state.jobs().stopping();
    let mut lines = child.stderr.take().map(|it| BufReader::new(it).lines());
    let mut phase = String::new();
    loop {
        let line = async {
            match &mut lines {
                Some(lines) => lines.next_line().await.ok().flatten(),
                None => None,
            }
        };
        tokio::select! {
            line = line => match line {
                Some(line) => take_line(state, job, attempt, &line, &mut phase, kept).await,
                None => break,
            },
            () = cancel.notified() => return End::Cancelled,
            () = stopped(&mut stopping) => return End::Stopping,
        }
    }
    tokio::select! {
        status = child.wait() => match status {
            Ok(status) => End::Exit(status),
            Err(_) => End::Stopping,
        },
        () = cancel.notified() => End::Cancelled,
        () = stopped(&mut stopping) => End::Stopping,
    }
}

async fn take_line(
    state: &AppState,
    job: &Job,
    attempt: u32,
    line: &str,
    phase: &mut String,
    kept: &mut VecDeque<String>,
) {
    let Some(progress) = Progress::of_line(line) else {
        kept.push_back(line.to_owned());
        if kept.len() > MAX_LINES {
            kept.pop_front();
        }
        return;
    };
    let id = job.id;
    let is_shared = state.catalogue().is_shared();
    let is_new = *phase != progress.phase && !is_shared;
    phase.clone_from(&progress.phase);
    if let Some(running) = state.jobs().lock().get_mut(&id) {
        running.progress = Some(progress.clone());
    }
    // Where machines share the jobs, all hear of it when the lease is renewed.
    if is_shared {
        return;
    }
    let noted = state.blocking(move |state| {
        if is_new {
            let lease = state.config().fleet.lease;
            state
                .catalogue()
                .renew(id, attempt, lease, Some(&progress))?;
        }
        let job = state.job(id)?;
        state.events().send(Event::Job(Box::new(job)));
        Ok(())
    });
    // Progress is only shown; a failure is in the log.
    let _ = noted.await;
}

/// The end of a job for which nothing could be made ready. Where machines share the jobs, the
/// storage may answer later, or another machine do better.
fn unprepared(state: &AppState, problem: &Problem) -> Ending {
    if problem.kind == store::DAMAGED {
        // The bytes stay what they are.
        return Ending::Failed(JobError {
            title: problem.title.to_owned(),
            detail: problem.detail.clone(),
            can_retry: false,
        });
    }
    let error = not_started(&problem.detail);
    match state.catalogue().is_shared() {
        true => Ending::Crashed(error),
        false => Ending::Failed(error),
    }
}

fn not_started(detail: &str) -> JobError {
    JobError {
        title: "The worker could not work".to_owned(),
        detail: detail.to_owned(),
        can_retry: true,
    }
}

/// Why a worker failed, by its exit status and its last words.
fn failure(status: ExitStatus, said: &str) -> Ending {
    let error = |title: &str, detail: String, can_retry| JobError {
        title: title.to_owned(),
        detail,
        can_retry,
    };
    if let Some(signal) = status.signal() {
        let detail = format!(
            "signal {signal} ended the worker: the system may have had no memory left, or the file \
             changed or is damaged in a new way. {said}"
        );
        return Ending::Crashed(error("The worker was killed", detail, true));
    }
    let said = said.to_owned();
    Ending::Failed(match status.code() {
        Some(NO_MEMORY) => error("The memory limit was reached", said, true),
        Some(PANICKED) => error("The analyser failed", said, false),
        Some(DISK_FULL) => error("The disk is full", said, true),
        _ => error("The file could not be analysed", said, false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_reason_to_retry_and_a_wrong_file_is_not() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        let full = "cannot unpack: No space left on device (os error 28)";
        for (status, said, title, can_retry) in [
            (exit(DISK_FULL), full, "The disk is full", true),
            (
                exit(1),
                "x is plain text",
                "The file could not be analysed",
                false,
            ),
            (exit(3), "stopped", "The memory limit was reached", true),
        ] {
            let Ending::Failed(error) = failure(status, said) else {
                panic!("{said}");
            };
            assert_eq!((error.title.as_str(), error.can_retry), (title, can_retry));
        }
        assert!(matches!(
            failure(ExitStatus::from_raw(9), ""),
            Ending::Crashed(_)
        ));
    }
}
