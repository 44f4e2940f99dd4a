//! `hprof-rs worker --database`: takes jobs from the queue that machines share.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::{follow, queue};
use crate::config::{Config, Fleet, Retention};
use crate::connections::{self, ConnectionLimits, Demands};
use crate::pace::MinimumPace;
use crate::problem::Problem;
use crate::server::{StartError, clean, open, say};
use crate::state::{AppState, MAX_BLOCKING};
use crate::store::CacheSettings;

/// Threads that wait for the database and for processes.
const THREADS: usize = 1;

/// Everything that the command line says to a worker.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The database with the queue.
    pub fleet: Fleet,
    /// The URL of the store, and its cache on this machine.
    pub store: (String, CacheSettings),
    /// A folder of this machine for files that come and go.
    pub folder: PathBuf,
    /// The command that analyses: `hprof-rs`.
    pub executable: PathBuf,
    /// The memory of all jobs together, in bytes.
    pub memory: u64,
    /// How many jobs run at once.
    pub jobs: usize,
    /// Where to answer `/healthz` and `/readyz`.
    pub health: Option<SocketAddr>,
}

impl WorkerConfig {
    /// The configuration of the parts that a worker shares with a server.
    fn common(self) -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            folder: self.folder,
            fleet: self.fleet,
            store: Some(self.store),
            executable: self.executable,
            memory: self.memory,
            workers: self.jobs,
            allowed_roots: Vec::new(),
            max_upload: 0,
            strip: None,
            connections: ConnectionLimits::default(),
            pace: MinimumPace::default(),
            hosts: Vec::new(),
            tls: None,
            behind_proxy: false,
            max_rate: u32::MAX,
            keep_pushed: Default::default(),
            keep: Retention::default(),
            recognise: |_| None,
            machine: None,
            network: None,
        }
    }
}

/// A worker that has reached its database and takes no jobs yet.
pub struct StartedWorker {
    runtime: Runtime,
    state: AppState,
    health: Option<TcpListener>,
    /// Where it answers about its health.
    pub health_address: Option<SocketAddr>,
}

impl StartedWorker {
    /// Opens the database and the store.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn start(config: WorkerConfig) -> Result<Self, StartError> {
        let health = config.health;
        let config = config.common();
        let (catalogue, store) = open(&config)?;
        let state = AppState::new(config, catalogue, store);
        clean(&state)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(MAX_BLOCKING)
            .enable_all()
            .build()
            .map_err(say("cannot start threads"))?;
        let health = match health {
            None => None,
            Some(address) => {
                let listener = runtime.block_on(TcpListener::bind(address));
                Some(listener.map_err(say(format!("cannot listen at {address}")))?)
            }
        };
        let health_address = health.as_ref().map(TcpListener::local_addr).transpose();
        Ok(Self {
            health_address: health_address.map_err(say("cannot learn the address"))?,
            runtime,
            state,
            health,
        })
    }

    /// Takes jobs until SIGTERM or SIGINT; then gives those under way back at once.
    ///
    /// # Errors
    /// If signals cannot be caught.
    pub fn run(self) -> std::io::Result<()> {
        let state = self.state;
        self.runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let jobs = tokio::spawn(queue::run(state.clone()));
            let follower = tokio::spawn(follow(state.clone()));
            if let Some(listener) = self.health {
                let mut stopping = state.jobs().stopping();
                let stop = async move {
                    // The sender lives as long as the worker.
                    let _ = stopping.wait_for(|stops| *stops).await;
                };
                let router = Router::new()
                    .route("/healthz", get(|| async { "ok\n" }))
                    .route("/readyz", get(ready))
                    .with_state(state.clone());
                tokio::spawn(connections::serve(
                    listener,
                    None,
                    router,
                    Demands::default(),
                    stop,
                ));
            }
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("the worker stops");
            state.jobs().stop();
            // Their processes are killed, so this is short.
            let _ = jobs.await;
            let _ = follower.await;
            Ok::<_, std::io::Error>(())
        })?;
        self.runtime.shutdown_background();
        Ok(())
    }
}

/// Says whether the database answers.
async fn ready(State(state): State<AppState>) -> Result<&'static str, Problem> {
    let checked = state.blocking(|state| Ok(state.catalogue().job_counts()?));
    checked.await?;
    Ok("ok\n")
}
