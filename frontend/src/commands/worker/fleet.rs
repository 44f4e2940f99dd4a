//! `hprof-rs worker --database`: jobs of a fleet.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use hprof_platform::jobs::{StartedWorker, WorkerConfig};

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
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let started = StartedWorker::start(WorkerConfig {
        fleet,
        folder: match worker.cache {
            Some(folder) => folder,
            None => default_folder()?,
        },
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

fn default_folder() -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let cache = cache.context("neither XDG_CACHE_HOME nor HOME is set; give --cache DIR")?;
    Ok(cache.join("hprof-rs").join("worker"))
}
