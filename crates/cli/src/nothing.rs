//! The modes of a profile that have counted nothing, and why: the agent's marks in it.

use hprof_analysis::contents::Contents;
use hprof_wire::marks::{Mark, Nothing};
use serde_json::{Value, json};

/// How the marks begin in binary files, where they are strings among others.
const START: &str = "hprof-rs nothing: ";

/// The modes that have counted nothing of what they were asked for, in the order of the file.
pub fn of(contents: &Contents) -> Vec<Nothing> {
    let strings = contents.names.strings_with_start(START);
    let marks = contents.comments.iter().chain(&strings);
    let nothing = |mark: &String| match Mark::parse(mark)? {
        Mark::Nothing(nothing) => Some(nothing),
        Mark::Agent(_) | Mark::Reply(_) | Mark::Value(_) => None,
    };
    marks.filter_map(nothing).collect()
}

/// Mode and reason of each.
pub fn as_json(contents: &Contents) -> Value {
    let all = of(contents).into_iter();
    all.map(|nothing| json!({"mode": nothing.mode.name(), "why": nothing.why}))
        .collect()
}
