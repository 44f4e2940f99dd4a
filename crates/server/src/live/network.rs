//! Agents that stream their profiles to the server (`net=`). Whatever listens saves each stream as a
//! file; a stream that has ended becomes a dump.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hprof_wire::control::{Reply, Request};

use super::machine::Refused;
use crate::catalogue::DumpPatch;
use crate::problem::Problem;
use crate::state::AppState;

/// How often streams that have ended are looked for.
const LOOKS: Duration = Duration::from_secs(2);
/// How long streams may take to end when the server does.
const ENDS: Duration = Duration::from_secs(5);

/// An agent that is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// Its number, from 1 on.
    pub number: u32,
    /// Its process, as numbered where it runs.
    pub pid: Option<u32>,
    /// The main class or archive, printable.
    pub name: String,
    /// Its address, printable.
    pub host: String,
    /// For how many seconds it has been connected.
    pub seconds: u64,
    /// True if it is the agent of this project, which answers requests.
    pub is_ours: bool,
    /// True if its profile is binary.
    pub is_binary: bool,
    /// Its modes, as options: `cpu=samples,heap=sites`. Empty when it has not reported them.
    pub options: String,
}

/// Something to ask of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A request, as the control socket takes them.
    Request(Request),
    /// The table of allocation sites.
    Sites,
    /// Traces that its stream lacks.
    Traces,
    /// A heap dump.
    Heap,
}

/// A stream that has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Who has sent it.
    pub sender: Sender,
    /// The saved file.
    pub file: PathBuf,
}

/// Whatever listens for agents.
pub trait Network: fmt::Debug + Send + Sync {
    /// The agents that are connected.
    fn senders(&self) -> Vec<Sender>;
    /// The streams that have ended since the last call.
    fn finished(&self) -> Vec<Finished>;
    /// Returns whether an agent is connected.
    fn is_connected(&self, number: u32) -> bool;
    /// Asks an agent, and waits for its answer; the stream then has what was asked for.
    ///
    /// # Errors
    /// If the agent refuses, has gone, or does not answer in time.
    fn ask(&self, number: u32, ask: &Ask, limit: Duration) -> Result<Reply, Refused>;
    /// Some of what an agent has sent, from a place on; empty when nothing more has come.
    ///
    /// # Errors
    /// If the stream has ended, or cannot be read.
    fn read(&self, number: u32, from: u64) -> Result<Vec<u8>, Refused>;
    /// A copy of what an agent has sent so far, as a whole file in [`Network::folder`].
    ///
    /// # Errors
    /// If the stream has ended, or the disk fails.
    fn copy(&self, number: u32) -> Result<PathBuf, Refused>;
    /// Where streams are saved.
    fn folder(&self) -> &Path;
    /// Ends all streams, each where it can be cut; true once all have.
    fn close(&self, limit: Duration) -> bool;
}

/// Takes streams among the dumps as they end, until the server stops; then ends those that remain.
pub async fn run(state: AppState) {
    if state.config().network.is_none() {
        return;
    }
    let mut stopping = state.jobs().stopping();
    let _ = state.blocking(take_left).await;
    loop {
        let _ = state.blocking(take).await;
        tokio::select! {
            () = tokio::time::sleep(LOOKS) => {}
            _ = stopping.changed() => break,
        }
    }
    let _ = state
        .blocking(|state| {
            if let Some(network) = &state.config().network
                && !network.close(ENDS)
            {
                tracing::warn!("streams of agents did not end in time; their files stay");
            }
            take(state)
        })
        .await;
}

/// Adds the streams that have ended.
fn take(state: &AppState) -> Result<(), Problem> {
    let Some(network) = &state.config().network else {
        return Ok(());
    };
    for finished in network.finished() {
        let Sender {
            pid, name, host, ..
        } = finished.sender;
        let labels = [
            Some(("host", host)),
            Some(("main", name)),
            pid.map(|pid| ("pid", pid.to_string())),
        ];
        let labels = labels.into_iter().flatten();
        let labels = labels.map(|(key, value)| (key.to_owned(), value)).collect();
        add(state, &finished.file, Some(labels));
    }
    Ok(())
}

/// Adds what an earlier server has saved and not added.
fn take_left(state: &AppState) -> Result<(), Problem> {
    let Some(network) = &state.config().network else {
        return Ok(());
    };
    let files = std::fs::read_dir(network.folder()).map_err(Problem::internal)?;
    let began = std::time::SystemTime::now();
    for file in files.flatten() {
        // Streams that come now are younger.
        let changed = file.metadata().and_then(|about| about.modified());
        if changed.is_ok_and(|changed| changed < began - LOOKS) {
            add(state, &file.path(), None);
        }
    }
    Ok(())
}

/// Adds a file, and removes its name in the listener's folder.
fn add(state: &AppState, file: &Path, labels: Option<std::collections::BTreeMap<String, String>>) {
    let name = file.file_name().map(|name| name.to_string_lossy());
    let added = state.add_named(file, name.as_deref().unwrap_or("profile"));
    let labelled = added.and_then(|dump| {
        if dump.labels.is_empty() && labels.is_some() {
            let patch = DumpPatch {
                labels,
                ..DumpPatch::default()
            };
            state.catalogue().change_dump(&dump.id, &patch)?;
            state.announce_dump(&dump.id);
        }
        Ok(())
    });
    match labelled {
        Ok(()) => {
            let _ = std::fs::remove_file(file);
        }
        Err(problem) => {
            tracing::warn!(file = %file.display(), detail = problem.detail, "a stream is not added");
        }
    }
}
