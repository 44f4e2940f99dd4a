//! Thread dumps of all releases: those of JDK 11 to 25 come from JVMs, that of JDK 8 from its documentation.

use std::collections::BTreeMap;

use hprof_thread_dumps::{Dumps, NoDump, Report, Source, State, WaitKind, read};

/// Dumps of `java-test-harness/java/Deadlock.java`.
const DEADLOCKS: [(u32, &str); 4] = [
    (
        11,
        include_str!("../../server/tests/data/threads-jdk11.txt"),
    ),
    (
        17,
        include_str!("../../server/tests/data/threads-jdk17.txt"),
    ),
    (
        21,
        include_str!("../../server/tests/data/threads-jdk21.txt"),
    ),
    (
        25,
        include_str!("../../server/tests/data/threads-jdk25.txt"),
    ),
];
const JDK8: &str = include_str!("data/jdk8-in-log.txt");
/// A program with five virtual threads that wait for a lock, and one without a container.
const JSON: [(u32, &str); 2] = [
    (21, include_str!("data/jdk21.json")),
    (25, include_str!("data/jdk25.json")),
];
const PLAIN: [(u32, &str); 2] = [
    (21, include_str!("data/jdk21-plain.txt")),
    (25, include_str!("data/jdk25-plain.txt")),
];

fn report(file: &str) -> Report {
    Report::of(&read(file.as_bytes()).unwrap())
}

/// The names of the threads of each deadlock, sorted.
fn circles(report: &Report) -> Vec<Vec<&str>> {
    let deadlocks = report.deadlocks.iter();
    let mut circles: Vec<Vec<&str>> = deadlocks
        .map(|deadlock| {
            let mut names: Vec<&str> = deadlock.steps.iter().map(|step| &*step.thread).collect();
            names.sort_unstable();
            names
        })
        .collect();
    circles.sort_unstable();
    circles
}

const CIRCLES: [[&str; 2]; 3] = [
    ["lock-1", "lock-2"],
    ["mixed-1", "mixed-2"],
    ["monitor-1", "monitor-2"],
];

#[test]
fn deadlocks_are_those_of_the_jvm() {
    for (release, text) in DEADLOCKS {
        let report = report(text);
        assert_eq!(circles(&report), CIRCLES, "JDK {release}");
        assert!(report.deadlocks.iter().all(|it| it.is_reported));
        assert!(!report.dumps[0].is_cut, "JDK {release}");
        let main = report.threads.iter().find(|it| it.name == "main").unwrap();
        assert_eq!(main.state, State::TimedWaiting);
        assert!(main.cpu_ms.is_some_and(|cpu| cpu > 0.0) && main.os_id.is_some());
        let frames = &report.stacks[main.stack.unwrap()].frames;
        assert!(
            frames.iter().any(|it| it.starts_with("Deadlock.main(")),
            "{frames:?}"
        );
    }
}

/// HotSpot reports the thread from which its search has come to a circle, too.
#[test]
fn a_thread_that_waits_for_a_deadlock_is_no_part_of_it() {
    let thread = |name: &str, waits: &str, holds: &str| {
        format!(
            "\"{name}\" #1 prio=5 os_prio=0 cpu=1.00ms elapsed=1.00s tid=0x00007f00 nid=0x1 waiting for monitor entry  [0x00007f01]\n   \
             java.lang.Thread.State: BLOCKED (on object monitor)\n\tat Shop.work(Shop.java:1)\n\t\
             - waiting to lock <{waits}> (a java.lang.Object)\n{}\n",
            match holds {
                "" => String::new(),
                holds => format!("\t- locked <{holds}> (a java.lang.Object)\n"),
            }
        )
    };
    let step = |name: &str, waits: &str, owner: &str| {
        format!(
            "\"{name}\":\n  waiting to lock monitor 0x00007f02 (object {waits}, a java.lang.Object),\n  \
             which is held by \"{owner}\"\n\n"
        )
    };
    let (one, two) = ("0x00000000ffd1b6e0", "0x00000000ffd1b6f0");
    let text = format!(
        "2026-11-29 20:20:11\nFull thread dump OpenJDK 64-Bit Server VM (17.0.11+9-Debian mixed mode, sharing):\n\n{}{}{}\n\
         Found one Java-level deadlock:\n=============================\n{}{}{}\
         Java stack information for the threads listed above:\n===================================================\n\
         Found 1 deadlock.\n\n",
        thread("tail", one, ""),
        thread("first", two, one),
        thread("second", one, two),
        step("tail", one, "first"),
        step("first", two, "second"),
        step("second", one, "first"),
    );
    let report = report(&text);
    assert_eq!(circles(&report), [["first", "second"]]);
    assert!(report.deadlocks[0].is_reported);
    let contended = report
        .locks
        .iter()
        .find(|it| it.owner.as_deref() == Some("first"));
    assert_eq!(contended.unwrap().waiting, 2);
}

#[test]
fn deadlocks_are_inferred_where_the_dump_ends_before_the_report() {
    for (release, text) in DEADLOCKS {
        let text = text
            .split("\nFound one Java-level deadlock")
            .next()
            .unwrap();
        let report = report(text);
        assert_eq!(circles(&report), CIRCLES, "JDK {release}");
        assert!(report.deadlocks.iter().all(|it| !it.is_reported));
        let lock = report
            .locks
            .iter()
            .find(|it| it.owner.as_deref() == Some("lock-2"))
            .unwrap();
        assert_eq!(
            (&lock.names[..], lock.waiting),
            (&["lock-1".to_owned()][..], 1)
        );
        assert!(lock.lock.class.ends_with("ReentrantLock$NonfairSync"));
    }
}

/// `kill -3` does not list the locks of `java.util.concurrent`.
#[test]
fn owners_come_from_the_report_where_locks_are_not_listed() {
    for (release, text) in DEADLOCKS {
        let is_listed = |line: &&str| !line.starts_with("\t- <0x");
        let text: String = text
            .lines()
            .filter(is_listed)
            .map(|line| format!("{line}\n"))
            .collect();
        let report = report(&text);
        assert_eq!(circles(&report), CIRCLES, "JDK {release}");
        let owned = report.locks.iter().filter(|lock| lock.owner.is_some());
        assert_eq!(owned.count(), 6, "JDK {release}: {:?}", report.locks);
    }
}

#[test]
fn a_dump_of_jdk_8_in_the_middle_of_a_log() {
    let dumps = read(JDK8.as_bytes()).unwrap();
    let dump = &dumps.dumps[0];
    assert_eq!(dump.source, Source::Text);
    assert_eq!(dump.time.as_deref(), Some("2014-01-01 10:00:01"));
    assert!(!dump.is_cut);
    let report = Report::of(&dumps);
    let states = BTreeMap::from([
        (State::Runnable, 1),
        (State::Blocked, 1),
        (State::Waiting, 2),
        (State::Vm, 2),
    ]);
    assert_eq!(report.dumps[0].states, states);
    let thread = |name: &str| report.threads.iter().find(|it| it.name == name).unwrap();
    let blocked = thread("http-nio-8080-exec-2");
    assert_eq!(blocked.os_id, Some(0x5a1f));
    assert_eq!(blocked.owner.as_deref(), Some("http-nio-8080-exec-1"));
    let frames = &report.stacks[blocked.stack.unwrap()].frames;
    assert_eq!(frames.len(), 3, "{frames:?}");
    let waiter = dump.threads.iter().find(|it| it.name == "waiter").unwrap();
    assert_eq!(waiter.wait.as_ref().unwrap().kind, WaitKind::Notify);
    assert!(waiter.holds.is_empty());
    assert_eq!(
        thread("locker \"of\" quotes").owner.as_deref(),
        Some("http-nio-8080-exec-1")
    );
    let pool = report
        .pools
        .iter()
        .find(|it| it.name == "http-nio-8080-exec-*")
        .unwrap();
    assert_eq!(pool.threads, 2);
    assert_eq!(report.locks.len(), 2);
}

#[test]
fn container_logs_have_a_prefix() {
    let plain = report(JDK8);
    for prefix in ["2026-11-23T02:50:00.123456789Z stdout F ", "app-1  | "] {
        let lines = JDK8.lines();
        let prefixed: String = lines.map(|line| format!("{prefix}{line}\n")).collect();
        let prefixed = report(&prefixed);
        assert_eq!(plain.threads, prefixed.threads);
        assert_eq!(plain.dumps, prefixed.dumps);
    }
}

#[test]
fn windows_writes_utf_16() {
    let plain = report(JDK8);
    let units = || ['\u{feff}'].into_iter().chain(JDK8.chars());
    let units: Vec<u16> = units().collect::<String>().encode_utf16().collect();
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let file: Vec<u8> = units.iter().flat_map(|unit| bytes(*unit)).collect();
        let found = Report::of(&read(&file).unwrap());
        assert_eq!(plain.threads, found.threads);
    }
}

#[test]
fn virtual_threads_in_json() {
    for (release, text) in JSON {
        let report = report(text);
        let facts = &report.dumps[0];
        assert_eq!(facts.source, Source::Json);
        let of_executor = report
            .pools
            .iter()
            .find(|it| it.name.contains("ThreadPerTaskExecutor"));
        assert_eq!(of_executor.unwrap().threads, 5, "JDK {release}");
        let waiting = report.stacks.iter().find(|it| it.threads == 5).unwrap();
        assert!(
            waiting
                .frames
                .iter()
                .any(|it| it.contains("ReentrantLock.lock(")),
            "{waiting:?}"
        );
        assert!(
            waiting.frames.iter().all(|it| !it.contains('\\')),
            "{waiting:?}"
        );
        assert!(facts.virtual_threads >= 5, "JDK {release}: {facts:?}");
        let without_locks = if release >= 24 {
            0
        } else {
            facts.virtual_threads
        };
        assert_eq!(
            facts.without_locks, without_locks,
            "JDK {release}: {facts:?}"
        );
        if release >= 24 {
            let waits = report
                .locks
                .iter()
                .find(|it| it.owner.as_deref() == Some("mon-holder"));
            assert_eq!(waits.unwrap().names, ["mon-waiter"]);
            let lock = report
                .locks
                .iter()
                .find(|it| it.lock.class.ends_with("NonfairSync"));
            assert_eq!(lock.unwrap().waiting, 5);
            assert_eq!(facts.states[&State::Blocked], 1);
        }
    }
}

#[test]
fn plain_files_hold_what_json_holds() {
    for ((release, plain), (_, json)) in PLAIN.into_iter().zip(JSON) {
        let (plain, json) = (report(plain), report(json));
        assert_eq!(plain.dumps[0].source, Source::Plain);
        let of_executor = |report: &Report| {
            let group = report.stacks.iter().find(|it| it.threads == 5).unwrap();
            (group.states.clone(), group.frames.clone())
        };
        assert_eq!(of_executor(&plain), of_executor(&json), "JDK {release}");
        let locks = |report: &Report| {
            let rows = report.locks.iter();
            rows.map(|it| (it.lock.clone(), it.owner.clone(), it.waiting))
                .collect::<Vec<_>>()
        };
        assert_eq!(locks(&plain), locks(&json), "JDK {release}");
    }
}

#[test]
fn several_dumps_show_what_moved() {
    let thread = |name: &str, number: u32, cpu: f64, elapsed: f64, state: &str, frame: &str| {
        format!(
            "\"{name}\" #{number} prio=5 os_prio=0 cpu={cpu:.2}ms elapsed={elapsed:.2}s tid=0x1 nid=0x{number}\n   \
             java.lang.Thread.State: {state}\n\tat {frame}\n\n"
        )
    };
    let head = "2026-11-23 02:50:00\nFull thread dump OpenJDK (17):\n\n";
    let first = [
        head.to_owned(),
        thread("busy", 1, 100.0, 50.0, "RUNNABLE", "App.a(App.java:1)"),
        thread("stuck", 2, 5.0, 50.0, "RUNNABLE", "App.loop(App.java:2)"),
        thread(
            "idle",
            3,
            1.0,
            50.0,
            "WAITING (parking)",
            "App.wait(App.java:3)",
        ),
        thread("ends", 4, 1.0, 50.0, "RUNNABLE", "App.x(App.java:4)"),
    ];
    let second = [
        head.to_owned(),
        thread("busy", 1, 4100.0, 60.0, "RUNNABLE", "App.b(App.java:5)"),
        thread("stuck", 2, 1005.0, 60.0, "RUNNABLE", "App.loop(App.java:2)"),
        thread(
            "idle",
            3,
            1.0,
            60.0,
            "WAITING (parking)",
            "App.wait(App.java:3)",
        ),
        thread("begins", 5, 1.0, 1.0, "RUNNABLE", "App.x(App.java:4)"),
    ];
    // In one file, and in two.
    let mut apart = Dumps::default();
    assert_eq!(apart.add(first.concat().as_bytes()), Ok(1));
    assert_eq!(apart.add(second.concat().as_bytes()), Ok(1));
    let together = report(&(first.concat() + &second.concat()));
    for report in [Report::of(&apart), together] {
        assert_eq!(report.dumps.len(), 2);
        let moved = report.moved.unwrap();
        assert_eq!(moved.elapsed_ms, Some(10_000.0));
        assert_eq!((moved.started, moved.ended, moved.idle), (1, 1, 1));
        let busy: Vec<_> = moved
            .busy
            .iter()
            .map(|it| (&*it.name, it.cpu_ms, it.share))
            .collect();
        assert_eq!(
            busy,
            [("busy", 4000.0, Some(0.4)), ("stuck", 1000.0, Some(0.1))]
        );
        let stuck: Vec<_> = moved
            .stuck
            .iter()
            .map(|it| (&*it.name, &*it.frame))
            .collect();
        assert_eq!(stuck, [("stuck", "App.loop(App.java:2)")]);
    }
}

#[test]
fn files_without_a_dump_say_so() {
    assert_eq!(read(b"hello").unwrap_err(), NoDump::None);
    assert!(matches!(
        read(b"{\"threadDump\": 1}").unwrap_err(),
        NoDump::Json(_)
    ));
    assert_eq!(read(b"").unwrap_err(), NoDump::None);
    let cut = &DEADLOCKS[1].1[..DEADLOCKS[1].1.len() / 3];
    assert!(report(cut).dumps[0].is_cut);
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn damage_is_never_fatal(
            file in 0usize..5,
            from: prop::sample::Index,
            to: prop::sample::Index,
            junk in "[\\PC\n\"<>()#]{0,40}",
        ) {
            let files = [DEADLOCKS[2].1, JDK8, JSON[0].1, JSON[1].1, PLAIN[1].1];
            let bytes = files[file].as_bytes();
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            let damaged = [&bytes[..from], junk.as_bytes(), &bytes[to..]].concat();
            if let Ok(dumps) = read(&damaged) {
                let report = Report::of(&dumps);
                let last = &report.dumps[report.dumps.len() - 1];
                prop_assert_eq!(last.states.values().sum::<usize>(), last.threads);
                let of_stacks: usize = report.stacks.iter().map(|it| it.threads).sum();
                prop_assert_eq!(of_stacks, last.threads);
                let of_pools: usize = report.pools.iter().map(|it| it.threads).sum();
                prop_assert_eq!(of_pools, last.threads);
            }
        }
    }
}
