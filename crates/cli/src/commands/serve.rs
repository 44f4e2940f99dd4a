//! `hprof-rs serve`: the server for browsers.

mod browser;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use hprof_server::catalogue::{DatabaseAddress, Role};
use hprof_server::{
    Config, ConnectionLimits, MinimumPace, PushedRetention, Retention, Server, access, make_folder,
    open_catalogue,
};

use crate::listen::{Address, Background};
use crate::memory::{free_bytes, parse_bytes, parse_size};
use crate::render::out::{Log, tell};
use crate::render::screen::print;
use crate::serve::{FleetArguments, LocalMachine};
use crate::strip_rules::StripArguments;
use crate::what_it_is;

/// Serve heap dumps and profiles to browsers: upload, analyse, look.
///
/// The command prints one link to open. Everything lies in one folder. Each analysis is a process of
/// its own, so that a bad file ends its own job only.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// Files to add: heap dumps and profiles, plain or compressed.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The address to listen at. Beyond this machine the server asks for tokens, and for TLS or
    /// `--behind-proxy`.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7117")]
    listen: SocketAddr,

    /// The folder for everything [default: $XDG_DATA_HOME/hprof-rs/serve].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    fleet: FleetArguments,

    /// Run no analyses here: `hprof-rs worker --database` runs them, on any number of machines.
    #[arg(long, conflicts_with = "jobs")]
    no_worker: bool,

    /// The memory of all analyses together [default: half of what is free].
    #[arg(long, value_name = "LIMIT", value_parser = parse_bytes)]
    memory: Option<u64>,

    /// The number of analyses at once [default: half of the cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,

    /// A folder from which the page may add files by their path; may be repeated.
    #[arg(long, value_name = "DIR")]
    allow_root: Vec<PathBuf>,

    /// The largest file that may be uploaded, and the longest stream of an agent.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "256G")]
    max_upload: u64,

    /// The time over which `--min-rate` counts, and how long an upload may send nothing.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    body_timeout: u64,

    /// The bytes in a second that a client must send of a body, and take of an answer, while the server
    /// waits for it; 0 lets it be as slow as it likes, and ends a connection that stands still.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1K")]
    min_rate: u64,

    /// The connections at once. A quarter of them is for newcomers: the quietest that has shown no token
    /// gives way to them.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(64..=100_000))]
    max_connections: u32,

    /// The connections of one address without a token, and as many with one; 0 for no limit, as for a
    /// proxy without `--behind-proxy`, whose address all visitors have.
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_connections_per_address: u32,

    /// The requests that one address may send in a second.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    max_rate: u32,

    /// A name under which browsers reach the server; may be repeated.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// The certificate chain for TLS, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// A proxy in front speaks TLS, and adds the visitor's address to `X-Forwarded-For`.
    #[arg(long)]
    behind_proxy: bool,

    /// Remove dumps older than N days, except those that are pinned.
    #[arg(long, value_name = "N")]
    keep_days: Option<u32>,

    /// Remove the oldest dumps when all dumps and analyses occupy more, but those that are pinned.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    keep_bytes: Option<u64>,

    /// Remove pushed profiles older than N days (docs/continuous.md).
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    keep_pushed_days: u32,

    /// Remove the oldest pushed profiles when they occupy more.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "20G")]
    keep_pushed_bytes: u64,

    /// Take the streams of agents with `net=HOST:PORT` here. HOST is this machine if it is left out.
    /// Any client that reaches the port can send profiles.
    #[arg(long, value_name = "[HOST:]PORT")]
    agents: Option<String>,

    /// Leave the JVMs of this machine alone: neither list nor record them.
    #[arg(long)]
    no_jvms: bool,

    /// Open the link in a browser: the one that $BROWSER names, or that of the desktop.
    #[arg(long)]
    open: bool,

    /// Make a token for a role (reader, uploader, admin), print it once, and end. NAME is for
    /// `--remove-token`.
    #[arg(long, value_name = "ROLE[:NAME]")]
    new_token: Option<String>,

    /// Remove the tokens with a name, and end.
    #[arg(long, value_name = "NAME", conflicts_with = "new_token")]
    remove_token: Option<String>,

    #[command(flatten)]
    strip: StripArguments,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs serve
  hprof-rs serve heap.hprof --allow-root /var/dumps
  curl -H 'Authorization: Bearer TOKEN' -T heap.hprof 'http://127.0.0.1:7117/api/v1/dumps?name=heap.hprof'

With object storage:
  export AWS_REGION=eu-central-1 AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=...
  hprof-rs serve --store s3://dumps/team --cache /var/cache/hprof-rs --cache-size 200G
  AWS_ENDPOINT=http://127.0.0.1:9000 AWS_ALLOW_HTTP=true hprof-rs serve --store s3://dumps

For colleagues:
  hprof-rs serve --new-token reader:team
  hprof-rs serve --listen 0.0.0.0:443 --host dumps.example.com --tls-cert chain.pem --tls-key key.pem

For many machines (docs/fleet.md):
  hprof-rs serve --database-file /run/secrets/database --store /mnt/dumps --no-worker
  hprof-rs worker --database-file /run/secrets/database --store /mnt/dumps";

impl Serve {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => default_folder()?,
        };
        let database = self.fleet.database()?;
        if let Some(what) = &self.new_token {
            return new_token(&folder, database.as_ref(), what);
        }
        if let Some(name) = &self.remove_token {
            let catalogue = open_catalogue(&folder, database.as_ref())?;
            let removed = catalogue.remove_tokens(name)?;
            return print(&format!("removed {removed} tokens\n"));
        }
        tracing_subscriber::fmt()
            .with_writer(|| Log)
            .with_ansi(false)
            .init();
        let (files, opens) = (self.files.clone(), self.open);
        let server = Server::start(self.config(folder)?)?;
        print(&format!("Open {}\n", server.link))?;
        if opens {
            browser::open(&server.link);
        }
        server.run(files, |file, problem| {
            tell!("hprof-rs: {}: {}", file.display(), problem.detail);
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn config(self, folder: PathBuf) -> anyhow::Result<Config> {
        let fleet = self.fleet.fleet()?;
        if self.no_worker && fleet.database.is_none() {
            bail!("--no-worker needs a database that workers share: give --database URL");
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let root = |root: PathBuf| {
            let found = root.canonicalize();
            found.with_context(|| format!("--allow-root {}", root.display()))
        };
        let roots = self.allow_root.into_iter().map(root);
        let strip = self.strip.work()?;
        let store = self.fleet.store(&folder.join("cache"))?;
        let (config_folder, agents_folder) = (folder.clone(), folder.join("agents"));
        Ok(Config {
            listen: self.listen,
            folder,
            fleet,
            store,
            executable: std::env::current_exe()?,
            memory: match self.memory {
                Some(memory) => memory,
                None => free_bytes().context("the free memory is not known; give --memory")? / 2,
            },
            workers: match self.no_worker {
                true => 0,
                false => self.jobs.map_or((cores / 2).max(1), usize::from),
            },
            allowed_roots: roots.collect::<anyhow::Result<_>>()?,
            max_upload: self.max_upload,
            strip: strip.map(|work| work.rules().clone()),
            connections: ConnectionLimits {
                all: self.max_connections as usize,
                per_address: match self.max_connections_per_address {
                    0 => None,
                    limit => Some(limit as usize),
                },
            },
            pace: MinimumPace {
                bytes_per_second: self.min_rate,
                window: Duration::from_secs(self.body_timeout),
            },
            hosts: self.host,
            tls: self.tls_cert.zip(self.tls_key),
            behind_proxy: self.behind_proxy,
            max_rate: self.max_rate,
            keep: Retention {
                days: self.keep_days,
                bytes: self.keep_bytes,
            },
            keep_pushed: PushedRetention {
                days: self.keep_pushed_days,
                bytes: self.keep_pushed_bytes,
            },
            recognise: what_it_is::of_bytes,
            network: match self.agents {
                None => None,
                Some(address) => {
                    let address = match address.bytes().all(|byte| byte.is_ascii_digit()) {
                        true => format!("127.0.0.1:{address}"),
                        false => address,
                    };
                    let address = Address::parse(&address)?;
                    // Makes it for its user alone.
                    make_folder(&config_folder)?;
                    Some(Arc::new(Background::start(
                        address,
                        agents_folder,
                        self.max_upload,
                    )?))
                }
            },
            machine: match self.no_jvms {
                true => None,
                false => Some(Arc::new(LocalMachine)),
            },
        })
    }
}

fn default_folder() -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let data = data.context("neither XDG_DATA_HOME nor HOME is set; give --folder DIR")?;
    Ok(data.join("hprof-rs").join("serve"))
}

fn new_token(
    folder: &Path,
    database: Option<&DatabaseAddress>,
    what: &str,
) -> anyhow::Result<ExitCode> {
    let (role, name) = what.split_once(':').unwrap_or((what, what));
    let Some(role) = Role::of_word(role) else {
        bail!("--new-token {what}: the roles are reader, uploader and admin");
    };
    let catalogue = open_catalogue(folder, database)?;
    let token = access::Token::new()?;
    catalogue.add_token(&access::hash(token.reveal()), role, name)?;
    print(&format!("{}\n", token.reveal()))
}
