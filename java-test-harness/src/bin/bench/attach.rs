//! What loading the agent into a JVM that runs costs, and whether something stays behind.

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
        program.longest_gap()?;
        let started = Instant::now();
        hprof_rs(&["attach", &running.pid().to_string(), &options])?;
        let took = started.elapsed();
        attached.push(program.longest_gap()?);
        thread::sleep(SAMPLING);
        hprof_rs(&["control", &running.pid().to_string(), "detach"])?;
        program.wait_for_the_end_of_the_agent();
        let text = fs::read_to_string(&profile)?;
        ensure!(text.contains("CPU SAMPLES END"), "no profile");
        // A span of the same length in which nothing happens, but that a program starts.
        program.longest_gap()?;
        let started = Instant::now();
        hprof_rs(&["options"])?;
        thread::sleep(took.saturating_sub(started.elapsed()));
        plain.push(program.longest_gap()?);
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

struct Program<'a> {
    running: &'a Running,
    asked: usize,
}

impl Program<'_> {
    /// Milliseconds of the longest gap since the last call.
    fn longest_gap(&mut self) -> Result<f64> {
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
