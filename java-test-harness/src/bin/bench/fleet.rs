//! Many machines on one: the queue in PostgreSQL alone, and workers against the plain command in a loop.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted};
use super::listener::front_end;
use super::made_dump::MadeDump;
use super::postgres::Cluster;
use super::site::Site;

/// Bytes of a dump for each round of [`MadeDump`].
const ROUND_BYTES: u64 = 620;
/// The memory of each worker.
const MEMORY: &str = "2G";
/// Processes that drain the queue.
const DRAINERS: &str = "4";
/// The largest dump against the smallest, of `workers`.
const SPREAD: u64 = 4;
/// How often the ends of jobs are asked for.
const PAUSE: Duration = Duration::from_millis(200);

/// Ends a process that was started.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Jobs a second, and what a job costs beyond its analysis.
pub fn fleet(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let cluster = Cluster::start().context("scripts/setup postgres installs PostgreSQL")?;
    if arguments.chooses("queue") {
        queue(&cluster, arguments.count.unwrap_or(100_000), figures)?;
    }
    if arguments.chooses("workers") {
        workers(&cluster, arguments, figures)?;
    }
    Ok(())
}

fn figure(
    figures: &mut Figures,
    case: String,
    measure: &'static str,
    value: f64,
    unit: &'static str,
    wanted: Wanted,
) {
    figures.add(Figure {
        benchmark: "fleet",
        case,
        measure,
        plain: None,
        profiled: value,
        unit,
        result: value,
        wanted,
    });
}

/// Waits until all files are on the disk: what is written later takes time from whatever runs then.
fn sync() -> Result<()> {
    ensure!(Command::new("sync").status()?.success(), "sync fails");
    Ok(())
}

/// Jobs without work, by as many connections as four workers have.
fn queue(cluster: &Cluster, jobs: u64, figures: &mut Figures) -> Result<()> {
    let rate = std::env::current_exe()?.with_file_name("examples/queue_rate");
    ensure!(
        rate.exists(),
        "{} is not there: cargo build --release -p hprof-server --example queue_rate",
        rate.display()
    );
    let done = Command::new(rate)
        .arg(cluster.database("queue"))
        .args([&jobs.to_string(), DRAINERS])
        .output()?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let error = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "queue_rate: {error}");
    let value = |word: &str| -> Result<f64> {
        let found = text.lines().find_map(|line| line.strip_prefix(word));
        Ok(found
            .with_context(|| format!("no {word}"))?
            .trim()
            .parse()?)
    };
    ensure!(value("done ")? as u64 == jobs, "{text}");
    let case = format!("queue of {jobs}");
    let added = value("added_per_second ")?;
    figure(figures, case.clone(), "added", added, "jobs/s", Wanted::Any);
    let drained = value("drained_per_second ")?;
    figure(figures, case, "drained", drained, "jobs/s", Wanted::Any);
    Ok(())
}

/// One worker against the plain command, with the same dumps one after another.
fn workers(cluster: &Cluster, arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let command = front_end()?;
    let cache = java_test_harness::cache_folder();
    fs::create_dir_all(&cache)?;
    let folder = tempfile::tempdir_in(cache)?;
    let count = arguments.count.unwrap_or(60).max(1);
    let dumps: Vec<PathBuf> = (0..count)
        .map(|number| dump(folder.path(), arguments.megabytes, number, count))
        .collect::<Result<_>>()?;

    // Both begin with all dumps on the disk, and end with all results there: a worker publishes nothing before it is.
    sync()?;
    let began = Instant::now();
    for (number, dump) in dumps.iter().enumerate() {
        let to = folder.path().join(format!("plain-{number}"));
        fs::create_dir(&to)?;
        let done = Command::new(&command)
            .arg("worker")
            .arg(dump)
            .arg("--analysis")
            .arg(&to)
            .args(["--memory", MEMORY])
            .output()?;
        let error = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{}: {error}", dump.display());
    }
    sync()?;
    let plain = began.elapsed().as_secs_f64();
    for number in 0..dumps.len() {
        fs::remove_dir_all(folder.path().join(format!("plain-{number}")))?;
    }

    let url = cluster.database("workers");
    let store = folder.path().join("store");
    let store = store.to_str().context("a folder in UTF-8")?;
    let shared = ["--database", &url, "--store", store];
    let flags = [
        &shared[..],
        &["--no-worker", "--no-jvms", "--memory", MEMORY],
    ]
    .concat();
    let site = Site::start(&command, folder.path(), &flags)?;
    let client = site.client();
    for dump in &dumps {
        client.upload(dump)?;
    }
    sync()?;
    let began = Instant::now();
    let worker = Command::new(&command)
        .arg("worker")
        .args(shared)
        .args(["--jobs", "1", "--memory", MEMORY])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _worker = Started(worker);
    let left = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')";
    while cluster.ask("workers", left) != "0" {
        thread::sleep(PAUSE);
    }
    sync()?;
    let fleet = began.elapsed().as_secs_f64();
    let done = cluster.ask("workers", "SELECT count(*) FROM jobs WHERE state = 'done'");
    ensure!(done == count.to_string(), "{done} of {count} jobs are done");

    let case = format!(
        "workers, {count} dumps of {} MB and more",
        arguments.megabytes
    );
    let overhead = (fleet - plain) / count as f64;
    figure(figures, case.clone(), "plain loop", plain, "s", Wanted::Any);
    figure(figures, case.clone(), "worker", fleet, "s", Wanted::Any);
    figure(
        figures,
        case.clone(),
        "throughput",
        plain / fleet,
        "x",
        Wanted::AtLeast(0.9),
    );
    figure(
        figures,
        case,
        "overhead per job",
        overhead,
        "s",
        Wanted::AtMost(0.5),
    );
    Ok(())
}

/// A dump of at least `megabytes`; another number, other bytes.
fn dump(folder: &Path, megabytes: u64, number: u64, count: u64) -> Result<PathBuf> {
    let path = folder.join(format!("fleet-{number}.hprof"));
    let size = megabytes * 1_000_000 * (count + (SPREAD - 1) * number) / count;
    let made = MadeDump {
        rounds: size / ROUND_BYTES + number,
        note_bytes: 208,
    };
    made.write(&path)?;
    Ok(path)
}
