//! A file or folder of the store on this machine.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file or folder on this machine, which stays there as long as this or a clone of it is held.
#[derive(Clone)]
pub struct Local {
    path: PathBuf,
    /// Keeps the entry in the cache; none where nothing goes by itself.
    _pin: Option<Arc<dyn Any + Send + Sync>>,
}

impl Local {
    /// An entry of a cache, with whatever keeps it there.
    pub(super) fn pinned(path: PathBuf, pin: Arc<dyn Any + Send + Sync>) -> Self {
        Self {
            path,
            _pin: Some(pin),
        }
    }
}

impl From<PathBuf> for Local {
    fn from(path: PathBuf) -> Self {
        Self { path, _pin: None }
    }
}

impl Deref for Local {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Local {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

impl PartialEq for Local {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Local {}
