//! A JVM's threads, locks and deadlocks now, from the thread dump that HotSpot prints with `-l`
//! (`thread.cpp`, `vframe.cpp`, `threadService.cpp`):
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
//! JDK 11 and 17 print `nid` in hexadecimal, later ones in decimal. Names are the program's own
//! text: a name with a line feed in it ends its line, and what follows is passed over.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

/// The threads that are taken.
const MAX_THREADS: usize = 20_000;
/// The frames of a thread that are taken; a JVM prints 1024 by itself.
const MAX_FRAMES: usize = 2048;

/// A lock that a thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct WaitsFor {
    /// Class and address.
    pub lock: String,
    /// The name of the thread that holds it, where that is known.
    pub owner: Option<String>,
}

/// A Java thread.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LiveThread {
    /// Its name.
    pub name: String,
    /// Its state: `RUNNABLE`, `BLOCKED`, `WAITING`, `TIMED_WAITING` ...
    pub state: String,
    /// Its number for the operating system.
    pub os_id: Option<u64>,
    /// CPU time so far, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// Its frames, innermost first.
    pub frames: Vec<String>,
    /// The lock that it waits for.
    pub waits_for: Option<WaitsFor>,
    /// The locks that it holds: class and address.
    pub holds: Vec<String>,
}

/// Threads that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Deadlock {
    /// Who waits for whom, in words.
    pub sentence: String,
    /// The names of the threads.
    pub threads: Vec<String>,
}

/// The contents of a thread dump.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct ThreadDump {
    /// Java threads in the order of the JVM.
    pub threads: Vec<LiveThread>,
    /// Deadlocks that the JVM has found.
    pub deadlocks: Vec<Deadlock>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// Reads a thread dump; lines of other forms are passed over.
pub fn thread_dump(text: &str) -> ThreadDump {
    let (threads, deadlocks) = match text.split_once("\nFound ") {
        Some((threads, deadlocks)) if deadlocks.contains("Java-level deadlock") => {
            (threads, deadlocks)
        }
        _ => (text, ""),
    };
    let mut dump = ThreadDump::default();
    let mut all: Vec<(LiveThread, Option<String>)> = Vec::new();
    let (mut of_vm, mut left_out) = (0, 0);
    for block in blocks(threads) {
        match java_thread(&block) {
            Some(_) if all.len() >= MAX_THREADS => left_out += 1,
            Some(thread) => all.push(thread),
            None => of_vm += 1,
        }
    }
    let mut owners: HashMap<String, String> = HashMap::new();
    for (thread, _) in &all {
        for lock in &thread.holds {
            owners.insert(address(lock).to_owned(), thread.name.clone());
        }
    }
    dump.threads = all
        .into_iter()
        .map(|(mut thread, waits)| {
            thread.waits_for = waits.map(|lock| WaitsFor {
                owner: owners.get(address(&lock)).cloned(),
                lock,
            });
            thread
        })
        .collect();
    dump.deadlocks = found_deadlocks(deadlocks);
    if of_vm > 0 {
        dump.notes
            .push(format!("{of_vm} threads of the JVM itself are not listed"));
    }
    if left_out > 0 {
        dump.notes.push(format!(
            "{left_out} more threads are not listed: {MAX_THREADS} are taken"
        ));
    }
    dump
}

/// The lines of each thread: from a line that begins with a quote up to the next.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        if line.starts_with('"') {
            blocks.push(vec![line]);
        } else if let Some(block) = blocks.last_mut() {
            block.push(line);
        }
    }
    blocks
}

/// A Java thread with the lock that it waits for; none for threads of the JVM, which have no state.
fn java_thread(block: &[&str]) -> Option<(LiveThread, Option<String>)> {
    let head = block.first()?;
    let (name, rest) = head.strip_prefix('"')?.rsplit_once('"')?;
    let state = block
        .iter()
        .find_map(|line| line.trim_start().strip_prefix("java.lang.Thread.State: "))?;
    let field = |key: &str| {
        let words = rest.split_ascii_whitespace();
        words.filter_map(|word| word.strip_prefix(key)).next()
    };
    let os_id = field("nid=").and_then(|text| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    });
    let cpu = field("cpu=").and_then(|text| text.strip_suffix("ms")?.parse::<f64>().ok());
    let mut thread = LiveThread {
        name: name.to_owned(),
        state: state.split(' ').next().unwrap_or_default().to_owned(),
        os_id,
        cpu_ms: cpu.filter(|cpu| cpu.is_finite()),
        frames: Vec::new(),
        waits_for: None,
        holds: Vec::new(),
    };
    let mut waits = None;
    let mut is_owned = false;
    for line in block.iter().skip(1).map(|line| line.trim_start()) {
        if let Some(frame) = line.strip_prefix("at ") {
            if thread.frames.len() < MAX_FRAMES {
                thread.frames.push(frame.to_owned());
            }
        } else if line.starts_with("Locked ownable synchronizers:") {
            is_owned = true;
        } else if let Some(what) = line.strip_prefix("- ") {
            let held = what.strip_prefix("locked ");
            let wanted = [
                "waiting to lock ",
                "waiting to re-lock in wait() ",
                "parking to wait for ",
                "waiting on ",
            ];
            let wanted = wanted.iter().find_map(|start| what.strip_prefix(start));
            if let Some(lock) = held.or(is_owned.then_some(what)).and_then(lock) {
                thread.holds.push(lock);
            } else if let Some(lock) = wanted.and_then(lock) {
                waits.get_or_insert(lock);
            }
        }
    }
    // Whoever waits in Object.wait has given the monitor back, and its frames list it all the same.
    if let Some(lock) = &waits {
        thread.holds.retain(|held| held != lock);
    }
    Some((thread, waits))
}

/// Class and address of a lock: `<0x000000070ff0a1b8> (a java.lang.Object)`.
fn lock(text: &str) -> Option<String> {
    let (address, rest) = text.trim_start().strip_prefix('<')?.split_once('>')?;
    let class = rest.trim().strip_prefix("(a ")?.strip_suffix(')')?;
    Some(format!("{class} {address}"))
}

fn address(lock: &str) -> &str {
    lock.rsplit(' ').next().unwrap_or(lock)
}

/// The deadlocks at the end of a dump: who waits for what, which is held by whom.
fn found_deadlocks(text: &str) -> Vec<Deadlock> {
    let mut found = Vec::new();
    let mut open: Option<Deadlock> = None;
    let mut waits: Option<String> = None;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("====") {
            // A cycle begins, or the stacks of its threads, which the list of threads has.
            found.extend(open.take().filter(|it| !it.threads.is_empty()));
            open = Some(Deadlock {
                sentence: String::new(),
                threads: Vec::new(),
            });
        } else if line.starts_with("Java stack information") {
            found.extend(open.take().filter(|it| !it.threads.is_empty()));
            waits = None;
        } else if let Some(deadlock) = &mut open {
            let quoted = |text: &str| Some(text.strip_prefix('"')?.rsplit_once('"')?.0.to_owned());
            if let Some(name) = line.strip_suffix(':').and_then(quoted) {
                deadlock.threads.push(name);
            } else if line.starts_with("waiting ") {
                let class = line.rsplit_once("(a ").or_else(|| line.rsplit_once(", a "));
                waits = class.map(|(_, class)| class.trim_end_matches([',', ')']).to_owned());
            } else if let Some(owner) = line
                .strip_prefix("which is held by ")
                .or_else(|| line.strip_prefix("in JNI, which is held by "))
                && let (Some(owner), Some(name)) = (quoted(owner), deadlock.threads.last())
            {
                if !deadlock.sentence.is_empty() {
                    deadlock.sentence.push_str("; ");
                }
                let class = waits.take().unwrap_or_else(|| "a lock".to_owned());
                deadlock.sentence.push_str(&format!(
                    "\"{name}\" waits for {class}, which \"{owner}\" holds"
                ));
            }
        }
    }
    // The stacks of the threads are not a deadlock of their own.
    found.extend(open.filter(|it| !it.sentence.is_empty()));
    found.retain(|it| !it.sentence.is_empty());
    found
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
