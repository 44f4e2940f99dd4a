//! The profile thread's part of following objects: it deletes the references of
//! the dead, and finds out who is alive.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crossbeam_channel::Receiver;

use super::live::{Followed, LivenessCheck, Packed, Segment};
use super::run::Run;
use super::spare::{Collected, Spare, Words};
use crate::vm::Jni;

/// All followed objects but those in segments that threads are filling.
pub(super) struct Sweeper {
    receiver: Receiver<Arc<Segment>>,
    liveness: LivenessCheck,
    /// Not looked at since they were allocated.
    young: VecDeque<Young>,
    /// Survivors; those of one level are looked at half as often as those of the
    /// one before.
    levels: [Level; LEVELS],
    /// For making runs.
    buffer: Vec<u8>,
    /// Where references of the dead go; `None` to delete them.
    spare: Option<&'static Spare>,
    collected: Collected,
}

/// The contents of a full segment.
struct Young {
    /// The segment's number.
    number: u64,
    /// See [`Segment::epoch`].
    epoch: usize,
    objects: Run,
}

#[derive(Default)]
struct Level {
    chunks: VecDeque<Run>,
    /// The next chunk, which is not full.
    open: Vec<Packed>,
    /// How many chunks are still to be visited in this pass.
    to_visit: usize,
    /// The number of collections when the pass began.
    swept: usize,
}

const LEVELS: usize = 7;
const CHUNK: usize = 1 << 12;
/// How many objects are looked at before the profile thread does something else.
const STEP: usize = 1 << 16;

/// The result of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    /// References that were given up.
    pub(super) deleted: usize,
    /// There is more to do.
    pub(super) more: bool,
}

impl Sweeper {
    /// Nothing is followed yet. References of the dead go to `spare`, or are deleted.
    pub(super) fn new(
        receiver: Receiver<Arc<Segment>>,
        liveness: LivenessCheck,
        spare: Option<&'static Spare>,
    ) -> Self {
        Self {
            receiver,
            liveness,
            young: VecDeque::new(),
            levels: Default::default(),
            buffer: Vec::new(),
            spare,
            collected: Collected::default(),
        }
    }

    /// Gives up some references to dead objects. `epoch` is the number of
    /// collections so far.
    pub(super) fn step(&mut self, jni: &Jni, epoch: usize) -> Swept {
        let swept = self.look(jni, epoch);
        if let Some(spare) = self.spare {
            let words = self.collected.finish();
            spare.keep(words);
            let left = words.drain(..).flat_map(Words::drain);
            left.for_each(|weak| jni.delete_weak(weak));
        }
        swept
    }

    fn look(&mut self, jni: &Jni, epoch: usize) -> Swept {
        // Threads may fill segments as fast as this takes them.
        for segment in self.receiver.try_iter().take(self.receiver.len()) {
            self.young.push_back(Young::new(&segment, &mut self.buffer));
        }
        let mut swept = Swept::default();
        let mut visited = 0;
        while self
            .young
            .front()
            .is_some_and(|segment| segment.epoch < epoch)
        {
            let Some(segment) = self.young.pop_front() else {
                break;
            };
            for object in segment.objects.objects() {
                if self.give_up_if_dead(jni, object) {
                    swept.deleted += 1;
                } else {
                    self.keep(0, object);
                }
            }
            visited += segment.objects.len();
            if visited >= STEP {
                swept.more = true;
                return swept;
            }
        }
        for level in 0..LEVELS {
            if let Some(state) = self.levels.get_mut(level)
                && state.to_visit == 0
                && epoch.saturating_sub(state.swept) >= 2 << level
            {
                state.close(&mut self.buffer);
                state.to_visit = state.chunks.len();
                state.swept = epoch;
            }
            while let Some(chunk) = self.next_chunk(level) {
                visited += chunk.len();
                for object in chunk.objects() {
                    if self.give_up_if_dead(jni, object) {
                        swept.deleted += 1;
                    } else {
                        self.keep((level + 1).min(LEVELS - 1), object);
                    }
                }
                if visited >= STEP {
                    swept.more = true;
                    return swept;
                }
            }
        }
        swept
    }

    /// Adds segments that were taken out of the channel elsewhere.
    pub(super) fn add_young(&mut self, segments: Vec<Arc<Segment>>) {
        for segment in &segments {
            self.young.push_back(Young::new(segment, &mut self.buffer));
        }
    }

    /// Calls `visit` with each followed object, dead ones included. `open` are the segments that threads were
    /// filling a moment ago; those in the channel go to `taken`, for [`Self::add_young`].
    pub(super) fn for_each(
        &self,
        open: &[Arc<Segment>],
        taken: &mut Vec<Arc<Segment>>,
        visit: impl FnMut(Packed),
    ) {
        taken.extend(self.receiver.try_iter());
        let young = self.young.iter().map(|segment| segment.number);
        let full: HashSet<u64> = young.chain(taken.iter().map(|it| it.number())).collect();
        let open = open
            .iter()
            .filter(|segment| !full.contains(&segment.number()));
        let levels = self.levels.iter();
        let survivors = levels.flat_map(|level| {
            let closed = level.chunks.iter().flat_map(Run::objects);
            closed.chain(level.open.iter().copied())
        });
        self.young
            .iter()
            .flat_map(|segment| segment.objects.objects())
            .chain(taken.iter().chain(open).flat_map(|it| it.objects()))
            .chain(survivors)
            .for_each(visit);
    }

    /// Calls `visit` with each object that is alive. `open` are the segments that
    /// threads were filling a moment ago.
    pub(super) fn for_each_live(
        &mut self,
        jni: &Jni,
        open: &[Arc<Segment>],
        mut visit: impl FnMut(Followed),
    ) {
        let mut taken = Vec::new();
        self.for_each(open, &mut taken, |object| {
            let object = object.unpack();
            if !self.liveness.is_dead(jni, &object.weak) {
                visit(object);
            }
        });
        self.add_young(taken);
    }

    /// Deletes the references of all objects. `open` are the segments that threads were filling at the end.
    pub(super) fn forget(&mut self, jni: &Jni, open: &[Arc<Segment>]) {
        let mut taken = Vec::new();
        self.for_each(open, &mut taken, |object| {
            jni.delete_weak(object.unpack().weak)
        });
        self.young.clear();
        self.levels = Default::default();
    }

    fn next_chunk(&mut self, level: usize) -> Option<Run> {
        let level = self.levels.get_mut(level)?;
        level.to_visit = level.to_visit.checked_sub(1)?;
        level.chunks.pop_front()
    }

    fn give_up_if_dead(&mut self, jni: &Jni, object: Packed) -> bool {
        let weak = object.unpack().weak;
        let dead = self.liveness.is_dead(jni, &weak);
        match self.spare {
            Some(_) if dead => self.collected.add(weak),
            None if dead => jni.delete_weak(weak),
            _ => (),
        }
        dead
    }

    fn keep(&mut self, level: usize, object: Packed) {
        let Some(level) = self.levels.get_mut(level) else {
            return;
        };
        level.open.push(object);
        if level.open.len() >= CHUNK {
            level.close(&mut self.buffer);
        }
    }
}

impl Young {
    fn new(segment: &Segment, buffer: &mut Vec<u8>) -> Self {
        Self {
            number: segment.number(),
            epoch: segment.epoch(),
            objects: Run::new(segment.objects(), buffer),
        }
    }
}

impl Level {
    /// Puts the open chunk after the others, of which those to visit are at the front.
    fn close(&mut self, buffer: &mut Vec<u8>) {
        if !self.open.is_empty() {
            self.chunks.push_back(Run::new(self.open.drain(..), buffer));
        }
    }
}
