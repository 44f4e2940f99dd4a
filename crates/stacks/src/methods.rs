//! Costs summed up by method and by thread.

use std::cmp::Reverse;

use hprof_format::ids::ThreadSerial;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::call_tree::{CUT_OFF, EMPTY};
use crate::table::{FrameIndex, Stacks};
use crate::weights::Weights;

/// The costs of a method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MethodCost {
    /// Class and method.
    pub name: String,
    /// The cost of stacks in which the method is innermost.
    #[serde(rename = "self")]
    pub own: u64,
    /// The cost of all stacks in which the method occurs, each counted once.
    pub total: u64,
}

/// Costs by method, those with the highest self cost first.
pub fn by_method(stacks: &Stacks, weights: &Weights) -> Vec<MethodCost> {
    let mut all: Vec<MethodCost> = Vec::new();
    let mut by_name: FxHashMap<String, usize> = FxHashMap::default();
    let mut by_frame: FxHashMap<FrameIndex, usize> = FxHashMap::default();
    let mut in_stack = FxHashSet::default();
    let (mut empty, mut has_empty) = (0, false);
    for row in &weights.rows {
        in_stack.clear();
        let frames = stacks.frames_of(row.trace);
        if frames.is_empty() {
            empty += row.value;
            has_empty = true;
        }
        for (depth, &frame) in frames.iter().enumerate() {
            let method = *by_frame.entry(frame).or_insert_with(|| {
                let name = stacks.frame(frame).name();
                *by_name.entry(name).or_insert_with_key(|name| {
                    let name = name.clone();
                    all.push(MethodCost {
                        name,
                        own: 0,
                        total: 0,
                    });
                    all.len() - 1
                })
            });
            let cost = &mut all[method];
            cost.own += if depth == 0 { row.value } else { 0 };
            cost.total += if in_stack.insert(method) {
                row.value
            } else {
                0
            };
        }
    }
    let missing = weights.missing();
    let others = [(has_empty, EMPTY, empty), (missing > 0, CUT_OFF, missing)];
    for (_, name, cost) in others.into_iter().filter(|&(is_there, ..)| is_there) {
        all.push(MethodCost {
            name: name.to_owned(),
            own: cost,
            total: cost,
        });
    }
    all.sort_by(|a, b| {
        (Reverse((a.own, a.total)), &a.name).cmp(&(Reverse((b.own, b.total)), &b.name))
    });
    all
}

/// Costs by thread, highest first; `None` is for traces that name no thread.
pub fn by_thread(stacks: &Stacks, weights: &Weights) -> Vec<(Option<ThreadSerial>, u64)> {
    let mut costs: FxHashMap<Option<ThreadSerial>, u64> = FxHashMap::default();
    for row in &weights.rows {
        let thread = stacks.trace(row.trace).and_then(|trace| trace.thread);
        *costs.entry(thread).or_default() += row.value;
    }
    let mut all: Vec<_> = costs.into_iter().collect();
    all.sort_by_key(|&(thread, cost)| (Reverse(cost), thread));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallTree, Frame, Measure, Trace, Weight};
    use hprof_format::ids::TraceSerial;
    use hprof_format::model::Line;
    use proptest::prelude::*;

    /// Each trace is a list of methods, innermost first.
    fn profile(traces: &[(Vec<u8>, u64)], total: u64) -> (Stacks, Weights) {
        let mut stacks = Stacks::default();
        let mut rows = Vec::new();
        for (serial, (frames, value)) in (1..).map(TraceSerial::new).zip(traces) {
            let frames = frames.iter().map(|&method| {
                stacks.intern(Frame {
                    class_name: "A".into(),
                    method: format!("m{method}").into(),
                    source_file: None,
                    line: Line::Unknown,
                })
            });
            let frames = frames.collect();
            stacks.add(
                serial,
                Trace {
                    thread: None,
                    frames,
                },
            );
            rows.push(Weight {
                trace: serial,
                value: *value,
                class: None,
            });
        }
        let measure = Measure::Samples;
        let listed = rows.iter().map(|row| row.value).sum::<u64>();
        let total = total.max(listed);
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
    fn recursion_counts_once() {
        let (stacks, weights) = profile(&[(vec![1, 1, 2], 10), (vec![2], 3)], 15);
        let costs = by_method(&stacks, &weights);
        let found: Vec<_> = costs
            .iter()
            .map(|c| (c.name.as_str(), c.own, c.total))
            .collect();
        assert_eq!(found, [("A.m1", 10, 10), ("A.m2", 3, 13), (CUT_OFF, 2, 2)]);
        assert_eq!(by_thread(&stacks, &weights), [(None, 13)]);
    }

    #[test]
    fn the_tree_has_the_outermost_method_on_top() {
        let (stacks, weights) = profile(&[(vec![1, 1, 2], 10), (vec![3, 2], 4), (vec![], 1)], 0);
        let tree = CallTree::new(&stacks, &weights);
        assert_eq!(tree.total, 15);
        let [m2, empty] = &tree.roots[..] else {
            panic!("{tree:?}")
        };
        assert_eq!((&*m2.name, m2.own, m2.total), ("A.m2", 0, 14));
        assert_eq!((&*empty.name, empty.own), (EMPTY, 1));
        assert_eq!(m2.children[0].children[0].own, 10);
        assert_eq!(&*m2.children[1].name, "A.m3");
    }

    fn own(nodes: &[crate::Node]) -> u64 {
        nodes
            .iter()
            .map(|node| node.own + own(&node.children))
            .sum()
    }

    proptest! {
        #[test]
        fn every_way_to_sum_gives_the_total(
            traces in prop::collection::vec((prop::collection::vec(0u8..5, 0..6), 0u64..100), 0..20),
            extra in 0u64..500,
        ) {
            let (stacks, weights) = profile(&traces, extra);
            let costs = by_method(&stacks, &weights);
            prop_assert_eq!(costs.iter().map(|c| c.own).sum::<u64>(), weights.total);
            prop_assert!(costs.iter().all(|c| c.own <= c.total && c.total <= weights.total));
            let tree = CallTree::new(&stacks, &weights);
            prop_assert_eq!(own(&tree.roots), weights.total);
            prop_assert_eq!(tree.roots.iter().map(|n| n.total).sum::<u64>(), weights.total);
        }
    }
}
