//! `hprof-rs stacks`: what threads do, from thread dumps or from a running JVM.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use hprof_thread_dumps::{Dumps, Report};
use serde_json::json;

use super::convert::write_whole;
use crate::jvm::pick;
use crate::memory::MemoryArgument;
use crate::render::foreign;
use crate::render::out::tell;
use crate::render::screen::{Style, count, print, print_json};
use crate::sheet;
use crate::thread_dumps::{self, text};
use crate::written;

/// Show what threads do, from thread dumps or a running JVM: equal stacks, pools, locks, deadlocks.
///
/// Reads what jstack, jcmd PID Thread.print and kill -3 print (JDK 8 to 25), also in the middle of a program's
/// log, and the files of jcmd PID Thread.dump_to_file, which have virtual threads. Recordings of Flight
/// Recorder (JFR) hold dumps too. Also reads dumps of VisualVM and other JMX tools, Spring Boot's threaddump,
/// ThreadInfo.toString, jhsdb jstack, and javacores of OpenJ9. Several dumps of one program show what moved: CPU time in between, and
/// threads that stay in one place.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Stacks {
    /// A process id or a program's name, as `hprof-rs ps` shows them, whose JVM is asked for a dump; or files with dumps
    /// (text, JSON, JFR), oldest first, plain or compressed; `-` for standard input.
    #[arg(value_name = "PID|NAME|FILE", required = true)]
    from: Vec<PathBuf>,

    /// With a PID: how many dumps to take.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    dumps: u32,

    /// With a PID: the pause between dumps, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,

    /// Show the tables of this dump instead of the last, and what moved up to it; the first is 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    dump: Option<u64>,

    /// The number of groups, pools and locks to show, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Write a page (.html) or JSON (.json) to this file.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    memory: MemoryArgument,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs stacks 4242                              what the threads of a JVM do now
  hprof-rs stacks 4242 --dumps 3 --interval 5       and what moves in ten seconds
  hprof-rs stacks app.log -o threads.html           dumps that kill -3 has left in a log
  hprof-rs stacks one.txt two.txt three.txt
  hprof-rs stacks recording.jfr --dump 2            the second dump of a recording, and what moved before
  hprof-rs stacks --json threads.json | jq .report.deadlocks
Virtual threads of a running JVM are shown too, and those of files by
  jcmd 4242 Thread.dump_to_file -format=json /tmp/threads.json
docs/stacks.md explains the tables.";

impl Stacks {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let form = sheet::form(self.output.as_deref(), self.json)?;
        let (mut dumps, mut notes) = match pid(&self.from)? {
            Some(pid) => self.take(pid)?,
            None => {
                ensure!(
                    self.dumps == 1,
                    "--dumps takes dumps of a running JVM; give its process id instead of a file"
                );
                thread_dumps::read(&self.from, self.memory)?
            }
        };
        self.choose(&mut dumps)?;
        let report = Report::of(&dumps);
        let names: Vec<String> = self
            .from
            .iter()
            .map(|from| from.display().to_string())
            .collect();
        notes.extend(thread_dumps::notes(&report));
        for note in &notes {
            tell!("hprof-rs: {note}");
        }
        let data = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "title": names.join(", "),
            "notes": notes,
            "report": report,
        });
        let Some(output) = self.output.filter(|output| output != Path::new("-")) else {
            return match form {
                sheet::Form::Json => print_json(&data),
                sheet::Form::Page => print(&sheet::STACKS.page(&data)?),
                sheet::Form::Text => print(&text::all(&report, self.top, Style::of_stdout())),
            };
        };
        let (text, next) = match form {
            sheet::Form::Page => (sheet::STACKS.page(&data)?, "open it in a browser"),
            _ => {
                let json = foreign::json(&serde_json::to_string_pretty(&data)?);
                (json, "look at it with `jq .report.deadlocks FILE`")
            }
        };
        write_whole(&output, text.as_bytes())
            .with_context(|| format!("cannot write {}", output.display()))?;
        written::say(&output, next);
        Ok(ExitCode::SUCCESS)
    }

    /// Leaves out the dumps after that which is asked for.
    fn choose(&self, dumps: &mut Dumps) -> anyhow::Result<()> {
        if let Some(number) = self.dump.and_then(|it| usize::try_from(it).ok()) {
            let there = dumps.dumps.len();
            ensure!(
                number <= there,
                "--dump {number}: there {}",
                match there {
                    1 => "is one dump".to_owned(),
                    _ => format!("are {} dumps", count(there as u64)),
                }
            );
            dumps.dumps.truncate(number);
        }
        Ok(())
    }

    /// Takes dumps of a running JVM.
    fn take(&self, pid: u32) -> anyhow::Result<(Dumps, Vec<String>)> {
        let mut dumps = Dumps::default();
        let mut notes = Vec::new();
        for number in 0..self.dumps {
            if number > 0 {
                thread::sleep(Duration::from_secs(self.interval));
            }
            let text = match thread_dumps::take(pid) {
                Ok(text) => text,
                Err(error) if number > 0 => {
                    tell!("hprof-rs: dump {} of {}: {error:#}", number + 1, self.dumps);
                    break;
                }
                Err(error) => return Err(error),
            };
            dumps.add(text.as_bytes())?;
            notes.extend(thread_dumps::add_virtual_threads(pid, &mut dumps));
            if self.dumps > 1 {
                tell!(
                    "hprof-rs: took dump {} of {}",
                    number + 1,
                    count(u64::from(self.dumps))
                );
            }
        }
        notes.dedup();
        Ok((dumps, notes))
    }
}

/// The process that is meant, if it is one: a process id or a program's name that no file has.
///
/// # Errors
/// If several JVMs have that name.
fn pid(from: &[PathBuf]) -> anyhow::Result<Option<u32>> {
    let found = match from {
        [one] => pick::instead_of_file(one),
        _ => None,
    };
    found.transpose().map_err(anyhow::Error::msg)
}
