//! `hprof-rs worker`: takes jobs of a fleet; with a file the analysis of that, for `serve` and `worker`.

#[cfg(feature = "fleet")]
mod fleet;
mod full_disk;
mod redact;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::input::Input;
use hprof_analysis::snapshot::IndexState;
use hprof_analysis::stacks::{Measure, OwnCosts, Weights, by_method};
use hprof_server::store::{FILE_TIME, set_time};
use hprof_server::worker_status::DISK_FULL;
use hprof_thread_dumps::Report as ThreadReport;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::{Value, json};

use super::{convert, summary};
use crate::findings;
use crate::gc;
use crate::memory::MemoryArgument;
use crate::open::{self, Opened};
use crate::render::foreign;
use crate::render::out::tell;
use crate::render::screen::{bytes, percent};
use crate::render::steps::Step;
use crate::report::{Phases, Report, html};
use crate::serve::FleetArguments;
use crate::sheet::{self, Sheet};
use crate::snapshot::{self, OpenArguments};
use crate::thread_dumps;
use crate::what_it_is;

/// Take jobs from the database of a fleet, and analyse dumps, on any number of machines.
///
/// Servers with the same `--database` and `--store` put jobs into the queue. Each job is a process of
/// its own. SIGTERM gives jobs under way back to the queue at once; those of a worker that is killed
/// go to another when their lease has run out.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Worker {
    #[command(flatten)]
    fleet: FleetArguments,

    /// The number of analyses at once [default: half of the cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,

    /// The folder of this worker [default: a temporary one].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Answer `/healthz`, and `/readyz` while the database can be reached, over HTTP here.
    #[arg(long, value_name = "ADDRESS:PORT")]
    health: Option<SocketAddr>,

    /// The one file to analyse. `serve` and `worker` start this command for each job.
    #[arg(value_name = "FILE", hide = true)]
    file: Option<PathBuf>,

    /// An empty folder for what is written: `unpacked`, the contents of a compressed file; of heap
    /// dumps the index and the report, of profiles their summary; last `outcome.json`.
    #[arg(long, value_name = "DIR", requires = "file", hide = true)]
    analysis: Option<PathBuf>,

    /// The name to show for the file.
    #[arg(long, default_value = "the file", hide = true)]
    name: String,

    /// Copy the file that is standard input to standard output, without values.
    #[arg(long, conflicts_with_all = ["file", "analysis"], hide = true)]
    strip: bool,

    /// Which values --strip takes, as JSON.
    #[arg(long, requires = "strip", default_value = "{}", hide = true)]
    rules: String,

    /// The most bytes that --strip may write.
    #[arg(long, value_name = "BYTES", requires = "strip", default_value_t = u64::MAX, hide = true)]
    limit: u64,

    #[command(flatten)]
    memory: MemoryArgument,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs worker --database-file /run/secrets/database --store s3://dumps/team --cache /var/cache/hprof-rs
  hprof-rs worker --database postgres://hprof@db.example.com/hprof --store /mnt/dumps --jobs 4 --memory 32G
  hprof-rs worker --database-file db.url --store /mnt/dumps --health 0.0.0.0:8080";

/// The names of files with the collections, the thread dumps and the findings of a recording, without `.json` and `.html`.
const GC: &str = "gc";
const STACKS: &str = "stacks";
const FINDINGS: &str = "findings";
/// The rows of each list in the summary of a profile.
const ROWS: usize = 100;

#[cfg(not(feature = "fleet"))]
const NO_QUEUE: crate::not_built::NotBuilt = crate::not_built::NotBuilt {
    feature: "fleet",
    wish: "the queue of a fleet",
};

impl Worker {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        if self.file.is_none() && !self.strip {
            #[cfg(feature = "fleet")]
            return fleet::take_jobs(self);
            #[cfg(not(feature = "fleet"))]
            return Err(NO_QUEUE.into());
        }
        self.work()
            .or_else(|error| match full_disk::is_cause(&error) {
                true => {
                    tell!("hprof-rs: {error:#}");
                    Ok(u8::try_from(DISK_FULL)?.into())
                }
                false => Err(error),
            })
    }

    fn work(&self) -> anyhow::Result<ExitCode> {
        // After a server is killed, no process waits for the result.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        match (&self.file, &self.analysis) {
            (Some(file), Some(analysis)) => {
                let analyser = Analyser {
                    file,
                    analysis,
                    name: &self.name,
                    memory: self.memory,
                };
                analyser.run()
            }
            (Some(_), None) => bail!("worker FILE needs --analysis DIR"),
            _ => redact::redact(&self.name, &self.rules, self.limit, self.memory),
        }
    }
}

/// The analysis of one file.
struct Analyser<'a> {
    file: &'a Path,
    analysis: &'a Path,
    name: &'a str,
    memory: MemoryArgument,
}

impl Analyser<'_> {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let (file, damage) = self.unpacked()?;
        let opened = open::open(&file, false, 0, false, self.memory);
        let outcome = match opened {
            Ok(opened) if opened.contents.records.is_empty() && !opened.contents.has_data() => {
                bail!("the file holds a header and nothing else: it is cut short")
            }
            Ok(opened) if opened.contents.dumps.is_empty() => self.profile(&file)?,
            Ok(_) => self.heap_dump(&file, damage)?,
            // It may be none of both, and one of these.
            Err(error) => match self.log(&file)? {
                Some(outcome) => outcome,
                None => return Err(error),
            },
        };
        self.write("outcome.json", &outcome.to_string())?;
        Ok(ExitCode::SUCCESS)
    }

    /// The file, or what it holds if it is compressed; and why its end is missing.
    fn unpacked(&self) -> anyhow::Result<(PathBuf, Option<io::Error>)> {
        let explained = |error| what_it_is::explained(self.file, error);
        let input = Input::open(self.file).map_err(|error| explained(error.into()))?;
        if input.mapped().is_some() {
            return Ok((self.file.to_owned(), None));
        }
        let step = Step::begin("unpacking", 0);
        let path = self.analysis.join("unpacked");
        let mut file = File::create_new(&path).context("cannot unpack")?;
        let mut reader = input.into_reader();
        let mut buffer = vec![0; 1 << 18];
        let damage = loop {
            match reader.read(&mut buffer) {
                Ok(0) => break None,
                Ok(length) => {
                    let part = buffer.get(..length).unwrap_or_default();
                    file.write_all(part).context("cannot unpack")?;
                    step.add(length as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What came before the damage can be looked at.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break Some(error),
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot unpack {}", self.name));
                }
            }
        };
        set_time(&path, FILE_TIME)?;
        Ok((path, damage))
    }

    fn heap_dump(&self, file: &Path, damage: Option<io::Error>) -> anyhow::Result<Value> {
        let look = OpenArguments {
            memory: self.memory,
            index: Some(self.analysis.to_owned()),
            ..OpenArguments::default()
        };
        let phases = Phases::begin(true);
        let snapshot = phases.see(|| snapshot::open_for(file, &look, &phases))?;
        let mut report = phases.see(|| Report::new(&snapshot))?;
        phases.pause(|| snapshot::warn_of_index(&snapshot));
        match snapshot.index() {
            IndexState::Written { .. } | IndexState::Used => {}
            IndexState::Failed(error) => bail!("cannot write the index: {error}"),
            IndexState::None | IndexState::Nameless => bail!("no index was written"),
        }
        self.name.clone_into(&mut report.file);
        if let Some(damage) = damage {
            report
                .notes
                .insert(0, format!("{damage}; what is shown is the rest"));
        }
        let json = serde_json::to_string(&report)?;
        self.write("report.json", &foreign::json(&json))?;
        self.write("report.html", &foreign::markup(&html(&report)?))?;
        let mut outcome = json!({
            "kind": "heap",
            "headline": headline(&report),
            "summary": report.summary,
        });
        // The list of dumps says it, where a dump would look complete.
        if let Some(damage) = snapshot::damage(&snapshot, std::fs::metadata(file)?.len()) {
            outcome["summary"]["damage"] = damage.into();
        }
        Ok(outcome)
    }

    fn profile(&self, file: &Path) -> anyhow::Result<Value> {
        let mut opened = open::open(file, true, 0, false, self.memory)?;
        self.name.clone_into(&mut opened.name);
        let summary = summary::as_json(&opened, ROWS);
        self.write("report.json", &foreign::json(&summary.to_string()))?;
        let headline = profile_headline(&opened);
        let has_monitors = !opened.contents.monitor_dumps.is_empty();
        let traces = opened.contents.stacks.len();
        drop(opened);
        let mut outcome = json!({
            "kind": "profile",
            "headline": headline,
            "summary": {"profiles": summary["profiles"], "traces": traces},
        });
        if has_monitors || is_recording(file)? {
            self.of_recording(file, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Adds what a file has beside a profile: collections and findings of a recording, thread dumps, dumps of monitors.
    fn of_recording(&self, file: &Path, outcome: &mut Value) -> anyhow::Result<()> {
        let logs = [self.collections(file, GC)?, self.threads(file, STACKS)?];
        for log in logs.into_iter().flatten() {
            for key in ["collections", "dumps"] {
                if let Some(count) = log["summary"].get(key) {
                    outcome["summary"][key] = count.clone();
                }
            }
            if outcome["headline"].is_null() {
                outcome["headline"] = log["headline"].clone();
            }
        }
        self.findings(file, outcome)
    }

    /// Writes the findings of a recording as JSON and as a page, and adds the number of those that are not OK.
    fn findings(&self, file: &Path, outcome: &mut Value) -> anyhow::Result<()> {
        let Some(recording) = findings::recording(file)? else {
            return Ok(());
        };
        let mut judged = findings::read(recording, &[]);
        self.name.clone_into(&mut judged.file);
        // Without any, the recording has events of none of the rules.
        if judged.findings.findings.is_empty() {
            return Ok(());
        }
        let alarms = judged.findings.alarms().count();
        self.write_both(FINDINGS, &serde_json::to_value(&judged)?, &sheet::FINDINGS)?;
        outcome["summary"]["findings"] = alarms.into();
        if outcome["headline"].is_null()
            && let Some(first) = judged.findings.alarms().next()
        {
            outcome["headline"] = first.headline.clone().into();
        }
        Ok(())
    }

    /// The outcome of a file that is none of HPROF; `None` if it is no thread dump and no log either.
    fn log(&self, file: &Path) -> anyhow::Result<Option<Value>> {
        match self.threads(file, "report")? {
            Some(outcome) => Ok(Some(outcome)),
            None => self.collections(file, "report"),
        }
    }

    /// Writes what the thread dumps of a file show, as JSON and as a page; none if it has none.
    fn threads(&self, file: &Path, report: &str) -> anyhow::Result<Option<Value>> {
        let Ok((dumps, mut notes)) = thread_dumps::read(&[file.to_owned()], self.memory) else {
            return Ok(None);
        };
        let found = ThreadReport::of(&dumps);
        notes.extend(thread_dumps::notes(&found));
        let data = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "title": self.name,
            "notes": notes,
            "report": found,
        });
        self.write_both(report, &data, &sheet::STACKS)?;
        Ok(Some(json!({
            "kind": "thread_dump",
            "headline": thread_dumps::headline(&found),
            "summary": {"dumps": found.dumps.len(), "threads": found.dumps.last().map(|it| it.threads)},
        })))
    }

    /// Writes what the collections of a file show, as JSON and as a page; none if it has none.
    fn collections(&self, file: &Path, report: &str) -> anyhow::Result<Option<Value>> {
        let Ok(mut log) = gc::read(file, true, self.memory) else {
            return Ok(None);
        };
        self.name.clone_into(&mut log.file);
        let headline = gc::headline(&log.summary);
        let mut summary =
            json!({"pauses": log.summary.pauses.count, "collector": log.summary.collector});
        if let Some(recording) = log.summary.recording {
            summary["collections"] = recording.collections.into();
        }
        let data = json!({"version": env!("CARGO_PKG_VERSION"), "logs": [log], "measures": null});
        self.write_both(report, &data, &sheet::GC)?;
        Ok(Some(
            json!({"kind": "gc_log", "headline": headline, "summary": summary}),
        ))
    }

    fn write_both(&self, name: &str, data: &Value, sheet: &Sheet) -> anyhow::Result<()> {
        let json = foreign::json(&data.to_string());
        self.write(&format!("{name}.json"), &json)?;
        self.write(&format!("{name}.html"), &sheet.page(data)?)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.analysis.join(name);
        convert::write_whole(&path, text.as_bytes()).with_context(|| format!("cannot write {name}"))
    }
}

/// Returns true if a file is a recording of Flight Recorder.
fn is_recording(file: &Path) -> anyhow::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(4).read_to_end(&mut head)?;
    Ok(hprof_foreign::jfr::facts::is_recording(&head))
}

/// The sentence of a report that matters most.
fn headline(report: &Report) -> String {
    if let Some(suspect) = report.leaks.suspects.first() {
        return suspect.headline.clone();
    }
    let live = report.summary.live_bytes;
    match report.objects.first() {
        Some(largest) => format!(
            "No leak suspect; the largest object keeps {} of {} alive.",
            percent(largest.retained_bytes, live),
            bytes(live)
        ),
        None => "Nothing in this dump is known to be alive.".to_owned(),
    }
}

/// Finds the method with the highest cost of a profile.
fn profile_headline(opened: &Opened) -> Option<String> {
    let contents = &opened.contents;
    if let Some(instead) = contents.instead_of_data() {
        return Some(format!("The file holds {instead}."));
    }
    let weights = Measure::ALL
        .into_iter()
        .find_map(|measure| Weights::of(contents, measure))?;
    let own = OwnCosts::of(&contents.stacks, &weights, None, contents.stack_limit());
    if let Some(sentence) = own.headline {
        return Some(format!("{}: {sentence}.", weights.measure.title()));
    }
    let most = by_method(&contents.stacks, &weights).into_iter().next()?;
    Some(format!(
        "{}: {} in {}.",
        weights.measure.title(),
        percent(most.own, weights.total),
        most.name
    ))
}
