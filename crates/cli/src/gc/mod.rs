//! Garbage collection logs from files: rotated ones together, compressed ones unpacked; collections of recordings.

mod archive;
pub mod rotated;
pub mod text;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hprof_analysis::input::Input;
use hprof_gclog::{Figure, Reader, Summary, figures};
use serde::Serialize;

use crate::memory::{self, MemoryArgument};
use crate::open;
use crate::recordings::{self, Opened};
use crate::render::out::tell;
use crate::render::screen::{count, plural};
use crate::what_it_is;

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
    if path.is_dir() {
        return together(path, &rotated::in_folder(path)?, memory);
    }
    if path != Path::new("-")
        && let Some(archived) = archive::read(path)?
    {
        memory.watch(&path.display().to_string());
        return Ok(told(whole(path, archived.parts, archived.reader, false)?));
    }
    let files = match alone || path == Path::new("-") {
        true => vec![path.to_owned()],
        false => rotated::files(path),
    };
    if !files.iter().any(|file| file == path) {
        return together(path, &files, memory);
    }
    let input = Input::open(path).map_err(|error| what_it_is::explained(path, error.into()))?;
    memory.watch(&input.name);
    let log = match recordings::open(input)? {
        Opened::Recording {
            input,
            is_cut_short,
        } => recorded(path, &input, is_cut_short)?,
        Opened::Other(input) => logged(path, Some(input), &files, memory)?,
    };
    Ok(told(log))
}

/// Reads the files of one log, and reports damage.
///
/// # Errors
/// As [`read`].
pub fn together(path: &Path, files: &[PathBuf], memory: MemoryArgument) -> anyhow::Result<Log> {
    Ok(told(logged(path, None, files, memory)?))
}

fn told(log: Log) -> Log {
    for note in &log.notes {
        tell!("hprof-rs: {}: {note}", log.file);
    }
    log
}

/// Reads a recording.
fn recorded(path: &Path, input: &Input, is_cut_short: bool) -> anyhow::Result<Log> {
    let bar = open::progress_bar(input);
    let (summary, skipped) =
        hprof_gclog::read_recording(input.mapped().unwrap_or_default(), &mut |part| {
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
        notes.push("No collection ended while the JVM recorded.".to_owned());
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
    memory: MemoryArgument,
) -> anyhow::Result<Log> {
    let mut reader = Reader::new();
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
        is_cut_short |= feed(&mut reader, input, file)?;
    }
    let parts = files.iter().map(|file| name_of(file)).collect();
    whole(path, parts, reader, is_cut_short)
}

/// The log that a reader has taken from these files.
fn whole(
    path: &Path,
    parts: Vec<String>,
    reader: Reader,
    is_cut_short: bool,
) -> anyhow::Result<Log> {
    let summary = reader.finish();
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

/// Sentences on the limits of the figures.
fn notes(summary: &Summary) -> Vec<String> {
    let lines = &summary.lines;
    let mut notes = Vec::new();
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
