//! `hprof-rs record`: from a process id or a command to a flame graph, and nothing left behind.

mod aliases;
mod launched;
mod profile;
#[cfg(feature = "capture")]
mod pushing;
#[cfg(not(feature = "capture"))]
#[path = "not_pushing.rs"]
mod pushing;
mod screen;
mod session;
mod windows;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use hprof_server::live::{Machine, Mode, Pid, Refused, check_options};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::convert;
use crate::attach;
use crate::measure::OwnArgument;
use crate::serve::LocalMachine;
use crate::sources::PageSourcesArgument;
use aliases::Aliases;
pub use launched::of_run;
pub use pushing::PushOptions;
use session::Session;
use words::duration;
/// Record a JVM, and write a flame graph.
///
/// The command loads the agent into a running JVM, records until the time is over or Ctrl+C, writes the
/// file, and takes the agent out again. Nothing is left in the JVM or in its folders; in a container the
/// agent's library stays in /tmp. Where the JVM ends first, the file has what was recorded until then.
/// With -- COMMAND the command starts the program and records it from its start to its end.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "\
    hprof-rs record [OPTIONS] <PID>\n       hprof-rs record [OPTIONS] -- <COMMAND>...")]
pub struct Record {
    /// The JVM's process id, or a part of its program's name, as `hprof-rs ps` shows them.
    #[arg(value_name = "PID", value_parser = crate::jvm::pick::pid,
        required_unless_present = "command")]
    pid: Option<u32>,

    /// A program to start, usually `java` and its arguments. Its first JVM is recorded.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid")]
    command: Vec<OsString>,

    /// How long to record: 30, 30s, 5m, 1h [default: until Ctrl+C or the end].
    #[arg(short, long, alias = "seconds", value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,

    /// The output; the ending of its name selects the format, as for `convert`. %t becomes the time in UTC,
    /// %p the process id [default: PROGRAM-PID.html].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write a file for each time of this length, without end; the output's name needs %t.
    #[arg(long = "loop", value_name = "TIME", value_parser = duration, requires = "output")]
    each: Option<Duration>,

    /// With --loop: the files that stay; older ones are removed.
    #[arg(long, value_name = "N", default_value_t = 60, requires = "each",
        value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,

    /// Record CPU samples; the default if no other mode is named.
    #[arg(long)]
    cpu: bool,

    /// Record all threads on the wall clock, waiting ones too: the outermost frame of each stack is the state of its
    /// thread.
    #[arg(long, conflicts_with_all = ["cpu", "all"])]
    wall: bool,

    /// Record allocations, one in 512 kB.
    #[arg(long)]
    alloc: bool,

    /// Record what threads wait for: contended locks.
    #[arg(long)]
    lock: bool,

    /// Count every call, with CPU time, instead of samples. The program is slower meanwhile; include= and exclude= in --options
    /// choose classes, and only calls that begin while it is recorded count.
    #[arg(long, conflicts_with_all = ["cpu", "wall", "all"])]
    calls: bool,

    /// Record who allocates memory outside of the heap (malloc, direct buffers, zlib) and what is still held: one allocation in SIZE
    /// bytes [default: 512k].
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "512k",
        value_parser = aliases::bytes, conflicts_with_all = ["alloc", "all"])]
    native: Option<u64>,

    /// Record who waits for mutexes and read-write locks of native code, the JVM's own too, and how long: every wait, or with a time
    /// such as 100us those that are as long or longer.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "y",
        value_parser = aliases::native_locks)]
    native_locks: Option<String>,

    /// Record CPU samples, allocations and locks.
    #[arg(long, conflicts_with_all = ["cpu", "alloc", "lock"])]
    all: bool,

    /// Also time every call of these methods: com.acme.Api.handle or com.acme.Db.*, span.checkout for a span that the
    /// program names, with :200ms or :p99 for what is slow; may be repeated. The slowest calls are listed at the end; a file that
    /// ends in .txt has them for `hprof-rs slow`.
    #[arg(long, value_name = "METHOD")]
    slow: Vec<String>,

    /// More options of the agent, such as `interval=1` or `depth=200`.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true
    )]
    options: String,

    #[command(flatten)]
    aliases: Aliases,

    #[command(flatten)]
    own: OwnArgument,

    #[command(flatten)]
    sources: PageSourcesArgument,

    #[command(flatten)]
    pushing: PushOptions,

    /// Open the file in a browser.
    #[arg(long)]
    open: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs record 4242 -d 30 -o cpu.html          a flame graph of half a minute
  hprof-rs record 4242 --all -o all.html          CPU, allocations and locks, until Ctrl+C
  hprof-rs record 4242 -d 10 --wall --options 'filter=http-*' -o wall.html
                                                  where the threads named http-... wait
  hprof-rs record 4242 -d 10 --calls --options 'include=com.acme' -o calls.html
                                                  how often each method is called, counted exactly
  hprof-rs record 4242 -d 60 --slow com.acme.Api.handle:200ms -o api.hprof.txt
                                                  the slow calls of a method, and what they do
  hprof-rs record 4242 -d 30 -e cpu,alloc -i 5ms -t -X 'jdk.internal.*' -o cpu.html
                                                  as async-profiler has it
  hprof-rs record 4242 -d 1m --alloc -o alloc.collapsed
  hprof-rs record 4242 -d 10 -o cpu.pb.gz         for pprof
  hprof-rs record --alloc -o mem.html -- java -jar app.jar
  hprof-rs record 4242 -d 5m --native -o native.html
                                                  who holds memory outside of the heap
  hprof-rs record 4242 -d 30 --native-locks -o locks.html
                                                  who waits for locks of the JVM and of native libraries
  hprof-rs record 4242 --loop 60s --keep 120 -o 'app-%t.html'
                                                  the last two hours, a file for each minute
  hprof-rs record 4242 --push http://localhost:4318 --every 10s
                                                  to OpenTelemetry's collector, a profile for each 10 s

A JVM can be recorded any number of times, in each mode.";

impl Record {
    pub(super) fn execute(mut self) -> anyhow::Result<ExitCode> {
        self.take_aliases()?;
        if self.wall {
            self.options.insert_str(0, "cpu=wall,");
        }
        if !self.slow.is_empty() {
            let slow = format!("slow={},", self.slow.join(":"));
            self.options.insert_str(0, &slow);
        }
        // The samples with their times would be those of all stacks.
        if self.modes().contains(&Mode::Cpu) && !self.aliases.selects() {
            // What the user says counts, as it comes later.
            self.options.insert_str(0, "timeline=y,");
        }
        if let Some(bytes) = self.native {
            self.options.insert_str(0, &format!("native={bytes},"));
        }
        if let Some(threshold) = &self.native_locks {
            let option = format!("nativelock={threshold},");
            self.options.insert_str(0, &option);
        }
        check_options(&self.options, &self.modes()).map_err(anyhow::Error::msg)?;
        self.check_output()?;
        let jvm = self.pid.map(jvm).transpose()?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The second signal ends the command at once.
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        let session = Session::new(&self, stop)?;
        match jvm {
            Some(pid) => {
                attach::sweep();
                session.attach(pid)
            }
            None => session.launch(),
        }
    }

    /// Finds mistakes before anything is touched.
    fn check_output(&self) -> anyhow::Result<()> {
        self.sources.check(self.output.as_deref())?;
        let Some(output) = &self.output else {
            return Ok(());
        };
        let name = convert::check_name(output)?;
        if self.each.is_some() && !name.contains("%t") {
            bail!("--loop writes many files: add %t to the name of the output, as in app-%t.html");
        }
        let folder = output.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("there is no folder {}", folder.display());
        }
        // A file of this name is replaced, by one that is written beside it; a pipe or a device is written to.
        let is_special = output.metadata().is_ok_and(|found| !found.is_file());
        if !is_special {
            tempfile::tempfile_in(folder)
                .with_context(|| format!("cannot write to the folder {}", folder.display()))?;
        }
        Ok(())
    }

    /// Returns true if no mode but those of CPU time is named.
    fn has_no_mode(&self) -> bool {
        let has_native = self.native.is_some() || self.native_locks.is_some();
        !self.alloc && !self.lock && !self.calls && !has_native
    }

    fn modes(&self) -> Vec<Mode> {
        let wanted = [
            (
                Mode::Cpu,
                self.cpu || self.wall || self.all || self.has_no_mode(),
            ),
            (Mode::Calls, self.calls),
            (Mode::Alloc, self.alloc || self.all),
            (Mode::Lock, self.lock || self.all),
            (Mode::Native, self.native.is_some()),
            (Mode::NativeLock, self.native_locks.is_some()),
        ];
        let wanted = wanted.into_iter();
        wanted.filter_map(|(mode, on)| on.then_some(mode)).collect()
    }
}

/// A JVM that can be recorded.
fn jvm(pid: u32) -> anyhow::Result<Pid> {
    let facts = LocalMachine.jvm(Pid(pid)).map_err(refused)?;
    match facts.refusal {
        None => Ok(facts.pid),
        Some(why) => bail!("{why}"),
    }
}

fn refused(refused: Refused) -> anyhow::Error {
    anyhow::Error::msg(refused.text)
}
