//! The cost of loading the agent into a running JVM, and whether anything remains after detaching.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use java_test_harness::{Jdk, Run, Running};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, mebibytes, median};
use super::listener::{front_end, memory};

/// How often the agent comes and goes for each pair that is asked for: 200 times by default.
const ROUNDS: usize = 40;
/// How long it samples each time.
const SAMPLING: Duration = Duration::from_millis(300);

/// A program with 20,000 classes that is attached to again and again.
pub fn attach(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::compiler();
    let running = Run::new(jdk)
        .jvm_args(["-Xms128m", "-Xmx128m", "-XX:+UseSerialGC"])
        .jvm_arg("-XX:+AlwaysPreTouch")
        .time_limit(Duration::from_secs(600))
        .class("ManyClasses")
        .args(["20000"])
        .start();
    running.wait_for_line("ready");
    let mut program = Program {
        running: &running,
        asked: 0,
    };
    let profile = running.path("attached.txt");
    let options = format!("cpu=samples,file={}", profile.display());
    let (mut plain, mut attached, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = ROUNDS * arguments.pairs.max(1);
    for round in 1..=rounds {
        program.answer()?;
        let started = Instant::now();
        hprof_rs(&["attach", &running.pid().to_string(), &options])?;
        let took = started.elapsed();
        attached.push(program.answer()?);
        thread::sleep(SAMPLING);
        hprof_rs(&["control", &running.pid().to_string(), "detach"])?;
        program.wait_for_the_end_of_the_agent();
        let text = fs::read_to_string(&profile)?;
        ensure!(text.contains("CPU SAMPLES END"), "no profile");
        // A span of the same length in which nothing happens, but that a program starts.
        program.answer()?;
        let started = Instant::now();
        hprof_rs(&["options"])?;
        thread::sleep(took.saturating_sub(started.elapsed()));
        plain.push(program.answer()?);
        // By then nothing is expected to grow any more.
        if round == rounds / 4 || round == rounds {
            counts.push(program.counts()?);
        }
    }
    fs::write(running.path("end"), "")?;
    let outcome = running.finish();
    ensure!(outcome.status == Some(0), "{}", outcome.report());
    let mut add = |measure, plain: f64, profiled: f64, unit, most| {
        figures.add(Figure {
            benchmark: "attach",
            case: format!("{jdk}, 20,000 classes, {rounds} times"),
            measure,
            plain: Some(plain),
            profiled,
            unit,
            result: profiled - plain,
            wanted: Wanted::AtMost(most),
        });
    };
    add("pause, more", median(plain), median(attached), "ms", 20.0);
    let [before, after] = &counts[..] else {
        unreachable!("counted twice")
    };
    add("threads, more", before.0, after.0, "", 0.0);
    add("descriptors, more", before.1, after.1, "", 0.0);
    // The Java heap is touched beforehand; what is left are arenas of the allocator.
    add("memory, more", before.2, after.2, "MiB", 8.0);
    Ok(())
}

/// Counting calls late: what each costs, whether it costs nothing afterwards, and the pauses when
/// it begins and ends.
pub fn late(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        if arguments.chooses("fib") {
            late_fib(jdk, arguments.pairs, figures)?;
        }
        if arguments.chooses("pause") {
            late_pauses(jdk, figures)?;
        }
    }
    Ok(())
}

fn late_fib(jdk: &'static Jdk, pairs: usize, figures: &mut Figures) -> Result<()> {
    let limit = Duration::from_secs(600);
    let run = Run::new(jdk).time_limit(limit).class("LateFib");
    let running = run.start();
    running.wait_for_line("ready");
    let mut program = Program {
        running: &running,
        asked: 0,
    };
    let mut several = || -> Result<f64> {
        // The compilers have done their work after the first.
        program.answer()?;
        let times: Result<Vec<f64>> = (0..pairs.max(1)).map(|_| program.answer()).collect();
        Ok(median(times?))
    };
    let pid = running.pid().to_string();
    let plain = several()?;
    hprof_rs(&["attach", &pid, "cpu=times,file=late.txt"])?;
    let counted = several()?;
    hprof_rs(&["control", &pid, "detach"])?;
    let detached = several()?;
    fs::write(running.path("end"), "")?;
    let outcome = running.finish();
    ensure!(outcome.status == Some(0), "{}", outcome.report());
    for (measure, time, most) in [
        ("time, counted", counted, 3.5),
        ("time, detached", detached, 1.05),
    ] {
        figures.add(Figure {
            benchmark: "late",
            case: format!("{jdk}, fib(40)"),
            measure,
            plain: Some(plain),
            profiled: time,
            unit: "ms",
            result: time / plain,
            wanted: Wanted::AtMost(most),
        });
    }
    Ok(())
}

fn late_pauses(jdk: &'static Jdk, figures: &mut Figures) -> Result<()> {
    let run = Run::new(jdk).class("ManyClasses").args(["5000"]);
    let running = run.start();
    running.wait_for_line("ready");
    let mut program = Program {
        running: &running,
        asked: 0,
    };
    let pid = running.pid().to_string();
    program.answer()?;
    for (measure, arguments) in [
        (
            "pause, attaching",
            ["attach", &pid, "cpu=times,file=late.txt"],
        ),
        ("pause, detaching", ["control", &pid, "detach"]),
    ] {
        hprof_rs(&arguments)?;
        let pause = program.answer()?;
        figures.add(Figure {
            benchmark: "late",
            case: format!("{jdk}, 5,000 classes"),
            measure,
            plain: None,
            profiled: pause,
            unit: "ms",
            result: pause,
            wanted: Wanted::AtMost(50.0),
        });
    }
    fs::write(running.path("end"), "")?;
    let outcome = running.finish();
    ensure!(outcome.status == Some(0), "{}", outcome.report());
    Ok(())
}

struct Program<'a> {
    running: &'a Running,
    asked: usize,
}

impl Program<'_> {
    /// The milliseconds that the program answers with: of the longest gap since the last call, or
    /// for what it has done.
    fn answer(&mut self) -> Result<f64> {
        let number = self.asked;
        self.asked += 1;
        fs::write(self.running.path(&format!("ask-{number}")), "")?;
        let start = format!("{number}=");
        self.running.wait_for_line(&start);
        let text = self.running.stdout();
        let line = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(&start));
        Ok(line.context("no answer")?.parse::<f64>()? / 1000.0)
    }

    /// Threads, descriptors, and resident memory in MiB.
    fn counts(&self) -> Result<(f64, f64, f64)> {
        let pid = self.running.pid();
        let count = |name: &str| -> Result<f64> {
            Ok(fs::read_dir(format!("/proc/{pid}/{name}"))?.count() as f64)
        };
        let resident = memory(pid, "VmRSS:").context("no VmRSS")?;
        Ok((count("task")?, count("fd")?, mebibytes(resident)))
    }

    fn wait_for_the_end_of_the_agent(&self) {
        let tasks = format!("/proc/{}/task", self.running.pid());
        self.running
            .wait_until("the end of the agent's threads", |_| {
                let tasks = fs::read_dir(&tasks).into_iter().flatten().flatten();
                let mut names =
                    tasks.filter_map(|it| fs::read_to_string(it.path().join("comm")).ok());
                !names.any(|name| name.starts_with("HPROF"))
            });
    }
}

fn hprof_rs(arguments: &[&str]) -> Result<()> {
    let output = Command::new(front_end()?)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?;
    ensure!(
        output.status.success(),
        "hprof-rs {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
