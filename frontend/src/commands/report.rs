//! `hprof-rs report`: all about a heap dump on one page.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use hprof_analysis::whole_file::WholeFile;

use crate::render::foreign;
use crate::render::out::tell;
use crate::render::screen::{print, print_json};
use crate::report::{Report, html, markdown};
use crate::snapshot::{self, HeapArguments};

/// Write a report on a heap dump: leak suspects, a map of what keeps the heap alive, classes,
/// packages, loaders, threads with stacks and locals, equal strings, system properties.
///
/// The page needs no other file and no network. Values of properties whose names speak of secrets
/// are masked; other texts of the program are in it as they were in memory.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportCommand {
    #[command(flatten)]
    heap: HeapArguments,

    /// Where to write the page [default: the dump's name with `.html`].
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Print JSON instead.
    #[arg(long)]
    json: bool,

    /// Print Markdown instead.
    #[arg(long, conflicts_with = "json")]
    md: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs report heap.hprof -o report.html
  hprof-rs report --md heap.hprof > report.md
  hprof-rs report --json heap.hprof | jq '.summary'
docs/report-schema.md describes the JSON.";

impl ReportCommand {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let snapshot = snapshot::open(&self.heap.file, &self.heap.look)?;
        let report = Report::new(&snapshot)?;
        if self.json && self.output.is_none() {
            return print_json(&report);
        }
        if self.md && self.output.is_none() {
            return print(&markdown(&report));
        }
        let text = if self.json {
            foreign::json(&serde_json::to_string_pretty(&report)?)
        } else if self.md {
            foreign::page(&markdown(&report))
        } else {
            foreign::markup(&html(&report)?)
        };
        let output = match self.output {
            Some(output) => output,
            None => default_output(&self.heap.file)?,
        };
        if output == Path::new("-") {
            return print(&text);
        }
        write(&output, &text).with_context(|| format!("cannot write {}", output.display()))?;
        tell!("hprof-rs: wrote {}", output.display());
        Ok(ExitCode::SUCCESS)
    }
}

fn default_output(dump: &Path) -> anyhow::Result<PathBuf> {
    let name = dump.file_name().filter(|_| dump != Path::new("-"));
    let mut name = name.context("give a file for the page with -o")?.to_owned();
    name.push(".html");
    Ok(PathBuf::from(name))
}

/// Writes a file that appears under its name when it is complete.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // What dumps hold is best left to its owner, unless a file of that name was open to others
    // before.
    let mode = fs::metadata(path).map_or(0o600, |found| found.permissions().mode());
    let mut file = WholeFile::for_path(path, 0o600)?;
    file.file_mut().write_all(text.as_bytes())?;
    file.file()
        .set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
    file.publish(path)?;
    Ok(())
}
