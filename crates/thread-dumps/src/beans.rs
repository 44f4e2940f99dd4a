//! Threads as `java.lang.management.ThreadInfo` in JSON: the endpoint `threaddump` of Spring Boot
//! (`{"threads": [...]}`), `dump` of its first release (`[...]`), and Jolokia (`{"value": [...]}`).

use std::borrow::Cow;
use std::fmt::Write;

use serde::Deserialize;

use crate::frames::Frames;
use crate::model::{Dump, Lock, Source, State, Thread, WaitKind};

#[derive(Deserialize)]
#[serde(untagged)]
enum File<'a> {
    Threads {
        #[serde(borrow)]
        threads: Vec<Info<'a>>,
    },
    Answer {
        #[serde(borrow)]
        value: Vec<Info<'a>>,
    },
    List(#[serde(borrow)] Vec<Info<'a>>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    #[serde(borrow)]
    thread_name: Cow<'a, str>,
    #[serde(borrow)]
    thread_state: Cow<'a, str>,
    #[serde(default)]
    thread_id: Option<u64>,
    #[serde(borrow, default)]
    stack_trace: Option<Vec<Frame<'a>>>,
    #[serde(borrow, default)]
    lock_name: Option<Cow<'a, str>>,
    #[serde(default)]
    lock_owner_id: Option<i64>,
    #[serde(borrow, default)]
    locked_monitors: Option<Vec<Object<'a>>>,
    #[serde(borrow, default)]
    locked_synchronizers: Option<Vec<Object<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a> {
    #[serde(borrow)]
    class_name: Cow<'a, str>,
    #[serde(borrow)]
    method_name: Cow<'a, str>,
    #[serde(borrow, default)]
    file_name: Option<Cow<'a, str>>,
    #[serde(default)]
    line_number: Option<i64>,
    #[serde(default)]
    native_method: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a> {
    #[serde(borrow)]
    class_name: Cow<'a, str>,
    identity_hash_code: i32,
}

/// True if a text that begins like JSON has such threads.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.contains("\"threadName\"") && text.contains("\"threadState\"")
}

/// Reads a dump.
pub(crate) fn dump(text: &str, frames: &mut Frames) -> Result<Dump, String> {
    let file: File<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let (File::Threads { threads } | File::Answer { value: threads } | File::List(threads)) = file;
    let mut dump = Dump::new(Source::Beans);
    let mut names = Vec::new();
    for info in threads {
        dump.threads.push(thread(info, &mut names, frames));
    }
    Ok(dump)
}

fn thread(info: Info<'_>, names: &mut Vec<String>, frames: &mut Frames) -> Thread {
    names.clear();
    names.extend(info.stack_trace.iter().flatten().map(name));
    let stack = frames.stack(names.iter().map(String::as_str));
    let mut thread = Thread::new(&info.thread_name, stack);
    thread.id = info.thread_id;
    thread.state = State::of(&info.thread_state);
    if let Some(object) = info.lock_name.filter(|name| !name.is_empty()) {
        let kind = match thread.state {
            State::Blocked => WaitKind::Enter,
            _ => WaitKind::Park,
        };
        let owner = info.lock_owner_id.and_then(|id| u64::try_from(id).ok());
        thread.wait_for(Lock::of_object(&object), kind, owner);
        thread.wait_as_frames_show(names.first().map_or("", String::as_str));
    }
    let monitors = info.locked_monitors.iter().flatten();
    for object in monitors.chain(info.locked_synchronizers.iter().flatten()) {
        let lock = Lock::of_object(&format!(
            "{}@{:x}",
            object.class_name, object.identity_hash_code
        ));
        if !thread.holds.contains(&lock) {
            thread.holds.push(lock);
        }
    }
    thread.give_back();
    thread
}

/// A frame as `StackTraceElement.toString` has it.
fn name(frame: &Frame<'_>) -> String {
    let mut name = format!("{}.{}(", frame.class_name, frame.method_name);
    let line = frame.line_number.filter(|line| *line >= 0);
    // `null` in a text comes from tools that print it.
    let file = frame.file_name.as_deref().filter(|file| *file != "null");
    // A write into a text does not fail.
    let _ = match (frame.native_method, file, line) {
        (Some(true), ..) => write!(name, "Native Method)"),
        (_, None, _) => write!(name, "Unknown Source)"),
        (_, Some(file), None) => write!(name, "{file})"),
        (_, Some(file), Some(line)) => write!(name, "{file}:{line})"),
    };
    name
}
