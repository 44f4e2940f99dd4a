//! The `MONITOR DUMP`s of HPROF's text profiles: threads with traces and states, and the monitors between them.

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{Line, ThreadState, ThreadStatus};
use hprof_format::text::{TextFrame, TextItem, TextMonitor, TextMonitorDump, TextReader};
use hprof_java_names::source_form;
use rustc_hash::FxHashMap;

use crate::frames::Frames;
use crate::model::{Dump, Lock, Source, State, Thread, WaitKind};

/// The first words of a profile in text.
const HEAD: &str = "JAVA PROFILE ";
/// The line with which a dump begins.
const BEGIN: &str = "MONITOR DUMP BEGIN";

/// Returns whether a text is a profile with a dump of monitors.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.starts_with(HEAD) && text.lines().any(|line| line == BEGIN)
}

/// The dumps of a profile in their order.
pub(crate) fn dumps(text: &str, frames: &mut Frames) -> Vec<Dump> {
    let mut names: FxHashMap<ThreadSerial, String> = FxHashMap::default();
    let mut traces: FxHashMap<TraceSerial, Vec<String>> = FxHashMap::default();
    let mut found = Vec::new();
    for item in TextReader::new(text) {
        match item {
            TextItem::ThreadStart(thread) => {
                names.insert(thread.serial, thread.name.into_owned());
            }
            TextItem::Trace(trace) => {
                traces.insert(trace.serial, trace.frames.iter().map(shown).collect());
            }
            TextItem::MonitorDump(dump) => found.push(made(&dump, &names, &traces, frames)),
            _ => {}
        }
    }
    found
}

fn made(
    dump: &TextMonitorDump<'_>,
    names: &FxHashMap<ThreadSerial, String>,
    traces: &FxHashMap<TraceSerial, Vec<String>>,
    frames: &mut Frames,
) -> Dump {
    let mut made = Dump::new(Source::Hprof);
    made.is_cut = !dump.is_complete;
    let mut places = FxHashMap::default();
    for thread in &dump.threads {
        let stack = traces
            .get(&thread.trace)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let stack = frames.stack(stack.iter().map(String::as_str));
        let name = names.get(&thread.serial).cloned();
        let name = name.unwrap_or_else(|| format!("thread {}", thread.serial));
        let state = thread
            .status
            .parse()
            .map_or(State::Unknown, |status: ThreadStatus| state(status.state));
        places.insert(thread.serial, made.threads.len());
        made.threads.push(Thread {
            id: Some(u64::from(thread.serial.get())),
            state,
            ..Thread::new(&name, stack)
        });
    }
    for (number, monitor) in (1..).zip(&dump.monitors) {
        tell(monitor, number, &places, &mut made.threads);
    }
    made
}

/// Says of a monitor which threads hold it and wait for it.
fn tell(
    monitor: &TextMonitor<'_>,
    number: usize,
    places: &FxHashMap<ThreadSerial, usize>,
    threads: &mut [Thread],
) {
    // The dump has no addresses of objects.
    let lock = Lock {
        id: format!("monitor {number}"),
        class: class_of(&monitor.signature),
    };
    let owner = monitor.owner.map(|(owner, _)| owner);
    let mut with = |serial: &ThreadSerial, change: &dyn Fn(&mut Thread)| {
        if let Some(thread) = places.get(serial).and_then(|&at| threads.get_mut(at)) {
            change(thread);
        }
    };
    if let Some(owner) = owner {
        with(&owner, &|thread| thread.holds.push(lock.clone()));
    }
    let number = owner.map(|owner| u64::from(owner.get()));
    for (waiting, kind) in [
        (&monitor.entering, WaitKind::Enter),
        (&monitor.waiting, WaitKind::Notify),
    ] {
        for serial in waiting {
            with(serial, &|thread| {
                thread.wait_for(lock.clone(), kind, number)
            });
        }
    }
}

/// The class of a signature, `Lacme/Orders;` or `[I`.
fn class_of(signature: &str) -> String {
    let name = signature
        .strip_prefix('L')
        .and_then(|name| name.strip_suffix(';'));
    source_form(name.unwrap_or(signature))
}

fn state(state: ThreadState) -> State {
    match state {
        ThreadState::Runnable => State::Runnable,
        ThreadState::BlockedOnMonitor => State::Blocked,
        ThreadState::Waiting => State::Waiting,
        ThreadState::Sleeping => State::TimedWaiting,
        ThreadState::NotStarted => State::New,
        ThreadState::Terminated => State::Terminated,
        ThreadState::Unknown => State::Unknown,
    }
}

/// A frame as thread dumps have it.
fn shown(frame: &TextFrame<'_>) -> String {
    let name = format!("{}.{}", frame.name.class_name, frame.name.method);
    let place = match (frame.source_file.as_deref(), frame.line) {
        (_, Line::Native) => "Native Method".to_owned(),
        (Some(file), Line::Number(line)) => format!("{file}:{line}"),
        (Some(file), Line::Unknown) => file.to_owned(),
        (None, _) => "Unknown Source".to_owned(),
    };
    format!("{name}({place})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, read};

    const PROFILE: &str = "JAVA PROFILE 1.0.1, created Sat Nov 28 20:37:15 2026\n\n\
        THREAD START (obj=50000039, id = 200001, name=\"main\", group=\"main\")\n\
        THREAD START (obj=50000040, id = 200002, name=\"worker\", group=\"main\")\n\
        THREAD START (obj=50000041, id = 200003, name=\"waiter\", group=\"main\")\n\
        TRACE 300001:\n\
        \tacme.Orders.lock(Orders.java:7)\n\
        \tacme.Main.main(Main.java:3)\n\
        TRACE 300002:\n\
        \tjava.lang.Object.wait(Object.java:Native method)\n\
        MONITOR DUMP BEGIN\n\
        \u{20}   THREAD 200001, trace 300001, status: MW\n\
        \u{20}   THREAD 200002, trace 300001, status: native|MW\n\
        \u{20}   THREAD 200003, trace 300002, status: CW\n\
        \u{20}   MONITOR Lacme/Orders;\n\
        \towner: thread 200002, entry count: 1\n\
        \twaiting to enter: thread 200001\n\
        \twaiting to be notified: thread 200003\n\
        \u{20}   MONITOR Lacme/Stock;\n\
        \towner: thread 200001, entry count: 1\n\
        \twaiting to enter: thread 200002\n\
        \twaiting to be notified:\n\
        MONITOR DUMP END\n";

    #[test]
    fn monitors_of_a_profile_show_who_holds_what() {
        let dumps = read(PROFILE.as_bytes()).unwrap();
        let [dump] = &dumps.dumps[..] else {
            panic!("{:?}", dumps.dumps)
        };
        assert_eq!((dump.source, dump.is_cut), (Source::Hprof, false));
        let states: Vec<State> = dump.threads.iter().map(|thread| thread.state).collect();
        assert_eq!(states, [State::Blocked, State::Blocked, State::Waiting]);
        let waiter = dump.threads[2].wait.as_ref().unwrap();
        assert_eq!(
            (waiter.kind, &*waiter.lock.class),
            (WaitKind::Notify, "acme.Orders")
        );
        let report = Report::of(&dumps);
        let [deadlock] = &report.deadlocks[..] else {
            panic!("{:?}", report.deadlocks)
        };
        let steps: Vec<(&str, &str, &str)> = (deadlock.steps.iter())
            .map(|step| (&*step.thread, &*step.lock, &*step.owner))
            .collect();
        assert_eq!(
            steps,
            [
                ("main", "acme.Orders", "worker"),
                ("worker", "acme.Stock", "main")
            ]
        );
        assert_eq!(
            deadlock.steps[0].frames[0],
            "acme.Orders.lock(Orders.java:7)"
        );
    }

    #[test]
    fn a_dump_that_ends_in_the_middle_says_so() {
        let cut = PROFILE.replace("MONITOR DUMP END\n", "");
        assert!(read(cut.as_bytes()).unwrap().dumps[0].is_cut);
        let none = PROFILE.replace("MONITOR DUMP BEGIN\n", "");
        assert!(read(none.as_bytes()).is_err());
    }
}
