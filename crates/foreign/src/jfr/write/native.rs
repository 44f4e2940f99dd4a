//! Memory that native code has allocated, as async-profiler records it: an event with an address for what was allocated, and
//! one for what was freed.

use hprof_format::ids::TraceSerial;
use hprof_stacks::timeline::{Moment, Timeline};
use hprof_stacks::{Measure, Weights};
use rustc_hash::FxHashMap;

use super::metadata::id;
use super::{START_TICKS, Writer, timed};

/// The distance of two addresses. They are made up, as a profile has sums, and no address is another's.
const STEP: u64 = 1 << 12;

/// Native memory of a profile.
#[derive(Debug, Clone, Copy)]
pub struct NativeMemory<'a> {
    /// Bytes that were allocated.
    pub allocated: &'a Weights,
    /// Bytes of those that were not freed; `None` if that is not known, so that nothing is said to be freed.
    pub live: Option<&'a Weights>,
}

/// Bytes that each stack has freed.
struct Freed<'a> {
    left: FxHashMap<(TraceSerial, Option<&'a str>), u64>,
}

impl<'a> Freed<'a> {
    fn of(memory: NativeMemory<'a>) -> Self {
        let mut left = FxHashMap::default();
        let Some(live) = memory.live else {
            return Self { left };
        };
        for row in &memory.allocated.rows {
            let sum: &mut u64 = left.entry((row.trace, row.class.as_deref())).or_default();
            *sum = sum.saturating_add(row.value);
        }
        for row in &live.rows {
            if let Some(sum) = left.get_mut(&(row.trace, row.class.as_deref())) {
                *sum = sum.saturating_sub(row.value);
            }
        }
        Self { left }
    }

    /// How much of a number of bytes is freed.
    fn take(&mut self, trace: TraceSerial, class: Option<&'a str>, bytes: u64) -> u64 {
        let left = self.left.get_mut(&(trace, class));
        left.map_or(0, |left| {
            let freed = bytes.min(*left);
            *left -= freed;
            freed
        })
    }
}

/// Writes an event for what a stack still holds, and two for what it has freed.
pub(super) fn events(writer: &mut Writer<'_>, memory: NativeMemory<'_>) {
    let mut freed = Freed::of(memory);
    for row in memory.allocated.rows.iter().filter(|row| row.value > 0) {
        let gone = freed.take(row.trace, row.class.as_deref(), row.value);
        let of = writer.trace(row.trace);
        if row.value > gone {
            let now = writer.step();
            allocation(writer, now, of, row.value - gone);
        }
        if gone > 0 {
            let now = writer.step();
            let address = allocation(writer, now, of, gone);
            let now = writer.step();
            writer.event_at(now, id::FREE, &[of.0, of.1, address]);
        }
    }
}

/// Writes allocations when they were made. The recording that they come from has summed what was freed, if at all.
pub(super) fn timed_events(writer: &mut Writer<'_>, timeline: &Timeline) {
    let is_native = |it: &&Moment| it.measure == Measure::NativeBytes && it.value > 0;
    for moment in timeline.moments.iter().filter(is_native) {
        let of = timed::trace(writer, moment);
        let at = timed::ticks(timeline, moment.at);
        allocation(writer, at, of, moment.value);
    }
}

/// Writes an allocation, and returns its address.
fn allocation(writer: &mut Writer<'_>, at: u64, (thread, stack): (u64, u64), bytes: u64) -> u64 {
    writer.addresses += STEP;
    let address = writer.addresses;
    debug_assert!(at >= START_TICKS);
    writer.event_at(at, id::MALLOC, &[thread, stack, address, bytes]);
    address
}
