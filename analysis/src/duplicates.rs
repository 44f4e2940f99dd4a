//! Arrays of primitives with equal contents, such as those of equal strings.

use std::hash::Hasher;
use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use hprof_format::binary::{BasicType, SubRecord};
use rustc_hash::FxHasher;
use serde::Serialize;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::graph::{Array, Store};
use crate::heap::is_uniform;
use crate::snapshot::{Snapshot, Value, decimal};

/// Arrays with equal contents.
#[derive(Debug, Clone, Serialize)]
pub struct Duplicate {
    /// How many there are.
    pub count: u64,
    /// What one takes, in bytes.
    pub bytes: u64,
    /// What all but one take.
    pub wasted_bytes: u64,
    /// One of them, by number.
    pub object: usize,
    /// The type of the elements.
    pub element: &'static str,
    /// True if strings consist of them.
    pub is_string: bool,
    /// The text, of strings, else the first elements.
    pub preview: String,
}

/// All duplicates of a dump.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Duplicates {
    /// Live arrays of primitives.
    pub arrays: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Live arrays whose elements were blotted out, in a dump from which somebody stripped
    /// contents; they are not compared, and in no other figure.
    pub blank: u64,
    /// What could be saved if equal arrays were one.
    pub wasted_bytes: u64,
    /// All strings, live or not; unknown where memory is limited.
    pub strings: Option<u64>,
    /// What all but one string of each text and its array take, as [`Snapshot::strings`] has it;
    /// unknown where memory is limited.
    pub wasted_in_strings: Option<u64>,
    /// The groups that waste most.
    pub groups: Vec<Duplicate>,
}

/// An array, by its content.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
struct Entry {
    hash: u64,
    object: u64,
}

/// Characters of a text that are kept.
const PREVIEW: usize = 200;
/// Runs of sub-records in one task.
const TASK: usize = 64;
/// Equal contents have the same highest bits of their hash, by which arrays are put in so many
/// parts. A part is sorted in memory; the others may lie in a file.
const PARTS: usize = 64;
/// Entries that go to a part at once.
const RUN: usize = 1 << 13;

/// Entries of a part, in runs of which so many are in use.
type Runs = Vec<(Array<Entry>, usize)>;

/// All parts, filled by several threads.
struct Parts<'a> {
    store: &'a Store,
    runs: Vec<Mutex<Runs>>,
    error: Mutex<Option<io::Error>>,
}

/// Groups of equal arrays: what they waste, how many there are, the first of them.
type Group = (u64, u64, u64);

/// Finds live arrays with equal contents, the `most` groups that waste most.
///
/// # Errors
/// If there is no room for what is known of each array.
pub fn duplicates(snapshot: &Snapshot, most: usize) -> io::Result<Duplicates> {
    let graph = snapshot.graph();
    let words = graph.len().div_ceil(64);
    let in_strings: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    let parts = Parts {
        store: snapshot.store(),
        runs: (0..PARTS).map(|_| Mutex::default()).collect(),
        error: Mutex::default(),
    };
    let blocks = graph.blocks();
    let is_stripped = snapshot.is_stripped();
    let blank = on_threads(blocks.len().div_ceil(TASK), |take| {
        let mut walk = Walk::new(snapshot, &in_strings, &parts, is_stripped);
        while let Some(task) = take() {
            let first = TASK * task;
            let task = &blocks[first..(first + TASK).min(blocks.len())];
            for block in task {
                for sub_record in graph.sub_records(snapshot.file(), block).flatten() {
                    walk.see(&sub_record);
                }
            }
            if let [first, .., last] = task {
                snapshot.forget(first.offset, last.offset + last.bytes);
            }
        }
        walk.finish()
    });
    let error = parts.error.into_inner();
    if let Some(error) = error.unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let is_string = |object: u64| {
        let word = in_strings[object as usize / 64].load(Ordering::Relaxed);
        word >> (object % 64) & 1 != 0
    };
    let runs = &parts.runs;
    let sums = on_threads(PARTS, |take| {
        let (mut sum, mut groups) = (Duplicates::default(), Vec::new());
        while let Some(part) = take() {
            let runs = std::mem::take(&mut *lock(&runs[part]));
            count(snapshot, runs, most, &mut sum, &mut groups);
        }
        (sum, groups)
    });
    // What is known of each string is kept in memory.
    let strings = (!snapshot.store().is_limited()).then(|| snapshot.strings(0));
    let mut found = Duplicates {
        blank: blank.into_iter().sum(),
        strings: strings.as_ref().map(|strings| strings.strings),
        wasted_in_strings: strings.map(|strings| strings.waste),
        ..Duplicates::default()
    };
    let mut groups = Vec::new();
    for (sum, more) in sums {
        found.arrays += sum.arrays;
        found.bytes += sum.bytes;
        found.wasted_bytes += sum.wasted_bytes;
        groups.extend(more);
    }
    keep_largest(&mut groups, most);
    found.groups = groups
        .into_iter()
        .map(|(wasted_bytes, count, first)| {
            let object = first as usize;
            let (element, preview) = preview(snapshot, object);
            Duplicate {
                count,
                bytes: graph.size(object),
                wasted_bytes,
                object,
                element,
                is_string: is_string(first),
                preview,
            }
        })
        .collect();
    Ok(found)
}

/// Sorts a part and sums up arrays with equal contents.
fn count(
    snapshot: &Snapshot,
    runs: Runs,
    most: usize,
    sum: &mut Duplicates,
    groups: &mut Vec<Group>,
) {
    let mut entries = Vec::with_capacity(runs.iter().map(|run| run.1).sum());
    for (run, used) in runs {
        entries.extend_from_slice(&run[..used]);
    }
    entries.sort_unstable();
    for equal in entries.chunk_by(|a, b| a.hash == b.hash) {
        let (count, first) = (equal.len() as u64, equal[0].object);
        let bytes = snapshot.graph().size(first as usize);
        sum.arrays += count;
        sum.bytes += count * bytes;
        if count > 1 {
            let wasted = (count - 1) * bytes;
            sum.wasted_bytes += wasted;
            groups.push((wasted, count, first));
            if groups.len() > most.saturating_mul(2).saturating_add(1000) {
                keep_largest(groups, most);
            }
        }
    }
}

fn keep_largest(groups: &mut Vec<Group>, most: usize) {
    groups.sort_unstable_by_key(|&(wasted, _, first)| (std::cmp::Reverse(wasted), first));
    groups.truncate(most);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on each thread; its argument gives the next task until there is none.
fn on_threads<P: Send>(
    tasks: usize,
    work: impl Fn(&dyn Fn() -> Option<usize>) -> P + Sync,
) -> Vec<P> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let take = || {
        let task = next.fetch_add(1, Ordering::Relaxed);
        (task < tasks).then_some(task)
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map_while(|_| {
                let builder = thread::Builder::new();
                builder.spawn_scoped(scope, || work(&take)).ok()
            })
            .collect();
        let mut all = vec![work(&take)];
        for other in others {
            match other.join() {
                Ok(part) => all.push(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

impl Parts<'_> {
    /// Takes the entries of a part over.
    fn add(&self, part: usize, entries: &mut Vec<Entry>) {
        match self.store.zeros::<Entry>(entries.len()) {
            Ok(mut run) => {
                run.copy_from_slice(entries);
                lock(&self.runs[part]).push((run, entries.len()));
            }
            Err(error) => *lock(&self.error) = Some(error),
        }
        entries.clear();
    }
}

/// A thread's way through the dump.
struct Walk<'a, 's> {
    snapshot: &'a Snapshot,
    in_strings: &'a [AtomicU64],
    parts: &'a Parts<'s>,
    entries: Vec<Vec<Entry>>,
    string_classes: Vec<bool>,
    is_stripped: bool,
    blank: u64,
}

impl<'a, 's> Walk<'a, 's> {
    fn new(
        snapshot: &'a Snapshot,
        in_strings: &'a [AtomicU64],
        parts: &'a Parts<'s>,
        is_stripped: bool,
    ) -> Self {
        let classes = snapshot.graph().classes().list().iter();
        Self {
            snapshot,
            in_strings,
            parts,
            entries: vec![Vec::new(); PARTS],
            string_classes: classes.map(|c| c.name == "java.lang.String").collect(),
            is_stripped,
            blank: 0,
        }
    }

    fn see(&mut self, sub_record: &SubRecord<'_>) {
        let graph = self.snapshot.graph();
        let live = |id: u64| {
            let object = graph.number(id)?;
            self.snapshot.dominators().place(object).map(|_| object)
        };
        match *sub_record {
            SubRecord::PrimitiveArray {
                array,
                element,
                values,
                ..
            } => {
                let Some(object) = live(array.get()) else {
                    return;
                };
                if self.is_stripped && !values.is_empty() && is_uniform(element, values) {
                    self.blank += 1;
                    return;
                }
                let mut hasher = FxHasher::default();
                hasher.write_u8(element.code());
                hasher.write(values);
                let hash = hasher.finish();
                let part = (hash >> 58) as usize;
                let entries = &mut self.entries[part];
                entries.push(Entry {
                    hash,
                    object: object as u64,
                });
                if entries.len() == RUN {
                    self.parts.add(part, entries);
                }
            }
            SubRecord::Instance {
                object,
                class,
                values,
                ..
            } => {
                let Some(class) = graph.classes().by_id(class.get()) else {
                    return;
                };
                if !self.string_classes[class as usize] || live(object.get()).is_none() {
                    return;
                }
                let value = self.snapshot.field_of(class, values, "value");
                if let Some(Value::Object(array)) = value {
                    self.in_strings[array / 64].fetch_or(1 << (array % 64), Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }

    /// Hands over what is left; the number of arrays whose elements were blotted out.
    fn finish(mut self) -> u64 {
        for (part, entries) in self.entries.iter_mut().enumerate() {
            if !entries.is_empty() {
                self.parts.add(part, entries);
            }
        }
        self.blank
    }
}

fn preview(snapshot: &Snapshot, array: usize) -> (&'static str, String) {
    let located = snapshot.graph().locate(snapshot.file(), array);
    let Some((
        _,
        SubRecord::PrimitiveArray {
            element, values, ..
        },
    )) = located
    else {
        return ("", String::new());
    };
    // Bytes of UTF-16 have a zero in every other place when the text is mostly Latin.
    let zeros = values
        .iter()
        .skip(1)
        .step_by(2)
        .take(64)
        .filter(|&&b| b == 0)
        .count();
    let coder = i64::from(values.len() > 2 && zeros * 2 > values.len().min(128) / 2);
    let text = match element {
        BasicType::Byte | BasicType::Char => {
            crate::snapshot::text(element, coder, values, None, PREVIEW)
        }
        _ => None,
    };
    let text = text.unwrap_or_else(|| {
        let elements = snapshot.primitives(array, 8);
        let words: Vec<String> = elements
            .iter()
            .map(|value| match value {
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => decimal(*number),
                Value::Boolean(value) => value.to_string(),
                _ => "?".to_owned(),
            })
            .collect();
        words.join(", ")
    });
    (element.name(), text)
}
