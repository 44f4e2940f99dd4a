//! The profile of a recording, chunk by chunk.

use hprof_stacks::Measure;
use hprof_stacks::timeline::{Timeline, Window};
use rustc_hash::FxHashMap;

use super::bytes::Cursor;
use super::chunk::{self, Head, Sink};
use super::events::{self, Choice, Events, Kind as EventKind};
use super::moments::Moments;
use super::plan::Plans;
use super::pools::Pools;
use super::resolve;
use crate::builder::{Builder, MAX_DAMAGE};
use crate::{Kind, NotShown, Note, Others, Part, Profile};

/// Types of events that are counted by name, and the bytes of a name: a file may name any number.
const MAX_NAMES: usize = 1000;
const MAX_NAME: usize = 200;

/// Sums of the chunks so far.
pub(super) struct Costs {
    builder: Builder,
    choice: Choice,
    /// Costs with their times, if they are wanted.
    moments: Option<Moments>,
    others: Others,
    /// Events with stacks that are not shown, by name.
    not_shown: FxHashMap<Box<str>, u64>,
    /// Measures that are left out of a part of the time.
    timeless: Vec<Measure>,
}

impl Costs {
    /// Sums of a part of a file of that many bytes.
    pub(super) fn new(length: usize, part: Part) -> Self {
        Self {
            builder: Builder::new(length),
            choice: Choice::default(),
            moments: part.with_times.then(Moments::default),
            others: Others::default(),
            not_shown: FxHashMap::default(),
            timeless: Vec::new(),
        }
    }

    /// Adds those of a chunk, which begins at a place of the file.
    pub(super) fn add(&mut self, base: usize, chunk: ChunkCosts<'_>) {
        let builder = &mut self.builder;
        self.others.collections += chunk.others.collections;
        self.others.thread_dumps += chunk.others.thread_dumps;
        for (offset, lost, message) in chunk.damage {
            builder.damage(offset, lost, message);
        }
        builder.damaged += chunk.more_damage;
        let (Some(events), Some(ended)) = (chunk.events, chunk.ended) else {
            return;
        };
        let (bytes, pools, plans) = ended;
        for kind in &events.timeless {
            let measure = match kind {
                EventKind::Lock | EventKind::Park => Measure::Contention,
                EventKind::Allocation => Measure::AllocatedBytes,
                EventKind::NativeLock => Measure::NativeLock,
                // The only others that chunks without times have.
                _ => Measure::Samples,
            };
            if !self.timeless.contains(&measure) {
                self.timeless.push(measure);
            }
        }
        for (&id, &count) in events.not_shown.iter().filter(|(_, count)| **count > 0) {
            let name = plans.metadata.name(id).unwrap_or_default();
            let name = &name[..name.floor_char_boundary(MAX_NAME)];
            if let Some(sum) = self.not_shown.get_mut(name) {
                *sum += count;
            } else if self.not_shown.len() < MAX_NAMES {
                self.not_shown.insert(name.into(), count);
            }
        }
        let into = resolve::Into {
            builder,
            choice: &mut self.choice,
            moments: self.moments.as_mut(),
        };
        let lacking = resolve::resolve(bytes, events, &pools, &plans, into);
        if lacking > 0 {
            builder.damage(Some(base), 0, chunk::lacking(base, lacking));
        }
    }

    /// The profile of all chunks, which cover a time.
    pub(super) fn finish(mut self, created_millis: Option<u64>, span: Option<Window>) -> Profile {
        let chosen = self.choice.choose(&mut self.builder);
        let timeline = self.moments.zip(span).map(|(moments, span)| Timeline {
            span,
            sample_nanos: moments.sample_nanos,
            is_wall: false,
            moments: moments.finish(chosen),
        });
        let profile = self.builder.finish(Kind::Jfr, created_millis);
        // The JDK records stacks of many events that are no profile. Where there is no cost at all, they
        // show what was recorded.
        let is_empty = profile.weights.is_empty();
        let not_shown = self
            .not_shown
            .into_iter()
            .filter(|(name, _)| is_empty || !name.starts_with("jdk.") || events::is_cost(name));
        let not_shown = not_shown.map(|(event, count)| NotShown {
            event: event.into(),
            count,
        });
        Profile {
            span,
            timeline,
            others: self.others,
            notes: Note::not_shown(not_shown.collect())
                .into_iter()
                .chain((!self.timeless.is_empty()).then_some(Note::Timeless(self.timeless)))
                .collect(),
            ..profile
        }
    }
}

/// The sums of one chunk, by the numbers that its events state.
pub(super) struct ChunkCosts<'a> {
    part: Part,
    events: Option<Events>,
    /// The chunk, and what the numbers mean.
    ended: Option<(&'a [u8], Pools, Plans<'a>)>,
    others: Others,
    /// The first damaged places, and how many more there are.
    damage: Vec<(Option<usize>, usize, String)>,
    more_damage: u64,
}

impl ChunkCosts<'_> {
    /// No sums yet, of a part of the file.
    pub(super) fn new(part: Part) -> Self {
        Self {
            part,
            events: None,
            ended: None,
            others: Others::default(),
            damage: Vec::new(),
            more_damage: 0,
        }
    }
}

impl<'a> Sink<'a> for ChunkCosts<'a> {
    fn pools(&self) -> &'static [&'static str] {
        &[
            "jdk.types.StackTrace",
            "jdk.types.Method",
            "jdk.types.Symbol",
            "jdk.types.FrameType",
            "jdk.types.ThreadState",
            "java.lang.Class",
            "java.lang.String",
            "java.lang.Thread",
        ]
    }

    fn begin(&mut self, plans: &mut Plans<'a>, head: &Head) {
        self.events = Some(Events::new(plans, head, self.part));
    }

    fn event(&mut self, type_id: u64, body: Cursor<'a>) -> Option<()> {
        let events = self.events.as_mut()?;
        events.add(type_id, body, &mut self.others)
    }

    fn end(&mut self, chunk: &'a [u8], _: &Head, pools: Pools, plans: Plans<'a>) -> u64 {
        self.ended = Some((chunk, pools, plans));
        // That shows when names are looked up.
        0
    }

    fn damage(&mut self, offset: Option<usize>, lost: usize, message: String) {
        match self.damage.len() < MAX_DAMAGE {
            true => self.damage.push((offset, lost, message)),
            false => self.more_damage += 1,
        }
    }
}
