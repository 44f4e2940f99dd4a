//! Finds suspects in the dominator tree.

use std::io;

use rustc_hash::FxHashMap;

use super::candidates::{Candidate, LIST, SAMPLE, candidates};
use super::fill::{children_by_class, classes_in, classes_in_all, largest_in, list_by_class};
use super::finding::{Facts, Finding};
use super::sites::sites_of;
use super::start;
use super::{Leaks, Suspect};
use crate::numbers::{ObjectNumber, Place};
use crate::paths::{Path, PathSearch, only_soft};
use crate::snapshot::{EdgeKind, Snapshot};

/// Limits of the search for suspects.
#[derive(Debug, Clone, Copy)]
pub struct LeakOptions {
    /// The share of the live heap from which something is a suspect, from 0 to 1.
    pub threshold: f64,
    /// The largest number of suspects.
    pub most: usize,
}

impl Default for LeakOptions {
    fn default() -> Self {
        Self {
            threshold: 0.1,
            most: 10,
        }
    }
}

/// A place goes down to its largest child as long as that keeps so much of what the first had.
const MAIN_SHARE: f64 = 0.7;
/// The share of a group's paths that lead through what is said to hold the group.
const COMMON: f64 = 0.8;

/// Finds the suspects of a snapshot.
///
/// # Errors
/// If there is no room for the paths.
pub fn leaks(snapshot: &Snapshot, options: LeakOptions) -> io::Result<Leaks> {
    let paths = &PathSearch::new();
    let live_bytes = snapshot.dominators().live_bytes();
    let threshold = ((live_bytes as f64 * options.threshold) as u64).max(1);
    let all = candidates(snapshot, threshold);
    let mut candidates = Vec::new();
    for candidate in all {
        if !is_noise(snapshot, paths, &candidate, live_bytes)? {
            candidates.push(candidate);
        }
    }
    if candidates.is_empty() {
        // Nothing stands out; the largest object is what there is to show.
        let top = snapshot.dominators().largest_children(None, 1);
        candidates.extend(top.into_iter().map(|place| Candidate {
            members: vec![place],
            count: 1,
            bytes: snapshot.dominators().retained(place),
            is_rest: false,
            group: None,
        }));
    }
    candidates.sort_by(|a, b| {
        b.bytes
            .cmp(&a.bytes)
            .then_with(|| a.members.cmp(&b.members))
    });
    candidates.truncate(options.most.max(1) * 4);
    let mut suspects: Vec<(String, Suspect)> = Vec::new();
    for candidate in candidates {
        let (signature, suspect) = suspect(snapshot, paths, &candidate, threshold)?;
        match suspects.iter_mut().find(|(other, _)| *other == signature) {
            Some((_, first)) => join(first, suspect),
            None => suspects.push((signature, suspect)),
        }
    }
    let mut suspects: Vec<Suspect> = suspects.into_iter().map(|(_, suspect)| suspect).collect();
    suspects.sort_by_key(|suspect| std::cmp::Reverse(suspect.retained_bytes));
    suspects.truncate(options.most.max(1));
    let points: Vec<ObjectNumber> = suspects.iter().map(|it| it.accumulation_point).collect();
    let soft = only_soft(snapshot, paths, &points)?;
    for (suspect, is_soft) in suspects.iter_mut().zip(soft) {
        suspect.finding.is_soft = is_soft;
        suspect.signature = suspect.finding.signature();
    }
    let covered: u64 = suspects.iter().map(|suspect| suspect.retained_bytes).sum();
    Ok(Leaks {
        live_bytes,
        live_objects: snapshot.dominators().len() as u64,
        threshold: options.threshold,
        suspects,
        other_bytes: live_bytes.saturating_sub(covered),
    })
}

/// Adds a suspect to one that is held in the same way.
fn join(first: &mut Suspect, other: Suspect) {
    let is_same = first.accumulation_point == other.accumulation_point;
    if !is_same {
        first.count += other.count;
    }
    first.retained_bytes += other.retained_bytes;
    first.share += other.share;
    add(&mut first.children, other.children);
    add(&mut first.contents, other.contents);
    match is_same {
        true => first.finding.join_rest(),
        false => first.finding.join(&first.path),
    }
}

/// Adds rows to a table, by name.
fn add(table: &mut Vec<super::ClassShare>, more: Vec<super::ClassShare>) {
    for row in more {
        match table.iter_mut().find(|known| known.name == row.name) {
            Some(known) => {
                known.objects += row.objects;
                known.bytes += row.bytes;
            }
            None => table.push(row),
        }
    }
    table.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
}

/// True of many small objects of a class of the JDK, such as strings, that nothing of the program
/// holds together: they are everywhere in every heap. Only of most of the heap it is worth a word.
fn is_noise(
    snapshot: &Snapshot,
    paths: &PathSearch,
    candidate: &Candidate,
    live_bytes: u64,
) -> io::Result<bool> {
    let Some(class) = &candidate.group else {
        return Ok(false);
    };
    let members = candidate.members.iter();
    let members = members.map(|&place| snapshot.dominators().object(place));
    if !start::is_of_the_jdk(class) || candidate.bytes >= live_bytes / 2 {
        return Ok(false);
    }
    let path = match deepest_common(snapshot, paths, members)? {
        Some(common) => paths.to(snapshot, common)?,
        None => None,
    };
    Ok(path.is_none_or(|path| path.iter().all(|&it| start::is_jdk_object(snapshot, it))))
}

/// Goes down from a place to where memory piles up.
fn accumulation_point(snapshot: &Snapshot, start: Place) -> Place {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let class = |place| graph.class_of(dominators.object(place));
    let enough = dominators.retained(start) as f64 * MAIN_SHARE;
    let mut way = vec![start];
    let mut at = start;
    while let Some(&next) = dominators.largest_children(Some(at), 1).first() {
        if (dominators.retained(next) as f64) < enough {
            break;
        }
        way.push(next);
        at = next;
    }
    // In a list each node dominates the next one; the list starts with the first.
    let run = way
        .iter()
        .rev()
        .take_while(|&&place| class(place) == class(at))
        .count();
    if run >= LIST {
        return way[way.len() - run];
    }
    at
}

fn suspect(
    snapshot: &Snapshot,
    paths: &PathSearch,
    candidate: &Candidate,
    threshold: u64,
) -> io::Result<(String, Suspect)> {
    let dominators = snapshot.dominators();
    let live_bytes = dominators.live_bytes();
    // What other candidates keep alive is left out of the rest.
    let is_shown = |&place: &Place| !candidate.is_rest || dominators.retained(place) < threshold;
    let first = candidate.members[0];
    // A group of instances is held together by what most of their paths lead through.
    let common = match candidate.group {
        Some(_) => {
            let members = candidate.members.iter();
            let members = members.map(|&place| dominators.object(place));
            Some(deepest_common(snapshot, paths, members)?)
        }
        None => None,
    };
    let place = match &candidate.group {
        None if !candidate.is_rest => accumulation_point(snapshot, first),
        _ => first,
    };
    let shared = match common {
        Some(common) => common,
        None if candidate.is_rest => None,
        None => shared_holder(snapshot, paths, place)?,
    };
    let is_common = shared.is_some();
    let (point, inner) = match (&candidate.group, shared) {
        (Some(_), Some(common)) => (common, None),
        (Some(_), None) => {
            let inner = accumulation_point(snapshot, first);
            (dominators.object(inner), Some(inner))
        }
        (None, Some(common)) => (common, Some(place)),
        (None, None) => (dominators.object(place), Some(place)),
    };
    let mut objects = paths.to(snapshot, point)?.unwrap_or_else(|| vec![point]);
    // A part of a collection that keeps less alive than the collection says less.
    while let [.., above, last] = objects[..]
        && candidate.group.is_none()
        && snapshot.graph().class_of_object(above).is_none()
        && snapshot.retained(last) < snapshot.retained(above) / 2
    {
        objects.pop();
    }
    let point = objects.last().copied().unwrap_or(point);
    let start = start::skip_holders(snapshot, &mut objects);
    let mut path = Path::new(snapshot, &objects);
    if let Some(start) = start {
        start.clone_into(&mut path.root);
    }
    let (children, largest) = match (&candidate.group, inner) {
        (Some(name), None) => (
            vec![super::ClassShare {
                name: name.clone(),
                objects: candidate.count,
                bytes: candidate.bytes,
            }],
            (candidate.members.iter().take(10))
                .map(|&place| super::ObjectShare::new(snapshot, dominators.object(place)))
                .collect(),
        ),
        (_, inner) => {
            let place = inner.unwrap_or(place);
            let list = match candidate.is_rest {
                true => None,
                false => list_by_class(snapshot, place, LIST),
            };
            (
                list.unwrap_or_else(|| children_by_class(snapshot, Some(place), is_shown)),
                largest_in(snapshot, Some(place), 10, is_shown),
            )
        }
    };
    let range = |place: Place| (place, dominators.end(place));
    let contents = match (&candidate.group, candidate.is_rest) {
        (Some(_), _) => classes_in_all(snapshot, candidate.members.iter().copied().map(range)),
        (None, true) => {
            let parts = dominators.children(Some(place)).filter(is_shown);
            classes_in_all(snapshot, parts.map(range))
        }
        (None, false) => classes_in(snapshot, place, dominators.end(place)),
    };
    let sample = match candidate.group {
        Some(_) => candidate.members.clone(),
        None => {
            let children = dominators.children(Some(place)).filter(is_shown);
            children.take(SAMPLE).collect()
        }
    };
    let sites = sites_of(
        snapshot,
        sample.into_iter().map(|place| dominators.object(place)),
        3,
    );
    let facts = Facts {
        candidate_count: candidate.count,
        looked_at: candidate.members.len() as u64,
        is_common,
        group: candidate.group.as_deref(),
        path: &path,
        objects: &objects,
        bytes: candidate.bytes,
        is_rest: candidate.is_rest,
        children: &children,
        contents: &contents,
    };
    let finding = Finding::new(snapshot, &facts);
    let signature = signature(snapshot, &path, candidate);
    let mut suspect = Suspect {
        finding,
        // Not before joined suspects have theirs.
        signature: String::new(),
        retained_bytes: candidate.bytes,
        share: candidate.bytes as f64 / live_bytes.max(1) as f64,
        count: candidate.count,
        accumulation_point: point,
        accumulation_id: format!("{:#x}", snapshot.graph().id(point)),
        path,
        children,
        largest,
        contents,
        sites,
    };
    suspect.children.truncate(20);
    suspect.contents.truncate(20);
    Ok((signature, suspect))
}

/// The object that most shortest paths to the children of a place lead through, if that lies
/// deeper: objects that two collections share are dominated by neither of them.
fn shared_holder(
    snapshot: &Snapshot,
    paths: &PathSearch,
    place: Place,
) -> io::Result<Option<ObjectNumber>> {
    let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
    let own = dominators.object(place);
    let class = children_by_class(snapshot, Some(place), |_| true);
    let Some(class) = class.first() else {
        return Ok(None);
    };
    let class = &class.name;
    let members = dominators
        .children(Some(place))
        .map(|child| dominators.object(child));
    let mut members = members.filter(|&o| graph.classes().get(graph.class_of(o)).name == *class);
    let sample: Vec<ObjectNumber> = members.by_ref().step_by(7).take(SAMPLE).collect();
    if sample.len() < 2 {
        return Ok(None);
    }
    let common = deepest_common(snapshot, paths, sample.into_iter())?;
    let Some(common) = common.filter(|&common| common != own) else {
        return Ok(None);
    };
    let path = paths.to(snapshot, common)?;
    Ok(path.filter(|path| path.contains(&own)).map(|_| common))
}

/// The object farthest from the roots that most shortest paths to some objects lead through.
fn deepest_common(
    snapshot: &Snapshot,
    paths: &PathSearch,
    objects: impl Iterator<Item = ObjectNumber>,
) -> io::Result<Option<ObjectNumber>> {
    let mut counts: FxHashMap<ObjectNumber, (u64, usize)> = FxHashMap::default();
    let mut all = 0;
    for object in objects {
        let Some(path) = paths.to(snapshot, object)? else {
            return Ok(None);
        };
        all += 1;
        for (depth, &step) in path[..path.len() - 1].iter().enumerate() {
            let count = counts.entry(step).or_default();
            count.0 += 1;
            count.1 = depth;
        }
    }
    let enough = (all as f64 * COMMON).max(2.0);
    let common = counts
        .into_iter()
        .filter(|(_, count)| count.0 as f64 >= enough);
    let deepest = common.max_by_key(|&(object, (_, depth))| (depth, object));
    Ok(deepest.map(|(object, _)| object))
}

/// Equal for suspects that are held in the same way: the classes and fields of the path.
fn signature(snapshot: &Snapshot, path: &Path, candidate: &Candidate) -> String {
    let mut signature = String::new();
    for step in &path.steps {
        if step.more > 0 {
            signature.push_str(&step.more.to_string());
        }
        if let Some(edge) = &step.edge {
            match edge.kind {
                EdgeKind::Element => signature.push_str("[]"),
                _ => signature.push_str(&edge.to_string()),
            }
        }
        match snapshot.graph().class_of_object(step.object) {
            Some(_) => signature.push_str(&step.description),
            None => signature.push_str(snapshot.class_name(step.object)),
        }
        signature.push('\n');
    }
    signature.push_str(candidate.group.as_deref().unwrap_or_default());
    signature
}
