//! The listener in the background of `hprof-rs serve`: agents send, the server takes the files.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hprof_server::live::{Ask, Finished, Network, Refused, RefusedKind, Sender};
use hprof_wire::command::SiteFlags;
use hprof_wire::control::Reply;

use super::agents::Agent;
use super::follow::Kind;
use super::hub::Unanswered;
use super::report::Report;
use super::save;
use super::script::Order;
use super::{Address, Limits, Running, Settings, start};
use crate::render::screen::{printable, printable_lines};

/// The most bytes of a stream that are read at once.
const READ: u64 = 4 << 20;

/// A listener without a console.
pub struct Background {
    running: Running,
    folder: PathBuf,
    /// The agents whose streams were taken.
    taken: Mutex<BTreeSet<u32>>,
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Background {
    /// Listens at an address, and saves streams of at most `stream` bytes below `folder`.
    ///
    /// # Errors
    /// If the address or the folder cannot be used.
    pub fn start(address: Address, folder: PathBuf, stream: u64) -> anyhow::Result<Self> {
        let settings = Settings {
            address,
            folder: folder.clone(),
            script: None,
            json: false,
            limits: Limits {
                stream,
                ..Limits::default()
            },
        };
        Ok(Self {
            running: start(&settings, Report::quiet())?,
            folder,
            taken: Mutex::default(),
        })
    }
}

fn sender(agent: &Agent) -> Sender {
    let identity = agent.identity.as_ref();
    Sender {
        number: agent.number,
        pid: identity.map(|identity| identity.pid),
        name: printable(agent.name()),
        host: printable(&agent.peer),
        seconds: agent.since.elapsed().as_secs(),
        is_ours: agent.identity.is_some(),
        is_binary: matches!(agent.kind, Some(Kind::Binary(_))),
        options: identity.map_or_else(String::new, |identity| printable(&identity.modes)),
    }
}

/// An agent that is connected no more.
fn gone(number: u32) -> Refused {
    Refused::new(
        RefusedKind::Missing,
        format!("the agent n{number} is not connected any more"),
    )
}

fn failed(error: &io::Error) -> Refused {
    Refused::new(
        RefusedKind::Failed,
        format!("the stream cannot be read: {error}"),
    )
}

impl Background {
    /// The growing file of an agent's stream.
    fn stream(&self, number: u32) -> Result<File, Refused> {
        let path = self.running.hub.with_agent(number, |agent| {
            agent.path.clone().filter(|_| agent.end.is_none())
        });
        let path = path.flatten().ok_or_else(|| gone(number))?;
        File::open(path).map_err(|error| failed(&error))
    }
}

impl Network for Background {
    fn senders(&self) -> Vec<Sender> {
        self.running.hub.with_agents(|agents| {
            // Connections that have begun no profile are none of an agent, for all that is known.
            let live = agents
                .iter()
                .filter(|it| it.end.is_none() && it.kind.is_some());
            live.map(|agent| sender(agent)).collect()
        })
    }

    fn finished(&self) -> Vec<Finished> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        self.running.hub.with_agents(|agents| {
            // The hub forgets the oldest, too.
            taken.retain(|number| agents.iter().any(|it| it.number == *number));
            let ended = agents.iter().filter_map(|agent| {
                let file = agent.end.as_ref()?.file.clone()?;
                taken.insert(agent.number).then(|| Finished {
                    sender: sender(agent),
                    file,
                })
            });
            ended.collect()
        })
    }

    fn is_connected(&self, number: u32) -> bool {
        let hub = &self.running.hub;
        hub.with_agent(number, |agent| agent.end.is_none()) == Some(true)
    }

    fn ask(&self, number: u32, ask: &Ask, limit: Duration) -> Result<Reply, Refused> {
        let order = match ask {
            Ask::Request(request) => Order::Request(request.clone()),
            Ask::Sites => Order::Sites {
                flags: SiteFlags::default(),
                cutoff: 0.0,
            },
            Ask::Traces => Order::Traces,
            Ask::Heap => Order::DumpHeap,
        };
        match self.running.hub.ask(number, &order, limit) {
            Ok(answer) => match answer.refused {
                None => Ok(Reply {
                    error: None,
                    values: answer.values.pairs().to_vec(),
                }),
                Some(why) => Err(Refused::new(RefusedKind::Refused, printable_lines(&why))),
            },
            Err(Unanswered::Gone) => Err(gone(number)),
            Err(Unanswered::NotSent(why)) => Err(Refused::new(RefusedKind::Refused, why)),
            Err(Unanswered::Late) => Err(Refused::new(
                RefusedKind::Late,
                format!("the agent has not answered in {} s", limit.as_secs()),
            )),
        }
    }

    fn read(&self, number: u32, from: u64) -> Result<Vec<u8>, Refused> {
        let mut file = self.stream(number)?;
        let mut some = Vec::new();
        let read = file
            .seek(SeekFrom::Start(from))
            .and_then(|_| file.take(READ).read_to_end(&mut some));
        read.map(|_| some).map_err(|error| failed(&error))
    }

    fn copy(&self, number: u32) -> Result<PathBuf, Refused> {
        let file = self.stream(number)?;
        // The stream may grow faster than it is copied.
        let length = file.metadata().map_err(|error| failed(&error))?.len();
        let hub = &self.running.hub;
        let name = hub.with_agent(number, Agent::file_name);
        let name = name.ok_or_else(|| gone(number))?;
        save::copy(&mut file.take(length), &self.folder, number, &name)
            .map_err(|error| failed(&error))
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn close(&self, limit: Duration) -> bool {
        let hub = &self.running.hub;
        hub.close();
        let began = std::time::Instant::now();
        while began.elapsed() < limit {
            if hub.with_agents(|agents| agents.iter().all(|agent| agent.end.is_some())) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}
