//! The listener in the background of `hprof-rs serve`: agents send, the server takes the files.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hprof_platform::live::{Finished, Network, Sender};

use super::agents::Agent;
use super::report::Report;
use super::{Address, Limits, Running, Settings, start};
use crate::render::screen::printable;

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
    /// Listens at an address, and saves below `folder`.
    ///
    /// # Errors
    /// If the address or the folder cannot be used.
    pub fn start(address: Address, folder: PathBuf) -> anyhow::Result<Self> {
        let settings = Settings {
            address,
            folder: folder.clone(),
            script: None,
            json: false,
            limits: Limits::default(),
        };
        Ok(Self {
            running: start(&settings, Report::quiet())?,
            folder,
            taken: Mutex::default(),
        })
    }
}

fn sender(agent: &Agent) -> Sender {
    Sender {
        number: agent.number,
        pid: agent.identity.as_ref().map(|identity| identity.pid),
        name: printable(agent.name()),
        host: printable(&agent.peer),
        seconds: agent.since.elapsed().as_secs(),
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
