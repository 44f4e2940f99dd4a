//! Stacks that a profiler has cut.

use std::fmt;

use serde::Serialize;

use crate::table::FrameIndex;
use crate::{Own, Stacks, Weights};

/// Returns true if a stack ends at the greatest number of frames, and not where threads begin.
pub(crate) fn is_cut(stacks: &Stacks, frames: &[FrameIndex], limit: usize) -> bool {
    let outermost = frames.last().map(|&frame| &*stacks.frame(frame).method);
    let begins = |method| matches!(method, "main" | "run" | "runWith" | "enterSpecial");
    limit > 0 && frames.len() >= limit && !outermost.is_none_or(begins)
}

/// How much of a profile's stacks was cut where the profiler stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// The frames that a stack has at most.
    pub limit: usize,
    /// The stacks that are cut, of those that cost something.
    pub cut: usize,
    /// All stacks that cost something.
    pub stacks: usize,
    /// The cost of truncated stacks.
    pub cut_cost: u64,
}

impl Depth {
    /// Finds the depth of the stacks that a measure is about. Without a `stated` limit, the length
    /// of the longest stack is the limit. A stack of that length is cut unless it begins where
    /// threads begin.
    pub fn of(stacks: &Stacks, weights: &Weights, stated: Option<usize>) -> Option<Self> {
        let rows = || weights.rows.iter().filter(|row| row.value > 0);
        let longest = rows().map(|row| stacks.frames_of(row.trace).len()).max()?;
        let limit = stated.filter(|&stated| stated > 0).unwrap_or(longest);
        let mut depth = Self {
            limit,
            cut: 0,
            stacks: 0,
            cut_cost: 0,
        };
        for row in rows() {
            depth.stacks += 1;
            let frames = stacks.frames_of(row.trace);
            if is_cut(stacks, frames, limit) {
                depth.cut += 1;
                depth.cut_cost += row.value;
            }
        }
        Some(depth)
    }
}

/// The depth that is advised where a smaller one hides the program: that of `hprof-rs record`.
const DEEP: usize = 64;

/// Costs of which no method of the program is charged, as their stacks were cut before one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CutBeforeOwn {
    /// The frames that a stack has at most.
    pub limit: usize,
    /// The cost of these stacks.
    pub cost: u64,
    /// The cost of all stacks.
    pub total: u64,
}

impl CutBeforeOwn {
    /// The part of all costs from which the program's methods look cheaper than they are.
    const PART: u64 = 10;

    /// Finds them in a profile whose stacks have at most `limit` frames; `None` if the limit is not known, or they are few.
    pub fn of(stacks: &Stacks, weights: &Weights, own: &Own, limit: Option<usize>) -> Option<Self> {
        let limit = limit.filter(|&limit| limit > 0)?;
        let rows = weights.rows.iter().filter(|row| {
            let frames = stacks.frames_of(row.trace);
            is_cut(stacks, frames, limit)
                && !frames.iter().any(|&frame| own.is_own(stacks.frame(frame)))
        });
        let cost: u64 = rows.map(|row| row.value).sum();
        (cost > 0 && cost >= weights.total / Self::PART).then_some(Self {
            limit,
            cost,
            total: weights.total,
        })
    }

    /// A depth that keeps the frames of most programs.
    pub fn advised(self) -> usize {
        DEEP.max(self.limit.saturating_mul(4))
    }
}

impl fmt::Display for CutBeforeOwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = (self.cost as f64 * 100.0 / self.total.max(1) as f64).round();
        let (limit, advised) = (self.limit, self.advised());
        let frames = if limit == 1 { "frame" } else { "frames" };
        write!(
            f,
            "{share} % of the cost is in stacks that end after {limit} {frames}, before a method of the program; \
             depth={advised} shows which"
        )
    }
}

#[cfg(test)]
mod tests {
    use hprof_format::ids::TraceSerial;
    use hprof_format::model::Line;

    use super::*;
    use crate::{Frame, Measure, Trace, Weight};

    /// Stacks with innermost frames first, all of equal cost.
    fn profile(traces: &[&[&str]]) -> (Stacks, Weights) {
        let mut stacks = Stacks::default();
        let mut rows = Vec::new();
        for (serial, frames) in (1..).map(TraceSerial::new).zip(traces) {
            let frames = frames.iter().map(|name| {
                let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
                stacks.intern(Frame {
                    class_name: class.into(),
                    method: method.into(),
                    source_file: None,
                    line: Line::Unknown,
                })
            });
            let (thread, frames) = (None, frames.collect());
            stacks.add(serial, Trace { thread, frames });
            rows.push(Weight {
                trace: serial,
                value: 10,
                class: None,
            });
        }
        let total = 10 * traces.len() as u64;
        let measure = Measure::Samples;
        (
            stacks,
            Weights {
                measure,
                total,
                rows,
            },
        )
    }

    #[test]
    fn only_stacks_that_end_at_the_limit_can_hide_the_program() {
        let (stacks, weights) = profile(&[
            // The program may come next.
            &["java.util.HashMap.getNode", "java.util.HashMap.get"],
            // It is there.
            &["java.util.HashMap.get", "acme.Orders.find"],
            // The thread begins here, so there is none.
            &["java.lang.Object.wait", "java.lang.Thread.run"],
            &["java.lang.Object.wait"],
        ]);
        let of = |limit| CutBeforeOwn::of(&stacks, &weights, &Own::Inferred, limit);
        let cut = of(Some(2)).unwrap();
        assert_eq!((cut.cost, cut.total, cut.advised()), (10, 40, 64));
        assert_eq!(
            cut.to_string(),
            "25 % of the cost is in stacks that end after 2 frames, before a method of the program; depth=64 shows which"
        );
        assert_eq!(of(Some(3)), None);
        assert_eq!(of(Some(0)), None);
        assert_eq!(of(None), None);
    }

    #[test]
    fn a_few_stacks_hide_little() {
        let own: &[&str] = &["acme.Orders.find", "acme.Main.main"];
        let cut: &[&str] = &["java.util.HashMap.getNode", "java.util.HashMap.get"];
        let mut traces = vec![own; 10];
        traces.push(cut);
        let (stacks, weights) = profile(&traces);
        assert_eq!(
            CutBeforeOwn::of(&stacks, &weights, &Own::Inferred, Some(2)),
            None
        );
    }
}
