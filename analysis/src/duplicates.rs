//! Arrays of primitives with equal contents, such as those of equal strings.

use std::hash::Hasher;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use hprof_format::binary::{BasicType, SubRecord};
use rustc_hash::{FxHashMap, FxHasher};
use serde::Serialize;

use crate::snapshot::{Snapshot, Value};

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
    /// Live strings.
    pub strings: u64,
    /// What could be saved if equal arrays were one.
    pub wasted_bytes: u64,
    /// What could be saved in strings.
    pub wasted_in_strings: u64,
    /// The groups that waste most.
    pub groups: Vec<Duplicate>,
}

/// Arrays of one content.
#[derive(Clone, Copy)]
struct Sum {
    count: u32,
    first: u64,
}

/// What one thread finds.
#[derive(Default)]
struct Part {
    sums: FxHashMap<u64, Sum>,
    strings: u64,
}

/// Characters of a text that are kept.
const PREVIEW: usize = 200;
/// Runs of sub-records in one task.
const TASK: usize = 64;

/// Finds live arrays with equal contents, the `most` groups that waste most.
pub fn duplicates(snapshot: &Snapshot, most: usize) -> Duplicates {
    let graph = snapshot.graph();
    let words = graph.len().div_ceil(64);
    let in_strings: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut part = Part::default();
        let blocks = graph.blocks();
        loop {
            let first = TASK * next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = blocks.get(first..(first + TASK).min(blocks.len())) else {
                break;
            };
            if task.is_empty() {
                break;
            }
            for block in task {
                for sub_record in graph.sub_records(snapshot.file(), block).flatten() {
                    part.see(snapshot, &sub_record, &in_strings);
                }
            }
            if let [first, .., last] = task {
                snapshot.forget(first.offset, last.offset + last.bytes);
            }
        }
        part
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(part) => all.merge(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    let is_string = |object: u64| {
        let word = in_strings[object as usize / 64].load(Ordering::Relaxed);
        word >> (object % 64) & 1 != 0
    };
    let mut found = Duplicates {
        strings: all.strings,
        ..Duplicates::default()
    };
    let mut groups = Vec::new();
    for (_, sum) in all.sums.drain() {
        let bytes = graph.size(sum.first as usize);
        let count = u64::from(sum.count);
        found.arrays += count;
        found.bytes += count * bytes;
        if count > 1 {
            let wasted = (count - 1) * bytes;
            found.wasted_bytes += wasted;
            if is_string(sum.first) {
                found.wasted_in_strings += wasted;
            }
            groups.push((wasted, sum));
        }
    }
    groups.sort_unstable_by_key(|&(wasted, sum)| (std::cmp::Reverse(wasted), sum.first));
    groups.truncate(most);
    found.groups = groups
        .into_iter()
        .map(|(wasted_bytes, sum)| {
            let object = sum.first as usize;
            let (element, preview) = preview(snapshot, object);
            Duplicate {
                count: u64::from(sum.count),
                bytes: graph.size(object),
                wasted_bytes,
                object,
                element,
                is_string: is_string(sum.first),
                preview,
            }
        })
        .collect();
    found
}

impl Part {
    fn see(&mut self, snapshot: &Snapshot, sub_record: &SubRecord<'_>, in_strings: &[AtomicU64]) {
        let graph = snapshot.graph();
        let live = |id: u64| {
            let object = graph.number(id)?;
            snapshot.dominators().place(object).map(|_| object)
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
                let mut hasher = FxHasher::default();
                hasher.write_u8(element.code());
                hasher.write(values);
                let sum = self.sums.entry(hasher.finish()).or_insert(Sum {
                    count: 0,
                    first: object as u64,
                });
                sum.count = sum.count.saturating_add(1);
                sum.first = sum.first.min(object as u64);
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
                if graph.classes().get(class).name != "java.lang.String" {
                    return;
                }
                if live(object.get()).is_none() {
                    return;
                }
                self.strings += 1;
                if let Some(Value::Object(array)) = snapshot.field_of(class, values, "value") {
                    in_strings[array / 64].fetch_or(1 << (array % 64), Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        self.strings += other.strings;
        for (hash, more) in other.sums {
            let sum = self.sums.entry(hash).or_insert(Sum { count: 0, ..more });
            sum.count = sum.count.saturating_add(more.count);
            sum.first = sum.first.min(more.first);
        }
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
                Value::Float(number) => number.to_string(),
                Value::Boolean(value) => value.to_string(),
                _ => "?".to_owned(),
            })
            .collect();
        words.join(", ")
    });
    (element.name(), text)
}
