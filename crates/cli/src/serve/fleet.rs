//! The arguments that `serve` and `worker` share: the database and the store of a fleet.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use hprof_server::catalogue::DatabaseAddress;
use hprof_server::store::{CacheSettings, default_cache_bytes};
use hprof_server::{DATABASE_VARIABLE, Fleet};

use crate::memory::parse_size;
use crate::not_built::NotBuilt;

/// The options that servers and workers on many machines share.
#[derive(Debug, Clone, Args)]
pub struct FleetArguments {
    /// The PostgreSQL database that servers and workers share, such as
    /// postgres://hprof@db.example.com/hprof. Without a password: see `--database-file`.
    #[arg(long, value_name = "URL")]
    database: Option<String>,

    /// A file with the URL of the database, which may hold a password. The environment variable
    /// HPROF_RS_DATABASE may have the URL, too.
    #[arg(long, value_name = "FILE", conflicts_with = "database")]
    database_file: Option<PathBuf>,

    /// Where dumps and analyses lie: object storage as `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or
    /// `az://CONTAINER/PREFIX`, with settings and keys in the environment, or a folder that servers
    /// and workers share (docs/fleet.md).
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// The folder for files of the object storage that are in use, of this process alone [default:
    /// `cache` in the folder].
    #[arg(long, value_name = "DIR", requires = "store")]
    cache: Option<PathBuf>,

    /// The bytes of these files together; the least recently used go first [default: half of what the
    /// disk has free].
    #[arg(long, value_name = "SIZE", requires = "store", value_parser = parse_size)]
    cache_size: Option<u64>,

    /// How long a job stays with a worker that is not heard of. Then another worker takes it.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    lease: u64,
}

impl FleetArguments {
    /// The database that arguments, a file or the environment names. A password among the arguments
    /// is refused, as every user of the machine can read them.
    pub fn database(&self) -> anyhow::Result<Option<DatabaseAddress>> {
        let is_named = self.database.is_some() || self.database_file.is_some();
        if (is_named || std::env::var_os(DATABASE_VARIABLE).is_some()) && !cfg!(feature = "fleet") {
            bail!(NotBuilt {
                feature: "fleet",
                wish: "PostgreSQL",
            });
        }
        if let Some(text) = &self.database {
            let address: DatabaseAddress = text.parse().context("--database")?;
            if address.has_password() {
                bail!(
                    "--database holds a password, which `ps` shows to every user: put the URL into a \
                     file for --database-file, or into the environment variable {DATABASE_VARIABLE}"
                );
            }
            return Ok(Some(address));
        }
        if let Some(file) = &self.database_file {
            let shown = || format!("--database-file {}", file.display());
            let text = std::fs::read_to_string(file).with_context(shown)?;
            return Ok(Some(text.parse().with_context(shown)?));
        }
        match std::env::var(DATABASE_VARIABLE) {
            Ok(text) => Ok(Some(text.parse().context(DATABASE_VARIABLE)?)),
            Err(_) => Ok(None),
        }
    }

    /// How this process shares jobs with others.
    pub fn fleet(&self) -> anyhow::Result<Fleet> {
        let database = self.database()?;
        if database.is_some() && self.store.is_none() {
            bail!("a database needs --store, where servers and workers share dumps");
        }
        Ok(Fleet {
            name: process_name(),
            database,
            lease: Duration::from_secs(self.lease),
        })
    }

    /// The store with its cache, if one is named; `cache` is where the cache is otherwise.
    pub fn store(&self, cache: &Path) -> anyhow::Result<Option<(String, CacheSettings)>> {
        let Some(place) = &self.store else {
            return Ok(None);
        };
        check_place(place)?;
        let cache = self.cache.clone().unwrap_or_else(|| cache.to_owned());
        let bytes = match self.cache_size {
            Some(bytes) => bytes,
            None => default_cache_bytes(&cache).with_context(|| {
                format!("cannot make the cache in {}; give --cache", cache.display())
            })?,
        };
        Ok(Some((place.clone(), CacheSettings::new(cache, bytes))))
    }
}

/// Refuses a URL of object storage in a build that has none.
///
/// # Errors
/// [`NotBuilt`], for every URL but `file://`.
pub fn check_place(place: &str) -> Result<(), NotBuilt> {
    let is_remote = place.contains("://") && !place.starts_with("file://");
    match is_remote && !cfg!(feature = "fleet") {
        true => Err(NotBuilt {
            feature: "fleet",
            wish: "object storage",
        }),
        false => Ok(()),
    }
}

/// A name of this process that others tell from theirs, on whatever machine.
fn process_name() -> String {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy().into_owned();
    format!("{host}:{}", std::process::id())
}
