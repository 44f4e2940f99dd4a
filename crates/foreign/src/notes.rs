//! Limits of what a profile shows, that are no damage.

use std::fmt;

use hprof_stacks::Measure;
use serde::Serialize;

/// Types of events that a sentence names; it counts the others.
const NAMED: usize = 8;

/// Events that are in a file and not in its profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotShown {
    /// The name of their type.
    pub event: String,
    /// Their number.
    pub count: u64,
}

/// A limit of the costs of a profile; prints as a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Costs are fractions, and are multiplied by this.
    Multiplied(u64),
    /// Events with stacks that are not shown, most frequent first.
    NotShown(Vec<NotShown>),
    /// Measures that have no times, and are not in a part of the time.
    Timeless(Vec<Measure>),
    /// Samples that have no time.
    WithoutTime(u64),
    /// Events of the type that is shown, which have no stack.
    WithoutStack(u64),
}

impl Note {
    /// The note on events; none if there are none.
    pub(crate) fn not_shown(mut events: Vec<NotShown>) -> Option<Self> {
        events.sort_unstable_by(|a, b| (b.count, &a.event).cmp(&(a.count, &b.event)));
        (!events.is_empty()).then_some(Self::NotShown(events))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Multiplied(factor) => {
                write!(
                    f,
                    "the costs are fractions; they are shown multiplied by {factor}"
                )
            }
            Self::Timeless(measures) => {
                let names: Vec<&str> = measures.iter().map(|it| it.name()).collect();
                write!(
                    f,
                    "left out of this part of the time: {}, recorded as sums without times",
                    names.join(", ")
                )
            }
            Self::WithoutTime(samples) => write!(
                f,
                "{samples} samples have no time and are in no part of it: timelinemax= was reached"
            ),
            Self::WithoutStack(events) => {
                write!(f, "{events} events have no stack and are not shown")
            }
            Self::NotShown(events) => {
                write!(f, "not shown: ")?;
                for (index, NotShown { event, count }) in events.iter().take(NAMED).enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{event} ({count})")?;
                }
                match events.len().saturating_sub(NAMED) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more types of events"),
                }
            }
        }
    }
}
