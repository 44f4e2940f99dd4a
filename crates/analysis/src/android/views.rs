//! Views of Android: what they are part of, and whether their life is over.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::contexts::is_of_destroyed;
use super::fields::Fields;
use super::state::{Finding, leaking, not_leaking};
use crate::numbers::ObjectNumber;

const VIEW: &str = "android.view.View";
const DECOR: &str = "com.android.internal.policy.DecorView";
/// The decor's class up to Android 6.
const OLD_DECOR: &str = "com.android.internal.policy.impl.PhoneWindow$DecorView";
/// The most views above one that are looked at; in damaged files they may go in circles.
const MAX_DEPTH: usize = 4096;

/// The top of a hierarchy of views.
#[derive(Debug, Clone, Copy)]
struct Top {
    view: ObjectNumber,
    /// True if a window has the view, by what is above it or as its decor.
    is_of_window: bool,
}

/// The hierarchies of views, as far as they were looked at.
#[derive(Default)]
pub(super) struct Views {
    tops: RefCell<FxHashMap<ObjectNumber, Top>>,
}

impl Views {
    /// The top of the hierarchy of a view, which each view is asked for once.
    fn top(&self, fields: &Fields<'_>, view: ObjectNumber) -> Top {
        let mut tops = self.tops.borrow_mut();
        let mut below = Vec::new();
        let mut at = view;
        let top = loop {
            if let Some(top) = tops.get(&at) {
                break *top;
            }
            below.push(at);
            match fields.object(at, (VIEW, "mParent")) {
                Some(parent) if fields.is_a(parent, VIEW) && below.len() < MAX_DEPTH => at = parent,
                parent => {
                    let is_decor = fields.is_a(at, DECOR) || fields.is_a(at, OLD_DECOR);
                    let is_of_window = parent.is_some() || is_decor;
                    break Top {
                        view: at,
                        is_of_window,
                    };
                }
            }
        };
        tops.extend(below.into_iter().map(|view| (view, top)));
        top
    }

    /// Finds out whether the life of a view is over.
    pub fn finding(&self, fields: &Fields<'_>, view: ObjectNumber) -> Finding {
        let context = fields.object(view, (VIEW, "mContext"));
        if context.is_some_and(|context| is_of_destroyed(fields, context)) {
            return leaking("View.mContext is of a destroyed Activity");
        }
        let was_attached = fields.integer(view, (VIEW, "mWindowAttachCount"));
        let top = self.top(fields, view);
        if !top.is_of_window || was_attached.unwrap_or(0) <= 0 {
            // Views taken off on purpose, to be used again, look so too.
            return None;
        }
        if fields.is_null(view, (VIEW, "mAttachInfo")) {
            return leaking(
                "the view is detached, and yet part of a window (View.mAttachInfo is null)",
            );
        }
        if fields.is_null(top.view, (VIEW, "mAttachInfo")) {
            return leaking("the view is attached, but the root of its window is detached");
        }
        fields.object(view, (VIEW, "mAttachInfo"))?;
        not_leaking("the view is attached (View.mAttachInfo is not null)")
    }

    /// Returns other facts about a view.
    pub fn labels(&self, fields: &Fields<'_>, view: ObjectNumber) -> Vec<String> {
        let top = self.top(fields, view);
        let part = if top.is_of_window { "" } else { "not " };
        let mut labels = vec![format!("the view is {part}part of a window")];
        if let Some(value) = fields.get(view, (VIEW, "mAttachInfo")) {
            let words = match value.object() {
                None => "null (detached)",
                Some(_) => "not null (attached)",
            };
            labels.push(format!("View.mAttachInfo is {words}"));
        }
        if let Some(count) = fields.integer(view, (VIEW, "mWindowAttachCount")) {
            labels.push(format!("View.mWindowAttachCount is {count}"));
        }
        labels
    }
}
