//! `hprof-rs report`: all about a heap dump on one page; the findings of a recording.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::trace::{Work, phase};
use hprof_server::rules::{Rule, judge};

use super::convert;
use crate::findings::{self, Recording};
use crate::render::foreign;
use crate::render::out::tell;
use crate::render::screen::{Style, print, print_json};
use crate::report::{Phases, Report, html, markdown, say_timings};
use crate::snapshot::{self, HeapArguments};
use crate::{sheet, written};

/// Write a report on a heap dump: leak suspects, a map of what keeps the heap alive, classes,
/// packages, loaders, threads with stacks and locals, equal strings, system properties.
/// For a recording of Flight Recorder, print findings: each with figures, cause and next step.
///
/// The page needs no other file and no network. It masks the values of properties with names of
/// secrets; other texts of the program are in it as they were in memory.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportCommand {
    #[command(flatten)]
    heap: HeapArguments,

    /// The output; `.html`, `.md` or `.json` at the end of its name selects the format [default:
    /// the dump's name with `.html`].
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Print JSON instead.
    #[arg(long)]
    json: bool,

    /// Print Markdown instead.
    #[arg(long, conflicts_with = "json")]
    md: bool,

    /// Print on standard error when each phase began, how long it took and the CPU time of its threads; JSON has them as
    /// `timings`.
    #[arg(long)]
    timings: bool,

    /// A rule for the dump, such as `suspects=0`; may be repeated. Status 1 if one is broken.
    /// `hprof-rs help capture` lists the rules.
    #[arg(long, value_name = "RULE")]
    fail_above: Vec<Rule>,

    /// For a recording: a package or class of the program, such as `com.acme` or `com.acme.*Dao`; may be repeated. Findings name the
    /// innermost line of the program [default: all but the JDK, runtimes of languages and known libraries].
    #[arg(long, value_name = "PATTERN")]
    own: Vec<String>,

    /// Fail if the file is no recording, for programs that ask for findings.
    #[arg(long, hide = true)]
    findings: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs report heap.hprof -o report.html
  hprof-rs report --md heap.hprof > report.md
  hprof-rs report --json heap.hprof | jq '.summary'
  hprof-rs report heap.hprof --fail-above retained:com.example.Cache=100MB
  hprof-rs report recording.jfr              what holds the program up: locks, collections, exceptions ...
  hprof-rs report --json recording.jfr | jq '.findings[] | select(.cause)'
docs/report-schema.md describes the JSON.";

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Json,
    Markdown,
}

impl Form {
    fn of_name(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        match end.as_str() {
            "html" | "htm" => Some(Self::Html),
            "json" => Some(Self::Json),
            "md" | "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

impl ReportCommand {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        if let Some(recording) = findings::recording(&self.heap.file)? {
            return self.judge_recording(recording);
        }
        if self.findings {
            bail!(
                "{} is no recording of Flight Recorder, and no other file has findings",
                self.heap.file.display()
            );
        }
        if !self.own.is_empty() {
            bail!(
                "--own is for recordings; {} is none",
                self.heap.file.display()
            );
        }
        let form = self.form()?;
        let phases = Phases::begin(!self.heap.look.no_index);
        let report = phases.see(|| -> anyhow::Result<Report> {
            let snapshot = snapshot::open_for(&self.heap.file, &self.heap.look, &phases)?;
            let report = Report::new(&snapshot);
            phases.pause(|| snapshot::warn_of_index(&snapshot));
            report
        });
        let mut report = report?;
        if self.timings {
            report.timings = Some(phases.timings());
        }
        let is_printed = match &self.output {
            None => form != Form::Html,
            Some(output) => output == Path::new("-"),
        };
        let text = phases.see(|| {
            phase(Work::Rendering, 0, || {
                anyhow::Ok(match form {
                    // Printing makes these itself.
                    Form::Json if is_printed => String::new(),
                    Form::Markdown if is_printed => markdown(&report),
                    Form::Json => foreign::json(&serde_json::to_string_pretty(&report)?),
                    Form::Markdown => foreign::page(&markdown(&report)),
                    Form::Html => foreign::markup(&html(&report)?),
                })
            })
        })?;
        let timings = phases.timings();
        drop(phases);
        if self.timings {
            say_timings(&timings);
        }
        let status = self.judge(&report)?;
        if is_printed {
            match form {
                Form::Json => print_json(&report)?,
                Form::Html | Form::Markdown => print(&text)?,
            };
            return Ok(status);
        }
        let output = match self.output {
            Some(output) => output,
            None => default_output(&self.heap.file)?,
        };
        let fail = || format!("cannot write {}", output.display());
        convert::write_whole(&output, text.as_bytes()).with_context(fail)?;
        let next = match form {
            Form::Html => "open it in a browser",
            Form::Json => "look at it with `jq .summary FILE`",
            Form::Markdown => "paste it into a ticket",
        };
        written::say(&output, next);
        Ok(status)
    }

    /// Prints or writes the findings of a recording.
    fn judge_recording(self, recording: Recording) -> anyhow::Result<ExitCode> {
        if !self.fail_above.is_empty() {
            bail!(
                "--fail-above is for heap dumps; `hprof-rs report --json` has the level of each finding of a recording"
            );
        }
        let output = self.output.as_deref();
        let output = output.filter(|output| *output != Path::new("-"));
        let form = match (self.json, self.md, output.is_some(), self.output.is_some()) {
            (true, ..) | (_, _, true, _) => Some(self.form()?),
            (_, true, ..) => Some(Form::Markdown),
            // `-o -` is a page, as of a heap dump.
            (_, _, false, true) => Some(Form::Html),
            _ => None,
        };
        self.heap
            .look
            .memory
            .watch(&self.heap.file.display().to_string());
        let read = findings::read(recording, &self.own);
        let text = match form {
            None => {
                return print(&findings::text(&read, Style::of_stdout()));
            }
            Some(Form::Json) if output.is_none() => {
                return print_json(&read);
            }
            Some(Form::Json) => foreign::json(&serde_json::to_string_pretty(&read)?),
            Some(Form::Markdown) => findings::markdown(&read),
            Some(Form::Html) => sheet::FINDINGS.page(&read)?,
        };
        let Some(output) = output else {
            return print(&text);
        };
        let text = match form {
            Some(Form::Markdown) => foreign::page(&text),
            _ => text,
        };
        convert::write_whole(output, text.as_bytes())
            .with_context(|| format!("cannot write {}", output.display()))?;
        let next = match form {
            Some(Form::Html) => "open it in a browser",
            Some(Form::Json) => "look at it with `jq .findings FILE`",
            _ => "paste it into a ticket",
        };
        written::say(output, next);
        Ok(ExitCode::SUCCESS)
    }

    /// Says how the dump keeps to the rules; gives the exit status.
    fn judge(&self, report: &Report) -> anyhow::Result<ExitCode> {
        if self.fail_above.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let figures = serde_json::from_value(serde_json::to_value(report)?)?;
        let mut is_broken = false;
        for rule in &self.fail_above {
            let verdict = judge(rule, &figures);
            let word = match verdict.passed {
                Some(true) => "kept",
                _ => "BROKEN",
            };
            is_broken |= verdict.passed != Some(true);
            let sentence = verdict.sentence.unwrap_or_default();
            tell!("hprof-rs: {word}: {}: {sentence}", verdict.rule);
        }
        Ok(ExitCode::from(u8::from(is_broken)))
    }

    /// The form that is asked for, by a flag or by the name of the output, which must agree.
    fn form(&self) -> anyhow::Result<Form> {
        let asked = match (self.json, self.md) {
            (true, _) => Some(Form::Json),
            (_, true) => Some(Form::Markdown),
            _ => None,
        };
        let Some(path) = self
            .output
            .as_deref()
            .filter(|path| *path != Path::new("-"))
        else {
            return Ok(asked.unwrap_or(Form::Html));
        };
        let named = Form::of_name(path);
        match (asked, named) {
            (None, Some(named)) => Ok(named),
            (Some(asked), None) => Ok(asked),
            (Some(asked), Some(named)) if asked == named => Ok(asked),
            (Some(_), Some(_)) => bail!(
                "-o {}: the name tells another format than the flag; leave the flag out, or end the \
                 name otherwise",
                path.display()
            ),
            (None, None) => bail!(
                "-o {}: a report is a page (.html), Markdown (.md) or JSON (.json); end the name in \
                 one of these. Browsers print a page as PDF",
                path.display()
            ),
        }
    }
}

fn default_output(dump: &Path) -> anyhow::Result<PathBuf> {
    let name = dump.file_name().filter(|_| dump != Path::new("-"));
    let mut name = name.context("give a file for the page with -o")?.to_owned();
    name.push(".html");
    Ok(PathBuf::from(name))
}
