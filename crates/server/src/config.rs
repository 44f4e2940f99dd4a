//! The configuration of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::DatabaseAddress;
#[cfg(feature = "serve")]
use crate::connections::ConnectionLimits;
use crate::intake::{Recognise, StripRules};
use crate::live::{Machine, Network};
use crate::pace::MinimumPace;
use crate::store::CacheSettings;

/// Everything that the command line says.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address to listen at; port 0 for any.
    pub listen: SocketAddr,
    /// Where everything lies that is not shared with other machines.
    pub folder: PathBuf,
    /// The resources that are shared with other machines.
    pub fleet: Fleet,
    /// The URL of another store than the folder, and its cache on this machine.
    pub store: Option<(String, CacheSettings)>,
    /// The command that workers are started from: `hprof-rs`.
    pub executable: PathBuf,
    /// The memory of all workers together, in bytes.
    pub memory: u64,
    /// How many workers run at once; 0 leaves jobs to other machines.
    pub workers: usize,
    /// Folders from which a request may name a file, in canonical form.
    pub allowed_roots: Vec<PathBuf>,
    /// The largest dump that may come, in bytes.
    pub max_upload: u64,
    /// The rules by which every heap dump is blanked before it is kept; none to keep them as they are.
    pub strip: Option<StripRules>,
    /// The number of connections.
    #[cfg(feature = "serve")]
    pub connections: ConnectionLimits,
    /// The pace at which bodies have to come, and answers to be taken.
    pub pace: MinimumPace,
    /// Names under which browsers reach the server, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Certificate chain and key, as files in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// True if a proxy in front speaks TLS, and says in `X-Forwarded-For` who asks. Limits of an address
    /// are then of that one.
    pub behind_proxy: bool,
    /// Requests that one address may send in a second.
    pub max_rate: u32,
    /// How long dumps stay.
    pub keep: Retention,
    /// How long pushed profiles stay.
    pub keep_pushed: PushedRetention,
    /// Tells what a file is that begins like this and is no dump.
    pub recognise: Recognise,
    /// The JVMs of this machine; none if the server leaves them alone.
    pub machine: Option<Arc<dyn Machine>>,
    /// Whatever listens for agents that stream their profiles; none if nothing does.
    pub network: Option<Arc<dyn Network>>,
}

/// The environment variable with the URL of the database, which processes that read files of
/// strangers do not get.
pub const DATABASE_VARIABLE: &str = "HPROF_RS_DATABASE";

/// How this process shares jobs with servers and workers on other machines.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The name of this process among all.
    pub name: String,
    /// The database; none for a file in the folder.
    pub database: Option<DatabaseAddress>,
    /// How long a job stays with a worker that is not heard of.
    pub lease: Duration,
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            name: "alone".to_owned(),
            database: None,
            lease: Duration::from_secs(30),
        }
    }
}

/// Which dumps go; pinned ones never do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Retention {
    /// Older dumps go.
    pub days: Option<u32>,
    /// The oldest go until the rest, with their analyses, occupies fewer bytes.
    pub bytes: Option<u64>,
}

/// How long pushed profiles stay.
#[derive(Debug, Clone, Copy)]
pub struct PushedRetention {
    /// Older ones go.
    pub days: u32,
    /// The oldest go until the rest occupies fewer bytes.
    pub bytes: u64,
}

impl Default for PushedRetention {
    fn default() -> Self {
        Self {
            days: 30,
            bytes: 20 << 30,
        }
    }
}
