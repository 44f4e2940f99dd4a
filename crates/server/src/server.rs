//! The life of a server: start, listening, graceful end.

use std::fs::{DirBuilder, File};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::catalogue::{
    Catalogue, CatalogueError, DatabaseAddress, JobError, NewDump, SqliteCatalogue, Upload,
};
use crate::config::Config;
use crate::connections::{self, Demands};
use crate::folder_lock::FolderLock;
use crate::intake::digest;
use crate::problem::Problem;
use crate::state::{AppState, MAX_BLOCKING};
use crate::store::{FolderStore, OpenError, Store};
use crate::{api, fleet, jobs, live, pushed, retention, store, tls};

/// Threads for requests: they wait for others nearly all the time.
const THREADS: usize = 2;
/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(5);
/// How long agents may take to end when the server does.
const DETACHES: Duration = Duration::from_secs(10);
/// The name that the token in the printed link had in the catalogue.
const LOCAL: &str = "link";

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The catalogue cannot be opened.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The folder or the address cannot be used.
    #[error("{0}")]
    Io(String, #[source] std::io::Error),
    /// Another server has the folder.
    #[error("another server uses {0}; end it, or give another --folder")]
    InUse(PathBuf),
    /// The address is open to others, and nothing protects it.
    #[error("{0}")]
    Unsafe(String),
    /// The certificate or the key is wrong.
    #[error("{0}")]
    Tls(String),
}

/// Adds to an error of the system what could not be done.
pub(crate) fn say(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> StartError {
    let what = what.into();
    move |error| StartError::Io(what, error)
}

/// A server that listens and does not answer yet.
pub struct Server {
    runtime: Runtime,
    state: AppState,
    listener: TcpListener,
    tls: Option<tls::Acceptor>,
    /// The address to click.
    pub link: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Keeps other servers out of the folder.
    lock: FolderLock,
}

/// Makes the folder of a server for its user alone, if it is not there.
///
/// # Errors
/// If it cannot be made.
pub fn make_folder(folder: &Path) -> Result<(), StartError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(say(folder.display().to_string()))
}

/// Opens the catalogue of a server, for commands that change its tokens too: the database, or a file
/// in the folder.
///
/// # Errors
/// If it cannot be used.
pub fn open_catalogue(
    folder: &Path,
    database: Option<&DatabaseAddress>,
) -> Result<Box<dyn Catalogue>, StartError> {
    if let Some(database) = database {
        return database_at(database);
    }
    make_folder(folder)?;
    let catalogue = SqliteCatalogue::open(&folder.join("catalogue.db"))?;
    Ok(Box::new(catalogue))
}

#[cfg(feature = "fleet")]
fn database_at(database: &DatabaseAddress) -> Result<Box<dyn Catalogue>, StartError> {
    let catalogue = crate::catalogue::PostgresCatalogue::open(database.clone())?;
    Ok(Box::new(catalogue))
}

#[cfg(not(feature = "fleet"))]
fn database_at(database: &DatabaseAddress) -> Result<Box<dyn Catalogue>, StartError> {
    match *database {}
}

/// Catalogue and store.
type Opened = (Box<dyn Catalogue>, Arc<dyn Store>);

/// Opens catalogue and store.
pub(crate) fn open(config: &Config) -> Result<Opened, StartError> {
    make_folder(&config.folder)?;
    let store: Arc<dyn Store> = match &config.store {
        Some((place, cache)) => store::open(place, cache)?,
        None => {
            let shown = config.folder.display().to_string();
            Arc::new(FolderStore::open(&config.folder).map_err(say(shown))?)
        }
    };
    let catalogue = open_catalogue(&config.folder, config.fleet.database.as_ref())?;
    Ok((catalogue, store))
}

impl Server {
    /// Takes the folder and the address.
    ///
    /// # Errors
    /// If one of them cannot be used, or the address is open to others without protection.
    pub fn start(config: Config) -> Result<Self, StartError> {
        make_folder(&config.folder)?;
        let lock = FolderLock::take(&config.folder)?;
        let (catalogue, store) = open(&config)?;
        let tls = config
            .tls
            .as_ref()
            .map(|(chain, key)| tls::acceptor(chain, key));
        let tls = tls.transpose().map_err(StartError::Tls)?;
        let listen = config.listen;
        let is_local = listen.ip().is_loopback();
        let state = AppState::new(config, catalogue, store);
        if !is_local {
            check_open(&state)?;
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(MAX_BLOCKING)
            .thread_keep_alive(IDLE)
            .enable_all()
            .build()
            .map_err(say("cannot start threads"))?;
        let listener = runtime.block_on(TcpListener::bind(listen));
        let listener = listener.map_err(say(format!(
            "cannot listen at {listen} (--listen 127.0.0.1:0 takes any free port)"
        )))?;
        let address = listener
            .local_addr()
            .map_err(say("cannot learn the address"))?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let link = match is_local {
            false => format!("{scheme}://{address}/"),
            true => {
                // Earlier versions kept it there.
                state.catalogue().remove_tokens(LOCAL)?;
                let token = state.own_token().map_err(say("cannot make a token"))?;
                format!("{scheme}://{address}/?token={}", token.reveal())
            }
        };
        recover(&state)?;
        let kept = state.keep_pushed();
        kept.map_err(say("cannot open the store of pushed profiles"))?;
        if let Some(live) = state.live() {
            live.recover();
        }
        Ok(Self {
            runtime,
            state,
            listener,
            tls,
            link,
            address,
            lock,
        })
    }

    /// Answers until SIGTERM or SIGINT, after adding files; tells of files that cannot be added.
    ///
    /// # Errors
    /// If signals cannot be caught.
    pub fn run(
        self,
        files: Vec<PathBuf>,
        tell: impl Fn(&Path, &Problem) + Send + Sync + 'static,
    ) -> std::io::Result<()> {
        let state = self.state;
        self.runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let queue = tokio::spawn(jobs::run(state.clone()));
            let follower = tokio::spawn(jobs::follow(state.clone()));
            let sweeper = tokio::spawn(retention::run(state.clone()));
            let keeper = tokio::spawn(pushed::run(state.clone()));
            let filler = tokio::spawn(fleet::run(state.clone()));
            let network = tokio::spawn(live::network::run(state.clone()));
            let adder = state.clone();
            tokio::task::spawn_blocking(move || {
                adopt_orphans(&adder);
                for file in &files {
                    if let Err(problem) = adder.add_path(file) {
                        tell(file, &problem);
                    }
                }
            });
            let router = api::router(state.clone());
            let demands = Demands {
                limits: state.config().connections,
                pace: state.config().pace,
                is_proxied: state.config().behind_proxy,
            };
            let stop = async {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                tracing::info!("the server stops");
                self.lock.is_to_end();
                // Ends streams of events, too.
                state.jobs().stop();
            };
            connections::serve(self.listener, self.tls, router, demands, stop).await;
            sweeper.abort();
            keeper.abort();
            filler.abort();
            pushed::hand_over(state.clone()).await;
            let closer = state.clone();
            let _ = tokio::task::spawn_blocking(move || {
                if let Some(live) = closer.live() {
                    live.close(DETACHES);
                }
            })
            .await;
            let _ = network.await;
            // Workers are killed, so this is short.
            let _ = queue.await;
            let _ = follower.await;
            Ok::<_, std::io::Error>(())
        })?;
        // A long view or a hash is not waited for.
        self.runtime.shutdown_background();
        Ok(())
    }
}

/// Refuses an address that others reach, unless they need tokens and the server or a proxy encrypts
/// connections.
fn check_open(state: &AppState) -> Result<(), StartError> {
    let config = state.config();
    if state.catalogue().token_count()? == 0 {
        return Err(StartError::Unsafe(format!(
            "{} is open to others, and there is no token: make one with `hprof-rs serve --new-token \
             ROLE`",
            config.listen
        )));
    }
    if config.tls.is_none() && !config.behind_proxy {
        return Err(StartError::Unsafe(format!(
            "{} is open to others, who could read tokens and dumps on the way: give --tls-cert and \
             --tls-key, or --behind-proxy if a proxy in front speaks TLS",
            config.listen
        )));
    }
    Ok(())
}

/// Puts jobs that ran when the last server ended back into the queue, and removes uploads and
/// attempts that no process finishes.
fn recover(state: &AppState) -> Result<(), StartError> {
    if !state.catalogue().is_shared() {
        recover_jobs(state)?;
    }
    clean(state)
}

/// Puts jobs that ran when the last server ended back into the queue.
fn recover_jobs(state: &AppState) -> Result<(), StartError> {
    let error = JobError {
        title: "The server ended during this job, again and again".to_owned(),
        detail: "the analysis of this file may take more memory than the machine has; start the \
             server with a smaller --memory, then retry"
            .to_owned(),
        can_retry: true,
    };
    let jobs = state.catalogue().recover(&error)?;
    if jobs > 0 {
        tracing::info!(jobs, "jobs of the last server return to the queue");
    }
    Ok(())
}

/// Removes uploads and attempts that no process finishes.
pub(crate) fn clean(state: &AppState) -> Result<(), StartError> {
    // In a folder that others share they may be at work on what looks left behind. Beside object
    // storage each process has a folder of its own.
    if state.catalogue().is_shared() && !state.store().is_shared() {
        return Ok(());
    }
    state
        .store()
        .abandon_all()
        .map_err(say("cannot remove what earlier attempts left"))?;
    let uploads = state.catalogue().uploads()?;
    let parts = state.store().parts();
    for part in parts.map_err(say("cannot look through uploads"))? {
        let is_under_way = |upload: &Upload| upload.dump.is_none() && upload.id == part.as_str();
        if !uploads.iter().any(is_under_way) {
            let deleted = state.store().delete_part(&part);
            deleted.map_err(say("cannot look through uploads"))?;
        }
    }
    Ok(())
}

/// Adds dumps that were published just before the last server was killed, and are in no catalogue.
fn adopt_orphans(state: &AppState) {
    // Another server may be about to add them.
    if state.catalogue().is_shared() || state.store().is_shared() {
        return;
    }
    let Ok(dumps) = state.store().dumps() else {
        return;
    };
    for id in dumps {
        if !matches!(state.catalogue().dump(&id), Ok(None)) {
            continue;
        }
        let added = state
            .store()
            .dump(&id)
            .and_then(File::open)
            .map_err(Problem::internal)
            .and_then(|mut file| {
                let recognise = state.config().recognise;
                let digested = digest(&mut file, recognise)?;
                let bytes = digested.length;
                let sha256 = digested.end(recognise)?;
                state.register(NewDump {
                    id: id.clone(),
                    name: format!("recovered-{id}"),
                    bytes,
                    sha256,
                    // Not known of a file without an entry in the catalogue.
                    stripped: false,
                    strippings: Vec::new(),
                    note: String::new(),
                })
            });
        if let Err(problem) = added {
            tracing::warn!(dump = %id, detail = problem.detail, "a dump without an entry remains");
        }
    }
}
