//! Numbers objects in the order of a depth-first search.

use std::io;

use super::stack::Stack;
use crate::graph::{Array, Links, Number, Store};
use crate::marks::Marks;

/// The tree of a depth-first search from a virtual root, which has number 0 and refers to all
/// roots.
#[derive(Debug)]
pub(super) struct DepthFirst<N> {
    /// By number: the object; unset for 0. Only the first `reached + 1` entries are in use.
    pub vertex: Array<N>,
    /// By number: the number of the parent in the tree.
    pub parent: Array<N>,
    /// Objects that were reached.
    pub reached: usize,
}

/// Searches from the roots, and writes its arrays from one end to the other; [`super::inverse`] makes the numbers
/// by object later. References to roots are not followed: with the virtual root as their
/// dominator they never dominate through another path, and dominators stay the same.
pub(super) fn depth_first<N: Number>(
    links: &Links<'_, N>,
    roots: &[usize],
    store: &Store,
) -> io::Result<DepthFirst<N>> {
    let count = links.count();
    // A bit is in the CPU's cache where a look at the references would not be.
    let inner = links.inner();
    let mut vertex = store.zeros(count + 1)?;
    let mut parent = store.zeros(count + 1)?;
    let mut reached = 0;
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
        let (mut stack, mut outcome) = (Stack::new(), Ok(()));
        let mut rest: Vec<N> = Vec::new();
        for root in starts {
            stack.push(store, [N::of(root), N::of(0)])?;
            let mut is_root = true;
            while let Some([object, above]) = stack.pop() {
                let object = object.get();
                if !is_root && seen.has(object) {
                    continue;
                }
                is_root = false;
                seen.set(object);
                reached += 1;
                let own = N::of(reached);
                vertex[reached] = N::of(object);
                parent[reached] = above;
                let mut follow = |target: usize| {
                    if seen.has(target) {
                        return;
                    }
                    if !inner.has(target) {
                        // Nothing comes after it, so it may take its number at once.
                        seen.set(target);
                        reached += 1;
                        vertex[reached] = N::of(target);
                        parent[reached] = own;
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
    }
    Ok(DepthFirst {
        vertex,
        parent,
        reached,
    })
}
