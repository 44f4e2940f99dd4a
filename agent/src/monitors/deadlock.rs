//! Threads that wait for each other in a circle.

use std::collections::{HashMap, HashSet};

use hprof_format::ids::ThreadSerial;

/// A thread that waits for a lock that another one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Place of the lock in the caller's list.
    pub lock: usize,
    /// Its owner.
    pub owner: ThreadSerial,
}

/// All circles, each beginning with its lowest thread. A thread waits for one lock at
/// most, so no two circles have a thread in common.
pub fn cycles(waiting: &HashMap<ThreadSerial, Edge>) -> Vec<Vec<(ThreadSerial, Edge)>> {
    let mut threads: Vec<_> = waiting.keys().copied().collect();
    threads.sort();
    let mut seen = HashSet::new();
    let mut cycles = Vec::new();
    for first in threads {
        let mut path: Vec<(ThreadSerial, Edge)> = Vec::new();
        let mut thread = first;
        while seen.insert(thread) {
            let Some(&edge) = waiting.get(&thread) else {
                break;
            };
            path.push((thread, edge));
            thread = edge.owner;
        }
        // A path that ends at a thread of its own is a circle from there on.
        let Some(start) = path.iter().position(|(on_path, _)| *on_path == thread) else {
            continue;
        };
        let mut cycle = path.split_off(start);
        let lowest = (0..cycle.len()).min_by_key(|&place| cycle.get(place).map(|step| step.0));
        cycle.rotate_left(lowest.unwrap_or(0));
        cycles.push(cycle);
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(edges: &[(u32, u32)]) -> HashMap<ThreadSerial, Edge> {
        let edge = |&(thread, owner): &(u32, u32)| {
            let owner = ThreadSerial::new(owner);
            (ThreadSerial::new(thread), Edge { lock: 0, owner })
        };
        edges.iter().map(edge).collect()
    }

    fn found(edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let numbers = |cycle: Vec<(ThreadSerial, Edge)>| -> Vec<u32> {
            cycle.iter().map(|(thread, _)| thread.get()).collect()
        };
        cycles(&graph(edges)).into_iter().map(numbers).collect()
    }

    #[test]
    fn circles_are_found_and_chains_are_not() {
        assert_eq!(found(&[(1, 2), (2, 3)]), Vec::<Vec<u32>>::new());
        assert_eq!(found(&[(2, 1), (1, 2)]), [[1, 2]]);
        assert_eq!(found(&[(1, 3), (3, 2), (2, 3)]), [[2, 3]]);
        assert_eq!(
            found(&[(4, 4), (9, 7), (7, 8), (8, 9)]),
            [vec![4], vec![7, 8, 9]]
        );
    }

    proptest! {
        #[test]
        fn every_circle_closes_and_none_is_missed(
            owners in prop::collection::vec(prop::option::of(0u32..12), 12),
        ) {
            let edges: Vec<(u32, u32)> = (0..)
                .zip(&owners)
                .filter_map(|(thread, owner)| owner.map(|owner| (thread, owner)))
                .collect();
            let cycles = found(&edges);
            let owner = |thread: u32| owners[thread as usize];
            for cycle in &cycles {
                for (place, &thread) in cycle.iter().enumerate() {
                    prop_assert_eq!(owner(thread), Some(cycle[(place + 1) % cycle.len()]));
                }
            }
            // A thread is in a circle if following owners leads back to it.
            for thread in 0..12 {
                let mut next = owner(thread);
                for _ in 0..12 {
                    if next == Some(thread) {
                        break;
                    }
                    next = next.and_then(owner);
                }
                let times = cycles.iter().flatten().filter(|&&it| it == thread).count();
                prop_assert_eq!(times, usize::from(next == Some(thread)));
            }
        }
    }
}
