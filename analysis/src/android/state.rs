//! Whether the life of an object of Android is over.

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::Mark;
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::snapshot::{Snapshot, Value};

/// Whether an object should be gone.
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

/// The life cycles of the objects of a dump.
pub struct State<'a> {
    snapshot: &'a Snapshot,
    rules: Vec<Option<Rule>>,
    /// The objects of running services.
    services: FxHashSet<ObjectNumber>,
    /// Objects that LeakCanary itself waits for.
    watched: FxHashSet<ObjectNumber>,
}

/// The rule for the life cycle of a class's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Activity,
    Fragment,
    ViewModel,
    View,
    Service,
    Dialog,
    Application,
    Loader,
    WatchReference,
}

/// Classes with a rule; those derived from them have the same one.
const RULES: &[(&str, Rule)] = &[
    ("android.app.Activity", Rule::Activity),
    ("android.app.Fragment", Rule::Fragment),
    ("android.support.v4.app.Fragment", Rule::Fragment),
    ("androidx.fragment.app.Fragment", Rule::Fragment),
    ("androidx.lifecycle.ViewModel", Rule::ViewModel),
    ("android.arch.lifecycle.ViewModel", Rule::ViewModel),
    ("android.view.View", Rule::View),
    ("android.app.Service", Rule::Service),
    ("android.app.Dialog", Rule::Dialog),
    ("android.app.Application", Rule::Application),
    ("java.lang.ClassLoader", Rule::Loader),
    ("leakcanary.KeyedWeakReference", Rule::WatchReference),
    (
        "com.squareup.leakcanary.KeyedWeakReference",
        Rule::WatchReference,
    ),
];

impl<'a> State<'a> {
    /// Looks at the classes of a dump.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let classes = snapshot.graph().classes();
        let rule = |class: ClassNumber| {
            classes.hierarchy(class).find_map(|class| {
                let name = &classes.get(class).name;
                RULES.iter().find(|rule| rule.0 == name).map(|rule| rule.1)
            })
        };
        let mut state = Self {
            snapshot,
            rules: classes.numbers().map(rule).collect(),
            services: FxHashSet::default(),
            watched: FxHashSet::default(),
        };
        state.services = state.running_services();
        state.watched = state.watched_objects();
        state
    }

    /// All objects whose life is over.
    pub fn leaking(&self) -> Vec<ObjectNumber> {
        let graph = self.snapshot.graph();
        let has_rule = |&object: &ObjectNumber| {
            let rule = self.rules[graph.class_of(object).index()];
            let is_judged = !matches!(
                rule,
                None | Some(Rule::Application | Rule::Loader | Rule::WatchReference)
            );
            is_judged || self.watched.contains(&object)
        };
        let is_leaking = |&object: &ObjectNumber| {
            self.snapshot.dominators().place(object).is_some()
                && self
                    .mark(object)
                    .is_some_and(|mark| mark.status == Status::Leaking)
        };
        (graph.objects())
            .filter(has_rule)
            .filter(is_leaking)
            .collect()
    }

    /// The mark of an object, if it is known.
    pub fn mark(&self, object: ObjectNumber) -> Option<Mark> {
        let graph = self.snapshot.graph();
        if graph.class_of_object(object).is_some() {
            return not_leaking("a class is never leaking");
        }
        let own = self.by_rule(object);
        if self.watched.contains(&object)
            && !own.as_ref().is_some_and(|m| m.status == Status::Leaking)
        {
            return leaking("LeakCanary watches it, and it should be gone");
        }
        own
    }

    /// The mark by the object's own fields.
    fn by_rule(&self, object: ObjectNumber) -> Option<Mark> {
        let graph = self.snapshot.graph();
        let field = |name: &str| self.snapshot.field(object, name);
        match self.rules[graph.class_of(object).index()]? {
            Rule::Activity => match field("mDestroyed") {
                Some(Value::Boolean(true)) => leaking("Activity.mDestroyed is true"),
                Some(Value::Boolean(false)) => not_leaking("Activity.mDestroyed is false"),
                _ => None,
            },
            Rule::Fragment => match (field("mFragmentManager"), field("mCalled")) {
                (Some(Value::Null), Some(Value::Boolean(true))) => {
                    leaking("Fragment.mFragmentManager is null and mCalled is true")
                }
                (Some(Value::Object(_)), _) => not_leaking("Fragment.mFragmentManager is not null"),
                _ => None,
            },
            Rule::ViewModel => match field("mCleared").or_else(|| field("cleared")) {
                Some(Value::Boolean(true)) => leaking("ViewModel.mCleared is true"),
                Some(Value::Boolean(false)) => not_leaking("ViewModel.mCleared is false"),
                _ => None,
            },
            Rule::View => self.view(object),
            Rule::Service => match self.services.contains(&object) {
                true => not_leaking("ActivityThread.mServices holds the service"),
                false if self.services.is_empty() => None,
                false => leaking("ActivityThread.mServices does not hold the service"),
            },
            Rule::Dialog => match field("mDecor") {
                Some(Value::Null) => None,
                Some(Value::Object(_)) => not_leaking("Dialog.mDecor is not null"),
                _ => None,
            },
            Rule::Application => not_leaking("the Application lives as long as the process"),
            Rule::Loader => not_leaking("a class loader is never leaking"),
            Rule::WatchReference => None,
        }
    }

    fn view(&self, view: ObjectNumber) -> Option<Mark> {
        let field = |name: &str| self.snapshot.field(view, name);
        if self
            .activity_of(view)
            .is_some_and(|activity| self.is_destroyed(activity))
        {
            return leaking("View.mContext is of a destroyed Activity");
        }
        let was_attached = field("mWindowAttachCount").and_then(|v| v.integer());
        match (field("mAttachInfo"), was_attached) {
            (Some(Value::Object(_)), _) => not_leaking("View.mAttachInfo is not null"),
            (Some(Value::Null), Some(1..)) if field("mParent") == Some(Value::Null) => {
                // Views taken off on purpose, to be used again, look the same.
                Some(Mark {
                    status: Status::Unknown,
                    reason: "the view is detached (View.mAttachInfo is null)".to_owned(),
                })
            }
            _ => None,
        }
    }

    /// The activity of a view's context.
    fn activity_of(&self, view: ObjectNumber) -> Option<ObjectNumber> {
        let mut context = self.snapshot.field_object(view, "mContext")?;
        // Contexts wrap one another, and in damaged files perhaps themselves.
        for _ in 0..16 {
            let class = self.snapshot.graph().class_of(context);
            if self.rules[class.index()] == Some(Rule::Activity) {
                return Some(context);
            }
            context = self.snapshot.field_object(context, "mBase")?;
        }
        None
    }

    fn is_destroyed(&self, activity: ObjectNumber) -> bool {
        self.snapshot.field(activity, "mDestroyed") == Some(Value::Boolean(true))
    }

    /// The services in the `mServices` of the activity thread.
    fn running_services(&self) -> FxHashSet<ObjectNumber> {
        let classes = self.snapshot.graph().classes().list();
        let thread = classes
            .iter()
            .find(|class| class.name == "android.app.ActivityThread");
        let statics = thread.map_or(&[][..], |class| &class.statics);
        let current = statics
            .iter()
            .find(|field| field.name == "sCurrentActivityThread");
        let current = current.and_then(|field| self.snapshot.static_value(field).object());
        let services = current.and_then(|at| self.snapshot.field_object(at, "mServices"));
        let entries = services.map(|map| self.snapshot.collection_elements(map, 10_000));
        let values = entries.unwrap_or_default().into_iter();
        values.filter_map(|(_, value)| value?.object()).collect()
    }

    /// The objects that LeakCanary watches: the referents of its references that it has held for too long.
    fn watched_objects(&self) -> FxHashSet<ObjectNumber> {
        let graph = self.snapshot.graph();
        let is_reference = |&object: &ObjectNumber| {
            self.rules[graph.class_of(object).index()] == Some(Rule::WatchReference)
        };
        if !self.rules.contains(&Some(Rule::WatchReference)) {
            return FxHashSet::default();
        }
        let retained = |object: &ObjectNumber| {
            let since = self.snapshot.field(*object, "retainedUptimeMillis");
            !matches!(since, Some(Value::Integer(-1)))
        };
        (graph.objects())
            .filter(is_reference)
            .filter(retained)
            .filter_map(|object| self.snapshot.field_object(object, "referent"))
            .collect()
    }
}

fn leaking(reason: &str) -> Option<Mark> {
    Some(Mark {
        status: Status::Leaking,
        reason: reason.to_owned(),
    })
}

fn not_leaking(reason: &str) -> Option<Mark> {
    Some(Mark {
        status: Status::NotLeaking,
        reason: reason.to_owned(),
    })
}
