//! The cost of monitor=y.

use anyhow::{Result, ensure};
use java_test_harness::{Jdk, Outcome, Run};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};

/// Kind of lock, threads, acquisitions, and steps of work with and without the lock. How many of the
/// acquisitions have to wait depends on the machine, and is reported.
const CASES: [(&str, [&str; 5], f64); 4] = [
    ("monitor", ["monitor", "4", "4000000", "20", "20"], 1.15),
    ("ReentrantLock", ["lock", "4", "4000000", "20", "20"], 1.15),
    ("fair lock", ["fair", "8", "600000", "100", "100"], 1.15),
    (
        "no contention",
        ["none", "2", "40000000", "100", "100"],
        1.01,
    ),
];

/// Programs that fight for locks, and one that does not.
pub fn locks(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        for (name, program, most) in CASES {
            let case = format!("{jdk}, {name}");
            if !arguments.chooses(&case) {
                continue;
            }
            let (mut plain, mut profiled, mut rates) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..=arguments.pairs {
                let without = run(jdk, &program, None)?.printed("seconds");
                let outcome = run(jdk, &program, Some("monitor=y"))?;
                let with = outcome.printed("seconds");
                if round == 0 {
                    continue;
                }
                plain.push(without);
                profiled.push(with);
                let (count, _) = outcome.profile().contended(|_, _| true);
                // The tenth before the measured part has been counted as well.
                rates.push(count as f64 / 1.1 / with);
            }
            let (plain, profiled) = (median(plain), median(profiled));
            figures.add(Figure {
                benchmark: "locks",
                case: case.clone(),
                measure: "time, ratio",
                plain: Some(plain),
                profiled,
                unit: "s",
                result: profiled / plain,
                wanted: Wanted::AtMost(most),
            });
            figures.add(Figure {
                benchmark: "locks",
                case,
                measure: "contention",
                plain: None,
                profiled: median(rates.iter().copied()),
                unit: "1/s",
                result: median(rates),
                wanted: Wanted::Any,
            });
        }
    }
    Ok(())
}

fn run(jdk: &'static Jdk, program: &[&str; 5], options: Option<&str>) -> Result<Outcome> {
    let run = Run::new(jdk).class("LockCost").args(program);
    let run = options.iter().fold(run, |run, options| run.agent(options));
    let outcome = run.run();
    ensure!(
        outcome.status == Some(0),
        "the program failed:\n{}",
        outcome.report()
    );
    Ok(outcome)
}
