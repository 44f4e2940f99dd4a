//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Everything that the command line says.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address to listen at; port 0 for any.
    pub listen: SocketAddr,
    /// Where everything lies.
    pub folder: PathBuf,
    /// The command that workers are started from: `hprof-rs`.
    pub executable: PathBuf,
    /// The memory of all workers together, in bytes.
    pub memory: u64,
    /// How many workers run at once.
    pub workers: usize,
    /// Folders from which a request may name a file.
    pub allowed_roots: Vec<PathBuf>,
    /// The largest dump that may come, in bytes.
    pub max_upload: u64,
}
