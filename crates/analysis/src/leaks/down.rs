//! The way down from an object that keeps much alive to where that memory piles up.

use std::cmp::Reverse;

use super::candidates::LIST;
use super::parts::{CHAIN, Parts, Role};
use crate::numbers::Place;
use crate::snapshot::Snapshot;

/// A place goes down to its largest child as long as that keeps so much of what the first had.
const MAIN_SHARE: f64 = 0.7;
/// The share of what the holder of a list keeps alive that is not in the list.
const BESIDES: f64 = 0.05;

/// Where memory piles up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pile {
    /// The object that is worth a name: a collection, or the holder of a list.
    pub subject: Place,
    /// The object whose elements fill it: the subject, or the head of its list.
    pub head: Place,
}

/// Goes down from a place to where memory piles up. A collection counts as a whole, as does a list of nodes.
pub(super) fn pile(snapshot: &Snapshot, parts: &Parts<'_>, start: Place) -> Pile {
    let dominators = snapshot.dominators();
    let enough = dominators.retained(start) as f64 * MAIN_SHARE;
    let (mut at, mut container, mut subject) = (start, start, start);
    // The subject at each of the last steps, the nearest first.
    let mut before = [Some(start), None, None];
    let mut links = 0;
    while let Some(next) = largest(snapshot, at) {
        if (dominators.retained(next) as f64) < enough {
            break;
        }
        let chained = parts.chained(&parts.way(at), next);
        if let Some(first) = chained.and_then(|up: usize| before[up - 1]) {
            subject = first;
            links += 1;
        } else if let Some(inside) = parts.collection_of(container, at, next) {
            container = inside;
        } else {
            (container, subject, links) = (next, next, 0);
        }
        at = next;
        before = [Some(subject), before[0], before[1]];
        debug_assert_eq!(before.len(), CHAIN);
    }
    let head = subject;
    // A list is named by what holds its first node and little else.
    if links >= LIST
        && let Some(above) = dominators.above(head)
        && parts.role(above) == Role::Plain
        && dominators.retained(head) as f64 >= dominators.retained(above) as f64 * (1.0 - BESIDES)
    {
        subject = above;
    }
    Pile { subject, head }
}

/// The object that keeps most alive directly under a place.
pub(super) fn largest(snapshot: &Snapshot, place: Place) -> Option<Place> {
    let dominators = snapshot.dominators();
    let children = dominators.children(Some(place));
    children.max_by_key(|&child| (dominators.retained(child), Reverse(child)))
}
