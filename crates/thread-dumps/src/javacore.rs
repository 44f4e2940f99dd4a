//! Javacores of OpenJ9 and of IBM's JVMs, whose lines begin with tags:
//!
//! ```text
//! 3XMTHREADINFO      "worker" J9VMThread:0x1F00, omrthread_t:0x7F3F, java/lang/Thread:0xFFF5, state:B, prio=5
//! 3XMJAVALTHREAD            (java/lang/Thread getId:0x21, isDaemon:true)
//! 3XMTHREADINFO1            (native thread ID:0x2B31, native priority:0x5, native policy:UNKNOWN, vmstate:B, ...)
//! 3XMCPUTIME               CPU usage total: 0.150353092 secs, current category="Application"
//! 3XMTHREADBLOCK     Blocked on: java/lang/Object@0xFFF6 Owned by: "other" (J9VMThread:0x2000, java/lang/Thread:0xFFF7)
//! 4XESTACKTRACE                at java/lang/Object.wait(Object.java:221(Compiled Code))
//! 5XESTACKTRACE                   (entered lock: java/lang/Object@0xFFF8, entry count: 1)
//! ```
//!
//! The tags are those of Eclipse OpenJ9's documentation ("Java dump") and of its `javadump.cpp`.

use rustc_hash::FxHashMap;

use crate::deadlocks::{Deadlock, Step};
use crate::frames::Frames;
use crate::model::{Dump, Lock, Source, State, Thread, WaitKind, dotted};

/// The threads of a file that are taken.
const MAX_THREADS: usize = 4_000_000;

/// A thread whose lines are coming.
struct Open {
    thread: Thread,
    frames: Vec<String>,
    /// Its address in the VM.
    address: u64,
    /// The address of the thread that holds what it waits for.
    owner: Option<u64>,
    /// It is one of the JVM, without an object in Java.
    is_of_vm: bool,
    /// The letters of its state.
    state: String,
}

/// A dump whose lines are coming.
struct Reader {
    dump: Dump,
    thread: Option<Open>,
    /// Addresses of threads, with their places in the list.
    places: FxHashMap<u64, usize>,
    /// Places of waiting threads, with the addresses of those that hold their locks.
    owners: Vec<(usize, u64)>,
    /// Deadlocks that the JVM has found, as far as they have come: thread, class of its lock.
    circle: Vec<(String, String)>,
}

/// True for a line of a javacore.
pub(crate) fn is_line(line: &str) -> bool {
    let tag = line.split(' ').next().unwrap_or_default();
    match tag {
        "0SECTION" => line.contains("TITLE") || line.contains("THREADS"),
        _ => matches!(tag, "1TISIGINFO" | "1XMCURTHDINFO" | "3XMTHREADINFO"),
    }
}

/// Reads all javacores of a text; none if it has no line of one.
pub(crate) fn dumps(text: &str, frames: &mut Frames) -> Vec<Dump> {
    let mut found = Vec::new();
    let mut open: Option<Reader> = None;
    let mut taken = 0;
    for line in text.lines() {
        // Tags have no spaces before them, but for quoted dumps in reports.
        let line = line.trim();
        let (tag, rest) = line.split_once(' ').unwrap_or((line, ""));
        if !tag.starts_with(|c: char| c.is_ascii_digit()) && tag != "NULL" {
            continue;
        }
        if tag == "0SECTION" && rest.contains("TITLE") {
            found.extend(open.take().map(|open| open.close(frames)));
        }
        if open.is_none() && !is_line(line) || taken >= MAX_THREADS {
            continue;
        }
        taken += usize::from(tag == "3XMTHREADINFO");
        let open = open.get_or_insert_with(Reader::new);
        open.take(tag, rest.trim_start(), frames);
    }
    found.extend(open.map(|open| open.close(frames)));
    found
}

impl Reader {
    fn new() -> Self {
        let mut dump = Dump::new(Source::Javacore);
        dump.is_cut = true;
        Self {
            dump,
            thread: None,
            places: FxHashMap::default(),
            owners: Vec::new(),
            circle: Vec::new(),
        }
    }

    fn take(&mut self, tag: &str, text: &str, frames: &mut Frames) {
        match tag {
            "1TIDATETIME" | "1TIDATETIMEUTC" => {
                let time = text.strip_prefix("Date:").map(str::trim);
                self.dump.time = time.map(|time| time.replacen(" at ", " ", 1));
            }
            "1CIJAVAVERSION" | "1XMJAVAVERSION" => self.dump.jvm = Some(text.to_owned()),
            "3XMTHREADINFO" | "3XMVTHDINFO" => {
                self.end_thread(frames);
                self.thread = head(text, tag == "3XMVTHDINFO", frames);
            }
            "NULL" => self.dump.is_cut &= !text.contains("END OF DUMP"),
            _ if tag.contains("LKDEADLOCK") => self.deadlock(tag, text),
            _ => {
                if let Some(thread) = &mut self.thread {
                    thread.take(tag, text);
                }
            }
        }
    }

    /// `1LKDEADLOCK`, then for each thread `2LKDEADLOCKTHR  Thread "left" (0x1F00)` and
    /// `4LKDEADLOCKOBJ  java/lang/Object@0xFFF6`; the first comes again at the end.
    fn deadlock(&mut self, tag: &str, text: &str) {
        match tag {
            "1LKDEADLOCK" => self.circle.clear(),
            "2LKDEADLOCKTHR" => {
                let name = text.strip_prefix("Thread \"");
                let Some((name, _)) = name.and_then(|name| name.rsplit_once('"')) else {
                    return;
                };
                if self.circle.first().is_some_and(|(first, _)| first == name) {
                    let circle = std::mem::take(&mut self.circle);
                    let owners = circle.iter().skip(1).chain(circle.first());
                    let steps = circle.iter().zip(owners).map(|((thread, lock), owner)| {
                        Step::new(thread.clone(), lock.clone(), owner.0.clone())
                    });
                    self.dump.deadlocks.push(Deadlock {
                        steps: steps.collect(),
                        is_reported: true,
                    });
                } else {
                    self.circle.push((name.to_owned(), String::new()));
                }
            }
            "4LKDEADLOCKOBJ" => {
                if let Some((_, lock)) = self.circle.last_mut() {
                    *lock = object(text).class;
                }
            }
            _ => {}
        }
    }

    fn end_thread(&mut self, frames: &mut Frames) {
        let Some(open) = self.thread.take() else {
            return;
        };
        // The current thread is also in the list of all.
        let place = self.dump.threads.len();
        if open.address != 0 && self.places.insert(open.address, place).is_some() {
            let known = self
                .dump
                .threads
                .iter()
                .rposition(|it| it.name == open.thread.name);
            self.places.insert(open.address, known.unwrap_or(place));
            return;
        }
        if let Some(owner) = open.owner {
            self.owners.push((place, owner));
        }
        self.dump.threads.push(open.close(frames));
    }

    fn close(mut self, frames: &mut Frames) -> Dump {
        self.end_thread(frames);
        for (place, owner) in &self.owners {
            let owner = self.places.get(owner);
            let id = owner.and_then(|owner| self.dump.threads.get(*owner)?.id);
            if let Some(thread) = self.dump.threads.get_mut(*place)
                && let Some(wait) = &mut thread.wait
            {
                wait.owner = id;
            }
        }
        self.dump
    }
}

/// The first line of a thread; none for native threads that Java does not know.
fn head(text: &str, is_virtual: bool, frames: &mut Frames) -> Option<Open> {
    let (name, rest) = text.strip_prefix('"')?.rsplit_once('"')?;
    let mut thread = Thread::new(name, frames.stack([].into_iter()));
    thread.is_virtual = is_virtual;
    // The forms of IBM's JVMs up to 6.
    let address = hex_after(rest, "J9VMThread:").or_else(|| hex_after(rest, "TID:"));
    let address = address.or_else(|| hex_after(rest, "J9VMContinuation:"));
    thread.os_id = hex_after(rest, "native ID:");
    let state = rest.split_once("state:").map_or("", |(_, state)| state);
    let state = state.split([',', ')']).next().unwrap_or_default();
    Some(Open {
        thread,
        frames: Vec::new(),
        address: address.unwrap_or(0),
        owner: None,
        is_of_vm: hex_after(rest, "java/lang/Thread:") == Some(0),
        state: state.to_owned(),
    })
}

impl Open {
    fn take(&mut self, tag: &str, text: &str) {
        let thread = &mut self.thread;
        match tag {
            "3XMJAVALTHREAD" => thread.id = hex_after(text, "getId:"),
            "3XMTHREADINFO1" => thread.os_id = hex_after(text, "native thread ID:"),
            "3XMVTHDINFO1" => thread.is_virtual = text.contains("Virtual"),
            "3XMCPUTIME" => {
                let total = text.strip_prefix("CPU usage total: ");
                let total = total.and_then(|total| total.split(' ').next()?.parse::<f64>().ok());
                thread.cpu_ms = total.filter(|it| it.is_finite()).map(|it| it * 1000.0);
            }
            "3XMTHREADBLOCK" => self.block(text),
            "4XESTACKTRACE" => {
                let frame = text.strip_prefix("at ").unwrap_or(text);
                let frame = frame.replacen("(Compiled Code)", "", 1);
                let (method, place) = frame.split_at(frame.find('(').unwrap_or(frame.len()));
                self.frames.push(dotted(method) + place);
            }
            "5XESTACKTRACE" => {
                let lock = text.strip_prefix("(entered lock: ").map(object);
                if let Some(lock) = lock.filter(|lock| !thread.holds.contains(lock)) {
                    thread.holds.push(lock);
                }
            }
            _ => {}
        }
    }

    /// `Blocked on: java/lang/Object@0xFFF6 Owned by: "other" (J9VMThread:0x2000, java/lang/Thread:0xFFF7)`.
    fn block(&mut self, text: &str) {
        let Some((how, rest)) = text.split_once(" on: ") else {
            return;
        };
        let (what, owner) = rest.split_once(" Owned by: ").unwrap_or((rest, ""));
        let kind = match how {
            "Blocked" => WaitKind::Enter,
            "Parked" => WaitKind::Park,
            _ => WaitKind::Notify,
        };
        if what.contains('@') {
            self.thread.wait_for(object(what), kind, None);
        }
        let owner = owner.rsplit_once('"').map_or("", |(_, owner)| owner);
        self.owner = hex_after(owner, "J9VMThread:");
    }

    fn close(mut self, frames: &mut Frames) -> Thread {
        let thread = &mut self.thread;
        thread.stack = frames.stack(self.frames.iter().map(String::as_str));
        let innermost = self.frames.first().map_or("", String::as_str);
        let waits = thread.wait.is_some() || innermost.starts_with("java.lang.Object.wait");
        thread.state = match &*self.state {
            _ if self.is_of_vm => State::Vm,
            "" => State::Unknown,
            "B" => State::Blocked,
            "P" => State::Waiting,
            "CW" if innermost.starts_with("java.lang.Thread.sleep") => State::TimedWaiting,
            "CW" if waits => State::Waiting,
            "Z" => State::Terminated,
            // Threads that the dump has stopped, and threads within system calls, are in CW too.
            "R" | "CW" | "S" => State::Runnable,
            _ => State::Unknown,
        };
        thread.give_back();
        self.thread
    }
}

/// `java/lang/Object@0x00000000FFE26A10`, also with `/0x...` or a comma after it.
fn object(text: &str) -> Lock {
    let text = text
        .trim()
        .split([',', ' ', ')'])
        .next()
        .unwrap_or_default();
    let (class, id) = text.split_once('@').unwrap_or((text, ""));
    Lock {
        id: id.split('/').next().unwrap_or_default().to_owned(),
        class: dotted(class),
    }
}

/// The number in hexadecimal after a label.
fn hex_after(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    let digits = rest.trim_start().strip_prefix("0x")?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit());
    u64::from_str_radix(&digits[..end.unwrap_or(digits.len())], 16).ok()
}
