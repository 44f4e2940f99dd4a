//! Objects that only soft references keep alive.

use std::io;

use super::{PathSearch, ShortestPaths, Turn};
use crate::graph::ReferenceKind;
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// Says of each object whether every way from the roots to it leads through the `referent` of a
/// `SoftReference`, so that the collector frees it before memory runs out.
///
/// # Errors
/// If there is no room for the paths.
pub fn only_soft(
    snapshot: &Snapshot,
    paths: &PathSearch,
    objects: &[ObjectNumber],
) -> io::Result<Vec<bool>> {
    let is_soft = |from: ObjectNumber, to: ObjectNumber| {
        let graph = snapshot.graph();
        let class = graph.classes().get(graph.class_of(from));
        class.reference_kind == Some(ReferenceKind::Soft)
            && snapshot.field_object(from, "referent") == Some(to)
    };
    let mut soft = Vec::with_capacity(objects.len());
    for &object in objects {
        let path = paths.to(snapshot, object)?.unwrap_or_default();
        soft.push(path.windows(2).any(|step| is_soft(step[0], step[1])));
    }
    if soft.iter().any(|&is| is) {
        // The shortest way is soft: there may be longer ones that are not.
        let turn = |from: Option<ObjectNumber>, to| match from {
            Some(from) if is_soft(from, to) => Turn::Never,
            _ => Turn::Now,
        };
        let others = ShortestPaths::in_turns(snapshot.graph(), snapshot.store(), &turn)?;
        for (is_soft, &object) in soft.iter_mut().zip(objects) {
            *is_soft = *is_soft && others.before(object).is_none();
        }
    }
    Ok(soft)
}
