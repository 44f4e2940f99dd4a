//! Costs by source line.

use std::cmp::Reverse;

use hprof_format::model::Line;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::table::{FrameIndex, Stacks};
use crate::weights::Weights;

/// The costs of one line of a method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LineCost {
    /// The line, counted from 1.
    pub line: u32,
    /// The cost of stacks that end there.
    #[serde(rename = "self")]
    pub own: u64,
    /// The cost of all stacks that have the line, each counted once.
    pub total: u64,
}

/// The lines of a method that cost anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MethodLines {
    /// The class with its package, of the first frame that was seen.
    pub class: String,
    /// The source file's name; none if the profile does not tell.
    pub file: Option<String>,
    /// The cost of the stacks that end in the method.
    #[serde(rename = "self")]
    pub own: u64,
    /// The cost of all stacks that have the method, each counted once.
    pub total: u64,
    /// The lines, that with the highest total first.
    pub lines: Vec<LineCost>,
}

/// Costs by line of all methods, by the name of the method.
pub fn by_line(stacks: &Stacks, weights: &Weights) -> FxHashMap<String, MethodLines> {
    let mut all: Vec<(MethodLines, FxHashMap<u32, LineCost>)> = Vec::new();
    let mut by_name: FxHashMap<String, usize> = FxHashMap::default();
    let mut by_frame: FxHashMap<FrameIndex, usize> = FxHashMap::default();
    let (mut methods, mut lines) = (FxHashSet::default(), FxHashSet::default());
    for row in weights.rows.iter().filter(|row| row.value > 0) {
        methods.clear();
        lines.clear();
        for (depth, &index) in stacks.frames_of(row.trace).iter().enumerate() {
            let frame = stacks.frame(index);
            let method = *by_frame.entry(index).or_insert_with(|| {
                *by_name.entry(frame.name()).or_insert_with(|| {
                    let method = MethodLines {
                        class: frame.class_name.to_string(),
                        file: frame.source_file.as_deref().map(str::to_owned),
                        ..MethodLines::default()
                    };
                    all.push((method, FxHashMap::default()));
                    all.len() - 1
                })
            });
            let (sums, costs) = &mut all[method];
            let own = if depth == 0 { row.value } else { 0 };
            sums.own += own;
            if methods.insert(method) {
                sums.total += row.value;
            }
            let Line::Number(line) = frame.line else {
                continue;
            };
            let cost = costs.entry(line).or_default();
            cost.line = line;
            cost.own += own;
            if lines.insert((method, line)) {
                cost.total += row.value;
            }
        }
    }
    let lines_of = |(mut method, costs): (MethodLines, FxHashMap<u32, LineCost>)| {
        method.lines = costs.into_values().collect();
        let key = |cost: &LineCost| (Reverse((cost.total, cost.own)), cost.line);
        method.lines.sort_by_key(key);
        method
    };
    let mut methods: Vec<Option<MethodLines>> =
        all.into_iter().map(|it| Some(lines_of(it))).collect();
    let named = by_name.into_iter();
    named
        .filter_map(|(name, place)| Some((name, methods.get_mut(place)?.take()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Measure, Trace, Weight};
    use hprof_format::ids::TraceSerial;

    #[test]
    fn a_stack_counts_once_for_each_line() {
        let mut stacks = Stacks::default();
        let mut frame = |method: &str, line| {
            stacks.intern(Frame {
                class_name: "a.A".into(),
                method: method.into(),
                source_file: Some("A.java".into()),
                line: Line::Number(line),
            })
        };
        let (inner, outer, again) = (frame("f", 3), frame("f", 7), frame("g", 9));
        let mut rows = Vec::new();
        let traces = [(vec![inner, outer, outer, again], 5), (vec![outer], 2)];
        for (serial, (frames, value)) in (1..).map(TraceSerial::new).zip(traces) {
            let (thread, frames) = (None, frames.into());
            stacks.add(serial, Trace { thread, frames });
            rows.push(Weight {
                trace: serial,
                value,
                class: None,
            });
        }
        let weights = Weights {
            measure: Measure::Samples,
            total: 7,
            rows,
        };
        let found = by_line(&stacks, &weights);
        let f = &found["a.A.f"];
        assert_eq!((f.own, f.total, f.class.as_str()), (7, 7, "a.A"));
        assert_eq!(f.file.as_deref(), Some("A.java"));
        let lines: Vec<_> = f
            .lines
            .iter()
            .map(|it| (it.line, it.own, it.total))
            .collect();
        assert_eq!(lines, [(7, 2, 7), (3, 5, 5)]);
        assert_eq!(found["a.A.g"].lines[0].total, 5);
    }
}
