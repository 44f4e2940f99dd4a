//! Contexts of Android, which wrap one another, and the component at their core.

use super::fields::Fields;
use crate::numbers::ObjectNumber;

/// A component that contexts may belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    Activity(ObjectNumber),
    Application(ObjectNumber),
    Service(ObjectNumber),
}

/// The most contexts that are looked through; in damaged files they may wrap themselves.
const MAX_WRAPPED: usize = 32;

impl Component {
    /// The component that an object is itself.
    fn is(fields: &Fields<'_>, object: ObjectNumber) -> Option<Self> {
        let graph = fields.snapshot.graph();
        let classes = graph.classes();
        classes.hierarchy(graph.class_of(object)).find_map(|class| {
            match classes.get(class).name.as_str() {
                "android.app.Activity" => Some(Self::Activity(object)),
                "android.app.Application" => Some(Self::Application(object)),
                "android.app.Service" => Some(Self::Service(object)),
                _ => None,
            }
        })
    }

    /// The component that a context wraps, or is.
    pub fn of(fields: &Fields<'_>, context: ObjectNumber) -> Option<Self> {
        let mut context = context;
        for _ in 0..MAX_WRAPPED {
            let own = Self::is(fields, context);
            if own.is_some() {
                return own;
            }
            let decor = ("com.android.internal.policy.DecorContext", "mPhoneWindow");
            let base = fields.object(context, ("android.content.ContextWrapper", "mBase"));
            // The context of a decor wraps that of the application; its window knows the activity.
            let of_window = || {
                let window = fields.object(context, decor)?;
                fields.object(window, ("android.view.Window", "mContext"))
            };
            let is_activity = |context: ObjectNumber| {
                matches!(Self::is(fields, context), Some(Self::Activity(_)))
            };
            context = match base {
                Some(base) if is_activity(base) => base,
                base => of_window().or(base)?,
            };
        }
        None
    }

    /// The activity that a context wraps, or is.
    pub fn activity_of(fields: &Fields<'_>, context: ObjectNumber) -> Option<ObjectNumber> {
        match Self::of(fields, context)? {
            Self::Activity(activity) => Some(activity),
            _ => None,
        }
    }
}

/// Returns true if an activity is destroyed. Before SDK 17 no field says so, and the result is `None`.
pub(super) fn is_destroyed(fields: &Fields<'_>, activity: ObjectNumber) -> Option<bool> {
    fields.truth(activity, ("android.app.Activity", "mDestroyed"))
}

/// Returns true if a context belongs to a destroyed activity.
pub(super) fn is_of_destroyed(fields: &Fields<'_>, context: ObjectNumber) -> bool {
    let activity = Component::activity_of(fields, context);
    activity.and_then(|activity| is_destroyed(fields, activity)) == Some(true)
}
