//! The cost of counting every call. The JDK's own agent took about 55 times as long for the Java
//! compiler.

use anyhow::Result;
use java_test_harness::{Collector, Jdk, Outcome, Run};

use super::Arguments;
use super::cost::{Variant, compile, median_of, module_sources, more, noise_of, ratio, rounds};
use super::figures::{Figure, Figures, Wanted, mebibytes, millis};

/// All figures of `cpu=times`.
pub fn calls(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    javac(arguments, figures)?;
    fib(arguments, figures)?;
    hello(arguments, figures)
}

/// One way to count the calls of the compiler: its name, the agent's options, and the most of the
/// ratio of times and of memory.
type Compilation = (&'static str, &'static str, Wanted, Wanted);

/// The collectors that the compiler runs with.
pub const COLLECTORS: [Collector; 2] = [Collector::G1, Collector::Serial];

const COMPILATIONS: [Compilation; 3] = [
    (
        "depth=4",
        "cpu=times",
        Wanted::AtMost(1.6),
        Wanted::AtMost(64.0),
    ),
    (
        "depth=16",
        "cpu=times,depth=16",
        Wanted::Any,
        Wanted::AtMost(400.0),
    ),
    (
        "clock=exact",
        "cpu=times,clock=exact",
        Wanted::AtMost(4.5),
        Wanted::Any,
    ),
];

fn javac(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in arguments.compilers()? {
        for collector in COLLECTORS {
            compilations(jdk, collector, arguments, figures)?;
        }
    }
    Ok(())
}

fn compilations(
    jdk: &'static Jdk,
    collector: Collector,
    arguments: &Arguments,
    figures: &mut Figures,
) -> Result<()> {
    let case = |name: &str| format!("javac, {jdk}, {collector}, {name}");
    let mut chosen = COMPILATIONS.to_vec();
    chosen.retain(|(name, ..)| arguments.chooses(&case(name)));
    if chosen.is_empty() {
        return Ok(());
    }
    let (sources, _) = module_sources(jdk)?;
    let mut variants: Vec<Variant> = vec![("", None)];
    variants.extend(
        chosen
            .iter()
            .map(|&(name, options, ..)| (name, Some(options))),
    );
    let outcomes = rounds(arguments.pairs, &variants, |options| {
        let run = compile(jdk, &sources, options);
        Ok(run.jvm_args(collector.arguments()).run())
    })?;
    let plain = &outcomes[0];
    let resident = |outcome: &Outcome| mebibytes(outcome.usage.max_resident);
    for ((name, _, time, memory), profiled) in chosen.into_iter().zip(&outcomes[1..]) {
        let time = match collector {
            Collector::G1 if name == "depth=4" => Wanted::AtMost(1.4),
            _ => time,
        };
        add_ratio(figures, case(name), plain, profiled, time);
        let noise = noise_of(plain, profiled, resident, more);
        let (plain, profiled) = (median_of(plain, resident), median_of(profiled, resident));
        let figure = Figure {
            benchmark: "calls",
            case: case(name),
            measure: "memory, more",
            plain: Some(plain),
            profiled,
            unit: "MiB",
            result: more(plain, profiled),
            wanted: memory,
        };
        figures.add_paired(figure, noise);
    }
    Ok(())
}

fn fib(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let case = format!("fib(40), {jdk}");
        if !arguments.chooses(&case) {
            continue;
        }
        let variants: [Variant; 2] = [("", None), ("", Some("cpu=times"))];
        let outcomes = rounds(arguments.pairs, &variants, |options| {
            let run = Run::new(jdk).class("Fib").args(["10"]);
            Ok(with(run, options).run())
        })?;
        let wanted = Wanted::AtMost(if jdk.feature() < 17 { 3.0 } else { 2.5 });
        add_ratio(figures, case, &outcomes[0], &outcomes[1], wanted);
    }
    Ok(())
}

fn hello(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let case = format!("hello, {jdk}");
        if !arguments.chooses(&case) {
            continue;
        }
        let variants: [Variant; 2] = [("", None), ("", Some("cpu=times"))];
        let outcomes = rounds(arguments.pairs * 4, &variants, |options| {
            Ok(with(Run::new(jdk).class("Hello"), options).run())
        })?;
        let wall = |outcome: &Outcome| millis(outcome.wall);
        let (plain, profiled) = (median_of(&outcomes[0], wall), median_of(&outcomes[1], wall));
        let figure = Figure {
            benchmark: "calls",
            case,
            measure: "wall, more",
            plain: Some(plain),
            profiled,
            unit: "ms",
            result: more(plain, profiled),
            wanted: Wanted::AtMost(60.0),
        };
        figures.add_paired(figure, noise_of(&outcomes[0], &outcomes[1], wall, more));
    }
    Ok(())
}

fn with(run: Run, options: Option<&str>) -> Run {
    options.iter().fold(run, |run, options| run.agent(options))
}

fn add_ratio(
    figures: &mut Figures,
    case: String,
    plain: &[Outcome],
    profiled: &[Outcome],
    wanted: Wanted,
) {
    let wall = |outcome: &Outcome| millis(outcome.wall);
    let noise = noise_of(plain, profiled, wall, ratio);
    let (plain, profiled) = (median_of(plain, wall), median_of(profiled, wall));
    let figure = Figure {
        benchmark: "calls",
        case,
        measure: "wall, ratio",
        plain: Some(plain),
        profiled,
        unit: "ms",
        result: ratio(plain, profiled),
        wanted,
    };
    figures.add_paired(figure, noise);
}
