//! The agent on JDK 8, whose JVMTI, layout, class library and class files are older: each mode, with counts and times that
//! the programs know.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use java_test_harness::{
    BinaryProfile, Jdk, Outcome, Run, Running, Signal, SiteExpectation, control_socket,
};

/// Runs a test on JDK 8, if that is installed.
fn on_jdk_8(test: impl FnOnce(&'static Jdk)) {
    match Jdk::find(8) {
        Some(jdk) => test(jdk),
        None => eprintln!("skipped: no JDK 8 found; `scripts/setup jdks` fetches it"),
    }
}

fn run(jdk: &'static Jdk, options: &str, program: &[&str]) -> Outcome {
    let run = Run::new(jdk).agent(options).class(program[0]);
    run.args(program[1..].iter().copied())
        .run()
        .expect_status(0)
}

/// The share of `hot` is the true one, and nearly all samples have their stacks: all but those that `AsyncGetCallTrace`
/// fails for, and a few of threads that begin or end.
fn check_spin(engine: &str, outcome: &Outcome) {
    let profile = outcome.profile();
    let [hot, warm] = ["Spin.hot", "Spin.warm"].map(|it| profile.samples_with(it) as f64);
    let truth = outcome.printed("hot") / (outcome.printed("hot") + outcome.printed("warm"));
    let lost = profile.samples_with(".[no_stack]") as f64;
    let all = profile.table().total as f64;
    // A sample without a stack may be of either.
    let known = hot + warm + lost;
    let (least, most) = (hot / known - 0.1, (hot + lost) / known + 0.1);
    assert!(
        (least..most).contains(&truth),
        "{engine}: {hot} and {warm}, {lost} lost, in truth {truth}"
    );
    let may_be_lost = match engine {
        "signal" => 0.4 * all,
        _ => 0.02 * all,
    };
    assert!(
        lost <= may_be_lost,
        "{engine}: {lost} of {all} have no stack"
    );
    // The rest is the start of the JVM, which takes longer on a busy machine.
    assert!(
        hot + warm > 0.8 * (all - lost),
        "{engine}: {hot} + {warm} of {all} samples"
    );
}

#[test]
fn samples_have_their_stacks_with_each_engine() {
    on_jdk_8(|jdk| {
        for engine in ["walker", "signal", "safepoint"] {
            let options = format!("cpu=samples,interval=2,engine={engine}");
            let outcome = run(jdk, &options, &["Spin", "1.5"]);
            check_spin(engine, &outcome);
            let profile = outcome.profile();
            assert_eq!(profile.counter("internal_errors"), 0);
            if engine == "walker" {
                assert!(!outcome.stderr.contains("differs"), "{}", outcome.stderr);
                assert!(profile.counter("walks_checked") > 16);
            }
        }
    });
}

/// A debug build compares every stack at which a class is prepared, in all frames and bytecodes.
#[test]
fn walks_equal_the_vms_in_code_of_each_kind() {
    on_jdk_8(|jdk| {
        for (mode, program) in [
            (&["-Xmixed"][..], &["CallCounts"][..]),
            (&["-Xint"], &["CallCounts"]),
            (&["-Xcomp", "-XX:TieredStopAtLevel=1"], &["Hello"]),
            (&["-Xcomp", "-XX:-TieredCompilation"], &["Hello"]),
            (&["-XX:-UseCompressedOops"], &["CallCounts"]),
        ] {
            let run = Run::new(jdk).jvm_args(mode.iter().copied());
            let run = run.agent("cpu=samples,interval=1,depth=200,engine=walker");
            let run = run.class(program[0]);
            let outcome = run.run().expect_status(0);
            assert!(!outcome.stderr.contains("differs"), "{}", outcome.stderr);
            let checked = outcome.profile().counter("walks_checked");
            assert!(checked > 30, "{mode:?}: {checked}");
        }
    });
}

/// The calls of `CallCounts`.
const CALLS: &[(&str, u64)] = &[
    ("CallCounts.main", 1),
    ("CallCounts.fib", 1973),
    ("CallCounts.thrower", 1000),
    ("CallCounts.caught", 180),
    ("CallCounts.finished", 100),
    ("CallCounts.overflowed", 20),
    ("CallCounts$Derived.<init>", 50),
    ("CallCounts$Refusing.<init>", 50),
    ("CallCounts.reflected", 3000),
    ("CallCounts.fromLambda", 300),
    ("CallCounts.inThread", 50),
    ("CallCounts.leaf", 50_000),
    ("CallCounts.inSizedThread", 20),
    ("CallCounts.dying", 100),
];

#[test]
fn calls_are_counted_exactly() {
    on_jdk_8(|jdk| {
        for options in ["cpu=times,cutoff=0", "cpu=times,clock=exact,cutoff=0"] {
            let run = Run::new(jdk).jvm_args(["-Xverify:all", "-Xcheck:jni"]);
            let outcome = run.agent(options).class("CallCounts").run();
            let outcome = outcome.expect_status(0);
            assert!(!outcome.stdout.contains("WARNING in native method"));
            let profile = outcome.profile();
            for &(method, calls) in CALLS {
                assert_eq!(profile.calls(method), calls, "{options}: {method}");
            }
            for counter in ["internal_errors", "paths_cut", "threads_not_counted"] {
                assert_eq!(profile.counter(counter), 0, "{options}: {counter}");
            }
            // Classes that were loaded before the VM was up.
            assert!(profile.calls("java.util.HashMap.put") > 0);
        }
    });
}

/// Its interpreter reads a field in place of `Reference.get`, which must keep its code therefore.
#[test]
fn calls_of_interpreted_code_are_counted_exactly() {
    on_jdk_8(|jdk| {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
            let run = Run::new(jdk).jvm_args(["-Xint", collector]);
            let run = run.agent("cpu=times,cutoff=0").class("Counted");
            let profile = run.run().expect_status(0).profile();
            assert_eq!(profile.calls("Counted.fib"), 1973);
            assert_eq!(profile.calls("Counted.leaf"), 2000);
        }
    });
}

#[test]
fn calls_and_callers_are_counted_by_the_old_mode() {
    on_jdk_8(|jdk| {
        let outcome = run(jdk, "cpu=old", &["CallCounts"]);
        let text = String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap();
        assert!(text.starts_with("count callee caller time\n"));
        for &(method, calls) in CALLS {
            let rows = text.lines().filter_map(|line| {
                let (count, rest) = line.split_once(' ')?;
                let callee = rest.split('(').next()?;
                (callee == method).then(|| count.parse::<u64>().unwrap())
            });
            assert_eq!(rows.sum::<u64>(), calls, "{method}");
        }
    });
}

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

/// `StampedLock` of JDK 8 does not call `LockSupport` to note what a thread parks for.
#[test]
fn contention_for_locks_of_all_kinds_is_counted() {
    on_jdk_8(|jdk| {
        let outcome = run(jdk, "monitor=y", &["Contention", "12"]);
        assert_eq!(
            outcome.stderr,
            "Dumping contended monitor usage ... done.\n"
        );
        let profile = outcome.profile();
        for (kind, class) in KINDS {
            let line = outcome
                .stdout
                .lines()
                .find_map(|line| line.strip_prefix(&format!("{kind} ")))
                .unwrap();
            let printed: Vec<f64> = line.split(' ').map(|it| it.parse().unwrap()).collect();
            let [count, least, most] = printed[..] else {
                panic!("{line}");
            };
            let (counted, millis) = profile.contended(|row, trace| {
                let is_here = trace.has(&format!("Contention.{kind}"));
                assert!(!is_here || row.method == class, "{row:?}");
                is_here
            });
            assert_eq!(counted as f64, count, "{kind}");
            assert!(
                0.99 * least / 1e6 - 2.0 <= millis && millis <= most / 1e6 + 2.0,
                "{kind}: {millis} ms, in truth {least} to {most} ns"
            );
        }
        assert_eq!(profile.counter("stacks_cut"), 0);
    });
}

#[test]
fn threads_on_the_wall_clock_have_their_states() {
    on_jdk_8(|jdk| {
        let options = "cpu=wall,thread=y,depth=64";
        let profile = run(jdk, options, &["States", "1.5"]).profile();
        for (thread, state, method) in [
            ("sleeper", ".[sleeping]", "java.lang.Thread.sleep"),
            ("waiter", ".[waiting]", "java.lang.Object.wait"),
            (
                "parker",
                ".[waiting]",
                "java.util.concurrent.locks.LockSupport.park",
            ),
            ("holder", ".[sleeping]", "States.hold"),
            ("blocked", ".[blocked]", "States.block"),
            ("reader", ".[native]", "States.read"),
        ] {
            let serial = profile.thread(thread).serial;
            let samples = |frame: &str| {
                profile.samples(|trace| {
                    trace.thread == Some(serial) && (frame.is_empty() || trace.has(frame))
                }) as f64
            };
            let all = samples("");
            assert!(all > 100.0, "{thread}: {all} samples");
            for frame in [state, method] {
                let share = samples(frame) / all;
                assert!(share > 0.95, "{frame} is in {share:.3} of {thread}");
            }
        }
    });
}

/// Objects of the program's classes, by class: their number and bytes.
fn of_program(counts: BTreeMap<String, (u64, u64)>) -> BTreeMap<String, (u64, u64)> {
    let counts = counts.into_iter();
    counts
        .filter(|(class, _)| class.starts_with("Shapes") || class == "int[][]")
        .collect()
}

/// The dump has what the VM's own has at the same time.
#[test]
fn dumps_have_every_object() {
    on_jdk_8(|jdk| {
        let run = Run::new(jdk).agent("heap=dump,format=b,doe=n");
        let running = run.class("Shapes").start();
        running.wait_for_line("ready");
        running.signal(Signal::Quit);
        running.wait_until("the dump", |it| it.stderr().contains("done."));
        let path = running.path("vm.hprof");
        running.jcmd(&["GC.heap_dump", path.to_str().unwrap()]);
        let vm = BinaryProfile::parse_vm_dump(&std::fs::read(&path).unwrap()).unwrap();
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let profile = outcome.binary_profile("java.hprof");
        let heap = profile.heap();
        assert_eq!(heap.instances("Shapes$Node").len(), 5001);
        assert_eq!(heap.static_field("Shapes", "count"), 42);
        assert_eq!(of_program(heap.counts()), of_program(vm.heap().counts()));
    });
}

#[test]
fn dumps_are_equal_in_both_formats() {
    on_jdk_8(|jdk| {
        let dumped = |options: &str| {
            let run = Run::new(jdk).agent(options).class("Shapes");
            run.file("end", "").run().expect_status(0)
        };
        let binary = dumped("heap=dump,format=b").binary_profile("java.hprof");
        let text = dumped("heap=dump").profile();
        let objects = |counts: BTreeMap<String, (u64, u64)>| -> BTreeMap<String, u64> {
            let counts = of_program(counts).into_iter();
            counts
                .map(|(class, (objects, _))| (class, objects))
                .collect()
        };
        let (of_text, of_binary) = (text.heap().counts(), binary.heap().counts());
        assert_eq!(objects(of_text), objects(of_binary));
    });
}

/// The objects that were allocated, and that live, are those that the program says.
fn check_sites(outcome: &Outcome) {
    let profile = outcome.profile();
    for expectation in SiteExpectation::printed(&outcome.stdout) {
        let rows = profile
            .sites()
            .rows
            .iter()
            .filter(|row| expectation.is_of(&row.class, &profile.traces[&row.trace].methods()));
        let found = rows.fold((0, 0), |(allocated, live), row| {
            (allocated + row.allocated_objects, live + row.live_objects)
        });
        let expected = (expectation.allocated, expectation.live);
        assert_eq!(found, expected, "{expectation:?}");
    }
    for counter in [
        "events_without_stack",
        "events_without_class",
        "objects_not_followed",
        "internal_errors",
        "refused_classes",
    ] {
        assert_eq!(profile.counter(counter), 0, "{counter}");
    }
}

/// JDK 8 has no event for allocations: code calls the agent.
#[test]
fn every_way_to_allocate_is_counted() {
    on_jdk_8(|jdk| {
        for flags in [
            &["-XX:+UseParallelGC", "-Xverify:all", "-Xcheck:jni"][..],
            &["-XX:+UseG1GC"],
            &["-Xint"],
            &["-XX:-TieredCompilation"],
        ] {
            let run = Run::new(jdk).jvm_args(flags.iter().copied());
            let run = run.agent("heap=sites,cutoff=0,depth=12");
            let outcome = run.class("Allocations").run().expect_status(0);
            assert_eq!(outcome.stderr, "Dumping allocation sites ... done.\n");
            assert!(!outcome.stdout.contains("WARNING"), "{}", outcome.stdout);
            check_sites(&outcome);
        }
    });
}

/// The site of an instance is where it was made, not in one of its constructors; constructors that make other objects are
/// sites of these.
#[test]
fn the_sites_of_a_small_program_are_exact() {
    on_jdk_8(|jdk| {
        let profile = run(jdk, "heap=sites,cutoff=0", &["Alloc"]).profile();
        for (class, method, allocated, live) in [
            ("Alloc$Payload", "Alloc.make", 5000, 1000),
            ("int[]", "Alloc.main", 100, 100),
            ("java.lang.Object[]", "Alloc.main", 7, 7),
        ] {
            let rows: Vec<_> = profile
                .sites_with(method)
                .filter(|row| row.class == class)
                .collect();
            let [row] = rows[..] else {
                panic!("{class}: {rows:?}");
            };
            let found = (row.allocated_objects, row.live_objects);
            assert_eq!(found, (allocated, live), "{class}");
            assert!(profile.traces[&row.trace].is_in(method), "{class}");
        }
    });
}

#[test]
fn the_default_run_has_a_dump_and_its_sites() {
    on_jdk_8(|jdk| {
        let outcome = run(jdk, "cutoff=0,depth=12", &["Allocations"]);
        let profile = outcome.profile();
        for expectation in SiteExpectation::printed(&outcome.stdout) {
            let objects = profile.heap().entries.values().filter(|object| {
                let trace = profile.traces.get(&object.trace);
                trace.is_some_and(|trace| expectation.is_of(&object.class, &trace.methods()))
            });
            assert_eq!(objects.count() as u64, expectation.live, "{expectation:?}");
        }
    });
}

fn ask(running: &Running, request: &str) -> String {
    let mut stream = UnixStream::connect(control_socket(running.pid())).expect("a socket");
    writeln!(stream, "{request}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn a_running_jvm_is_sampled_counted_and_dumped() {
    on_jdk_8(|jdk| {
        let running = Run::new(jdk).class("DumpLoop").start();
        running.wait_for_line("first");
        for (options, file) in [
            ("cpu=samples,interval=2,file=samples.txt", "samples.txt"),
            ("cpu=times,file=times.txt", "times.txt"),
            ("monitor=y,file=monitor.txt", "monitor.txt"),
        ] {
            let answer = running.load_agent(options);
            assert!(answer.starts_with("0\n"), "{options}: {answer}");
            std::thread::sleep(Duration::from_millis(700));
            let reply = ask(&running, "detach");
            assert!(reply.starts_with("ok\n"), "{options}: {reply}");
            let text = std::fs::read_to_string(running.path(file)).unwrap();
            let is_seen = options.starts_with("monitor") || text.contains("DumpLoop.");
            assert!(is_seen, "{options}: {text}");
        }
        // Hooks come into classes that run, and go again.
        let answer = running.load_agent("heap=sites,file=sites.txt");
        assert!(answer.starts_with("0\n"), "{answer}");
        std::thread::sleep(Duration::from_millis(300));
        assert!(ask(&running, "detach").starts_with("ok\n"));
        let text = std::fs::read_to_string(running.path("sites.txt")).unwrap();
        assert!(text.contains("SITES BEGIN"), "{text}");
        let answer = running.load_agent("heap=dump,format=b,file=heap.hprof");
        assert!(answer.starts_with("0\n"), "{answer}");
        assert!(ask(&running, "detach").starts_with("ok\n"));
        for name in ["go", "end"] {
            std::fs::write(running.path(name), "").unwrap();
        }
        let outcome = running.finish().expect_status(0);
        assert!(outcome.binary_profile("heap.hprof").heap().objects.len() > 1000);
    });
}

/// Such a class has objects in the place of strings, at which JDK 8's reconstitution of class files ends the JVM.
#[test]
fn hooks_that_come_late_leave_anonymous_classes_alone() {
    on_jdk_8(|jdk| {
        // A lambda, and with it the code of method handles.
        let running = Run::new(jdk).class("Late").args(["CallCounts"]).start();
        running.wait_for_line("ready");
        for (round, options) in ["cpu=times", "heap=sites", "slow=CallCounts.*:1us"]
            .into_iter()
            .enumerate()
        {
            let answer = running.load_agent(&format!("{options},file={round}.txt"));
            assert!(answer.starts_with("0\n"), "{options}: {answer}");
            std::fs::write(running.path(&format!("round{}", round + 1)), "").unwrap();
            running.wait_for_line(&format!("round {}", round + 1));
            assert!(ask(&running, "detach").starts_with("ok\n"), "{options}");
            let text = std::fs::read_to_string(running.path(&format!("{round}.txt"))).unwrap();
            assert!(text.contains("CallCounts."), "{options}: {text}");
        }
        std::fs::write(running.path("end"), "").unwrap();
        running.finish().expect_status(0);
    });
}
