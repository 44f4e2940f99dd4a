//! Kinds of values: the names that senders use, and those of this server.

use hprof_stacks::Measure;
use hprof_stacks::pictures::pprof::sample_type;

/// The unit of times in the store.
pub(super) const NANOSECONDS: &str = "nanoseconds";

/// A kind of values as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    /// The key: that of a measure of this project, or `TYPE:UNIT` as the sender has them.
    pub key: String,
    /// `samples`, `calls`, `bytes`, `objects`, [`NANOSECONDS`], or a unit of the sender.
    pub unit: String,
    /// The number that multiplies the sender's values.
    pub factor: u64,
}

/// The nanoseconds of a unit of time.
fn nanos_of(unit: &str) -> Option<u64> {
    match unit {
        "nanoseconds" | "ns" => Some(1),
        "microseconds" | "us" => Some(1_000),
        "milliseconds" | "ms" => Some(1_000_000),
        "seconds" | "s" => Some(1_000_000_000),
        _ => None,
    }
}

/// The kind of a measure of this project.
pub(super) fn of_measure(measure: Measure) -> Kind {
    let (unit, factor) = match measure.is_time() {
        true => (NANOSECONDS, 1_000_000),
        false => (measure.unit(), 1),
    };
    Kind {
        key: measure.name().to_owned(),
        unit: unit.to_owned(),
        factor,
    }
}

/// The kind of a type of values with its unit, such as `cpu` in `nanoseconds`.
pub(super) fn of_sender(name: &str, unit: &str) -> Kind {
    let nanos = nanos_of(unit);
    let is_like = |measure: &Measure| {
        let (known, known_unit) = sample_type(*measure);
        let fits = match measure.is_time() {
            true => nanos.is_some(),
            false => known_unit == unit,
        };
        known == name && fits
    };
    if let Some(measure) = Measure::ALL.into_iter().find(is_like) {
        let kind = of_measure(measure);
        let factor = nanos.filter(|_| measure.is_time()).unwrap_or(1);
        return Kind { factor, ..kind };
    }
    let shown = match (name, unit) {
        ("", "") => "unknown".to_owned(),
        (name, "") => name.to_owned(),
        (name, unit) => format!("{name}:{unit}"),
    };
    Kind {
        key: shown,
        unit: nanos.map_or_else(|| unit.to_owned(), |_| NANOSECONDS.to_owned()),
        factor: nanos.unwrap_or(1),
    }
}

/// True for kinds of which each profile has all there is at its time, so that a sum over time means nothing.
pub fn is_state(key: &str) -> bool {
    [Measure::LiveBytes, Measure::LiveObjects]
        .iter()
        .any(|measure| measure.name() == key)
}

/// The name of a kind for people.
pub(super) fn title(key: &str) -> String {
    let mut measures = Measure::ALL.into_iter();
    let known = measures.find(|measure| measure.name() == key);
    known.map_or_else(|| key.to_owned(), |measure| measure.title().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_name_kinds_in_their_own_way() {
        for (name, unit, key, stored, factor) in [
            ("samples", "count", "samples", "samples", 1),
            ("cpu", "nanoseconds", "time", NANOSECONDS, 1),
            ("cpu", "milliseconds", "time", NANOSECONDS, 1_000_000),
            ("alloc_space", "bytes", "allocated-bytes", "bytes", 1),
            ("wall", "count", "wall", "samples", 1),
            ("wall", "nanoseconds", "wall:nanoseconds", NANOSECONDS, 1),
            ("goroutine", "count", "goroutine:count", "count", 1),
            ("events", "", "events", "", 1),
        ] {
            let kind = of_sender(name, unit);
            let found = (&*kind.key, &*kind.unit, kind.factor);
            assert_eq!(found, (key, stored, factor), "{name} {unit}");
        }
        assert!(is_state("live-bytes") && !is_state("allocated-bytes"));
    }
}
