//! One collection of a recording, put together from its events.

use std::borrow::Cow;

use crate::event::{Collector, Family, Kind};
use crate::unified::Named;

/// The pauses of one collection that are kept; those of JVMs have ten at most.
const MAX_PAUSES: usize = 64;
/// The name of pauses of which only the sum is known.
const SUM: &str = "All of a cycle";

/// A part of a collection in which the program stood still.
#[derive(Debug)]
struct Phase<'a> {
    at: i64,
    duration: u64,
    name: Cow<'a, str>,
}

/// A collection, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Collection<'a> {
    /// The event of its end was seen, which has start, duration, name, cause and sum of pauses.
    pub is_done: bool,
    pub start: i64,
    pub duration: u64,
    pub name: Cow<'a, str>,
    pub cause: Cow<'a, str>,
    pub sum_of_pauses: Option<u64>,
    /// The kind of a young collection of G1.
    pub detail: Cow<'a, str>,
    pub before: Option<u64>,
    pub after: Option<u64>,
    pub capacity: Option<u64>,
    pub old_before: Option<u64>,
    pub old_after: Option<u64>,
    pub metaspace: Option<u64>,
    pub has_failed: bool,
    pub has_failed_to_promote: bool,
    phases: Vec<Phase<'a>>,
}

/// A moment of a collection. Pauses come before the end of their collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// The end of a pause, by its place.
    Pause(usize),
    End,
}

/// A concurrent cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    /// Its name in logs.
    pub name: &'static [u8],
    /// No young collections of another name run within it, so that its sizes are its own.
    pub has_sizes: bool,
}

impl<'a> Collection<'a> {
    /// Adds a pause; false if there are too many.
    pub(super) fn pause(&mut self, at: i64, duration: u64, name: Cow<'a, str>) -> bool {
        let has_room = self.phases.len() < MAX_PAUSES;
        if has_room {
            self.phases.push(Phase { at, duration, name });
        }
        has_room
    }

    /// The end of all that is known of it.
    pub(super) fn end(&self) -> i64 {
        let phases = self.phases.iter();
        let ends = phases.map(|phase| phase.at.saturating_add_unsigned(phase.duration));
        let own = self.start.saturating_add_unsigned(self.duration);
        ends.fold(own, i64::max)
    }

    /// Its moments with their times. Where events of pauses were not recorded, their sum is one pause.
    pub(super) fn steps(&mut self) -> Vec<(i64, Step)> {
        if let Some(sum) = self.sum_of_pauses.filter(|sum| *sum > 0)
            && self.phases.is_empty()
        {
            let name = Cow::Borrowed(SUM);
            self.pause(self.start, sum, name);
        }
        let end = (self.end(), Step::End);
        let phases = self.phases.iter().enumerate();
        let pauses = phases.map(|(place, phase)| {
            let end = phase.at.saturating_add_unsigned(phase.duration);
            (end, Step::Pause(place))
        });
        pauses.chain([end]).collect()
    }

    /// The duration of a pause in nanoseconds, and the parts of its name as logs have them.
    pub(super) fn pause_at(&self, place: usize) -> (u64, Named<'_>) {
        let phase = &self.phases[place];
        let mut named = match self.family() {
            Some(family) => Named {
                kind: Kind {
                    name: if family == Family::Young {
                        b"Young"
                    } else {
                        b"Full"
                    },
                    detail: self.detail.as_bytes(),
                },
                cause: b"",
                family,
                has_failed: self.has_failed && family == Family::Young,
            },
            None => {
                let name = phase.name.strip_prefix("Pause ");
                Named::of(name.unwrap_or(&phase.name).as_bytes(), 0)
            }
        };
        // As in logs, the pauses of a cycle have no cause.
        if named.cause.is_empty() && named.family != Family::Phase {
            named.cause = self.cause.as_bytes();
        }
        (phase.duration, named)
    }

    /// Returns whether a collection of Shenandoah took place while the program stood, after a cycle that was given up.
    pub(super) fn is_one_pause(&self) -> bool {
        let mut names = self.phases.iter().map(|phase| &*phase.name);
        let is_alone =
            |name: &str| name.starts_with("Pause Degenerated") || name.starts_with("Pause Full");
        &*self.name == "Shenandoah"
            && names.clone().any(is_alone)
            && !names.any(|name| name.starts_with("Pause Init Mark"))
    }

    /// The family of a collection that is one pause; none of concurrent ones.
    pub(super) fn family(&self) -> Option<Family> {
        Some(match &*self.name {
            "DefNew" | "ParNew" | "ParallelScavenge" | "G1New" => Family::Young,
            "SerialOld" | "ParallelOld" | "PSMarkSweep" | "G1Full" => Family::Full,
            _ => return None,
        })
    }

    /// The cycle that it is, if it is concurrent.
    pub(super) fn cycle(&self) -> Option<Cycle> {
        let (name, has_sizes): (&[u8], _) = match &*self.name {
            "G1Old" => (b"Concurrent Mark Cycle", false),
            "ConcurrentMarkSweep" => (b"Concurrent Cycle", false),
            // A degenerated or full collection has a number of its own, and is a pause alone.
            "Shenandoah" if self.is_one_pause() => return None,
            "Shenandoah" => (b"Concurrent Cycle", true),
            "Z" => (b"Garbage Collection", true),
            "ZGC Minor" => (b"Minor Collection", true),
            "ZGC Major" => (b"Major Collection", true),
            _ => return None,
        };
        Some(Cycle { name, has_sizes })
    }
}

/// The collector that has a part of this name (`gcName.hpp`).
pub(super) fn collector(name: &str) -> Option<Collector> {
    Some(match name {
        "ConcurrentMarkSweep" | "ParNew" => Collector::Cms,
        "DefNew" | "SerialOld" => Collector::Serial,
        "ParallelScavenge" | "ParallelOld" | "PSMarkSweep" => Collector::Parallel,
        "G1New" | "G1Old" | "G1Full" => Collector::G1,
        "Z" | "ZGC Minor" | "ZGC Major" => Collector::Z,
        "Shenandoah" => Collector::Shenandoah,
        _ => return None,
    })
}

/// The release in `OpenJDK 64-Bit Server VM (21+35) for linux-amd64 JRE (21+35), built on ...`.
pub(super) fn version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(" JRE (")?;
    let (version, _) = rest.split_once("), ")?;
    Some(version.chars().take(100).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_have_the_names_of_logs() {
        for (collection, phase, kind, cause, family) in [
            ("G1New", "GC Pause", "Young", "Why", Family::Young),
            ("SerialOld", "GC Pause", "Full", "Why", Family::Full),
            ("G1Old", "Pause Remark", "Remark", "", Family::Phase),
            (
                "Shenandoah",
                "Pause Init Mark (unload classes)",
                "Init Mark",
                "",
                Family::Phase,
            ),
            (
                "Shenandoah",
                "Pause Degenerated GC (Mark)",
                "Degenerated GC",
                "Mark",
                Family::Degenerated,
            ),
            ("Shenandoah", "Pause Full", "Full", "Why", Family::Full),
            ("", "GC Pause", "GC Pause", "", Family::Phase),
        ] {
            let mut it = Collection {
                name: collection.into(),
                cause: "Why".into(),
                ..Collection::default()
            };
            assert!(it.pause(5, 7, phase.into()));
            let (duration, named) = it.pause_at(0);
            let found = (named.kind.name, named.cause, named.family);
            assert_eq!(found, (kind.as_bytes(), cause.as_bytes(), family));
            assert_eq!(duration, 7);
            assert_eq!(it.steps(), [(12, Step::Pause(0)), (12, Step::End)]);
        }
    }

    #[test]
    fn a_degenerated_collection_is_no_cycle() {
        let of = |phases: &[&str]| {
            let mut it = Collection {
                name: "Shenandoah".into(),
                ..Collection::default()
            };
            for &phase in phases {
                assert!(it.pause(5, 7, phase.into()));
            }
            it.cycle().is_some()
        };
        assert!(of(&[]));
        assert!(of(&["Pause Init Mark", "Pause Final Mark"]));
        assert!(of(&["Pause Init Mark", "Pause Degenerated GC (Mark)"]));
        assert!(!of(&["Pause Degenerated GC (Mark)"]));
        assert!(!of(&["Pause Full"]));
    }

    #[test]
    fn the_sum_stands_for_pauses_that_were_not_recorded() {
        let mut it = Collection {
            is_done: true,
            start: 10,
            duration: 100,
            name: "G1Old".into(),
            sum_of_pauses: Some(30),
            ..Collection::default()
        };
        assert_eq!(it.steps(), [(40, Step::Pause(0)), (110, Step::End)]);
        assert_eq!(it.pause_at(0).1.kind.name, SUM.as_bytes());
    }

    #[test]
    fn versions_are_those_of_logs() {
        let text = "OpenJDK 64-Bit Server VM (11.0.13+8) for linux-amd64 JRE (11.0.13+8), built on Oct 19 2021";
        assert_eq!(version(text).as_deref(), Some("11.0.13+8"));
        assert_eq!(version("something else"), None);
    }
}
