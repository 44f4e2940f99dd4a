//! slow=: calls of chosen methods, each timed.

mod spans;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hprof_analysis::contents::{ReadOptions, read};
use hprof_analysis::input::Input;
use hprof_stacks::slow::{Slow, SlowCall, SlowMethod};
use hprof_stacks::slow_spans::CallsPart;
use java_test_harness::{
    Jdk, Outcome, Run, Running, agent_library, control_socket, each_jdk, each_release,
    each_release_since,
};

const MILLI: u64 = 1_000_000;

fn slow_of(file: &Path) -> Slow {
    let input = Input::open(file).expect("a profile");
    let contents = read(input, &ReadOptions::default()).expect("a profile");
    contents.slow
}

fn method<'a>(slow: &'a Slow, name: &str) -> &'a SlowMethod {
    let mut found = slow.methods.iter().filter(|it| it.full_name() == name);
    let method = found
        .next()
        .unwrap_or_else(|| panic!("{name} in {slow:#?}"));
    assert_eq!(found.next(), None, "{name}");
    method
}

/// What the program of `SlowCalls` does, by figures of its profile.
fn expect_known_calls(slow: &Slow, began: i64) {
    for (name, calls, recursive) in [
        ("SlowCalls$Api.handle", 600, 0),
        ("SlowCalls$Api.waits", 1, 0),
        ("SlowCalls$Api.computes", 1, 0),
        ("SlowCalls$Api.fails", 40, 0),
        ("SlowCalls$Api.recursive", 30, 270),
        ("SlowCalls$Api.locked", 10, 0),
    ] {
        let method = method(slow, name);
        let found = (method.calls(), method.recursive);
        assert_eq!(found, (calls, recursive), "{name}");
        assert_eq!((method.lost, method.running, method.every), (0, 0, 1));
        assert!(method.wall >= method.cpu && method.wall >= method.max());
        assert_eq!(method.slowest.len() as u64, calls.min(10));
    }
    let overloads = slow.methods.iter().filter(|it| it.name == "overloaded");
    assert_eq!(overloads.map(SlowMethod::calls).collect::<Vec<_>>(), [5, 5]);

    let handle = method(slow, "SlowCalls$Api.handle");
    let of = |thread: &str, least: u64| {
        let mut calls = handle.slowest.iter();
        let found = calls.find(|call| call.thread == thread && call.wall >= least);
        found.unwrap_or_else(|| panic!("{thread} in {:#?}", handle.slowest))
    };
    let waited = of("worker-1", 120 * MILLI);
    assert!(waited.cpu <= 20 * MILLI, "{waited:?}");
    let computed = of("worker-2", 60 * MILLI);
    // The clock is read when the call ends; of its begin, 50 us may be an estimate.
    assert!(computed.cpu >= 59 * MILLI, "{computed:?}");
    assert!(computed.wall >= computed.cpu);
    assert_eq!(handle.max(), handle.slowest[0].wall);
    assert!(handle.cpu >= 59 * MILLI);
    // All others do next to nothing; a busy machine may hold some of them up.
    assert!(handle.quantile(0.5) < 10 * MILLI, "{handle:#?}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    for call in &handle.slowest {
        assert!(call.began >= began && call.began <= now.as_nanos() as i64);
    }
    assert!(waited.serial.is_some() && waited.serial != computed.serial);
}

fn nanos_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_nanos() as i64
}

#[test]
fn known_calls_have_their_times() {
    each_release(|jdk| {
        let began = nanos_now();
        let outcome = Run::new(jdk)
            .jvm_args(["-Xverify:all", "-Xcheck:jni"])
            .agent("slow=SlowCalls$Api.*:50ms:SlowCalls.nothing:SlowCalls$Service.serve:com.acme.*:p99")
            .class("SlowCalls")
            .run()
            .expect_status(0);
        assert_eq!(outcome.stdout.trim_end(), "caught 21");
        let slow = slow_of(&outcome.path("java.hprof.txt"));
        expect_known_calls(&slow, began);
        let handle = method(&slow, "SlowCalls$Api.handle");
        let above = handle.slowest.iter().filter(|call| call.wall >= 50 * MILLI);
        assert_eq!(handle.threshold, Some(50 * MILLI));
        assert_eq!(handle.slow, above.count() as u64);
        assert!(handle.slow >= 2);
        // Patterns that have found nothing say so, in the file and at the end.
        let found: Vec<_> = slow.patterns.iter().map(|it| it.methods > 0).collect();
        assert_eq!(found, [true, false, false, false]);
        for said in [
            "slow=SlowCalls.nothing has timed no call: class SlowCalls has no method nothing; it has lambda$main$0, main",
            "slow=SlowCalls$Service.serve has timed no call: SlowCalls$Service.serve has no code",
            "slow=com.acme.* has timed no call: the program loaded no class com.acme, and none below it",
        ] {
            assert_eq!(
                outcome.stderr.matches(said).count(),
                1,
                "{}",
                outcome.stderr
            );
        }
        let text = String::from_utf8(outcome.bytes("java.hprof.txt")).unwrap();
        assert!(text.contains("SLOW CALLS BEGIN (total = "), "{text}");
        let row = text
            .lines()
            .find(|line| line.ends_with(" SlowCalls$Api.handle"));
        let words: Vec<_> = row.expect("a row").split_whitespace().collect();
        assert_eq!((words[1], words[2], words[10]), ("600", "0", "50.000"));
        assert!(text.contains(" internal_errors=0"), "{text}");
    });
}

/// The methods of `CallCounts` that cpu=times counts as often, as its tests have them.
const COUNTS: &[(&str, u64)] = &[
    ("CallCounts.main", 1),
    ("CallCounts.fib", 1973),
    ("CallCounts.thrower", 1000),
    ("CallCounts.caught", 180),
    ("CallCounts.finished", 100),
    ("CallCounts.overflowed", 20),
    ("CallCounts$Derived.argument", 50),
    ("CallCounts.locked", 180),
    ("CallCounts.reflected", 3000),
    ("CallCounts.fromLambda", 300),
    ("CallCounts.inThread", 50),
    ("CallCounts.leaf", 50_000),
    ("CallCounts.inSizedThread", 20),
    ("CallCounts.leafOfSized", 20),
    ("CallCounts.dying", 100),
    ("CallCounts.handled", 20),
];

/// 10,000 virtual threads at a time are in a call.
const VIRTUAL_COUNTS: &[(&str, u64)] = &[
    ("CallCounts.inVirtualThread", 10_000),
    ("CallCounts.virtualLeaf", 100_000),
];

fn expect_counts(slow: &Slow, counts: &[(&str, u64)]) {
    for &(name, calls) in counts {
        let method = method(slow, name);
        assert_eq!(method.calls() + method.recursive, calls, "{name}");
    }
}

#[test]
fn counts_are_those_of_cpu_times() {
    each_release(|jdk| {
        let run = Run::new(jdk).jvm_args(["-Xverify:all", "-Xcheck:jni"]);
        let run = run
            .agent("slow=CallCounts*,cpu=samples,format=b")
            .class("CallCounts");
        let run = match jdk.feature() {
            21.. => run.args(["virtual"]),
            _ => run,
        };
        let outcome = run.run().expect_status(0);
        assert!(outcome.stdout.ends_with("done\n"), "{}", outcome.stdout);
        let slow = slow_of(&outcome.path("java.hprof"));
        expect_counts(&slow, COUNTS);
        if jdk.feature() >= 21 {
            expect_counts(&slow, VIRTUAL_COUNTS);
        }
        let fib = method(&slow, "CallCounts.fib");
        assert_eq!(fib.calls(), 1, "a recursion is one call");
        for method in &slow.methods {
            assert_eq!(
                (method.lost, method.running),
                (0, 0),
                "{}",
                method.full_name()
            );
        }
    });
}

/// Each of 20 virtual threads computes for 6 ms, waits for 30 ms, and computes for 6 ms again, mostly on another carrier. That work
/// is measured once, and takes another time on another core, up to a half or twice as long.
#[test]
fn virtual_threads_keep_their_times_while_they_wait() {
    each_release_since(21, |jdk| {
        let outcome = Run::new(jdk)
            .jvm_args(["-Xcheck:jni"])
            .agent("slow=SlowVirtual.call")
            .class("SlowVirtual")
            .run()
            .expect_status(0);
        let slow = slow_of(&outcome.path("java.hprof.txt"));
        let call = method(&slow, "SlowVirtual.call");
        assert_eq!((call.calls(), call.recursive, call.lost), (20, 0, 0));
        assert!(call.times.quantile(0.01) >= 35 * MILLI);
        assert_eq!(call.slowest.len(), 10);
        for call in &call.slowest {
            assert!(
                call.is_virtual && call.thread.starts_with("virtual-"),
                "{call:?}"
            );
            // What others compute on the same carriers meanwhile, 228 ms, is not its own.
            assert!(call.cpu >= 6 * MILLI && call.cpu <= 40 * MILLI, "{call:?}");
            assert!(call.wall >= 30 * MILLI + call.cpu, "{call:?}");
        }
        assert!(call.cpu >= 20 * 6 * MILLI);
    });
}

/// The samples whose stacks have a method, of those within slow calls or within the others.
fn samples_of(file: &Path, part: CallsPart, methods: [&str; 3]) -> [u64; 3] {
    let options = ReadOptions {
        calls: Some((part, "handle")),
        ..ReadOptions::default()
    };
    let contents = read(Input::open(file).expect("a profile"), &options).expect("a profile");
    let table = contents.cpu.last().expect("samples");
    methods.map(|method| {
        let is_in = |trace| {
            let frames = contents.stacks.frames_of(trace).iter();
            let mut frames = frames.map(|&frame| contents.stacks.frame(frame));
            frames.any(|frame| &*frame.method == method)
        };
        let rows = table.rows.iter().filter(|row| is_in(row.trace));
        rows.map(|row| row.cost).sum()
    })
}

/// Slow calls compute 1.2 s in rare() and all others 0.4 s in usual(). A machine that is so busy that a call of 2 ms takes 250 has
/// some of these among the slow ones.
#[test]
fn samples_within_slow_calls_are_kept_apart() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("slow=SlowSamples.handle:250ms,cpu=samples,interval=1,depth=16,cutoff=0")
            .class("SlowSamples")
            .run()
            .expect_status(0);
        let file = outcome.path("java.hprof.txt");
        let handle = slow_of(&file);
        let handle = method(&handle, "SlowSamples.handle");
        assert!(
            handle.calls() == 200 && handle.slow >= 4 && handle.slow <= 10,
            "{handle:?}"
        );
        let methods = ["rare", "usual", "elsewhere"];
        let [rare, usual, elsewhere] = samples_of(&file, CallsPart::Slow, methods);
        assert!(rare >= 600 && usual * 20 <= rare, "{rare} {usual}");
        assert_eq!(elsewhere, 0);
        let [rare, usual, elsewhere] = samples_of(&file, CallsPart::Fast, methods);
        assert!(usual >= 150 && rare * 20 <= usual, "{usual} {rare}");
        assert_eq!(elsewhere, 0);
    });
}

fn attach(running: &Running, options: &str) {
    let library = agent_library();
    let library = library.to_str().expect("a path");
    running.jcmd(&["JVMTI.agent_load", library, &format!("\"{options}\"")]);
}

fn ask(running: &Running, request: &str) {
    let mut stream = UnixStream::connect(control_socket(running.pid())).expect("a control socket");
    writeln!(stream, "{request}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("ok\n"), "{request}: {reply}");
}

fn round(running: &Running, number: u32) {
    std::fs::write(running.path(&format!("round{number}")), "").unwrap();
    running.wait_for_line(&format!("round {number}"));
}

#[test]
fn an_attached_agent_times_what_is_called_while_it_is_there() {
    // The jcmd of JDK 8 loads no agents.
    each_release_since(11, |jdk| {
        let running = Run::new(jdk).class("Late").args(["SlowCalls"]).start();
        running.wait_for_line("ready");
        round(&running, 1);
        let began = nanos_now();
        attach(&running, "slow=SlowCalls$Api.*:50ms,file=first.txt");
        round(&running, 2);
        ask(&running, "dump");
        ask(&running, "reset slow");
        ask(&running, "stop slow");
        round(&running, 3);
        ask(&running, "start");
        round(&running, 4);
        ask(&running, "detach");
        expect_known_calls(&slow_of(&running.path("first.txt")), began);
        round(&running, 5);
        attach(
            &running,
            "slow=SlowCalls$Api.fails:SlowCalls$Api.waits,cpu=samples,file=second.txt",
        );
        round(&running, 6);
        ask(&running, "detach");
        std::fs::write(running.path("end"), "").unwrap();
        let outcome: Outcome = running.finish().expect_status(0);
        let second = slow_of(&outcome.path("second.txt"));
        assert_eq!(second.methods.len(), 2);
        assert_eq!(method(&second, "SlowCalls$Api.fails").calls(), 40);
        assert!(method(&second, "SlowCalls$Api.waits").max() >= 120 * MILLI);
        assert!(
            !outcome.stderr.contains("internal error"),
            "{}",
            outcome.stderr
        );
    });
}
/// A call that waits for a monitor and for a lock says who had them. Looks come each 50 ms, and a hundred times as late as a look
/// takes: on a busy machine a look may take longer than a short wait allows, so longer ones follow.
#[test]
fn slow_calls_say_who_had_their_locks() {
    each_jdk(|jdk| {
        let expected = [
            "java.lang.Object",
            "java.util.concurrent.locks.ReentrantLock",
        ];
        let parts = ["250", "1000", "8000"];
        let call = parts.iter().find_map(|part| {
            let call = call_with_locks(jdk, part);
            let locks = call.owners.iter().map(|it| it.lock.as_str());
            let mut different: Vec<_> = locks.collect();
            // The holder of the lock may have been seen in more than one line.
            different.dedup();
            (different == expected).then_some(call)
        });
        let call = call.expect("a call with the owners of both locks");
        for owner in &call.owners {
            assert!(owner.thread.starts_with("Thread-"), "{owner:?}");
            assert!(
                owner.place.starts_with("SlowStrips.lambda$wants"),
                "{owner:?}"
            );
            assert!(owner.seen >= 1 && owner.at < call.wall);
        }
    });
}

/// The one call of a run whose waits last `part` milliseconds.
fn call_with_locks(jdk: &'static Jdk, part: &str) -> SlowCall {
    let outcome = Run::new(jdk)
        .jvm_args(["-Xcheck:jni"])
        .agent("slow=SlowStrips.handle")
        .class("SlowStrips")
        .args([part])
        .run()
        .expect_status(0);
    let slow = slow_of(&outcome.path("java.hprof.txt"));
    method(&slow, "SlowStrips.handle").slowest[0].clone()
}

/// Collections that the program asks for stop it within the call, and not within another one.
#[test]
fn slow_calls_say_when_collections_stopped_them() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .jvm_args(["-XX:+UseSerialGC", "-Xcheck:jni"])
            .agent("slow=SlowPauses.*,cpu=wall,depth=16")
            .class("SlowPauses")
            .run()
            .expect_status(0);
        let slow = slow_of(&outcome.path("java.hprof.txt"));
        let collects = &method(&slow, "SlowPauses.collects").slowest[0];
        assert_eq!(collects.pauses.len(), 3, "{collects:#?}");
        assert!(collects.stopped() > 0 && collects.stopped() <= collects.wall);
        let end = collects.pauses.iter().map(|it| it.0 + it.1).max();
        assert!(end.unwrap() <= collects.wall);
        let sleeps = &method(&slow, "SlowPauses.sleeps").slowest[0];
        assert_eq!(sleeps.pauses, []);
    });
}
