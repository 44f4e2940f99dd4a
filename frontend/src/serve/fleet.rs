//! The arguments that `serve` and `worker` share: the database and the store of a fleet.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use hprof_platform::catalogue::DatabaseAddress;
use hprof_platform::{DATABASE_VARIABLE, Fleet};

/// What servers and workers on many machines share.
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

    /// Where dumps and analyses lie that servers and workers share: a folder.
    #[arg(long, value_name = "DIR")]
    store: Option<String>,

    /// How long a job stays with a worker that is not heard of. Then another worker takes it.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    lease: u64,
}

impl FleetArguments {
    /// The database that arguments, a file or the environment names. A password among the arguments
    /// is refused, as every user of the machine can read them.
    pub fn database(&self) -> anyhow::Result<Option<DatabaseAddress>> {
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

    /// What this process shares with others. A database and a store go together.
    pub fn fleet(&self) -> anyhow::Result<Fleet> {
        let database = self.database()?;
        match (&self.store, &database) {
            (None, Some(_)) => {
                bail!("a database needs --store, where servers and workers share dumps")
            }
            (Some(_), None) => bail!(
                "--store needs a database that servers and workers share: give --database or \
                 --database-file"
            ),
            _ => {}
        }
        Ok(Fleet {
            name: process_name(),
            database,
            store: self.store.clone(),
            lease: Duration::from_secs(self.lease),
        })
    }
}

/// A name of this process that others tell from theirs, on whatever machine.
fn process_name() -> String {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy().into_owned();
    format!("{host}:{}", std::process::id())
}
