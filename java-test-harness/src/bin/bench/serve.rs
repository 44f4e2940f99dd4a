//! `hprof-rs serve` under load: many uploads at once, many readers, views while a job runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median, millis};
use super::listener::front_end;
use super::made_dump::MadeDump;
use super::site::{Client, Peak, Site, memory, percentile};

/// Bytes of a dump for each round of [`MadeDump`].
const ROUND_BYTES: u64 = 620;
/// Uploads at once.
const UPLOADS: usize = 10;
/// The memory of all workers.
const MEMORY: (&str, f64) = ("2G", 2048.0 * 1.048_576);
/// The first pages of views.
const VIEWS: [&str; 13] = [
    "overview",
    "suspects",
    "histogram?by=class",
    "histogram?by=package",
    "dominators?by=object",
    "dominators?by=class",
    "treemap",
    "roots",
    "threads",
    "loaders",
    "duplicates",
    "unreachable",
    "properties",
];
/// Rounds of all views.
const ROUNDS: usize = 12;
/// Nodes of trees that are expanded.
const NODES: usize = 300;

/// The server's load, and the dumps for it.
struct Load<'a> {
    command: PathBuf,
    folder: &'a Path,
    megabytes: u64,
    figures: &'a mut Figures,
}

/// Idle memory, uploads, readers, views, and the way of one dump against `report`.
pub fn serve(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let cache = java_test_harness::cache_folder();
    fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
    let temporary = tempfile::tempdir_in(cache)?;
    if let Some(folder) = &arguments.keep {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut load = Load {
        command: front_end()?,
        folder: arguments.keep.as_deref().unwrap_or(temporary.path()),
        megabytes: arguments.megabytes,
        figures,
    };
    if arguments.chooses("idle") {
        load.idle()?;
    }
    if arguments.chooses("uploads") {
        load.uploads()?;
    }
    if arguments.chooses("readers") {
        load.readers(
            arguments.readers,
            Duration::from_secs(arguments.seconds.into()),
        )?;
    }
    if arguments.chooses("views") {
        load.views()?;
    }
    if arguments.chooses("report") {
        load.report(arguments.pairs)?;
    }
    Ok(())
}

impl Load<'_> {
    fn add(
        &mut self,
        case: &str,
        measure: &'static str,
        value: f64,
        unit: &'static str,
        wanted: Wanted,
    ) {
        self.figures.add(Figure {
            benchmark: "serve",
            case: case.to_owned(),
            measure,
            plain: None,
            profiled: value,
            unit,
            result: value,
            wanted,
        });
    }

    /// A dump of about `megabytes`; another number, other bytes.
    fn dump(&self, megabytes: u64, number: u64) -> Result<PathBuf> {
        let path = self.folder.join(format!("load-{megabytes}-{number}.hprof"));
        if !path.exists() {
            let made = MadeDump {
                rounds: megabytes * 1_000_000 / ROUND_BYTES + number,
                note_bytes: 208,
            };
            made.write(&path)?;
        }
        Ok(path)
    }

    fn site(&self, flags: &[&str]) -> Result<Site> {
        Site::start(&self.command, self.folder, flags)
    }

    /// A server with one finished dump.
    fn site_with_dump(&self, megabytes: u64) -> Result<(Site, String)> {
        let site = self.site(&["--memory", MEMORY.0])?;
        let client = site.client();
        let id = client.upload(&self.dump(megabytes, 0)?)?;
        let state = client.wait(&id)?;
        ensure!(state == "done", "the job is {state}");
        Ok((site, id))
    }

    fn idle(&mut self) -> Result<()> {
        let site = self.site(&[])?;
        site.client().json("/api/v1/server")?;
        thread::sleep(Duration::from_secs(8));
        let resident = memory(site.pid()).1 as f64 / 1e6;
        self.add("idle", "resident", resident, "MB", Wanted::AtMost(40.0));
        Ok(())
    }

    /// Ten uploads at once within one memory limit.
    fn uploads(&mut self) -> Result<()> {
        let files = (0..UPLOADS as u64).map(|number| self.dump(self.megabytes, number));
        let files = files.collect::<Result<Vec<_>>>()?;
        let site = self.site(&["--memory", MEMORY.0])?;
        let watch = site.watch();
        let began = Instant::now();
        let is_over = AtomicBool::new(false);
        let (states, mut answers, uploaded) = thread::scope(|scope| {
            let prober = scope.spawn(|| probe(&site.client(), &is_over));
            let started: Vec<_> = files
                .iter()
                .map(|file| {
                    scope.spawn(|| -> Result<(String, Duration)> {
                        let client = site.client();
                        let id = client.upload(file)?;
                        let sent = began.elapsed();
                        Ok((client.wait(&id)?, sent))
                    })
                })
                .collect();
            let ended: Vec<Result<(String, Duration)>> = started
                .into_iter()
                .map(|it| {
                    it.join()
                        .unwrap_or_else(|_| Err(anyhow::anyhow!("a panic")))
                })
                .collect();
            is_over.store(true, Ordering::Relaxed);
            let answers = prober.join().unwrap_or_default();
            let ended = ended.into_iter().collect::<Result<Vec<_>>>();
            ended.map(|ended| {
                let sent = ended.iter().map(|it| it.1).max().unwrap_or_default();
                let states: Vec<String> = ended.into_iter().map(|it| it.0).collect();
                (states, answers, sent)
            })
        })?;
        let wall = began.elapsed();
        let Peak {
            anonymous,
            resident,
            workers,
        } = watch.end()?;
        let case = &format!("{UPLOADS} uploads of {} MB", self.megabytes);
        let done = states.iter().filter(|state| *state == "done").count();
        self.add(
            case,
            "done",
            done as f64,
            "jobs",
            Wanted::AtLeast(UPLOADS as f64),
        );
        self.add(
            case,
            "all sent after",
            uploaded.as_secs_f64(),
            "s",
            Wanted::Any,
        );
        self.add(case, "all done after", wall.as_secs_f64(), "s", Wanted::Any);
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        self.add(
            case,
            "workers, peak",
            megabytes(workers),
            "MB",
            Wanted::AtMost(MEMORY.1),
        );
        self.add(
            case,
            "server and workers",
            megabytes(anonymous),
            "MB",
            Wanted::AtMost(MEMORY.1),
        );
        self.add(
            case,
            "with mapped files",
            megabytes(resident),
            "MB",
            Wanted::Any,
        );
        ensure!(!answers.is_empty(), "/healthz was never answered");
        self.add(
            case,
            "/healthz p50",
            percentile(&mut answers, 0.5),
            "ms",
            Wanted::Any,
        );
        self.add(
            case,
            "/healthz p95",
            percentile(&mut answers, 0.95),
            "ms",
            Wanted::AtMost(150.0),
        );
        self.add(
            case,
            "/healthz p99",
            percentile(&mut answers, 0.99),
            "ms",
            Wanted::Any,
        );
        self.add(
            case,
            "/healthz longest",
            percentile(&mut answers, 1.0),
            "ms",
            Wanted::Any,
        );
        Ok(())
    }

    /// Many readers of a finished report, each on a connection of its own.
    fn readers(&mut self, readers: usize, time: Duration) -> Result<()> {
        let (site, id) = self.site_with_dump(self.megabytes)?;
        let paths: Vec<String> = [
            "overview",
            "suspects",
            "histogram?by=class&limit=100",
            "report",
        ]
        .iter()
        .map(|view| format!("/api/v1/dumps/{id}/{view}"))
        .collect();
        let warm = site.client();
        for path in &paths {
            warm.json(path)?;
        }
        let (errors, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let began = Instant::now();
        thread::scope(|scope| {
            for number in 0..readers {
                let (paths, errors, all, client) = (&paths, &errors, &all, site.client());
                scope.spawn(move || {
                    let mut times = Vec::new();
                    let mut turn = number;
                    while began.elapsed() < time {
                        match client.time(&paths[turn % paths.len()]) {
                            Ok((200, _, took)) => times.push(millis(took)),
                            _ => {
                                errors.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        turn += 1;
                    }
                    if let Ok(mut all) = all.lock() {
                        all.extend(times);
                    }
                });
            }
        });
        let seconds = began.elapsed().as_secs_f64();
        let mut times = all.into_inner().unwrap_or_default();
        let case = &format!("{readers} readers");
        let errors = errors.load(Ordering::Relaxed) as f64;
        self.add(case, "errors", errors, "", Wanted::AtMost(0.0));
        self.add(
            case,
            "answers a second",
            times.len() as f64 / seconds,
            "/s",
            Wanted::Any,
        );
        for (measure, part) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            let value = percentile(&mut times, part);
            self.add(case, measure, value, "ms", Wanted::Any);
        }
        Ok(())
    }

    /// First pages of views, and nodes of the dominator tree, while other jobs run.
    fn views(&mut self) -> Result<()> {
        let (site, id) = self.site_with_dump(4 * self.megabytes)?;
        let others = (1..=2).map(|number| self.dump(4 * self.megabytes, number));
        let others = others.collect::<Result<Vec<_>>>()?;
        let client = site.client();
        let first = client.time(&format!("/api/v1/dumps/{id}/overview"))?.2;
        self.add("views", "first of all", millis(first), "ms", Wanted::Any);
        let is_over = AtomicBool::new(false);
        let measured = thread::scope(|scope| {
            let jobs = scope.spawn(|| -> Result<()> {
                let client = site.client();
                let mut turn = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let dump = client.upload(&others[turn % others.len()])?;
                    client.wait(&dump)?;
                    client.delete(&format!("/api/v1/dumps/{dump}"))?;
                    turn += 1;
                }
                Ok(())
            });
            let measured = pages(&client, &id);
            is_over.store(true, Ordering::Relaxed);
            match jobs.join() {
                Ok(ended) => ended.and(measured),
                Err(_) => Err(anyhow::anyhow!("the jobs panicked")),
            }
        });
        for (view, mut times) in measured? {
            let wanted = match view.as_str() {
                "node" => 50.0,
                _ => 150.0,
            };
            let case = format!("{view}, while a job runs");
            self.add(&case, "p50", percentile(&mut times, 0.5), "ms", Wanted::Any);
            self.add(
                &case,
                "p95",
                percentile(&mut times, 0.95),
                "ms",
                Wanted::AtMost(wanted),
            );
        }
        Ok(())
    }

    /// Upload and job of one dump against a copy and `report`. Both write an index.
    fn report(&mut self, pairs: usize) -> Result<()> {
        let file = self.dump(4 * self.megabytes, 0)?;
        let copy = self.folder.join("copy");
        let (mut alone, mut served) = (Vec::new(), Vec::new());
        for _ in 0..pairs {
            let index = tempfile::tempdir_in(self.folder)?;
            let began = Instant::now();
            fs::copy(&file, &copy)?;
            let status = Command::new(&self.command)
                .args(["report", "--index"])
                .arg(index.path())
                .arg("-o")
                .arg(self.folder.join("report.html"))
                .arg(&copy)
                .stderr(Stdio::null())
                .status()?;
            ensure!(status.success(), "report: {status}");
            alone.push(began.elapsed().as_secs_f64());
            let site = self.site(&["--jobs", "1"])?;
            let client = site.client();
            let began = Instant::now();
            let id = client.upload(&file)?;
            client.wait(&id)?;
            served.push(began.elapsed().as_secs_f64());
            let page = site.folder().join("analyses").join(&id).join("report.html");
            ensure!(page.exists(), "{} is not there", page.display());
        }
        let (alone, served) = (median(alone), median(served));
        self.figures.add(Figure {
            benchmark: "serve",
            case: format!("{} MB: upload and job, report", 4 * self.megabytes),
            measure: "wall, ratio",
            plain: Some(alone),
            profiled: served,
            unit: "s",
            result: served / alone,
            wanted: Wanted::AtMost(1.2),
        });
        Ok(())
    }
}

/// Asks for `/healthz` until it is over; gives the times in milliseconds.
fn probe(client: &Client, is_over: &AtomicBool) -> Vec<f64> {
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        // No answer counts as the longest.
        times.push(match client.time("/healthz") {
            Ok((200, _, took)) => millis(took),
            _ => f64::INFINITY,
        });
        thread::sleep(Duration::from_millis(20));
    }
    times
}

/// The times of first pages by view, and of expansions as `node`, in milliseconds.
fn pages(client: &Client, id: &str) -> Result<Vec<(String, Vec<f64>)>> {
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    for view in VIEWS {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let (status, body, took) = client.time(&format!("/api/v1/dumps/{id}/{view}"))?;
            let text = String::from_utf8_lossy(&body);
            ensure!(status == 200, "{view}: {status} {text}");
            times.push(millis(took));
        }
        all.push((view.to_owned(), times));
    }
    let mut times = Vec::new();
    let tree = format!("/api/v1/dumps/{id}/dominators?by=object");
    let mut waiting = nodes(&client.json(&tree)?);
    while let Some(node) = waiting.pop() {
        let (status, body, took) = client.time(&format!("{tree}&node={node}"))?;
        ensure!(status == 200, "{node}: {status}");
        times.push(millis(took));
        if times.len() == NODES {
            break;
        }
        waiting.extend(nodes(&serde_json::from_slice(&body)?));
    }
    all.push(("node".to_owned(), times));
    Ok(all)
}

/// The rows of a table that can be expanded.
fn nodes(table: &serde_json::Value) -> Vec<String> {
    let rows = table["rows"].as_array().into_iter().flatten();
    let nodes = rows.filter_map(|row| Some(row["node"].as_str()?.to_owned()));
    nodes.collect()
}
