//! Leaks of Android programs: objects whose life is over, and why they are still there.
//!
//! The rules that tell whether an object's life is over, and the marks along a path, are those that
//! LeakCanary's documentation describes ("How LeakCanary works", "Fundamentals").

mod bitmaps;
mod contexts;
mod facts;
mod fields;
mod inspect;
mod known;
mod labels;
mod left_out;
mod library_leaks;
mod rules;
mod state;
mod views;

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::io;

use rustc_hash::FxHasher;
use serde::Serialize;

use crate::numbers::ObjectNumber;
use crate::paths::{Path, ShortestPaths};
use crate::snapshot::{EdgeKind, Snapshot};

use bitmaps::MissingPixels;
use known::Known;
use labels::labels;
use state::{Finding, State};

pub use bitmaps::{BitmapRow, bitmaps};
pub use facts::{AndroidFacts, android_facts};
pub use left_out::LeftOut;
pub use state::Status;

/// A step of a trace, with what is known about the object's life.
#[derive(Debug, Clone, Serialize)]
pub struct Mark {
    /// Says whether the object should be gone.
    pub status: Status,
    /// Why.
    pub reason: String,
    /// Other facts about the object.
    pub labels: Vec<String>,
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

/// All leaks, those of the program first, and in each part those that retain most first.
///
/// Paths over references that are known to leak are taken where there is no other path. Where the only path
/// is one that comes and goes, such as a local variable of the main thread, there is no leak.
///
/// # Errors
/// If there is no room for the paths.
pub fn traces(snapshot: &Snapshot) -> io::Result<Vec<Trace>> {
    let state = State::new(snapshot);
    let known = Known::new(&state.fields, &android_facts(snapshot));
    let turn = |from, to| known.turn(from, to);
    let paths = ShortestPaths::in_turns(snapshot.graph(), snapshot.store(), &turn)?;
    let pixels = MissingPixels::new(snapshot);
    let mut groups: BTreeMap<String, Trace> = BTreeMap::new();
    for object in state.leaking() {
        let Some(objects) = paths.to(object).filter(|path| !known.is_passing(path)) else {
            continue;
        };
        // What another leaking object keeps alive is part of that one's leak.
        let before = &objects[..objects.len() - 1];
        if before.iter().any(|&object| state.is_leak(object)) {
            continue;
        }
        let lives = Lives::new(&state, &objects);
        let path = Path::with(snapshot, &objects, &lives.turns());
        let positions = path.positions();
        let suspects = lives.suspects(&positions);
        let signature = signature(snapshot, &path, &objects, &suspects);
        let retained = snapshot.retained(object);
        let trace = groups.entry(signature.clone()).or_insert_with(|| Trace {
            signature,
            library_leak: known.leak_on(&objects),
            count: 0,
            retained_bytes: 0,
            is_at_least: snapshot.graph().gaps().missing_objects > 0,
            missing_pixel_bytes: 0,
            path,
            marks: lives.marks(&state, &objects, &positions),
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
    Ok(traces)
}

/// The lives of the objects on a path: the steps before an expected object are expected too, and the steps
/// after a leaking one are leaking.
struct Lives {
    findings: Vec<Finding>,
    last_alive: Option<usize>,
    first_dead: usize,
}

impl Lives {
    fn new(state: &State<'_>, objects: &[ObjectNumber]) -> Self {
        let findings: Vec<Finding> = (objects.iter())
            .map(|&object| state.finding(object))
            .collect();
        let is = |index: usize, status| {
            (findings[index].as_ref()).is_some_and(|finding| finding.0 == status)
        };
        let last = objects.len() - 1;
        // The last one is what leaks, whatever else is known of it.
        let last_alive = (0..last).rev().find(|&index| is(index, Status::NotLeaking));
        let after = last_alive.map_or(0, |last| last + 1);
        let first_dead = (after..last).find(|&index| is(index, Status::Leaking));
        Self {
            last_alive,
            first_dead: first_dead.unwrap_or(last),
            findings,
        }
    }

    /// The positions between which the cause is.
    fn turns(&self) -> Vec<usize> {
        self.last_alive
            .into_iter()
            .chain([self.first_dead])
            .collect()
    }

    /// The steps, at these positions, whose reference may be the cause: the reference that leads to a step
    /// belongs to it.
    fn suspects(&self, positions: &[usize]) -> Vec<usize> {
        let after = self.last_alive.map_or(0, |last| last + 1);
        let range = after.max(1)..=self.first_dead;
        (0..positions.len())
            .filter(|&step| range.contains(&positions[step]))
            .collect()
    }

    /// The mark of each step, at these positions.
    fn marks(&self, state: &State<'_>, objects: &[ObjectNumber], positions: &[usize]) -> Vec<Mark> {
        let mark = |&index: &usize| {
            let known = self.findings[index].clone();
            let (status, reason) = if self.last_alive.is_some_and(|last| index < last) {
                known
                    .filter(|known| known.0 == Status::NotLeaking)
                    .unwrap_or((Status::NotLeaking, "what it refers to is in use".to_owned()))
            } else if index > self.first_dead {
                (Status::Leaking, "what refers to it is leaking".to_owned())
            } else {
                known.unwrap_or((Status::Unknown, String::new()))
            };
            Mark {
                status,
                reason,
                labels: labels(state, objects[index]),
            }
        };
        positions.iter().map(mark).collect()
    }
}

/// A hash of the classes and fields that may be to blame, and of the class that leaks.
fn signature(
    snapshot: &Snapshot,
    path: &Path,
    objects: &[ObjectNumber],
    suspects: &[usize],
) -> String {
    let positions = path.positions();
    let mut hasher = FxHasher::default();
    for &index in suspects {
        let Some(edge) = &path.steps[index].edge else {
            continue;
        };
        let from = objects[positions[index] - 1];
        let class = match snapshot.graph().class_of_object(from) {
            Some(class) => &snapshot.graph().classes().get(class).name,
            None => snapshot.class_name(from),
        };
        hasher.write(class.as_bytes());
        match edge.kind {
            EdgeKind::Element => hasher.write(b"[]"),
            _ => hasher.write(edge.name.as_bytes()),
        }
    }
    let last = objects.last().map_or("", |&last| snapshot.class_name(last));
    hasher.write(last.as_bytes());
    format!("{:016x}", hasher.finish())
}
