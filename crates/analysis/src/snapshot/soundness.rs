//! Checks that the contents of an index fit together, so that it can be asked without harm.
//!
//! A checksum tells a damaged index from a whole one, but not one that an attacker has made. So every
//! number that is used as a place in an array is looked at once, when the index is opened, and
//! what is walked along is looked at to end: lists of references do not overlap, and the tree of
//! dominators is one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::dominators::{Dominators, Tree};
use crate::gate;
use crate::graph::{ClassKind, Graph, GraphRoot, MAX_INSTANCE, Number, References, Width};
use crate::parallel;

/// True if graph and dominators can be asked anything. `file_bytes` is the length of the dump.
pub(super) fn is_sound(graph: &Graph, dominators: &Dominators, file_bytes: u64) -> bool {
    facts(graph)
        && blocks(graph, file_bytes)
        && graph.ids.is_sound()
        && objects(graph)
        && match (&graph.width, dominators) {
            (Width::Narrow(references), Dominators::Narrow(tree)) => {
                is_tree(graph, tree) && lists(graph, references, tree)
            }
            (Width::Wide(references), Dominators::Wide(tree)) => {
                is_tree(graph, tree) && lists(graph, references, tree)
            }
            _ => false,
        }
}

/// Checks the parts that are no arrays: classes, layout, counts.
fn facts(graph: &Graph) -> bool {
    let classes = graph.classes.list();
    let is_class = |class: &crate::graph::Class| {
        class
            .super_class
            .is_none_or(|above| above.index() < classes.len())
            && class
                .instance_bytes
                .is_none_or(|bytes| bytes <= MAX_INSTANCE)
    };
    let layout = &graph.layout;
    classes
        .first()
        .is_some_and(|class| class.kind == ClassKind::Objects)
        && u32::try_from(classes.len()).is_ok()
        && classes.iter().all(is_class)
        && matches!(layout.reference, 4 | 8)
        && layout.object_header <= 64
        && layout.array_header <= 64
        && layout.alignment.is_power_of_two()
        && (8..=crate::heap::MAX_ALIGNMENT).contains(&layout.alignment)
        && graph.gaps.archived_references <= graph.gaps.dangling_references
        && graph.gaps.missing_objects <= graph.gaps.dangling_references
        && graph.damage.count >= graph.damage.entries.len() as u64
}

/// The runs of sub-records: one after the other, within the file.
fn blocks(graph: &Graph, file_bytes: u64) -> bool {
    let mut end = 0;
    graph.blocks.list.iter().all(|block| {
        let follows = block.offset >= end;
        let Some(next) = block.offset.checked_add(block.bytes) else {
            return false;
        };
        end = next;
        follows && next <= file_bytes && block.objects <= block.bytes
    })
}

/// Checks the facts about each object, and the roots.
fn objects(graph: &Graph) -> bool {
    let count = graph.class_of.len();
    let classes = graph.classes.list().len();
    let is_object = |root: &GraphRoot| usize::try_from(root.object).is_ok_and(|it| it < count);
    let class_of = graph.class_of.view();
    (0..count).all(|object| class_of.of(object).index() < classes)
        && graph.sizes.is_sound()
        && graph.roots.iter().all(is_object)
        && graph.roots.is_sorted_by_key(GraphRoot::object)
        && graph
            .locals
            .iter()
            .all(|(thread, root)| thread.index() < count && is_object(root))
        && graph.locals.is_sorted_by_key(|local| local.0)
        && graph.passed_over.is_sorted()
        && (graph.passed_over.iter()).all(|&(from, to)| from < count as u64 && to < count as u64)
}

/// True if the places of a tree are those of a walk through it.
fn is_tree<N: Number>(graph: &Graph, tree: &Tree<N>) -> bool {
    let count = graph.class_of.len();
    let reached = tree.objects.len();
    if tree.places.len() != count
        || tree.spans.len() != reached
        || tree.above.len() != reached
        || tree.indirect.len() != count.div_ceil(64)
        || tree.sums.len() != reached
        || !tree.spans.is_sound()
        || !tree.sums.is_sound()
    {
        return false;
    }
    let places = tree.places.iter().enumerate();
    let mut placed = places.filter(|(_, place)| **place != N::NONE);
    let mut number = 0;
    let is_permutation = placed.all(|(object, place)| {
        gate::pass();
        number += 1;
        tree.objects
            .get(place.get())
            .is_some_and(|back| back.get() == object)
    });
    if !is_permutation || number != reached {
        return false;
    }
    let sizes = graph.sizes();
    let end = |place: usize| place.checked_add(tree.spans.of(place));
    for place in 0..reached {
        gate::pass();
        // The innermost object so far whose span continues: that is what this one lies under. Each
        // object is left once, so all these steps together are no more than there are places.
        let mut over = place.checked_sub(1);
        while let Some(at) = over
            && end(at).is_none_or(|end| end <= place)
        {
            over = Some(tree.above[at])
                .filter(|above| *above != N::NONE)
                .map(N::get);
        }
        let limit = over.and_then(end).unwrap_or(reached);
        let fits = end(place).is_some_and(|end| end > place && end <= limit);
        if !fits || tree.above[place] != over.map_or(N::NONE, N::of) {
            return false;
        }
        if tree.sums.sizes.of(place) != sizes.of(tree.objects[place].get()) {
            return false;
        }
    }
    // What is alive keeps what it refers to alive.
    (graph.roots.iter()).all(|root| tree.place(root.object().index()).is_some())
}

/// The objects in one task.
const TASK: usize = 1 << 16;

/// True if every list of references ends, leads to objects, and no two are the same: walks over all
/// of them take no longer than there are references.
fn lists<N: Number>(graph: &Graph, references: &References<N>, tree: &Tree<N>) -> bool {
    let count = graph.class_of.len();
    if references.start.len() != count {
        return false;
    }
    let all: usize = references.chunks.iter().map(|chunk| chunk.len()).sum();
    let seen = AtomicUsize::new(0);
    let is_unsound = AtomicBool::new(false);
    let view = references.view();
    let is_list = |object: usize| {
        gate::pass();
        let start = references.start[object];
        if start == N::NONE {
            return true;
        }
        let Some(list) = references.list_at(start.get()) else {
            return false;
        };
        let mut length = 0;
        let is_alive = tree.place(object).is_some();
        let is_right = view.of(object).all(|target| {
            length += 1;
            target < count && (!is_alive || tree.place(target).is_some())
        });
        let ends = length > 0 && list.get(length - 1).is_some_and(|last| last.split().1);
        // Together they are no longer than what there is.
        is_right && ends && seen.fetch_add(length, Ordering::Relaxed) + length <= all
    };
    parallel::run(0, count.div_ceil(TASK), |tasks| {
        for task in tasks {
            let from = TASK * task;
            if is_unsound.load(Ordering::Relaxed) {
                return;
            }
            if !(from..count.min(from + TASK)).all(is_list) {
                is_unsound.store(true, Ordering::Relaxed);
            }
        }
    });
    !is_unsound.into_inner()
}
