//! The state that all requests share.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::catalogue::{Catalogue, Dump, DumpKind, JobState};
use crate::config::Config;
use crate::counters::Counters;
use crate::events::Events;
use crate::health::Health;
use crate::ids::DumpId;
use crate::intake::Uploads;
use crate::jobs::Jobs;
use crate::live::Live;
use crate::problem::Problem;
#[cfg(feature = "serve")]
use crate::pushed::Pushed;
use crate::rates::Rates;
use crate::store::{self, Fault, Local, Store};
use crate::views::service::Views;

/// Threads of a process for the disk and for views.
pub(crate) const MAX_BLOCKING: usize = 64;
/// The share that looks tokens up.
const DOOR: usize = 8;
/// The share that reads files for answers.
const SENDING: usize = 8;
/// How long a request waits for files in the cache that others are about to let go.
const WAIT_FOR_ROOM: Duration = Duration::from_secs(2);
/// How often it looks.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(20);
/// The largest file of an analysis, in bytes, that is held in memory for an answer.
const SMALL: u64 = 4 << 20;

/// Work for a thread.
type Work = Box<dyn FnOnce(&AppState) + Send>;
/// The result of work, once it is done.
type Outcome<T> = Arc<Mutex<Option<Result<T, Problem>>>>;

fn taken<T>(result: &Outcome<T>) -> Result<T, Problem> {
    let result = result.lock().take();
    result.unwrap_or_else(|| Err(Problem::internal("work has ended without a result")))
}

/// The server's parts; clones are the same server.
#[derive(Clone)]
pub struct AppState(Arc<Parts>);

struct Parts {
    config: Config,
    catalogue: Box<dyn Catalogue>,
    store: Arc<dyn Store>,
    jobs: Jobs,
    events: Arc<Events>,
    uploads: Uploads,
    rates: Rates,
    counters: Counters,
    health: Health,
    threads: Threads,
    views: Views,
    live: Option<Live>,
    #[cfg(feature = "serve")]
    pushed: OnceLock<Pushed>,
    /// The hash of the token in the printed link.
    link_token: OnceLock<String>,
}

/// The shares of the threads for blocking work. Files that are sent have the rest.
struct Threads {
    work: Arc<Semaphore>,
    door: Arc<Semaphore>,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            work: Arc::new(Semaphore::new(MAX_BLOCKING - DOOR - SENDING)),
            door: Arc::new(Semaphore::new(DOOR)),
        }
    }
}

/// The files of a finished analysis.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// The dump.
    pub dump: DumpId,
    /// The name of the file as its sender gave it.
    pub name: String,
    /// The kind of dump.
    pub kind: DumpKind,
    /// The file to open: the dump, or what it holds if it came compressed.
    pub file: PathBuf,
    /// The folder of the index, for `IndexPlace::Folder`.
    pub index: PathBuf,
    /// The JSON of the report; heap dumps have one.
    pub report: PathBuf,
    /// Keeps the files there.
    pub held: Vec<Local>,
}

impl AppState {
    /// A server with these parts.
    pub fn new(config: Config, catalogue: Box<dyn Catalogue>, store: Arc<dyn Store>) -> Self {
        let rates = Rates::new(config.max_rate);
        let events = Arc::new(Events::default());
        let live = config.machine.clone().map(|machine| {
            let network = config.network.clone();
            let folder = config.folder.join("live");
            Live::new(machine, network, &folder, Arc::clone(&events))
        });
        Self(Arc::new(Parts {
            config,
            rates,
            counters: Counters::default(),
            health: Health::default(),
            threads: Threads::default(),
            catalogue,
            store,
            jobs: Jobs::default(),
            events,
            uploads: Uploads::default(),
            views: Views::default(),
            live,
            #[cfg(feature = "serve")]
            pushed: OnceLock::new(),
            link_token: OnceLock::new(),
        }))
    }

    /// The configuration that the server was started with.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The database. Its calls block: use [`AppState::blocking`].
    pub fn catalogue(&self) -> &dyn Catalogue {
        &*self.0.catalogue
    }

    /// The files. Its calls block: use [`AppState::blocking`].
    pub fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    /// The jobs that run in this process.
    pub fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    /// The uploads under way.
    pub fn uploads(&self) -> &Uploads {
        &self.0.uploads
    }

    /// How much each address sends.
    pub fn rates(&self) -> &Rates {
        &self.0.rates
    }

    /// Counters of answers.
    pub fn counters(&self) -> &Counters {
        &self.0.counters
    }

    /// The channel of news.
    pub fn events(&self) -> &Events {
        &self.0.events
    }

    /// The hash of the token in the printed link, if there is one.
    pub(crate) fn link_token(&self) -> Option<&str> {
        self.0.link_token.get().map(String::as_str)
    }

    /// Notes the hash of the token in the printed link; the first counts.
    pub(crate) fn set_link_token(&self, hash: String) {
        let _ = self.0.link_token.set(hash);
    }

    /// The opened analyses.
    pub fn views(&self) -> &Views {
        &self.0.views
    }

    /// The JVMs of this machine; none if the server leaves them alone.
    pub fn live(&self) -> Option<&Live> {
        self.0.live.as_ref()
    }

    /// The store of pushed profiles; none before [`AppState::keep_pushed`].
    #[cfg(feature = "serve")]
    pub fn pushed(&self) -> Option<&Pushed> {
        self.0.pushed.get()
    }

    /// Opens the store of pushed profiles in the server's folder; the first call counts.
    ///
    /// # Errors
    /// If the disk fails.
    #[cfg(feature = "serve")]
    pub fn keep_pushed(&self) -> io::Result<()> {
        let is_of_fleet = self.catalogue().pushed().is_some() && self.store().pushed().is_some();
        let pushed = Pushed::open(&self.config().folder.join("pushed"), is_of_fleet)?;
        let _ = self.0.pushed.set(pushed);
        Ok(())
    }

    /// The known health of the catalogue.
    pub(crate) fn health_known(&self) -> &Health {
        &self.0.health
    }

    /// Does work that waits for the disk or takes long, on a thread for such work.
    ///
    /// # Errors
    /// Returns the errors of the work. Fails too if it panics.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (work, result) = Self::erased(work);
        self.on_a_thread(&self.0.threads.work, work).await?;
        taken(&result)
    }

    /// Looks something up before the caller is authenticated. Such looks have few threads, which nothing else takes:
    /// neither holds the other up.
    ///
    /// # Errors
    /// Errors of the look, and a panic of it.
    pub async fn at_the_door<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (look, result) = Self::erased(look);
        self.on_a_thread(&self.0.threads.door, look).await?;
        taken(&result)
    }

    /// Work of one type, and the place of its result: the runtime's part of a task is compiled once, and not once for
    /// each piece of work.
    fn erased<T: Send + 'static>(
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> (Work, Outcome<T>) {
        let result = Outcome::default();
        let place = Arc::clone(&result);
        let work = Box::new(move |state: &Self| *place.lock() = Some(work(state)));
        (work, result)
    }

    async fn on_a_thread(&self, threads: &Arc<Semaphore>, work: Work) -> Result<(), Problem> {
        let place = Arc::clone(threads).acquire_owned().await;
        let place = place.map_err(Problem::internal)?;
        let state = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            // The thread is taken until the end, also if the request is gone by then.
            let _place = place;
            work(&state);
        });
        done.await.map_err(Problem::internal)
    }

    /// Files of the store on this machine; if the cache is full, analyses that no request uses go first. Requests that
    /// are about to end still have theirs for a moment. Blocks.
    fn stored<T>(&self, get: impl Fn(&dyn Store) -> io::Result<T>) -> Result<T, Problem> {
        let deadline = Instant::now() + WAIT_FOR_ROOM;
        loop {
            let found = get(self.store());
            let is_full =
                |error: &io::Error| matches!(Fault::of(error), Some(Fault::CacheFull { .. }));
            if !found.as_ref().is_err_and(is_full) || Instant::now() >= deadline {
                return found.map_err(|error| store::problem(&error));
            }
            self.views().release();
            thread::sleep(LOOK_FOR_ROOM);
        }
    }

    /// A dump as the catalogue has it, without what its rules and its job say now.
    fn catalogued(&self, id: &DumpId) -> Result<Dump, Problem> {
        let dump = self.catalogue().dump(id)?;
        dump.ok_or_else(|| Problem::not_found(format!("there is no dump {id}")))
    }

    /// The bytes of one small file of the analysis of a dump, where a store would otherwise have to send the dump and the
    /// whole analysis for it; none if the file lies on this machine anyway, or is large. Blocks.
    ///
    /// # Errors
    /// If there is no such dump, or the storage fails.
    pub fn small_file(&self, id: &DumpId, name: &str) -> Result<Option<(Dump, Vec<u8>)>, Problem> {
        if self.store().cache_room().is_none() {
            return Ok(None);
        }
        let dump = self.catalogued(id)?;
        let file = self.store().analysis_file(id, name, SMALL);
        let bytes = file.map_err(|error| store::problem(&error))?;
        Ok(bytes.map(|bytes| (dump, bytes)))
    }

    /// The files of the analysis of a dump. Blocks.
    ///
    /// # Errors
    /// If there is no such dump, or its job is not done.
    pub fn analysis(&self, id: &DumpId) -> Result<Analysis, Problem> {
        let dump = self.catalogued(id)?;
        // A later attempt takes nothing away until it is done.
        let Some(folder) = self.stored(|store| store.analysis(id))? else {
            let detail = match dump.job.as_ref().map(|job| (job.state, &job.error)) {
                Some((JobState::Failed, Some(error))) => {
                    format!("the job failed: {}", error.detail)
                }
                Some((JobState::Cancelled, _)) => "the job was cancelled; retry it".to_owned(),
                _ => "the job is under way; wait for its event `done`".to_owned(),
            };
            return Err(Problem::not_ready(detail));
        };
        let unpacked = folder.join(UNPACKED);
        let index = folder.to_path_buf();
        let mut held = vec![folder];
        let file = match unpacked.exists() {
            true => unpacked,
            false => {
                let file = self.stored(|store| store.dump(id))?;
                held.push(file.clone());
                file.to_path_buf()
            }
        };
        Ok(Analysis {
            dump: dump.id,
            name: dump.name,
            kind: dump.kind,
            file,
            report: index.join(REPORT),
            index,
            held,
        })
    }
}

/// The name of the unpacked dump in the folder of an analysis.
pub const UNPACKED: &str = "unpacked";
/// The name of the report's JSON in the folder of an analysis.
pub const REPORT: &str = "report.json";
/// The name of the report's page in the folder of an analysis.
pub const REPORT_PAGE: &str = "report.html";
