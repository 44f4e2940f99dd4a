//! What counting every call costs. The JDK's own agent took about 55 times as long for the Java
//! compiler.

use anyhow::Result;
use java_test_harness::{Jdk, Outcome, Run};

use super::Arguments;
use super::cost::{Variant, compile, median_of, module_sources, rounds};
use super::figures::{Figure, Figures, Wanted, mebibytes, millis};

/// All figures of `cpu=times`.
pub fn calls(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    javac(arguments, figures)?;
    fib(arguments, figures)?;
    hello(arguments, figures)
}

fn javac(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::compiler();
    let (sources, _) = module_sources(jdk)?;
    let variants: [Variant; 4] = [
        ("", None),
        ("depth=4", Some("cpu=times")),
        ("depth=16", Some("cpu=times,depth=16")),
        ("clock=exact", Some("cpu=times,clock=exact")),
    ];
    let outcomes = rounds(arguments.pairs, &variants, |options| {
        Ok(compile(jdk, &sources, options).run())
    })?;
    let limits = [
        (Wanted::Any, Wanted::Any),
        (Wanted::AtMost(2.3), Wanted::AtMost(64.0)),
        (Wanted::Any, Wanted::AtMost(400.0)),
        (Wanted::AtMost(6.0), Wanted::Any),
    ];
    let plain = &outcomes[0];
    let resident = |outcome: &Outcome| mebibytes(outcome.usage.max_resident);
    for ((name, _), (profiled, (time, memory))) in
        variants.iter().zip(outcomes.iter().zip(limits)).skip(1)
    {
        let case = format!("javac, {jdk}, {name}");
        figures.add(ratio(case.clone(), plain, profiled, time));
        let (plain, profiled) = (median_of(plain, resident), median_of(profiled, resident));
        figures.add(Figure {
            benchmark: "calls",
            case,
            measure: "memory, more",
            plain: Some(plain),
            profiled,
            unit: "MiB",
            result: profiled - plain,
            wanted: memory,
        });
    }
    Ok(())
}

fn fib(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let variants: [Variant; 2] = [("", None), ("", Some("cpu=times"))];
        let outcomes = rounds(arguments.pairs, &variants, |options| {
            let run = Run::new(jdk).class("Fib").args(["10"]);
            Ok(with(run, options).run())
        })?;
        let case = format!("fib(40), {jdk}");
        let wanted = Wanted::AtMost(3.5);
        figures.add(ratio(case, &outcomes[0], &outcomes[1], wanted));
    }
    Ok(())
}

fn hello(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let variants: [Variant; 2] = [("", None), ("", Some("cpu=times"))];
        let outcomes = rounds(arguments.pairs * 4, &variants, |options| {
            Ok(with(Run::new(jdk).class("Hello"), options).run())
        })?;
        let wall = |outcome: &Outcome| millis(outcome.wall);
        let (plain, profiled) = (median_of(&outcomes[0], wall), median_of(&outcomes[1], wall));
        figures.add(Figure {
            benchmark: "calls",
            case: format!("hello, {jdk}"),
            measure: "wall, more",
            plain: Some(plain),
            profiled,
            unit: "ms",
            result: profiled - plain,
            wanted: Wanted::AtMost(350.0),
        });
    }
    Ok(())
}

fn with(run: Run, options: Option<&str>) -> Run {
    options.iter().fold(run, |run, options| run.agent(options))
}

fn ratio(case: String, plain: &[Outcome], profiled: &[Outcome], wanted: Wanted) -> Figure {
    let wall = |outcome: &Outcome| millis(outcome.wall);
    let (plain, profiled) = (median_of(plain, wall), median_of(profiled, wall));
    Figure {
        benchmark: "calls",
        case,
        measure: "wall, ratio",
        plain: Some(plain),
        profiled,
        unit: "ms",
        result: profiled / plain,
        wanted,
    }
}
