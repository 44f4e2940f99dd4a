//! The objects whose immediate dominator does not refer to them: the ends of separate ways.
//!
//! An object to which its immediate dominator refers is dominated by the groups that dominate that
//! one, and by the group of that one: the direct way leads through nothing else. Only the other
//! objects, the *joins*, may be dominated by more groups: those that every way to them meets. In
//! real heaps joins are few, so the equations of [`super::groups`] have few unknowns.
//!
//! Each place in the tree has a *head*: the nearest join at it or above it, or none if the way
//! up ends at a root. Between head and place the groups on the way are known.

use std::io;
use std::ops::Range;

use super::pairs::Pairs;
use super::stack::Stack;
use super::tree::Tree;
use crate::gate;
use crate::graph::{Array, ClassView, Links, Number, Store, TooMany};
use crate::marks::{Marks, Ranked, SharedMarks};
use crate::parallel;

/// The joins of a graph and the references to them. Joins are numbered in the order of their places,
/// and so are *sources*, the places that refer to them.
pub(super) struct Joins<N> {
    /// The places of all but joins.
    settled: Ranked,
    /// The places of sources.
    sources: Ranked,
    /// The references to joins, by their sources.
    references: JoinReferences<N>,
}

/// References to joins: each is the number of a join, and before it that of a source, or of the [way](super::ways) to that.
pub(super) struct JoinReferences<N> {
    /// Joins, each after most of those on which it depends.
    pub order: Array<N>,
    /// References from places whose way up ends at a root.
    pub from_roots: Pairs<N>,
    /// By join: where the references from places under it start; one entry more than joins.
    start: Array<N>,
    /// References from places under joins, ordered by that join.
    under: Array<[N; 2]>,
}

/// Places in one task.
const TASK: usize = 1 << 16;

impl<N: Number> Joins<N> {
    /// Finds the joins below `roots`, which are objects.
    pub fn new(
        links: &Links<'_, N>,
        tree: &Tree<N>,
        roots: &[usize],
        store: &Store,
    ) -> io::Result<Self> {
        // Roots and objects to which their immediate dominator refers: nearly all are known to be such ones.
        let settled = known(tree);
        for place in roots.iter().filter_map(|&root| tree.place(root)) {
            settled.set(place);
        }
        let class_places: Vec<Option<usize>> = (links.class_objects())
            .map(|object| object.and_then(|object| tree.place(object)))
            .collect();
        settle_classes(links, tree, &class_places, &settled);
        let mut pairs = pairs(links, tree, &settled, store)?;
        let is_open = |place: &usize| !settled.has(*place);
        let open: Vec<_> = class_places
            .iter()
            .map(|place| place.filter(is_open))
            .collect();
        if open.iter().any(Option::is_some) {
            let classes = tree.classes(links, store)?;
            add_references_to_classes(tree, classes.view(), &open, &settled, &mut pairs, store)?;
        }
        Self::of_pairs(tree, settled.into_marks().ranked(), pairs, store)
    }

    /// Orders references by the head of the place that refers.
    fn of_pairs(
        tree: &Tree<N>,
        settled: Ranked,
        pairs: Pairs<N>,
        store: &Store,
    ) -> io::Result<Self> {
        let matters = |[_, to]: &[N; 2]| !settled.marks().has(to.get());
        let matter = || pairs.iter().filter(matters);
        let mut sources = Marks::new(tree.len());
        for [from, _] in matter() {
            gate::pass();
            sources.set(from.get());
        }
        let sources = sources.ranked();
        let joins = tree.len() - settled.len();
        let heads = heads(tree, &settled, &sources, store)?;
        let source = |from: N| sources.before(from.get());
        let mut start = store.zeros::<N>(joins + 2)?;
        let mut under_joins = 0;
        for [from, _] in matter() {
            gate::pass();
            let head = heads[source(from)];
            if head != N::NONE {
                let count = &mut start[head.get() + 2];
                *count = N::of(count.get() + 1);
                under_joins += 1;
            }
        }
        if under_joins as u64 >= N::NONE.get() as u64 {
            return Err(io::Error::other(TooMany));
        }
        for join in 2..start.len() {
            start[join] = N::of(start[join - 1].get() + start[join].get());
        }
        // Each start moves on to the next one while its references are filled in.
        let mut references = store.zeros::<[N; 2]>(under_joins)?;
        let mut from_roots = Pairs::new();
        pairs.consume(|pair| {
            if !matters(&pair) {
                return Ok(());
            }
            gate::pass();
            let [from, to] = pair;
            let source = source(from);
            let join = to.get() - settled.before(to.get());
            let (reference, head) = ([N::of(source), N::of(join)], heads[source]);
            if head == N::NONE {
                return from_roots.push(store, reference);
            }
            let next = &mut start[head.get() + 1];
            references[next.get()] = reference;
            *next = N::of(next.get() + 1);
            Ok(())
        })?;
        drop(heads);
        let mut references = JoinReferences {
            order: Array::default(),
            from_roots,
            start,
            under: references,
        };
        references.order = references.reverse_postorder(joins, store)?;
        Ok(Self {
            settled,
            sources,
            references,
        })
    }

    /// True if a join is at the place.
    #[inline(always)]
    pub fn is_join(&self, place: usize) -> bool {
        !self.settled.marks().has(place)
    }

    /// The number of joins before a place.
    #[inline]
    pub fn joins_before(&self, place: usize) -> usize {
        place - self.settled.before(place)
    }

    /// True if the place refers to a join.
    #[inline(always)]
    pub fn is_source(&self, place: usize) -> bool {
        self.sources.marks().has(place)
    }

    /// The number of sources.
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// Takes the references, with the way to each source, by source, in its stead.
    pub fn take_references(&mut self, ways: &[u32]) -> JoinReferences<N> {
        let mut taken = std::mem::take(&mut self.references);
        let by_way = |reference: &mut [N; 2]| {
            gate::pass();
            reference[0] = N::of(ways[reference[0].get()] as usize);
        };
        let from_roots = taken.from_roots.chunks_mut();
        (from_roots.flat_map(|(chunk, _)| chunk)).for_each(by_way);
        taken.under.iter_mut().for_each(by_way);
        taken
    }
}

impl<N> Default for JoinReferences<N> {
    fn default() -> Self {
        Self {
            order: Array::default(),
            from_roots: Pairs::default(),
            start: Array::default(),
            under: Array::default(),
        }
    }
}

impl<N: Number> JoinReferences<N> {
    /// The references from places under a join.
    #[inline]
    pub fn under(&self, join: usize) -> &[[N; 2]] {
        &self.under[self.range(join)]
    }

    #[inline]
    fn range(&self, join: usize) -> Range<usize> {
        self.start[join].get()..self.start[join + 1].get()
    }

    /// The joins in the reverse postorder of a depth-first search.
    fn reverse_postorder(&self, joins: usize, store: &Store) -> io::Result<Array<N>> {
        let mut seen = Marks::new(joins);
        let mut order = store.filled(joins, N::NONE)?;
        let mut left = joins;
        // Joins, and which of the references under each comes next.
        let mut path: Stack<N> = Stack::new();
        let mut enter = |join: N, path: &mut Stack<N>| {
            if seen.has(join.get()) {
                return Ok(());
            }
            seen.set(join.get());
            path.push(store, [join, N::of(self.range(join.get()).start)])
        };
        for [_, first] in self.from_roots.iter() {
            enter(first, &mut path)?;
            while let Some([join, next]) = path.pop() {
                gate::pass();
                if next.get() == self.range(join.get()).end {
                    left -= 1;
                    order[left] = join;
                } else {
                    path.push(store, [join, next.next()])?;
                    enter(self.under[next.get()][1], &mut path)?;
                }
            }
        }
        Ok(order)
    }
}

/// By source: its head, which is the innermost join that dominates it, itself included.
fn heads<N: Number>(
    tree: &Tree<N>,
    settled: &Ranked,
    sources: &Ranked,
    store: &Store,
) -> io::Result<Array<N>> {
    let mut heads = store.unset(sources.len())?;
    let (mut joins, mut source) = (0, 0);
    // Joins that dominate the present place: where what is under each ends, and its number.
    let (mut nearest, mut above) = (None::<[N; 2]>, Stack::<N>::new());
    let (settled, sources) = (settled.marks(), sources.marks());
    for word in 0..sources.words() {
        gate::pass();
        let (settled, sources) = (settled.word(word), sources.word(word));
        let mut left = !settled | sources;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let place = 64 * word + bit as usize;
            if place >= tree.len() {
                break;
            }
            while nearest.is_some_and(|[end, _]| end.get() <= place) {
                nearest = above.pop();
            }
            if settled >> bit & 1 == 0 {
                let this = [N::of(tree.end(place)), N::of(joins)];
                joins += 1;
                if let Some(other) = nearest.replace(this) {
                    above.push(store, other)?;
                }
            }
            if sources >> bit & 1 != 0 {
                heads[source] = nearest.map_or(N::NONE, |[_, head]| head);
                source += 1;
            }
        }
    }
    Ok(heads)
}

/// True if the object at place `holder` dominates the one at `place`, or is that one.
#[inline(always)]
fn holds<N: Number>(tree: &Tree<N>, holder: usize, place: usize) -> bool {
    place >= holder && place < tree.end(holder)
}

/// Settles the classes whose immediate dominator is an object of theirs.
fn settle_classes<N: Number>(
    links: &Links<'_, N>,
    tree: &Tree<N>,
    class_places: &[Option<usize>],
    settled: &SharedMarks,
) {
    for &class in class_places.iter().flatten() {
        if let Some(above) = tree.above(class)
            && class_places[links.class_of(tree.object(above)).index()] == Some(class)
        {
            settled.set(class);
        }
    }
}

/// Adds the references of objects to the classes that are joins, whose places are in `class_places` by class, but those that say
/// nothing new.
fn add_references_to_classes<N: Number>(
    tree: &Tree<N>,
    classes: ClassView<'_>,
    class_places: &[Option<usize>],
    settled: &SharedMarks,
    pairs: &mut Pairs<N>,
    store: &Store,
) -> io::Result<()> {
    let mut last_above = vec![None; class_places.len()];
    for place in 0..tree.len() {
        gate::pass();
        let class = classes.of(place);
        let Some(class_place) = class_places[class.index()] else {
            continue;
        };
        let (above, is_join) = (tree.above(place), !settled.has(place));
        // An object says nothing new if one above it refers to the same class, or if one
        // beside it does, as groups are made of whole classes.
        let is_repeated = above.is_some_and(|above| classes.of(above) == class)
            || !is_join && last_above[class.index()] == Some(above);
        if !is_repeated && !holds(tree, class_place, place) {
            pairs.push(store, [N::of(place), N::of(class_place)])?;
        }
        if !is_join {
            last_above[class.index()] = Some(above);
        }
    }
    Ok(())
}

/// A mark at the places of objects of which the tree tells that their immediate dominator refers to them.
fn known<N: Number>(tree: &Tree<N>) -> SharedMarks {
    SharedMarks::of(tree.len(), |place| !tree.is_indirect(tree.object(place)))
}

/// The references between places that may matter, but those to classes; settles all objects to
/// which their immediate dominator refers. Of nearly all references a bit tells that they do not matter.
fn pairs<N: Number>(
    links: &Links<'_, N>,
    tree: &Tree<N>,
    settled: &SharedMarks,
    store: &Store,
) -> io::Result<Pairs<N>> {
    let count = links.count();
    let parts = parallel::run(0, count.div_ceil(TASK), |tasks| {
        let (mut found, mut outcome) = (Pairs::new(), Ok(()));
        for from in tasks.flat_map(|task| TASK * task..count.min(TASK * (task + 1))) {
            links.each_reference(from, |target| {
                if !tree.is_indirect(target) {
                    return;
                }
                let Some((from, to)) = tree.place(from).zip(tree.place(target)) else {
                    return;
                };
                if tree.above(to) == Some(from) {
                    settled.set(to);
                } else if !settled.has(to) && !holds(tree, to, from) && outcome.is_ok() {
                    outcome = found.push(store, [N::of(from), N::of(to)]);
                }
            });
        }
        outcome.map(|()| found)
    });
    Pairs::joined(parts)
}
