//! Why a place cannot hold the agent library.

use std::io;
use std::path::{Path, PathBuf};

/// A reason, with what to change where that is not obvious.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A symbolic link is in the place of a folder.
    #[error("{0} is a symbolic link, and should be a folder")]
    Link(PathBuf),
    /// Something else does.
    #[error("{0} is not a folder")]
    NotAFolder(PathBuf),
    /// Another user could exchange what lies there.
    #[error("{path} belongs to another user (id {owner})")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Other users can write to it, by the folder's mode.
    #[error("{path} is open to other users (mode {mode:04o}): run chmod {remedy} on it", remedy = remedy(*.forbidden))]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// The bits of the mode that must not be set.
        forbidden: u32,
    },
    /// The system would not load code from there.
    #[error("{0} is on a file system with the mount option noexec")]
    NoExec(PathBuf),
    /// The JVM would take the rest of the path for options.
    #[error("{0} has an equals sign in its name, at which the JVM would cut it")]
    EqualsSign(PathBuf),
    /// The system's error.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl Refusal {
    /// A refusal for the system's error on `path`.
    pub fn io(path: &Path, error: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            error,
        }
    }

    /// Returns true if another user may have prepared the place for an attack, or it
    /// invites one: the user should know even if another place served.
    pub fn is_suspicious(&self) -> bool {
        matches!(
            self,
            Self::Link(_) | Self::Foreign { .. } | Self::Open { .. }
        )
    }
}

/// The argument of chmod that takes the forbidden bits away.
fn remedy(forbidden: u32) -> &'static str {
    if forbidden & 0o055 == 0 {
        "go-w"
    } else {
        "700"
    }
}
