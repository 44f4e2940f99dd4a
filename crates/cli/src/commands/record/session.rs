//! One call of `record`: attaches or launches, watches, and writes files.

use std::cell::Cell;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::{Measure, Weights};
use hprof_server::events::Events;
use hprof_server::live::{End, JvmFacts, JvmId, Live, MAX_TIMES, Mode, Pid, Recording};
use hprof_server::{TemporaryFolder, temporary_folder};
use hprof_stacks::events::Chunk;
use jiff::{SignedDuration, Timestamp};
use rustix::process::{Signal, kill_process};

use super::profile::{has_any, keep, profile_text};
use super::pushing::{Delivery, Pushing};
use super::screen::Screen;
use super::windows::Windows;
use super::words::{default_name, of_window};
use super::{Record, refused};
use crate::agent_library;
use crate::cli::Cli;
use crate::commands::{convert, slow_calls};
use crate::export;
use crate::launch::{Launch, TOOL_OPTIONS};
use crate::render::out::tell;
use crate::render::screen::{count, printable, printable_lines};
use crate::serve::LocalMachine;

/// How often the methods on the screen are counted anew.
const TICK: Duration = Duration::from_millis(250);
/// How often a program that has started no JVM yet is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The user's request, and the state of it.
pub struct Session<'a> {
    record: &'a Record,
    live: Live,
    folder: TemporaryFolder,
    stop: Arc<AtomicBool>,
    modes: Vec<Mode>,
    windows: Option<Windows>,
    pushing: Option<Pushing>,
    /// Samples with their times that no file has yet.
    times: Vec<Chunk>,
    /// There are more of them than memory is meant for.
    are_times_full: bool,
    is_written: bool,
    /// There were costs, of stacks alone that are not to be written.
    is_filtered_out: bool,
    /// The program was told to end.
    is_passed_on: Cell<bool>,
}

impl<'a> Session<'a> {
    /// Nothing is recorded yet. Ends when `stop` is set.
    pub fn new(record: &'a Record, stop: Arc<AtomicBool>) -> anyhow::Result<Self> {
        let pushing = record.pushing.start(record.each)?;
        if pushing.is_some() && record.open && record.output.is_none() {
            bail!("--open opens a file, and --push alone writes none: add -o FILE");
        }
        // For its user alone.
        let folder = temporary_folder("")?;
        let events = Arc::new(Events::default());
        let keeps = usize::try_from(record.keep).unwrap_or(usize::MAX);
        Ok(Self {
            record,
            live: Live::new(Arc::new(LocalMachine), None, folder.path(), events),
            folder,
            stop,
            modes: record.modes(),
            windows: record.each.map(|each| Windows::new(each, keeps)),
            pushing,
            times: Vec::new(),
            are_times_full: false,
            is_written: false,
            is_filtered_out: false,
            is_passed_on: Cell::new(false),
        })
    }

    /// Records a running JVM.
    pub fn attach(mut self, pid: Pid) -> anyhow::Result<ExitCode> {
        let id = JvmId::Process(pid);
        let attached = self.live.attach(id, &self.modes, &self.record.options);
        attached.map_err(refused)?;
        let recording = self.live.recording(id).context("the recording has gone")?;
        self.watch(&recording, None);
        let written = self.finish(&recording);
        // What goes to the receiver does not depend on the file.
        let is_delivered = self.deliver();
        written?;
        Ok(ExitCode::from(u8::from(!is_delivered)))
    }

    /// Starts a program, and records it. Its exit status is that of this command.
    pub fn launch(mut self) -> anyhow::Result<ExitCode> {
        let launching = self.live.prepare(&self.modes, &self.record.options);
        let launching = launching.map_err(refused)?;
        let Some((program, arguments)) = self.record.command.split_first() else {
            bail!("there is no command to run");
        };
        let present = std::env::var_os(TOOL_OPTIONS);
        let library = agent_library::unpack()?;
        let options = &launching.options;
        let launch = Launch::new(program, arguments, &library, options, present.as_deref());
        let mut child = launch
            .command()
            .spawn()
            .with_context(|| format!("cannot run {}", program.to_string_lossy()))?;
        let recording = loop {
            match self.live.launched(&launching, LOOK) {
                Ok(Some(recording)) => break Ok(recording),
                Ok(None) => {}
                Err(why) => break Err(refused(why)),
            }
            self.pass_on(&child);
            if let Some(status) = child.try_wait()? {
                tell!(
                    "hprof-rs: nothing was recorded: the command has started no JVM with the agent"
                );
                return Ok(code(status).unwrap_or(ExitCode::FAILURE));
            }
        };
        launching.ignore_others();
        // Whatever becomes of the recording, the program runs to its end.
        let written = recording.and_then(|recording| {
            self.watch(&recording, Some(&child));
            self.finish(&recording)
        });
        if let Err(error) = &written {
            tell!("hprof-rs: {error:#}");
        }
        let status = loop {
            self.pass_on(&child);
            match child.try_wait()? {
                Some(status) => break status,
                None => std::thread::sleep(LOOK),
            }
        };
        let is_delivered = self.deliver();
        let failed = ExitCode::from(u8::from(written.is_err() || !is_delivered));
        Ok(code(status).unwrap_or(failed))
    }

    /// Ends the program if this command was told to end. A terminal's Ctrl+C has reached it already.
    fn pass_on(&self, child: &Child) {
        if self.stop.load(Ordering::Relaxed)
            && !self.is_passed_on.replace(true)
            && let Ok(number) = i32::try_from(child.id())
            && let Some(pid) = rustix::process::Pid::from_raw(number)
        {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Shows the methods with the highest costs until the end.
    fn watch(&mut self, recording: &Recording, child: Option<&Child>) {
        let began = Instant::now();
        let limit = self.record.duration;
        if let Some(pushing) = &mut self.pushing {
            pushing.begin(&recording.facts);
        }
        let mut screen = Screen::begin(recording, limit, child.is_some());
        while recording.is_live() {
            if self.stop.load(Ordering::Relaxed) {
                match child {
                    // Its end is the end of the recording, and it writes the rest.
                    Some(child) => self.pass_on(child),
                    None => break,
                }
            }
            let past = began.elapsed();
            if limit.is_some_and(|limit| past >= limit) {
                break;
            }
            // A user who watches gets a new picture each second.
            recording.touch();
            screen.show(recording, past);
            if self.windows.as_ref().is_some_and(Windows::is_due) {
                screen.aside(|| self.write_window(recording));
            }
            if self.pushing.as_ref().is_some_and(Pushing::is_due) {
                screen.aside(|| self.push(recording));
            }
            let left = limit.map_or(TICK, |limit| limit - past);
            std::thread::sleep(left.min(TICK));
        }
        screen.end();
    }

    /// A file that cannot be written does not end the recording.
    fn write_window(&mut self, recording: &Recording) {
        if let Err(error) = self.write(recording) {
            tell!(
                "hprof-rs: {error:#}; the recording continues, and the next file has this time too"
            );
        }
    }

    /// Where the output cannot be written, keeps what was recorded, or says what is lost.
    fn rescue(&mut self, recording: &Recording, error: anyhow::Error) -> anyhow::Error {
        let contents = self.all(recording);
        let contents = self.costs(contents);
        let mut text = Vec::new();
        let kept = export::hprof::text(&contents, &mut text).and_then(|()| keep(&text));
        let seconds = recording.status().seconds;
        match kept {
            Ok(path) => error.context(format!(
                "the output was not written, and what was recorded is in {0}: make room, then \
                 hprof-rs convert {0} -o FILE",
                path.display()
            )),
            Err(why) => {
                let all = Measure::ALL.into_iter();
                let lost = all.filter_map(|measure| Weights::of(&contents, measure));
                let lost = lost.map(|it| format!("{} {}", count(it.total), it.measure.unit()));
                let lost: Vec<String> = lost.collect();
                error.context(format!(
                    "{} of {seconds} s are lost, as neither the output nor a copy could be written ({why:#})",
                    lost.join(", ")
                ))
            }
        }
    }

    /// Returns true if there are to be files.
    fn writes_files(&self) -> bool {
        self.pushing.is_none() || self.record.output.is_some()
    }

    /// All costs; their times are kept for the file and the receiver.
    fn all(&mut self, recording: &Recording) -> Contents {
        let (contents, times) = recording.take();
        if let Some(pushing) = &mut self.pushing {
            pushing.add(&times);
        }
        let held = self.times.iter().chain(&times);
        let held: usize = held.map(Chunk::bytes).sum();
        if self.writes_files() && held <= MAX_TIMES {
            self.times.extend(times);
        } else if self.writes_files() && !self.are_times_full {
            self.are_times_full = true;
            tell!(
                "hprof-rs: {} MB of times are held for the file; later samples are in its sums alone",
                MAX_TIMES >> 20
            );
        }
        contents
    }

    /// The costs that no file has yet.
    fn costs(&mut self, contents: Contents) -> Contents {
        match &mut self.windows {
            Some(windows) => windows.take(contents),
            None => contents,
        }
    }

    /// Takes the agent out, and writes what is not written yet.
    fn finish(&mut self, recording: &Recording) -> anyhow::Result<()> {
        if recording.is_live()
            && let Err(late) = self.live.detach(recording)
        {
            tell!("hprof-rs: {}", printable_lines(&late.text));
        }
        let status = recording.status();
        let ended = status.ended.filter(|why| !matches!(why, End::Requested(_)));
        if let Some(ended) = ended.filter(|_| self.record.pid.is_some()) {
            tell!(
                "hprof-rs: {} after {} s; the file has what was recorded until then",
                printable_lines(&ended.to_string()),
                status.seconds
            );
        }
        for note in &status.notes {
            tell!("hprof-rs: {}", printable_lines(note));
        }
        for why in &status.nothing {
            tell!("hprof-rs: {}", printable_lines(why));
        }
        self.tell_slow(recording);
        let is_written = self.write(recording);
        self.push(recording);
        let is_written = is_written.map_err(|error| self.rescue(recording, error))?;
        let is_pushed = self.pushing.as_ref().is_some_and(Pushing::has_any);
        if !is_written && !self.is_written && !is_pushed {
            if self.is_filtered_out {
                let what = match self.writes_files() {
                    true => "no file was written",
                    false => "nothing was sent",
                };
                bail!(
                    "{what}: {} s were recorded, and no stack has what --include and --exclude ask for",
                    status.seconds
                );
            }
            if !status.nothing.is_empty() {
                bail!(
                    "nothing was recorded in {} s, for the reason above",
                    status.seconds
                );
            }
            bail!(
                "nothing was recorded in {} s: the program {}",
                status.seconds,
                match self.modes.contains(&Mode::Cpu) {
                    true => "was idle; --wall shows where its threads wait, --lock for which locks",
                    false => "did nothing that these modes count",
                }
            );
        }
        Ok(())
    }

    /// Lists the timed calls, if they were wanted.
    fn tell_slow(&self, recording: &Recording) {
        if self.record.slow.is_empty() {
            return;
        }
        let text = slow_calls(&recording.slow());
        text.lines().for_each(|line| tell!("{line}"));
    }

    /// Writes what was recorded since the last file; false if that is nothing.
    fn write(&mut self, recording: &Recording) -> anyhow::Result<bool> {
        if !self.writes_files() {
            return Ok(false);
        }
        let facts = &recording.facts;
        let contents = self.all(recording);
        let mut contents = self.costs(contents);
        if !has_any(&contents) {
            return Ok(false);
        }
        self.record.aliases.select(&mut contents);
        if !has_any(&contents) {
            self.is_filtered_out = true;
            return Ok(false);
        }
        let output = self.record.output.clone();
        let output = output.unwrap_or_else(|| default_name(facts));
        let output = convert::check_name(&output)?;
        let mut now = Timestamp::now();
        let name_of = |now| of_window(&output, facts.pid.0, now);
        // The last file may follow the one before within a second.
        let has = |name: &str| self.windows.as_ref().is_some_and(|it| it.has(name));
        while has(&name_of(now)) {
            now += SignedDuration::from_secs(1);
        }
        let output = name_of(now);
        let seconds = match self.record.each {
            Some(each) => each.as_secs(),
            None => recording.status().seconds,
        };
        self.write_file(&contents, facts, seconds, &output)?;
        self.times.clear();
        self.are_times_full = false;
        self.is_written = true;
        let written = PathBuf::from(&output);
        if self.record.open {
            open(&written);
        }
        let old = self.windows.as_mut().map(|it| it.wrote(written));
        for old in old.unwrap_or_default() {
            if let Err(error) = fs::remove_file(&old) {
                tell!("hprof-rs: cannot remove {}: {error}", old.display());
            }
        }
        Ok(true)
    }

    /// Gives the sender what was recorded since the last time.
    fn push(&mut self, recording: &Recording) {
        if self.pushing.is_none() {
            return;
        }
        let contents = self.all(recording);
        let Some(pushing) = &mut self.pushing else {
            return;
        };
        let mut contents = pushing.take(contents);
        let has_costs = has_any(&contents);
        self.record.aliases.select(&mut contents);
        if !has_any(&contents) {
            self.is_filtered_out |= has_costs;
            pushing.skip();
            return;
        }
        let name = printable(&recording.facts.name);
        pushing.send(&name, |times| profile_text(&contents, times));
    }

    /// Waits until the receiver has taken what was recorded. Returns true if it has taken all; if not, what no file has is
    /// kept.
    fn deliver(&mut self) -> bool {
        let has_file = self.writes_files();
        let Some(pushing) = self.pushing.take() else {
            return true;
        };
        let profile = match pushing.finish() {
            Delivery::All => return true,
            Delivery::Part(profile) => profile,
        };
        if let Some(profile) = profile.filter(|_| !has_file) {
            match keep(&profile) {
                Ok(path) => tell!(
                    "hprof-rs: what was recorded is in {0}: hprof-rs push {0} URL sends it",
                    path.display()
                ),
                Err(why) => tell!("hprof-rs: what was recorded could not be kept: {why:#}"),
            }
        }
        false
    }

    /// Writes a file, as `convert` does.
    fn write_file(
        &self,
        contents: &Contents,
        facts: &JvmFacts,
        seconds: u64,
        output: &str,
    ) -> anyhow::Result<()> {
        let text = profile_text(contents, &self.times)?;
        if !self.record.slow.is_empty() && output.ends_with(".txt") {
            // As it is, it has the times of samples, by which those within slow calls are found.
            let path = Path::new(output);
            convert::write_whole(path, &text)
                .with_context(|| format!("cannot write {}", path.display()))?;
            let name = printable(output);
            tell!("hprof-rs: wrote {name}; next: hprof-rs slow {name}");
            return Ok(());
        }
        // Pages show the name.
        let profile = self.folder.path().join(default_name(facts));
        let profile = profile.with_extension("hprof.txt");
        fs::write(&profile, &text)?;
        let from = profile
            .to_str()
            .context("a temporary name that is no text")?;
        let title = format!("{} ({}), {seconds} s", printable(&facts.name), facts.pid);
        let mut arguments = vec!["hprof-rs", "convert", "--title", &title, "-o", output];
        let own = self.record.own.own.iter();
        arguments.extend(own.flat_map(|pattern| ["--own", pattern]));
        let sources = &self.record.sources;
        for folder in &sources.sources {
            let folder = folder
                .to_str()
                .context("--sources: a name that is no text")?;
            arguments.extend(["--sources", folder]);
        }
        arguments.extend(sources.editor.iter().flat_map(|it| ["--editor", it.word()]));
        arguments.extend(["--", from]);
        Cli::try_parse_from(arguments)?.command.execute()?;
        Ok(())
    }
}

/// The exit status of a program that has failed, as a shell has it.
fn code(status: ExitStatus) -> Option<ExitCode> {
    let number = status.code().or_else(|| status.signal().map(|it| 128 + it));
    let number = number.filter(|&number| number != 0)?;
    Some(ExitCode::from(u8::try_from(number).unwrap_or(1)))
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
