//! The way down from an object that keeps much alive to where that memory piles up.

use std::cmp::Reverse;

use super::candidates::LIST;
use super::chains::{Branches, Way};
use super::finding::field_name;
use super::parts::{Parts, Role};
use super::start::is_of_the_jdk;
use crate::numbers::Place;
use crate::snapshot::{EdgeKind, Snapshot};

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
    /// True if the head is an array in an object of the JDK, which is the subject, such as a `BitSet`.
    pub is_wrapped: bool,
}

/// Goes down from a place to where memory piles up. A collection counts as a whole, as does a list of nodes.
pub(super) fn pile(snapshot: &Snapshot, parts: &Parts<'_>, start: Place) -> Pile {
    let dominators = snapshot.dominators();
    let enough = dominators.retained(start) as f64 * MAIN_SHARE;
    let (mut container, mut subject) = (start, start);
    let mut way = Way::from(parts, start, start);
    let (mut at, mut links) = (start, 0);
    let mut is_in_subject = true;
    let branches = Branches::new(parts);
    while let Some(next) = largest(snapshot, at) {
        // A list may be long beyond what keeps enough.
        is_in_subject &= dominators.retained(next) as f64 >= enough;
        let inside = parts.collection_of(container, at, next);
        // The nodes of a collection are no list of their own.
        let is_part = inside.is_some() && parts.is_own_node(next);
        let chained = way.chained(parts, next).filter(|_| !is_part);
        if !is_in_subject && (chained.is_none() || links >= LIST) {
            break;
        }
        if let Some(first) = chained {
            subject = first;
            links += 1;
        } else if let Some(inside) = inside {
            container = inside;
        } else if branches.is_branch(at, next) {
            container = next;
        } else {
            (container, subject, links) = (next, next, 0);
        }
        way = way.down(parts, next, subject);
        at = next;
    }
    let head = owner_of_kin(snapshot, &branches, subject).unwrap_or(subject);
    let (mut subject, mut is_wrapped) = (head, false);
    if let Some(above) = dominators.above(head)
        && matches!(parts.role(above), Role::Plain | Role::Boxed)
        && dominators.retained(head) as f64 >= dominators.retained(above) as f64 * (1.0 - BESIDES)
    {
        // A list is named by what holds its first node and little else, an array by the object of the JDK around it.
        is_wrapped =
            links < LIST && parts.role(head) == Role::Array && is_by_the_jdk(snapshot, above, head);
        if links >= LIST || is_wrapped {
            subject = above;
        }
    }
    Pile {
        subject,
        head,
        is_wrapped,
    }
}

/// True of an object that refers to another by a field which a class of the JDK declares.
fn is_by_the_jdk(snapshot: &Snapshot, from: Place, to: Place) -> bool {
    let dominators = snapshot.dominators();
    let (from, to) = (dominators.object(from), dominators.object(to));
    let edge = snapshot.edge(from, to);
    edge.kind == EdgeKind::Field && is_of_the_jdk(&field_name(snapshot, from, &edge.name))
}

/// The object of the program whose collection has objects of its own class, which makes it a tree or graph.
fn owner_of_kin(snapshot: &Snapshot, branches: &Branches<'_>, collection: Place) -> Option<Place> {
    let above = snapshot.dominators().above(collection)?;
    branches.is_branch(above, collection).then_some(above)
}

/// The object that keeps most alive directly under a place.
pub(super) fn largest(snapshot: &Snapshot, place: Place) -> Option<Place> {
    let dominators = snapshot.dominators();
    let children = dominators.children(Some(place));
    children.max_by_key(|&child| (dominators.retained(child), Reverse(child)))
}
