//! Dumps of other tools than the JDK's own printers. Dumps of JDK 17 and 25 come from JVMs, that of `jstack -F` of JDK
//! 8 and the javacore from their documentation.

use std::collections::BTreeMap;

use hprof_thread_dumps::{
    Dumps, NoDump, Report, Source, State, ThreadRow, WaitKind, begins_in, read,
};

const JMX: &str = include_str!("data/jmx.txt");
const ACTUATOR: &str = include_str!("data/actuator.json");
/// `jhsdb jstack` of JDK 25, that of 17 with `--locks`, and that of 25 with `--mixed`, cut.
const AGENT: &str = include_str!("data/agent.txt");
const AGENT_LOCKS: &str = include_str!("data/agent-locks.txt");
const AGENT_MIXED: &str = include_str!("data/agent-mixed.txt");
const AGENT_JDK8: &str = include_str!("data/agent-jdk8.txt");
/// Output of JDK 17.
const THREAD_INFO: &str = include_str!("data/thread-info.txt");
const JAVACORE: &str = include_str!("data/javacore.txt");
const JDK17: &str = include_str!("../../server/tests/data/threads-jdk17.txt");

const ALL: [(&str, Source, usize); 9] = [
    (JMX, Source::Jmx, 3),
    (ACTUATOR, Source::Beans, 10),
    (AGENT, Source::Agent, 10),
    (AGENT_LOCKS, Source::Agent, 10),
    (AGENT_MIXED, Source::Agent, 15),
    (AGENT_JDK8, Source::Agent, 8),
    (THREAD_INFO, Source::ThreadInfo, 11),
    (JAVACORE, Source::Javacore, 8),
    (JDK17, Source::Text, 25),
];

fn report(file: &str) -> Report {
    Report::of(&read(file.as_bytes()).unwrap())
}

fn thread<'a>(report: &'a Report, name: &str) -> &'a ThreadRow {
    let found = report.threads.iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", report.threads))
}

fn frames<'a>(report: &'a Report, name: &str) -> &'a [String] {
    &report.stacks[thread(report, name).stack.unwrap()].frames
}

/// Two threads that wait for each other's monitor.
fn has_deadlock(report: &Report, is_reported: bool) {
    let [deadlock] = &report.deadlocks[..] else {
        panic!("{:?}", report.deadlocks);
    };
    assert_eq!(deadlock.is_reported, is_reported);
    let mut threads: Vec<_> = deadlock.steps.iter().map(|it| &*it.thread).collect();
    threads.sort_unstable();
    assert_eq!(threads, ["left", "right"]);
    assert!(
        deadlock
            .steps
            .iter()
            .all(|it| it.lock == "java.lang.Object")
    );
}

#[test]
fn every_thread_of_every_form_is_read() {
    for (file, source, threads) in ALL {
        let report = report(file);
        let [facts] = &report.dumps[..] else {
            panic!("{:?}", report.dumps);
        };
        assert_eq!((facts.source, facts.threads), (source, threads));
        assert!(!facts.is_cut, "{source:?}");
    }
}

#[test]
fn tools_over_jmx_name_the_owners_of_locks() {
    let report = report(JMX);
    has_deadlock(&report, false);
    assert_eq!(report.dumps[0].time.as_deref(), Some("2016-02-26 10:00:00"));
    let pooled = thread(&report, "http-bio-8810-exec-147");
    assert_eq!(
        (pooled.id, pooled.state),
        (Some(96_965), State::TimedWaiting)
    );
    let left = thread(&report, "left");
    assert_eq!(left.owner.as_deref(), Some("right"));
    assert_eq!(left.waits_for.as_ref().unwrap().id, "1a2b3c4d");
    assert_eq!(frames(&report, "left")[0], "TInfo.b(TInfo.java:6)");
}

#[test]
fn spring_boot_has_owners_and_frames_like_those_of_text() {
    let report = report(ACTUATOR);
    has_deadlock(&report, false);
    let waiter = thread(&report, "waiter");
    assert_eq!(
        (waiter.state, waiter.owner.as_deref()),
        (State::Waiting, Some("holder"))
    );
    let frames = frames(&report, "waiter");
    assert_eq!(frames[0], "jdk.internal.misc.Unsafe.park(Native Method)");
    assert_eq!(
        frames[1],
        "java.util.concurrent.locks.LockSupport.park(LockSupport.java:223)"
    );
    assert!(frames[7].ends_with(".run(Unknown Source)"), "{frames:?}");
    let dumps = read(ACTUATOR.as_bytes()).unwrap();
    let wait = |name: &str| {
        let mut threads = dumps.dumps[0].threads.iter();
        threads
            .find(|it| it.name == name)
            .unwrap()
            .wait
            .as_ref()
            .unwrap()
            .kind
    };
    assert_eq!(wait("Finalizer"), WaitKind::Notify);
    assert_eq!(
        (wait("waiter"), wait("left")),
        (WaitKind::Park, WaitKind::Enter)
    );
    // The first release of Spring Boot, and Jolokia.
    let list = ACTUATOR.strip_prefix("{\"threads\":").unwrap();
    let list = &list[..list.rfind('}').unwrap()];
    for other in [
        list.to_owned(),
        format!("{{\"request\":{{}}, \"value\":{list}}}"),
    ] {
        assert_eq!(self::report(&other).threads, report.threads);
    }
}

#[test]
fn the_serviceability_agent_prints_deadlocks_first() {
    for (file, jvm) in [
        (AGENT, "25.0.3+9-LTS"),
        (AGENT_LOCKS, "17.0.21.1+2-1-deb12u1-Debian"),
    ] {
        let report = report(file);
        has_deadlock(&report, true);
        assert_eq!(report.dumps[0].jvm.as_deref(), Some(jvm));
        let left = thread(&report, "left");
        assert_eq!(
            (left.state, left.owner.as_deref()),
            (State::Blocked, Some("right"))
        );
        let frames = frames(&report, "left");
        assert!(
            frames[0].starts_with("TInfo.") && frames[0].contains("), line "),
            "{frames:?}"
        );
    }
    let report = report(AGENT_LOCKS);
    let waiter = thread(&report, "waiter");
    assert_eq!(waiter.owner.as_deref(), Some("holder"));
    assert!(thread(&report, "notified").holds.is_empty());
    // JDK 17 prints of both that they have locked both.
    assert_eq!(thread(&report, "left").holds.len(), 1);
}

#[test]
fn native_frames_of_the_serviceability_agent_belong_to_threads() {
    let report = report(AGENT_MIXED);
    let states = BTreeMap::from([
        (State::Runnable, 1),
        (State::Blocked, 2),
        (State::Waiting, 2),
        (State::TimedWaiting, 2),
        (State::Vm, 8),
    ]);
    assert_eq!(report.dumps[0].states, states);
    assert_eq!(thread(&report, "waiter").os_id, Some(13_262));
    assert_eq!(
        frames(&report, "waiter")[1],
        "__GI___pthread_cond_wait + 0x1e8"
    );
}

/// Its states are those of the VM, where a thread that sleeps, parks or waits is blocked.
#[test]
fn threads_that_jstack_forces_have_the_states_of_their_frames() {
    let report = report(AGENT_JDK8);
    let state = |number: u32| thread(&report, &format!("Thread {number}")).state;
    for (number, expected) in [
        (4790, State::Unknown),
        (4731, State::TimedWaiting),
        (4730, State::Waiting),
        (4729, State::Waiting),
        (4728, State::Blocked),
        (4727, State::TimedWaiting),
        (4726, State::Runnable),
        (4712, State::Runnable),
    ] {
        assert_eq!(state(number), expected, "{number}");
    }
    assert_eq!(
        frames(&report, "Thread 4730")[1],
        "java.lang.Object.wait(), line 502"
    );
}

#[test]
fn threads_print_themselves_into_logs() {
    let plain = report(THREAD_INFO);
    has_deadlock(&plain, false);
    let waiter = thread(&plain, "waiter");
    assert_eq!(
        (waiter.id, waiter.owner.as_deref()),
        (Some(15), Some("holder"))
    );
    assert!(thread(&plain, "notified").owner.is_none());
    assert_eq!(thread(&plain, "holder").holds.len(), 1);
    assert_eq!(frames(&plain, "waiter").last().unwrap(), "...");
    // A program's own lines around them, with traces of exceptions.
    let exception =
        "java.io.IOException: closed\n\tat App.read(App.java:3)\n\tat App.main(App.java:1)\n";
    let lines = THREAD_INFO.replace("\"left\" daemon", "12:00:01 WARN [dog] \"left\" daemon");
    let log = format!("{exception}12:00:00 INFO threads:\n{lines}{exception}\"quoted\" text\n");
    assert_eq!(report(&log).threads, plain.threads);
    // Twice in one file.
    let twice = report(&format!("{log}{log}"));
    assert_eq!(twice.dumps.len(), 2);
    assert_eq!(twice.moved.unwrap().started, 0);
}

#[test]
fn a_javacore_has_threads_locks_and_deadlocks() {
    let report = report(JAVACORE);
    has_deadlock(&report, true);
    assert_eq!(
        report.dumps[0].time.as_deref(),
        Some("2026/11/23 03:50:00:123")
    );
    let left = thread(&report, "left");
    assert_eq!(
        (left.id, left.os_id, left.cpu_ms),
        (Some(0x21), Some(0x1270), Some(1.0))
    );
    let expected = [
        "App.both(App.java:7)",
        "App$$Lambda/0x00000000300e8730.run(Bytecode PC:0)",
        "java.lang.Thread.run(Thread.java:857)",
    ];
    assert_eq!(frames(&report, "left"), expected);
    let waiter = thread(&report, "waiter");
    assert_eq!(
        (waiter.state, waiter.owner.as_deref()),
        (State::Waiting, Some("holder"))
    );
    assert_eq!(thread(&report, "holder").state, State::TimedWaiting);
    let notified = thread(&report, "notified");
    assert_eq!((notified.state, notified.holds.len()), (State::Waiting, 0));
    assert!(thread(&report, "virtual").is_virtual);
    let cut = &JAVACORE[..JAVACORE
        .find("\"holder\" J9VMThread:0x0000000000021500, omr")
        .unwrap()];
    assert!(self::report(cut).dumps[0].is_cut);
}

/// As copies from terminals and tickets begin.
#[test]
fn the_line_before_the_threads_may_be_missing() {
    let whole = report(JDK17);
    let (_, headless) = JDK17.split_once("\n\n").unwrap();
    assert!(!headless.contains("Full thread dump"));
    let found = report(headless);
    assert_eq!(found.threads, whole.threads);
    assert_eq!(found.deadlocks, whole.deadlocks);
    assert_eq!(report(&format!("{headless}\n{headless}")).dumps.len(), 2);
    // Without the end as well: each thread begins again.
    let threads = headless.split("JNI global ref").next().unwrap();
    let twice = report(&format!("{threads}{threads}"));
    assert_eq!(twice.dumps.len(), 2);
    assert_eq!(twice.dumps[0].threads, whole.dumps[0].threads);
}

#[test]
fn all_forms_are_recognised_by_their_beginning_and_in_utf_16() {
    for (file, source, threads) in ALL {
        for head in [&file[..file.len().min(1500)], file] {
            assert!(begins_in(head.as_bytes()), "{source:?}");
        }
        let units = || ['\u{feff}'].into_iter().chain(file.chars());
        let units: Vec<u16> = units().collect::<String>().encode_utf16().collect();
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let file: Vec<u8> = units.iter().flat_map(|unit| bytes(*unit)).collect();
            assert!(begins_in(&file), "{source:?}");
            assert_eq!(read(&file).unwrap().dumps[0].threads.len(), threads);
        }
    }
    for other in [
        "hello",
        "",
        "{\"threads\": []}",
        "[{\"threadName\": 1}]",
        "[0.1s][info][gc] Using G1",
        "# A fatal error has been detected\n0x00007f5c3c0a4e2d JavaThread \"main\" [_thread_blocked, id=17]",
        "\"a\";\"b\"\n\"tid=0x1\"",
    ] {
        assert!(!begins_in(other.as_bytes()), "{other}");
        assert!(read(other.as_bytes()).is_err(), "{other}");
    }
}

#[test]
fn a_dump_without_threads_is_none() {
    let head =
        "2026-11-23 02:50:00\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n";
    let error = read(head.as_bytes()).unwrap_err();
    assert_eq!(error, NoDump::NoThreads);
    assert!(error.to_string().contains("VisualVM"), "{error}");
    assert!(read(b"{\"threads\":[{\"threadName\":1,\"threadState\":2}]}").is_err());
    let nothing = read(b"0SECTION       TITLE subcomponent dump routine\n").unwrap_err();
    assert_eq!(nothing, NoDump::NoThreads);
    // Beside others it is left out, and counted.
    let mut dumps = Dumps::default();
    assert_eq!(dumps.add(format!("{head}{JDK17}").as_bytes()), Ok(1));
    assert_eq!(dumps.without_threads, 1);
}

#[test]
fn a_log_in_json_may_have_dumps_between_its_lines() {
    let log = format!("{{\"level\":\"INFO\",\"message\":\"start\"}}\n{JDK17}");
    assert_eq!(report(&log).threads, report(JDK17).threads);
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn damage_is_never_fatal(
            file in 0usize..ALL.len(),
            from: prop::sample::Index,
            to: prop::sample::Index,
            junk in prop_oneof![
                "[\\PC\n\"<>()#]{0,40}",
                prop::collection::vec(prop::sample::select(WORDS), 0..12).prop_map(|it| it.concat()),
            ],
        ) {
            let bytes = ALL[file].0.as_bytes();
            let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
            let damaged = [&bytes[..from], junk.as_bytes(), &bytes[to..]].concat();
            begins_in(&damaged);
            if let Ok(dumps) = read(&damaged) {
                let report = Report::of(&dumps);
                for facts in &report.dumps {
                    prop_assert!(facts.threads > 0);
                    prop_assert_eq!(facts.states.values().sum::<usize>(), facts.threads);
                }
                let last = &report.dumps[report.dumps.len() - 1];
                let of_stacks: usize = report.stacks.iter().map(|it| it.threads).sum();
                prop_assert_eq!(of_stacks, last.threads);
                let of_pools: usize = report.pools.iter().map(|it| it.threads).sum();
                prop_assert_eq!(of_pools, last.threads);
            }
        }

        #[test]
        fn lines_of_words_that_dumps_have_do_no_harm(words in prop::collection::vec(prop::sample::select(WORDS), 0..200)) {
            let text = words.concat();
            begins_in(text.as_bytes());
            if let Ok(dumps) = read(text.as_bytes()) {
                Report::of(&dumps);
            }
        }
    }
}

const WORDS: &[&str] = &[
    "\n",
    "\n\n",
    "\"",
    " ",
    "\t",
    "Full thread dump ",
    "Deadlock Detection:\n",
    "Found one Java-level deadlock:\n",
    "\"left\":\n",
    "  waiting to lock Monitor@0x1 (Object@0x2, a A),\n",
    "  which is held by \"left\"\n",
    "JNI global refs: 1\n",
    "\"a\" #1 prio=5 tid=0x1 nid=0x2 runnable\n",
    "\"a\" - Thread t@1\n",
    "\"a\" prio=5 Id=1 BLOCKED on A@1 owned by \"b\" Id=2\n",
    "Thread 1: (state = BLOCKED)\n",
    "----------------- 1 -----------------\n",
    "   java.lang.Thread.State: WAITING\n",
    "\tat A.b(A.java:1)\n",
    " - A.b() @bci=1, line=2 (Interpreted frame)\n",
    "0x00007f5c3c0a4e2d * A.b() bci:1\n",
    "\t- waiting on <0x1> (a A) owned by \"b\" t@2\n",
    "\t- locked <0x1> (a A)\n",
    "   Locked ownable synchronizers:\n",
    "\t-  locked A@1\n",
    "\t...\n",
    "0SECTION       TITLE\n",
    "3XMTHREADINFO      \"a\" J9VMThread:0x1, state:B\n",
    "3XMTHREADINFO      \"b\" J9VMThread:0x1, state:CW\n",
    "3XMTHREADBLOCK     Blocked on: A@0x1 Owned by: \"b\" (J9VMThread:0x1)\n",
    "2LKDEADLOCKTHR  Thread \"a\" (0x1)\n",
    "4LKDEADLOCKOBJ  A@0x1\n",
    "NULL ---- END OF DUMP ----\n",
    "4XESTACKTRACE                at A/b(A.java:1(Compiled Code))\n",
    "{\"threads\":[",
    "{\"threadName\":\"a\",\"threadState\":\"WAITING\",\"lockName\":\"A@1\"}",
    "]}",
    "#1 \"a\" virtual\n",
    "4711\n",
    "\u{202e}",
];
