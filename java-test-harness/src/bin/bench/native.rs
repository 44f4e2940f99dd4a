//! The cost of native=SIZE.

use anyhow::{Result, ensure};
use java_test_harness::{Jdk, Outcome, Run, native_cycles};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, mebibytes, median};

const OPTIONS: &str = "native=512k,depth=64";

/// A program that allocates and frees by zlib, and one that does nothing else. CPU time of the one thread counts: other programs
/// change it less than the time on the clock.
pub fn native(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in arguments.compilers()? {
        case(
            arguments,
            figures,
            jdk,
            "zlib",
            "200000",
            |plain, profiled| ("CPU, ratio", profiled / plain, Wanted::AtMost(1.02)),
        )?;
        // A round is two calls.
        case(
            arguments,
            figures,
            jdk,
            "calls",
            "50000000",
            |plain, profiled| {
                (
                    "a call, more",
                    (profiled - plain) / 2.0,
                    Wanted::AtMost(15.0),
                )
            },
        )?;
    }
    Ok(())
}

fn case(
    arguments: &Arguments,
    figures: &mut Figures,
    jdk: &'static Jdk,
    kind: &str,
    rounds: &str,
    compare: impl Fn(f64, f64) -> (&'static str, f64, Wanted),
) -> Result<()> {
    let case = format!("{jdk}, {kind}");
    if !arguments.chooses(&case) {
        return Ok(());
    }
    let run = |options: Option<&str>| -> Result<f64> {
        let run = Run::new(jdk).class("NativeLoop").args([kind, rounds]);
        let outcome: Outcome = options
            .iter()
            .fold(run, |run, options| run.agent(options))
            .run();
        ensure!(outcome.status == Some(0), "{}", outcome.report());
        Ok(outcome.printed("nanos"))
    };
    let (mut plain, mut profiled) = (Vec::new(), Vec::new());
    for round in 0..=arguments.pairs {
        let (without, with) = (run(None)?, run(Some(OPTIONS))?);
        if round > 0 {
            plain.push(without);
            profiled.push(with);
        }
    }
    let (plain, profiled) = (median(plain), median(profiled));
    let (measure, result, wanted) = compare(plain, profiled);
    figures.add(Figure {
        benchmark: "native",
        case,
        measure,
        plain: Some(plain),
        profiled,
        unit: "ns",
        result,
        wanted,
    });
    Ok(())
}

/// Many cycles of attaching and detaching under load, with options and times that differ at random. A cycle that fails ends the
/// benchmark.
pub fn cycles(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let count = u32::try_from(arguments.count.unwrap_or(200))?;
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)?
        .as_secs();
    for jdk in Jdk::tested().into_iter().filter(|jdk| jdk.feature() >= 11) {
        eprintln!("  {jdk}, {count} cycles, seed {seed}");
        let outcome = native_cycles(jdk, count, seed).outcome;
        let is_good = outcome.status == Some(0)
            && outcome.stdout.ends_with("ended\n")
            && !outcome.stderr.contains("HPROF ERROR");
        if !is_good {
            eprintln!("{}", outcome.report());
        }
        figures.add(Figure {
            benchmark: "cycles",
            case: format!("{jdk}, {count} cycles"),
            measure: "failures",
            plain: None,
            profiled: mebibytes(outcome.usage.max_resident),
            unit: "MiB",
            result: if is_good { 0.0 } else { 1.0 },
            wanted: Wanted::AtMost(0.0),
        });
    }
    Ok(())
}
