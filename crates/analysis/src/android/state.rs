//! Finds out whether the life of an object of Android is over.

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::fields::{Fields, static_of};
use super::inspect;
use super::rules::Rule;
use super::views::Views;
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::snapshot::{Snapshot, Value};

/// Says whether an object should be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its life is over.
    Leaking,
    /// It is in use.
    NotLeaking,
    /// Nothing is known.
    Unknown,
}

/// The status of an object and the reason for it; `None` if the object tells nothing of its life.
pub(super) type Finding = Option<(Status, String)>;

/// The life cycles of the objects of a dump.
pub(super) struct State<'a> {
    pub fields: Fields<'a>,
    pub views: Views,
    rules: Vec<Option<Rule>>,
    /// The objects of running services; `None` if the dump does not tell.
    services: Option<FxHashSet<ObjectNumber>>,
    /// Objects that LeakCanary itself waits for.
    watched: FxHashSet<ObjectNumber>,
}

impl<'a> State<'a> {
    /// Looks at the classes of a dump.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let classes = snapshot.graph().classes();
        let known = Rule::by_class();
        let rule = |class: ClassNumber| {
            let mut hierarchy = classes.hierarchy(class);
            hierarchy.find_map(|class| known.get(&*classes.get(class).name).copied())
        };
        let mut state = Self {
            fields: Fields::new(snapshot),
            views: Views::default(),
            rules: classes.numbers().map(rule).collect(),
            services: running_services(snapshot),
            watched: FxHashSet::default(),
        };
        state.watched = state.watched_objects();
        state
    }

    /// The rule for an object that is no class.
    pub fn rule(&self, object: ObjectNumber) -> Option<Rule> {
        let graph = self.fields.snapshot.graph();
        self.rules[graph.class_of(object).index()]
            .filter(|_| graph.class_of_object(object).is_none())
    }

    /// All objects whose life is over and that are reported.
    pub fn leaking(&self) -> Vec<ObjectNumber> {
        let snapshot = self.fields.snapshot;
        let objects = snapshot.graph().objects();
        let is_alive = |object: &ObjectNumber| snapshot.dominators().place(*object).is_some();
        objects
            .filter(|&object| self.is_judged(object))
            .filter(is_alive)
            .filter(|&object| self.is_leak(object))
            .collect()
    }

    fn is_judged(&self, object: ObjectNumber) -> bool {
        let class = self.fields.snapshot.graph().class_of(object);
        let rule = self.rules[class.index()];
        rule.is_some_and(Rule::is_reported) || self.watched.contains(&object)
    }

    /// Returns true if an object is reported as a leak.
    pub fn is_leak(&self, object: ObjectNumber) -> bool {
        let is_leaking = |(status, _)| status == Status::Leaking;
        self.is_judged(object) && self.finding(object).is_some_and(is_leaking)
    }

    /// Finds out whether the life of an object is over, if it is known.
    pub fn finding(&self, object: ObjectNumber) -> Finding {
        let snapshot = self.fields.snapshot;
        if snapshot.graph().class_of_object(object).is_some() {
            return not_leaking("a class is never leaking");
        }
        let own = self
            .rule(object)
            .and_then(|rule| inspect::finding(self, object, rule));
        let is_leaking = own.as_ref().is_some_and(|own| own.0 == Status::Leaking);
        if self.watched.contains(&object) && !is_leaking {
            return leaking("LeakCanary watches it, and it should be gone");
        }
        own
    }

    /// Returns true if the activity thread holds a service. Without its fields the result is `None`.
    pub fn is_running(&self, service: ObjectNumber) -> Option<bool> {
        Some(self.services.as_ref()?.contains(&service))
    }

    /// The objects that LeakCanary watches: the referents of its references that it has held for too long.
    fn watched_objects(&self) -> FxHashSet<ObjectNumber> {
        let snapshot = self.fields.snapshot;
        let graph = snapshot.graph();
        let is_reference = |&object: &ObjectNumber| {
            self.rules[graph.class_of(object).index()] == Some(Rule::WatchReference)
        };
        if !self.rules.contains(&Some(Rule::WatchReference)) {
            return FxHashSet::default();
        }
        let retained = |object: &ObjectNumber| {
            let since = snapshot.field(*object, "retainedUptimeMillis");
            !matches!(since, Some(Value::Integer(-1)))
        };
        (graph.objects())
            .filter(is_reference)
            .filter(retained)
            .filter_map(|object| snapshot.field_object(object, "referent"))
            .collect()
    }
}

/// The services in the `mServices` of the activity thread.
fn running_services(snapshot: &Snapshot) -> Option<FxHashSet<ObjectNumber>> {
    let current = static_of(
        snapshot,
        "android.app.ActivityThread",
        "sCurrentActivityThread",
    )?;
    let services = snapshot.field_object(current.object()?, "mServices")?;
    let elements = snapshot.collection_elements(services, MAX_SERVICES);
    let values = elements
        .into_iter()
        .filter_map(|(_, value)| value?.object());
    let values: FxHashSet<ObjectNumber> = values.collect();
    let is_known = || snapshot.field(services, "mSize") == Some(Value::Integer(0));
    (!values.is_empty() || is_known()).then_some(values)
}

/// The most services that are looked at.
const MAX_SERVICES: usize = 10_000;

/// A life that is over.
pub(super) fn leaking(reason: &str) -> Finding {
    Some((Status::Leaking, reason.to_owned()))
}

/// A life that is not over.
pub(super) fn not_leaking(reason: &str) -> Finding {
    Some((Status::NotLeaking, reason.to_owned()))
}
