//! Tells by an object's fields whether its life is over.
//!
//! The rules are those that LeakCanary documents for its inspectors of objects ("Fundamentals", the reference of
//! `AndroidObjectInspectors` in Shark).

use super::contexts::{Component, is_destroyed, is_of_destroyed};
use super::fields::{FieldOf, Fields};
use super::rules::Rule;
use super::state::{Finding, State, Status, leaking, not_leaking};
use crate::numbers::ObjectNumber;
use crate::snapshot::Value;

/// Finds out whether the life of an object with a rule is over.
pub(super) fn finding(state: &State<'_>, object: ObjectNumber, rule: Rule) -> Finding {
    let fields = &state.fields;
    match rule {
        Rule::Activity => by_truth(fields, object, ("android.app.Activity", "mDestroyed")),
        Rule::Fragment(class) => fragment(fields, object, class),
        Rule::ViewModel(class) => view_model(fields, object, class),
        Rule::View => state.views.finding(fields, object),
        Rule::Editor => {
            let view = fields.object(object, ("android.widget.Editor", "mTextView"))?;
            let (status, reason) = state.finding(view)?;
            Some((status, format!("Editor.mTextView: {reason}")))
        }
        Rule::Service => match state.is_running(object)? {
            true => not_leaking("ActivityThread.mServices holds the service"),
            false => leaking("ActivityThread.mServices does not hold the service"),
        },
        Rule::Application => not_leaking("the Application lives as long as the process"),
        Rule::Singleton => not_leaking("there is one for the whole process"),
        Rule::Loader => not_leaking("a class loader is never leaking"),
        Rule::ContextImpl => outer_context(fields, object, "ContextImpl"),
        Rule::PackageManager => {
            let field = ("android.app.ApplicationPackageManager", "mContext");
            let context = fields.object(object, field)?;
            outer_context(fields, context, "ApplicationPackageManager.mContext")
        }
        // One that wraps a living activity may still have a shorter life.
        Rule::ContextWrapper => is_of_destroyed(fields, object)
            .then(|| leaking("the context wraps a destroyed Activity"))?,
        Rule::MessageQueue => queue(fields, object),
        Rule::Toast => toast(fields, object),
        Rule::Window => {
            let field = ("android.view.Window", "mDestroyed");
            // Only windows of activities are ever destroyed in that sense.
            (fields.truth(object, field)?).then(|| leaking("Window.mDestroyed is true"))?
        }
        Rule::ViewRoot => view_root(fields, object),
        Rule::Lifecycle => {
            let state = lifecycle(fields, object)?;
            // That of a fragment's view is destroyed before the fragment, which holds it.
            (state != "DESTROYED").then(|| not_leaking(&format!("its state is {state}")))?
        }
        Rule::Recomposer => recomposer(fields, object),
        Rule::Composition => composition(fields, object),
        Rule::MortarScope => by_truth(fields, object, ("mortar.MortarScope", "dead")),
        Rule::Thread => {
            let name = fields.snapshot.thread_name(object)?;
            (name == "main").then(|| not_leaking("the main thread always runs"))?
        }
        Rule::Dialog
        | Rule::Message
        | Rule::MortarPresenter
        | Rule::Coordinator
        | Rule::Animator
        | Rule::Binder
        | Rule::WatchReference => None,
    }
}

/// A life that a truth value ends.
fn by_truth(fields: &Fields<'_>, object: ObjectNumber, field: FieldOf) -> Finding {
    let is_over = fields.truth(object, field)?;
    let reason = format!("{} is {is_over}", in_words(field));
    match is_over {
        true => leaking(&reason),
        false => not_leaking(&reason),
    }
}

/// A field with the short name of its class.
pub(super) fn in_words(field: FieldOf) -> String {
    let class = field.0.rsplit('.').next().unwrap_or(field.0);
    format!("{class}.{}", field.1)
}

/// Fragments of the system and of the support library lose their manager at the end; those of AndroidX have
/// a life cycle, which later releases begin anew when the fragment is removed.
fn fragment(fields: &Fields<'_>, object: ObjectNumber, class: &'static str) -> Finding {
    let registry = fields.object(object, (class, "mLifecycleRegistry"));
    if let Some(state) = registry.and_then(|registry| lifecycle(fields, registry)) {
        let is_reset = fields.get(object, (class, "mMaxState")).is_some();
        if state == "DESTROYED" {
            return leaking("the state of Fragment.mLifecycleRegistry is DESTROYED");
        }
        if state != "INITIALIZED" || !is_reset {
            return not_leaking(&format!(
                "the state of Fragment.mLifecycleRegistry is {state}"
            ));
        }
    }
    let called = fields.truth(object, (class, "mCalled"));
    match (fields.get(object, (class, "mFragmentManager"))?, called) {
        (Value::Null, Some(true)) => {
            leaking("Fragment.mFragmentManager is null and mCalled is true")
        }
        (Value::Null, Some(false)) if registry.is_some() => {
            not_leaking("the fragment was never added (Fragment.mCalled is false)")
        }
        (Value::Object(_), _) => not_leaking("Fragment.mFragmentManager is not null"),
        _ => None,
    }
}

fn view_model(fields: &Fields<'_>, object: ObjectNumber, class: &'static str) -> Finding {
    let is_cleared = ["mCleared", "cleared"].map(|name| fields.truth(object, (class, name)));
    let inner = || {
        // Since lifecycle 2.8 an object of its own has the state.
        let inner = fields.object(object, (class, "impl"))?;
        let class = "androidx.lifecycle.viewmodel.internal.ViewModelImpl";
        fields.truth(inner, (class, "isCleared"))
    };
    let [first, second] = is_cleared;
    match first.or(second).or_else(inner)? {
        true => leaking("the ViewModel is cleared (ViewModel.mCleared is true)"),
        false => not_leaking("the ViewModel is not cleared (ViewModel.mCleared is false)"),
    }
}

/// The name of the state of a `LifecycleRegistry`.
pub(super) fn lifecycle(fields: &Fields<'_>, registry: ObjectNumber) -> Option<String> {
    let class = "androidx.lifecycle.LifecycleRegistry";
    let name = |field| fields.constant(registry, (class, field));
    name("state").or_else(|| name("mState"))
}

/// The component that a `ContextImpl` was made for.
fn outer_context(fields: &Fields<'_>, context: ObjectNumber, words: &str) -> Finding {
    let outer = fields.object(context, ("android.app.ContextImpl", "mOuterContext"))?;
    if outer == context {
        return None;
    }
    if fields.is_a(outer, "android.app.Application") {
        return not_leaking(&format!("{words}.mOuterContext is the Application"));
    }
    let Some(Component::Activity(activity)) = Component::of(fields, outer) else {
        return None;
    };
    if activity != outer {
        return None;
    }
    match is_destroyed(fields, outer)? {
        true => leaking(&format!("{words}.mOuterContext is a destroyed Activity")),
        false => not_leaking(&format!("{words}.mOuterContext is an Activity in use")),
    }
}

fn queue(fields: &Fields<'_>, object: ObjectNumber) -> Finding {
    // The name had a mistake up to Android 4.4.
    let names = ["mQuitting", "mQuiting"];
    let mut found = names
        .map(|name| ("android.os.MessageQueue", name))
        .into_iter();
    found.find_map(|field| by_truth(fields, object, field))
}

fn toast(fields: &Fields<'_>, object: ObjectNumber) -> Finding {
    let shown = fields.object(object, ("android.widget.Toast", "mTN"))?;
    // It gets its window manager when it is shown, and loses its view when it is hidden.
    fields.object(shown, ("android.widget.Toast$TN", "mWM"))?;
    match fields.get(shown, ("android.widget.Toast$TN", "mView"))? {
        Value::Null => leaking("the toast was shown and hidden (Toast.mTN.mView is null)"),
        _ => not_leaking("the toast is shown (Toast.mTN.mView is not null)"),
    }
}

fn view_root(fields: &Fields<'_>, object: ObjectNumber) -> Finding {
    if fields.is_null(object, ("android.view.ViewRootImpl", "mView")) {
        return leaking("ViewRootImpl.mView is null");
    }
    let context = fields.object(object, ("android.view.ViewRootImpl", "mContext"))?;
    is_of_destroyed(fields, context).then(|| {
        leaking(
            "ViewRootImpl.mContext is of a destroyed Activity: a toast was not cancelled, or a dialog not \
             dismissed",
        )
    })?
}

fn recomposer(fields: &Fields<'_>, object: ObjectNumber) -> Finding {
    let flow = fields.object(object, ("androidx.compose.runtime.Recomposer", "_state"))?;
    let state = fields.constant(flow, ("kotlinx.coroutines.flow.StateFlowImpl", "_state"))?;
    let reason = format!("Recomposer is in state {state}");
    match state.as_str() {
        "ShutDown" | "ShuttingDown" => leaking(&reason),
        "PendingWork" | "Idle" => not_leaking(&reason),
        _ => Some((Status::Unknown, reason)),
    }
}

fn composition(fields: &Fields<'_>, object: ObjectNumber) -> Finding {
    let class = "androidx.compose.runtime.CompositionImpl";
    let is_over = fields.truth(object, (class, "disposed"));
    // Later releases count: running, deactivated, inconsistent, disposed.
    let state = || fields.integer(object, (class, "state"));
    match is_over.or_else(|| match state()? {
        3 => Some(true),
        0 => Some(false),
        _ => None,
    })? {
        true => leaking("the composition is disposed"),
        false => not_leaking("the composition is not disposed"),
    }
}
