//! The cost of the heap modes.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use java_test_harness::{Jdk, Outcome, Run};

use super::Arguments;
use super::calls::COLLECTORS;
use super::cost::{Variant, compile, median_of, module_sources, more, noise_of, ratio, rounds};
use super::figures::{Figure, Figures, Wanted, mebibytes, median, millis};

/// heap=sites in one form: its name, the agent's options, and the most of the ratio of times and of
/// MiB more.
type Form = (&'static str, &'static str, f64, f64);

const FORMS: [Form; 3] = [
    ("exact", "heap=sites", 2.0, 150.0),
    ("live=estimate", "heap=sites,live=estimate", 1.6, 150.0),
    ("512k", "heap=sites,heapinterval=512k", 1.05, 32.0),
];

/// heap=sites with the Java compiler at work, and with a program that every JDK runs.
pub fn sites(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in arguments.compilers()? {
        for collector in COLLECTORS {
            let case = |name: &str| format!("javac, {jdk}, {collector}, {name}");
            if !FORMS.iter().any(|form| arguments.chooses(&case(form.0))) {
                continue;
            }
            let (sources, _) = module_sources(jdk)?;
            let run = |options: Option<&str>| {
                let run = compile(jdk, &sources, options);
                Ok(run.jvm_args(collector.arguments()).run())
            };
            forms(arguments, figures, case, run)?;
        }
    }
    for jdk in Jdk::tested() {
        let run = |options: Option<&str>| {
            let run = Run::new(jdk).class("Words");
            let run = run.time_limit(Duration::from_secs(120));
            Ok(options.iter().fold(run, |run, it| run.agent(it)).run())
        };
        forms(
            arguments,
            figures,
            |name| format!("words, {jdk}, {name}"),
            run,
        )?;
    }
    Ok(())
}

/// Measures the chosen ones of [`FORMS`].
fn forms(
    arguments: &Arguments,
    figures: &mut Figures,
    case: impl Fn(&str) -> String,
    run: impl Fn(Option<&str>) -> Result<Outcome>,
) -> Result<()> {
    let mut chosen = FORMS.to_vec();
    chosen.retain(|(name, ..)| arguments.chooses(&case(name)));
    if chosen.is_empty() {
        return Ok(());
    }
    let mut variants: Vec<Variant> = vec![("", None)];
    variants.extend(
        chosen
            .iter()
            .map(|&(name, options, ..)| (name, Some(options))),
    );
    let outcomes = rounds(arguments.pairs, &variants, run)?;
    let wall = |outcome: &Outcome| millis(outcome.wall);
    let resident = |outcome: &Outcome| mebibytes(outcome.usage.max_resident);
    for ((name, _, slower, larger), profiled) in chosen.into_iter().zip(&outcomes[1..]) {
        let plain = &outcomes[0];
        type Compare = fn(f64, f64) -> f64;
        let mut add = |measure, unit, value: &dyn Fn(&Outcome) -> f64, compare: Compare, most| {
            let noise = noise_of(plain, profiled, value, compare);
            let (plain, profiled) = (median_of(plain, value), median_of(profiled, value));
            let figure = Figure {
                benchmark: "sites",
                case: case(name),
                measure,
                plain: Some(plain),
                profiled,
                unit,
                result: compare(plain, profiled),
                wanted: Wanted::AtMost(most),
            };
            figures.add_paired(figure, noise);
        };
        add("wall, ratio", "ms", &wall, ratio, slower);
        add("memory, more", "MiB", &resident, more, larger);
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
    for jdk in Jdk::tested() {
        if jdk.feature() >= 17 && arguments.chooses(&jdk.to_string()) {
            dumps_of(jdk, arguments, figures)?;
        }
    }
    Ok(())
}

fn dumps_of(jdk: &'static Jdk, arguments: &Arguments, figures: &mut Figures) -> Result<()> {
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
        1.05,
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
    let more = seconds(&all) - binary_seconds;
    add(
        "heap=all",
        "time, more",
        "s",
        binary_seconds,
        seconds(&all),
        more,
        3.0,
    );
    let more = memory(&all) - memory(&binary);
    add(
        "heap=all",
        "memory, more",
        "MiB",
        memory(&binary),
        memory(&all),
        more,
        200.0,
    );
    Ok(())
}
