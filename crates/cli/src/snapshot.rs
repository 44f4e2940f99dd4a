//! Opens a heap dump for the commands that follow references.

mod arguments;
mod progress;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, bail};
use hprof_analysis::android::LeftOut;
use hprof_analysis::graph::ReferenceKind;
use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::snapshot::{IndexPlace, IndexState, OpenOptions, Snapshot, SnapshotError};

use hprof_options::glob;

use crate::from_jvm::{self, Readable};
use crate::left_out;
use crate::mapping::MappingArgument;
use crate::memory;
use crate::render::out::tell;
use crate::render::screen::{bytes, count, percent};
use crate::render::steps;
use crate::report::Phases;
use crate::what_it_is;
use progress::Progress;

pub use arguments::{HeapArguments, OpenArguments};

/// A snapshot from the index that an earlier command has written, if there is one of the file as it is
/// now, and nothing of the file could not be read. Without one, the command has to read the file.
pub fn open_indexed(path: &Path, mapping: &MappingArgument) -> Option<Snapshot> {
    if !path.is_file() {
        return None;
    }
    let options = OpenOptions {
        index: IndexPlace::Beside,
        only_indexed: true,
        ..OpenOptions::default()
    };
    let mut snapshot = Snapshot::open(path, &options).ok()?;
    if let Some(mapping) = mapping.read().ok()? {
        snapshot.rename(&mapping);
    }
    (!is_partial(&snapshot)).then_some(snapshot)
}

/// Makes a snapshot, with progress on standard error, and warns of damage.
///
/// # Errors
/// If the file cannot be read or has no such dump.
pub fn open(path: &Path, look: &OpenArguments) -> anyhow::Result<Snapshot> {
    open_with(path, look, None)
}

/// As [`open`], for a report, whose `phases` show the progress. The caller [prints](warn_of_index) what became of the index once the
/// report is there.
///
/// # Errors
/// As [`open`].
pub fn open_for(path: &Path, look: &OpenArguments, phases: &Phases) -> anyhow::Result<Snapshot> {
    open_with(path, look, Some(phases))
}

fn open_with(
    path: &Path,
    look: &OpenArguments,
    phases: Option<&Phases>,
) -> anyhow::Result<Snapshot> {
    let asked = path;
    let Readable { path, name } = from_jvm::heap_dump(asked)?;
    let path = path.as_path();
    look.memory.watch(&asked.display().to_string());
    let bar = Mutex::new(Progress::new(phases.is_none()));
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let mapping = look.mapping.read()?;
    let mut follow = look.follow()?;
    if let Some(mapping) = &mapping {
        // The dump has the short names.
        let given = follow.without.clone().into_iter();
        let short = given.filter_map(|(class, field)| mapping.shortened(&class, &field));
        follow.without.extend(short);
    }
    if let Some(folder) = look.index.as_ref().filter(|it| *it != Path::new("cache")) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {} (--index)", folder.display()))?;
    }
    let options = OpenOptions {
        dump: look.dump.dump.map(|number| number as usize - 1),
        follow,
        memory: look.memory.memory,
        scratch: scratch(&folder),
        index: match (&look.index, look.no_index) {
            (_, true) => IndexPlace::Nowhere,
            // A file without a name is not opened again.
            _ if name.is_some() => IndexPlace::Nowhere,
            (Some(folder), _) if folder == Path::new("cache") => IndexPlace::Cache,
            (Some(folder), _) => IndexPlace::Folder(folder.clone()),
            (None, _) => IndexPlace::Beside,
        },
        trusts_index: look.trust_index,
        index_limit: look.index_limit,
        // A report has equal arrays and strings.
        digests: phases.is_some(),
        // Programs see the index as a step of its own.
        index_later: phases.is_some() && !steps::are_told(),
        progress: &|stage, bytes| {
            memory::has_read(bytes);
            if let Ok(mut bar) = bar.lock() {
                bar.tell(stage, bytes);
            }
        },
        ..OpenOptions::default()
    };
    let snapshot = Snapshot::open(path, &options).map_err(|error| match error {
        // These name the file.
        SnapshotError::Open(error) => error.into(),
        SnapshotError::NoDump(error) => anyhow::Error::msg(error),
        error => anyhow::Error::new(error).context(path.display().to_string()),
    });
    let mut snapshot = snapshot.map_err(|error| what_it_is::explained(asked, error))?;
    if let Some(name) = name {
        snapshot.name = name;
    }
    if let Some(mapping) = &mapping {
        snapshot.rename(mapping);
    }
    if let Ok(bar) = bar.into_inner() {
        bar.end();
    }
    match phases {
        Some(phases) => {
            phases.pause(|| warn(&snapshot, look, false));
            phases.opened();
        }
        None => warn(&snapshot, look, true),
    }
    Ok(snapshot)
}

/// The folder for scratch files: the one of the dump, which likely has room for files as large, or the
/// system's if that one is read-only.
fn scratch(folder: &Path) -> PathBuf {
    match tempfile::tempfile_in(folder) {
        Ok(_) => folder.to_owned(),
        Err(_) => std::env::temp_dir(),
    }
}

/// Prints what the dump lacks. Answers cover the rest.
fn warn(snapshot: &Snapshot, look: &OpenArguments, knows_index: bool) {
    let name = &snapshot.name;
    let dumps = snapshot.contents().dumps.len();
    if look.dump.dump.is_none() && dumps > 1 {
        tell!("hprof-rs: {name} holds {dumps} heap dumps; this is the last (--dump N for another)");
    }
    if knows_index {
        warn_of_index(snapshot);
    }
    for note in notes(snapshot) {
        tell!("hprof-rs: {name}: {note}");
    }
}

/// Prints what became of the index.
pub fn warn_of_index(snapshot: &Snapshot) {
    let name = &snapshot.name;
    match snapshot.index() {
        IndexState::Failed(error) => tell!(
            "hprof-rs: {name}: no index was written ({error}); give a folder with --index DIR, or \
             --no-index"
        ),
        IndexState::Nameless => tell!(
            "hprof-rs: {name}: no index was written: it has no name under which the next command \
             could find it"
        ),
        IndexState::Written {
            path,
            bytes: length,
            removed,
        } => {
            tell!(
                "hprof-rs: wrote an index of {} to {}, for the next command (--no-index: none)",
                bytes(*length),
                path.display()
            );
            if *removed > 0 {
                tell!(
                    "hprof-rs: removed {} of older indexes from the cache (--index-limit)",
                    bytes(*removed)
                );
            }
        }
        IndexState::None | IndexState::Used => {}
    }
}

/// The missing parts of the dump, as sentences.
pub fn notes(snapshot: &Snapshot) -> Vec<String> {
    let mut notes = Vec::new();
    for damage in [&snapshot.contents().damage, snapshot.graph().damage()] {
        if let Some(first) = damage.entries.first() {
            notes.push(format!(
                "{}{}; {}what is shown is the rest",
                first.message,
                match damage.count {
                    1 => String::new(),
                    more => format!(", and {} more damaged places", more - 1),
                },
                match damage.lost_bytes {
                    // They are not even in the file.
                    0 => String::new(),
                    lost => format!("{} were not read, and ", bytes(lost)),
                }
            ));
        }
    }
    let graph = snapshot.graph();
    let missing = LeftOut::of_snapshot(snapshot);
    notes.extend(left_out::by_references(missing, graph.gaps()));
    let live = snapshot.dominators().len();
    if live == 0 && !graph.is_empty() {
        notes.push("the file has no roots, so nothing is known to be alive".to_owned());
    }
    notes
}

/// The kind of damage of a dump's file, in a word: `cut` if it ends too early, `damaged` if bytes in
/// it are wrong. `length` is the length of the file.
pub fn damage(snapshot: &Snapshot, length: u64) -> Option<&'static str> {
    let logs = [&snapshot.contents().damage, snapshot.graph().damage()];
    let mut entries = logs.iter().flat_map(|log| &log.entries).peekable();
    entries.peek()?;
    let is_cut = entries.any(|entry| {
        // Nothing was read after it, or the reader says so.
        let end = entry.offset.map(|offset| offset + entry.lost_bytes);
        end == Some(length) || entry.is_cut
    });
    Some(if is_cut { "cut" } else { "damaged" })
}

/// True if something of the dump could not be seen, so that what is not found may be there.
pub fn is_partial(snapshot: &Snapshot) -> bool {
    let graph = snapshot.graph();
    let gaps = graph.gaps();
    !snapshot.contents().damage.is_empty()
        || !graph.damage().is_empty()
        || gaps.dangling_references > gaps.archived_references
        || gaps.dangling_roots > 0
        || gaps.without_class > 0
        || snapshot.dominators().is_empty()
}

/// The model of the figures, as a line.
pub fn model(snapshot: &Snapshot) -> String {
    use hprof_analysis::heap::LayoutSource;
    let (layout, source) = snapshot.graph().layout();
    let layout = match source {
        LayoutSource::Stated => "Sizes are those that the file states".to_owned(),
        LayoutSource::Measured => format!(
            "Sizes as HotSpot lays objects out with {}",
            layout.describe()
        ),
        LayoutSource::Assumed => format!("Sizes assume {}", layout.describe()),
    };
    let follow = snapshot.graph().follow();
    let skipped: Vec<&str> = ReferenceKind::ALL
        .into_iter()
        .filter(|kind| !follow.kinds.contains(kind))
        .map(ReferenceKind::name)
        .collect();
    let all = total_bytes(snapshot);
    let live = snapshot.dominators().live_bytes();
    let skipped = match skipped.as_slice() {
        [] => "all references keep objects alive".to_owned(),
        kinds => format!("{} references keep nothing alive", kinds.join(", ")),
    };
    format!(
        "{layout}; {skipped}. Live: {} in {} objects; not reached from roots: {} ({}).",
        bytes(live),
        count(snapshot.dominators().len() as u64),
        bytes(all - live),
        percent(all - live, all),
    )
}

/// The bytes of all objects, live or not.
pub fn total_bytes(snapshot: &Snapshot) -> u64 {
    8 * snapshot.graph().sizes().total()
}

/// The object with an identifier as people write it: `0x7ffd00770`, with or without the `0x`.
///
/// # Errors
/// If it is no number, or no object has it.
pub fn object(snapshot: &Snapshot, text: &str) -> anyhow::Result<ObjectNumber> {
    let digits = text.trim_start_matches("0x");
    let Ok(id) = u64::from_str_radix(digits, 16) else {
        bail!(
            "{text} is no object: give its identifier in hexadecimal, as other commands print it"
        );
    };
    let number = snapshot.graph().number(id);
    number.with_context(|| format!("{} has no object {id:#x}", snapshot.name))
}

/// The target that a user names: an object or a class.
pub enum Target {
    /// An object, by number.
    Object(ObjectNumber),
    /// Classes, by number.
    Classes(Vec<ClassNumber>),
}

/// An identifier, or the name of a class in which `*` matches any characters.
///
/// # Errors
/// If there is no such object or class.
pub fn target(snapshot: &Snapshot, text: &str) -> anyhow::Result<Target> {
    let classes = snapshot.graph().classes();
    let is_named = |&class: &ClassNumber| glob(text.as_bytes(), classes.get(class).name.as_bytes());
    let found: Vec<ClassNumber> = classes.numbers().filter(is_named).collect();
    if !found.is_empty() {
        return Ok(Target::Classes(found));
    }
    if text.starts_with("0x") {
        return object(snapshot, text).map(Target::Object);
    }
    let wanted = text.to_lowercase();
    let mut similar = (classes.list().iter()).filter(|c| c.name.to_lowercase().contains(&wanted));
    let hint = similar.next().map_or(String::new(), |class| {
        format!("; is it {}? `*` stands for any characters", class.name)
    });
    bail!("{} has no class {text}{hint}", snapshot.name)
}
