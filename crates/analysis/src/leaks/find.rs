//! Finds suspects in the dominator tree.

use std::io;

use super::candidates::{Candidate, Kind, candidates};
use super::down::pile;
use super::filling::Filling;
use super::finding::{Finding, Holder, OwnField, Subject, holder, own_field, thread_local_entry};
use super::objects::deepest_common;
use super::parts::{Parts, Role};
use super::registries;
use super::sites::sites_of;
use super::start;
use super::ways::{self, Ways, has_own_field};
use super::{ClassShare, Leaks, ObjectShare, Suspect};
use crate::direct_buffers::DirectBuffers;
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
    /// The bytes from which something is a suspect, whatever its share: a small program consists of small parts.
    pub least: u64,
    /// The bytes below which only what keeps half of the live heap is a suspect, and below half of which nothing is, unless
    /// the heap is tiny: caches of healthy programs are as large.
    pub small: u64,
}

impl Default for LeakOptions {
    fn default() -> Self {
        Self {
            threshold: 0.1,
            most: 10,
            least: 96 << 10,
            small: 1 << 20,
        }
    }
}

/// The size below which memory that the JDK holds for itself is no suspect, in bytes: a JVM that does nothing has as much.
const RUNTIME: u64 = 4 << 20;

/// The size from which memory that the JDK holds is a suspect if it is half of the live heap, in bytes.
const MUCH: u64 = 1 << 20;

/// Objects in a registry of the JDK from which the program has registered them one after the other.
const REGISTERED: u64 = 1000;

/// The share of the live heap that is most of it.
const MOST: f64 = 0.5;

/// The live bytes below which a dump is a part of a heap.
const SMALL: u64 = 300 << 10;

/// Finds the suspects of a snapshot.
///
/// # Errors
/// If there is no room for the paths.
pub fn leaks(snapshot: &Snapshot, options: LeakOptions) -> io::Result<Leaks> {
    let live_bytes = snapshot.dominators().live_bytes();
    let threshold = ((live_bytes as f64 * options.threshold) as u64).max(1);
    let threshold = match live_bytes >= SMALL {
        true => threshold.max(options.least),
        false => threshold,
    };
    let parts = Parts::new(snapshot, threshold);
    let mut search = Search {
        snapshot,
        paths: PathSearch::new(),
        ways: Ways::new(snapshot, false),
        ways_of_jdk: Ways::new(snapshot, true),
        parts: &parts,
        threshold,
    };
    let mut candidates = candidates(snapshot, &parts, threshold);
    candidates.sort_by(|a, b| {
        b.bytes
            .cmp(&a.bytes)
            .then_with(|| a.members.cmp(&b.members))
    });
    let mut suspects: Vec<(String, Suspect)> = Vec::new();
    for candidate in candidates {
        if suspects.len() >= options.most.max(1) * 4 {
            break;
        }
        if search.is_noise(&candidate)? {
            continue;
        }
        let (signature, suspect) = search.suspect(&candidate)?;
        if search.is_of_the_runtime(&suspect) {
            continue;
        }
        match suspects.iter_mut().find(|(other, _)| *other == signature) {
            Some((_, first)) => join(first, suspect),
            None => suspects.push((signature, suspect)),
        }
    }
    let mut suspects: Vec<Suspect> = suspects.into_iter().map(|(_, suspect)| suspect).collect();
    // The sizes of a suspect that is the rest of something are without those of others, which must be there then.
    if live_bytes >= SMALL && !suspects.iter().any(|it| it.finding.is_rest) {
        let is_most = |it: &Suspect| it.share >= MOST && it.retained_bytes >= options.small / 2;
        suspects.retain(|it| it.retained_bytes >= options.small || is_most(it));
    }
    suspects.sort_by_key(|suspect| std::cmp::Reverse(suspect.retained_bytes));
    suspects.truncate(options.most.max(1));
    let mut largest = None;
    if suspects.is_empty() {
        // Nothing stands out; the largest object is what there is to show.
        let top = snapshot.dominators().largest_children(None, 1);
        for place in top {
            largest = Some(search.suspect(&Candidate::one(snapshot, place))?.1);
        }
    }
    let points: Vec<ObjectNumber> = (suspects.iter().chain(&largest))
        .map(|it| it.accumulation_point)
        .collect();
    let soft = only_soft(snapshot, &search.paths, &points)?;
    for (suspect, is_soft) in suspects.iter_mut().chain(&mut largest).zip(soft) {
        suspect.finding.is_soft = is_soft;
        suspect.signature = suspect.finding.signature();
    }
    let covered: u64 = suspects.iter().map(|suspect| suspect.retained_bytes).sum();
    Ok(Leaks {
        live_bytes,
        live_objects: snapshot.dominators().len() as u64,
        threshold: options.threshold,
        suspects,
        largest,
        other_bytes: live_bytes.saturating_sub(covered),
    })
}

/// Adds a suspect to one that is held in the same way.
fn join(first: &mut Suspect, other: Suspect) {
    first.count = match first.finding.subject {
        // Threads that keep something by themselves, and hold other things together with a queue, are the same threads.
        Subject::Threads { .. } => first.count.max(other.count),
        _ => first.count + other.count,
    };
    first.retained_bytes += other.retained_bytes;
    first.share += other.share;
    add(&mut first.children, other.children);
    add(&mut first.contents, other.contents);
    first.finding.join(&other.finding);
    first.subject_id = None;
}

/// Adds rows to a table, by name.
fn add(table: &mut Vec<ClassShare>, more: Vec<ClassShare>) {
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

/// All that is known of a suspect before its path is.
pub(super) struct Found {
    pub subject: Subject,
    pub is_rest: bool,
    pub bytes: u64,
    pub count: u64,
    /// The objects on the path to it.
    pub objects: Vec<ObjectNumber>,
    /// The holder, unless the path says it.
    pub holder: Option<Holder>,
    pub filling: Option<Filling>,
    pub looked_at: Option<u64>,
    pub direct: Option<DirectBuffers>,
    pub keys: Vec<String>,
    pub children: Vec<ClassShare>,
    pub largest: Vec<ObjectShare>,
    pub contents: Vec<ClassShare>,
    /// The objects whose allocation says most.
    pub sample: Vec<Place>,
}

/// The state of the search for suspects.
pub(super) struct Search<'a> {
    pub snapshot: &'a Snapshot,
    pub paths: PathSearch,
    pub ways: Ways<'a>,
    pub ways_of_jdk: Ways<'a>,
    pub parts: &'a Parts<'a>,
    pub threshold: u64,
}

impl Search<'_> {
    /// True if every heap has such a candidate. There are three kinds: many small objects of a JDK class, such as
    /// strings, which no object of the program holds together, unless they fill most of a large heap; the loaders
    /// that every JVM has; a class of the program if each of its static fields keeps little.
    fn is_noise(&mut self, candidate: &Candidate) -> io::Result<bool> {
        let (snapshot, dominators) = (self.snapshot, self.snapshot.dominators());
        let first = candidate.members[0];
        let class = match &candidate.kind {
            Kind::Group(class) => class,
            Kind::Pool(_) | Kind::HiddenClasses(_) => return Ok(false),
            Kind::Whole | Kind::Rest => {
                let object = dominators.object(first);
                return Ok(start::is_built_in_loader(snapshot.class_name(object))
                    || snapshot.graph().class_of_object(object).is_some()
                        && pile(snapshot, self.parts, first).subject == first
                        && self.is_spread(first, candidate));
            }
        };
        let members = candidate.members.iter();
        let members = members.map(|&place| dominators.object(place));
        let is_most = candidate.bytes >= dominators.live_bytes() / 2 && candidate.bytes >= RUNTIME;
        if !start::is_of_the_jdk(class) || is_most {
            return Ok(false);
        }
        let path = match deepest_common(snapshot, &self.paths, members)? {
            Some(common) => Some(self.way_to(common)?),
            None => None,
        };
        Ok(path.is_none_or(|path| path.iter().all(|&it| start::is_jdk_object(snapshot, it))))
    }

    /// True of a class object most of whose bytes are in objects that its static fields refer to.
    fn is_spread(&self, place: Place, candidate: &Candidate) -> bool {
        let dominators = self.snapshot.dominators();
        let class = dominators.object(place);
        let small = |&it: &Place| dominators.retained(it) < self.threshold;
        let children = dominators.children(Some(place)).filter(small);
        let statics = super::ways::statics(self.snapshot, class);
        let of_fields = children.filter(|&it| statics.contains(&dominators.object(it)));
        let bytes: u64 = of_fields.map(|it| dominators.retained(it)).sum();
        bytes >= candidate.bytes / 2
    }

    /// True of what the JDK holds for itself, in a size that is usual.
    fn is_of_the_runtime(&self, suspect: &Suspect) -> bool {
        let snapshot = self.snapshot;
        let is_jdk = |object: ObjectNumber| start::is_jdk_object(snapshot, object);
        let is_own_local = |step: &[crate::paths::Step]| {
            let is_local = step[1]
                .edge
                .as_ref()
                .is_some_and(|edge| edge.kind == EdgeKind::Local);
            let local = snapshot.local_of(step[0].object, step[1].object);
            is_local && local.is_some_and(|local| snapshot.is_own_local(local))
        };
        let filled_by_own = match &suspect.finding.filling {
            Some(Filling::Objects { class, within, .. }) => {
                let inner = within.as_ref().map_or(class, |it| &it.class);
                !start::is_of_the_jdk(class) || !start::is_of_the_jdk(inner)
            }
            _ => false,
        };
        let is_most = suspect.share >= MOST && suspect.retained_bytes >= MUCH;
        let is_filled_registry = suspect.finding.registry.as_ref().is_some_and(|registry| {
            let named = registry.names.as_ref().map_or(0, |it| it.objects);
            let filling = match &suspect.finding.filling {
                Some(Filling::Objects { objects, .. }) => *objects,
                _ => 0,
            };
            named.max(filling) >= REGISTERED
        });
        suspect.retained_bytes < RUNTIME
            && !is_most
            && !is_filled_registry
            && suspect.finding.field.is_none()
            && !filled_by_own
            && start::is_of_the_jdk(suspect.finding.class())
            && suspect.path.steps.iter().all(|step| is_jdk(step.object))
            && !suspect.path.steps.windows(2).any(is_own_local)
    }

    fn suspect(&mut self, candidate: &Candidate) -> io::Result<(String, Suspect)> {
        let found = match &candidate.kind {
            Kind::Group(class) => self.group(candidate, class)?,
            Kind::HiddenClasses(name) => self.hidden_classes(candidate, name)?,
            Kind::Pool(pool) => self.pool(pool)?,
            Kind::Whole | Kind::Rest => self.one(candidate)?,
        };
        let snapshot = self.snapshot;
        let mut objects = found.objects;
        let start = match start::is_own_class(snapshot, objects[0]) {
            // The path begins with a class that no root is.
            true if snapshot.graph().roots_of(objects[0]).is_empty() => Some(start::OWN_CLASS),
            _ => start::skip_holders(snapshot, &mut objects),
        };
        let mut path = Path::new(snapshot, &objects);
        if let Some(start) = start {
            start.clone_into(&mut path.root);
        }
        let live_bytes = snapshot.dominators().live_bytes();
        let point = objects.last().copied().unwrap_or(ObjectNumber::new(0));
        let dominators = snapshot.dominators();
        let sample = found.sample.iter().map(|&place| dominators.object(place));
        let sites = sites_of(snapshot, sample, 3);
        let mut holder = (found.holder).unwrap_or_else(|| holder(snapshot, &path, &objects));
        if let Holder::ThreadLocal { variable, .. } = &mut holder
            && variable.is_none()
        {
            *variable = self.field_of_thread_local(&objects)?;
        }
        let field = match &holder {
            Holder::None => None,
            Holder::ThreadLocal { variable, .. } => variable.clone(),
            _ => own_field(snapshot, &path, &objects),
        };
        let is_registry =
            (dominators.place(point)).is_some_and(|place| registries::is_whole(self.parts, place));
        let field = field.filter(|field| !is_registry && !start::is_of_the_jdk(&field.name));
        let registry = match (&found.subject, &field) {
            (Subject::Object(_), None) => self.registry(&path, &objects)?,
            _ => None,
        };
        let mut finding = Finding {
            field,
            statics: match found.subject {
                Subject::Object(_) => ways::main_statics(snapshot, point),
                _ => Vec::new(),
            },
            holder,
            subject: found.subject,
            is_rest: found.is_rest,
            filling: found.filling,
            looked_at: found.looked_at,
            direct: found.direct,
            keys: found.keys,
            registry,
            waiting: None,
            // Not before all suspects are known.
            is_soft: false,
        };
        finding.waiting = self.waiting(&finding, found.count)?;
        let signature = self.signature(&path, &finding);
        let id = format!("{:#x}", snapshot.graph().id(point));
        let mut suspect = Suspect {
            // Not before joined suspects have theirs.
            signature: String::new(),
            retained_bytes: found.bytes,
            share: found.bytes as f64 / live_bytes.max(1) as f64,
            field: finding.field.as_ref().map(|field| field.name.clone()),
            count: found.count,
            accumulation_point: point,
            subject_id: matches!(finding.subject, Subject::Object(_)).then(|| id.clone()),
            accumulation_id: id,
            finding,
            path,
            children: found.children,
            largest: found.largest,
            contents: found.contents,
            sites,
        };
        suspect.children.truncate(20);
        suspect.contents.truncate(20);
        Ok((signature, suspect))
    }

    /// The field of the program that leads to the ThreadLocal of an entry on a path.
    fn field_of_thread_local(&self, objects: &[ObjectNumber]) -> io::Result<Option<OwnField>> {
        let snapshot = self.snapshot;
        let entry = thread_local_entry(snapshot, objects);
        let referent = entry.and_then(|at| snapshot.field_object(objects[at], "referent"));
        let Some(referent) = referent else {
            return Ok(None);
        };
        let way = self.paths.to(snapshot, referent)?;
        Ok(way.and_then(|way| own_field(snapshot, &Path::new(snapshot, &way), &way)))
    }

    /// The objects on the path to one: on the shortest, unless that leads through nothing of the program, and a
    /// static field of the program holds the object as well.
    pub fn way_to(&mut self, object: ObjectNumber) -> io::Result<Vec<ObjectNumber>> {
        let snapshot = self.snapshot;
        let dominators = snapshot.dominators();
        let shortest = self.paths.to(snapshot, object)?;
        let shortest = shortest.unwrap_or_else(|| vec![object]);
        let place = dominators.place(object);
        let up = std::iter::successors(place, |&place| dominators.above(place));
        let Some(top) = up.last() else {
            return Ok(shortest);
        };
        if has_own_field(snapshot, &shortest) {
            return Ok(shortest);
        }
        // All ways lead through a thread, a loader or a class. There is a choice only before it.
        let only_way = self.parts.role(top) == Role::Whole;
        let top = dominators.object(top);
        let way = match only_way {
            true => None,
            false => self.ways.to(top),
        };
        let way = match way {
            None if !only_way && self.is_by_local_of_jdk(&shortest) => self.ways_of_jdk.to(top),
            way => way,
        };
        let Some(mut way) = way else {
            let by_fields = ways::by_fields_instead_of_local(snapshot, &shortest);
            return Ok(by_fields.unwrap_or(shortest));
        };
        let at = shortest.iter().position(|&step| step == top);
        way.extend(
            shortest
                .into_iter()
                .skip(at.map_or(usize::MAX, |at| at + 1)),
        );
        Ok(way)
    }

    /// True of a path that begins with a local variable in a method of the JDK.
    fn is_by_local_of_jdk(&self, path: &[ObjectNumber]) -> bool {
        let [thread, object, ..] = *path else {
            return false;
        };
        let local = self.snapshot.local_of(thread, object);
        local.is_some_and(|local| !self.snapshot.is_own_local(local))
    }

    /// Equal for suspects that are held in the same way. It has the classes and fields of the path, but leaves out
    /// tables and nodes inside collections.
    fn signature(&self, path: &Path, finding: &Finding) -> String {
        let snapshot = self.snapshot;
        let mut signature = String::new();
        let mut is_element = false;
        for (at, step) in path.steps.iter().enumerate() {
            let above = at.checked_sub(1).map(|at| path.steps[at].object);
            let is_last = at + 1 == path.steps.len();
            if above.is_some_and(|above| self.is_part(above, step.object)) && !is_last {
                is_element = true;
                continue;
            }
            if step.more > 0 {
                signature.push_str(&step.more.to_string());
            }
            match &step.edge {
                _ if is_element => signature.push_str("[]"),
                Some(edge) if edge.kind == EdgeKind::Element => signature.push_str("[]"),
                Some(edge) => signature.push_str(&edge.to_string()),
                None => {}
            }
            is_element = false;
            match snapshot.graph().class_of_object(step.object) {
                Some(_) => signature.push_str(&step.description),
                None => signature.push_str(snapshot.class_name(step.object)),
            }
            signature.push('\n');
        }
        match &finding.subject {
            Subject::Object(_) => {}
            subject => signature.push_str(&format!("{subject:?}")),
        }
        signature
    }

    /// True of a table or node whose collection stands before it on a path.
    pub fn is_part(&self, above: ObjectNumber, object: ObjectNumber) -> bool {
        let place = |object| self.snapshot.dominators().place(object);
        let role = |object| place(object).map_or(Role::Whole, |place| self.parts.role(place));
        match role(object) {
            Role::Node | Role::Nodes => true,
            Role::Array => role(above) == Role::Collection,
            Role::Plain => place(object).is_some_and(|place| self.parts.is_own_node(place)),
            _ => false,
        }
    }
}
