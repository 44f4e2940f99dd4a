//! Analyses: a worker process reads a file once; every call that asks about it waits for that, as long as it likes.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hprof_server::jobs::{Progress, start_worker};
use hprof_server::views::opened::Files;
use hprof_server::{TemporaryFolder, temporary_folder};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{Mutex, Notify, watch};

use crate::cache::Cache;
use crate::call::{Call, Refusal};
use crate::roots::Found;

/// Files that are open at the same time.
const OPEN: usize = 16;
/// Workers that run at the same time.
const WORKERS: usize = 2;
/// The last lines of a worker that tell why it failed.
const LINES: usize = 6;
/// The longest of them that is kept, in bytes.
const LINE: usize = 2000;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A heap dump.
    Heap,
    /// A profile.
    Profile,
}

/// A file that was read.
#[derive(Debug)]
pub struct Analysis {
    /// The name of this state of the file.
    pub key: String,
    /// A heap dump or a profile.
    pub kind: Kind,
    /// The sentence that matters most.
    pub headline: Option<String>,
    /// The files for views.
    pub files: Files,
}

/// How far an analysis is.
#[derive(Debug, Clone)]
enum State {
    /// A worker reads, with a sentence about how far it is.
    Working(String),
    Done(Arc<Analysis>),
    Failed(String),
    /// The last who waited has cancelled.
    Cancelled,
}

/// An analysis that is made or was made.
#[derive(Debug)]
struct Job {
    state: watch::Receiver<State>,
    /// Ends the worker.
    end: Arc<Notify>,
    waiting: AtomicUsize,
    asked: Instant,
    /// Keeps the file open, and a name for it that stays.
    _link: Arc<Link>,
}

/// An open file with a path that lasts.
#[derive(Debug)]
struct Link {
    found: Found,
    folder: TemporaryFolder,
}

impl Link {
    fn path(&self) -> PathBuf {
        self.folder.path().join("dump")
    }
}

/// The part of a worker's outcome that is of use here.
#[derive(Deserialize)]
struct Outcome {
    kind: Kind,
    headline: Option<String>,
}

/// Starts workers.
#[derive(Debug, Clone)]
pub struct Maker {
    /// `hprof-rs`.
    pub executable: PathBuf,
    /// The memory that a worker may take, in bytes.
    pub memory: u64,
    cache: Arc<Cache>,
    turns: Arc<tokio::sync::Semaphore>,
}

/// The files that are open.
#[derive(Debug)]
pub struct Analyses {
    /// Starts workers.
    pub maker: Maker,
    jobs: Mutex<HashMap<String, Arc<Job>>>,
}

impl Analyses {
    /// Nothing is open.
    ///
    /// # Errors
    /// If there is no folder for analyses.
    pub fn new(executable: PathBuf, memory: u64, cache: Option<&Path>) -> io::Result<Self> {
        let maker = Maker {
            executable,
            memory,
            cache: Arc::new(Cache::open(cache)?),
            turns: Arc::new(tokio::sync::Semaphore::new(WORKERS)),
        };
        Ok(Self {
            maker,
            jobs: Mutex::default(),
        })
    }

    /// The analysis of a file, which is made now where there is none. Waits up to a time.
    ///
    /// # Errors
    /// If the file is no dump or profile, or is not read within the time: then a worker reads on.
    pub async fn get(
        &self,
        found: Found,
        call: &Call,
        patience: Duration,
    ) -> Result<Arc<Analysis>, Refusal> {
        let key = found.key().map_err(Refusal::wrong)?;
        let end = Instant::now() + patience;
        loop {
            let again = found.again().map_err(Refusal::wrong)?;
            let job = self.job(key.clone(), again).await?;
            match job.wait(&found.name, call, end).await {
                // Another call cancelled it, just before this call came.
                Err(Refusal::Cancelled) if !call.is_cancelled() => {}
                answer => return answer,
            }
        }
    }

    async fn job(&self, key: String, found: Found) -> Result<Arc<Job>, Refusal> {
        let mut jobs = self.jobs.lock().await;
        if let Some(job) = jobs.get(&key) {
            // A failed job may succeed now: the disk was full, or the memory taken.
            if !matches!(*job.state.borrow(), State::Failed(_) | State::Cancelled) {
                return Ok(Arc::clone(job));
            }
        }
        if jobs.len() >= OPEN {
            let is_idle = |job: &Job| !matches!(*job.state.borrow(), State::Working(_));
            let idle = jobs.iter().filter(|(_, job)| is_idle(job));
            let oldest = idle
                .min_by_key(|(_, job)| job.asked)
                .map(|(key, _)| key.clone());
            match oldest {
                Some(oldest) => drop(jobs.remove(&oldest)),
                None => {
                    return Err(Refusal::Later(format!(
                        "{OPEN} files are being read; ask again when one is done"
                    )));
                }
            }
        }
        let job = Arc::new(
            self.maker
                .start(key.clone(), found)
                .map_err(Refusal::wrong)?,
        );
        jobs.insert(key, Arc::clone(&job));
        Ok(job)
    }
}

impl Job {
    /// Waits for the analysis, up to a time.
    async fn wait(&self, name: &str, call: &Call, end: Instant) -> Result<Arc<Analysis>, Refusal> {
        let mut state = self.state.clone();
        let _waiting = Waiting::new(self, call);
        let end = tokio::time::sleep_until(end.into());
        tokio::pin!(end);
        let mut teller = call.progress();
        loop {
            let now = state.borrow_and_update().clone();
            match now {
                State::Done(analysis) => return Ok(analysis),
                State::Failed(why) => return Err(Refusal::Wrong(why)),
                State::Cancelled => return Err(Refusal::Cancelled),
                State::Working(how_far) => teller.tell(&how_far).await,
            }
            tokio::select! {
                changed = state.changed() => changed.map_err(Refusal::wrong)?,
                () = call.cancelled() => return Err(Refusal::Cancelled),
                () = &mut end => return Err(later(name, &state.borrow())),
            }
        }
    }
}

fn later(name: &str, state: &State) -> Refusal {
    let how_far = match state {
        State::Working(how_far) => how_far.as_str(),
        _ => "it is nearly done",
    };
    Refusal::Later(format!(
        "{name} is still being read ({how_far}). That continues; call open again, with a larger \
         wait_seconds if you like. Later questions about the file are quick"
    ))
}

/// A call that waits. If the last one cancels, the analysis is not needed any more.
struct Waiting<'a> {
    job: &'a Job,
    call: &'a Call,
}

impl<'a> Waiting<'a> {
    fn new(job: &'a Job, call: &'a Call) -> Self {
        job.waiting.fetch_add(1, Ordering::Relaxed);
        Self { job, call }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let is_last = self.job.waiting.fetch_sub(1, Ordering::Relaxed) == 1;
        if is_last && self.call.is_cancelled() {
            self.job.end.notify_one();
        }
    }
}

impl Maker {
    fn start(&self, key: String, found: Found) -> io::Result<Job> {
        let folder = temporary_folder("mcp-")?;
        let link = Arc::new(Link { found, folder });
        // An index is found by the name of its dump, which must not change with a descriptor's number.
        symlink(link.found.link(), link.path())?;
        let (tell, state) = watch::channel(State::Working("it waits for its turn".to_owned()));
        let end = Arc::new(Notify::new());
        let (maker, file, ended) = (self.clone(), Arc::clone(&link), Arc::clone(&end));
        tokio::spawn(async move {
            let made = tokio::select! {
                made = maker.make(key, &file, &tell) => made,
                () = ended.notified() => State::Cancelled,
            };
            tell.send_replace(made);
        });
        Ok(Job {
            state,
            end,
            waiting: AtomicUsize::new(0),
            asked: Instant::now(),
            _link: link,
        })
    }

    async fn make(&self, key: String, link: &Link, tell: &watch::Sender<State>) -> State {
        let name = link.found.name.as_str();
        let folder = match self.cache.find(&key) {
            Some(folder) => Ok(folder),
            None => self.work(&key, link, tell).await,
        };
        let read = |folder: &Path| -> io::Result<Outcome> {
            let text = std::fs::read_to_string(folder.join("outcome.json"))?;
            serde_json::from_str(&text).map_err(io::Error::other)
        };
        let outcome = folder.and_then(|folder| {
            let outcome = read(&folder).map_err(|error| error.to_string())?;
            Ok((folder, outcome))
        });
        match outcome {
            Err(why) => State::Failed(why),
            Ok((folder, outcome)) => {
                let unpacked = folder.join("unpacked");
                let files = Files {
                    dump: if unpacked.exists() {
                        unpacked
                    } else {
                        link.path()
                    },
                    name: name.to_owned(),
                    report: folder.join("report.json"),
                    index: folder,
                    held: Vec::new(),
                };
                let (kind, headline) = (outcome.kind, outcome.headline);
                State::Done(Arc::new(Analysis {
                    key,
                    kind,
                    headline,
                    files,
                }))
            }
        }
    }

    /// Has a worker read a file.
    async fn work(
        &self,
        key: &str,
        link: &Link,
        tell: &watch::Sender<State>,
    ) -> Result<PathBuf, String> {
        let name = link.found.name.as_str();
        let failed = |error: io::Error| format!("{name} cannot be analysed: {error}");
        let turn = self.turns.acquire().await;
        let _turn = turn.map_err(|error| error.to_string())?;
        let made = self.cache.begin().map_err(failed)?;
        let (file, folder) = (link.path(), made.path());
        let child = start_worker(&self.executable, &file, folder, name, self.memory);
        let mut child = child.map_err(failed)?;
        let mut said = VecDeque::new();
        if let Some(errors) = child.stderr.take() {
            let mut lines = BufReader::new(errors).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(progress) = Progress::of_line(&line) {
                    tell.send_replace(State::Working(in_words(&progress)));
                    continue;
                }
                said.push_back(line.chars().take(LINE).collect::<String>());
                if said.len() > LINES {
                    said.pop_front();
                }
            }
        }
        let status = child.wait().await.map_err(failed)?;
        if !status.success() {
            let said = Vec::from(said).join(" ");
            let said = said.replace(&*link.path().to_string_lossy(), name);
            let said = said.replace(
                &*made.path().to_string_lossy(),
                "the folder of the analysis",
            );
            let said = said.trim_start_matches("hprof-rs: ");
            return Err(match status.code() {
                Some(3) => format!("{said} Start `hprof-rs mcp` with a larger --memory."),
                Some(_) => said.to_owned(),
                None => format!("{name}: the analysis was ended by {status}. {said}"),
            });
        }
        self.cache.publish(made, key).map_err(failed)
    }
}

fn in_words(progress: &Progress) -> String {
    let Progress {
        phase, done, total, ..
    } = progress;
    let part = match total {
        0 => String::new(),
        total => format!(" {} %", (done * 100 / total).min(100)),
    };
    match progress.seconds_left {
        Some(seconds) => format!("{phase}{part}, about {seconds:.0} s left in this step"),
        None => format!("{phase}{part}"),
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end.notify_one();
    }
}
