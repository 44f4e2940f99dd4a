//! Pools of threads: threads whose names differ in a number, and which keep much alive together.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::start::is_of_the_jdk;
use crate::heap::is_virtual;
use crate::numbers::{ClassNumber, Place};
use crate::snapshot::Snapshot;

/// The share of a pool that its largest thread has at most: otherwise that thread is the suspect.
const LARGEST: f64 = 0.6;

/// A pool of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pool {
    /// The names of the threads, with `*` for the number; none if they have different names.
    pub name: Option<String>,
    /// Their class.
    pub class: String,
    /// True of virtual threads.
    pub is_virtual: bool,
    /// Places in the dominator tree, the largest first.
    pub members: Vec<Place>,
    /// The bytes that they keep alive.
    pub bytes: u64,
}

/// The pools that keep at least `threshold` bytes alive.
pub(super) fn pools(snapshot: &Snapshot, threshold: u64) -> Vec<Pool> {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let threads = graph.roots().iter().filter(|root| root.is_thread());
    let mut threads: Vec<Place> = threads
        .filter_map(|root| dominators.place(root.object()))
        .filter(|&place| dominators.above(place).is_none())
        .collect();
    threads.sort_unstable();
    threads.dedup();
    let sum =
        |threads: &[Place]| -> u64 { threads.iter().map(|&it| dominators.retained(it)).sum() };
    // Names are looked up in the file.
    if sum(&threads) < threshold {
        return Vec::new();
    }
    let mut by_name: FxHashMap<(ClassNumber, Option<String>), Vec<Place>> = FxHashMap::default();
    for place in threads {
        let object = dominators.object(place);
        let class = graph.class_of(object);
        let is_own = !is_of_the_jdk(&graph.classes().get(class).name);
        let name = snapshot.thread_name(object).unwrap_or_default();
        // A class of the program's own says more than a name.
        let pattern = (!is_own).then(|| pattern(&name));
        by_name.entry((class, pattern)).or_default().push(place);
    }
    // Those whose names have nothing in common.
    let mut rest: FxHashMap<ClassNumber, Vec<Place>> = FxHashMap::default();
    by_name.retain(|(class, _), members| {
        if members.len() == 1 {
            rest.entry(*class).or_default().append(members);
        }
        members.len() > 1
    });
    let by_name = by_name
        .into_iter()
        .map(|((class, _), members)| (class, members));
    let pools = by_name.chain(rest).filter_map(|(class, mut members)| {
        members.sort_by_key(|&place| (Reverse(dominators.retained(place)), place));
        let bytes = sum(&members);
        let largest = dominators.retained(*members.first()?) as f64;
        if bytes < threshold || members.len() < 2 || largest > LARGEST * bytes as f64 {
            return None;
        }
        let mut names = members.iter().map(|&place| {
            let name = snapshot.thread_name(dominators.object(place));
            pattern(&name.unwrap_or_default())
        });
        let name = names
            .next()
            .filter(|first| names.all(|name| name == *first));
        let class = graph.classes().get(class).name.clone();
        Some(Pool {
            name: name.filter(|name| !name.is_empty()),
            is_virtual: is_virtual(&class),
            class,
            members,
            bytes,
        })
    });
    pools.collect()
}

/// The name with a star in the place of its last number: `pool-1-thread-*`.
pub(super) fn pattern(name: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let Some(end) = name.rfind(is_digit).map(|at| at + 1) else {
        return name.to_owned();
    };
    let start = name[..end].trim_end_matches(is_digit).len();
    format!("{}*{}", &name[..start], &name[end..])
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn the_last_number_of_a_name_is_a_star() {
        for (name, expected) in [
            ("pool-1-thread-12", "pool-1-thread-*"),
            ("http-nio-8080-exec-3", "http-nio-8080-exec-*"),
            ("main", "main"),
            ("worker 7 of 9é", "worker 7 of *é"),
            ("", ""),
            ("42", "*"),
        ] {
            assert_eq!(pattern(name), expected);
        }
    }
}
