//! Shortest paths to some objects, searched for no farther than they are asked for.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::ShortestPaths;
use super::shortest::{Breadth, Waiting};
use crate::graph::{Links, Number, Width};
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// A search for shortest paths that stops where an object is reached, and goes on when another one
/// is asked for. Few objects are worth a question, and most of those lie near the roots.
#[derive(Debug)]
pub struct PathSearch {
    state: Mutex<ShortestPaths>,
}

impl PathSearch {
    /// A search that has reached the roots of a snapshot.
    ///
    /// # Errors
    /// If the store cannot hold its arrays.
    pub fn new(snapshot: &Snapshot) -> io::Result<Self> {
        let (graph, store) = (snapshot.graph(), snapshot.store());
        let roots: Vec<usize> = (graph.roots().iter())
            .map(|root| root.object().index())
            .collect();
        let none = &mut Waiting::default();
        let state = match graph.width() {
            Width::Narrow(references) => {
                let links = graph.links(references);
                ShortestPaths::Narrow(Breadth::begin(&links, &roots, None, none, store)?)
            }
            Width::Wide(references) => {
                let links = graph.links(references);
                ShortestPaths::Wide(Breadth::begin(&links, &roots, None, none, store)?)
            }
        };
        Ok(Self {
            state: Mutex::new(state),
        })
    }

    /// The objects on the shortest path to one, from the root to itself; `None` for an object that no
    /// root reaches. It is the path of [`ShortestPaths::to`], as long as the snapshot is that of `new`.
    pub fn to(&self, snapshot: &Snapshot, object: ObjectNumber) -> Option<Vec<ObjectNumber>> {
        // No search could stop for an object that it does not reach.
        snapshot.dominators().place(object)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.before(object).is_none() {
            let graph = snapshot.graph();
            match (&mut *state, graph.width()) {
                (ShortestPaths::Narrow(found), Width::Narrow(references)) => {
                    go_on(found, &graph.links(references), object);
                }
                (ShortestPaths::Wide(found), Width::Wide(references)) => {
                    go_on(found, &graph.links(references), object);
                }
                // Not those of one snapshot.
                _ => return None,
            }
        }
        state.to(object)
    }
}

fn go_on<N: Number>(found: &mut Breadth<N>, links: &Links<'_, N>, wanted: ObjectNumber) {
    found.go_on(links, None, &mut Waiting::default(), Some(wanted.index()));
}
