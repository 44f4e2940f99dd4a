//! The references of a dump that are known to leak, or that come and go.

use hprof_format::binary::tags;
use rustc_hash::FxHashMap;

use super::facts::AndroidFacts;
use super::fields::{FieldOf, Fields, static_of};
use super::library_leaks::{At, LIBRARY_LEAKS, PASSING, PASSING_THREADS};
use crate::numbers::ObjectNumber;
use crate::paths::Turn;
use crate::snapshot::Snapshot;

/// The most such references that are looked at: a phone has some thousands, a made file could have any number.
const MAX_KNOWN: usize = 1 << 20;

/// The reason why a reference leaks, or `None` if it comes and goes.
type About = Option<&'static str>;

/// The known references of a dump.
pub(super) struct Known {
    /// From, to.
    references: FxHashMap<(ObjectNumber, ObjectNumber), About>,
    /// Objects that only a global reference of native code holds.
    roots: FxHashMap<ObjectNumber, &'static str>,
}

impl Known {
    /// Looks for the references that the device is known to have.
    pub fn new(fields: &Fields<'_>, device: &AndroidFacts) -> Self {
        let snapshot = fields.snapshot;
        let mut known = Self {
            references: FxHashMap::default(),
            roots: FxHashMap::default(),
        };
        let maker = device.manufacturer.as_deref();
        let leaks = LIBRARY_LEAKS.iter();
        let leaks = leaks.filter(|leak| leak.applies(device.sdk, maker));
        let leaks = leaks.map(|leak| (leak.at, Some(leak.about)));
        let passing = PASSING.iter().map(|&at| (at, None));
        let (mut of_fields, mut natives) = (Vec::new(), FxHashMap::default());
        for (at, about) in leaks.chain(passing) {
            match (at, about) {
                (At::Field(class, field), _) => of_fields.push(((class, field), about)),
                (At::Static(class, field), _) => known.add_static(snapshot, (class, field), about),
                (At::Native(class), Some(about)) => {
                    natives.insert(class, about);
                }
                (At::Native(_), None) => {}
            }
        }
        known.add_fields(fields, &of_fields);
        known.add_locals(snapshot);
        known.add_natives(snapshot, &natives);
        known
    }

    fn add(&mut self, from: ObjectNumber, to: ObjectNumber, about: About) {
        if self.references.len() < MAX_KNOWN {
            self.references.entry((from, to)).or_insert(about);
        }
    }

    fn add_fields(&mut self, fields: &Fields<'_>, wanted: &[(FieldOf, About)]) {
        let graph = fields.snapshot.graph();
        let classes = graph.classes();
        let mut by_name: FxHashMap<&str, Vec<(FieldOf, About)>> = FxHashMap::default();
        for &(field, about) in wanted {
            by_name.entry(field.0).or_default().push((field, about));
        }
        let of_class = |class| {
            let hierarchy = classes.hierarchy(class);
            let found = hierarchy.filter_map(|class| by_name.get(&*classes.get(class).name));
            found.flatten().copied().collect()
        };
        let by_class: Vec<Vec<(FieldOf, About)>> = classes.numbers().map(of_class).collect();
        for object in graph.objects() {
            for &(field, about) in &by_class[graph.class_of(object).index()] {
                if let Some(target) = fields.object(object, field) {
                    self.add(object, target, about);
                }
            }
        }
    }

    fn add_static(&mut self, snapshot: &Snapshot, field: FieldOf, about: About) {
        let graph = snapshot.graph();
        let mut classes = graph.classes().list().iter();
        let class = classes.find(|class| class.name == field.0);
        let from = class.and_then(|class| graph.number(class.id));
        let to = static_of(snapshot, field.0, field.1).and_then(|value| value.object());
        if let Some((from, to)) = from.zip(to) {
            self.add(from, to, about);
        }
    }

    fn add_locals(&mut self, snapshot: &Snapshot) {
        let mut last = None;
        for &(thread, local) in snapshot.graph().locals() {
            let is_passing = match last {
                Some((known, is_passing)) if known == thread => is_passing,
                _ => {
                    let name = snapshot.thread_name(thread);
                    name.is_some_and(|name| PASSING_THREADS.contains(&name.as_str()))
                }
            };
            last = Some((thread, is_passing));
            if is_passing {
                self.add(thread, local.object(), None);
            }
        }
    }

    fn add_natives(&mut self, snapshot: &Snapshot, classes: &FxHashMap<&str, &'static str>) {
        let graph = snapshot.graph();
        for root in graph.roots() {
            let object = root.object();
            let Some(about) = classes.get(snapshot.class_name(object)) else {
                continue;
            };
            let global = u32::from(tags::heap::ROOT_JNI_GLOBAL);
            if graph.roots_of(object).iter().all(|root| root.tag == global) {
                self.roots.insert(object, about);
            }
        }
    }

    /// When a search for paths follows a reference, or a root if `from` is none.
    pub fn turn(&self, from: Option<ObjectNumber>, to: ObjectNumber) -> Turn {
        let about = match from {
            Some(from) => self.references.get(&(from, to)).copied(),
            None => self.roots.get(&to).map(|&about| Some(about)),
        };
        match about {
            None => Turn::Now,
            Some(Some(_)) => Turn::Later,
            Some(None) => Turn::Last,
        }
    }

    /// The first reference of a path that is known to leak.
    pub fn leak_on(&self, path: &[ObjectNumber]) -> Option<&'static str> {
        let root = path
            .first()
            .and_then(|first| self.roots.get(first))
            .copied();
        let mut steps = path.windows(2);
        root.or_else(|| steps.find_map(|step| *self.references.get(&(step[0], step[1]))?))
    }

    /// Returns true if a path has a reference that comes and goes.
    pub fn is_passing(&self, path: &[ObjectNumber]) -> bool {
        let mut steps = path.windows(2);
        steps.any(|step| self.references.get(&(step[0], step[1])) == Some(&None))
    }
}
