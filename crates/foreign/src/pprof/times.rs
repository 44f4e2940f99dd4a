//! When samples of pprof arose: the format has no field for it, and profilers for traces of requests write a label with the nanoseconds
//! since 1970-01-01 UTC.

use std::borrow::Cow;

use hprof_stacks::timeline::Window;

use super::Message;
use super::wire::{Value, fixed, whole};

/// The labels, as Datadog's profilers and others name them.
const LABELS: [&str; 2] = ["end_timestamp_ns", "timestamp_ns"];

/// The times of a profile.
#[derive(Debug, Clone)]
pub(super) struct Times {
    /// The numbers of the strings that name the label.
    keys: Vec<u64>,
    /// The time that the profile covers.
    pub(super) span: Window,
    /// The time of samples without the label.
    middle: i64,
}

/// A time as far as it fits.
fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX - 1)
}

/// The time in a label, if it is one.
fn time_of(label: &[u8], keys: &[u64]) -> Option<i64> {
    let [_, key, _, number] = fixed(label);
    (number > 0 && keys.contains(&key)).then(|| signed(number))
}

impl Times {
    /// The times of a profile; `None` if no sample has one.
    pub(super) fn of(message: &Message<'_>) -> Option<Self> {
        let names = message.strings.iter().enumerate();
        let names = names.filter(|(_, name)| {
            let name = String::from_utf8_lossy(name);
            matches!(name, Cow::Borrowed(name) if LABELS.contains(&name))
        });
        let keys: Vec<u64> = names.map(|(at, _)| at as u64).collect();
        if keys.is_empty() {
            return None;
        }
        let (mut from, mut to) = (i64::MAX, i64::MIN);
        for sample in &message.samples {
            for (field, value) in whole(sample) {
                if let (3, Value::Bytes(label)) = (field, value)
                    && let Some(at) = time_of(label, &keys)
                {
                    (from, to) = (from.min(at), to.max(at + 1));
                }
            }
        }
        if from >= to {
            return None;
        }
        // A clock that is set while the profile is made moves samples out of it.
        let (begin, end) = match message.time_nanos {
            0 => (from, to),
            begin => (
                signed(begin),
                signed(begin.saturating_add(message.duration_nanos)),
            ),
        };
        Some(Self {
            keys,
            span: Window {
                from: from.min(begin),
                to: to.max(end),
            },
            middle: begin.midpoint(end),
        })
    }

    /// The time of a sample that has this label, if it is one.
    pub(super) fn label(&self, label: &[u8]) -> Option<i64> {
        time_of(label, &self.keys)
    }

    /// The time of a sample by what its labels say.
    pub(super) fn at(&self, labelled: Option<i64>) -> i64 {
        labelled.unwrap_or(self.middle)
    }
}
