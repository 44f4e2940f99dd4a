//! Thread dumps in text. HotSpot prints them like this since JDK 6:
//!
//! ```text
//! "worker" #21 [4711] prio=5 os_prio=0 cpu=12.34ms elapsed=5.00s tid=0x... nid=4711 waiting for monitor entry  [0x...]
//!    java.lang.Thread.State: BLOCKED (on object monitor)
//!         at App.run(App.java:7)
//!         - waiting to lock <0x000000070ff0a1b8> (a java.lang.Object)
//!         - locked <0x000000070ff0a1c8> (a java.lang.Object)
//!
//!    Locked ownable synchronizers:
//!         - None
//! ```
//!
//! Tools over JMX, `java.lang.management.ThreadInfo` and the serviceability agent have heads of their own ([`head`]).
//! Names are the program's own text, with quotes and line feeds in them at will. Lines of a program's log
//! may stand between those of a dump; they are passed over.

mod head;
mod thread;

use rustc_hash::FxHashSet;

use crate::deadlocks;
use crate::frames::Frames;
use crate::model::{Dump, Source};
use head::Head;
use thread::OpenThread;

/// The beginning of a dump.
const HEAD: &str = "Full thread dump ";
/// The beginning of a dump of the serviceability agent, which reports deadlocks first.
const AGENT_HEAD: &str = "Deadlock Detection:";
/// The line before that, on the JVM.
const AGENT_JVM: &str = "JVM version is ";
/// The end of the list of threads of HotSpot.
const END: &str = "JNI global ref";

/// The threads of a file that are taken.
const MAX_THREADS: usize = 4_000_000;

/// A dump whose lines are coming.
struct Open {
    dump: Dump,
    thread: Option<OpenThread>,
    /// A line says that a dump begins.
    is_announced: bool,
    /// The list of threads has ended.
    is_listed: bool,
    deadlocks: deadlocks::Reported,
    /// Threads of a dump that no line announces: when one comes again, another dump has begun.
    seen: FxHashSet<(Option<u64>, Option<u64>, String)>,
}

/// Reads all dumps of a text.
pub(crate) fn dumps(text: &str, frames: &mut Frames) -> Vec<Dump> {
    let mut found = Vec::new();
    let mut open: Option<Open> = None;
    let mut before = "";
    let mut jvm = None;
    let mut taken = 0;
    let empty = frames.stack([].into_iter());
    for line in text.lines().map(message) {
        let announced = announced(line, before, &mut jvm);
        if let Some(next) = announced {
            found.extend(open.replace(next).map(|open| open.close(frames)));
        } else if taken < MAX_THREADS {
            let is_within = open.as_ref().is_some_and(|open| open.is_announced);
            match head::of(line, is_within, empty) {
                Some(head) => {
                    taken += 1;
                    if open.as_ref().is_none_or(|open| open.ends_before(&head)) {
                        let next = Open::new(head.source, false);
                        found.extend(open.replace(next).map(|open| open.close(frames)));
                    }
                    if let Some(open) = &mut open {
                        open.begin(head, frames);
                    }
                }
                None => {
                    if let Some(open) = &mut open {
                        open.take(line, frames);
                    }
                }
            }
        }
        before = line;
    }
    found.extend(open.map(|open| open.close(frames)));
    found
}

/// True for a line with which a dump or a thread begins.
pub(crate) fn is_head(line: &str) -> bool {
    let line = message(line);
    let empty = Frames::default().stack([].into_iter());
    line.contains(HEAD) || line.starts_with(AGENT_HEAD) || head::of(line, false, empty).is_some()
}

/// The dump that a line announces. `jvm` is that of an earlier line of the serviceability agent.
fn announced<'a>(line: &'a str, before: &str, jvm: &mut Option<&'a str>) -> Option<Open> {
    if let Some(version) = line.strip_prefix(AGENT_JVM) {
        *jvm = Some(version);
    }
    if line.starts_with(AGENT_HEAD) {
        let mut open = Open::new(Source::Agent, true);
        open.dump.jvm = jvm.take().map(str::to_owned);
        return Some(open);
    }
    let at = line.find(HEAD)?;
    let mut open = Open::new(Source::Text, true);
    let jvm = line[at + HEAD.len()..].trim_end_matches(':');
    open.dump.jvm = Some(jvm.to_owned());
    open.dump.time = is_time(before).then(|| before.to_owned());
    Some(open)
}

/// A line without what container runtimes and `docker compose logs` put before it:
/// `2026-11-23T02:50:00.123456789Z stdout F `, `app-1  | `.
fn message(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    // `compose` puts one space behind the bar, also before the bar of an empty line.
    if let Some((name, rest)) = line.split_once(" |")
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= 64
        && name
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.' | b' '))
    {
        return rest.strip_prefix(' ').unwrap_or(rest);
    }
    if !line.starts_with(|c: char| c.is_ascii_digit()) {
        return line;
    }
    for stream in [" stdout F ", " stderr F "] {
        if let Some((time, rest)) = line.split_once(stream)
            && time.len() <= 40
        {
            return rest;
        }
    }
    line
}

/// True for a line such as `2026-11-23 02:50:00`.
fn is_time(line: &str) -> bool {
    line.len() == 19
        && line
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b' '))
}

impl Open {
    fn new(source: Source, is_announced: bool) -> Self {
        Self {
            dump: Dump::new(source),
            thread: None,
            is_announced,
            is_listed: false,
            deadlocks: deadlocks::Reported::default(),
            seen: FxHashSet::default(),
        }
    }

    /// True if a thread belongs to the next dump.
    fn ends_before(&self, head: &Head) -> bool {
        let is_other = match (self.dump.source, head.source) {
            // The serviceability agent prints HotSpot's heads.
            (Source::Text | Source::Agent, Source::Text | Source::Agent) => false,
            (form, other) => form != other,
        };
        self.is_listed || !self.is_announced && (is_other || self.seen.contains(&key(head)))
    }

    /// A thread begins.
    fn begin(&mut self, head: Head, frames: &mut Frames) {
        // Below the number that `jhsdb jstack --mixed` prints is the head of a Java thread.
        if let Some(above) = &self.thread
            && above.is_only_numbered(head.thread.os_id)
        {
            self.thread = None;
        }
        self.end_thread(frames);
        self.deadlocks.end();
        if !self.is_announced {
            self.seen.insert(key(&head));
        }
        // The line that announces a dump is one for several forms.
        if self.dump.source == Source::Text {
            self.dump.source = head.source;
        }
        // Only HotSpot's own lists say where they end; a program's log may follow the others.
        let is_open_ended = !self.is_announced || head.source != Source::Text;
        self.thread = Some(OpenThread::new(head, is_open_ended));
    }

    /// Takes a line that is no head of a thread.
    fn take(&mut self, line: &str, frames: &mut Frames) {
        if self.deadlocks.take(line) {
            self.end_thread(frames);
            // The serviceability agent reports deadlocks before it lists threads.
            self.is_listed = self.dump.source != Source::Agent;
        } else if self.is_listed {
        } else if line.starts_with(END) {
            self.end_thread(frames);
            self.is_listed = true;
        } else if let Some(thread) = &mut self.thread
            && let Some(source) = thread.take(line)
            && self.dump.source == Source::Text
        {
            self.dump.source = source;
        }
    }

    fn end_thread(&mut self, frames: &mut Frames) {
        if let Some(open) = self.thread.take() {
            self.dump.threads.push(open.close(frames));
        }
    }

    fn close(mut self, frames: &mut Frames) -> Dump {
        self.end_thread(frames);
        self.dump.is_cut = self.is_announced && !self.is_listed && self.dump.source == Source::Text;
        self.dump.deadlocks = self.deadlocks.finish();
        self.dump
    }
}

fn key(head: &Head) -> (Option<u64>, Option<u64>, String) {
    (head.thread.id, head.thread.os_id, head.thread.name.clone())
}
