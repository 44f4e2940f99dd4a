//! Recordings for the JDK's tools.

use anyhow::bail;
use hprof_foreign::jfr::write::{NativeMemory, measures, slow_calls, write};
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::timeline::{Timeline, Window};
use hprof_stacks::{Measure, Weights};

use super::created;
use crate::open::Opened;
use crate::render::out::tell;

/// Writes a recording of a part of the time, if one was chosen, and says on standard error what it has no events for.
///
/// # Errors
/// If there are no events for any of the measures.
pub fn jfr(
    opened: &Opened,
    profile: &Profile<'_>,
    part: Option<Window>,
    out: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let (native, others) = native_memory(opened, profile);
    let memory = native.as_ref().map(|(allocated, live)| NativeMemory {
        allocated,
        live: live.as_ref(),
    });
    let profile = &others;
    let mut written = measures(profile);
    written.extend(memory.map(|_| Measure::AllocatedBytes));
    let of = profile.weights.iter().filter(|it| it.total > 0);
    let left_out = of.map(|it| it.measure).filter(|it| !written.contains(it));
    let left_out: Vec<&str> = left_out.map(Measure::name).collect();
    let calls = slow_calls(profile, &opened.contents.slow.methods, part);
    if written.is_empty() && calls.is_empty() {
        bail!(
            "{} has {} only, for which a recording has no events",
            opened.name,
            left_out.join(", ")
        );
    }
    if !left_out.is_empty() {
        tell!("hprof-rs: left out: {}", left_out.join(", "));
    }
    if written.contains(&Measure::Time) {
        tell!("hprof-rs: CPU time is written as a sample for each millisecond");
    }
    let created = created::millis(&opened.contents, opened.modified);
    let timeline = opened.contents.timeline.as_ref();
    if let Some(timeline) = timeline {
        say_untimed(profile, timeline, &written);
    }
    if !written.is_empty() {
        out.extend(write(profile, memory, Some(created), timeline));
    }
    out.extend(calls);
    Ok(())
}

/// Bytes that were allocated, and those of them that are held.
type Memory = (Weights, Option<Weights>);

/// Splits a profile into the memory outside of the heap (`native=`) and all else.
fn native_memory<'a>(opened: &Opened, profile: &Profile<'a>) -> (Option<Memory>, Profile<'a>) {
    let with = |weights| Profile {
        weights,
        own: profile.own.clone(),
        ..*profile
    };
    let last = opened.contents.sites.last();
    if !last.is_some_and(|table| table.is_native) {
        return (None, with(profile.weights.clone()));
    }
    let of_sites = [
        Measure::AllocatedBytes,
        Measure::LiveBytes,
        Measure::AllocatedObjects,
        Measure::LiveObjects,
    ];
    let weights = profile.weights.iter().cloned();
    let (native, rest): (Vec<_>, Vec<_>) = weights.partition(|it| of_sites.contains(&it.measure));
    let of = |measure| native.iter().find(|it| it.measure == measure).cloned();
    let live = of(Measure::LiveBytes);
    let allocated = of(Measure::AllocatedBytes).or_else(|| live.clone());
    (allocated.map(|allocated| (allocated, live)), with(rest))
}

/// Says what has no true times.
fn say_untimed(profile: &Profile<'_>, timeline: &Timeline, written: &[Measure]) {
    for weights in profile
        .weights
        .iter()
        .filter(|it| written.contains(&it.measure))
    {
        let all = timeline.moments.iter();
        let timed: u64 = all
            .filter(|it| it.measure == weights.measure)
            .map(|it| it.value)
            .sum();
        let name = weights.measure.name();
        if timed == 0 {
            tell!("hprof-rs: {name} was recorded without times: its events are spread evenly");
        } else if weights.measure == Measure::Samples && timed < weights.total {
            let missing = weights.total - timed;
            tell!("hprof-rs: left out: {missing} samples of which the recording has no time");
        }
    }
}
