//! Thread dumps in text, as HotSpot prints them since JDK 6:
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
//! Names are the program's own text, with quotes and line feeds in them at will. Lines of a program's log
//! may stand between those of a dump; they are passed over.

use crate::deadlocks;
use crate::frames::Frames;
use crate::model::{Dump, Lock, Source, State, Thread, WaitKind};

/// The beginning of a dump.
const HEAD: &str = "Full thread dump ";
/// The end of its list of threads.
const END: &str = "JNI global ref";

/// The threads of a file that are taken.
const MAX_THREADS: usize = 4_000_000;

/// A dump whose lines are coming.
struct Open {
    dump: Dump,
    thread: Option<OpenThread>,
    /// The list of threads has ended.
    is_listed: bool,
    deadlocks: deadlocks::Reported,
}

/// A thread whose lines are coming.
struct OpenThread {
    thread: Thread,
    frames: Vec<String>,
    /// The lines are on the locks that are no monitors.
    is_owned: bool,
}

/// Reads all dumps of a text.
pub(crate) fn dumps(text: &str, frames: &mut Frames) -> Vec<Dump> {
    let mut found = Vec::new();
    let mut open: Option<Open> = None;
    let mut before = "";
    let mut taken = 0;
    for line in text.lines().map(message) {
        if let Some(at) = line.find(HEAD) {
            found.extend(open.take().map(|open| open.close(frames)));
            let mut dump = Dump::new(Source::Text);
            let jvm = line[at + HEAD.len()..].trim_end_matches(':');
            dump.jvm = Some(jvm.to_owned());
            dump.time = is_time(before).then(|| before.to_owned());
            open = Some(Open {
                dump,
                thread: None,
                is_listed: false,
                deadlocks: deadlocks::Reported::default(),
            });
        } else if let Some(open) = &mut open
            && taken < MAX_THREADS
        {
            taken += usize::from(open.take(line, frames));
        }
        before = line;
    }
    found.extend(open.map(|open| open.close(frames)));
    found
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

/// Whether this is a line such as `2026-11-23 02:50:00`.
fn is_time(line: &str) -> bool {
    line.len() == 19
        && line
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b' '))
}

impl Open {
    /// Takes a line; true if a thread begins with it.
    fn take(&mut self, line: &str, frames: &mut Frames) -> bool {
        if self.deadlocks.take(line) {
            self.end_thread(frames);
            self.is_listed = true;
            return false;
        }
        if self.is_listed {
            return false;
        }
        if line.starts_with(END) {
            self.end_thread(frames);
            self.is_listed = true;
            return false;
        }
        if let Some(thread) = head(line, frames) {
            self.end_thread(frames);
            self.thread = Some(OpenThread {
                thread,
                frames: Vec::new(),
                is_owned: false,
            });
            return true;
        }
        if let Some(thread) = &mut self.thread {
            thread.take(line);
        }
        false
    }

    fn end_thread(&mut self, frames: &mut Frames) {
        if let Some(open) = self.thread.take() {
            self.dump.threads.push(open.close(frames));
        }
    }

    fn close(mut self, frames: &mut Frames) -> Dump {
        self.dump.is_cut = !self.is_listed;
        self.end_thread(frames);
        self.dump.deadlocks = self.deadlocks.finish();
        self.dump
    }
}

/// The first line of a thread.
fn head(line: &str, frames: &mut Frames) -> Option<Thread> {
    let (name, rest) = line.strip_prefix('"')?.rsplit_once('"')?;
    // Other lines of a program begin with a quote too.
    if !rest.contains(" tid=0x") && !rest.contains("nid=") {
        return None;
    }
    let mut thread = Thread::new(name, frames.stack([].into_iter()));
    thread.state = State::Vm;
    for word in rest.split_ascii_whitespace() {
        if let Some(id) = word.strip_prefix('#') {
            thread.id = id.parse().ok();
        } else if let Some(id) = word.strip_prefix("nid=") {
            // In hexadecimal before JDK 21.
            thread.os_id = match id.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => id.parse().ok(),
            };
        } else if let Some(cpu) = word.strip_prefix("cpu=") {
            thread.cpu_ms = millis(cpu);
        } else if let Some(elapsed) = word.strip_prefix("elapsed=") {
            thread.elapsed_ms = millis(elapsed);
        }
    }
    Some(thread)
}

/// `12.34ms` or `5.00s` in milliseconds.
fn millis(text: &str) -> Option<f64> {
    let (digits, scale) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1.0),
        None => (text.strip_suffix('s')?, 1000.0),
    };
    let value: f64 = digits.parse().ok()?;
    value.is_finite().then_some(value * scale)
}

impl OpenThread {
    fn take(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(frame) = line.strip_prefix("at ") {
            self.frames.push(frame.to_owned());
        } else if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
            let name = state.split(' ').next().unwrap_or_default();
            self.thread.state = State::of(name);
        } else if line.starts_with("Locked ownable synchronizers:") {
            self.is_owned = true;
        } else if let Some(what) = line.strip_prefix("- ") {
            self.take_lock(what);
        }
    }

    fn take_lock(&mut self, what: &str) {
        let waits = [
            ("waiting to lock ", WaitKind::Enter),
            ("waiting to re-lock in wait() ", WaitKind::Enter),
            ("parking to wait for ", WaitKind::Park),
            ("waiting on ", WaitKind::Notify),
        ];
        let thread = &mut self.thread;
        for (start, kind) in waits {
            if let Some(lock) = what.strip_prefix(start).and_then(lock) {
                thread.wait_for(lock, kind, None);
                return;
            }
        }
        let held = what.strip_prefix("locked ");
        if let Some(lock) = held.or(self.is_owned.then_some(what)).and_then(lock)
            && !thread.holds.contains(&lock)
        {
            thread.holds.push(lock);
        }
    }

    fn close(mut self, frames: &mut Frames) -> Thread {
        self.thread.stack = frames.stack(self.frames.iter().map(String::as_str));
        self.thread.give_back();
        self.thread
    }
}

/// A lock with its address: `<0x000000070ff0a1b8> (a java.lang.Object)`.
fn lock(text: &str) -> Option<Lock> {
    let (id, rest) = text.trim_start().strip_prefix('<')?.split_once('>')?;
    if !id.starts_with("0x") {
        return None;
    }
    let class = rest.trim().strip_prefix("(a ")?.strip_suffix(')')?;
    Some(Lock {
        id: id.to_owned(),
        class: class.to_owned(),
    })
}
