//! Stacks that a profiler has cut.

use crate::{Stacks, Weights};

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
            let outermost = frames.last().map(|&frame| stacks.frame(frame));
            let begins = |frame: &crate::Frame| {
                matches!(&*frame.method, "main" | "run" | "runWith" | "enterSpecial")
            };
            if frames.len() >= limit && outermost.is_some_and(|frame| !begins(frame)) {
                depth.cut += 1;
                depth.cut_cost += row.value;
            }
        }
        Some(depth)
    }
}
