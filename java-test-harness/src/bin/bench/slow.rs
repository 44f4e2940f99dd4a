//! The cost of a timed call (slow=).

use anyhow::{Result, ensure};
use java_test_harness::{Jdk, Outcome, Run};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};

/// In a round; few enough in a second for each to be timed.
const CALLS: &str = "20000";

/// A method of ten nanoseconds, with and without hooks.
pub fn slow(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let case = format!("{jdk}, a call of 10 ns");
        if !arguments.chooses(&case) {
            continue;
        }
        let (mut plain, mut profiled) = (Vec::new(), Vec::new());
        for round in 0..=arguments.pairs {
            let without = run(jdk, None)?.printed("nanos");
            let with = run(jdk, Some("slow=SlowCost.called:10ms"))?.printed("nanos");
            if round > 0 {
                plain.push(without);
                profiled.push(with);
            }
        }
        let (plain, profiled) = (median(plain), median(profiled));
        figures.add(Figure {
            benchmark: "slow",
            case,
            measure: "time of a hook pair",
            plain: Some(plain),
            profiled,
            unit: "ns",
            result: profiled - plain,
            wanted: Wanted::AtMost(60.0),
        });
    }
    Ok(())
}

fn run(jdk: &'static Jdk, options: Option<&str>) -> Result<Outcome> {
    let run = Run::new(jdk).class("SlowCost").args([CALLS]);
    let run = options.iter().fold(run, |run, options| run.agent(options));
    let outcome = run.run();
    ensure!(
        outcome.status == Some(0),
        "the program failed:\n{}",
        outcome.report()
    );
    Ok(outcome)
}
