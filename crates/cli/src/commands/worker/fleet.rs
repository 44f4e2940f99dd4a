//! `hprof-rs worker --database`: jobs of a fleet.

use std::process::ExitCode;

use anyhow::{Context, bail};
use hprof_server::jobs::{StartedWorker, WorkerConfig};
use hprof_server::temporary_folder;

use super::Worker;
use crate::memory::free_bytes;
use crate::render::out::Log;
use crate::render::screen::print;

/// Takes jobs until a signal ends the command.
pub(super) fn take_jobs(worker: Worker) -> anyhow::Result<ExitCode> {
    let fleet = worker.fleet.fleet()?;
    if fleet.database.is_none() {
        bail!(
            "which database has the jobs? Give --database URL, --database-file FILE or the \
             environment variable HPROF_RS_DATABASE"
        );
    }
    tracing_subscriber::fmt()
        .with_writer(|| Log)
        .with_ansi(false)
        .init();
    let temporary = match worker.folder {
        Some(_) => None,
        None => Some(temporary_folder("worker-").context("give --folder DIR")?),
    };
    let temporary_path = temporary.as_ref().map(|it| it.path().to_owned());
    let folder = worker.folder.clone().or(temporary_path);
    let folder = folder.context("give --folder DIR")?;
    let store = worker.fleet.store(&folder.join("cache"))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let started = StartedWorker::start(WorkerConfig {
        fleet,
        store: store.context("give --store")?,
        folder,
        executable: std::env::current_exe()?,
        memory: match worker.memory.memory {
            Some(memory) => memory,
            None => free_bytes().context("the free memory is not known; give --memory")? / 2,
        },
        jobs: worker.jobs.map_or((cores / 2).max(1), usize::from),
        health: worker.health,
    })?;
    match started.health_address {
        Some(address) => print(&format!("Takes jobs; health at http://{address}/readyz\n"))?,
        None => print("Takes jobs\n")?,
    };
    started.run()?;
    Ok(ExitCode::SUCCESS)
}
