//! The first lines of threads:
//!
//! ```text
//! "main" #1 prio=5 os_prio=0 cpu=1.50ms elapsed=2.00s tid=0x1 nid=17 runnable [0x2]     HotSpot; jhsdb jstack
//! "main" - Thread t@1                                                                   VisualVM, Spring Boot
//! "main" prio=5 Id=1 BLOCKED on java.lang.Object@1f owned by "other" Id=9 (in native)   ThreadInfo.toString()
//! Thread 4711: (state = BLOCKED)                                                        jstack -F of JDK 8
//! ----------------- 4711 -----------------                                              jhsdb jstack --mixed
//! ```

use crate::frames::StackId;
use crate::model::{Lock, Source, State, Thread, WaitKind};

/// Quotes of a line that may end a name, as far as they are looked at.
const MAX_QUOTES: usize = 16;

/// A thread begins.
#[derive(Debug)]
pub(super) struct Head {
    /// The form of the dump.
    pub source: Source,
    /// The thread, without frames.
    pub thread: Thread,
}

/// Reads the first line of a thread, whose stack is `empty` as yet. Within a dump that a line announces, less of HotSpot's head is enough.
pub(super) fn of(line: &str, is_within_dump: bool, empty: StackId) -> Option<Head> {
    let (source, thread) = if line.starts_with('"') {
        let hotspot = hotspot(line, is_within_dump, empty).map(|it| (Source::Text, it));
        let jmx = || Some((Source::Jmx, jmx(line, empty)?));
        let info = || Some((Source::ThreadInfo, thread_info(line, empty)?));
        hotspot.or_else(jmx).or_else(info)?
    } else if line.starts_with("Thread ") || line.starts_with("-----") {
        (Source::Agent, agent(line, empty)?)
    } else if line.contains(" Id=") && line.contains('"') {
        // Programs write it into their logs, with a prefix.
        (Source::ThreadInfo, thread_info(line, empty)?)
    } else {
        return None;
    };
    Some(Head { source, thread })
}

fn hotspot(line: &str, is_within_dump: bool, empty: StackId) -> Option<Thread> {
    let (name, rest) = line.strip_prefix('"')?.rsplit_once('"')?;
    // Other lines of a program begin with a quote too.
    let has = |what: &str| rest.contains(what);
    // Tools print the address as a decimal number.
    let is_whole = has(" tid=") && has(" nid=");
    if !(is_whole || is_within_dump && (has(" tid=0x") || has(" nid="))) {
        return None;
    }
    let mut thread = Thread::new(name, empty);
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

fn jmx(line: &str, empty: StackId) -> Option<Thread> {
    let (name, id) = line.strip_prefix('"')?.rsplit_once("\" - Thread t@")?;
    let mut thread = Thread::new(name, empty);
    thread.id = Some(id.trim_end().parse().ok()?);
    Some(thread)
}

fn thread_info(line: &str, empty: StackId) -> Option<Thread> {
    let rest = &line[line.find('"')? + 1..];
    let mut quotes = rest.match_indices("\" ").take(MAX_QUOTES);
    let (name, (id, state, rest)) =
        quotes.find_map(|(at, _)| Some((&rest[..at], numbered(&rest[at + 2..])?)))?;
    let mut thread = Thread::new(name, empty);
    thread.id = Some(id);
    thread.state = state;
    if let Some(rest) = rest.strip_prefix("on ") {
        let (lock, owner) = match rest.split_once(" owned by \"") {
            Some((lock, owner)) => {
                let digits = owner.rsplit_once("\" Id=").map(|(_, after)| after);
                let digits = digits.and_then(|it| it.split(' ').next());
                (lock, digits.and_then(|it| it.parse().ok()))
            }
            None => (rest.split(" (").next().unwrap_or_default(), None),
        };
        // The frames show how it waits, where there are some.
        let kind = match state {
            State::Blocked => WaitKind::Enter,
            _ if owner.is_some() => WaitKind::Park,
            _ => WaitKind::Notify,
        };
        thread.wait_for(Lock::of_object(lock.trim_end()), kind, owner);
    }
    Some(thread)
}

/// Number, state and rest of `daemon prio=5 Id=13 BLOCKED on ...`; tools put other figures before the state.
fn numbered(text: &str) -> Option<(u64, State, &str)> {
    let mut id = None;
    let mut rest = text;
    loop {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        if let Some(number) = word.strip_prefix("Id=") {
            id = Some(number.parse().ok()?);
        } else if let (Some(id), state) = (id, State::of(word))
            && state != State::Unknown
        {
            return Some((id, state, rest));
        } else if word != "daemon" && !word.contains('=') {
            return None;
        }
    }
}

fn agent(line: &str, empty: StackId) -> Option<Thread> {
    let (number, state) = match line.strip_prefix("Thread ") {
        Some(rest) => rest
            .trim_end()
            .strip_suffix(')')?
            .split_once(": (state = ")?,
        None => (line.trim_matches(['-', ' ']), ""),
    };
    let number: u64 = number.parse().ok()?;
    let mut thread = Thread::new(&format!("Thread {number}"), empty);
    thread.os_id = Some(number);
    // States of the VM (`JavaThreadState`): one that is blocked there sleeps or waits, by its frames.
    thread.state = match state {
        "" => State::Vm,
        "NEW" | "NEW_TRANS" => State::New,
        state if state.starts_with("IN_") => State::Runnable,
        _ => State::Unknown,
    };
    Some(thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Frames;

    fn head(line: &str) -> Option<(Source, String, Option<u64>, State)> {
        let head = of(line, false, Frames::default().stack([].into_iter()))?;
        let thread = head.thread;
        Some((
            head.source,
            thread.name,
            thread.id.or(thread.os_id),
            thread.state,
        ))
    }

    #[test]
    fn threads_begin_in_the_forms_of_all_tools() {
        for (line, source, name, id, state) in [
            (
                "\"a \"b\"\" #7 prio=5 tid=0x1 nid=0x9 runnable",
                Source::Text,
                "a \"b\"",
                7,
                State::Vm,
            ),
            (
                "\"http-1\" daemon prio=10 tid=1524264960 nid=17771",
                Source::Text,
                "http-1",
                17_771,
                State::Vm,
            ),
            (
                "\"a - Thread t@1\" - Thread t@332",
                Source::Jmx,
                "a - Thread t@1",
                332,
                State::Unknown,
            ),
            (
                "\"main\" Id=1 RUNNABLE",
                Source::ThreadInfo,
                "main",
                1,
                State::Runnable,
            ),
            (
                "2026-01-01 INFO [x] \"w \"q\" 1\" daemon prio=5 Id=13 BLOCKED on java.lang.Object@3 owned by \"main\" Id=1",
                Source::ThreadInfo,
                "w \"q\" 1",
                13,
                State::Blocked,
            ),
            (
                "\"main\" Id=1 cpuUsage=0.0% deltaTime=0ms time=113ms TIMED_WAITING",
                Source::ThreadInfo,
                "main",
                1,
                State::TimedWaiting,
            ),
            (
                "Thread 4711: (state = IN_NATIVE)",
                Source::Agent,
                "Thread 4711",
                4711,
                State::Runnable,
            ),
            (
                "----------------- 17 -----------------",
                Source::Agent,
                "Thread 17",
                17,
                State::Vm,
            ),
        ] {
            let expected = Some((source, name.to_owned(), Some(id), state));
            assert_eq!(head(line), expected, "{line}");
        }
        for other in [
            "\"left\":",
            "\"text\" with nid=3",
            "\"x\" - Thread t@",
            "the \"user\" Id=5 logged in",
            "\"x\" Id=5 waits",
            "Thread 5: (state = ",
            "Thread pool: (state = BLOCKED)",
            "-----",
            "---------- 1 of 2 ----------",
        ] {
            assert_eq!(head(other), None, "{other}");
        }
    }
}
