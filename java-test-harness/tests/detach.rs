//! Detaching while callbacks of all modes are under way on many threads.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use java_test_harness::{Run, Running, control_socket, each_jdk};

/// The agent's answer.
fn ask(running: &Running, request: &str) -> String {
    let mut stream = UnixStream::connect(control_socket(running.pid())).expect("a control socket");
    writeln!(stream, "{request}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn attach(running: &Running, options: &str) {
    running.load_agent(options);
}

/// The callbacks that are under way are waited for, quickly, and none is lost: otherwise the agent says that
/// one stays.
fn detach(running: &Running) {
    let began = Instant::now();
    let reply = ask(running, "detach");
    assert!(reply.starts_with("ok\n"), "{reply}");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(120), "detaching took {took:?}");
}

fn end(running: Running) {
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);
    assert!(outcome.stdout.ends_with("ended\n"));
    assert!(!outcome.stderr.contains("under way"), "{}", outcome.stderr);
    assert!(
        !outcome.stderr.contains("HPROF ERROR"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn all_modes_end_under_thread_churn_and_allocation() {
    each_jdk(|jdk| {
        let running = Run::new(jdk).class("Churn").start();
        running.wait_for_line("running");
        attach(
            &running,
            "heap=sites,monitor=y,cpu=samples,thread=y,interval=1,file=all.txt",
        );
        // These two modes are there once in a VM, and so is this chance.
        std::thread::sleep(Duration::from_millis(500));
        detach(&running);
        // The VM frees an environment at a later safepoint: the threads run on through some.
        running.jcmd(&["GC.run"]);
        std::thread::sleep(Duration::from_millis(200));
        end(running);
    });
}

/// Threads that end while the agent is detached must not stay in the VM's list of JVMTI thread states: the
/// next environment would make the VM write into their freed memory, and the program may abort
/// (`keep_environment` in hprof-vm).
#[test]
fn samples_end_again_and_again_under_thread_churn() {
    each_jdk(|jdk| {
        let running = Run::new(jdk).class("Churn").start();
        running.wait_for_line("running");
        for round in 0..12 {
            let options = format!("cpu=samples,engine=safepoint,interval=1,file={round}.txt");
            attach(&running, &options);
            std::thread::sleep(Duration::from_millis(5 * (round % 8)));
            detach(&running);
            running.jcmd(&["GC.run"]);
        }
        end(running);
    });
}

/// Each run makes its own rules for native code; those of the run before are freed when no handler reads them.
#[test]
#[cfg(target_arch = "x86_64")]
fn native_code_is_followed_in_each_run() {
    each_jdk(|jdk| {
        let running = Run::new(jdk).class("Churn").start();
        running.wait_for_line("running");
        let run = |round: u64, milliseconds| {
            let options = format!("cpu=samples,cstack=y,interval=1,file={round}.txt");
            attach(&running, &options);
            std::thread::sleep(Duration::from_millis(milliseconds));
            detach(&running);
            running.jcmd(&["GC.run"]);
        };
        for round in 0..4 {
            run(round, 50 + 150 * round);
        }
        // A thread is in native code at few samples, and at none in some half of a second.
        let has_native_code = (4..24).any(|round| {
            run(round, 500);
            let profile = std::fs::read_to_string(running.path(&format!("{round}.txt")));
            profile.unwrap().contains("[native] ")
        });
        assert!(has_native_code);
        end(running);
    });
}
