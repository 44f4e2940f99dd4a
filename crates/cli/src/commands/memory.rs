//! `hprof-rs memory`: the memory of a process, accounted for.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::json;

use super::convert::write_whole;
use crate::attach::{self, Target};
use crate::process_memory::post_mortem::Kept;
use crate::process_memory::record::{self, Plan};
use crate::process_memory::watch::{self, Rhythm};
use crate::process_memory::{self, Effort, post_mortem, text};
use crate::render::foreign;
use crate::render::out::tell;
use crate::render::screen::{Style, print, print_json};
use crate::sheet::{self, Form};
use crate::written;

/// Show what takes the memory of a process: heap, stacks, buffers, malloc, files; against its limits.
///
/// The rows add up to the resident set, and one sentence names the likely cause with the next step. Reads /proc and asks the
/// JVM as jcmd does (JDK 8 to 28); loads no agent, and needs no JDK. Run it as the JVM's user or as root, from outside of a
/// container too.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Memory {
    /// The JVM's process id, as `hprof-rs ps` shows it, or its main class or JAR file.
    #[arg(value_name = "PID|NAME", required_unless_present = "post_mortem")]
    process: Option<String>,

    /// Look again after this time, such as 5s or 1m, and print which row grows, how fast, and when it reaches the limit.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    watch: Option<Duration>,

    /// Look again and again for this time, such as 10m, and show rows over time, which row grows, and when it reaches the
    /// limit; Ctrl+C ends it earlier. --watch sets the time between two looks [default: a 120th, from 1s to 1m].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["count", "gc", "objects"])]
    record: Option<Duration>,

    /// With --record: write a page (.html) or JSON (.json) to this file.
    #[arg(short, long, value_name = "OUT", requires = "record")]
    output: Option<PathBuf>,

    /// With --watch: end after this many looks.
    #[arg(long, value_name = "N", requires = "watch", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Count objects with memory outside of the heap: direct buffers, Inflater, Deflater. Stops the program for a walk over
    /// the heap.
    #[arg(long)]
    objects: bool,

    /// As --objects, before and after a full collection, which shows buffers that only waited for one.
    #[arg(long)]
    gc: bool,

    /// List up to ten parts of each row: class loaders, groups of threads, files, what the JVM counts for. Loaders need a stop
    /// of the program.
    #[arg(long, conflicts_with_all = ["watch", "record"])]
    parts: bool,

    /// Read /proc only, and do not ask the JVM.
    #[arg(long)]
    no_attach: bool,

    /// Read what is left of a process that is gone: an hs_err_pid.log, the kernel's log with a line "Killed process", or the
    /// JSON of --record; `-` for standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["process", "watch", "record", "objects", "gc", "no_attach", "parts"])]
    post_mortem: Option<PathBuf>,

    /// The folder where cgroups are mounted.
    #[arg(long, value_name = "FOLDER", default_value = process_memory::CGROUPS)]
    cgroups: PathBuf,

    /// Print JSON; with --watch a document on each line.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs memory 4242                              the rows, the limits and the likely cause
  hprof-rs memory app.jar --gc                      direct buffers that are held, or wait for a collection
  hprof-rs memory 4242 --parts                      class loaders, threads, files and counts of the JVM, ten of each
  hprof-rs memory 4242 --watch 5s                   the row that grows, and the time to the limit
  hprof-rs memory 4242 --record 10m -o memory.html  a page: rows over time, growth, time to the limit
  hprof-rs memory --post-mortem hs_err_pid4242.log  after a crash
  journalctl -k | hprof-rs memory --post-mortem -   after a kill (exit status 137)
  hprof-rs memory 4242 --json | jq .causes[0].sentence

Columns:
  resident   pages in memory; the sum of all rows is the resident set
  committed  what the JVM may use now, as it reports
  used       what is in use of that
-XX:NativeMemoryTracking=summary has the JVM keep an account of its malloc. docs/memory.md explains the rows.";

impl Memory {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        if let Some(path) = &self.post_mortem {
            let remains = match post_mortem::read(path)? {
                Kept::Remains(remains) => remains,
                Kept::Recording(saved) => {
                    for note in &saved.notes {
                        tell!("hprof-rs: {note}");
                    }
                    return match self.json {
                        true => print_json(&saved),
                        false => print(&text::changes(&saved, Style::of_stdout())),
                    };
                }
            };
            return match self.json {
                true => print_json(&json!({
                    "version": env!("CARGO_PKG_VERSION"),
                    "sentence": remains.conclusion(),
                    "remains": remains,
                })),
                false => print(&post_mortem::text(&remains)),
            };
        }
        let Some(process) = &self.process else {
            bail!("name a process");
        };
        let output = self.output.as_deref();
        let form = sheet::form(output, self.json)?;
        if let Some(output) = output.filter(|output| *output != Path::new("-")) {
            check_place(output)?;
        }
        attach::sweep();
        let target = process_memory::find(process)?;
        let effort = Effort {
            objects: self.objects,
            collect: self.gc,
            loaders: self.parts,
            no_attach: self.no_attach,
            cgroups: self.cgroups,
        };
        if let Some(time) = self.record {
            let plan = Plan {
                time,
                every: self.watch,
            };
            return recorded(&target, &effort, plan, output, form);
        }
        if let Some(every) = self.watch {
            let rhythm = Rhythm {
                every,
                times: self.count,
            };
            watch::run(&target, &effort, rhythm, self.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let snapshot = process_memory::look(&target, &effort)?;
        if self.json {
            return print_json(&snapshot);
        }
        for note in &snapshot.notes {
            tell!("hprof-rs: {note}");
        }
        let mut all = text::all(&snapshot, Style::of_stdout());
        if self.parts {
            all.push_str(&text::parts(&snapshot, Style::of_stdout()));
        }
        print(&all)
    }
}

/// Records, and writes what was recorded.
fn recorded(
    target: &Target,
    effort: &Effort,
    plan: Plan,
    output: Option<&Path>,
    form: Form,
) -> anyhow::Result<ExitCode> {
    let recording = record::run(target, effort, plan)?;
    for note in &recording.notes {
        tell!("hprof-rs: {note}");
    }
    let Some(output) = output.filter(|output| *output != Path::new("-")) else {
        return match form {
            Form::Json => print_json(&recording),
            Form::Page => print(&sheet::MEMORY.page(&recording)?),
            Form::Text => print(&text::recorded(&recording, Style::of_stdout())),
        };
    };
    let (text, next) = match form {
        Form::Page => (sheet::MEMORY.page(&recording)?, "open it in a browser"),
        _ => {
            let json = foreign::json(&serde_json::to_string_pretty(&recording)?);
            (json, "look at it with `jq .sentence FILE`")
        }
    };
    write_whole(output, text.as_bytes())
        .with_context(|| format!("cannot write {}", output.display()))?;
    tell!("{}", recording.sentence);
    written::say(output, next);
    Ok(ExitCode::SUCCESS)
}

/// Refuses a place where no file can be written, before the recording and not after it.
fn check_place(output: &Path) -> anyhow::Result<()> {
    let folder = output.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    ensure!(
        !output.is_dir(),
        "-o {}: this is a folder; give the name of a file in it",
        output.display()
    );
    ensure!(
        folder.is_dir(),
        "-o {}: there is no folder {}",
        output.display(),
        folder.display()
    );
    Ok(())
}

/// A time such as `5s`, `500ms` or `2m`; a number alone counts seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("the unit is ms, s, m or h, as in 5s".to_owned()),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "a whole number with a unit, as in 5s".to_owned())?;
    match number.checked_mul(unit) {
        None | Some(0) => Err("a time between 1ms and some years".to_owned()),
        Some(millis) => Ok(Duration::from_millis(millis)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("5x").is_err() && duration("0s").is_err() && duration("s").is_err());
    }
}
