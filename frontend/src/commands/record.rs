//! `hprof-rs record`: from a process id to a flame graph, and nothing left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, Parser};
use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::Weights;
use hprof_platform::events::Events;
use hprof_platform::live::{JvmFacts, JvmId, Live, Machine, Mode, Pid, Recording, check_options};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::convert;
use crate::cli::Cli;
use crate::export;
use crate::render::out::{self, tell};
use crate::render::screen::{count, percent, printable};
use crate::serve::LocalMachine;

/// Record a running JVM, and write a flame graph.
///
/// The command loads the agent, records until the time is over or Ctrl+C, writes the file, and takes the
/// agent out again. Nothing is left in the JVM or in its folders. Where the JVM ends first, the file has
/// what was recorded until then.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Record {
    /// The JVM's process id, as `hprof-rs ps` shows it.
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,

    /// How long to record: 30, 30s, 5m, 1h [default: until Ctrl+C].
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    duration: Option<Duration>,

    /// The output; the ending of its name selects the format, as for `convert`
    /// [default: PROGRAM-PID.html].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

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

    /// Record CPU samples, allocations and locks.
    #[arg(long, conflicts_with_all = ["cpu", "alloc", "lock"])]
    all: bool,

    /// More options of the agent, such as `interval=1` or `depth=200`.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true
    )]
    options: String,

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
  hprof-rs record 4242 -d 1m --alloc -o alloc.collapsed
  hprof-rs record 4242 -d 10 -o cpu.pb.gz         for pprof

Allocations and locks can be recorded once in the life of a JVM, CPU samples any number of times.
A program that is to be profiled from its start: hprof-rs run --agent cpu=samples,file=cpu.html -- java App";

/// How often the methods on the screen are counted anew.
const TICK: Duration = Duration::from_millis(250);
/// Methods on the screen.
const TOP: usize = 5;

impl Record {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let modes = self.modes();
        let options = match self.wall {
            true => format!("cpu=wall,{}", self.options),
            false => self.options.clone(),
        };
        check_options(&options).map_err(anyhow::Error::msg)?;
        let machine = LocalMachine;
        let facts = machine.jvm(Pid(self.pid)).map_err(refused)?;
        if let Some(why) = &facts.refusal {
            bail!("{why}");
        }
        let output = self.output.clone().unwrap_or_else(|| default_name(&facts));
        let argument = convert::check_name(&output)?;
        let folder = output.parent().filter(|folder| *folder != Path::new(""));
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!("there is no folder {}", folder.display());
        }
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The second signal ends the command at once.
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        // For its user alone.
        let folder = tempfile::Builder::new().prefix("hprof-rs-").tempdir()?;
        let events = Arc::new(Events::default());
        let live = Live::new(Arc::new(machine), None, folder.path(), events);
        let id = JvmId::Process(Pid(self.pid));
        live.attach(id, &modes, &options).map_err(refused)?;
        let recording = live.recording(id).context("the recording has gone")?;
        self.watch(&recording, &stop);
        if recording.is_live()
            && let Err(late) = live.detach(&recording)
        {
            tell!("hprof-rs: {}", printable(&late.text));
        }
        let status = recording.status();
        if let Some(ended) = status.ended.filter(|why| !why.contains("was detached")) {
            tell!(
                "hprof-rs: {} after {} s; the file has what was recorded until then",
                printable(&ended),
                status.seconds
            );
        }
        for note in &status.notes {
            tell!("hprof-rs: {}", printable(note));
        }
        let contents = recording.contents();
        if Weights::first_of(&contents).is_none() {
            bail!(
                "nothing was recorded in {} s: the program {}",
                status.seconds,
                match modes.contains(&Mode::Cpu) {
                    true => "was idle; --lock shows what its threads wait for",
                    false => "did nothing that these modes count",
                }
            );
        }
        self.write(&contents, &facts, status.seconds, &argument, folder.path())?;
        if self.open {
            open(&output);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn modes(&self) -> Vec<Mode> {
        let wanted = [
            (
                Mode::Cpu,
                self.cpu || self.wall || self.all || !self.alloc && !self.lock,
            ),
            (Mode::Alloc, self.alloc || self.all),
            (Mode::Lock, self.lock || self.all),
        ];
        let wanted = wanted.into_iter();
        wanted.filter_map(|(mode, on)| on.then_some(mode)).collect()
    }

    /// Shows the methods with the highest costs until the end.
    fn watch(&self, recording: &Recording, stop: &AtomicBool) {
        let began = Instant::now();
        let bar = self.bar(&recording.facts);
        let mut revision = 0;
        while recording.is_live() && !stop.load(Ordering::Relaxed) {
            let past = began.elapsed();
            if self.duration.is_some_and(|limit| past >= limit) {
                break;
            }
            // Somebody who looks gets a look each second.
            recording.touch();
            bar.set_position(past.as_secs());
            let now = recording.status().revision;
            if now != revision && !bar.is_hidden() {
                revision = now;
                bar.set_message(top(&recording.contents()));
            }
            let left = self.duration.map_or(TICK, |limit| limit - past);
            std::thread::sleep(left.min(TICK));
        }
        bar.finish_and_clear();
    }

    fn bar(&self, facts: &JvmFacts) -> ProgressBar {
        let until = match self.duration {
            Some(limit) => format!("for {} s", limit.as_secs()),
            None => "until Ctrl+C".to_owned(),
        };
        if !out::tells_terminal() {
            tell!("hprof-rs: recording {} {until}", printable(&facts.name));
            return ProgressBar::hidden();
        }
        let length = self.duration.map(|limit| limit.as_secs());
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(4));
        let template = match length {
            Some(_) => "recording {prefix}: {pos} of {len} s, Ctrl+C ends it{msg}",
            None => "recording {prefix}: {pos} s, Ctrl+C ends it{msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(printable(&facts.name));
        bar
    }

    /// Writes the file, as `convert` does.
    fn write(
        &self,
        contents: &Contents,
        facts: &JvmFacts,
        seconds: u64,
        output: &str,
        folder: &Path,
    ) -> anyhow::Result<()> {
        let mut text = Vec::new();
        export::hprof::text(contents, &mut text)?;
        // Pages show the name.
        let profile = folder.join(default_name(facts)).with_extension("hprof.txt");
        fs::write(&profile, &text)?;
        let from = profile
            .to_str()
            .context("a temporary name that is no text")?;
        let title = format!("{} ({}), {seconds} s", printable(&facts.name), facts.pid);
        let arguments = ["hprof-rs", "convert", "--title", &title, "-o", output, from];
        Cli::try_parse_from(arguments)?.command.execute()?;
        Ok(())
    }
}

fn refused(refused: hprof_platform::live::Refused) -> anyhow::Error {
    anyhow::Error::msg(refused.text)
}

/// The methods that cost most by themselves, a line each.
fn top(contents: &Contents) -> String {
    let Some(weights) = Weights::first_of(contents) else {
        return String::new();
    };
    let mut costs = std::collections::HashMap::<String, u64>::new();
    for row in &weights.rows {
        let frames = contents.stacks.frames_of(row.trace);
        let name = frames
            .first()
            .map(|&frame| contents.stacks.frame(frame).name());
        *costs.entry(name.unwrap_or_default()).or_default() += row.value;
    }
    let mut rows: Vec<(u64, String)> = costs.into_iter().map(|(name, cost)| (cost, name)).collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut text = format!(", {} {}", count(weights.total), weights.measure.unit());
    for (cost, name) in rows.iter().take(TOP) {
        let name = match name.as_str() {
            "" => "no Java frame",
            name => name,
        };
        let share = percent(*cost, weights.total);
        text.push_str(&format!("\n{share:>7}  {}", printable(name)));
    }
    text
}

/// A name from the program's: letters, digits, `.`, `_` and `-` only.
fn default_name(facts: &JvmFacts) -> PathBuf {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = facts.name.rsplit('/').next().unwrap_or_default();
    let archive = [".jar", ".war"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let name = archive
        .or_else(|| name.rsplit('.').next())
        .unwrap_or_default();
    let name: String = name.chars().filter(|&c| good(c)).take(60).collect();
    let name = match name.trim_start_matches(['-', '.']) {
        "" => "profile",
        name => name,
    };
    PathBuf::from(format!("{name}-{}.html", facts.pid))
}

/// A time: seconds, or a number with s, m or h.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || "a time is a number of seconds, or a number with s, m or h: 30, 90s, 5m, 1h".to_owned();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, text.as_bytes().last().copied()),
        None => (text, None),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        Some(b'm') => number.checked_mul(60),
        Some(b'h') => number.checked_mul(3600),
        _ => Some(number),
    };
    match seconds {
        Some(seconds @ 1..=604_800) => Ok(Duration::from_secs(seconds)),
        _ => Err("a time is from 1 second to a week".to_owned()),
    }
}

/// Opens a file as the desktop does.
fn open(path: &Path) {
    let mut command = Command::new("xdg-open");
    command.arg(path);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tell!(
            "hprof-rs: cannot open {} by xdg-open: {error}",
            path.display()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_minutes_hours() {
        let seconds = |text: &str| duration(text).map(|it| it.as_secs());
        assert_eq!(seconds("30"), Ok(30));
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("5m"), Ok(300));
        assert_eq!(seconds("2h"), Ok(7200));
        for text in [
            "",
            "0",
            "s",
            "1d",
            "-1",
            "1.5",
            "99999999999999999999",
            "1000h",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    fn named(name: &str) -> String {
        let facts = JvmFacts {
            pid: Pid(42),
            began: 0,
            name: name.to_owned(),
            version: None,
            user: String::new(),
            uptime: None,
            resident: 0,
            refusal: None,
            apart: None,
            has_agent: false,
            in_container: false,
        };
        default_name(&facts).display().to_string()
    }

    #[test]
    fn the_name_of_a_program_becomes_one_of_a_file() {
        assert_eq!(named("com.acme.Main"), "Main-42.html");
        assert_eq!(named("../../x y/../-rf"), "rf-42.html");
        assert_eq!(named("/opt/app.jar"), "app-42.html");
        assert_eq!(named(""), "profile-42.html");
    }
}
