//! The store that a URL names.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::multipart::MultipartStore;
use object_store::path::Path as ObjectPath;
use object_store::signer::Signer;
use object_store::{BackoffConfig, ClientConfigKey, RetryConfig};

use super::objects::{ObjectFiles, Remote};
use super::{Fault, FolderStore, Store};

/// How long a connection to the storage may take.
const CONNECT: &str = "10 seconds";
/// How long one request may take, with its body.
const REQUEST: &str = "60 seconds";
/// The first pause before a request is repeated.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The files of object storage that are on this machine.
#[derive(Debug, Clone)]
pub struct CacheSettings {
    /// The folder for them, which one process has.
    pub folder: PathBuf,
    /// The bytes of all dumps and analyses in it. What is being uploaded or analysed here comes on
    /// top.
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

/// The object storage at a URL, which has answered, and what signs requests of others to it.
pub(super) fn remote(
    place: &str,
    environment: &[(String, String)],
    patience: Duration,
) -> Result<(Remote, Option<Arc<dyn Signer>>), OpenError> {
    let prefix = prefix_of(place)?;
    let (files, parts, signer) = clients(place, environment, patience)?;
    let remote = Remote::new(files, parts, prefix, patience);
    let remote = remote.map_err(OpenError::Storage)?;
    remote.check().map_err(OpenError::Storage)?;
    Ok((remote, signer))
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
    let (mut remote, signer) = remote(place, environment, cache.patience)?;
    if let Some(signer) = signer {
        remote.sign_with(signer).map_err(OpenError::Storage)?;
    }
    let files = ObjectFiles::open(remote, cache)?;
    Ok(Arc::new(files))
}

/// The part of a URL behind the bucket.
fn prefix_of(place: &str) -> Result<ObjectPath, OpenError> {
    let wrong = || {
        OpenError::Url(
            "--store takes a folder, or a URL such as s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or \
             az://CONTAINER/PREFIX"
                .to_owned(),
        )
    };
    let (_, rest) = place.split_once("://").ok_or_else(wrong)?;
    if rest.contains(['@', '?', '#']) {
        return Err(OpenError::Url(
            "--store takes no keys and no parameters; set them in the environment, such as \
             AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                .to_owned(),
        ));
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    match bucket.is_empty() {
        true => Err(wrong()),
        false => ObjectPath::parse(prefix.trim_matches('/')).map_err(|_| wrong()),
    }
}

type Clients = (
    Arc<dyn ObjectStore>,
    Arc<dyn MultipartStore>,
    Option<Arc<dyn Signer>>,
);

fn clients(
    place: &str,
    environment: &[(String, String)],
    patience: Duration,
) -> Result<Clients, OpenError> {
    // The HTTP client has no cryptography of its own; who has installed one already keeps it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: FIRST_PAUSE,
            max_backoff: MAX_PAUSE,
            base: 2.0,
        },
        max_retries: usize::MAX,
        retry_timeout: patience,
    };
    // Their words may quote settings: only their kind is told.
    let wrong = |error: object_store::Error| {
        let fault = super::objects::fault_of(&error);
        OpenError::Url(format!(
            "--store {place}: the settings in the environment do not fit: {fault}"
        ))
    };
    let (connect, request) = (ClientConfigKey::ConnectTimeout, ClientConfigKey::Timeout);
    match place.split_once("://").map(|(scheme, _)| scheme) {
        Some("s3") => {
            let mut builder = AmazonS3Builder::new();
            for (key, value) in [(connect, CONNECT), (request, REQUEST)] {
                builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
            }
            for (key, value) in known(environment, "AWS_") {
                builder = builder.with_config(key, value);
            }
            builder = builder.with_url(place);
            let client = Arc::new(builder.with_retry(retry).build().map_err(wrong)?);
            Ok((client.clone(), client.clone(), Some(client)))
        }
        Some("gs") => {
            let mut builder = GoogleCloudStorageBuilder::new();
            for (key, value) in [(connect, CONNECT), (request, REQUEST)] {
                builder = builder.with_config(GoogleConfigKey::Client(key), value);
            }
            for (key, value) in known(environment, "GOOGLE_") {
                builder = builder.with_config(key, value);
            }
            builder = builder.with_url(place);
            let client = Arc::new(builder.with_retry(retry).build().map_err(wrong)?);
            Ok((client.clone(), client, None))
        }
        Some("az") => {
            let mut builder = MicrosoftAzureBuilder::new();
            for (key, value) in [(connect, CONNECT), (request, REQUEST)] {
                builder = builder.with_config(AzureConfigKey::Client(key), value);
            }
            for (key, value) in known(environment, "AZURE_") {
                builder = builder.with_config(key, value);
            }
            builder = builder.with_url(place);
            let client = Arc::new(builder.with_retry(retry).build().map_err(wrong)?);
            Ok((client.clone(), client, None))
        }
        _ => Err(OpenError::Url(format!(
            "--store {place}: the schemes are s3, gs, az and file"
        ))),
    }
}

/// The variables with a prefix that a client knows.
fn known<'a, K: FromStr>(
    environment: &'a [(String, String)],
    prefix: &str,
) -> impl Iterator<Item = (K, &'a str)> {
    let ours = environment
        .iter()
        .filter(move |(name, _)| name.starts_with(prefix));
    ours.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.as_str())))
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
    fn a_url_with_a_key_inside_is_refused_without_repeating_it() {
        for place in ["s3://AKIA:hidden@bucket/x", "s3://bucket/x?secret=hidden"] {
            let error = prefix_of(place).unwrap_err().to_string();
            assert!(
                !error.contains("hidden") && error.contains("AWS_"),
                "{error}"
            );
        }
    }

    #[test]
    fn prefixes_are_plain_paths() {
        for (place, prefix) in [
            ("s3://bucket", ""),
            ("s3://bucket/", ""),
            ("gs://bucket/a/b/", "a/b"),
        ] {
            assert_eq!(prefix_of(place).unwrap().as_ref(), prefix, "{place}");
        }
        for wrong in ["s3://", "s3:///x", "s3://bucket/a/../b"] {
            assert!(prefix_of(wrong).is_err(), "{wrong}");
        }
    }

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
