//! `hprof-rs mcp`: answers the questions of an assistant about heap dumps, profiles and logs, over the
//! Model Context Protocol on standard input and output.
//!
//! [`roots`] opens files below the folders that the user has named, and no others. [`analyses`] has a
//! worker read each dump once, and keeps what it made. [`tools`] are the questions: each asks a view of
//! `hprof-server`, or runs a command. [`answer`] bounds what is answered. Nothing in here analyses.

pub mod analyses;
pub mod answer;
mod cache;
mod call;
pub mod roots;
mod server;
mod session;
mod tools;

use std::path::PathBuf;

use thiserror::Error;

pub use roots::Roots;
pub use tools::list as tools;

/// How a server is set up.
#[derive(Debug)]
pub struct Config {
    /// The folders and files that may be read.
    pub roots: Roots,
    /// `hprof-rs`, which is started for analyses, queries and logs.
    pub executable: PathBuf,
    /// The folder of analyses, which live longer than the server; none for a temporary one.
    pub cache: Option<PathBuf>,
    /// The memory that one such process may take, in bytes.
    pub memory: u64,
    /// Replaces characters that are invisible, or that change the order of a text, in JSON.
    pub clean: fn(&str) -> String,
    /// The version that the server tells.
    pub version: &'static str,
}

/// Why a server ended.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A file or folder cannot be used.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Standard input does not follow the protocol.
    #[error("standard input does not speak the Model Context Protocol: {0}")]
    Protocol(String),
}

/// Serves one assistant on standard input and output, until that ends.
///
/// # Errors
/// If there is no folder for analyses, or the other side speaks another protocol.
pub fn serve(config: Config) -> Result<(), ServeError> {
    // One thread: processes that a thread starts end with it, and views have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(server::serve(config));
    // A read of standard input cannot be interrupted, and a view may still walk over a dump.
    runtime.shutdown_background();
    served
}
