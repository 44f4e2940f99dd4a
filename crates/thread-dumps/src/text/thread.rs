//! The lines of a thread below the first.

use super::head::Head;
use crate::frames::Frames;
use crate::model::{Lock, Source, State, Thread, WaitKind, dotted};

/// A thread whose lines are coming.
pub(super) struct OpenThread {
    thread: Thread,
    source: Source,
    frames: Vec<String>,
    /// The lines are on the locks that are no monitors.
    is_owned: bool,
    /// No line says where the list ends: what follows an empty or other line is no frame.
    is_open_ended: bool,
    /// Its frames have ended.
    is_whole: bool,
    /// The last lock that the innermost frame is said to hold.
    innermost_lock: Option<Lock>,
}

/// The beginnings of lines on a lock that a thread waits for.
const WAITS: [(&str, WaitKind); 4] = [
    ("waiting to lock ", WaitKind::Enter),
    ("waiting to re-lock in wait() ", WaitKind::Enter),
    ("parking to wait for ", WaitKind::Park),
    ("waiting on ", WaitKind::Notify),
];

impl OpenThread {
    pub fn new(head: Head, is_open_ended: bool) -> Self {
        Self {
            thread: head.thread,
            source: head.source,
            frames: Vec::new(),
            is_owned: false,
            is_open_ended,
            is_whole: false,
            innermost_lock: None,
        }
    }

    /// True if nothing but this number for the operating system is known.
    pub fn is_only_numbered(&self, os_id: Option<u64>) -> bool {
        self.source == Source::Agent && self.frames.is_empty() && self.thread.os_id == os_id
    }

    /// Takes a line; the form of the dump, if the line shows that.
    pub fn take(&mut self, line: &str) -> Option<Source> {
        let text = line.trim();
        if text.is_empty() {
            self.is_whole |= self.is_open_ended && !self.frames.is_empty();
        } else if let Some(frame) = text.strip_prefix("at ") {
            if !self.is_whole {
                self.frames.push(frame.to_owned());
            }
        } else if let Some(state) = text.strip_prefix("java.lang.Thread.State: ") {
            let name = state.split(' ').next().unwrap_or_default();
            self.thread.state = State::of(name);
        } else if text.starts_with("JavaThread state: ") {
            self.source = Source::Agent;
            return Some(Source::Agent);
        } else if text.starts_with("Locked ownable synchronizers:")
            || text.starts_with("Locked synchronizers:")
            || text.starts_with("Number of locked synchronizers")
        {
            self.is_owned = true;
        } else if let Some(frame) = agent_frame(text) {
            self.frames.push(frame);
            self.source = Source::Agent;
            return Some(Source::Agent);
        } else if let Some(what) = text.strip_prefix("- ") {
            self.take_lock(what.trim_start());
        } else if text == "..." && self.source == Source::ThreadInfo && !self.is_whole {
            // It prints eight frames.
            self.frames.push(text.to_owned());
        } else if let Some((_, lock)) = text.split_once(" to release lock on ") {
            self.wait(lock, WaitKind::Enter);
        } else {
            self.is_whole |= self.is_open_ended && !line.starts_with([' ', '\t']);
        }
        None
    }

    fn take_lock(&mut self, what: &str) {
        if self.source == Source::ThreadInfo {
            return self.take_object(what);
        }
        for (start, kind) in WAITS {
            if let Some(lock) = what.strip_prefix(start) {
                self.wait(lock, kind);
                return;
            }
        }
        let held = what.strip_prefix("locked ");
        let held = held.or_else(|| what.strip_prefix("Locked "));
        let held = held.or(self.is_owned.then_some(what));
        if let Some((lock, _)) = held.and_then(lock) {
            if self.frames.len() == 1 && !self.is_owned {
                self.innermost_lock = Some(lock.clone());
            }
            self.hold(lock);
        }
    }

    /// `locked java.lang.Object@1f`; the first line has the lock that the thread waits for.
    fn take_object(&mut self, what: &str) {
        let held = what.strip_prefix("locked ");
        if let Some(object) = held.or(self.is_owned.then_some(what))
            && object.contains('@')
        {
            self.hold(Lock::of_object(object));
        }
    }

    fn wait(&mut self, text: &str, kind: WaitKind) {
        if let Some((lock, owner)) = lock(text) {
            self.thread.wait_for(lock, kind, owner);
        }
    }

    fn hold(&mut self, lock: Lock) {
        if !self.thread.holds.contains(&lock) {
            self.thread.holds.push(lock);
        }
    }

    pub fn close(mut self, frames: &mut Frames) -> Thread {
        let thread = &mut self.thread;
        thread.stack = frames.stack(self.frames.iter().map(String::as_str));
        let innermost = self.frames.first().map_or("", String::as_str);
        match self.source {
            Source::ThreadInfo => thread.wait_as_frames_show(innermost),
            Source::Agent => {
                if thread.state == State::Unknown {
                    let caller = self.frames.get(1).map_or("", String::as_str);
                    thread.state = state_of(innermost, caller);
                }
                // Up to JDK 17 it prints that such a thread has locked what it waits for.
                if thread.state == State::Blocked
                    && thread.wait.is_none()
                    && let Some(lock) = self.innermost_lock.take()
                {
                    thread.holds.retain(|held| *held != lock);
                    thread.wait_for(lock, WaitKind::Enter, None);
                }
            }
            _ => {}
        }
        thread.give_back();
        self.thread
    }
}

/// The state of a thread that is blocked in the VM, by its innermost frames. `jstack -F` of JDK 8 prints no other.
fn state_of(innermost: &str, caller: &str) -> State {
    let is = |frame: &str, method: &str| frame.starts_with(method);
    if innermost.is_empty() {
        State::Unknown
    } else if is(innermost, "java.lang.Thread.sleep") {
        State::TimedWaiting
    } else if is(innermost, "java.lang.Object.wait") {
        match is(caller, "java.lang.Object.wait()") {
            true => State::Waiting,
            false => State::TimedWaiting,
        }
    } else if innermost.contains("Unsafe.park(") {
        match is(caller, "java.util.concurrent.locks.LockSupport.park(") {
            true => State::Waiting,
            false => State::TimedWaiting,
        }
    } else {
        State::Blocked
    }
}

/// A frame of the serviceability agent: `- java.lang.Thread.sleep(long) @bci=25, line=540 (Interpreted frame)`, with
/// native frames between them `0x00007f5c3c0a4e2d * java.lang.Thread.sleep(long) bci:25 line:540 (Interpreted frame)`
/// and `0x00007f5c3c0a4e2d __pthread_cond_wait + 0xcc`.
fn agent_frame(text: &str) -> Option<String> {
    if let Some(frame) = text.strip_prefix("- ") {
        let (method, rest) = frame.split_once(" @bci=")?;
        return Some(with_line(method, rest, "line="));
    }
    let (address, frame) = text.strip_prefix("0x")?.split_once(['\t', ' '])?;
    let is_address = address.len() >= 8 && address.bytes().all(|it| it.is_ascii_hexdigit());
    let frame = is_address.then(|| frame.trim_start())?;
    match frame.strip_prefix("* ") {
        Some(java) => {
            let (method, rest) = java.split_once(" bci:").unwrap_or((java, ""));
            Some(with_line(method, rest, "line:"))
        }
        None => Some(frame.to_owned()),
    }
}

/// The method with its line. Where in its code a thread is makes no other stack, nor does how it was compiled.
fn with_line(method: &str, rest: &str, label: &str) -> String {
    let line = rest.split_once(label).map(|(_, line)| line);
    let line = line.and_then(|it| it.split(|c: char| !c.is_ascii_digit()).next());
    match line.filter(|digits| !digits.is_empty()) {
        Some(line) => format!("{method}, line {line}"),
        None => method.to_owned(),
    }
}

/// A lock with its address or hash, and the number of the thread that holds it:
/// `<0x000000070ff0a1b8> (a java.lang.Object)`, `<1a2b3c4d> (a java.lang.Object) owned by "right" t@12`.
fn lock(text: &str) -> Option<(Lock, Option<u64>)> {
    let (id, rest) = text.trim_start().strip_prefix('<')?.split_once('>')?;
    let digits = id.strip_prefix("0x").unwrap_or(id);
    if digits.is_empty() || !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    let rest = rest.trim_start_matches([',', ' ']).strip_prefix("(a ")?;
    let (class, rest) = rest.split_once(')')?;
    let owner = rest.trim_start().strip_prefix("owned by \"");
    let owner = owner.and_then(|owner| owner.rsplit_once("\" t@")?.1.trim_end().parse().ok());
    let lock = Lock {
        id: id.to_owned(),
        class: dotted(class),
    };
    Some((lock, owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_have_a_class_and_may_have_an_owner() {
        let found = lock("<1a2b> (a java.lang.Object) owned by \"the \"right\" one\" t@12");
        let (found, owner) = found.unwrap();
        assert_eq!((&*found.id, &*found.class), ("1a2b", "java.lang.Object"));
        assert_eq!(owner, Some(12));
        let (found, owner) = lock("<0x1f>, (a java/util/concurrent/locks/A$B)").unwrap();
        assert_eq!(found.class, "java.util.concurrent.locks.A$B");
        assert_eq!(owner, None);
        for other in ["<owner is scalar replaced> (a A)", "<> (a A)", "<0x1>", ""] {
            assert!(lock(other).is_none(), "{other}");
        }
    }

    #[test]
    fn frames_of_the_agent_have_a_method_and_a_line() {
        for (text, frame) in [
            (
                "- A.b(long) @bci=0 (Compiled frame; information may be imprecise)",
                Some("A.b(long)"),
            ),
            (
                "- A.b() @bci=33, line=509 (Interpreted frame)",
                Some("A.b(), line 509"),
            ),
            (
                "0x00007f5c3c0a4e2d\t__pthread_cond_wait + 0xcc",
                Some("__pthread_cond_wait + 0xcc"),
            ),
            (
                "0x00007f5c3c0a4e2d * A.b() bci:5 line:7 (Interpreted frame)",
                Some("A.b(), line 7"),
            ),
            ("- locked <0x1> (a A)", None),
            ("0x1 b", None),
        ] {
            assert_eq!(agent_frame(text).as_deref(), frame, "{text}");
        }
    }
}
