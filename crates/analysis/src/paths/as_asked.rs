//! Shortest paths to some objects, searched for no farther than they are asked for.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::ShortestPaths;
use super::dominated::{self, Budget};
use super::shortest::{Breadth, Waiting};
use crate::dominators::{Dominators, Tree};
use crate::graph::{Links, Number, Width};
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// References that are followed from dominator to dominator before the search over all objects begins: some hundredths
/// of a second, and no more objects than that to remember.
const BUDGET: usize = 8 << 20;

/// A search for shortest paths that stops where an object is reached, and goes on when another one
/// is asked for. Few objects are worth a question, and most of those lie near the roots, or have few
/// objects around them.
#[derive(Debug)]
pub struct PathSearch {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// For the pieces between dominators: who asks for many paths has more of the search over all.
    budget: Budget,
    /// The search over all objects, once it is needed.
    all: Option<ShortestPaths>,
}

impl Default for PathSearch {
    fn default() -> Self {
        Self::new()
    }
}

impl PathSearch {
    /// A search that has found nothing yet.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                budget: Budget(BUDGET),
                all: None,
            }),
        }
    }

    /// The objects on the shortest path to one, from the root to itself; `None` for an object that no
    /// root reaches. It is the path of [`ShortestPaths::to`], as long as the snapshot is always the same.
    ///
    /// # Errors
    /// If the store cannot hold the arrays of the search.
    pub fn to(
        &self,
        snapshot: &Snapshot,
        object: ObjectNumber,
    ) -> io::Result<Option<Vec<ObjectNumber>>> {
        let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
        // No search could stop for an object that it does not reach.
        if dominators.place(object).is_none() {
            return Ok(None);
        }
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = state.all.as_ref().and_then(|all| all.to(object)) {
            return Ok(Some(path));
        }
        // The links look up each class.
        if state.budget.spend(graph.classes().list().len()) {
            let found = match (dominators, graph.width()) {
                (Dominators::Narrow(tree), Width::Narrow(references)) => {
                    state.through(snapshot, tree, &graph.few_links(references), object)?
                }
                (Dominators::Wide(tree), Width::Wide(references)) => {
                    state.through(snapshot, tree, &graph.few_links(references), object)?
                }
                // Not those of one snapshot.
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        state.over_all(snapshot, object)
    }
}

impl State {
    /// The path from dominator to dominator; `None` if the budget is spent before.
    fn through<N: Number>(
        &mut self,
        snapshot: &Snapshot,
        tree: &Tree<N>,
        links: &Links<'_, N>,
        object: ObjectNumber,
    ) -> io::Result<Option<Vec<ObjectNumber>>> {
        let Some(place) = tree.place(object.index()) else {
            return Ok(None);
        };
        let chain: Vec<usize> =
            std::iter::successors(Some(place), |&place| tree.above(place)).collect();
        let top = chain.last().map_or(place, |&place| place);
        let top = ObjectNumber::new(tree.object(top));
        let mut path = match snapshot.graph().roots_of(top).is_empty() {
            true => match self.over_all(snapshot, top)? {
                Some(path) => path,
                None => return Ok(None),
            },
            false => vec![top],
        };
        for piece in chain.windows(2).rev() {
            let ends = (piece[1], piece[0]);
            match dominated::below(links, tree, ends, &mut self.budget) {
                Some(piece) => path.extend(piece.into_iter().map(ObjectNumber::new)),
                None => return Ok(None),
            }
        }
        Ok(Some(path))
    }

    /// The path that a search over all objects finds.
    fn over_all(
        &mut self,
        snapshot: &Snapshot,
        object: ObjectNumber,
    ) -> io::Result<Option<Vec<ObjectNumber>>> {
        let (graph, store) = (snapshot.graph(), snapshot.store());
        let all = match &mut self.all {
            Some(all) => all,
            None => {
                let roots = graph.roots().iter();
                let roots: Vec<usize> = roots.map(|root| root.object().index()).collect();
                let none = &mut Waiting::default();
                self.all.insert(match graph.width() {
                    Width::Narrow(references) => {
                        let links = graph.links(references);
                        ShortestPaths::Narrow(Breadth::begin(&links, &roots, None, none, store)?)
                    }
                    Width::Wide(references) => {
                        let links = graph.links(references);
                        ShortestPaths::Wide(Breadth::begin(&links, &roots, None, none, store)?)
                    }
                })
            }
        };
        if all.before(object).is_none() {
            match (&mut *all, graph.width()) {
                (ShortestPaths::Narrow(found), Width::Narrow(references)) => {
                    go_on(found, &graph.links(references), object);
                }
                (ShortestPaths::Wide(found), Width::Wide(references)) => {
                    go_on(found, &graph.links(references), object);
                }
                // Not those of one snapshot.
                _ => return Ok(None),
            }
        }
        Ok(all.to(object))
    }
}

fn go_on<N: Number>(found: &mut Breadth<N>, links: &Links<'_, N>, wanted: ObjectNumber) {
    found.go_on(links, None, &mut Waiting::default(), Some(wanted.index()));
}
