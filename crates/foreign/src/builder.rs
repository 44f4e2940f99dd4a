//! Collects the stacks of a file and what they cost.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::Line;
use hprof_stacks::{FrameIndex, Measure, Stacks, Trace, Weight, Weights};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::{Damage, Kind, Others, Profile, Thread};

/// Damaged places that are listed; more are counted only.
pub(crate) const MAX_DAMAGE: usize = 1000;

/// The name of frames for whose own there is no room.
const NO_ROOM: &str = "<name left out>";

/// A class of objects that were allocated or waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClassIndex(u32);

/// The frames of one or more traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StackIndex(u32);

/// Bytes of names for each byte of the file, and for any file. Files state a name once, but frames
/// repeat it; those of real programs stay below a tenth of this.
const NAME_ROOM: (usize, usize) = (16, 8 << 20);

/// A profile under construction.
#[derive(Default)]
pub(crate) struct Builder {
    stacks: Stacks,
    /// Frames, innermost first. Traces of several threads share them.
    shared: Vec<Arc<[FrameIndex]>>,
    /// Finds frames in `shared`.
    index: HashTable<StackIndex>,
    traces: FxHashMap<(Option<ThreadSerial>, StackIndex), TraceSerial>,
    /// Bytes that names may still take, and the number of names for which there was no room.
    name_room: usize,
    left_out: u64,
    threads: Vec<Thread>,
    thread_index: FxHashMap<String, ThreadSerial>,
    classes: Vec<Box<str>>,
    class_index: FxHashMap<Box<str>, ClassIndex>,
    /// Costs; milliseconds are summed as nanoseconds.
    costs: FxHashMap<(usize, TraceSerial, Option<ClassIndex>), u64>,
    damage: Vec<Damage>,
    pub(crate) damaged: u64,
}

fn place_of(measure: Measure) -> usize {
    let all = Measure::ALL.iter();
    all.take_while(|&&it| it != measure).count()
}

impl Builder {
    /// Begins a profile of a file of that many bytes.
    pub(crate) fn new(length: usize) -> Self {
        let (per_byte, fixed) = NAME_ROOM;
        Self {
            name_room: length.saturating_mul(per_byte).saturating_add(fixed),
            ..Self::default()
        }
    }

    /// Takes room for a name; nothing remains of a name for which there is none.
    pub(crate) fn within_room<'a>(&mut self, name: Cow<'a, str>) -> Cow<'a, str> {
        match self.takes_room(name.len()) {
            true => name,
            false => Cow::Borrowed(""),
        }
    }

    fn takes_room(&mut self, bytes: usize) -> bool {
        let left = self.name_room.checked_sub(bytes);
        self.left_out += u64::from(left.is_none());
        self.name_room = left.unwrap_or(self.name_room);
        left.is_some()
    }

    /// The thread with a name.
    pub(crate) fn thread(&mut self, name: &str) -> ThreadSerial {
        if let Some(&known) = self.thread_index.get(name) {
            return known;
        }
        let serial = ThreadSerial::new(self.threads.len() as u32 + 1);
        self.threads.push(Thread {
            serial,
            name: name.to_owned(),
        });
        self.thread_index.insert(name.to_owned(), serial);
        serial
    }

    /// A frame whose class is in source form.
    pub(crate) fn frame(
        &mut self,
        class: &str,
        method: &str,
        file: Option<&str>,
        line: Line,
    ) -> FrameIndex {
        let before = self.stacks.frame_count();
        let file = file.filter(|it| it.len() <= self.name_room);
        let bytes = class.len() + method.len() + file.map_or(0, str::len);
        if bytes > self.name_room {
            self.left_out += 1;
            return self.stacks.intern_parts("", NO_ROOM, None, line);
        }
        let frame = self.stacks.intern_parts(class, method, file, line);
        if self.stacks.frame_count() > before {
            self.takes_room(bytes);
        }
        frame
    }

    /// A frame of a name such as other tools print: `a.B.m`, `a/B.m` or the symbol of native code.
    pub(crate) fn named_frame(&mut self, name: &str, file: Option<&str>, line: Line) -> FrameIndex {
        let (class, method) = crate::frames::split(name);
        self.frame(&class, &method, file, line)
    }

    /// The name of a class.
    pub(crate) fn class_name(&self, class: ClassIndex) -> &str {
        &self.classes[class.0 as usize]
    }

    /// The class with a name in source form.
    pub(crate) fn class(&mut self, name: &str) -> ClassIndex {
        if let Some(&known) = self.class_index.get(name) {
            return known;
        }
        let index = ClassIndex(self.classes.len() as u32);
        self.classes.push(name.into());
        self.class_index.insert(name.into(), index);
        index
    }

    /// Frames, innermost first.
    pub(crate) fn stack(&mut self, frames: &[FrameIndex]) -> StackIndex {
        let Self { shared, index, .. } = self;
        let place = index.entry(
            FxBuildHasher.hash_one(frames),
            |known| *shared[known.0 as usize] == *frames,
            |known| FxBuildHasher.hash_one(&*shared[known.0 as usize]),
        );
        match place {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let added = StackIndex(shared.len() as u32);
                new.insert(added);
                shared.push(frames.into());
                added
            }
        }
    }

    /// The trace of a thread and frames.
    pub(crate) fn trace_of(
        &mut self,
        thread: Option<ThreadSerial>,
        stack: StackIndex,
    ) -> TraceSerial {
        let Self {
            stacks,
            shared,
            traces,
            ..
        } = self;
        *traces.entry((thread, stack)).or_insert_with(|| {
            let serial = TraceSerial::new(stacks.len() as u32 + 1);
            let frames = shared[stack.0 as usize].clone();
            stacks.add(serial, Trace { thread, frames });
            serial
        })
    }

    /// The trace of a thread and frames, innermost first.
    pub(crate) fn trace(
        &mut self,
        thread: Option<ThreadSerial>,
        frames: &[FrameIndex],
    ) -> TraceSerial {
        let stack = self.stack(frames);
        self.trace_of(thread, stack)
    }

    /// Adds a cost: nanoseconds for measures of milliseconds, else in the measure's unit.
    pub(crate) fn add(
        &mut self,
        measure: Measure,
        trace: TraceSerial,
        class: Option<ClassIndex>,
        cost: u64,
    ) {
        let sum = self.costs.entry((place_of(measure), trace, class));
        let sum = sum.or_default();
        *sum = sum.saturating_add(cost);
    }

    /// Notes a damaged place.
    pub(crate) fn damage(&mut self, offset: Option<usize>, lost: usize, message: String) {
        self.damaged += 1;
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push(Damage {
                offset: offset.map(|offset| offset as u64),
                lost_bytes: lost as u64,
                message,
            });
        }
    }

    /// The profile.
    pub(crate) fn finish(mut self, kind: Kind, created_millis: Option<u64>) -> Profile {
        if self.left_out > 0 {
            let message = format!(
                "the file repeats long names; there is no room for {} of them",
                self.left_out
            );
            self.damage(None, 0, message);
        }
        let mut rows: [Vec<Weight>; Measure::ALL.len()] = Default::default();
        let mut costs: Vec<_> = self.costs.into_iter().collect();
        costs.sort_unstable_by_key(|&((measure, trace, class), _)| {
            (measure, trace, class.map(|class| class.0))
        });
        let mut exact = [0_u128; Measure::ALL.len()];
        for ((at, trace, class), cost) in costs {
            // The sum of rounded costs is the rounded sum.
            let millis = |nanos: u128| ((nanos + 500_000) / 1_000_000) as u64;
            let value = match Measure::ALL[at].is_time() {
                false => cost,
                true => {
                    let before = exact[at];
                    exact[at] += u128::from(cost);
                    millis(exact[at]) - millis(before)
                }
            };
            rows[at].push(Weight {
                trace,
                value,
                class: class.map(|class| self.classes[class.0 as usize].clone()),
            });
        }
        let weights = Measure::ALL.into_iter().zip(rows);
        let weights = weights.filter(|(_, rows)| !rows.is_empty());
        let weights = weights.map(|(measure, rows)| Weights {
            measure,
            total: rows
                .iter()
                .fold(0, |sum, row| sum.saturating_add(row.value)),
            rows,
        });
        Profile {
            kind,
            created_millis,
            weights: weights.collect(),
            stacks: self.stacks,
            threads: self.threads,
            damage: self.damage,
            damaged: self.damaged,
            others: Others::default(),
            notes: Vec::new(),
            span: None,
            timeline: None,
        }
    }
}
