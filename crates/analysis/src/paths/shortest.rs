//! Shortest paths from the roots to all objects.

use std::io;

use crate::graph::{Array, Cell, Graph, Links, Number, Store, Width};
use crate::marks::Marks;
use crate::numbers::ObjectNumber;

/// The tree of a breadth-first search from all roots.
#[derive(Debug)]
pub enum ShortestPaths {
    /// With numbers of four bytes.
    Narrow(Breadth<u32>),
    /// With numbers of eight bytes.
    Wide(Breadth<u64>),
}

/// The tree of a breadth-first search.
#[derive(Debug)]
pub struct Breadth<N> {
    /// The objects that are reached.
    marks: Marks,
    /// By object that is reached: the one before it, itself for roots. The memory of others is not touched.
    before: Array<N>,
    /// The objects that are reached, the nearest first.
    order: Array<N>,
    reached: usize,
    /// Reached objects whose references were followed.
    followed: usize,
}

/// When a search follows a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// As it comes.
    Now,
    /// After all that are followed as they come.
    Later,
    /// After all others.
    Last,
    /// Not at all.
    Never,
}

/// Gives the turn of a reference from one object to another, or of a root without the first.
type TurnOf<'a> = dyn Fn(Option<ObjectNumber>, ObjectNumber) -> Turn + 'a;

impl ShortestPaths {
    /// Searches a graph.
    ///
    /// # Errors
    /// If the store cannot hold its arrays.
    pub fn new(graph: &Graph, store: &Store) -> io::Result<Self> {
        Self::search(graph, store, None)
    }

    /// Searches a graph as if some objects were not in it.
    ///
    /// # Errors
    /// If the store cannot hold its arrays.
    pub fn without(
        graph: &Graph,
        store: &Store,
        left_out: &dyn Fn(ObjectNumber) -> bool,
    ) -> io::Result<Self> {
        let turn = |_, object| match left_out(object) {
            true => Turn::Never,
            false => Turn::Now,
        };
        Self::search(graph, store, Some(&turn))
    }

    /// Searches a graph with some references and roots after all others: `turn` is asked with an object
    /// and one that it refers to, or with a root alone.
    ///
    /// # Errors
    /// If the store cannot hold its arrays.
    pub fn in_turns(graph: &Graph, store: &Store, turn: &TurnOf<'_>) -> io::Result<Self> {
        Self::search(graph, store, Some(turn))
    }

    fn search(graph: &Graph, store: &Store, turn: Option<&TurnOf<'_>>) -> io::Result<Self> {
        let roots: Vec<usize> = graph
            .roots()
            .iter()
            .map(|root| root.object().index())
            .collect();
        Ok(match graph.width() {
            Width::Narrow(references) => {
                Self::Narrow(search(&graph.links(references), &roots, turn, store)?)
            }
            Width::Wide(references) => {
                Self::Wide(search(&graph.links(references), &roots, turn, store)?)
            }
        })
    }

    /// The objects on the shortest path to one, from the root to itself.
    pub fn to(&self, object: ObjectNumber) -> Option<Vec<ObjectNumber>> {
        let mut path = vec![object];
        let mut at = object;
        loop {
            let before = self.before(at)?;
            if before == at {
                break;
            }
            path.push(before);
            at = before;
        }
        path.reverse();
        Some(path)
    }

    /// The object before one; itself if it is a root, `None` if it is not reached.
    #[inline]
    pub fn before(&self, object: ObjectNumber) -> Option<ObjectNumber> {
        fn before<N: Number>(paths: &Breadth<N>, object: ObjectNumber) -> Option<ObjectNumber> {
            let before = paths.before.get(object.index())?;
            (paths.marks.has(object.index())).then(|| ObjectNumber::new(before.get()))
        }
        match self {
            Self::Narrow(paths) => before(paths, object),
            Self::Wide(paths) => before(paths, object),
        }
    }

    /// The number of objects that are reached.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(paths) => paths.reached,
            Self::Wide(paths) => paths.reached,
        }
    }

    /// True if no object is reached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object that is reached at a position, the nearest first.
    #[inline]
    pub fn reached_at(&self, position: usize) -> ObjectNumber {
        match self {
            Self::Narrow(paths) => ObjectNumber::new(paths.order[position].get()),
            Self::Wide(paths) => ObjectNumber::new(paths.order[position].get()),
        }
    }
}

/// The references that wait for their turn: from and to, which are the same for a root.
#[derive(Default)]
pub(super) struct Waiting {
    later: Vec<(usize, usize)>,
    last: Vec<(usize, usize)>,
}

impl Waiting {
    /// Returns true if a reference is followed now; if not, it may be kept.
    fn passes(&mut self, turn: Turn, from: usize, to: usize) -> bool {
        match turn {
            Turn::Now => return true,
            Turn::Later => self.later.push((from, to)),
            Turn::Last => self.last.push((from, to)),
            Turn::Never => {}
        }
        false
    }

    /// The references whose turn it is when there are no others.
    fn next(&mut self) -> Vec<(usize, usize)> {
        match self.later.is_empty() {
            true => std::mem::take(&mut self.last),
            false => std::mem::take(&mut self.later),
        }
    }
}

pub(super) fn search<N: Number>(
    links: &Links<'_, N>,
    roots: &[usize],
    turn: Option<&TurnOf<'_>>,
    store: &Store,
) -> io::Result<Breadth<N>> {
    let mut waiting = Waiting::default();
    let mut found = Breadth::begin(links, roots, turn, &mut waiting, store)?;
    found.go_on(links, turn, &mut waiting, None);
    Ok(found)
}

impl<N: Number> Breadth<N> {
    /// A search that has reached the roots.
    pub(super) fn begin(
        links: &Links<'_, N>,
        roots: &[usize],
        turn: Option<&TurnOf<'_>>,
        waiting: &mut Waiting,
        store: &Store,
    ) -> io::Result<Self> {
        let mut marks = Marks::new(links.count());
        let mut before = store.zeros::<N>(links.count())?;
        let mut order = store.zeros::<N>(links.count())?;
        let mut reached = 0;
        for &root in roots {
            let turn = turn.map_or(Turn::Now, |turn| turn(None, ObjectNumber::new(root)));
            if !marks.has(root) && waiting.passes(turn, root, root) {
                marks.set(root);
                before[root] = N::of(root);
                order[reached] = N::of(root);
                reached += 1;
            }
        }
        Ok(Self {
            marks,
            before,
            order,
            reached,
            followed: 0,
        })
    }

    /// Goes on until an object is reached, or all are.
    pub(super) fn go_on(
        &mut self,
        links: &Links<'_, N>,
        turn: Option<&TurnOf<'_>>,
        waiting: &mut Waiting,
        wanted: Option<usize>,
    ) {
        self.before.set_hot(true);
        links.set_hot(true);
        let (before, order) = (&mut *self.before, &mut *self.order);
        let marks = &mut self.marks;
        let mut rest = Vec::new();
        let (mut reached, mut next) = (self.reached, self.followed);
        loop {
            while next < reached && wanted.is_none_or(|wanted| !marks.has(wanted)) {
                let object = order[next];
                next += 1;
                let mut follow = |target: usize| {
                    if marks.has(target) {
                        return;
                    }
                    let from = object.get();
                    let turn = turn.map_or(Turn::Now, |turn| {
                        turn(Some(ObjectNumber::new(from)), ObjectNumber::new(target))
                    });
                    if waiting.passes(turn, from, target) {
                        marks.set(target);
                        before[target] = object;
                        order[reached] = N::of(target);
                        reached += 1;
                    }
                };
                links.first(object.get(), &mut rest, &mut follow);
                rest.drain(..).for_each(|target| follow(target.get()));
            }
            if next < reached {
                break;
            }
            let turns = waiting.next();
            if turns.is_empty() {
                break;
            }
            for (from, to) in turns {
                if !marks.has(to) {
                    marks.set(to);
                    before[to] = N::of(from);
                    order[reached] = N::of(to);
                    reached += 1;
                }
            }
        }
        (self.reached, self.followed) = (reached, next);
        self.before.set_hot(false);
        links.set_hot(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::References;
    use crate::numbers::ClassNumber;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn paths_are_as_short_as_relaxation_finds_them(
            lists in prop::collection::vec(prop::collection::vec(0usize..30, 0..4), 30),
            roots in prop::collection::vec(0usize..30, 0..4),
        ) {
            let references = References::<u32>::of_lists(&lists);
            let class_of = vec![ClassNumber::UNKNOWN; lists.len()];
            let links = Links::new(&references, &*class_of, &[None]);
            let paths = search(&links, &roots, None, &Store::memory()).unwrap();
            let paths = ShortestPaths::Narrow(paths);
            // Bellman's relaxation, until nothing changes.
            let mut distance = vec![usize::MAX; lists.len()];
            roots.iter().for_each(|&root| distance[root] = 1);
            for _ in 0..lists.len() {
                for (from, list) in lists.iter().enumerate() {
                    for &to in list {
                        distance[to] = distance[to].min(distance[from].saturating_add(1));
                    }
                }
            }
            for (object, &distance) in distance.iter().enumerate() {
                let path = paths.to(ObjectNumber::new(object));
                prop_assert_eq!(path.as_ref().map_or(usize::MAX, Vec::len), distance);
                let Some(path) = path else { continue };
                let path: Vec<usize> = path.into_iter().map(ObjectNumber::index).collect();
                prop_assert!(roots.contains(&path[0]));
                prop_assert!(path.windows(2).all(|step| lists[step[0]].contains(&step[1])));
            }
        }
    }
}
