//! Checks that the agent's own walk of stacks is right and harmless while everything in a JVM
//! moves.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use java_test_harness::{Collector, Jdk, Outcome, Stress};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted};
use super::soak::problem_of;

/// Layouts of frames, references and headers that differ from a JVM's defaults, with the first release that has them.
const LAYOUTS: &[(u32, &[&str])] = &[
    (11, &["-Xcomp"]),
    (11, &["-Xint"]),
    (11, &["-XX:-UseCompressedOops"]),
    (11, &["-XX:-UseCompressedClassPointers"]),
    (11, &["-XX:-TieredCompilation"]),
    (21, &["-XX:+UseZGC", "-XX:+ZGenerational"]),
    (
        25,
        &[
            "-XX:+UnlockExperimentalVMOptions",
            "-XX:+UseCompactObjectHeaders",
        ],
    ),
];

/// A JVM to strain.
struct Case {
    jdk: &'static Jdk,
    name: String,
    flags: Vec<&'static str>,
}

/// Every collector and every layout on every JDK, N JVMs at a time.
pub fn strain(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|case| arguments.chooses(&case.name))
        .collect();
    let seconds = (arguments.minutes * 60.0).ceil() as u32;
    let options = "cpu=samples,interval=1,depth=128,engine=walker,cstack=y";
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..arguments.count.unwrap_or(2).max(1) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = Stress::Together.run_in(case.jdk, &case.flags, options, seconds);
                    let figure = figure(case, &outcome);
                    found.lock().expect("no thread panics").push(figure);
                }
            });
        }
    });
    for figure in found.into_inner().expect("no thread panics") {
        figures.add(figure);
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for jdk in Jdk::tested() {
        for collector in Collector::ALL.into_iter().filter(|it| it.supported_by(jdk)) {
            cases.push(Case {
                jdk,
                name: format!("{jdk}, {collector}"),
                flags: collector.arguments().to_vec(),
            });
        }
        for (_, flags) in LAYOUTS.iter().filter(|(since, _)| jdk.feature() >= *since) {
            let is_gone = flags.contains(&"-XX:+ZGenerational") && jdk.feature() > 23;
            if !is_gone {
                cases.push(Case {
                    jdk,
                    name: format!("{jdk}, {}", flags.join(" ")),
                    flags: flags.to_vec(),
                });
            }
        }
    }
    cases
}

/// The share of samples that are not explained: without a stack although the thread had Java frames.
fn figure(case: &Case, outcome: &Outcome) -> Figure {
    let problem = problem_of(outcome).or_else(|| {
        let differs = outcome.stderr.contains("differs from the VM's");
        differs.then(|| "a walk differs from the VM's".to_owned())
    });
    let mut lost = 100.0;
    match &problem {
        Some(problem) => eprintln!("{}: {problem}\n{}", case.name, outcome.report()),
        None => {
            let profile = outcome.profile();
            let samples = profile.table().total;
            let without = profile.counter("samples_without_stack");
            lost = 100.0 * without as f64 / samples as f64;
            let checked = profile.counter("walks_checked");
            eprintln!(
                "{}: {samples} samples, {without} without a stack, {checked} walks compared with the VM's",
                case.name
            );
        }
    }
    Figure {
        benchmark: "strain",
        case: case.name.clone(),
        measure: "samples without a stack",
        plain: None,
        profiled: lost,
        unit: "%",
        result: lost,
        wanted: Wanted::AtMost(1.0),
    }
}
