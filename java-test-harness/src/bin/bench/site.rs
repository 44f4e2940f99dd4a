//! A server under load: its process, requests to it, its memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use ureq::Agent;

/// The longest wait for an answer or a job.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A server in a folder of its own.
pub struct Site {
    child: Child,
    folder: tempfile::TempDir,
    /// Where it listens.
    pub address: String,
    bearer: String,
}

impl Drop for Site {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    /// Starts the command's server with flags, in a folder below `place`.
    pub fn start(command: &Path, place: &Path, flags: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir_in(place)?;
        let mut child = Command::new(command)
            .args(["serve", "--listen", "127.0.0.1:0", "--max-rate", "1000000"])
            .args(flags)
            .arg("--folder")
            .arg(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().context("standard output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let link = line.trim().strip_prefix("Open http://");
        let link = link.and_then(|link| link.split_once("/?token="));
        let Some((address, token)) = link else {
            let _ = child.kill();
            bail!("the server prints no link: {line}");
        };
        Ok(Self {
            address: address.to_owned(),
            bearer: format!("Bearer {token}"),
            child,
            folder,
        })
    }

    /// A client with connections of its own.
    pub fn client(&self) -> Client {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE));
        Client {
            agent: config.build().new_agent(),
            base: format!("http://{}", self.address),
            bearer: self.bearer.clone(),
        }
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Watches the memory of the server and its workers until the result is asked.
    pub fn watch(&self) -> Watch {
        let (pid, over) = (self.pid(), Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut peak = Peak::default();
            while !ends.load(Ordering::Relaxed) {
                let (mut anonymous, mut resident, mut workers) = (0, 0, 0);
                for process in children(pid).into_iter().chain([pid]) {
                    let of_it = memory(process);
                    anonymous += of_it.0;
                    resident += of_it.1;
                    workers += if process == pid { 0 } else { of_it.0 };
                }
                peak.anonymous = peak.anonymous.max(anonymous);
                peak.resident = peak.resident.max(resident);
                peak.workers = peak.workers.max(workers);
                thread::sleep(Duration::from_millis(20));
            }
            peak
        });
        Watch { thread, over }
    }

    /// The folder.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

/// The most memory of server and workers together, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Peak {
    /// Anonymous memory.
    pub anonymous: u64,
    /// With the pages of mapped files, which go when others need room.
    pub resident: u64,
    /// Anonymous memory of workers alone.
    pub workers: u64,
}

/// A thread that watches.
pub struct Watch {
    thread: JoinHandle<Peak>,
    over: Arc<AtomicBool>,
}

impl Watch {
    /// The highest values that were seen.
    pub fn end(self) -> Result<Peak> {
        self.over.store(true, Ordering::Relaxed);
        let peak = self.thread.join();
        peak.map_err(|_| anyhow::anyhow!("the watch panicked"))
    }
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let of_thread = |thread: fs::DirEntry| {
        fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    };
    let all: String = threads.flatten().map(of_thread).collect();
    all.split_whitespace().flat_map(str::parse).collect()
}

/// Bytes of a process that are no file's, and all that are resident.
pub fn memory(pid: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        number.unwrap_or(0) << 10
    };
    (field("RssAnon:"), field("VmRSS:"))
}

/// Requests to a server.
pub struct Client {
    agent: Agent,
    base: String,
    bearer: String,
}

impl Client {
    /// Asks for a path, reads all of the answer; gives its status, its length and the time.
    pub fn time(&self, path: &str) -> Result<(u16, Vec<u8>, Duration)> {
        let began = Instant::now();
        let request = self.agent.get(format!("{}{path}", self.base));
        let mut answer = request.header("authorization", &self.bearer).call()?;
        let body = answer
            .body_mut()
            .with_config()
            .limit(1 << 30)
            .read_to_vec()?;
        Ok((answer.status().as_u16(), body, began.elapsed()))
    }

    /// The JSON at a path.
    pub fn json(&self, path: &str) -> Result<Value> {
        let (status, body, _) = self.time(path)?;
        let text = String::from_utf8_lossy(&body);
        ensure!(status == 200, "{path}: {status} {text}");
        Ok(serde_json::from_slice(&body)?)
    }

    /// Pushes a profile of OTLP.
    pub fn push(&self, path: &str, body: &[u8]) -> Result<()> {
        let request = self.agent.post(format!("{}{path}", self.base));
        let request = request.header("authorization", &self.bearer);
        let request = request.header("content-type", "application/x-protobuf");
        let mut answer = request.send(body)?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().read_to_string()?;
        ensure!(status == 200, "push: {status} {text}");
        Ok(())
    }

    /// Uploads a file; gives the dump's id.
    pub fn upload(&self, file: &Path) -> Result<String> {
        let request = self
            .agent
            .put(format!("{}/api/v1/dumps?name=x.hprof", self.base));
        let length = fs::metadata(file)?.len();
        let request = request.header("authorization", &self.bearer);
        let request = request.header("content-length", length);
        let mut answer = request.send(fs::File::open(file)?)?;
        let text = answer.body_mut().read_to_string()?;
        ensure!(answer.status().as_u16() == 201, "upload: {text}");
        let dump: Value = serde_json::from_str(&text)?;
        let id = dump["id"].as_str().context("an id")?;
        Ok(id.to_owned())
    }

    /// Deletes what is at a path.
    pub fn delete(&self, path: &str) -> Result<()> {
        let request = self.agent.delete(format!("{}{path}", self.base));
        let answer = request.header("authorization", &self.bearer).call()?;
        ensure!(
            answer.status().as_u16() == 204,
            "{path}: {}",
            answer.status()
        );
        Ok(())
    }

    /// Waits until the job of a dump has ended; gives its state.
    pub fn wait(&self, id: &str) -> Result<String> {
        let began = Instant::now();
        loop {
            let dump = self.json(&format!("/api/v1/dumps/{id}"))?;
            let state = dump["job"]["state"].as_str().unwrap_or_default();
            if matches!(state, "done" | "failed" | "cancelled") {
                if state != "done" {
                    eprintln!("  {}", dump["job"]["error"]);
                }
                return Ok(state.to_owned());
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "{id} is {state} after {PATIENCE:?}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The value below which a part of all values are, by the nearest rank; 0 of none.
pub fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (part * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut values, 0.5), 50.0);
        assert_eq!(percentile(&mut values, 0.95), 95.0);
        assert_eq!(percentile(&mut values, 1.0), 100.0);
        assert_eq!(percentile(&mut [7.0], 0.99), 7.0);
        assert_eq!(percentile(&mut [], 0.5), 0.0);
    }

    #[test]
    fn this_process_has_memory() {
        let (anonymous, resident) = memory(std::process::id());
        assert!(anonymous > 0 && resident >= anonymous);
    }
}
