//! Pools of threads as suspects: what keeps their memory, and where they are.

use std::cmp::Reverse;
use std::io;

use rustc_hash::{FxHashMap, FxHashSet};

use super::candidates::{Candidate, SAMPLE};
use super::chains::Way;
use super::down::{Pile, pile};
use super::elements::elements;
use super::fill::{ClassShare, ObjectShare, classes_in_all};
use super::filling::{Filling, filling};
use super::find::{Found, Search};
use super::finding::{Holder, Subject, field_name, holder, variable};
use super::parts::Role;
use super::pools::{Pool, pattern};
use super::start::is_of_the_jdk;
use crate::heap::is_virtual;
use crate::numbers::{ClassNumber, ObjectNumber, Place};
use crate::paths::Path;
use crate::snapshot::{Edge, EdgeKind};

/// The share of what a thread keeps alive from which an object under it is looked at.
const PART: u64 = 20;

/// How a thread keeps an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum By {
    ThreadLocals,
    Local(String),
    Field(String),
}

/// A value of a ThreadLocal, with its entry in the map of its thread.
#[derive(Debug, Clone, Copy)]
struct OfThread {
    entry: Place,
    value: Place,
}

/// Objects of a group that threads of a pool lead to.
#[derive(Default)]
struct Held {
    bytes: u64,
    /// The largest first.
    objects: Vec<Place>,
    threads: Vec<Place>,
}

impl Search<'_> {
    /// Threads that keep much together.
    pub fn pool(&mut self, pool: &Pool) -> io::Result<Found> {
        let mut sums: FxHashMap<By, (u64, Place)> = FxHashMap::default();
        for &thread in pool.members.iter().take(SAMPLE) {
            for (by, child) in self.kept(thread)? {
                let bytes = self.snapshot.dominators().retained(child);
                // Members come with the largest first.
                sums.entry(by).or_insert((0, child)).0 += bytes;
            }
        }
        let main = sums
            .into_iter()
            .max_by_key(|(_, (bytes, place))| (*bytes, Reverse(*place)));
        if matches!(main, Some((By::ThreadLocals, _)))
            && let Some(found) = self.thread_locals(pool)?
        {
            return Ok(found);
        }
        let largest = main.map_or(pool.members[0], |(_, (_, child))| child);
        self.threads(pool, largest)
    }

    /// Threads of a pool whose local variables lead to most of a group. Other threads or queues hold its objects as well,
    /// so that no thread keeps them alive by itself: it waits until another takes what it has.
    pub fn handed_over(&self, candidate: &Candidate) -> io::Result<Option<Found>> {
        /// The share of the group that the threads lead to at least.
        const MOST: f64 = 0.8;
        let snapshot = self.snapshot;
        let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
        let mut pools: FxHashMap<(String, ClassNumber), Held> = FxHashMap::default();
        let mut all = 0;
        for &place in &candidate.members {
            let bytes = dominators.retained(place);
            all += bytes;
            let path = self.paths.to(snapshot, dominators.object(place))?;
            let Some(&[thread, first, ..]) = path.as_deref() else {
                continue;
            };
            let local = snapshot.local_of(thread, first);
            if let (Some(_), Some(at)) = (local, dominators.place(thread)) {
                let name = pattern(&snapshot.thread_name(thread).unwrap_or_default());
                let held = pools.entry((name, graph.class_of(thread))).or_default();
                held.bytes += bytes;
                held.objects.push(place);
                held.threads.push(at);
            }
        }
        let main = pools
            .into_iter()
            .max_by_key(|((name, class), held)| (held.bytes, Reverse((name.clone(), *class))));
        let Some(((name, class), mut held)) = main else {
            return Ok(None);
        };
        let mut seen = FxHashSet::default();
        held.threads.retain(|&thread| seen.insert(thread));
        if held.threads.len() < 2 || (held.bytes as f64) < all as f64 * MOST {
            return Ok(None);
        }
        let class = graph.classes().get(class).name.clone();
        let is_all = candidate.count <= candidate.members.len() as u64;
        let pool = Pool {
            name: Some(name).filter(|name| !name.is_empty()),
            is_virtual: is_virtual(&class),
            class,
            members: held.threads,
            bytes: if is_all { held.bytes } else { candidate.bytes },
        };
        let ranges = held.objects.iter().map(|&it| (it, dominators.end(it)));
        let contents = classes_in_all(snapshot, ranges);
        let found = self.threads(&pool, held.objects[0])?;
        Ok(Some(Found { contents, ..found }))
    }

    /// The objects that a thread keeps alive directly, with how it does, as far as they are much.
    fn kept(&self, thread: Place) -> io::Result<Vec<(By, Place)>> {
        let snapshot = self.snapshot;
        let dominators = snapshot.dominators();
        let least = dominators.retained(thread) / PART;
        let mut kept = Vec::new();
        for child in dominators.children(Some(thread)) {
            if dominators.retained(child) < least.max(1) {
                continue;
            }
            let object = dominators.object(child);
            if is_map_of_thread_locals(snapshot.class_name(object)) {
                kept.push((By::ThreadLocals, child));
                continue;
            }
            let thread = dominators.object(thread);
            let Some(path) = self.paths.to(snapshot, object)? else {
                continue;
            };
            let mut steps = path.windows(2).filter(|step| step[0] == thread);
            let edge = steps.next().map(|step| snapshot.edge(step[0], step[1]));
            match edge {
                Some(Edge {
                    kind: EdgeKind::Local,
                    name,
                    ..
                }) => kept.push((By::Local(name), child)),
                Some(edge) => kept.push((By::Field(edge.name), child)),
                None => {}
            }
        }
        Ok(kept)
    }

    /// The values of ThreadLocals that fill a pool; `None` if those of no class do so.
    fn thread_locals(&self, pool: &Pool) -> io::Result<Option<Found>> {
        let snapshot = self.snapshot;
        let (dominators, graph) = (snapshot.dominators(), snapshot.graph());
        let mut by_class: FxHashMap<&str, Vec<OfThread>> = FxHashMap::default();
        for &thread in &pool.members {
            let maps = dominators.children(Some(thread)).filter(|&child| {
                is_map_of_thread_locals(snapshot.class_name(dominators.object(child)))
            });
            for found in maps.flat_map(|map| self.values(map)) {
                let class = graph.class_of(dominators.object(found.value));
                let name = graph.classes().get(class).name.as_str();
                by_class.entry(name).or_default().push(found);
            }
        }
        let sum = |values: &[OfThread]| -> u64 {
            values.iter().map(|it| dominators.retained(it.value)).sum()
        };
        let mut rows: Vec<ClassShare> = (by_class.iter())
            .map(|(name, values)| ClassShare {
                name: (*name).to_owned(),
                objects: values.len() as u64,
                bytes: sum(values),
            })
            .collect();
        rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        let Some(main) = rows
            .first()
            .filter(|row| row.bytes >= self.threshold)
            .cloned()
        else {
            return Ok(None);
        };
        let mut values = by_class.remove(main.name.as_str()).unwrap_or_default();
        values.sort_by_key(|it| (Reverse(dominators.retained(it.value)), it.value));
        let first = values[0];
        let object = dominators.object(first.value);
        let objects = self.paths.to(snapshot, object)?;
        let range = |it: &OfThread| (it.value, dominators.end(it.value));
        let share = |it: &OfThread| ObjectShare::new(snapshot, dominators.object(it.value));
        Ok(Some(Found {
            subject: Subject::ThreadLocals(main.name.clone()),
            is_rest: false,
            bytes: main.bytes,
            count: main.objects,
            objects: objects.unwrap_or_else(|| vec![object]),
            holder: Some(Holder::ThreadLocal {
                variable: variable(snapshot, dominators.object(first.entry)),
                threads: pool.name.clone(),
            }),
            filling: Some(self.filling_of_values(&values, main.bytes, main.objects)),
            looked_at: None,
            direct: None,
            keys: Vec::new(),
            children: rows,
            largest: values.iter().take(10).map(share).collect(),
            contents: classes_in_all(snapshot, values.iter().map(range)),
            sample: values.iter().take(SAMPLE).map(|it| it.value).collect(),
        }))
    }

    /// The objects that fill values of ThreadLocals, if these are collections.
    fn filling_of_values(&self, values: &[OfThread], bytes: u64, count: u64) -> Filling {
        let parts = self.parts;
        let each = Filling::Each(bytes / count.max(1));
        let is_collection = |it: &&OfThread| parts.role(it.value) == Role::Collection;
        let from: Vec<(Place, Way<Place>)> = (values.iter().filter(is_collection).take(SAMPLE))
            .map(|it| (it.value, Way::from(parts, it.value, it.value)))
            .collect();
        if from.len() < values.len() {
            return each;
        }
        let found = elements(self.snapshot, parts, &from, 10, |_| true);
        let within = |class: &str| found.within(self.snapshot, parts, class);
        filling(self.snapshot, bytes, &found, within).unwrap_or(each)
    }

    /// The values in a map of ThreadLocals that nothing else keeps alive.
    fn values(&self, map: Place) -> Vec<OfThread> {
        let dominators = self.snapshot.dominators();
        let (mut found, mut todo) = (Vec::new(), vec![map]);
        while let Some(place) = todo.pop() {
            let is_entry = self.parts.role(place) == Role::Node;
            for child in dominators.children(Some(place)) {
                match self.parts.role(child) {
                    Role::Node | Role::Nodes => todo.push(child),
                    _ if is_entry => found.push(OfThread {
                        entry: place,
                        value: child,
                    }),
                    _ => {}
                }
            }
        }
        found
    }

    /// The threads themselves; `largest` is what the largest of them keeps in the way that most is kept.
    fn threads(&self, pool: &Pool, largest: Place) -> io::Result<Found> {
        let snapshot = self.snapshot;
        let dominators = snapshot.dominators();
        let Pile { subject, .. } = pile(snapshot, self.parts, largest);
        let object = dominators.object(subject);
        let objects = self
            .paths
            .to(snapshot, object)?
            .unwrap_or_else(|| vec![object]);
        let path = Path::new(snapshot, &objects);
        let (local, through) = match holder(snapshot, &path, &objects) {
            Holder::Root { local, through } => (local, through),
            // A static field farther on says less than the field of the threads.
            _ => {
                let first = path.steps.get(1).and_then(|step| step.edge.as_ref());
                let first = first.filter(|edge| edge.kind == EdgeKind::Field);
                let field = first.map(|edge| field_name(snapshot, objects[0], &edge.name));
                (None, field.into_iter().collect())
            }
        };
        let own = through.iter().find(|field| !is_of_the_jdk(field));
        // A method of the JDK, such as the loop of a timer, says less than a field of the program.
        let is_own_local = match objects[..] {
            [thread, first, ..] => snapshot
                .local_of(thread, first)
                .is_none_or(|it| snapshot.is_own_local(it)),
            _ => true,
        };
        let local = local.filter(|_| is_own_local || own.is_none());
        let field = own.or(through.last()).cloned();
        let range = |&place: &Place| (place, dominators.end(place));
        let share = |&place: &Place| ObjectShare::new(snapshot, dominators.object(place));
        let mut rows: FxHashMap<String, (u64, u64)> = FxHashMap::default();
        for &thread in &pool.members {
            for child in dominators.children(Some(thread)) {
                let class = snapshot.class_name(dominators.object(child));
                if !rows.contains_key(class) {
                    rows.insert(class.to_owned(), (0, 0));
                }
                if let Some(row) = rows.get_mut(class) {
                    *row = (row.0 + 1, row.1 + dominators.retained(child));
                }
            }
        }
        let row = |(name, (objects, bytes))| ClassShare {
            name,
            objects,
            bytes,
        };
        let mut rows: Vec<ClassShare> = rows.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        Ok(Found {
            subject: Subject::Threads {
                name: pool.name.clone(),
                class: pool.class.clone(),
                are_virtual: pool.is_virtual,
            },
            is_rest: false,
            bytes: pool.bytes,
            count: pool.members.len() as u64,
            holder: Some(Holder::Threads {
                local,
                through,
                field,
                method: self.own_method(objects[0]),
                value: snapshot.describe(object),
                value_bytes: snapshot.retained(object),
            }),
            objects,
            filling: Some(Filling::Each(pool.bytes / pool.members.len().max(1) as u64)),
            looked_at: None,
            direct: None,
            keys: Vec::new(),
            children: rows,
            largest: pool.members.iter().take(10).map(share).collect(),
            contents: classes_in_all(snapshot, pool.members.iter().map(range)),
            sample: vec![largest],
        })
    }

    /// The innermost method of a thread that is not of the JDK.
    pub fn own_method(&self, thread: ObjectNumber) -> Option<String> {
        let roots = self.snapshot.graph().roots_of(thread);
        let root = roots.iter().find(|root| root.is_thread())?;
        let stack = self.snapshot.stack(root.thread)?;
        stack.into_iter().find(|frame| !is_of_the_jdk(frame))
    }
}

fn is_map_of_thread_locals(class: &str) -> bool {
    class == "java.lang.ThreadLocal$ThreadLocalMap"
}
