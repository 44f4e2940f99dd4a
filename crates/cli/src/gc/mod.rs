//! Garbage collection logs from files: rotated ones together, compressed ones unpacked; collections of recordings.

mod archive;
pub mod rotated;
pub mod text;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hprof_analysis::input::Input;
use hprof_foreign::Kind;
use hprof_gclog::{Figure, Part, Reader, Summary, figures};
use hprof_stacks::timeline::Window;
use serde::Serialize;

use crate::memory::{self, MemoryArgument};
use crate::open;
use crate::recordings::{self, Opened};
use crate::render::out::tell;
use crate::render::screen::{count, plural};
use crate::what_it_is;
use crate::window::{WindowArgument, covered};

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// A log that was read.
#[derive(Debug, Serialize)]
pub struct Log {
    /// Its name.
    pub file: String,
    /// How many files it has.
    pub files: usize,
    /// Their names in the order in which they were read, if there are several.
    pub parts: Vec<String>,
    /// Limits of the figures, as sentences.
    pub notes: Vec<String>,
    /// Its figures.
    #[serde(flatten)]
    pub summary: Summary,
    /// The figures in which programs differ, for comparisons; equal names in all logs.
    pub figures: Vec<Figure>,
}

/// Reads a log, with the rotated files beside it unless it is `alone`, or a recording, and reports damage. A folder
/// stands for the only log in it.
///
/// # Errors
/// If a file cannot be opened or read, or has no collections.
pub fn read(path: &Path, alone: bool, memory: MemoryArgument) -> anyhow::Result<Log> {
    read_part(path, alone, &WindowArgument::default(), memory)
}

/// Reads a part of a log's time, or all of it, as [`read`].
///
/// # Errors
/// As [`read`]; also if the log has nothing of that time.
pub fn read_part(
    path: &Path,
    alone: bool,
    window: &WindowArgument,
    memory: MemoryArgument,
) -> anyhow::Result<Log> {
    if path.is_dir() {
        return together(path, &rotated::in_folder(path)?, window, memory);
    }
    if path != Path::new("-")
        && let Some(archived) = archive::read(path)?
    {
        if window.is_given() {
            bail!(
                "{}: --from and --to are for logs that are not in an archive of several files; extract it, and give the \
                 folder",
                path.display()
            );
        }
        memory.watch(&path.display().to_string());
        return Ok(told(whole(path, archived.parts, archived.reader, false)?));
    }
    let files = match alone || path == Path::new("-") {
        true => vec![path.to_owned()],
        false => rotated::files(path),
    };
    if !files.iter().any(|file| file == path) {
        return together(path, &files, window, memory);
    }
    let input = Input::open(path).map_err(|error| what_it_is::explained(path, error.into()))?;
    memory.watch(&input.name);
    let log = match recordings::open(input)? {
        Opened::Recording {
            input,
            is_cut_short,
        } => recorded(path, &input, window, is_cut_short)?,
        Opened::Other(input) => logged(path, Some(input), &files, window, memory)?,
    };
    Ok(told(log))
}

/// Reads the files of one log, and reports damage.
///
/// # Errors
/// As [`read_part`].
pub fn together(
    path: &Path,
    files: &[PathBuf],
    window: &WindowArgument,
    memory: MemoryArgument,
) -> anyhow::Result<Log> {
    Ok(told(logged(path, None, files, window, memory)?))
}

fn told(log: Log) -> Log {
    for note in &log.notes {
        tell!("hprof-rs: {}: {note}", log.file);
    }
    log
}

/// Reads a recording.
fn recorded(
    path: &Path,
    input: &Input,
    window: &WindowArgument,
    is_cut_short: bool,
) -> anyhow::Result<Log> {
    let file = input.mapped().unwrap_or_default();
    let part = match window.is_given() {
        true => Some(window.of(hprof_foreign::span(file, Kind::Jfr))?),
        false => None,
    };
    let bar = open::progress_bar(input);
    let of_time = part.map(|part| Part {
        from: part.from,
        to: part.to,
        has_dates: true,
    });
    let (summary, skipped) = hprof_gclog::read_recording_part(file, of_time, &mut |part| {
        memory::has_read(part.len() as u64);
        bar.inc(part.len() as u64);
    });
    bar.finish_and_clear();
    let mut notes = recordings::damage(&input.name, &skipped, is_cut_short);
    if summary.pauses.count == 0 && summary.cycles.is_empty() {
        // Each chunk names the collector where collections are recorded.
        if summary.collector.is_none() {
            let damage = notes.first().map(|note| format!(" {note}"));
            bail!(
                "{}: no garbage collection is in the recording; `hprof-rs summary` shows what it has. The settings `default` and `profile` record them \
                 (event jdk.GarbageCollection): -XX:StartFlightRecording=settings=default,filename=recording.jfr{}",
                path.display(),
                damage.unwrap_or_default()
            );
        }
        notes.push(match part {
            Some(_) => "No collection ended in this part of the recording.".to_owned(),
            None => "No collection ended while the JVM recorded.".to_owned(),
        });
    }
    if let Some(part) = part {
        notes.push(format!(
            "Only {}: what ended outside of it is in no figure.",
            covered(part)
        ));
    }
    if let Some(shortest) = summary.recording.and_then(|it| it.shortest_stop) {
        notes.push(format!(
            "By the settings of the recording stops below {} are not in it; \
             jdk.SafepointBegin#threshold=0ms,jdk.SafepointEnd#enabled=true,jdk.SafepointEnd#threshold=0ms,\
             jdk.ExecuteVMOperation#threshold=0ms in -XX:StartFlightRecording records all (JDK 17 and later).",
            text::time(shortest)
        ));
    }
    if summary.recording.is_some_and(|it| it.jvms > 1) {
        notes.push(
            "Several JVMs have recorded; times are since the start of the first one.".to_owned(),
        );
    }
    Ok(Log {
        file: path.display().to_string(),
        files: 1,
        parts: Vec::new(),
        notes,
        figures: figures(&summary),
        summary,
    })
}

/// Reads the files of a log, of which that of the path may be open.
fn logged(
    path: &Path,
    mut opened: Option<Input>,
    files: &[PathBuf],
    window: &WindowArgument,
    memory: MemoryArgument,
) -> anyhow::Result<Log> {
    let mut reader = match window.is_given() {
        true => Reader::of_part(part_of(path, opened.take(), files, window, memory)?),
        false => Reader::new(),
    };
    let is_cut_short = feed_all(&mut reader, path, opened, files, memory)?;
    let parts = files.iter().map(|file| name_of(file)).collect();
    whole(path, parts, reader, is_cut_short)
}

/// The part of a log's time that is asked for. It reads the whole log, as only all of it says when it begins and ends.
fn part_of(
    path: &Path,
    opened: Option<Input>,
    files: &[PathBuf],
    window: &WindowArgument,
    memory: MemoryArgument,
) -> anyhow::Result<Part> {
    if path == Path::new("-") {
        bail!(
            "a part of the time cannot be chosen of standard input, which is read once; write it to a file"
        );
    }
    let mut reader = Reader::measuring();
    feed_all(&mut reader, path, opened, files, memory)?;
    let Some(span) = reader.span() else {
        bail!(
            "{}: the lines have no time, so that no part of it can be chosen; log with the decorations time and uptime",
            path.display()
        );
    };
    if !span.has_dates && !window.is_relative() {
        bail!(
            "{}: the lines have the time since the start of the JVM, and no dates: choose a part by distances such as \
             --from +30s and --to -10s",
            path.display()
        );
    }
    let whole = Window {
        from: span.from,
        to: span.to,
    };
    let chosen = match span.has_dates {
        true => window.of(Some(whole))?,
        false => window.of(Some(whole)).map_err(|_| {
            anyhow::anyhow!(
                "{}: nothing was logged in that part of the {:.1} s of the log",
                path.display(),
                whole.length() as f64 / 1e9
            )
        })?,
    };
    Ok(Part {
        from: chosen.from,
        to: chosen.to,
        ..span
    })
}

/// Reads all files of a log; true if one of them is compressed and its end is missing.
fn feed_all(
    reader: &mut Reader,
    path: &Path,
    mut opened: Option<Input>,
    files: &[PathBuf],
    memory: MemoryArgument,
) -> anyhow::Result<bool> {
    let mut is_cut_short = false;
    for (index, file) in files.iter().enumerate() {
        if index > 0 {
            reader.next_file();
        }
        let input = match opened.take_if(|_| file == path) {
            Some(input) => input,
            None => Input::open(file)?,
        };
        memory.watch(&input.name);
        is_cut_short |= feed(reader, input, file)?;
    }
    Ok(is_cut_short)
}

/// The log that a reader has taken from these files.
fn whole(
    path: &Path,
    parts: Vec<String>,
    reader: Reader,
    is_cut_short: bool,
) -> anyhow::Result<Log> {
    let summary = reader.finish();
    if let Some(part) = summary.part
        && summary.pauses.count == 0
        && summary.stops.count == 0
        && summary.cycles.is_empty()
    {
        bail!(
            "{}: no collection is in this part of the log, {}",
            path.display(),
            words_of(part)
        );
    }
    if summary.collector.is_none() && summary.pauses.count == 0 && summary.stops.count == 0 {
        bail!(
            "{}: no garbage collection log is in it; -Xlog:gc*:file=gc.log makes one (JDK 9 and later), \
             -XX:+PrintGCDetails -Xloggc:gc.log of JDK 8{}",
            path.display(),
            what_it_is::hint(path, "gc")
        );
    }
    let mut log = Log {
        file: path.display().to_string(),
        files: parts.len(),
        parts,
        notes: notes(&summary),
        figures: figures(&summary),
        summary,
    };
    if log.files == 1 {
        log.parts.clear();
    } else {
        let parts = log.parts.join(", ");
        log.notes
            .insert(0, format!("These files were read as one log: {parts}."));
    }
    if is_cut_short {
        log.notes
            .push("A compressed file is damaged or cut short.".to_owned());
    }
    Ok(log)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The sentence of a log that matters most.
pub fn headline(summary: &Summary) -> String {
    match summary.findings.first() {
        Some(finding) => format!("{}.", finding.fact),
        None => format!(
            "{}, and nothing is noteworthy.",
            plural(summary.pauses.count, "pause", "pauses")
        ),
    }
}

/// Reads a file; true if it is compressed and its end is missing.
fn feed(reader: &mut Reader, input: Input, path: &Path) -> anyhow::Result<bool> {
    let name = input.name.clone();
    let bar = open::progress_bar(&input);
    let mut take = |piece: &[u8]| {
        reader.feed(piece);
        memory::has_read(piece.len() as u64);
        bar.inc(piece.len() as u64);
    };
    // A JVM may cut a log that it writes, which a mapped file must not be.
    let mut stream: Box<dyn Read> = match input.mapped() {
        Some(_) => Box::new(File::open(path).with_context(|| format!("cannot read {name}"))?),
        None => input.into_reader(),
    };
    let mut piece = vec![0; PIECE];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => take(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(true),
            Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
        }
    }
    bar.finish_and_clear();
    Ok(false)
}

/// A part of a log's time in words.
fn words_of(part: Part) -> String {
    let window = Window {
        from: part.from,
        to: part.to,
    };
    match part.has_dates {
        true => covered(window),
        false => format!(
            "{:.3} s to {:.3} s after the start of the JVM",
            part.from as f64 / 1e9,
            part.to as f64 / 1e9
        ),
    }
}

/// Sentences on the limits of the figures.
fn notes(summary: &Summary) -> Vec<String> {
    let lines = &summary.lines;
    let mut notes = Vec::new();
    if let Some(part) = summary.part {
        notes.push(format!(
            "Only {}: {} of {} outside of it are in no figure.",
            words_of(part),
            count(lines.left_out),
            plural(lines.total, "line", "lines"),
        ));
    }
    if lines.not_understood > 0 {
        let first = lines.first_not_understood.as_deref().unwrap_or_default();
        notes.push(format!(
            "{} of {} {} not understood, first: {first}",
            count(lines.not_understood),
            plural(lines.total, "line", "lines"),
            if lines.not_understood == 1 {
                "was"
            } else {
                "were"
            },
        ));
    }
    if lines.is_cut {
        notes.push("The log ends within a line or a collection.".to_owned());
    }
    if summary.duration.is_none() && summary.pauses.count > 0 {
        notes.push(
            "The lines have no time, so there is no throughput and no rate; log with the decoration uptime."
                .to_owned(),
        );
    }
    notes
}
