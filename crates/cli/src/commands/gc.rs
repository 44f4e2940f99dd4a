//! `hprof-rs gc`: what a garbage collection log tells.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Args;
use hprof_gclog::compare;
use serde_json::json;

use super::convert::write_whole;
use crate::gc::{self, Log, rotated, text};
use crate::memory::MemoryArgument;
use crate::render::foreign;
use crate::render::screen::{Style, print, print_json};
use crate::sheet::{self, Form};
use crate::window::WindowArgument;
use crate::written;

/// Summarize garbage collections, from a log or a recording: pauses, causes, heap, allocation, and findings with advice.
///
/// Reads unified logging (JDK 9 and later, -Xlog:gc or -Xlog:gc*) with all decorations, for Serial, Parallel,
/// CMS, G1, ZGC and Shenandoah, the logs of JDK 8 (-XX:+PrintGC, -XX:+PrintGCDetails), and recordings of
/// Flight Recorder (JFR). Rotated files (gc.log.0, gc.log.1, ..., gc.log.2.current) are read as one log, from any of
/// them, from the name gc.log, or from their folder. Sizes are those of JVM options: 1K is 1024 bytes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Gc {
    /// The log or recording, plain or compressed with gzip, zip, zstd, xz or bzip2, or its folder; `-` for standard
    /// input. A second one is compared with the first. The files of a rotated log are one, however many are given.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Read FILE alone, not the rotated files beside it.
    #[arg(long)]
    alone: bool,

    /// Write a page (.html) or JSON (.json) to this file.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    window: WindowArgument,

    #[command(flatten)]
    memory: MemoryArgument,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs gc gc.log                         pauses, heap, rates, findings
  hprof-rs gc gc.log -o gc.html              a page with a timeline
  hprof-rs gc --json gc.log | jq .logs[0].pauses
  hprof-rs gc monday.log friday.log          what has changed
  hprof-rs gc --from 14:03 --to 14:05 gc.log the collections of two minutes
  hprof-rs gc gc.log.0 gc.log.1.current      the files of a rotated log, as one
  hprof-rs gc recording.jfr                  the collections that Flight Recorder has recorded
A log with all that this command reads:
  java -Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags ...
docs/gc.md explains the figures and findings.";

impl Gc {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let form = sheet::form(self.output.as_deref(), self.json)?;
        let logs = self.read()?;
        let measures = match &logs[..] {
            [before, after] => Some(compare(&before.summary, &after.summary)),
            _ => None,
        };
        let data = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "logs": logs,
            "measures": measures,
        });
        let Some(output) = self.output.filter(|output| output != Path::new("-")) else {
            return match (form, measures) {
                (Form::Json, _) => print_json(&data),
                (Form::Page, _) => print(&sheet::GC.page(&data)?),
                (Form::Text, None) => print(&all(&logs)),
                (Form::Text, Some(measures)) => {
                    print(&text::comparison(&logs, &measures, Style::of_stdout()))
                }
            };
        };
        let (text, next) = match form {
            Form::Page => (sheet::GC.page(&data)?, "open it in a browser"),
            _ => {
                let json = foreign::json(&serde_json::to_string_pretty(&data)?);
                (json, "look at it with `jq .logs[0].findings FILE`")
            }
        };
        write_whole(&output, text.as_bytes())
            .with_context(|| format!("cannot write {}", output.display()))?;
        written::say(&output, next);
        Ok(ExitCode::SUCCESS)
    }

    /// One log, or two to compare.
    fn read(&self) -> anyhow::Result<Vec<Log>> {
        if let [first, _, ..] = &self.files[..]
            && !self.alone
            && rotated::are_one_log(&self.files)
        {
            let files = rotated::in_order(self.files.clone());
            return Ok(vec![gc::together(
                first,
                &files,
                &self.window,
                self.memory,
            )?]);
        }
        ensure!(
            self.files.len() <= 2,
            "these are files of several logs: give one log, or two to compare"
        );
        let logs = self.files.iter();
        logs.map(|file| gc::read_part(file, self.alone, &self.window, self.memory))
            .collect()
    }
}

fn all(logs: &[Log]) -> String {
    let style = Style::of_stdout();
    logs.iter().map(|log| text::one(log, style)).collect()
}
