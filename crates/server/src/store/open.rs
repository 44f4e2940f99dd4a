//! The store that a URL names.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "fleet")]
use super::objects::ObjectFiles;
use super::{Fault, FolderStore, Store};

/// The files of object storage that are on this machine.
#[derive(Debug, Clone)]
pub struct CacheSettings {
    /// The folder for them, which one process has.
    pub folder: PathBuf,
    /// The bytes of all dumps and analyses in it. Files that are being uploaded or analysed here
    /// come on top.
    pub bytes: u64,
    /// How long a request is repeated while the storage does not work.
    pub patience: Duration,
}

impl CacheSettings {
    /// A cache of this size, and a minute of patience.
    pub fn new(folder: PathBuf, bytes: u64) -> Self {
        Self {
            folder,
            bytes,
            patience: Duration::from_secs(60),
        }
    }
}

/// Why there is no store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is none of a store.
    #[error("{0}")]
    Url(String),
    /// The folder cannot be used.
    #[error("{0}: {1}")]
    Folder(PathBuf, #[source] io::Error),
    /// Another process has the cache.
    #[error("another process uses the cache in {0}; end it, or give another --cache")]
    InUse(PathBuf),
    /// The storage refuses, or does not answer.
    #[error("--store: {0}")]
    Storage(io::Error),
}

/// Half of what is free on the disk of a folder, in bytes.
///
/// # Errors
/// If the folder cannot be made, or the system does not tell.
pub fn default_cache_bytes(folder: &Path) -> io::Result<u64> {
    std::fs::create_dir_all(folder)?;
    let about = rustix::fs::statvfs(folder)?;
    Ok(about.f_bavail * about.f_frsize / 2)
}

/// Opens the store that `place` names: a folder of this machine as a path or as `file:///PATH`, or
/// object storage as `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`, with the
/// settings and keys in the environment (`AWS_*`, `GOOGLE_*`, `AZURE_*`). Object storage has its files
/// in the cache while they are read.
///
/// # Errors
/// If the place cannot be used: a bucket is missing, a key is wrong, a folder cannot be made.
pub fn open(place: &str, cache: &CacheSettings) -> Result<Arc<dyn Store>, OpenError> {
    open_with(place, &environment(), cache)
}

/// The variables of the environment.
pub(super) fn environment() -> Vec<(String, String)> {
    let utf8 = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(utf8).collect()
}

/// As [`open`], with names and values in the place of the environment.
///
/// # Errors
/// If the place cannot be used.
pub fn open_with(
    place: &str,
    environment: &[(String, String)],
    cache: &CacheSettings,
) -> Result<Arc<dyn Store>, OpenError> {
    let folder = match place.split_once("://") {
        None => Some(place),
        Some(("file", path)) if path.starts_with('/') => Some(path),
        Some(_) => None,
    };
    if let Some(folder) = folder {
        let folder = PathBuf::from(folder);
        let store = FolderStore::open(&folder);
        let store = store.map_err(|error| OpenError::Folder(folder, error))?;
        return Ok(Arc::new(store));
    }
    object_storage(place, environment, cache)
}

#[cfg(feature = "fleet")]
fn object_storage(
    place: &str,
    environment: &[(String, String)],
    cache: &CacheSettings,
) -> Result<Arc<dyn Store>, OpenError> {
    let (mut remote, signer) = super::clients::remote(place, environment, cache.patience)?;
    if let Some(signer) = signer {
        remote.sign_with(signer).map_err(OpenError::Storage)?;
    }
    let files = ObjectFiles::open(remote, cache)?;
    Ok(Arc::new(files))
}

#[cfg(not(feature = "fleet"))]
fn object_storage(
    place: &str,
    _: &[(String, String)],
    _: &CacheSettings,
) -> Result<Arc<dyn Store>, OpenError> {
    Err(OpenError::Url(format!(
        "--store {place}: this build has no object storage: it was made without the feature `fleet`"
    )))
}

impl From<Fault> for OpenError {
    fn from(fault: Fault) -> Self {
        Self::Storage(fault.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_file_urls_are_folders() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheSettings::new(folder.path().join("cache"), 1);
        let below = folder.path().join("below");
        for place in [
            below.display().to_string(),
            format!("file://{}", below.display()),
        ] {
            assert!(!open(&place, &cache).unwrap().is_shared());
        }
        assert!(below.join("dumps").is_dir());
        assert!(open("ftp://bucket/x", &cache).is_err());
    }
}
