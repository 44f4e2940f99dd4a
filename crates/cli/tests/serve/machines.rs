//! The machines of a fleet, as processes of this one.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::postgres::Cluster;
use crate::s3::S3;
use crate::server::{Server, eventually, is_running};
use crate::support::{Scene, run, stderr};

/// A database and a store, with the machines that share them.
pub struct Fleet {
    pub cluster: Cluster,
    url: String,
    pub scene: Scene,
    place: String,
    environment: Vec<(String, String)>,
    pub storage: Option<S3>,
    /// Bytes of each machine's cache.
    room: String,
}

impl Fleet {
    /// A fleet over a folder; none without PostgreSQL.
    pub fn new() -> Option<Self> {
        let cluster = Cluster::start()?;
        let url = cluster.database("fleet");
        let scene = Scene::new();
        fs::create_dir(scene.path("store")).unwrap();
        Some(Self {
            cluster,
            url,
            scene,
            place: "store".to_owned(),
            environment: Vec::new(),
            storage: None,
            room: String::new(),
        })
    }

    /// A fleet over object storage on loopback. Each machine has a cache of `room` bytes.
    pub fn over_storage(seconds: u32, room: u64) -> Option<Self> {
        let mut fleet = Self::new()?;
        let storage = S3::start();
        fleet.place = "s3://dumps/team".to_owned();
        fleet.environment = storage.environment(seconds);
        fleet.storage = Some(storage);
        fleet.room = room.to_string();
        Some(fleet)
    }

    /// A command with the store; object storage has a cache of this name.
    fn command(&self, arguments: &[&str], cache: &str) -> Command {
        let mut command = self.scene.hprof_rs(arguments);
        command.args(["--store", &self.place]);
        if self.storage.is_some() {
            command.args(["--cache", cache, "--cache-size", &self.room]);
        }
        command.envs(self.environment.iter().cloned());
        command
    }

    /// A server with this folder.
    pub fn server(&self, folder: &str) -> Server {
        let base = [
            "serve",
            "--folder",
            folder,
            "--listen",
            "127.0.0.1:0",
            "--memory",
            "1G",
        ];
        let shared = ["--no-worker", "--no-jvms", "--lease", "2"];
        let cache = format!("cache-{folder}");
        let mut command = self.command(&[&base[..], &shared].concat(), &cache);
        Server::of_command(command.env("HPROF_RS_DATABASE", &self.url))
    }

    /// A worker; those over object storage need names, under which each has a cache.
    pub fn worker(&self, name: &str, lease: &str) -> Worker {
        let flags = ["worker", "--jobs", "1", "--memory", "1G"];
        let more = [
            "--lease",
            lease,
            "--health",
            "127.0.0.1:0",
            "--database",
            &self.url,
        ];
        let cache = format!("cache-{name}");
        let mut child = (self.command(&[&flags[..], &more].concat(), &cache))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a worker");
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let (_, address) = line.trim().split_once("http://").expect("an address");
        let health = address.strip_suffix("/readyz").unwrap().to_owned();
        Worker { child, health }
    }

    pub fn ask(&self, sql: &str) -> String {
        self.cluster.ask("fleet", sql)
    }
}

/// A worker that has reached its database.
pub struct Worker {
    pub child: Child,
    health: String,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    /// Kills it in the middle of a job, and waits until nothing of it runs.
    pub fn kill_at_work(&mut self) {
        let job = eventually("a job of the worker", || self.job());
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        eventually("the end of its process", || {
            (!is_running(job)).then_some(())
        });
    }

    /// The process that analyses for it, if one does.
    pub fn job(&self) -> Option<u32> {
        let pid = self.child.id();
        let path = format!("/proc/{pid}/task/{pid}/children");
        let of_main = fs::read_to_string(path).unwrap_or_default();
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let all = tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let text = all.fold(of_main, |text, more| text + " " + &more);
        text.split_whitespace().next()?.parse().ok()
    }

    pub fn is_ready(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(&self.health) else {
            return false;
        };
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let request = "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // The connection may end with the worker.
        let _ = stream.read_to_string(&mut answer);
        answer.starts_with("HTTP/1.1 200")
    }
}

/// The report that one machine makes of a file.
pub fn report_of_one_machine(scene: &Scene, file: &Path) -> Vec<u8> {
    let folder = scene.path(&format!("alone-{}", file.file_name().unwrap().display()));
    fs::create_dir(&folder).unwrap();
    let name = format!("--name={}", file.file_name().unwrap().to_str().unwrap());
    let (file, to) = (file.to_str().unwrap(), folder.to_str().unwrap());
    let done = run(
        &mut scene.hprof_rs(&["worker", file, "--analysis", to, &name, "--memory", "1G"]),
        "",
    );
    assert!(done.status.success(), "{}", stderr(&done));
    let report = fs::read(folder.join("report.json")).unwrap();
    // The index beside it is as large as the dump.
    fs::remove_dir_all(folder).unwrap();
    report
}
