//! Opens and reads a file, with a progress bar when that takes long.

use crate::events;
use crate::from_jvm::{self, Readable};
use crate::left_out;
use crate::partly_read;
use crate::render::out::{self, tell};
use crate::render::screen::plural;
use crate::render::steps::{self, Step};
use crate::what_it_is;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use clap::Args;
use hprof_analysis::contents::{Contents, Dump, ReadOptions, read};
use hprof_analysis::input::{Compression, Input};
use hprof_analysis::stacks::Weights;
use hprof_stacks::Depth;
use hprof_stacks::slow_spans::CallsPart;
use hprof_stacks::timeline::Window;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::mapping::MappingArgument;
use crate::memory::{self, MemoryArgument};
use crate::window::{NoWindow, WindowArgument};

/// Smaller files are read before a bar could be looked at.
const SLOW: u64 = 64 << 20;

/// The file to read as it is.
#[derive(Debug, Args)]
pub struct PlainFileArgument {
    /// A heap dump or profile, binary or text, plain or compressed with gzip, zip, zstd, xz or
    /// bzip2, or the only one in a tar archive; `-` for standard input. Profiles of other tools too:
    /// JFR, collapsed, pprof, speedscope, Firefox Profiler, perf script.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Fail at the first damaged place instead of continuing after it.
    #[arg(long)]
    pub strict: bool,

    #[command(flatten)]
    pub memory: MemoryArgument,
}

/// The file to read, and the original names of its program.
#[derive(Debug, Args)]
pub struct FileArgument {
    #[command(flatten)]
    pub plain: PlainFileArgument,

    #[command(flatten)]
    pub mapping: MappingArgument,
}

impl FileArgument {
    /// Reads the file in one pass.
    ///
    /// # Errors
    /// If it cannot be opened, is no HPROF file, or with `--strict` is damaged.
    pub fn open(&self, with_heap: bool, largest: usize) -> anyhow::Result<Opened> {
        let mapping = self.mapping.read()?;
        let mut opened = self.plain.open(with_heap, largest)?;
        if let Some(mapping) = mapping {
            opened.contents.rename(&mapping);
        }
        Ok(opened)
    }

    /// Reads a part of the file's time in one pass, and says which.
    ///
    /// # Errors
    /// As [`Self::open`], or if the part cannot be had.
    pub fn open_part(
        &self,
        with_heap: bool,
        largest: usize,
        times: Times<'_>,
    ) -> anyhow::Result<Opened> {
        let mapping = self.mapping.read()?;
        let PlainFileArgument {
            file,
            strict,
            memory,
        } = &self.plain;
        let mut opened = open_part(file, with_heap, largest, *strict, *memory, times)?;
        if let Some(mapping) = mapping {
            opened.contents.rename(&mapping);
        }
        Ok(opened)
    }

    /// Reads the events of one type of a recording as a profile, and says which part of their time.
    ///
    /// # Errors
    /// As [`Self::open_part`], or if the file is no recording or has no such events with stacks.
    pub fn open_event(&self, asked: &str, times: Times<'_>) -> anyhow::Result<Opened> {
        let mapping = self.mapping.read()?;
        let mut opened = read_event(&self.plain, asked, times)?;
        if let Some(mapping) = mapping {
            opened.contents.rename(&mapping);
        }
        Ok(opened)
    }

    /// Reads a file whose objects are to be looked up, as [`PlainFileArgument::open_mapped`] does.
    ///
    /// # Errors
    /// As [`Self::open`], or if there is no room for the temporary file.
    pub fn open_mapped(&self) -> anyhow::Result<(Opened, Input)> {
        let mapping = self.mapping.read()?;
        let (mut opened, input) = self.plain.open_mapped()?;
        if let Some(mapping) = mapping {
            opened.contents.rename(&mapping);
        }
        Ok((opened, input))
    }
}

impl PlainFileArgument {
    /// Reads the file in one pass.
    ///
    /// # Errors
    /// If it cannot be opened, is no HPROF file, or with `--strict` is damaged.
    pub fn open(&self, with_heap: bool, largest: usize) -> anyhow::Result<Opened> {
        open(&self.file, with_heap, largest, self.strict, self.memory)
    }

    /// Reads a file whose objects are to be looked up, which takes several passes: what comes from
    /// a pipe or is compressed is unpacked into a temporary file first.
    ///
    /// # Errors
    /// As [`Self::open`], or if there is no room for the temporary file.
    pub fn open_mapped(&self) -> anyhow::Result<(Opened, Input)> {
        let input = open_input(&self.file, true)?;
        if input.mapped().is_some() {
            return Ok((self.open(true, 0)?, input));
        }
        let (name, file_bytes, compression) =
            (input.name.clone(), input.file_bytes, input.compression);
        let left_out = input.left_out.clone();
        self.memory.watch(&name);
        let bar = progress_bar(&input);
        // Without a name, so that nothing is left of it however this process ends.
        let mut unpacked = tempfile::tempfile().context("cannot unpack")?;
        let fail = || {
            format!(
                "cannot unpack {name} into {} (TMPDIR names another folder)",
                std::env::temp_dir().display()
            )
        };
        let mut reader = bar.wrap_read(input.into_reader());
        let mut damage = None;
        match std::io::copy(&mut reader, &mut unpacked) {
            Ok(_) => {}
            // What came before the damage can be looked at.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                if self.strict || unpacked.metadata()?.len() == 0 {
                    return Err(error).context(name);
                }
                damage = Some(error.to_string());
            }
            Err(error) => return Err(error).with_context(fail),
        }
        bar.finish_and_clear();
        let input = Input::of_file(&name, &unpacked)?;
        let all = Times::default();
        let mut opened = read_all(&self.file, input, true, 0, self.strict, self.memory, all)?;
        let input = Input::of_file(&name, &unpacked)?;
        opened.file_bytes = file_bytes;
        opened.compression = compression;
        opened.contents.lacks_elements = left_out.is_so();
        if let Some(damage) = damage {
            opened.contents.damage.note_first(damage);
        }
        Ok((opened, input))
    }
}

/// Which of several heap dumps in one file is meant.
#[derive(Debug, Clone, Args)]
pub struct DumpArgument {
    /// The number of the heap dump, if the file holds several [default: the last].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub dump: Option<u32>,
}

/// The contents of a file, and its name.
pub struct Opened {
    /// The name to show.
    pub name: String,
    /// The size of the file on disk.
    pub file_bytes: Option<u64>,
    /// How the file is compressed.
    pub compression: Compression,
    /// When the file was changed last.
    pub modified: Option<SystemTime>,
    /// The part of its time that was read; all of it, if there is none.
    pub window: Option<Window>,
    /// The type of events that was read, if only one was.
    pub event: Option<String>,
    /// Its contents.
    pub contents: Contents,
}

/// Reads a file in one pass.
///
/// # Errors
/// If it cannot be opened, is no HPROF file, or is damaged although `strict` is set.
pub fn open(
    path: &Path,
    with_heap: bool,
    largest: usize,
    strict: bool,
    memory: MemoryArgument,
) -> anyhow::Result<Opened> {
    let all = Times::default();
    open_part(path, with_heap, largest, strict, memory, all)
}

/// The part of a file's time to read.
#[derive(Clone, Copy, Default)]
pub struct Times<'a> {
    /// The part; all of the time, if there is none.
    pub window: Option<&'a WindowArgument>,
    /// The samples by the calls that they are in; all, if there is none.
    pub calls: Option<(CallsPart, &'a str)>,
    /// Costs are wanted with their times.
    pub are_wanted: bool,
    /// What each thread did when is wanted, too.
    pub lanes_are_wanted: bool,
}

/// Reads a part of a file's time in one pass, and says which.
///
/// # Errors
/// As [`open`], or if the part cannot be had.
pub fn open_part(
    path: &Path,
    with_heap: bool,
    largest: usize,
    strict: bool,
    memory: MemoryArgument,
    times: Times<'_>,
) -> anyhow::Result<Opened> {
    let input = open_input(path, with_heap)?;
    let opened = read_all(path, input, with_heap, largest, strict, memory, times)?;
    if let Some(window) = times.window {
        window.say(&opened.name, &opened.contents);
    }
    Ok(opened)
}

/// Opens a file; where heap dumps are read, that of a running JVM too.
fn open_input(path: &Path, with_heap: bool) -> anyhow::Result<Input> {
    let readable = match with_heap {
        true => from_jvm::heap_dump(path)?,
        false => Readable {
            path: path.to_owned(),
            name: None,
        },
    };
    let input = Input::open(&readable.path);
    let mut input = input.map_err(|error| what_it_is::explained(path, error.into()))?;
    if let Some(name) = readable.name {
        input.name = name;
    }
    Ok(input)
}

fn read_all(
    path: &Path,
    input: Input,
    with_heap: bool,
    largest: usize,
    strict: bool,
    memory: MemoryArgument,
    times: Times<'_>,
) -> anyhow::Result<Opened> {
    memory.watch(&input.name);
    let (name, file_bytes, compression) = (input.name.clone(), input.file_bytes, input.compression);
    let bar = progress_bar(&input);
    let length = input.mapped().map_or(0, |bytes| bytes.len() as u64);
    let step = Step::begin("reading", length);
    let window = times.window.filter(|window| window.is_given());
    let choose = |span| match window {
        Some(window) => window.of(span).map_err(Into::into),
        None => Err(NoWindow::NoTimes.into()),
    };
    let options = ReadOptions {
        largest,
        with_heap,
        strict,
        window: window.is_some().then_some(&choose),
        calls: times.calls,
        with_times: times.are_wanted,
        with_lanes: times.lanes_are_wanted,
        progress: &|bytes| {
            memory::has_read(bytes);
            bar.inc(bytes);
            step.add(bytes);
        },
        ..ReadOptions::default()
    };
    let contents = read(input, &options)
        .with_context(|| name.clone())
        .map_err(|error| what_it_is::explained(path, error))?;
    bar.finish_and_clear();
    partly_read::note(&name, &contents);
    Ok(Opened {
        name,
        file_bytes,
        compression,
        modified: std::fs::metadata(path).and_then(|it| it.modified()).ok(),
        window: window.and_then(|window| window.chosen(&contents)),
        event: None,
        contents,
    })
}

/// Reads the events of one type of a recording as a profile, and says which part of their time.
///
/// # Errors
/// As [`open_part`], or if the file is no recording or has no such events with stacks.
fn read_event(file: &PlainFileArgument, asked: &str, times: Times<'_>) -> anyhow::Result<Opened> {
    if times.calls.is_some() {
        anyhow::bail!(
            "--slow, --fast and --request choose samples, and no events of a type; leave --event out"
        );
    }
    file.memory.watch(&file.file.display().to_string());
    let recording = events::open_to_read(&file.file)?;
    let (name, of) = recording.with_stacks_of(asked)?;
    let window = times.window.filter(|window| window.is_given());
    let choose = |span| match window {
        Some(window) => window.of(span).map_err(Into::into),
        None => Err(NoWindow::NoTimes.into()),
    };
    let options = ReadOptions {
        strict: file.strict,
        window: window.is_some().then_some(&choose),
        with_times: times.are_wanted,
        ..ReadOptions::default()
    };
    let contents = recording.profile(name, of, &options);
    let contents = contents.with_context(|| recording.name().to_owned())?;
    partly_read::note(recording.name(), &contents);
    let opened = Opened {
        name: recording.name().to_owned(),
        file_bytes: recording.file_bytes,
        compression: recording.compression,
        modified: std::fs::metadata(&file.file)
            .and_then(|it| it.modified())
            .ok(),
        window: window.and_then(|window| window.chosen(&contents)),
        event: Some(name.to_owned()),
        contents,
    };
    if let Some(window) = times.window {
        window.say(&opened.name, &opened.contents);
    }
    Ok(opened)
}

/// A sign of life on standard error while a large file is walked over.
pub fn spinner(opened: &Opened, what: &'static str) -> ProgressBar {
    if opened.contents.bytes < SLOW || steps::are_told() || !out::tells_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    bar.set_message(what);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A bar on standard error if that is a terminal and the file is large.
pub fn progress_bar(input: &Input) -> ProgressBar {
    let is_slow = input.file_bytes.is_none_or(|bytes| bytes >= SLOW);
    if !is_slow || steps::are_told() || !out::tells_terminal() {
        return ProgressBar::hidden();
    }
    // The length is only known if the bytes in the file are those to be read.
    let length = input.mapped().map(|bytes| bytes.len() as u64);
    let template = match length {
        Some(_) => "{wide_bar} {percent:>3}% of {decimal_total_bytes}, {eta} left",
        None => "{spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if length.is_none() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}

/// How deep the stacks of a profile are, and how many were cut.
pub fn depth(opened: &Opened, weights: &Weights) -> Option<Depth> {
    let stated = opened.contents.settings.as_ref();
    let stated = stated.map(|settings| usize::from(settings.depth));
    Depth::of(&opened.contents.stacks, weights, stated)
}

/// Reports damage and missing parts of a file, and limits of its costs, on standard error; every command but `check` continues.
pub fn warn_of_damage(opened: &Opened) {
    let damage = &opened.contents.damage;
    if let Some(first) = damage.entries.first() {
        tell!("hprof-rs: {}: {}", opened.name, first.message);
        if damage.count > 1 {
            tell!(
                "hprof-rs: and {} more damaged places; `hprof-rs check` lists them",
                damage.count - 1
            );
        }
    }
    for part in left_out::by_counts(&opened.contents) {
        tell!("hprof-rs: {}: {part}", opened.name);
    }
    for note in &opened.contents.notes {
        tell!("hprof-rs: {}: {note}", opened.name);
    }
}

/// The commands that show what is in a file, as the end of a sentence: for one that shows something else.
pub fn shown_by(contents: &Contents) -> &'static str {
    let others = contents.others;
    if !contents.dumps.is_empty() {
        "`hprof-rs histogram`, `top` and `threads` show its heap dump"
    } else if Weights::first_of(contents).is_some() {
        "`hprof-rs samples` and `convert` show its profile"
    } else if others.collections > 0 {
        "`hprof-rs gc` shows its garbage collections"
    } else if others.thread_dumps > 0 {
        "`hprof-rs stacks` shows its thread dumps"
    } else if !contents.monitor_dumps.is_empty() {
        "`hprof-rs stacks` shows its monitor dump"
    } else if !contents.text_dumps.is_empty() {
        "`hprof-rs histogram` shows its heap dump in text"
    } else {
        "`hprof-rs summary` shows what it has"
    }
}

/// The heap dump that is asked for.
///
/// # Errors
/// If the file has no heap dump, or fewer.
pub fn select_dump<'a>(opened: &'a Opened, wanted: &DumpArgument) -> anyhow::Result<&'a Dump> {
    let number = select_dump_number(opened, wanted)?;
    let found = opened.contents.dumps.get(number);
    found.context("there is no such heap dump")
}

/// The place of the heap dump that is asked for among those of the file, from 0.
///
/// # Errors
/// If the file has no heap dump, or fewer.
pub fn select_dump_number(opened: &Opened, wanted: &DumpArgument) -> anyhow::Result<usize> {
    let dumps = &opened.contents.dumps;
    let name = &opened.name;
    let Some(last) = dumps.len().checked_sub(1) else {
        let advice = match opened.contents.text_dumps.is_empty() {
            true => shown_by(&opened.contents),
            false => "its heap dump is in text; take dumps with format=b to have them counted",
        };
        // Then there may have been one.
        if let Some(first) = opened.contents.damage.entries.first() {
            anyhow::bail!(
                "{name} holds no binary heap dump before it is damaged: {}",
                first.message
            );
        }
        if let Some(instead) = opened.contents.instead_of_data() {
            anyhow::bail!("{name} holds {instead}");
        }
        anyhow::bail!("{name} holds no binary heap dump: {advice}");
    };
    let Some(number) = wanted.dump else {
        if dumps.len() > 1 {
            tell!(
                "hprof-rs: {name} holds {} heap dumps; this is the last (--dump N for another)",
                dumps.len()
            );
        }
        return Ok(last);
    };
    let index = usize::try_from(number)?.saturating_sub(1);
    anyhow::ensure!(
        index < dumps.len(),
        "{name} holds {}, not {number}",
        plural(dumps.len() as u64, "heap dump", "heap dumps")
    );
    Ok(index)
}
