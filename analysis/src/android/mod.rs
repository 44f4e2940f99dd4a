//! Leaks of Android programs: objects whose life is over, and why they are still there.
//!
//! The rules that tell whether an object's life is over, and the marks along a path, are those that
//! LeakCanary's documentation describes ("How LeakCanary works", "Fundamentals").

mod bitmaps;
mod facts;
mod left_out;
mod state;

use std::collections::BTreeMap;
use std::hash::Hasher;

use rustc_hash::FxHasher;
use serde::Serialize;

use crate::numbers::ObjectNumber;
use crate::paths::{Path, ShortestPaths};
use crate::snapshot::{EdgeKind, Snapshot};

use bitmaps::MissingPixels;

pub use bitmaps::{BitmapRow, bitmaps};
pub use facts::{AndroidFacts, android_facts};
pub use left_out::LeftOut;
pub use state::{State, Status};

/// A step of a trace, with what is known about the object's life.
#[derive(Debug, Clone, Serialize)]
pub struct Mark {
    /// Whether the object should be gone.
    pub status: Status,
    /// Why.
    pub reason: String,
}

/// The shortest path to an object whose life is over.
#[derive(Debug, Clone, Serialize)]
pub struct Trace {
    /// An identifier of the cause of a leak: a hash of the classes and fields on the part of the
    /// path that may be to blame.
    pub signature: String,
    /// The name of a known leak of Android itself, if this is one.
    pub library_leak: Option<&'static str>,
    /// How many objects leak in this way.
    pub count: u64,
    /// Their retained size, in bytes.
    pub retained_bytes: u64,
    /// True if objects are missing in the file, so that the size may be larger.
    pub is_at_least: bool,
    /// An estimate of the bytes of the pixels that they keep alive and that the file lacks.
    pub missing_pixel_bytes: u64,
    /// The path to one of them.
    pub path: Path,
    /// The mark of each step.
    pub marks: Vec<Mark>,
    /// The steps whose reference may be the cause: after the last expected object, up
    /// to the first that should not.
    pub suspects: Vec<usize>,
}

/// References within Android that are known to leak what they refer to, with what is known.
const LIBRARY_LEAKS: &[(&str, &str, &str)] = &[
    (
        "android.view.inputmethod.InputMethodManager",
        "mNextServedView",
        "the input method keeps the view it served last",
    ),
    (
        "android.view.inputmethod.InputMethodManager",
        "mServedView",
        "the input method keeps the view it served last",
    ),
    (
        "android.view.inputmethod.InputMethodManager",
        "mLastSrvView",
        "the input method keeps the view it served last",
    ),
    (
        "android.view.inputmethod.InputMethodManager",
        "mCurRootView",
        "the input method keeps the window it served last",
    ),
    (
        "android.app.ActivityThread$ActivityClientRecord",
        "nextIdle",
        "the activity thread waits to be idle before it lets an activity go",
    ),
    (
        "android.text.TextLine",
        "sCached",
        "lines of text are kept to be used again",
    ),
    (
        "android.media.session.MediaSessionLegacyHelper",
        "sInstance",
        "the helper keeps the context that first asked for it",
    ),
    (
        "android.view.accessibility.AccessibilityNodeInfo",
        "sPool",
        "accessibility nodes are kept to be used again",
    ),
    (
        "android.view.textservice.SpellCheckerSession$1",
        "this$0",
        "the spelling checker keeps its session",
    ),
    (
        "android.os.UserManager",
        "mContext",
        "the user manager keeps the context that first asked for it",
    ),
];

/// All leaks, those of the program first, and in each part those that retain most first.
pub fn traces(snapshot: &Snapshot, paths: &ShortestPaths) -> Vec<Trace> {
    let state = State::new(snapshot);
    let pixels = MissingPixels::new(snapshot);
    let mut groups: BTreeMap<String, Trace> = BTreeMap::new();
    for object in state.leaking() {
        let Some(objects) = paths.to(object) else {
            continue;
        };
        // What another leaking object keeps alive is part of that one's leak.
        let before = &objects[..objects.len() - 1];
        let is_leaking =
            |&o: &ObjectNumber| state.mark(o).is_some_and(|m| m.status == Status::Leaking);
        if before.iter().any(is_leaking) {
            continue;
        }
        let path = Path::new(snapshot, &objects);
        let (marks, suspects) = marks(&state, &objects);
        let (signature, library_leak) = signature(snapshot, &path, &objects, &suspects);
        let retained = snapshot.retained(object);
        let trace = groups.entry(signature.clone()).or_insert(Trace {
            signature,
            library_leak,
            count: 0,
            retained_bytes: 0,
            is_at_least: snapshot.graph().gaps().missing_objects > 0,
            missing_pixel_bytes: 0,
            path,
            marks,
            suspects,
        });
        trace.count += 1;
        trace.retained_bytes += retained;
        trace.missing_pixel_bytes += pixels.below(snapshot, object);
    }
    let mut traces: Vec<Trace> = groups.into_values().collect();
    traces.sort_by_key(|trace| {
        (
            trace.library_leak.is_some(),
            std::cmp::Reverse(trace.retained_bytes),
        )
    });
    traces
}

/// The mark of each step: the steps before an expected object are expected too,
/// and the steps after a leaking one are leaking.
fn marks(state: &State<'_>, objects: &[ObjectNumber]) -> (Vec<Mark>, Vec<usize>) {
    let own: Vec<Option<Mark>> = objects.iter().map(|&object| state.mark(object)).collect();
    let is = |index: &usize, status| own[*index].as_ref().is_some_and(|m| m.status == status);
    let last_alive = (0..objects.len())
        .rev()
        .find(|index| is(index, Status::NotLeaking));
    let after = last_alive.map_or(0, |last| last + 1);
    let first_dead = (after..objects.len()).find(|index| is(index, Status::Leaking));
    let first_dead = first_dead.unwrap_or(objects.len() - 1);
    let mark = |index: usize| {
        let known = own[index].clone();
        if last_alive.is_some_and(|last| index < last) {
            return Mark {
                status: Status::NotLeaking,
                reason: match known.filter(|mark| mark.status == Status::NotLeaking) {
                    Some(mark) => mark.reason,
                    None => "what it refers to is in use".to_owned(),
                },
            };
        }
        if index > first_dead {
            return Mark {
                status: Status::Leaking,
                reason: "what refers to it is leaking".to_owned(),
            };
        }
        known.unwrap_or(Mark {
            status: Status::Unknown,
            reason: String::new(),
        })
    };
    // The reference that leads to a step belongs to it.
    let suspects = (after.max(1)..=first_dead).collect();
    ((0..objects.len()).map(mark).collect(), suspects)
}

fn signature(
    snapshot: &Snapshot,
    path: &Path,
    objects: &[ObjectNumber],
    suspects: &[usize],
) -> (String, Option<&'static str>) {
    let mut hasher = FxHasher::default();
    let mut library_leak = None;
    for index in 1..objects.len() {
        let Some(edge) = &path.steps[index].edge else {
            continue;
        };
        let from = objects[index - 1];
        let class = match snapshot.graph().class_of_object(from) {
            Some(class) => &snapshot.graph().classes().get(class).name,
            None => snapshot.class_name(from),
        };
        let known = LIBRARY_LEAKS
            .iter()
            .find(|leak| leak.0 == class && leak.1 == edge.name);
        library_leak = library_leak.or(known.map(|leak| leak.2));
        if suspects.contains(&index) {
            hasher.write(class.as_bytes());
            match edge.kind {
                EdgeKind::Element => hasher.write(b"[]"),
                _ => hasher.write(edge.name.as_bytes()),
            }
        }
    }
    let last = objects.last().map_or("", |&last| snapshot.class_name(last));
    hasher.write(last.as_bytes());
    (format!("{:016x}", hasher.finish()), library_leak)
}
