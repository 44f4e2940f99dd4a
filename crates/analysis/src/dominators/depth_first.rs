//! Numbers objects in the order of a depth-first search.

use std::io;

use super::pairs::Pairs;
use super::stack::Stack;
use crate::graph::{Array, Links, Number, Store};
use crate::marks::Marks;
use crate::trace::advance;

/// Objects between two reports of progress.
const TOLD: usize = 1 << 18;

/// The tree of a depth-first search from a virtual root, which has number 0 and refers to all
/// roots.
///
/// Objects that keep others alive have the numbers from 1 on, in the order of the search; the *leaves*, which keep none
/// alive, have those after them, also in this order. So no more is kept of a leaf than is asked of one: it is
/// the parent of no object.
///
/// The search looks at each reference once, so it sets those aside that are not in the tree: for dominators nothing
/// else is asked of the graph.
pub(super) struct DepthFirst<N> {
    /// By number: the object; unset for 0. Only the first `reached + 1` entries are in use.
    pub vertex: Array<N>,
    /// By number: the number of the parent in the tree. Those of leaves never fall, but for roots.
    pub parent: Array<N>,
    /// The references that are not in the tree, as far as they matter: the object that one leads to, and the number of the one that
    /// has it. Those to roots are left out: the dominator of a root is known.
    pub others: Pairs<N>,
    /// Objects that were reached and keep others alive.
    pub inner: usize,
    /// Objects that were reached.
    pub reached: usize,
}

/// Searches from the roots, and writes its arrays from one end to the other; [`super::scatter`] makes the numbers
/// by object later. References to roots are not followed: with the virtual root as their
/// dominator they never dominate through another path, and dominators stay the same.
pub(super) fn depth_first<N: Number>(
    links: &Links<'_, N>,
    roots: &[usize],
    store: &Store,
) -> io::Result<DepthFirst<N>> {
    let count = links.count();
    // A bit is in the CPU's cache where a look at the references would not be.
    let keeps_others = links.inner();
    let mut vertex = store.zeros(count + 1)?;
    let mut parent = store.zeros(count + 1)?;
    let mut others = Pairs::new();
    // Leaves come after all objects that may turn out to be none.
    let first_leaf = keeps_others.len() + 1;
    let (mut inner, mut leaves, mut told) = (0, 0, 0);
    {
        let (vertex, parent): (&mut [N], &mut [N]) = (&mut vertex, &mut parent);
        let mut seen = Marks::new(count);
        let mut starts = Vec::new();
        for &root in roots {
            if !seen.has(root) {
                seen.set(root);
                starts.push(root);
            }
        }
        let is_root = seen.clone();
        let (mut stack, mut outcome) = (Stack::new(), Ok(()));
        let mut rest: Vec<N> = Vec::new();
        for root in starts {
            if !keeps_others.has(root) {
                vertex[first_leaf + leaves] = N::of(root);
                parent[first_leaf + leaves] = N::of(0);
                leaves += 1;
                continue;
            }
            stack.push(store, [N::of(root), N::of(0)])?;
            while let Some([found, above]) = stack.pop() {
                let object = found.get();
                // A root is seen from the beginning, and on the stack once.
                if seen.has(object) && object != root {
                    others.push(store, [found, above])?;
                    continue;
                }
                seen.set(object);
                inner += 1;
                let visited = inner + leaves;
                if visited - told >= TOLD {
                    advance((visited - told) as u64);
                    told = visited;
                }
                let own = N::of(inner);
                vertex[inner] = N::of(object);
                parent[inner] = above;
                let mut follow = |target: usize| {
                    if seen.has(target) {
                        if target != object && !is_root.has(target) && outcome.is_ok() {
                            outcome = others.push(store, [N::of(target), own]);
                        }
                    } else if !keeps_others.has(target) {
                        // Nothing comes after it, so it may take its number at once.
                        seen.set(target);
                        vertex[first_leaf + leaves] = N::of(target);
                        parent[first_leaf + leaves] = own;
                        leaves += 1;
                    } else if outcome.is_ok() {
                        outcome = stack.push(store, [N::of(target), own]);
                    }
                };
                links.first(object, &mut rest, &mut follow);
                // The last one on the stack is the first to be followed.
                rest.drain(..).rev().for_each(|target| follow(target.get()));
            }
        }
        outcome?;
        for array in [vertex, parent] {
            array.copy_within(first_leaf..first_leaf + leaves, inner + 1);
        }
    }
    Ok(DepthFirst {
        vertex,
        parent,
        others,
        inner,
        reached: inner + leaves,
    })
}
