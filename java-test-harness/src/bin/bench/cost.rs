//! The cost of profiling.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use java_test_harness::{Jdk, Outcome, Run};
use tempfile::TempDir;

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, mebibytes, median, millis, noise};

/// One kind of run: a name and the agent's options, if the agent is loaded.
pub type Variant = (&'static str, Option<&'static str>);

/// Runs each variant `rounds` times in turn, after one round that does not count.
pub fn rounds(
    rounds: usize,
    variants: &[Variant],
    run: impl Fn(Option<&str>) -> Result<Outcome>,
) -> Result<Vec<Vec<Outcome>>> {
    let mut outcomes: Vec<Vec<Outcome>> = variants.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        for ((_, options), outcomes) in variants.iter().zip(&mut outcomes) {
            let outcome = run(*options)?;
            ensure!(
                outcome.status == Some(0),
                "the program failed:\n{}",
                outcome.report()
            );
            if round > 0 {
                outcomes.push(outcome);
            }
        }
    }
    Ok(outcomes)
}

pub fn median_of(outcomes: &[Outcome], measure: impl Fn(&Outcome) -> f64) -> f64 {
    median(outcomes.iter().map(measure))
}

/// The noise of a ratio of pairs, or of a difference.
pub fn noise_of(
    plain: &[Outcome],
    profiled: &[Outcome],
    measure: impl Fn(&Outcome) -> f64,
    compare: impl Fn(f64, f64) -> f64,
) -> Option<f64> {
    let pairs = plain.iter().zip(profiled);
    noise(pairs.map(|(plain, profiled)| compare(measure(plain), measure(profiled))))
}

/// The ratio of a profiled run to a plain one.
pub fn ratio(plain: f64, profiled: f64) -> f64 {
    profiled / plain
}

/// By how much a profiled run takes more than a plain one.
pub fn more(plain: f64, profiled: f64) -> f64 {
    profiled - plain
}

/// The Java compiler on the sources of module java.xml.
pub fn javac(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in arguments.compilers()? {
        javac_of(jdk, arguments, figures)?;
    }
    Ok(())
}

fn javac_of(jdk: &'static Jdk, arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let (sources, count) = module_sources(jdk)?;
    eprintln!("  {count} source files, {jdk}");
    let variants: [Variant; 3] = [
        ("", None),
        ("interval=10", Some("cpu=samples,interval=10")),
        ("interval=1", Some("cpu=samples,interval=1")),
    ];
    let outcomes = rounds(arguments.pairs, &variants, |options| {
        Ok(compile(jdk, &sources, options).run())
    })?;
    let limits = [Wanted::Any, Wanted::AtMost(1.03), Wanted::AtMost(1.08)];
    let plain = &outcomes[0];
    for ((name, _), (profiled, limit)) in variants.iter().zip(outcomes.iter().zip(limits)).skip(1) {
        let case = format!("{jdk}, {name}");
        let mut add = |measure, wanted, value: &dyn Fn(&Outcome) -> f64| {
            let noise = noise_of(plain, profiled, value, ratio);
            let (plain, profiled) = (median_of(plain, value), median_of(profiled, value));
            let figure = Figure {
                benchmark: "javac",
                case: case.clone(),
                measure,
                plain: Some(plain),
                profiled,
                unit: "ms",
                result: ratio(plain, profiled),
                wanted,
            };
            figures.add_paired(figure, noise);
        };
        add("wall, ratio", limit, &|outcome| millis(outcome.wall));
        add("CPU, ratio", Wanted::Any, &|outcome| {
            millis(outcome.usage.cpu())
        });
        let resident = |outcome: &Outcome| mebibytes(outcome.usage.max_resident);
        let noise = noise_of(plain, profiled, resident, more);
        let (plain, profiled) = (median_of(plain, resident), median_of(profiled, resident));
        let figure = Figure {
            benchmark: "javac",
            case,
            measure: "memory, more",
            plain: Some(plain),
            profiled,
            unit: "MiB",
            result: more(plain, profiled),
            wanted: Wanted::AtMost(48.0),
        };
        figures.add_paired(figure, noise);
    }
    Ok(())
}

pub fn compile(jdk: &'static Jdk, sources: &TempDir, options: Option<&str>) -> Run {
    // A heap of fixed size, touched beforehand: its growth would hide the agent's memory.
    let heap = ["-Xms1g", "-Xmx1g", "-XX:+AlwaysPreTouch"];
    let mut run = Run::new(jdk)
        .jvm_args(heap)
        .time_limit(Duration::from_secs(600));
    if let Some(options) = options {
        run = run.agent(options);
    }
    let module = sources.path().join("java.xml");
    run.module("jdk.compiler/com.sun.tools.javac.Main")
        .args(["-nowarn", "-d", "classes"])
        .args([format!("--patch-module=java.xml={}", module.display())])
        .args([format!("@{}", sources.path().join("files").display())])
}

/// Unpacks the sources of module java.xml, with a list of them in the file `files`.
pub fn module_sources(jdk: &Jdk) -> Result<(TempDir, usize)> {
    let folder = tempfile::tempdir()?;
    let archive = jdk.home().join("lib/src.zip");
    ensure!(
        archive.exists(),
        "no sources of {jdk}; `scripts/setup bench` installs them"
    );
    let mut jar = Command::new(jdk.tool("jar"));
    jar.current_dir(folder.path())
        .arg("--extract")
        .arg("--file")
        .arg(archive)
        .arg("java.xml");
    ensure!(jar.status()?.success(), "{jar:?} failed");
    let mut files = Vec::new();
    collect_sources(&folder.path().join("java.xml"), &mut files)?;
    fs::write(folder.path().join("files"), files.join("\n"))?;
    Ok((folder, files.len()))
}

fn collect_sources(folder: &Path, files: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_sources(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "java")
        {
            files.push(path.display().to_string());
        }
    }
    Ok(())
}

/// A program that prints one line.
pub fn hello(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let variants: [Variant; 2] = [("", None), ("", Some("cpu=samples"))];
        let outcomes = rounds(arguments.pairs * 4, &variants, |options| {
            let run = Run::new(jdk).class("Hello");
            Ok(options
                .iter()
                .fold(run, |run, options| run.agent(options))
                .run())
        })?;
        let wall = |outcome: &Outcome| millis(outcome.wall);
        let (plain, profiled) = (median_of(&outcomes[0], wall), median_of(&outcomes[1], wall));
        let figure = Figure {
            benchmark: "hello",
            case: jdk.to_string(),
            measure: "wall, more",
            plain: Some(plain),
            profiled,
            unit: "ms",
            result: more(plain, profiled),
            wanted: Wanted::AtMost(3.0),
        };
        figures.add_paired(figure, noise_of(&outcomes[0], &outcomes[1], wall, more));
    }
    Ok(())
}

/// A program whose threads do nothing but start and end.
pub fn threads(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let variants: [Variant; 2] = [("", None), ("", Some("cpu=samples"))];
        let outcomes = rounds(arguments.pairs, &variants, |options| {
            let run = Run::new(jdk).class("ShortThreads").args(["30000"]);
            Ok(options
                .iter()
                .fold(run, |run, options| run.agent(options))
                .run())
        })?;
        let wall = |outcome: &Outcome| millis(outcome.wall);
        let cpu = |outcome: &Outcome| millis(outcome.usage.cpu());
        let memory = |outcome: &Outcome| mebibytes(outcome.usage.max_resident);
        type Compare = fn(f64, f64) -> f64;
        let mut add = |measure, unit, value: &dyn Fn(&Outcome) -> f64, compare: Compare, wanted| {
            let (plain, profiled) = (
                median_of(&outcomes[0], value),
                median_of(&outcomes[1], value),
            );
            let figure = Figure {
                benchmark: "threads",
                case: jdk.to_string(),
                measure,
                plain: Some(plain),
                profiled,
                unit,
                result: compare(plain, profiled),
                wanted,
            };
            let noise = noise_of(&outcomes[0], &outcomes[1], value, compare);
            figures.add_paired(figure, noise);
        };
        add("wall, ratio", "ms", &wall, ratio, Wanted::AtMost(1.05));
        add("CPU, ratio", "ms", &cpu, ratio, Wanted::Any);
        add("memory, more", "MiB", &memory, more, Wanted::AtMost(8.0));
    }
    Ok(())
}

/// Many threads that do nothing.
pub fn parked(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let wanted = Wanted::AtMost(1.0);
    idle(arguments, figures, "parked", 2000, "cpu=samples", wanted)
}

/// Many threads that do nothing, sampled on the wall clock.
pub fn wall(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for threads in [2_000, 10_000] {
        let wanted = Wanted::AtMost(5.0);
        idle(
            arguments,
            figures,
            "wall",
            threads,
            "cpu=wall,depth=64",
            wanted,
        )?;
    }
    Ok(())
}

/// CPU of a program whose threads do nothing, with the agent and without.
fn idle(
    arguments: &Arguments,
    figures: &mut Figures,
    benchmark: &'static str,
    threads: u32,
    options: &str,
    wanted: Wanted,
) -> Result<()> {
    let seconds = arguments.seconds;
    for jdk in Jdk::tested() {
        let case = format!("{jdk}, {threads} threads");
        if !arguments.chooses(&case) {
            continue;
        }
        let percent = |options: Option<&str>| -> Result<f64> {
            let limit = Duration::from_secs(u64::from(seconds) + 60);
            let run = Run::new(jdk).time_limit(limit).class("Parked");
            let run = run.args([threads.to_string(), (seconds + 30).to_string()]);
            let running = options
                .iter()
                .fold(run, |run, options| run.agent(options))
                .start();
            running.wait_for_line("ready");
            // Work that the start left to do, such as compiling, is not to be measured.
            thread::sleep(Duration::from_secs(2));
            let before = process_cpu(running.pid())?;
            thread::sleep(Duration::from_secs(u64::from(seconds)));
            let used = process_cpu(running.pid())? - before;
            Ok(100.0 * used / f64::from(seconds))
        };
        let (plain, profiled) = (percent(None)?, percent(Some(options))?);
        figures.add(Figure {
            benchmark,
            case,
            measure: "CPU, more",
            plain: Some(plain),
            profiled,
            unit: "%",
            result: profiled - plain,
            wanted,
        });
    }
    Ok(())
}

/// CPU seconds a process has used so far.
fn process_cpu(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, can hold anything; utime and stime are fields 14 and 15.
    let fields = text
        .rsplit_once(')')
        .context("no name in /proc/PID/stat")?
        .1;
    let ticks: Vec<f64> = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    // SAFETY: sysconf takes no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok(ticks.iter().sum::<f64>() / per_second as f64)
}
