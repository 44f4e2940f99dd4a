//! The export of one file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::thread::ScopedJoinHandle;

use anyhow::Context;
use hprof_analysis::contents::Contents;
use hprof_analysis::input::Input;
use hprof_analysis::strip::{Detectors, StripPlan, StripPolicy};
use hprof_tables::{Exported, Labels, Subject, TableError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::place::Place;
use super::{Export, labels};
use crate::open;
use crate::render::out;
use crate::render::screen::{bytes, plural};
use crate::render::steps::{self, Step};
use crate::snapshot;
use crate::what_it_is;

/// Exports files, one after the other.
pub struct Exporter<'a> {
    pub arguments: &'a Export,
    pub place: &'a Place,
}

/// The file that is exported.
struct Source<'a> {
    /// Its name for people.
    name: &'a str,
    /// The file as it came.
    original: &'a Path,
    /// The file to read: that, or a copy without secrets.
    read: &'a Path,
}

/// The thread that hashes the file.
type Hash<'scope> = ScopedJoinHandle<'scope, io::Result<String>>;

impl Exporter<'_> {
    /// Exports a file; gives a line that says so.
    pub fn export(&self, path: &Path) -> anyhow::Result<String> {
        let arguments = self.arguments;
        let spooled = (path == Path::new("-")).then(spool).transpose()?;
        let original = spooled.as_ref().map_or(path, NamedTempFile::path);
        let name = match &spooled {
            Some(_) => "standard input".to_owned(),
            None => path.display().to_string(),
        };
        arguments.look.memory.watch(&name);
        let redacted = arguments.redact.then(|| self.redacted(original));
        let redacted = redacted.transpose().with_context(|| name.clone())?;
        let source = Source {
            name: &name,
            original,
            read: redacted.as_ref().map_or(original, NamedTempFile::path),
        };
        let (labels, exported) = std::thread::scope(|scope| {
            // A core has time for it while the file is opened.
            let hash = scope.spawn(|| sha256(original));
            self.write(&source, hash)
        })?;
        let size = exported.bytes();
        let fail = || format!("cannot write to {}", arguments.parquet.display());
        self.place.publish(&labels, &exported).with_context(fail)?;
        let rows: u64 = exported.files.iter().map(|file| file.1).sum();
        Ok(format!(
            "{} of {name} with {}, {}, to {}, dump={}",
            plural(exported.files.len() as u64, "table", "tables"),
            plural(rows, "row", "rows"),
            bytes(size),
            arguments.parquet.display(),
            labels.dump,
        ))
    }

    /// Writes the tables; gives the labels of the dump.
    fn write(&self, source: &Source<'_>, hash: Hash<'_>) -> anyhow::Result<(Labels, Exported)> {
        let look = &self.arguments.look;
        let mut outline = open::open(source.read, false, 0, false, look.memory)?;
        let dumps = outline.contents.dumps.len();
        if dumps == 0 {
            source.name.clone_into(&mut outline.name);
            open::warn_of_damage(&outline);
            let contents = &outline.contents;
            let damage = contents.damage.entries.iter();
            let notes = damage.map(|entry| entry.message.clone()).collect();
            let (labels, mut subject) = self.about(source, contents, None, hash)?;
            subject.is_partial = !contents.damage.is_empty();
            subject.notes = notes;
            let total = 2 * contents.bytes;
            let exported = self.tables(&labels, &subject, total, |it| it.profile(contents))?;
            return Ok((labels, exported));
        }
        drop(outline);
        let snapshot = snapshot::open(source.read, look)?;
        let number = look.dump.dump.filter(|_| dumps > 1);
        let (labels, mut subject) = self.about(source, snapshot.contents(), number, hash)?;
        subject.is_partial = snapshot::is_partial(&snapshot);
        subject.notes = snapshot::notes(&snapshot);
        let total = 2 * snapshot.file().len() as u64;
        let exported = self.tables(&labels, &subject, total, |it| it.heap(&snapshot))?;
        Ok((labels, exported))
    }

    /// The labels of a file, and facts about it. `number` is that of the heap dump, if its user
    /// has chosen one of several.
    fn about(
        &self,
        source: &Source<'_>,
        contents: &Contents,
        number: Option<u32>,
        hash: Hash<'_>,
    ) -> anyhow::Result<(Labels, Subject)> {
        let arguments = self.arguments;
        let sha256 = match hash.join() {
            Ok(hash) => hash.with_context(|| source.name.to_owned())?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // Some tools write 1970.
        let created = contents.created_millis.filter(|&millis| millis > 0);
        let day =
            || labels::day_of(created.unwrap_or_else(|| labels::file_millis(source.original)));
        let mut dump = arguments
            .dump_name
            .clone()
            .unwrap_or_else(|| sha256.clone());
        if let Some(number) = number {
            let _ = write!(dump, "-{number}");
        }
        let labels = Labels {
            service: arguments.service.clone(),
            host: arguments.host.clone(),
            date: arguments.date.clone().unwrap_or_else(day),
            dump,
        };
        let subject = Subject {
            file: source.name.to_owned(),
            sha256,
            build: arguments.build.clone(),
            created_millis: created,
            ..Subject::default()
        };
        Ok((labels, subject))
    }

    /// Runs an export with progress on standard error.
    fn tables(
        &self,
        labels: &Labels,
        subject: &Subject,
        total: u64,
        run: impl FnOnce(hprof_tables::Export<'_>) -> Result<Exported, TableError>,
    ) -> anyhow::Result<Exported> {
        let step = Step::begin("tables", total);
        let bar = bar(total);
        let exported = run(hprof_tables::Export {
            folder: self.place.folder(),
            labels,
            subject,
            has_texts: self.arguments.strings,
            progress: &|bytes| {
                step.add(bytes);
                bar.inc(bytes);
            },
        });
        bar.finish_and_clear();
        let folder = || format!("cannot write to {}", self.arguments.parquet.display());
        exported.with_context(folder)
    }

    /// A copy of a file without what looks like a secret.
    fn redacted(&self, path: &Path) -> anyhow::Result<NamedTempFile> {
        let detectors = Detectors::new(&self.arguments.redact_pattern)
            .context("--redact-pattern must be a regular expression")?;
        let policy = StripPolicy {
            keeps_all: true,
            detectors: Some(&detectors),
            ..StripPolicy::default()
        };
        let open = || -> io::Result<Box<dyn Read>> {
            let input = Input::open(path).map_err(io::Error::other)?;
            Ok(Box::new(input.into_reader()))
        };
        let plan = StripPlan::of(open, policy)
            .map_err(|error| what_it_is::explained(path, error.into()))?;
        let file = NamedTempFile::new().context("cannot make a copy without secrets")?;
        let mut writer = BufWriter::with_capacity(1 << 20, file.as_file());
        plan.copy(open()?, &mut writer)
            .and_then(|_| Ok(writer.flush()?))
            .context("cannot make a copy without secrets (TMPDIR names another folder)")?;
        drop(writer);
        Ok(file)
    }
}

/// Standard input in a file, as it is read more than once.
fn spool() -> anyhow::Result<NamedTempFile> {
    let mut file = NamedTempFile::new().context("cannot keep standard input")?;
    io::copy(&mut io::stdin().lock(), &mut file)
        .context("cannot keep standard input (TMPDIR names another folder)")?;
    Ok(file)
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => hasher.update(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

fn bar(total: u64) -> ProgressBar {
    const SLOW: u64 = 64 << 20;
    if total < SLOW || steps::are_told() || !out::tells_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) =
        ProgressStyle::with_template("{wide_bar} {percent:>3}% of the tables, {eta} left")
    {
        bar.set_style(style);
    }
    bar
}
