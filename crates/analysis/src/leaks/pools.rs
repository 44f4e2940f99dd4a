//! Pools of threads: threads whose names differ in a number, and which keep much alive together.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::registries::numbers;
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
    // Many small pools, such as one for each request, are one.
    let mut by_numbers: FxHashMap<(ClassNumber, String), Vec<Place>> = FxHashMap::default();
    by_name.retain(|(class, name), members| {
        if members.len() > 1 && sum(members) >= threshold {
            return true;
        }
        let key = (*class, numbers(name.as_deref().unwrap_or_default()));
        by_numbers.entry(key).or_default().append(members);
        false
    });
    // Those whose names have nothing in common.
    let mut rest: FxHashMap<ClassNumber, Vec<Place>> = FxHashMap::default();
    by_numbers.retain(|(class, _), members| {
        if members.len() == 1 {
            rest.entry(*class).or_default().append(members);
        }
        members.len() > 1
    });
    let by_name = by_name
        .into_iter()
        .map(|((class, _), members)| (class, members));
    let by_numbers = by_numbers
        .into_iter()
        .map(|((class, _), members)| (class, members));
    let all = by_name.chain(by_numbers).chain(rest);
    let pools = all.filter_map(|(class, mut members)| {
        members.sort_by_key(|&place| (Reverse(dominators.retained(place)), place));
        let bytes = sum(&members);
        let largest = dominators.retained(*members.first()?) as f64;
        if bytes < threshold || members.len() < 2 || largest > LARGEST * bytes as f64 {
            return None;
        }
        let names: Vec<String> = (members.iter())
            .map(|&place| {
                snapshot
                    .thread_name(dominators.object(place))
                    .unwrap_or_default()
            })
            .collect();
        let name = common(&names, pattern).or_else(|| common(&names, numbers));
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

/// The pattern that all names have.
fn common(names: &[String], pattern: fn(&str) -> String) -> Option<String> {
    let mut patterns = names.iter().map(|name| pattern(name));
    let first = patterns.next()?;
    patterns.all(|it| it == first).then_some(first)
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
