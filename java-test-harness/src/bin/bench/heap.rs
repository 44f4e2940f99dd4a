//! The cost of the heap modes.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use java_test_harness::{Jdk, Outcome, Run};

use super::Arguments;
use super::cost::{Variant, compile, median_of, module_sources, rounds};
use super::figures::{Figure, Figures, Wanted, mebibytes, median, millis};

/// heap=sites with the Java compiler at work.
pub fn sites(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::compiler();
    let (sources, _) = module_sources(jdk)?;
    let variants: [Variant; 3] = [
        ("", None),
        ("exact", Some("heap=sites")),
        ("512k", Some("heap=sites,heapinterval=512k")),
    ];
    let outcomes = rounds(arguments.pairs, &variants, |options| {
        Ok(compile(jdk, &sources, options).run())
    })?;
    let limits = [(0.0, 0.0), (6.5, 300.0), (1.05, 32.0)];
    let wall = |outcome: &Outcome| millis(outcome.wall);
    let resident = |outcome: &Outcome| mebibytes(outcome.usage.max_resident);
    for ((name, _), (profiled, limits)) in variants.iter().zip(outcomes.iter().zip(limits)).skip(1)
    {
        let mut add = |measure, unit, plain: f64, profiled: f64, result, most| {
            figures.add(Figure {
                benchmark: "sites",
                case: format!("{jdk}, {name}"),
                measure,
                plain: Some(plain),
                profiled,
                unit,
                result,
                wanted: Wanted::AtMost(most),
            });
        };
        let (plain, ours) = (median_of(&outcomes[0], wall), median_of(profiled, wall));
        add("wall, ratio", "ms", plain, ours, ours / plain, limits.0);
        let (plain, ours) = (
            median_of(&outcomes[0], resident),
            median_of(profiled, resident),
        );
        add("memory, more", "MiB", plain, ours, ours - plain, limits.1);
    }
    Ok(())
}

/// A program with 13 million objects, which it keeps.
pub fn big(jdk: &'static Jdk) -> Run {
    Run::new(jdk)
        .jvm_args(["-Xms3g", "-Xmx3g", "-XX:+AlwaysPreTouch"])
        .time_limit(Duration::from_secs(600))
        .class("BigHeap")
        .args(["15600"])
}

/// Seconds that `jcmd PID GC.heap_dump` takes, and the memory that the VM had at most.
fn dump_of_the_vm(jdk: &'static Jdk) -> Result<(f64, f64)> {
    let running = big(jdk).args(["wait"]).start();
    running.wait_for_line("full");
    let file = running.path("vm.hprof");
    let started = Instant::now();
    running.jcmd(&["GC.heap_dump", file.to_str().context("no text")?]);
    let seconds = started.elapsed().as_secs_f64();
    fs::remove_file(file)?;
    fs::write(running.path("end"), "")?;
    let outcome = running.finish().expect_status(0);
    Ok((seconds, mebibytes(outcome.usage.max_resident)))
}

/// Seconds that a dump at the exit takes, as the agent says, and the memory.
pub fn dump_of_the_agent(jdk: &'static Jdk, options: &str) -> Result<(f64, f64)> {
    let outcome = big(jdk).agent(options).run();
    ensure!(outcome.status == Some(0), "{}", outcome.report());
    let seconds = outcome
        .stderr
        .split_once(" objects, ")
        .and_then(|(_, rest)| rest.split_once(" s,"))
        .and_then(|(seconds, _)| seconds.parse().ok())
        .with_context(|| format!("no summary: {}", outcome.stderr))?;
    Ok((seconds, mebibytes(outcome.usage.max_resident)))
}

/// Dumps of 13 million objects.
pub fn dumps(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::compiler();
    let [mut vm, mut binary, mut text, mut all] = [const { Vec::new() }; 4];
    for _ in 0..arguments.pairs {
        vm.push(dump_of_the_vm(jdk)?);
        binary.push(dump_of_the_agent(jdk, "heap=dump,format=b")?);
        text.push(dump_of_the_agent(jdk, "heap=dump")?);
        all.push(dump_of_the_agent(jdk, "heap=all,format=b")?);
    }
    let seconds = |runs: &[(f64, f64)]| median(runs.iter().map(|run| run.0));
    let memory = |runs: &[(f64, f64)]| median(runs.iter().map(|run| run.1));
    let (vm_seconds, binary_seconds) = (seconds(&vm), seconds(&binary));
    let mut add = |case: &str, measure, unit, plain: f64, profiled: f64, result, most| {
        figures.add(Figure {
            benchmark: "dumps",
            case: format!("{jdk}, {case}"),
            measure,
            plain: Some(plain),
            profiled,
            unit,
            result,
            wanted: Wanted::AtMost(most),
        });
    };
    let ratio = binary_seconds / vm_seconds;
    add(
        "binary : jcmd",
        "time, ratio",
        "s",
        vm_seconds,
        binary_seconds,
        ratio,
        1.5,
    );
    let more = memory(&binary) - memory(&vm);
    add(
        "binary",
        "memory, more",
        "MiB",
        memory(&vm),
        memory(&binary),
        more,
        150.0,
    );
    let ratio = seconds(&text) / binary_seconds;
    add(
        "text : binary",
        "time, ratio",
        "s",
        binary_seconds,
        seconds(&text),
        ratio,
        4.0,
    );
    add(
        "heap=all",
        "time",
        "s",
        vm_seconds,
        seconds(&all),
        seconds(&all),
        18.0,
    );
    let more = memory(&all) - memory(&vm);
    add(
        "heap=all",
        "memory, more",
        "MiB",
        memory(&vm),
        memory(&all),
        more,
        2048.0,
    );
    Ok(())
}
