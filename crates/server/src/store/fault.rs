//! Failures of a store, as errors of input and output and as problems for clients.

use std::io;

use http::StatusCode;

use crate::intake::of_disk;
use crate::problem::Problem;

/// The kind of the problem of bytes that are others than was announced.
pub const DAMAGED: &str = "damaged";
/// Its title, which the jobs of such dumps have.
pub const DAMAGED_TITLE: &str = "The bytes in the storage are damaged";

/// A failure that the disk does not know. Its words name no key, no signature and no URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The storage does not answer, or answers with errors, for as long as a request may take.
    #[error("the object storage does not work: {0}")]
    Unavailable(String),
    /// The storage refuses the key of this server, or what it asks for.
    #[error("the object storage refuses: {0}; look at its keys, its policy and the bucket's name")]
    Refused(String),
    /// The bytes are not those that were announced.
    #[error("{0}")]
    Damaged(String),
    /// The cache has no room that could be freed.
    #[error(
        "the cache has room for {limit} MB, and {needed} MB more are needed: files in use stay; give \
         a larger --cache-size"
    )]
    CacheFull {
        /// The size of the cache, in megabytes.
        limit: u64,
        /// The size of the file that is to come, in megabytes.
        needed: u64,
    },
    /// Another process has published this attempt.
    #[error("another worker has published this attempt")]
    Published,
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        let kind = match fault {
            Fault::Unavailable(_) => io::ErrorKind::TimedOut,
            Fault::Refused(_) => io::ErrorKind::PermissionDenied,
            Fault::Damaged(_) => io::ErrorKind::InvalidData,
            Fault::CacheFull { .. } => io::ErrorKind::ResourceBusy,
            Fault::Published => io::ErrorKind::AlreadyExists,
        };
        Self::new(kind, fault)
    }
}

impl Fault {
    /// The failure in an error of a store, if it is one.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// The problem of a client whose request needed a store that failed.
pub fn problem(error: &io::Error) -> Problem {
    let Some(fault) = Fault::of(error) else {
        return of_disk(error);
    };
    tracing::warn!(%error, "the store failed");
    let (status, kind, title) = match fault {
        Fault::Unavailable(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "storage-unavailable",
            "The object storage does not work",
        ),
        Fault::Refused(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "storage-refuses",
            "The object storage refuses",
        ),
        Fault::CacheFull { .. } => (
            StatusCode::SERVICE_UNAVAILABLE,
            "cache-full",
            "The cache is full",
        ),
        Fault::Damaged(_) => (StatusCode::CONFLICT, DAMAGED, DAMAGED_TITLE),
        Fault::Published => (
            StatusCode::CONFLICT,
            "published",
            "Another worker was faster",
        ),
    };
    Problem::new(status, kind, title, fault.to_string())
}
