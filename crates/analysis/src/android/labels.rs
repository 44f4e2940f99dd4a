//! Other facts about an object on a path: contexts, messages, windows, anonymous classes.

use super::contexts::{Component, is_destroyed};
use super::fields::{FieldOf, Fields, static_of};
use super::inspect::{in_words, lifecycle};
use super::rules::Rule;
use super::state::State;
use crate::numbers::ObjectNumber;
use crate::snapshot::Value;

/// The most labels of one object.
const MAX_LABELS: usize = 12;
/// The type of windows of toasts (`WindowManager.LayoutParams.TYPE_TOAST`).
const TOAST_WINDOW: i64 = 2005;

/// Returns the facts about an object other than whether its life is over.
pub(super) fn labels(state: &State<'_>, object: ObjectNumber) -> Vec<String> {
    let fields = &state.fields;
    if fields.snapshot.graph().class_of_object(object).is_some() {
        return Vec::new();
    }
    let mut labels = match state.rule(object) {
        Some(Rule::View) => state.views.labels(fields, object),
        Some(Rule::Message) => message(fields, object),
        Some(Rule::ViewRoot) => window_of_root(fields, object),
        Some(Rule::ContextWrapper) => vec![wrapper(fields, object)],
        Some(Rule::ContextImpl) => own_context(fields, object),
        Some(Rule::Dialog) => null_or_not(fields, object, ("android.app.Dialog", "mDecor")),
        Some(Rule::MortarPresenter) => null_or_not(fields, object, ("mortar.Presenter", "view")),
        Some(Rule::Window) => truth(fields, object, ("android.view.Window", "mDestroyed")),
        Some(Rule::Coordinator) => {
            let field = ("com.squareup.coordinators.Coordinator", "attached");
            truth(fields, object, field)
        }
        Some(Rule::Animator) => animator(fields, object),
        Some(Rule::Lifecycle) => (lifecycle(fields, object).into_iter())
            .filter(|state| state == "DESTROYED")
            .map(|state| format!("its state is {state}"))
            .collect(),
        Some(Rule::MessageQueue) => (thread_of_queue(fields, object).into_iter())
            .map(|name| format!("the queue of the thread \"{name}\""))
            .collect(),
        Some(Rule::Fragment(class)) => (fields.text(object, (class, "mTag")).into_iter())
            .map(|tag| format!("Fragment.mTag is \"{tag}\""))
            .collect(),
        Some(Rule::Binder) => vec![BINDER.to_owned()],
        _ => Vec::new(),
    };
    labels.extend(contexts(fields, object));
    labels.extend(anonymous(fields, object));
    labels.truncate(MAX_LABELS);
    labels
}

const BINDER: &str = "another process may hold this end of a binder until it collects its own garbage: a static \
                      class would hold less";

fn null_or_not(fields: &Fields<'_>, object: ObjectNumber, field: FieldOf) -> Vec<String> {
    let value = fields.get(object, field);
    let words = value.map(|value| match value {
        Value::Null => format!("{} is null", in_words(field)),
        _ => format!("{} is not null", in_words(field)),
    });
    words.into_iter().collect()
}

fn truth(fields: &Fields<'_>, object: ObjectNumber, field: FieldOf) -> Vec<String> {
    let truth = fields.truth(object, field);
    let words = truth.map(|truth| format!("{} is {truth}", in_words(field)));
    words.into_iter().collect()
}

/// The fields that hold contexts, with the component that each belongs to.
fn contexts(fields: &Fields<'_>, object: ObjectNumber) -> Vec<String> {
    let snapshot = fields.snapshot;
    let mut labels = Vec::new();
    for field in snapshot.fields(object) {
        let Some(context) = field.value.object() else {
            continue;
        };
        if !fields.is_a(context, "android.content.Context") {
            continue;
        }
        let class = snapshot.class_name(context);
        let core = match Component::of(fields, context) {
            Some(Component::Activity(activity)) => {
                let state = activity_in_words(fields, activity);
                match activity == context {
                    true => format!(", {state}"),
                    false => format!(", which wraps {}, {state}", snapshot.class_name(activity)),
                }
            }
            Some(Component::Application(core) | Component::Service(core)) if core != context => {
                format!(", which wraps {}", snapshot.class_name(core))
            }
            _ => String::new(),
        };
        let label = format!("{}: {class}{core}", field.name);
        if !labels.contains(&label) {
            labels.push(label);
        }
        if labels.len() >= MAX_LABELS {
            break;
        }
    }
    labels
}

fn activity_in_words(fields: &Fields<'_>, activity: ObjectNumber) -> &'static str {
    match is_destroyed(fields, activity) {
        Some(true) => "a destroyed Activity",
        Some(false) => "an Activity that is not destroyed",
        None => "an Activity",
    }
}

fn wrapper(fields: &Fields<'_>, object: ObjectNumber) -> String {
    let core = match Component::of(fields, object) {
        Some(Component::Activity(activity)) => activity_in_words(fields, activity),
        Some(Component::Application(_)) => "the Application",
        Some(Component::Service(_)) => "a Service",
        None => "no known component",
    };
    format!("the context wraps {core}")
}

fn own_context(fields: &Fields<'_>, object: ObjectNumber) -> Vec<String> {
    let outer = fields.object(object, ("android.app.ContextImpl", "mOuterContext"));
    let is_own = outer == Some(object);
    let words = "ContextImpl.mOuterContext is itself: it belongs to no component";
    is_own.then(|| words.to_owned()).into_iter().collect()
}

fn message(fields: &Fields<'_>, object: ObjectNumber) -> Vec<String> {
    const MESSAGE: &str = "android.os.Message";
    let mut labels = Vec::new();
    if let Some(what) = fields.integer(object, (MESSAGE, "what")) {
        labels.push(format!("Message.what is {what}"));
    }
    if let Some(when) = fields.integer(object, (MESSAGE, "when")) {
        let classes = [
            "leakcanary.KeyedWeakReference",
            "com.squareup.leakcanary.KeyedWeakReference",
        ];
        let dumped = (classes.iter())
            .find_map(|class| static_of(fields.snapshot, class, "heapDumpUptimeMillis"))
            .and_then(|value| value.integer())
            .filter(|&dumped| dumped > 0);
        let distance = dumped.map_or_else(String::new, |dumped| {
            let side = if when > dumped { "after" } else { "before" };
            format!(", {} ms {side} the dump", when.abs_diff(dumped))
        });
        labels.push(format!("Message.when is {when}{distance}"));
    }
    for name in ["obj", "callback", "target"] {
        let words = match fields.get(object, (MESSAGE, name)) {
            Some(Value::Object(target)) => fields.snapshot.class_name(target).to_owned(),
            Some(Value::Null) => "null".to_owned(),
            _ => continue,
        };
        labels.push(format!("Message.{name} is {words}"));
    }
    labels
}

fn window_of_root(fields: &Fields<'_>, object: ObjectNumber) -> Vec<String> {
    const PARAMETERS: &str = "android.view.WindowManager$LayoutParams";
    let field = ("android.view.ViewRootImpl", "mWindowAttributes");
    let Some(window) = fields.object(object, field) else {
        return Vec::new();
    };
    let mut labels = Vec::new();
    if let Some(title) = fields.text(window, (PARAMETERS, "mTitle")) {
        labels.push(format!("the window's title is \"{title}\""));
    }
    if let Some(kind) = fields.integer(window, (PARAMETERS, "type")) {
        let toast = if kind == TOAST_WINDOW {
            " (a toast)"
        } else {
            ""
        };
        labels.push(format!("the window's type is {kind}{toast}"));
    }
    labels
}

fn thread_of_queue(fields: &Fields<'_>, queue: ObjectNumber) -> Option<String> {
    let head = fields.object(queue, ("android.os.MessageQueue", "mMessages"))?;
    let handler = fields.object(head, ("android.os.Message", "target"))?;
    let looper = fields.object(handler, ("android.os.Handler", "mLooper"))?;
    let thread = fields.object(looper, ("android.os.Looper", "mThread"))?;
    fields.snapshot.thread_name(thread)
}

fn animator(fields: &Fields<'_>, object: ObjectNumber) -> Vec<String> {
    const VALUES: &str = "android.animation.ValueAnimator";
    let mut labels = Vec::new();
    let property = ("android.animation.ObjectAnimator", "mPropertyName");
    if let Some(name) = fields.text(object, property) {
        labels.push(format!("the animated property is \"{name}\""));
    }
    for name in ["mStarted", "mRunning"] {
        labels.extend(truth(fields, object, (VALUES, name)));
    }
    if fields.integer(object, (VALUES, "mRepeatCount")) == Some(-1) {
        labels.push("it repeats without end".to_owned());
    }
    labels
}

/// An anonymous class says little by its name.
fn anonymous(fields: &Fields<'_>, object: ObjectNumber) -> Option<String> {
    let graph = fields.snapshot.graph();
    let classes = graph.classes();
    let class = classes.get(graph.class_of(object));
    let (_, number) = class.name.rsplit_once('$')?;
    let is_anonymous = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let above = class.super_class.filter(|_| is_anonymous)?;
    let above = &classes.get(above).name;
    // Dumps do not tell the interfaces of a class.
    (above != "java.lang.Object").then(|| format!("anonymous class derived from {above}"))
}
