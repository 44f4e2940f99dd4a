//! monitor=y: contention against what the programs themselves measure, waits that are none, and who
//! has what.

use java_test_harness::{Jdk, Outcome, Run, Signal, TextProfile, each_release, each_release_since};

const DUMPED: &str = "Dumping contended monitor usage ... done.\n";

/// The lock class of each method of the program Contention.
const KINDS: [(&str, &str); 14] = [
    ("monitor", "java.lang.Object"),
    ("reentrant", "java.util.concurrent.locks.ReentrantLock"),
    ("interruptibly", "java.util.concurrent.locks.ReentrantLock"),
    ("timed", "java.util.concurrent.locks.ReentrantLock"),
    ("fair", "java.util.concurrent.locks.ReentrantLock"),
    ("read", "java.util.concurrent.locks.ReentrantReadWriteLock"),
    ("write", "java.util.concurrent.locks.ReentrantReadWriteLock"),
    ("stampedRead", "java.util.concurrent.locks.StampedLock"),
    ("stampedWrite", "java.util.concurrent.locks.StampedLock"),
    ("semaphore", "java.util.concurrent.Semaphore"),
    ("mutex", "Contention$Mutex"),
    ("fairSemaphore", "java.util.concurrent.Semaphore"),
    ("longMutex", "Contention$LongMutex"),
    ("permits", "Contention$Pool"),
];

/// The class that the threads of each method of the program Events are parked for, if it is a
/// synchronizer.
const EVENTS: [(&str, Option<&str>); 13] = [
    (
        "countDownLatch",
        Some("java.util.concurrent.CountDownLatch"),
    ),
    ("latch", Some("Events$Latch")),
    ("timedLatch", Some("Events$Latch")),
    ("exclusiveLatch", Some("Events$ExclusiveLatch")),
    ("longLatch", Some("Events$LongLatch")),
    ("promise", Some("Events$Promise$CompletionLatch")),
    ("completableFuture", None),
    ("futureTask", None),
    ("phaser", None),
    ("cyclicBarrier", None),
    ("exchanger", None),
    ("synchronousQueue", None),
    ("linkedTransferQueue", None),
];

/// Count and milliseconds of all contention in a method, which has to be for locks of one class.
fn contended_in(profile: &TextProfile, method: &str, class: &str) -> (u64, f64) {
    profile.contended(|row, trace| {
        let here = trace.has(method);
        assert!(!here || row.method == class, "{row:?} at {trace:?}");
        let of_juc = class != "java.lang.Object";
        assert!(!here || row.is_synchronizer == of_juc, "{row:?}");
        here
    })
}

/// Checks that the profile has the time that the program measured. The program knows the least and
/// the most that the time can be; load of the machine widens that range, but what the agent sees
/// stays in it.
fn check_time(what: &str, millis: f64, least: &str, most: &str) {
    let [least, most] = [least, most].map(|nanos| nanos.parse::<f64>().unwrap() / 1e6);
    // Shares are rounded to 0.01 % of the total, which is a few seconds.
    assert!(
        0.99 * least - 2.0 <= millis && millis <= most + 2.0,
        "{what}: {millis} ms, not {least} to {most}"
    );
}

fn check_contention(outcome: &Outcome, kinds: &[(&str, &str)]) {
    let profile = outcome.profile();
    for (kind, class) in kinds {
        let line = outcome
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{kind} ")))
            .unwrap_or_else(|| panic!("the program does not tell of {kind}"));
        let [count, least, most] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("malformed: {line}");
        };
        let (counted, millis) = contended_in(&profile, &format!("Contention.{kind}"), class);
        assert_eq!(counted.to_string(), count, "{kind}");
        check_time(kind, millis, least, most);
    }
}

#[test]
fn contention_is_what_the_program_measures() {
    each_release(|jdk| {
        let run = Run::new(jdk).agent("monitor=y").class("Contention");
        let outcome = run.args(["12"]).run().expect_status(0);
        assert_eq!(outcome.stderr, DUMPED);
        check_contention(&outcome, &KINDS);
        let profile = outcome.profile();
        assert_eq!(profile.counter("stacks_cut"), 0);
        // The innermost frame is the lock's own method, or the one that has the monitor.
        for trace in profile.traces.values() {
            if trace.has("Contention.reentrant") {
                assert!(
                    trace.is_in("java.util.concurrent.locks.ReentrantLock.lock"),
                    "{trace:?}"
                );
            }
        }
    });
}

#[test]
fn virtual_threads_are_as_exact() {
    each_release_since(21, |jdk| {
        let run = Run::new(jdk)
            .agent("monitor=y,thread=y")
            .class("Contention");
        let outcome = run.args(["8", "virtual"]).run().expect_status(0);
        check_contention(&outcome, &KINDS);
        let profile = outcome.profile();
        for (_, trace) in profile
            .traces
            .iter()
            .filter(|(_, it)| it.has("Contention.fair"))
        {
            assert!(
                profile
                    .threads
                    .iter()
                    .any(|it| Some(it.serial) == trace.thread && it.name == "waiter"),
                "{trace:?}"
            );
        }
    });
}

#[test]
fn a_thousand_virtual_threads_wait_for_one_lock_without_their_carrier() {
    each_release_since(21, |jdk| {
        let monitors_unmount = jdk.feature() >= 24;
        for (kind, class) in [
            ("lock", "java.util.concurrent.locks.ReentrantLock"),
            ("monitor", "java.lang.Object"),
        ] {
            let crowd = if kind == "lock" || monitors_unmount {
                "1000"
            } else {
                "1"
            };
            // With one carrier for all, a thread that keeps it would keep the others from waiting.
            let run = Run::new(jdk)
                .agent("monitor=y")
                .jvm_arg("-Djdk.virtualThreadScheduler.parallelism=1")
                .jvm_arg("-Djdk.virtualThreadScheduler.maxPoolSize=1")
                .class("Crowd")
                .args([kind, crowd]);
            let outcome = run.run().expect_status(0);
            let [count, least, most] = outcome.stdout.trim().split(' ').collect::<Vec<_>>()[..]
            else {
                panic!("malformed output");
            };
            let profile = outcome.profile();
            let (counted, millis) = contended_in(&profile, &format!("Crowd.{kind}"), class);
            assert_eq!(counted.to_string(), count);
            check_time(kind, millis, least, most);
            assert_eq!(profile.counter("waits_lost"), 0);
        }
    });
}

/// How the methods of thread pools begin.
const POOL: &str = "java.util.concurrent.ThreadPoolExecutor.";

#[test]
fn waits_for_other_things_are_no_contention() {
    each_release(|jdk| {
        let run = Run::new(jdk).agent("monitor=y,depth=16").class("Waits");
        let profile = run.run().expect_status(0).profile();
        let in_program = profile.contended(|_, trace| {
            let mut methods = trace.methods().into_iter();
            // A worker that ends may have the lock of its pool, which others must then wait for.
            let of_pool = methods.next() == Some("java.util.concurrent.locks.ReentrantLock.lock")
                && methods.next().is_some_and(|it| it.starts_with(POOL));
            !of_pool
                && trace.frames.iter().any(|frame| {
                    let inner = frame.contains("ConditionObject") || frame.contains("Thread.sleep");
                    inner || frame.starts_with("Waits.")
                })
        });
        assert_eq!(in_program, (0, 0.0));
        let told = |text: &str| profile.comments.iter().any(|line| line.contains(text));
        assert!(told("not contention: waiting") && told("not contention: idle"));
        // Object.wait is in the log, as ever. Since JDK 27 threads of the JDK wait for such objects, too.
        let main = profile.thread("main").serial;
        let object = |millis: u64| {
            let waits = profile
                .waits
                .iter()
                .filter(|(_, _, thread)| *thread == main);
            waits
                .filter(|(class, time, _)| class == "Ljava/lang/Object;" && *time >= millis)
                .count()
        };
        assert_eq!(object(49), 2, "{:?}", profile.waits);
    });
}

/// Count, milliseconds and class of each row of waits that are no contention, with its trace.
fn waits(profile: &TextProfile) -> Vec<(u64, f64, String, u32)> {
    let from = profile.comments.iter();
    let mut lines = from.skip_while(|line| !line.starts_with("hprof-rs: not contention: waiting"));
    let title = lines.next().unwrap();
    let total: f64 = title
        .split(['=', 'm'])
        .nth(1)
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(|| panic!("{title}"));
    lines
        .skip(1)
        .map_while(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, share, _, count, trace, class] = words[..] else {
                return None;
            };
            let share: f64 = share.strip_suffix('%')?.parse().ok()?;
            let millis = share * total / 100.0;
            Some((
                count.parse().ok()?,
                millis,
                class.to_owned(),
                trace.parse().ok()?,
            ))
        })
        .collect()
}

fn check_events(outcome: &Outcome) {
    let profile = outcome.profile();
    // The JDK links lambdas under locks of its own, for which threads that begin at once do contend.
    let in_program = profile.contended(|_, trace| {
        let has = |start: &str| trace.frames.iter().any(|frame| frame.starts_with(start));
        has("Events.") && !has("java.lang.invoke.")
    });
    assert_eq!(in_program, (0, 0.0));
    let waits = waits(&profile);
    for (method, class) in EVENTS {
        let here: Vec<_> = waits
            .iter()
            .filter(|(.., trace)| profile.traces[trace].has(&format!("Events.{method}")))
            .collect();
        let (count, millis) = here
            .iter()
            .fold((0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        assert_eq!(count, 3, "{method}: {here:?}");
        assert!(millis >= 3.0 * 20.0 - 2.0, "{method}: {here:?}");
        for (.., found, _) in here {
            assert!(
                class.is_none_or(|class| class == found),
                "{method}: {found}"
            );
        }
    }
}

#[test]
fn threads_that_wait_for_an_event_do_not_contend() {
    each_release(|jdk| {
        for threshold in ["", ",lockthreshold=1000"] {
            let options = format!("monitor=y,depth=16{threshold}");
            let run = Run::new(jdk).agent(&options).class("Events").args(["3"]);
            check_events(&run.run().expect_status(0));
        }
    });
}

#[test]
fn virtual_threads_that_wait_for_an_event_do_not_contend() {
    each_release_since(21, |jdk| {
        let run = Run::new(jdk).agent("monitor=y,depth=16").class("Events");
        check_events(&run.args(["3", "virtual"]).run().expect_status(0));
    });
}

#[test]
fn each_kind_of_lock_can_be_left_out() {
    each_release(|jdk| {
        for (option, monitors, locks) in [
            ("java", 2, 0),
            ("juc", 0, 2),
            ("all", 2, 2),
            ("y,lockthreshold=1000", 2, 2),
            ("y,lockthreshold=60000000", 0, 0),
        ] {
            let run = Run::new(jdk)
                .agent(&format!("monitor={option}"))
                .class("Contention");
            let profile = run.args(["2"]).run().expect_status(0).profile();
            let in_method = |method: &str| profile.contended(|_, trace| trace.has(method)).0;
            let found = (
                in_method("Contention.monitor"),
                in_method("Contention.write"),
            );
            assert_eq!(found, (monitors, locks), "monitor={option}");
        }
    });
}

#[test]
fn a_dump_names_deadlocks() {
    each_release(|jdk| {
        let running = Run::new(jdk).agent("monitor=y").class("Deadlock").start();
        running.wait_for_line("ready");
        running.signal(Signal::Quit);
        running.wait_until("the dump", |running| running.stderr().contains(DUMPED));
        std::fs::write(running.path("end"), "").unwrap();
        let profile = running.finish().expect_status(0).profile();
        assert_eq!(profile.monitor_dumps.len(), 2);
        let dump = &profile.monitor_dumps[0];
        let deadlocks = profile
            .comments
            .iter()
            .filter(|line| *line == "DEADLOCK of 2 threads:");
        assert_eq!(deadlocks.count(), 2 * 3);
        let lock = "Ljava/util/concurrent/locks/ReentrantLock;";
        for (thread, owner, class, entries) in [
            ("monitor-1", "monitor-2", "Ljava/lang/StringBuilder;", 1),
            ("monitor-2", "monitor-1", "Ljava/lang/Object;", 1),
            ("lock-1", "lock-2", lock, 2),
            ("lock-2", "lock-1", lock, 2),
            ("mixed-1", "mixed-2", lock, 1),
            ("mixed-2", "mixed-1", "Ljava/lang/Object;", 1),
        ] {
            let [waiter, holder] = [thread, owner].map(|name| profile.thread(name).serial);
            let found = dump.monitors.iter().find(|it| it.entering == [waiter]);
            let monitor = found.unwrap_or_else(|| panic!("{thread} waits for nothing"));
            assert_eq!(monitor.signature, class);
            assert_eq!(monitor.owner, Some((holder, entries)), "{thread}");
            let [class, _] =
                [class, ""].map(|it| it[..].trim_matches(['L', ';']).replace('/', "."));
            let line = format!("thread {waiter} \"{thread}\" waits to enter {class}@");
            let named =
                |it: &&String| it.starts_with(&line) && it.contains(&format!("\"{owner}\""));
            assert!(profile.comments.iter().any(|it| named(&it)), "{line}");
            let status = dump
                .threads
                .iter()
                .find(|it| it.0 == waiter)
                .map(|it| &*it.2);
            let expected = if monitor.signature == lock {
                "CW"
            } else {
                "MW"
            };
            assert_eq!(status, Some(expected), "{thread}");
        }
        // A wait that goes on is charged up to each dump.
        assert!(profile.contention.iter().all(|table| table.rows.len() >= 6));
    });
}

/// The VM tells an agent that was attached neither owners nor awaited monitors by thread.
#[test]
fn an_attached_agent_names_deadlocks_that_come_later() {
    each_release(|jdk| {
        let running = Run::new(jdk).class("Deadlock").args(["wait"]).start();
        running.wait_for_line("holding");
        let options = format!("monitor=y,file={}", running.path("p.txt").display());
        running.load_agent(&options);
        std::fs::write(running.path("go"), "").unwrap();
        running.wait_for_line("ready");
        std::fs::write(running.path("end"), "").unwrap();
        let profile = running.finish().expect_status(0).text_profile("p.txt");
        let dump = profile.monitor_dumps.last().expect("a dump");
        for (thread, owner) in [("monitor-1", "monitor-2"), ("monitor-2", "monitor-1")] {
            let [waiter, holder] = [thread, owner].map(|name| profile.thread(name).serial);
            let found = dump.monitors.iter().find(|it| it.entering == [waiter]);
            let monitor = found.unwrap_or_else(|| panic!("{thread} waits for nothing"));
            assert_eq!(monitor.owner, Some((holder, 1)), "{thread}");
        }
        let says = |words: &str| profile.comments.iter().any(|it| it.contains(words));
        assert!(says("DEADLOCK of 2 threads:"));
        // "mixed-2" was blocked before.
        assert!(
            says("threads_blocked_before_start=1"),
            "{:?}",
            profile.comments
        );
    });
}

/// Threads that fight for monitors are blocked when the agent comes, and continue soon after.
#[test]
fn an_attached_agent_forgets_blocked_threads_that_continue() {
    let jdk = Jdk::feature_release(17);
    let running = Run::new(jdk).class("LockLoad").args(["8"]).start();
    running.wait_for_line("running");
    let options = format!("monitor=y,file={}", running.path("p.txt").display());
    running.load_agent(&options);
    let asked = 20;
    for number in 1..=asked {
        running.signal(Signal::Quit);
        running.wait_until("a dump", |running| {
            running.stderr().matches(DUMPED).count() == number
        });
    }
    std::fs::write(running.path("end"), "").unwrap();
    let profile = running.finish().expect_status(0).text_profile("p.txt");
    let mut blocked = 0;
    for dump in &profile.monitor_dumps {
        let entering = dump.monitors.iter().map(|it| it.entering.len());
        blocked += entering.sum::<usize>();
    }
    assert!(blocked > 0);
    let is_remark = |it: &&String| it.contains("threads_blocked_before_start");
    let remarks = profile.comments.iter().filter(is_remark).count();
    // The first dump may come before each has had its turn.
    assert!(remarks <= 2, "{remarks} of {asked} dumps");
}

#[test]
fn dumps_under_load_do_no_harm() {
    each_release(|jdk| {
        let running = Run::new(jdk)
            .agent("monitor=y,thread=y")
            .class("LockLoad")
            .args(["4"])
            .start();
        running.wait_for_line("running");
        let asked = 20;
        for number in 1..=asked {
            running.signal(Signal::Quit);
            running.wait_until("a dump", |running| {
                running.stderr().matches(DUMPED).count() == number
            });
        }
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let profile = outcome.profile();
        // The last one is that of the exit.
        assert_eq!(profile.monitor_dumps.len(), asked + 1);
        assert_eq!(outcome.stderr, DUMPED.repeat(asked + 1));
        assert_eq!(profile.counter("internal_errors"), 0);
        assert_eq!(profile.counter("stacks_mistaken"), 0);
        // Every dump has all that fight, but for the one at exit.
        let fighters: Vec<u32> = (0..4)
            .map(|number| profile.thread(&format!("fighter-{number}")).serial)
            .collect();
        for dump in &profile.monitor_dumps[..asked] {
            let has = |serial: &u32| dump.threads.iter().any(|thread| thread.0 == *serial);
            assert!(fighters.iter().all(has), "{:?}", dump.threads);
        }
    });
}
