//! Hash maps whose keys collide.

use hprof_stacks::Frame;
use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{count, percent};

/// CPU time in hash maps that search trees of colliding keys, or compare one key after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hashes {
    /// The share of the samples of CPU that search trees of colliding keys.
    pub tree_share: f64,
    /// The share of the samples of CPU in `equals` that a hash map calls.
    pub equals_share: f64,
    /// The samples of both.
    pub samples: f64,
    /// The line.
    pub place: Option<Place>,
}

/// Fewer samples mean nothing.
const FEWEST: f64 = 8.0;

fn is_map(frame: &Frame) -> bool {
    let class = frame.class_name.strip_prefix("java.util.");
    let class = class.map(|class| class.strip_prefix("concurrent.").unwrap_or(class));
    class.is_some_and(|class| {
        class.starts_with("HashMap")
            || class.starts_with("ConcurrentHashMap")
            || class.starts_with("WeakHashMap")
            || class.starts_with("Hashtable")
            || class.starts_with("IdentityHashMap")
    })
}

/// A method of trees, into which HashMap and ConcurrentHashMap turn lists of 8 colliding keys.
fn is_tree(frame: &Frame) -> bool {
    let method = &*frame.method;
    is_map(frame)
        && (frame.class_name.ends_with("$TreeNode")
            || frame.class_name.ends_with("$TreeBin")
            || matches!(method, "comparableClassFor" | "compareComparables"))
}

impl Hashes {
    fn is_tree(recorded: &Recorded, trace: hprof_format::ids::TraceSerial) -> bool {
        let frames = recorded.frames(trace);
        // Only the map's own work and the keys' methods, no function that a map calls.
        let mut before_map = frames.skip_while(|frame| {
            !is_map(frame)
                && matches!(
                    &*frame.method,
                    "equals" | "compareTo" | "hashCode" | "compare"
                )
        });
        before_map.next().is_some_and(|first| {
            is_tree(first) || !is_map(first) && recorded.frames(trace).take(4).any(is_tree)
        })
    }

    fn is_equals(recorded: &Recorded, trace: hprof_format::ids::TraceSerial) -> bool {
        let frames: Vec<&Frame> = recorded.frames(trace).take(6).collect();
        frames
            .windows(2)
            .any(|pair| &*pair[0].method == "equals" && is_map(pair[1]) && !is_tree(pair[1]))
    }
}

impl Figures for Hashes {
    const RULE: &'static str = "hashes";
    const NEEDS: &'static [&'static str] = &[
        "jdk.ExecutionSample",
        "jdk.CPUTimeSample",
        "datadog.ExecutionSample",
    ];

    fn of(recorded: &Recorded) -> Self {
        let all: f64 = recorded.samples.iter().map(|it| it.count).sum();
        let (mut tree, mut equals, mut costs) = (0.0, 0.0, Vec::new());
        for sample in &recorded.samples {
            if Self::is_tree(recorded, sample.trace) {
                tree += sample.count;
            } else if Self::is_equals(recorded, sample.trace) {
                equals += sample.count;
            } else {
                continue;
            }
            costs.push((sample.trace, sample.count));
        }
        Self {
            tree_share: tree / all.max(1.0),
            equals_share: equals / all.max(1.0),
            samples: tree + equals,
            place: recorded.place(costs.into_iter()),
        }
    }

    fn level(&self) -> Level {
        // Maps without collisions never have trees, and compare each key once.
        let trees = Level::of(self.tree_share, 0.05, 0.25);
        let equals = Level::of(self.equals_share, 0.5, 0.8);
        match self.samples >= FEWEST {
            true => trees.max(equals),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        match self.level() {
            Level::Ok => format!(
                "Hash maps spent {} of the CPU samples on keys whose hashes collide.",
                percent(self.tree_share)
            ),
            _ => format!(
                "Keys whose hashes collide took {} of the CPU samples ({}){}.",
                percent(self.tree_share + self.equals_share),
                count(self.samples),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        match self.tree_share >= self.equals_share {
            true => "Many keys of one map have equal hashes, so a look-up searches a tree of them by compareTo, or all of it if keys are \
                     not comparable."
                .to_owned(),
            false => "Look-ups compare a key with one other after the next, or equals itself is slow.".to_owned(),
        }
    }

    fn next(&self) -> String {
        "Give the class of the keys a hashCode that spreads over all of their fields; if outsiders choose the keys, limit their number."
            .to_owned()
    }
}
