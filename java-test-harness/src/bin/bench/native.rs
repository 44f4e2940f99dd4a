//! The cost of native=SIZE and nativelock=y, and that of async-profiler's option where HPROF_RS_ASYNC_PROFILER names its library.

use anyhow::{Result, ensure};
use java_test_harness::{Jdk, Outcome, Run, native_cycles};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, mebibytes, median, noise};

const OPTIONS: &str = "native=512k,depth=64";
const LOCKS: &str = "nativelock=y,depth=64";

/// A profiler to measure.
#[derive(Clone)]
enum Profiler {
    None,
    Ours(&'static str),
    /// By its library.
    Async(String),
}

impl Profiler {
    fn on(&self, run: Run) -> Run {
        match self {
            Self::None => run,
            Self::Ours(options) => run.agent(options),
            Self::Async(library) => run.jvm_arg(format!(
                "-agentpath:{library}=start,nativemem=512k,file=native.jfr"
            )),
        }
    }
}

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
        case(
            arguments,
            figures,
            jdk,
            "locks",
            "20000000",
            |plain, profiled| ("a free lock, more", profiled - plain, Wanted::AtMost(15.0)),
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
    let run = |profiler: &Profiler| -> Result<f64> {
        let run = Run::new(jdk).class("NativeLoop").args([kind, rounds]);
        let outcome: Outcome = profiler.on(run).run();
        ensure!(outcome.status == Some(0), "{}", outcome.report());
        Ok(outcome.printed("nanos"))
    };
    let is_of_locks = kind == "locks";
    let options = if is_of_locks { LOCKS } else { OPTIONS };
    let mut profilers = vec![Profiler::None, Profiler::Ours(options)];
    let other = std::env::var("HPROF_RS_ASYNC_PROFILER").ok();
    profilers.extend(other.filter(|_| !is_of_locks).map(Profiler::Async));
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); profilers.len()];
    for round in 0..=arguments.pairs {
        for (profiler, times) in profilers.iter().zip(&mut times) {
            let time = run(profiler)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    for (profiler, profiled) in profilers.iter().zip(&times).skip(1) {
        let (case, is_ours) = match profiler {
            Profiler::Async(_) => (format!("{case}, async-profiler"), false),
            _ => (case.clone(), true),
        };
        add(figures, case, &times[0], profiled, &compare, is_ours);
    }
    Ok(())
}

/// Adds the figure of one profiler; that of a peer has no limit.
fn add(
    figures: &mut Figures,
    case: String,
    plain: &[f64],
    profiled: &[f64],
    compare: impl Fn(f64, f64) -> (&'static str, f64, Wanted),
    is_ours: bool,
) {
    let pairs = plain.iter().zip(profiled);
    let noise = noise(pairs.map(|(&plain, &profiled)| compare(plain, profiled).1));
    let median = |values: &[f64]| median(values.iter().copied());
    let (plain, profiled) = (median(plain), median(profiled));
    let (measure, result, wanted) = compare(plain, profiled);
    let figure = Figure {
        benchmark: "native",
        case,
        measure,
        plain: Some(plain),
        profiled,
        unit: "ns",
        result,
        wanted: if is_ours { wanted } else { Wanted::Any },
    };
    figures.add_paired(figure, noise);
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
