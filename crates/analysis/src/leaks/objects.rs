//! Single objects and groups of small objects as suspects.

use std::cmp::Reverse;
use std::io;

use hprof_stacks::pictures::numbers::count;
use rustc_hash::FxHashMap;

use super::candidates::{Candidate, Kind, LIST, SAMPLE};
use super::chains::{CHAIN, Way};
use super::down::{Pile, pile};
use super::elements::elements;
use super::fill::{classes_in, classes_in_all};
use super::filling::{Filling, filling};
use super::find::{Found, Search};
use super::finding::{Holder, Subject};
use super::parts::Role;
use super::registries;
use super::{ClassShare, ObjectShare, ways};
use crate::direct_buffers::{DirectBuffers, direct_buffers_among};
use crate::numbers::{ClassNumber, ObjectNumber, Place};
use crate::paths::PathSearch;
use crate::snapshot::{Snapshot, Value};

/// The share of a group's paths that lead through what is said to hold the group.
const COMMON: f64 = 0.8;
/// The class of direct buffers.
const DIRECT: &str = "java.nio.DirectByteBuffer";
/// The properties that are looked at.
const PROPERTIES: usize = 100_000;
/// The keys that are named.
const KEYS: usize = 3;
/// The characters of a key that are named.
const KEY: usize = 60;

impl Search<'_> {
    /// One object with all that it keeps alive, or without what other suspects keep.
    pub fn one(&mut self, candidate: &Candidate) -> io::Result<Found> {
        let snapshot = self.snapshot;
        let dominators = snapshot.dominators();
        let first = candidate.members[0];
        let is_rest = candidate.kind == Kind::Rest;
        let Pile {
            subject,
            head,
            is_wrapped,
        } = match is_rest || registries::is_whole(self.parts, first) {
            true => Pile {
                subject: first,
                head: first,
                is_wrapped: false,
            },
            false => pile(snapshot, self.parts, first),
        };
        let threshold = self.threshold;
        let is_shown = |place| !is_rest || dominators.retained(place) < threshold;
        let mut from = vec![(head, Way::from(self.parts, head, head))];
        from.extend(self.kin(subject, head));
        let mut under = elements(snapshot, self.parts, &from, 10, is_shown);
        let mut way = from[0].1;
        let mut passed = vec![head];
        // A chain whose links are of several classes begins with one of each.
        for _ in 1..CHAIN {
            let is_link = under.shares.first().is_some_and(|it| it.objects == 1);
            let next = (under.largest.first()).filter(|_| is_link && under.chained == 0);
            let Some(&next) =
                next.filter(|&&it| matches!(self.parts.role(it), Role::Plain | Role::Array))
            else {
                break;
            };
            way = way.down(self.parts, next, next);
            let below = elements(snapshot, self.parts, &[(next, way)], 10, is_shown);
            if below.chained >= LIST {
                under = below;
                under.count_links(snapshot, &passed);
            }
            passed.push(next);
        }
        let bytes = match is_rest {
            true => candidate.bytes,
            false => dominators.retained(subject),
        };
        let contents = match is_rest {
            true => classes_in_all(snapshot, under.shown_ranges(snapshot, subject).into_iter()),
            false => classes_in(snapshot, subject, dominators.end(subject)),
        };
        let object = dominators.object(subject);
        let within = |class: &str| under.within(snapshot, self.parts, class);
        let filling = filling(snapshot, bytes, &under, within);
        let share = |&place: &Place| ObjectShare::new(snapshot, dominators.object(place));
        let mut description = snapshot.description(object);
        if is_wrapped {
            let inner = snapshot.describe(dominators.object(head));
            description.push(&format!("with a {inner}"));
        }
        if let Some(size) = self.parts.own_size(subject) {
            description.push(&format!("with {} elements", count(size)));
        }
        Ok(Found {
            subject: Subject::Object(description),
            is_rest,
            bytes,
            count: 1,
            holder: self.frames_of(subject),
            filling,
            looked_at: None,
            direct: self.direct(&contents, subject),
            keys: self.keys(object),
            largest: under.largest.iter().take(10).map(share).collect(),
            sample: under.sample.clone(),
            children: under.rows(),
            contents,
            objects: self.way_to(object)?,
        })
    }

    /// The local variables by which a thread keeps most of what it keeps, such as those of a recursion; `None` unless the
    /// subject is a thread.
    fn frames_of(&self, subject: Place) -> Option<Holder> {
        let snapshot = self.snapshot;
        let dominators = snapshot.dominators();
        let thread = dominators.object(subject);
        let roots = snapshot.graph().roots_of(thread);
        if !roots.iter().any(|root| root.is_thread()) {
            return None;
        }
        let mut sums: FxHashMap<String, u64> = FxHashMap::default();
        let mut all = 0;
        for place in dominators.largest_children(Some(subject), SAMPLE) {
            let bytes = dominators.retained(place);
            all += bytes;
            if let Some(local) = snapshot.local_of(thread, dominators.object(place)) {
                *sums.entry(snapshot.local_in_words(local)).or_default() += bytes;
            }
        }
        let main = (sums.into_iter()).max_by_key(|(name, bytes)| (*bytes, Reverse(name.clone())));
        let (local, _) = main.filter(|(_, bytes)| *bytes > all / 2)?;
        Some(Holder::Root {
            local: Some(local),
            through: Vec::new(),
        })
    }

    /// The direct buffers among what an object keeps alive.
    fn direct(&self, contents: &[ClassShare], subject: Place) -> Option<DirectBuffers> {
        if !contents.iter().any(|it| it.name == DIRECT) {
            return None;
        }
        let dominators = self.snapshot.dominators();
        let places = subject.up_to(dominators.end(subject));
        let objects = places.map(|place| dominators.object(place));
        let found = direct_buffers_among(self.snapshot, objects);
        found.filter(|it| it.buffers > 0)
    }

    /// The keys of the largest entries of a `java.util.Properties`.
    fn keys(&self, object: ObjectNumber) -> Vec<String> {
        let (snapshot, graph) = (self.snapshot, self.snapshot.graph());
        let class = graph.class_of(object);
        if !graph.classes().is_a(class, "java.util.Properties") {
            return Vec::new();
        }
        let elements = snapshot.collection_elements(object, PROPERTIES);
        let size = |value: &Value| match value {
            Value::Object(object) => snapshot.retained(*object),
            _ => 0,
        };
        let mut entries: Vec<(u64, ObjectNumber)> = (elements.iter())
            .filter_map(|(key, value)| match key {
                Value::Object(text) => Some((size(key) + value.as_ref().map_or(0, size), *text)),
                _ => None,
            })
            .collect();
        entries.sort_by_key(|&(bytes, key)| (Reverse(bytes), key));
        let keys = entries.into_iter().take(KEYS);
        keys.filter_map(|(_, key)| snapshot.string(key, KEY))
            .collect()
    }

    /// The other nodes of a list that its owner refers to, such as the last one.
    fn kin(&self, owner: Place, head: Place) -> Vec<(Place, Way<Place>)> {
        let parts = self.parts;
        let is_kin = |&it: &Place| {
            it != head && parts.class(it) == parts.class(head) && parts.size(it) == parts.size(head)
        };
        let dominators = self.snapshot.dominators();
        match owner == head {
            true => Vec::new(),
            false => {
                let kin = dominators.children(Some(owner)).filter(is_kin);
                kin.map(|it| (it, Way::from(parts, it, it))).collect()
            }
        }
    }

    /// The way from a static field of the program to what holds the members of a group, which the JDK holds as well.
    fn own_way(&mut self, candidate: &Candidate) -> Option<Vec<ObjectNumber>> {
        /// Members that are looked at.
        const MEMBERS: usize = 16;
        let dominators = self.snapshot.dominators();
        let mut common: Option<Vec<ObjectNumber>> = None;
        for &place in candidate.members.iter().take(MEMBERS) {
            let way = self.ways.to(dominators.object(place))?;
            let holders = &way[..way.len() - 1];
            let common = common.get_or_insert_with(|| holders.to_vec());
            let equal = common
                .iter()
                .zip(holders)
                .take_while(|(one, other)| one == other);
            common.truncate(equal.count());
        }
        // The class and the object of its field.
        common.filter(|way| way.len() > 1)
    }

    /// Small objects of a class. They are held together by what most of their paths lead through.
    pub fn group(&mut self, candidate: &Candidate, class: &str) -> io::Result<Found> {
        let snapshot = self.snapshot;
        let dominators = snapshot.dominators();
        let members = candidate.members.iter();
        let members = members.map(|&place| dominators.object(place));
        let common = deepest_common(snapshot, &self.paths, members)?;
        if common.is_none()
            && let Some(found) = self.handed_over(candidate)?
        {
            return Ok(found);
        }
        let mut objects = match common {
            Some(common) => self.way_to(common)?,
            None => self.way_to(dominators.object(candidate.members[0]))?,
        };
        if common.is_some()
            && !ways::has_own_field(snapshot, &objects)
            && let Some(way) = self.own_way(candidate)
        {
            objects = way;
        }
        // A part of a collection says less than the collection.
        while let [.., above, last] = objects[..]
            && common.is_some()
            && self.is_part(above, last)
        {
            objects.pop();
        }
        let range = |place: Place| (place, dominators.end(place));
        let looked_at = candidate.members.len() as u64;
        let share = |&place: &Place| ObjectShare::new(snapshot, dominators.object(place));
        Ok(Found {
            subject: Subject::Group(class.to_owned()),
            is_rest: false,
            bytes: candidate.bytes,
            count: candidate.count,
            objects,
            holder: common.is_none().then_some(Holder::None),
            filling: Some(Filling::Each(candidate.bytes / candidate.count.max(1))),
            looked_at: (looked_at < candidate.count).then_some(looked_at),
            direct: None,
            keys: Vec::new(),
            children: vec![ClassShare {
                name: class.to_owned(),
                objects: candidate.count,
                bytes: candidate.bytes,
            }],
            largest: candidate.members.iter().take(10).map(share).collect(),
            contents: classes_in_all(snapshot, candidate.members.iter().copied().map(range)),
            sample: candidate.members.iter().copied().take(SAMPLE).collect(),
        })
    }
}

impl Search<'_> {
    /// Hidden classes. Their instances lead to what holds them.
    pub fn hidden_classes(&mut self, candidate: &Candidate, name: &str) -> io::Result<Found> {
        let snapshot = self.snapshot;
        let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
        let members: Vec<ObjectNumber> = (candidate.members.iter())
            .map(|&it| dominators.object(it))
            .collect();
        let classes = members.iter().take(SAMPLE);
        let mut instances: FxHashMap<ClassNumber, Option<ObjectNumber>> = classes
            .filter_map(|&class| Some((graph.class_of_object(class)?, None)))
            .collect();
        for object in graph.objects() {
            if let Some(instance) = instances.get_mut(&graph.class_of(object))
                && instance.is_none()
                && dominators.place(object).is_some()
            {
                *instance = Some(object);
            }
        }
        let found = || instances.values().flatten().copied();
        let common = match found().count() > 1 {
            true => deepest_common(snapshot, &self.paths, found())?,
            false => None,
        };
        let mut objects = match common {
            Some(common) => self.way_to(common)?,
            None => self.way_to(members[0])?,
        };
        while let [.., above, last] = objects[..]
            && common.is_some()
            && self.is_part(above, last)
        {
            objects.pop();
        }
        let range = |place: Place| (place, dominators.end(place));
        let share = |&place: &Place| ObjectShare::new(snapshot, dominators.object(place));
        Ok(Found {
            subject: Subject::HiddenClasses(name.to_owned()),
            is_rest: false,
            bytes: candidate.bytes,
            count: candidate.count,
            objects,
            holder: common.is_none().then_some(Holder::None),
            filling: Some(Filling::Each(candidate.bytes / candidate.count.max(1))),
            looked_at: None,
            direct: None,
            keys: Vec::new(),
            children: vec![ClassShare {
                name: name.to_owned(),
                objects: candidate.count,
                bytes: candidate.bytes,
            }],
            largest: candidate.members.iter().take(10).map(share).collect(),
            contents: classes_in_all(snapshot, candidate.members.iter().copied().map(range)),
            sample: Vec::new(),
        })
    }
}

/// The object farthest from the roots that most shortest paths to some objects lead through.
pub(super) fn deepest_common(
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
