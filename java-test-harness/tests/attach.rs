//! Profiles of JVMs that run already, and the control socket.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use java_test_harness::{Jdk, Run, Running, agent_library, control_socket, each_release};

/// The control socket.
fn socket(running: &Running) -> PathBuf {
    control_socket(running.pid())
}

/// The agent's answer.
fn ask(running: &Running, request: &str) -> String {
    let mut stream = UnixStream::connect(socket(running)).expect("a control socket");
    writeln!(stream, "{request}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

fn value<'a>(reply: &'a str, name: &str) -> &'a str {
    let mut lines = reply.lines().filter_map(|line| line.split_once('='));
    let found = lines.find(|(key, _)| *key == name);
    found.unwrap_or_else(|| panic!("no {name} in {reply}")).1
}

/// Loads the agent with `jcmd`; what that says.
fn attach(running: &Running, options: &str) -> String {
    attach_copy(running, &agent_library(), options)
}

fn attach_copy(running: &Running, library: &Path, options: &str) -> String {
    let library = library.to_str().expect("a path");
    if options.is_empty() {
        running.jcmd(&["JVMTI.agent_load", library])
    } else {
        running.jcmd(&["JVMTI.agent_load", library, &format!("\"{options}\"")])
    }
}

/// A second copy of the agent, in a folder that goes when it is dropped.
fn copy_of_agent(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(name);
    std::fs::copy(agent_library(), &copy).unwrap();
    (folder, copy)
}

fn start(jdk: &'static Jdk) -> Running {
    let running = Run::new(jdk)
        .jvm_arg("-XX:+UnlockDiagnosticVMOptions")
        .class("DumpLoop")
        .start();
    running.wait_for_line("first");
    running
}

/// Returns whether the agent walks stacks itself on this processor.
fn has_walker() -> bool {
    cfg!(target_arch = "x86_64")
}

fn release(running: &Running) {
    std::fs::write(running.path("go"), "").unwrap();
    running.wait_for_line("second");
    std::fs::write(running.path("end"), "").unwrap();
}

/// Threads, descriptors and CPU timers of the process.
fn traces_of(running: &Running) -> (Vec<String>, usize, usize) {
    let at = |name: &str| format!("/proc/{}/{name}", running.pid());
    let tasks = std::fs::read_dir(at("task")).unwrap();
    let mut names: Vec<String> = tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok())
        // Requests end by themselves.
        .filter(|name| name.contains("HPROF") && !name.contains("request"))
        .collect();
    names.sort();
    let descriptors = std::fs::read_dir(at("fd")).unwrap().count();
    let timers = std::fs::read_to_string(at("timers")).unwrap_or_default();
    (names, descriptors, timers.matches("ID:").count())
}

#[test]
fn samples_begin_and_end_while_the_program_runs() {
    each_release(|jdk| {
        let running = start(jdk);
        attach(&running, "");
        assert_eq!(value(&ask(&running, "status"), "state"), "idle");
        let before = traces_of(&running);
        for round in 0..3 {
            let file = running.path(&format!("{round}.txt"));
            let request = format!("start cpu=samples,interval=1,file={}", file.display());
            let reply = ask(&running, &request);
            assert_eq!(value(&reply, "state"), "running", "{reply}");
            assert_eq!(value(&reply, "modes"), "cpu=samples");
            running.wait_until("samples", |running| {
                value(&ask(running, "metrics"), "samples")
                    .parse::<u32>()
                    .unwrap()
                    > 100
            });
            assert!(traces_of(&running).2 > 0, "no timers");
            let reply = ask(&running, "detach");
            assert!(reply.starts_with("ok\n"), "{reply}");
            assert_eq!(value(&reply, "output"), file.to_str().unwrap());
            running.wait_until("the end of the agent's threads", |running| {
                traces_of(running).0.is_empty()
            });
            assert!(!socket(&running).exists());
            assert_eq!(traces_of(&running).2, 0, "timers stay");
            attach(&running, "");
        }
        // A thread gives itself its name.
        running.wait_until("the agent's thread", |running| {
            traces_of(running).0 == before.0
        });
        let after = traces_of(&running);
        assert!(
            after.1 <= before.1,
            "descriptors: {} and {}",
            before.1,
            after.1
        );
        release(&running);
        let outcome = running.finish().expect_status(0);
        for round in 0..3 {
            let profile = outcome.text_profile(&format!("{round}.txt"));
            assert!(profile.samples_with("DumpLoop.second") > 40);
            assert_eq!(profile.samples_with("DumpLoop.third"), 0);
            assert_eq!(profile.counter("internal_errors"), 0);
            // The program loads no class any more, and yet the agent's own walk is in use.
            let is_proved =
                profile.counter("walks_checked") >= 16 || profile.counter("walks_agreed") >= 16;
            assert!(!has_walker() || is_proved, "round {round}");
        }
    });
}

#[test]
fn an_attached_run_goes_on_to_the_end_of_the_vm() {
    each_release(|jdk| {
        let running = start(jdk);
        attach(&running, "cpu=samples,format=b,file=late.hprof");
        release(&running);
        let outcome = running.finish().expect_status(0);
        let profile = outcome.binary_profile("late.hprof");
        assert!(profile.samples_with("DumpLoop.third") >= 20);
        assert_eq!(profile.samples_with("DumpLoop.first"), 0);
    });
}

#[test]
fn modes_are_stopped_started_reset_and_dumped_one_by_one() {
    each_release(|jdk| {
        let running = Run::new(jdk)
            .agent("cpu=samples,heap=sites,heapinterval=64k,interval=1,file=p.txt")
            .class("DumpLoop")
            .start();
        running.wait_for_line("first");
        let mode = std::fs::metadata(socket(&running))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let samples = || {
            value(&ask(&running, "metrics"), "samples")
                .parse::<u32>()
                .unwrap()
        };
        assert!(samples() > 0);
        assert!(ask(&running, "stop cpu").starts_with("ok\n"));
        assert!(ask(&running, "reset cpu").starts_with("ok\n"));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(samples(), 0, "counted while stopped");
        assert!(ask(&running, "start").starts_with("ok\n"));
        running.wait_until("samples", |_| samples() > 20);
        let reply = ask(&running, "dump sites");
        assert_eq!(
            value(&reply, "output"),
            running.path("p.txt").to_str().unwrap()
        );
        assert!(samples() > 20, "a dump of sites forgot the samples");
        assert!(ask(&running, "dump cpu").starts_with("ok\n"));
        assert!(ask(&running, "dump heap").starts_with("ok\n"));
        assert!(ask(&running, "gc").starts_with("ok\n"));
        assert!(ask(&running, "dump monitor").starts_with("error this run does not record"));
        assert!(ask(&running, "stop heap").starts_with("error "));
        assert!(ask(&running, "nonsense").starts_with("error unknown request"));
        assert!(ask(&running, "start file=other.txt,cpu=samples").starts_with("error a run is"));
        assert!(ask(&running, &"x".repeat(100_000)).starts_with("error "));
        release(&running);
        let outcome = running.finish().expect_status(0);
        assert!(!control_socket(outcome.pid).exists());
        let profile = outcome.text_profile("p.txt");
        assert_eq!(profile.tables.len(), 2, "one asked for, one at the end");
        assert_eq!(profile.site_tables.len(), 2);
        assert_eq!(profile.heaps.len(), 1);
        assert_eq!(profile.tables[0].rows.len(), profile.tables[0].rows.len());
    });
}

#[test]
fn a_stopped_safepoint_engine_leaves_the_profile_thread_idle() {
    each_release(|jdk| {
        let running = Run::new(jdk)
            .agent("cpu=samples,engine=safepoint,interval=1,file=p.txt")
            .class("DumpLoop")
            .start();
        running.wait_for_line("first");
        let cpu_millis = || {
            let metrics = ask(&running, "metrics");
            let millis = value(&metrics, "profile_thread_cpu_ms").parse::<u64>();
            millis.expect("a number")
        };
        assert!(ask(&running, "stop").starts_with("ok\n"));
        let before = cpu_millis();
        std::thread::sleep(std::time::Duration::from_secs(2));
        let burnt = cpu_millis() - before;
        assert!(burnt < 150, "{burnt} ms in two seconds");
        release(&running);
        running.finish().expect_status(0);
    });
}

#[test]
fn a_refused_stop_stops_nothing() {
    each_release(|jdk| {
        let running = Run::new(jdk)
            .agent("cpu=samples,monitor=y,interval=1,file=p.txt")
            .class("DumpLoop")
            .start();
        running.wait_for_line("first");
        for request in ["stop cpu monitor", "stop cpu heap", "stop cpu sites"] {
            assert!(ask(&running, request).starts_with("error "), "{request}");
            let state = value(&ask(&running, "status"), "state").to_owned();
            assert_eq!(state, "running", "after {request:?}");
        }
        let reply = ask(&running, "stop cpu");
        assert_eq!(value(&reply, "stopped"), "cpu", "{reply}");
        let status = ask(&running, "status");
        assert_eq!(value(&status, "state"), "stopped");
        assert_eq!(value(&status, "recording"), "monitor");
        for start in ["start cpu", "start cpu=samples"] {
            let reply = ask(&running, start);
            assert_eq!(
                value(&reply, "recording"),
                "monitor cpu",
                "{start}: {reply}"
            );
            assert!(ask(&running, "reset cpu").starts_with("ok\n"));
            let samples = || value(&ask(&running, "status"), "samples") != "0";
            running.wait_until("samples", |_| samples());
            assert!(ask(&running, "stop cpu").starts_with("ok\n"));
        }
        let reply = ask(&running, "start sites");
        assert!(
            reply.starts_with("error this run does not record sites"),
            "{reply}"
        );
        release(&running);
        running.finish().expect_status(0);
    });
}

#[test]
fn what_a_late_start_cannot_do_says_why() {
    let running = start(Jdk::feature_release(17));
    attach(&running, "");
    let reply = ask(&running, "start cpu=sampels");
    assert!(
        reply.starts_with("error ") && reply.contains("option value must be"),
        "{reply}"
    );
    let reply = ask(&running, "start depth=3");
    assert!(
        reply.starts_with("error these options name no mode"),
        "{reply}"
    );
    assert!(ask(&running, "dump").starts_with("error nothing is profiled"));
    let said = attach(&running, "bogus=1");
    assert!(
        said.contains("-1") || said.contains("return code"),
        "{said}"
    );
    assert!(ask(&running, "detach").starts_with("ok\n"));
    release(&running);
    let outcome = running.finish().expect_status(0);
    assert!(
        outcome.stderr.contains("Unknown option: bogus"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn heap_modes_can_begin_late() {
    each_release(|jdk| {
        let running = Run::new(jdk).class("KeepsAndMakes").start();
        running.wait_for_line("ready");
        attach(
            &running,
            "heap=sites,heapinterval=64k,cutoff=0,file=sites.txt",
        );
        // It makes about a megabyte in a millisecond or two.
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(ask(&running, "dump heap").starts_with("ok\n"));
        let reply = ask(&running, "detach");
        assert!(reply.starts_with("ok\n"), "{reply}");
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let profile = outcome.text_profile("sites.txt");
        assert_eq!((profile.heaps.len(), profile.site_tables.len()), (1, 1));
        assert!(profile.sites_with("KeepsAndMakes.make").count() > 0);
        // The objects from before the agent are in no row. A few objects have no stack: those of the VM.
        let rows = profile.sites().rows.iter();
        let old = rows
            .clone()
            .filter(|row| row.class.starts_with("KeepsAndMakes$Old"));
        assert_eq!(old.count(), 0);
        let without_stack = rows.filter(|row| profile.traces[&row.trace].frames.is_empty());
        let objects: u64 = without_stack.map(|row| row.allocated_objects).sum();
        assert!(objects < 10_000, "{objects} objects");
    });
}

/// Returns whether the process has a handler for the signal of the profiler, which the JVM has not.
fn handles_its_signal(running: &Running) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let caught = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .expect("a mask of signals");
    caught & (1 << (libc::SIGSTKFLT - 1)) != 0
}

#[test]
fn a_refused_start_leaves_the_process_as_it_was() {
    each_release(|jdk| {
        // Allocation events go to one agent only, which this copy of the agent is.
        let (_folder, copy) = copy_of_agent("libother.so");
        let options = "heap=sites,heapinterval=512k,control=n,file=other.txt";
        let running = Run::new(jdk)
            .jvm_arg(format!("-agentpath:{}={options}", copy.display()))
            .class("TwoAtALock")
            .start();
        running.wait_for_line("running");
        let end = |running: &Running| {
            running.wait_until("the end of the agent's threads", |running| {
                !traces_of(running)
                    .0
                    .iter()
                    .any(|name| name == "HPROF timer")
            });
            attach(running, "");
        };
        let detach = |running: &Running| {
            let reply = ask(running, "detach");
            assert!(reply.starts_with("ok\n"), "{reply}");
            end(running);
        };
        attach(&running, "");
        for mode in ["cpu=samples", "cpu=times"] {
            let reply = ask(&running, &format!("start {mode},heap=sites,file=no.txt"));
            assert!(reply.contains("they go to one agent only"), "{reply}");
            assert!(!handles_its_signal(&running), "{mode}");
            assert!(!running.path("no.txt").exists());
        }
        for (mode, file) in [
            ("cpu=times", "calls.txt"),
            ("cpu=samples", "samples.txt"),
            ("cpu=times", "again.txt"),
        ] {
            let file = running.path(file);
            let reply = ask(&running, &format!("start {mode},file={}", file.display()));
            assert_eq!(value(&reply, "modes"), mode, "{reply}");
            detach(&running);
            assert!(!handles_its_signal(&running), "{mode}");
            assert!(file.exists());
        }
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        assert!(
            !outcome.stderr.contains("another library"),
            "{}",
            outcome.stderr
        );
    });
}

#[test]
fn contention_is_recorded_from_a_late_start_to_the_detaching() {
    each_release(|jdk| {
        let running = Run::new(jdk).class("TwoAtALock").start();
        running.wait_for_line("running");
        // The hook class is there the second time.
        let mut recorded = Vec::new();
        for file in ["locks.txt", "again.txt", "more.txt"] {
            let began = std::time::Instant::now();
            attach(&running, &format!("monitor=y,file={file},depth=6"));
            let reply = ask(&running, "status");
            assert_eq!(value(&reply, "modes"), "monitor=y", "{reply}");
            std::thread::sleep(std::time::Duration::from_millis(500));
            let reply = ask(&running, "detach");
            assert!(reply.starts_with("ok\n"), "{reply}");
            recorded.push((file, began.elapsed().as_millis() as u64));
            running.wait_until("the end of the agent's threads", |running| {
                traces_of(running).0.is_empty()
            });
        }
        // The hooks are gone, and the program goes on.
        std::thread::sleep(std::time::Duration::from_millis(100));
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        assert!(outcome.stdout.ends_with("ended\n"));
        for (file, at_most) in recorded {
            let profile = outcome.text_profile(file);
            for (class, method) in [
                ("java.lang.Object", "TwoAtALock.monitor"),
                (
                    "java.util.concurrent.locks.ReentrantLock",
                    "TwoAtALock.lock",
                ),
            ] {
                let (count, millis) =
                    profile.contended(|row, trace| row.method == class && trace.has(method));
                // Each of two threads waits at most once in 4 ms; a busy machine leaves them few of these.
                let is_right = (1..at_most / 2 + 10).contains(&count) && millis > 0.0;
                assert!(
                    is_right,
                    "{file}, {class}: {count}, {millis} ms, {at_most} ms recorded"
                );
            }
            assert_eq!(profile.monitor_dumps.len(), 1);
            assert_eq!(profile.counter("internal_errors"), 0);
        }
    });
}

/// A JVM may have been recorded by an earlier version of the agent, whose classes stay for ever.
#[test]
fn a_jvm_that_had_another_copy_of_the_agent_is_recorded() {
    each_release(|jdk| {
        let (_folder, copy) = copy_of_agent("libhprof_old.so");
        let running = Run::new(jdk).class("TwoAtALock").start();
        running.wait_for_line("running");
        let detach = || {
            let reply = ask(&running, "detach");
            assert!(reply.starts_with("ok\n"), "{reply}");
            running.wait_until("the end of the agent's threads", |running| {
                let names = traces_of(running).0;
                !names.iter().any(|name| name.starts_with("HPROF"))
            });
        };
        let options = "cpu=times,monitor=y,heap=sites,file=old.txt";
        attach_copy(&running, &copy, options);
        detach();
        for mode in ["monitor=y", "heap=sites", "cpu=samples"] {
            attach(&running, &format!("{mode},file={mode}.txt,depth=6"));
            std::thread::sleep(std::time::Duration::from_millis(300));
            detach();
        }
        attach(&running, "");
        let reply = ask(&running, "start cpu=times,file=no.txt");
        let reason = format!(
            "another copy of the agent ({}) has its hooks",
            copy.display()
        );
        assert!(reply.contains(&reason), "{reply}");
        assert!(
            reply.contains("use that copy, or restart the program"),
            "{reply}"
        );
        assert!(!running.path("no.txt").exists());
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        assert!(
            !outcome.stderr.contains("does not take"),
            "{}",
            outcome.stderr
        );
        let locks = outcome.text_profile("monitor=y.txt");
        let (count, _) = locks.contended(|row, trace| {
            row.method == "java.util.concurrent.locks.ReentrantLock" && trace.has("TwoAtALock.lock")
        });
        // Each of two threads waits once in 4 ms at most; they may have found a step in which they wait seldom.
        assert!((1..300).contains(&count), "{count}");
    });
}

/// The hooks make the methods obsolete in which threads wait already.
#[test]
fn methods_that_wait_when_the_hooks_come_have_names() {
    each_release(|jdk| {
        let running = Run::new(jdk).class("WaitsForALock").start();
        running.wait_for_line("waiting");
        attach(&running, "cpu=wall,monitor=y,depth=12,file=waits.txt");
        // Each thread of the JVM has a share of them, of which there are about ten.
        running.wait_until("samples", |running| {
            let samples = value(&ask(running, "status"), "samples").parse::<u64>();
            samples.unwrap() >= 400
        });
        let reply = ask(&running, "detach");
        assert!(reply.starts_with("ok\n"), "{reply}");
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let profile = outcome.text_profile("waits.txt");
        assert_eq!(profile.counter("unknown_methods"), 0);
        let waiting = profile.samples(|trace| {
            let methods = trace.methods();
            methods.contains(&"WaitsForALock.waits")
                && methods.iter().any(|it| {
                    it.starts_with("java.util.concurrent.locks.AbstractQueuedSynchronizer.")
                })
        });
        assert!(waiting > 10, "{waiting}");
    });
}

#[test]
fn allocations_are_recorded_again_and_again() {
    each_release(|jdk| {
        let running = Run::new(jdk).class("KeepsAndMakes").start();
        running.wait_for_line("ready");
        let record = |options: &str, millis| {
            attach(&running, options);
            std::thread::sleep(std::time::Duration::from_millis(millis));
            let reply = ask(&running, "detach");
            assert!(reply.starts_with("ok\n"), "{reply}");
            running.wait_until("the end of the agent's threads", |running| {
                traces_of(running).0.is_empty()
            });
        };
        let sites = "heap=sites,cutoff=0,heapinterval";
        record(&format!("{sites}=64k,file=one.txt"), 500);
        record(&format!("{sites}=64k,format=b,file=binary.hprof"), 300);
        record(&format!("{sites}=0,file=exact.txt"), 300);
        std::fs::write(running.path("later"), "").unwrap();
        running.wait_for_line("later");
        record(&format!("{sites}=64k,monitor=y,file=two.txt"), 300);
        record(&format!("{sites}=0,file=exact-again.txt"), 300);
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        // None has what those before it had: later() begins between the first two of them and the last two.
        for (file, here, elsewhere) in [
            ("one.txt", "earlier", "later"),
            ("exact.txt", "earlier", "later"),
            ("two.txt", "later", "earlier"),
            ("exact-again.txt", "later", "earlier"),
        ] {
            let profile = outcome.text_profile(file);
            assert_eq!(profile.counter("internal_errors"), 0, "{file}");
            let made = |method: &str| -> u64 {
                let method = format!("KeepsAndMakes.{method}");
                let rows = profile.sites_with(&method);
                rows.map(|row| row.allocated_objects).sum()
            };
            assert!(made(here) > 1000, "{file}: {}", made(here));
            assert_eq!(made(elsewhere), 0, "{file}");
        }
        for file in ["exact.txt", "exact-again.txt"] {
            let without = outcome.text_profile(file).counter("without_event");
            // The second run finds the first one's jump.
            assert!(
                without > 1000 || cfg!(not(target_arch = "x86_64")),
                "{file}: {without}"
            );
        }
        assert!(outcome.path("binary.hprof").metadata().unwrap().len() > 1000);
    });
}
