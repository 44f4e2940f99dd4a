//! A mode that counts nothing of what it was asked for says so, with the reason, and the end does not offer the file as a
//! profile.

use java_test_harness::{Jdk, Outcome, Run, Signal, each_jdk};

/// Runs a program as `hprof-rs run` does, whose end offers the profile.
fn run(options: &str) -> Outcome {
    let run = Run::new(Jdk::compiler()).agent(options).class("HelloWorld");
    let run = run.env("HPROF_RS_RUN_FROM", "/");
    run.run().expect_status(0)
}

/// Expects these lines, in any order, and that the profile is offered only if `is_offered`.
fn expect(outcome: &Outcome, lines: &[&str], is_offered: bool) {
    for line in lines {
        let count = outcome.stderr.lines().filter(|it| it == line).count();
        assert_eq!(count, 1, "\"{line}\" in\n{}", outcome.stderr);
    }
    let said = |text: &str| outcome.stderr.contains(text);
    let nothing = " has no counts, for the reason above";
    assert_eq!(said(nothing), !is_offered, "{}", outcome.stderr);
    assert_eq!(said("look at it with"), is_offered, "{}", outcome.stderr);
}

#[test]
fn modes_that_counted_nothing_say_why() {
    let outcome = run("cpu=times,include=no.such.*");
    let line = "HPROF: cpu=times has counted no call: the program loaded no class that include= and exclude= choose";
    expect(&outcome, &[line], false);
    let outcome = run("cpu=old,include=java.util.zip.CRC32C");
    let line = "HPROF: cpu=old has counted no call: the program loaded no class that include= and exclude= choose";
    expect(&outcome, &[line], false);
    let outcome = run("cpu=samples,depth=0");
    let line =
        "HPROF: cpu=samples has no sample with a stack: depth=0 keeps no stacks, so leave it out";
    expect(&outcome, &[line], false);
}

/// One mode has counts, so the file is a profile.
#[test]
fn a_profile_with_some_counts_is_offered() {
    let outcome = run("cpu=times,include=no.such.*,heap=sites");
    let line = "HPROF: cpu=times has counted no call: the program loaded no class that include= and exclude= choose";
    expect(&outcome, &[line], true);
    let outcome = run("cpu=times,heap=sites,monitor=y");
    expect(&outcome, &[], true);
    let remarks = outcome
        .stderr
        .lines()
        .filter(|line| line.starts_with("HPROF:"));
    assert_eq!(remarks.collect::<Vec<_>>(), [""; 0]);
}

/// A state in which a mode counts nothing: what is asked for, what the VM lacks, and what the agent reports.
struct State {
    options: &'static str,
    /// As `hprof_vm::Fault` names it.
    fault: &'static str,
    program: &'static [&'static str],
    /// In one line of standard error.
    line: &'static str,
    /// In the mark of the profile: the mode, and the begin of the reason.
    mark: &'static str,
}

const SPIN: &[&str] = &["Spin", "0.3"];
const COUNTED: &[&str] = &["Counted"];

const EXITS: &[&str] = &["Exits", "exit", "0"];

const STATES: [State; 17] = [
    State {
        options: "cpu=times,include=java.lang.ArithmeticException",
        fault: "",
        program: COUNTED,
        line: "cpu=times has counted no call: the program called none of the",
        mark: "mode=cpu cpu=times has counted no call: the program called none of the",
    },
    State {
        options: "cpu=times",
        fault: "class",
        program: COUNTED,
        line: "this VM does not take the agent's Java class: calls are not counted",
        mark: "mode=cpu cpu=times has counted no call: this VM does not take the agent's Java class",
    },
    State {
        options: "cpu=times,include=java.lang.Thread",
        fault: "hooks",
        program: COUNTED,
        line: "classes with the agent's hooks; cpu=samples needs no hooks",
        mark: "mode=cpu cpu=times has counted no call: the VM refused all",
    },
    State {
        options: "cpu=samples",
        fault: "timers",
        program: SPIN,
        line: "a thread got no CPU timer and is not sampled",
        mark: "mode=cpu cpu=samples has no sample with a stack: threads got no CPU timer; raise",
    },
    State {
        options: "cpu=samples",
        fault: "signals",
        program: SPIN,
        line: "ms of CPU time; use engine=safepoint",
        mark: "mode=cpu cpu=samples has no sample with a stack: signal ",
    },
    State {
        options: "cpu=samples,timeline=y",
        fault: "signals",
        program: SPIN,
        line: "ms of CPU time; use engine=safepoint",
        mark: "mode=cpu cpu=samples has no sample with a stack: signal ",
    },
    State {
        options: "cpu=samples",
        fault: "threads",
        program: SPIN,
        line: "this VM hides its threads from the signal engine: use engine=safepoint",
        mark: "mode=cpu cpu=samples has no sample with a stack: this VM hides its threads",
    },
    State {
        options: "cpu=samples,interval=2",
        fault: "stacks",
        program: SPIN,
        line: "cpu=samples has no sample with a stack: the VM gave no stack for any of",
        mark: "mode=cpu cpu=samples has no sample with a stack: the VM gave no stack for any of",
    },
    State {
        options: "cpu=samples,interval=2",
        fault: "stacks",
        program: SPIN,
        line: "stacks of this VM are not as the agent knows them: cpu=samples uses AsyncGetCallTrace, which loses more samples",
        mark: "mode=cpu cpu=samples has no sample with a stack: the VM gave no stack for any of",
    },
    State {
        options: "cpu=samples,interval=2",
        fault: "room",
        program: SPIN,
        line: "were lost, as the machine left the agent no time; choose a larger interval=",
        mark: "mode=cpu cpu=samples has no sample with a stack: all ",
    },
    State {
        options: "cpu=samples,interval=2",
        fault: "handler",
        program: SPIN,
        line: "cpu=samples has no sample with a stack: the program has put a handler of its own in place of the one for signal",
        mark: "mode=cpu cpu=samples has no sample with a stack: the program has put a handler of its own",
    },
    State {
        options: "event=no_group:no_event",
        fault: "",
        program: SPIN,
        line: "event=no_group:no_event: ",
        mark: "mode=cpu event=no_group:no_event is off, as the kernel refuses it",
    },
    State {
        options: "slow=Counted.nothing",
        fault: "",
        program: COUNTED,
        line: "slow=Counted.nothing has timed no call: class Counted has no method nothing",
        mark: "mode=slow slow= has found no method",
    },
    State {
        options: "slow=Exits.main",
        fault: "",
        program: EXITS,
        line: "slow= has timed no call: the program ended no call of the 1 methods that it names",
        mark: "mode=slow slow= has timed no call: the program ended no call of the 1 methods",
    },
    State {
        options: "slow=Counted.fib",
        fault: "class",
        program: COUNTED,
        line: "this VM does not take the agent's Java class for slow=",
        mark: "mode=slow slow= has timed no call: this VM does not take the agent's Java class",
    },
    State {
        options: "native=512k",
        fault: "imports",
        program: COUNTED,
        line: "native= finds no import of malloc that it could change: no allocation is seen",
        mark: "mode=native native=524288 has sampled no allocation: no import table could be changed",
    },
    State {
        options: "monitor=juc",
        fault: "class",
        program: COUNTED,
        line: "the VM does not take the hooks in java.util.concurrent.locks",
        mark: "mode=monitor monitor=y has counted no lock: the VM does not take the hooks",
    },
];

fn run_with(jdk: &'static Jdk, fault: &str, options: &str, program: &[&str]) -> Outcome {
    let (&class, arguments) = program.split_first().expect("a class");
    let run = Run::new(jdk).agent(options).class(class);
    let run = run.args(arguments.iter().copied());
    let run = run.env("HPROF_RS_TEST_FAULTS", fault);
    run.env("HPROF_RS_RUN_FROM", "/").run()
}

#[test]
fn each_state_has_its_line_and_its_mark() {
    for state in &STATES {
        let outcome = run_with(Jdk::compiler(), state.fault, state.options, state.program);
        let outcome = outcome.expect_status(0);
        let lines = outcome.stderr.lines();
        let lines: Vec<&str> = lines.filter(|line| line.contains(state.line)).collect();
        assert_eq!(lines.len(), 1, "\"{}\" in\n{}", state.line, outcome.stderr);
        assert!(
            !outcome.stderr.contains("look at it with"),
            "{}",
            outcome.stderr
        );
        let text = String::from_utf8_lossy(&outcome.bytes("java.hprof.txt")).into_owned();
        let mark = format!("# hprof-rs nothing: {}", state.mark);
        let marks = text.lines().filter(|line| line.starts_with(&mark)).count();
        assert_eq!(marks, 1, "\"{mark}\" in\n{text}");
    }
}

/// The event, where it is there; hooks, where it is not. Objects of the start are counted without either.
#[test]
fn a_vm_that_tells_of_no_allocation_has_a_line() {
    each_jdk(|jdk| {
        let (fault, line) = match jdk.feature() {
            ..=8 => (
                "class",
                "this VM does not take the hooks that count allocations, none are recorded",
            ),
            _ => (
                "allocations",
                "this VM does not tell of each allocation yet; heap=sites misses those until",
            ),
        };
        let outcome = run_with(jdk, fault, "heap=sites", COUNTED).expect_status(0);
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    });
}

/// An agent that comes late knows no objects of the start. A mode that then sees nothing says so at the end.
#[test]
fn modes_that_begin_late_and_see_nothing_say_why() {
    for (options, fault, why) in [
        (
            "heap=sites",
            "allocations",
            "mode=sites heap=sites has recorded no allocation: the VM has reported none; use heap=dump, which needs no events",
        ),
        (
            "heap=sites,heapinterval=2000m",
            "",
            "mode=sites heap=sites has recorded no allocation: the program allocated too little for heapinterval=, so leave it \
             out",
        ),
        (
            "native=2000m",
            "",
            "mode=native native=2097152000 has sampled no allocation: the program allocated too little, so give it a smaller \
             number",
        ),
    ] {
        let run = Run::new(Jdk::compiler()).class("Idle");
        let running = run.env("HPROF_RS_TEST_FAULTS", fault).start();
        running.wait_for_line("ready");
        running.load_agent(&format!("{options},file=late.txt"));
        running.signal(Signal::Terminate);
        let outcome = running.finish().expect_status(143);
        let (_, line) = why.split_once(' ').expect("a mode");
        let line = format!("HPROF: {line}");
        let count = outcome.stderr.lines().filter(|it| *it == line).count();
        assert_eq!(count, 1, "{options}: \"{line}\" in\n{}", outcome.stderr);
        let text = String::from_utf8_lossy(&outcome.bytes("late.txt")).into_owned();
        let mark = format!("# hprof-rs nothing: {why}");
        assert_eq!(text.lines().filter(|it| *it == mark).count(), 1, "{text}");
    }
}

/// With profiles that are sent away there is no file that could have the mark.
#[test]
fn a_mode_that_has_nothing_to_send_says_why() {
    let options = "continuous=http://127.0.0.1:9,cpu=samples,pushevery=1";
    let outcome = run_with(Jdk::compiler(), "signals", options, SPIN).expect_status(0);
    let lines = outcome.stderr.lines();
    let is_it = |line: &&str| {
        line.starts_with("HPROF: cpu=samples has no sample with a stack: signal ")
            && line.ends_with(" ms of CPU time; use engine=safepoint")
    };
    assert_eq!(lines.filter(is_it).count(), 1, "{}", outcome.stderr);
    assert_eq!(outcome.files(), [""; 0]);
}

/// Where the kernel counts page faults.
#[test]
fn an_event_that_no_thread_had_has_a_line() {
    let options = "event=page-faults,every=100000000";
    let outcome = run_with(Jdk::compiler(), "", options, SPIN).expect_status(0);
    if outcome.stderr.contains("event=page-faults: ") {
        eprintln!("the kernel refuses: {}", outcome.stderr);
        return;
    }
    let line = "HPROF: event=page-faults has no sample with a stack: no thread had 100000000 such events; record for longer, \
                or choose a smaller every=";
    expect(&outcome, &[line], false);
}

/// Each thread needs an open file.
#[test]
fn an_event_without_open_files_has_a_line() {
    let options = "event=page-faults";
    let outcome = run_with(Jdk::compiler(), "timers", options, SPIN).expect_status(0);
    if outcome.stderr.contains("event=page-faults: ") {
        eprintln!("the kernel refuses: {}", outcome.stderr);
        return;
    }
    let line = "a thread is not sampled, as its event cannot be counted: ";
    let lines = outcome.stderr.lines().filter(|it| it.contains(line));
    assert_eq!(lines.count(), 1, "{}", outcome.stderr);
    let text = String::from_utf8_lossy(&outcome.bytes("java.hprof.txt")).into_owned();
    let mark = "# hprof-rs nothing: mode=cpu event=page-faults has no sample with a stack: each thread needs an open file";
    let marks = text.lines().filter(|line| line.starts_with(mark));
    assert_eq!(marks.count(), 1, "{text}");
}

/// Allocations count, by stacks of native code alone.
#[test]
fn stacks_without_java_have_a_line_and_a_counter() {
    let outcome = run_with(Jdk::compiler(), "exports", "native=1", COUNTED).expect_status(0);
    let line =
        "native=: stacks of this VM are not as the agent knows them: they have no frames of Java";
    let lines = outcome.stderr.lines().filter(|it| it.contains(line));
    assert_eq!(lines.count(), 1, "{}", outcome.stderr);
    let text = String::from_utf8_lossy(&outcome.bytes("java.hprof.txt")).into_owned();
    let counters = text.lines().find(|line| line.contains("native_samples="));
    let counters = counters.unwrap_or_else(|| panic!("{text}"));
    assert!(counters.ends_with(" java_frames=n"), "{counters}");
    assert!(outcome.profile().counter("native_samples") > 0);
}

/// Classes that are loaded before the agent rewrites them are refused, later ones are not.
#[test]
fn a_part_that_the_vm_refuses_has_a_line() {
    let outcome = run_with(Jdk::compiler(), "hooks", "cpu=times", COUNTED).expect_status(0);
    let lines = outcome.stderr.lines();
    let is_it = |line: &&str| {
        line.starts_with("HPROF: cpu=times lacks the calls of ")
            && line.ends_with("the agent's hooks; cpu=samples needs no hooks")
    };
    assert_eq!(lines.filter(is_it).count(), 1, "{}", outcome.stderr);
}

/// The agent refuses to start: there is no profile, and the program has not run.
#[test]
fn events_that_another_agent_has_end_the_start() {
    for (options, line) in [
        (
            "heap=sites",
            "heap=sites cannot have the VM's allocation events",
        ),
        ("monitor=y", "monitor=y cannot have the VM's events"),
    ] {
        let outcome = run_with(Jdk::compiler(), "events", options, COUNTED);
        let outcome = outcome.expect_status(1);
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
        assert!(!outcome.stdout.contains("done"), "{}", outcome.stdout);
        assert_eq!(outcome.files(), [""; 0]);
    }
}
