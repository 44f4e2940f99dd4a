//! Dumps of `jcmd PID Thread.dump_to_file -format=json` (`jdk.internal.vm.ThreadDumper`): JDK 21 writes numbers as
//! texts and no state, later releases states, owners and parked objects too.

use std::borrow::Cow;

use serde::Deserialize;

use crate::frames::Frames;
use crate::model::{Dump, Lock, Source, State, Thread, WaitKind};

/// A text that is not copied if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A number, which older releases write as a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number<'a> {
    Number(u64),
    Text(#[serde(borrow)] Cow<'a, str>),
}

impl Number<'_> {
    fn get(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(borrow)]
    thread_dump: ThreadDump<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadDump<'a> {
    #[serde(borrow, default)]
    time: Option<Text<'a>>,
    #[serde(borrow, default)]
    runtime_version: Option<Text<'a>>,
    #[serde(borrow, default)]
    thread_containers: Vec<Container<'a>>,
}

#[derive(Deserialize)]
struct Container<'a> {
    #[serde(borrow, default)]
    container: Option<Text<'a>>,
    #[serde(borrow, default)]
    threads: Vec<ThreadEntry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadEntry<'a> {
    #[serde(borrow, default)]
    tid: Option<Number<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    state: Option<Text<'a>>,
    #[serde(default)]
    r#virtual: Option<bool>,
    #[serde(borrow, default)]
    stack: Vec<Text<'a>>,
    #[serde(borrow, default)]
    park_blocker: Option<ParkBlocker<'a>>,
    #[serde(borrow, default)]
    blocked_on: Option<Text<'a>>,
    #[serde(borrow, default)]
    waiting_on: Option<Text<'a>>,
    #[serde(borrow, default)]
    monitors_owned: Vec<Owned<'a>>,
}

#[derive(Deserialize)]
struct ParkBlocker<'a> {
    #[serde(borrow, default)]
    object: Option<Text<'a>>,
    #[serde(borrow, default)]
    owner: Option<Number<'a>>,
}

#[derive(Deserialize)]
struct Owned<'a> {
    #[serde(borrow, default)]
    locks: Vec<Option<Text<'a>>>,
}

/// Reads a dump.
pub(crate) fn dump(text: &str, frames: &mut Frames) -> Result<Dump, String> {
    let text = without_escaped_slashes(text);
    let file: File<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let file = file.thread_dump;
    let mut dump = Dump::new(Source::Json);
    dump.time = file.time.map(|text| text.0.into_owned());
    dump.jvm = file.runtime_version.map(|text| text.0.into_owned());
    for container in file.thread_containers {
        let name = container.container.map(|text| text.0);
        let name = name.filter(|name| *name != "<root>");
        for entry in container.threads {
            dump.threads.push(thread(entry, name.as_deref(), frames));
        }
    }
    Ok(dump)
}

fn thread(entry: ThreadEntry<'_>, container: Option<&str>, frames: &mut Frames) -> Thread {
    let stack = frames.stack(entry.stack.iter().map(|frame| &*frame.0));
    let name = entry.name.as_ref().map_or("", |name| &name.0);
    let mut thread = Thread::new(name, stack);
    thread.id = entry.tid.and_then(|tid| tid.get());
    thread.state = (entry.state.as_ref()).map_or(State::Unknown, |state| State::of(&state.0));
    thread.container = container.map(str::to_owned);
    // JDK 21 does not say so, and leaves most virtual threads without a name.
    let runs_virtually = || {
        let outermost = entry.stack.last();
        outermost.is_some_and(|frame| frame.0.contains("java.lang.VirtualThread.run("))
    };
    thread.is_virtual = entry.r#virtual.unwrap_or_else(runs_virtually);
    if let Some(object) = entry.blocked_on {
        thread.wait_for(Lock::of_object(&object.0), WaitKind::Enter, None);
    }
    if let Some(object) = entry.waiting_on {
        thread.wait_for(Lock::of_object(&object.0), WaitKind::Notify, None);
    }
    if let Some(blocker) = entry.park_blocker
        && let Some(object) = blocker.object
    {
        let owner = blocker.owner.and_then(|owner| owner.get());
        thread.wait_for(Lock::of_object(&object.0), WaitKind::Park, owner);
    }
    let owned = entry.monitors_owned.iter().flat_map(|owned| &owned.locks);
    for object in owned.flatten() {
        let lock = Lock::of_object(&object.0);
        if !thread.holds.contains(&lock) {
            thread.holds.push(lock);
        }
    }
    thread.give_back();
    thread
}

/// The text with `/` for `\/`, which the JDK writes in every frame, so that frames need not be copied.
fn without_escaped_slashes(text: &str) -> Cow<'_, str> {
    if !text.contains("\\/") {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        plain.push_str(before);
        let length = escape.chars().take(2).map(char::len_utf8).sum();
        let (escape, after) = escape.split_at(length);
        plain.push_str(if escape == "\\/" { "/" } else { escape });
        rest = after;
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}
