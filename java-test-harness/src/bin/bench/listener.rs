//! `hprof-rs listen`, as a user starts it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// The front-end, built by `scripts/bench` beside this program.
pub fn front_end() -> Result<PathBuf> {
    let command = std::env::current_exe()?.with_file_name("hprof-rs");
    ensure!(
        command.exists(),
        "{} is not there: cargo build --release -p hprof-rs",
        command.display()
    );
    Ok(command)
}

/// A listener that ends by itself when this many agents have come and gone.
pub struct Listener {
    child: Child,
    /// Reads what it says: how many streams are whole, and the most memory that it had.
    reader: Option<JoinHandle<(usize, u64)>>,
    folder: TempDir,
    address: String,
}

impl Listener {
    /// Listens on a free port of the loopback interface.
    pub fn start(agents: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let script = format!("wait agents {agents} 200; wait end 200; quit");
        let mut child = Command::new(front_end()?)
            .args(["listen", "--json", "127.0.0.1:0", "--save"])
            .arg(folder.path())
            .args(["--exec", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let event: serde_json::Value = serde_json::from_str(&line)?;
        let address = event["address"].as_str().context("no address")?.to_owned();
        let pid = child.id();
        Ok(Self {
            child,
            reader: Some(thread::spawn(move || read(output, pid))),
            folder,
            address,
        })
    }

    /// The agent's option.
    pub fn option(&self) -> String {
        format!("net={}", self.address)
    }

    /// Where the streams are saved.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits for the ends of all streams: how many are whole, and the most memory that the listener
    /// had until the last of them, in bytes.
    pub fn finish(mut self) -> Result<(usize, u64)> {
        let reader = self.reader.take().context("finished once")?;
        let result = reader.join().ok().context("reading failed")?;
        ensure!(self.child.wait()?.success(), "the listener failed");
        Ok(result)
    }
}

/// Reads events up to the listener's end.
fn read(output: BufReader<ChildStdout>, pid: u32) -> (usize, u64) {
    let (mut whole, mut peak) = (0, 0);
    for line in output.lines().map_while(Result::ok) {
        let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        whole += usize::from(event["event"] == "ended" && event["complete"] == true);
        // The kernel keeps the high-water mark (proc(5)).
        peak = memory(pid, "VmHWM:").unwrap_or(peak);
    }
    (whole, peak)
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It has ended, unless the benchmark failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of `/proc/PID/status` that has kilobytes, in bytes.
pub fn memory(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(kilobytes * 1024)
}
