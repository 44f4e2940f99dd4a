//! Recordings for the JDK's tools.

use anyhow::bail;
use hprof_foreign::jfr::write::{measures, write};
use hprof_stacks::Measure;
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::timeline::Timeline;

use super::created;
use crate::open::Opened;
use crate::render::out::tell;

/// Writes a recording, and says on standard error what it has no events for.
///
/// # Errors
/// If there are no events for any of the measures.
pub fn jfr(opened: &Opened, profile: &Profile<'_>, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let written = measures(profile);
    let of = profile.weights.iter().filter(|it| it.total > 0);
    let left_out = of.map(|it| it.measure).filter(|it| !written.contains(it));
    let left_out: Vec<&str> = left_out.map(Measure::name).collect();
    if written.is_empty() {
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
    out.extend(write(profile, Some(created), timeline));
    Ok(())
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
