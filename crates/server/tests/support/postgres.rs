//! A private PostgreSQL for one test: in a temporary folder, over a Unix socket, as an unprivileged
//! user, since PostgreSQL refuses root.
#![allow(dead_code, clippy::disallowed_macros)] // Each test uses a part of it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The user `nobody`.
const NOBODY: u32 = 65_534;
/// How long a start may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(240);

/// A PostgreSQL server that ends with the test.
pub struct Cluster {
    bin: PathBuf,
    folder: TempDir,
    server: Option<Child>,
    /// The port on loopback, where it speaks TLS; else it has its socket only.
    port: Option<u16>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Cluster {
    /// A new cluster; none, with a printed line, on a machine without PostgreSQL.
    pub fn start() -> Option<Self> {
        let Some(bin) = bin() else {
            assert!(
                std::env::var_os("CI").is_none(),
                "PostgreSQL is missing: scripts/setup postgres"
            );
            println!(
                "no PostgreSQL here, so nothing is tested: scripts/setup postgres installs it"
            );
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        if is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("a folder of nobody");
        }
        let mut cluster = Self {
            bin,
            folder,
            server: None,
            port: None,
        };
        let data = cluster.data();
        let data = data.to_str().expect("a path in UTF-8");
        let flags = ["-D", data, "-U", "hprof", "-A", "trust", "-E", "UTF8", "-N"];
        cluster.run("initdb", &[&flags[..], &["--no-locale"]].concat());
        cluster.resume();
        Some(cluster)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        if let Some(port) = self.port {
            command.env("PGPORT", port.to_string());
        }
        if is_root() {
            command.gid(NOBODY).uid(NOBODY);
        }
        command
    }

    fn run(&self, name: &str, arguments: &[&str]) -> String {
        let done = self.command(name).args(arguments).output();
        let done = done.expect("a command of PostgreSQL");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{name} {arguments:?}: {said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    fn host(&self) -> &str {
        self.folder.path().to_str().expect("a path in UTF-8")
    }

    /// Starts the server, and waits until it answers.
    pub fn resume(&mut self) {
        let tls: &[&str] = match self.port {
            Some(_) => &["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"],
            None => &[],
        };
        let log = fs::File::create(self.folder.path().join("log")).expect("a log");
        let server = self
            .command("postgres")
            .arg("-D")
            .arg(self.data())
            .args(["-k", self.host(), "-h", "", "-c", "fsync=off"])
            .args(["-c", "max_connections=200"])
            .args(tls)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.server = Some(server.expect("postgres"));
        let began = Instant::now();
        loop {
            let mut ready = self.command("pg_isready");
            let ready = ready.args(["-q", "-h", self.host()]).status();
            if ready.expect("pg_isready").success() {
                return;
            }
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < DEADLINE, "no PostgreSQL: {}", log());
            sleep(Duration::from_millis(20));
        }
    }

    /// Has the server speak TLS on loopback with a certificate and its key in PEM; gives the port.
    pub fn speak_tls(&mut self, certificate: &str, key: &str) -> u16 {
        self.stop();
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.data().join(name);
            fs::write(&path, text).expect("a file of the database");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a private file");
            if is_root() {
                chown(&path, Some(NOBODY), Some(NOBODY)).expect("a file of nobody");
            }
        }
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = free.expect("a free port").port();
        self.port = Some(port);
        self.resume();
        port
    }

    /// Ends the server as a crash of the machine would.
    pub fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let mut stop = self.command("pg_ctl");
            let stop = stop.args(["stop", "-s", "-m", "immediate", "-D"]);
            // It may have ended.
            let _ = stop.arg(self.data()).status();
            let _ = server.wait();
        }
    }

    /// Makes an empty database, and gives its address.
    pub fn database(&self, name: &str) -> String {
        self.run("createdb", &["-h", self.host(), "-U", "hprof", name]);
        let host = self.host().replace('/', "%2F");
        format!("postgres://hprof@{host}/{name}")
    }

    /// Asks a question in SQL, and gives the answer's text.
    pub fn ask(&self, database: &str, sql: &str) -> String {
        let base = ["-h", self.host(), "-U", "hprof", "-d", database];
        let answer = self.run(
            "psql",
            &[&base[..], &["-X", "-A", "-t", "-c", sql]].concat(),
        );
        answer.trim().to_owned()
    }
}

/// Returns whether this process belongs to root.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

/// The folder with PostgreSQL's programs, of which Debian puts only some on the path.
fn bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let bins = versions.flatten().map(|version| version.path().join("bin"));
    let mut bins: Vec<PathBuf> = bins
        .filter(|bin| Path::is_file(&bin.join("initdb")))
        .collect();
    bins.sort();
    bins.pop()
}
