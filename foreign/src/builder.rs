//! Collects the stacks of a file and what they cost.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::Line;
use hprof_stacks::{FrameIndex, Measure, Stacks, Trace, Weight, Weights};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use crate::{Damage, Kind, Profile, Thread};

/// Damaged places that are listed; more are counted only.
const MAX_DAMAGE: usize = 1000;

/// A class of objects that were allocated or waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClassIndex(u32);

/// A profile under construction.
#[derive(Default)]
pub(crate) struct Builder {
    stacks: Stacks,
    /// Finds a trace by what it holds, which lies in `stacks` only.
    index: HashTable<TraceSerial>,
    threads: Vec<Thread>,
    thread_index: FxHashMap<String, ThreadSerial>,
    classes: Vec<Box<str>>,
    class_index: FxHashMap<Box<str>, ClassIndex>,
    /// Costs; milliseconds are summed as nanoseconds.
    costs: FxHashMap<(usize, TraceSerial, Option<ClassIndex>), u64>,
    damage: Vec<Damage>,
    damaged: u64,
}

fn hash_of(thread: Option<ThreadSerial>, frames: &[FrameIndex]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(thread.map_or(0, ThreadSerial::get));
    hasher.write_u64(FxBuildHasher.hash_one(frames));
    hasher.finish()
}

fn place_of(measure: Measure) -> usize {
    let all = Measure::ALL.iter();
    all.take_while(|&&it| it != measure).count()
}

/// True for measures whose costs come as nanoseconds.
fn is_time(measure: Measure) -> bool {
    measure.unit() == "ms"
}

impl Builder {
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
        self.stacks.intern_parts(class, method, file, line)
    }

    /// A frame of a name such as other tools print: `a.B.m`, `a/B.m` or the symbol of native code.
    pub(crate) fn named_frame(&mut self, name: &str, file: Option<&str>, line: Line) -> FrameIndex {
        let (class, method) = crate::frames::split(name);
        self.frame(&class, method, file, line)
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

    /// The trace of a thread and frames, innermost first.
    pub(crate) fn trace(
        &mut self,
        thread: Option<ThreadSerial>,
        frames: &[FrameIndex],
    ) -> TraceSerial {
        let Self { stacks, index, .. } = self;
        let hash = hash_of(thread, frames);
        let known = index.find(hash, |&serial| {
            let trace = stacks.trace(serial);
            trace.is_some_and(|it| it.thread == thread && &*it.frames == frames)
        });
        if let Some(&known) = known {
            return known;
        }
        let serial = TraceSerial::new(stacks.len() as u32 + 1);
        let frames = frames.into();
        stacks.add(serial, Trace { thread, frames });
        index.insert_unique(hash, serial, |&serial| {
            let trace = stacks.trace(serial);
            trace.map_or(0, |it| hash_of(it.thread, &it.frames))
        });
        serial
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
    pub(crate) fn finish(self, kind: Kind, created_millis: Option<u64>) -> Profile {
        let mut rows: [Vec<Weight>; Measure::ALL.len()] = Default::default();
        let mut costs: Vec<_> = self.costs.into_iter().collect();
        costs.sort_unstable_by_key(|&((measure, trace, class), _)| {
            (measure, trace, class.map(|class| class.0))
        });
        let mut exact = [0_u128; Measure::ALL.len()];
        for ((at, trace, class), cost) in costs {
            // The sum of rounded costs is the rounded sum.
            let millis = |nanos: u128| ((nanos + 500_000) / 1_000_000) as u64;
            let value = match is_time(Measure::ALL[at]) {
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
        }
    }
}
