//! Dumps of `jcmd PID Thread.dump_to_file` without a format (JDK 21 and later):
//!
//! ```text
//! 4711
//! 2026-11-23T02:50:00.123456Z
//! 21.0.8+9-LTS
//!
//! #1 "main"
//!       java.base/java.lang.Thread.sleep(Thread.java:509)
//!
//! #27 "" virtual
//! ```
//!
//! Since JDK 24 with states, locks, and `at` before frames.

use crate::frames::Frames;
use crate::model::{Dump, Lock, Source, State, Thread, WaitKind};

/// Reads a dump; none if the text has no thread of this form.
pub(crate) fn dump(text: &str, frames: &mut Frames) -> Option<Dump> {
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r'));
    let pid = lines.next()?;
    if pid.is_empty() || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut dump = Dump::new(Source::Plain);
    dump.time = lines.next().map(str::to_owned);
    dump.jvm = lines.next().map(str::to_owned);
    let mut open: Option<(Thread, Vec<&str>)> = None;
    let close = |open: (Thread, Vec<&str>), frames: &mut Frames| {
        let (mut thread, stack) = open;
        thread.stack = frames.stack(stack.into_iter());
        thread.give_back();
        thread
    };
    for line in lines {
        if let Some(thread) = head(line, frames) {
            dump.threads
                .extend(open.take().map(|open| close(open, frames)));
            open = Some((thread, Vec::new()));
        } else if let Some((thread, stack)) = &mut open
            && line.starts_with("    ")
        {
            let line = line.trim_start();
            match line.strip_prefix("- ") {
                Some(what) => take_lock(thread, what),
                None => stack.push(line.trim_start_matches("at ")),
            }
        }
    }
    dump.threads.extend(open.map(|open| close(open, frames)));
    (!dump.threads.is_empty()).then_some(dump)
}

/// `waiting to lock <java.lang.Object@7bccf5ff>`, between the frames since JDK 24.
fn take_lock(thread: &mut Thread, what: &str) {
    let Some((words, object)) = what.split_once('<') else {
        return;
    };
    let lock = Lock::of_object(object.split('>').next().unwrap_or_default());
    match words.trim_end() {
        "locked" if !thread.holds.contains(&lock) => thread.holds.push(lock),
        "waiting to lock" => thread.wait_for(lock, WaitKind::Enter, None),
        "waiting on" => thread.wait_for(lock, WaitKind::Notify, None),
        "parking to wait for" => thread.wait_for(lock, WaitKind::Park, None),
        _ => {}
    }
}

/// `#27 "name" virtual WAITING 2026-11-23T02:50:00Z`; JDK 21 ends after `virtual`.
fn head(line: &str, frames: &mut Frames) -> Option<Thread> {
    let (id, rest) = line.strip_prefix('#')?.split_once(" \"")?;
    let (name, rest) = rest.rsplit_once('"')?;
    let mut thread = Thread::new(name, frames.stack([].into_iter()));
    thread.id = Some(id.parse().ok()?);
    for word in rest.split_ascii_whitespace() {
        match State::of(word) {
            State::Unknown => thread.is_virtual |= word == "virtual",
            state => thread.state = state,
        }
    }
    Some(thread)
}
