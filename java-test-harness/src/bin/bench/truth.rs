//! How true profiles are.

use anyhow::{Result, ensure};
use java_test_harness::{Jdk, Outcome, Run};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted};

fn run(jdk: &'static Jdk, options: &str, class: &str, arguments: &[String]) -> Result<Outcome> {
    let run = Run::new(jdk).agent(options).class(class).args(arguments);
    let outcome = run.time_limit(std::time::Duration::from_secs(600)).run();
    ensure!(
        outcome.status == Some(0),
        "the program failed:\n{}",
        outcome.report()
    );
    Ok(outcome)
}

/// Shares of two methods and CPU time, by the program's own account and by the profile.
pub fn truth(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        for interval in [10, 1] {
            for threads in [1u32, 2, 8] {
                let options = format!("cpu=samples,interval={interval}");
                // CPU seconds of each thread, which on two cores take at least the time asked for.
                let each = f64::from(arguments.seconds * threads.min(2)) / f64::from(threads);
                let program = [each.to_string(), threads.to_string()];
                let outcome = run(jdk, &options, "Spin", &program)?;
                let case = format!("{jdk}, interval={interval}, {threads} threads");
                add_truth(&outcome, interval, &case, figures);
            }
        }
    }
    Ok(())
}

fn add_truth(outcome: &Outcome, interval: u32, case: &str, figures: &mut Figures) {
    let profile = outcome.profile();
    let samples = |method| profile.samples_with(method) as f64;
    let share = |hot: f64, warm: f64| 100.0 * hot / (hot + warm);
    let true_share = share(outcome.printed("hot"), outcome.printed("warm"));
    let profiled = share(samples("Spin.hot"), samples("Spin.warm"));
    figures.add(Figure {
        benchmark: "truth",
        case: case.to_owned(),
        measure: "share of hot()",
        plain: Some(true_share),
        profiled,
        unit: "%",
        result: profiled - true_share,
        wanted: Wanted::Within(-2.0, 2.0),
    });
    let cpu = outcome.printed("cpu");
    let profiled = profile.table().total as f64 * f64::from(interval) / 1000.0;
    figures.add(Figure {
        benchmark: "truth",
        case: case.to_owned(),
        measure: "CPU time, ratio",
        plain: Some(cpu),
        profiled,
        unit: "s",
        result: profiled / cpu,
        wanted: Wanted::Within(0.95, 1.05),
    });
}

/// Work in cycles of one length, which a sampler must not be in step with: the error of shares over ten runs, against
/// that of as many independent looks.
pub fn lockstep(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::feature_release(17);
    // With the samples that one look at the thread counts: the kernel looks at CPU timers at ticks, 250 a second on most.
    for (options, per_look) in [
        ("cpu=samples", 1.0),
        ("cpu=samples,interval=1", 4.0),
        ("cpu=samples,engine=safepoint", 1.0),
        ("cpu=wall,filter=main,states=n", 1.0),
    ] {
        for millis in [1, 2, 4, 5, 8, 10, 12, 16, 20, 40, 50, 100] {
            let case = format!("{options}, cycles of {millis} ms");
            if !arguments.chooses(&case) {
                continue;
            }
            let mut squares = 0.0;
            for _ in 0..LOCKSTEP_RUNS {
                let program = [(millis * 1000).to_string(), LOCKSTEP_SECONDS.to_string()];
                let outcome = run(jdk, options, "Lockstep", &program)?;
                squares += lockstep_error(&outcome, options.contains("wall")).powi(2) / per_look;
            }
            figures.add(Figure {
                benchmark: "lockstep",
                case,
                measure: "error of shares, of that of chance",
                plain: None,
                profiled: (squares / f64::from(LOCKSTEP_RUNS)).sqrt(),
                unit: "",
                result: (squares / f64::from(LOCKSTEP_RUNS)).sqrt(),
                // The root of the mean of ten squares is above 1.6 by chance once in 200 times, and weights of looks add
                // a third at most.
                wanted: Wanted::Within(0.0, 1.9),
            });
        }
    }
    Ok(())
}

const LOCKSTEP_RUNS: u32 = 10;
/// CPU seconds of a run: 200 samples at the usual interval.
const LOCKSTEP_SECONDS: u32 = 2;

/// The error of the share of most(), in standard deviations of independent samples.
fn lockstep_error(outcome: &Outcome, is_wall: bool) -> f64 {
    let suffix = if is_wall { ".wall" } else { "" };
    let profile = outcome.profile();
    let [most, rest] =
        ["Lockstep.most", "Lockstep.rest"].map(|method| profile.samples_with(method) as f64);
    let [true_most, true_rest] =
        ["most", "rest"].map(|it| outcome.printed(&format!("{it}{suffix}")));
    let truth = true_most / (true_most + true_rest);
    let count = most + rest;
    (most / count - truth) / (truth * (1.0 - truth) / count).sqrt()
}

/// A hot loop without safepoint polls beside a cheap method with them.
pub fn bias(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let flags = ["-XX:-UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=0"];
    for jdk in Jdk::tested() {
        for (engine, wanted) in [
            ("signal", Wanted::AtLeast(90.0)),
            ("safepoint", Wanted::Any),
        ] {
            let options = format!("cpu=samples,engine={engine}");
            let run = Run::new(jdk).jvm_args(flags).agent(&options).class("Bias");
            let outcome = run.args([arguments.seconds.to_string()]).run();
            ensure!(
                outcome.status == Some(0),
                "the program failed:\n{}",
                outcome.report()
            );
            let profile = outcome.profile();
            let own = profile.samples(|trace| trace.has("Bias.main")) as f64;
            let hot = profile.samples(|trace| trace.is_in("Bias.hot")) as f64;
            let (true_hot, cheap) = (outcome.printed("hot"), outcome.printed("cheap"));
            figures.add(Figure {
                benchmark: "bias",
                case: format!("{jdk}, engine={engine}"),
                measure: "share of the loop",
                plain: Some(100.0 * true_hot / (true_hot + cheap)),
                profiled: 100.0 * hot / own,
                unit: "%",
                result: 100.0 * hot / own,
                wanted,
            });
        }
    }
    Ok(())
}
