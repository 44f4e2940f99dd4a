//! Checks that the agent survives what programs do, for a long time.

use anyhow::Result;
use java_test_harness::{Jdk, Outcome, Stress, TextProfile};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, mebibytes};

/// Every kind of stress on every JDK; all collectors together get the time of one kind.
pub fn soak(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in Jdk::tested() {
        let kinds: Vec<Stress> = Stress::all()
            .into_iter()
            .filter(|stress| stress.supported_by(jdk))
            .collect();
        let is_allocation = |stress: &&Stress| matches!(stress, Stress::Allocation(_));
        let allocations = kinds.iter().filter(is_allocation).count();
        for stress in &kinds {
            let parts = if is_allocation(&stress) {
                allocations
            } else {
                1
            };
            let seconds = (arguments.minutes * 60.0 / parts as f64).ceil() as u32;
            let options = format!(
                "cpu=samples,interval=1,depth=16,engine={}",
                arguments.engine
            );
            let outcome = stress.run(jdk, &options, seconds);
            let problem = problem_of(&outcome);
            if let Some(problem) = &problem {
                eprintln!("{problem}\n{}", outcome.report());
            }
            figures.add(Figure {
                benchmark: "soak",
                case: format!("{jdk}, {stress}"),
                measure: "failures",
                plain: None,
                profiled: mebibytes(outcome.usage.max_resident),
                unit: "MiB",
                result: if problem.is_some() { 1.0 } else { 0.0 },
                wanted: Wanted::AtMost(0.0),
            });
        }
    }
    Ok(())
}

/// The fault of a run, if any.
pub fn problem_of(outcome: &Outcome) -> Option<String> {
    if outcome.timed_out {
        return Some("hangs".to_owned());
    }
    if outcome.status != Some(0) {
        return Some(format!(
            "status {:?}, signal {:?}",
            outcome.status, outcome.signal
        ));
    }
    let text = match std::fs::read_to_string(outcome.path("java.hprof.txt")) {
        Ok(text) => text,
        Err(error) => return Some(format!("no profile: {error}")),
    };
    match TextProfile::parse(&text) {
        Ok(profile) if profile.tables.len() != 1 => Some("not one table".to_owned()),
        Ok(profile) if profile.table().total == 0 => Some("no samples".to_owned()),
        Ok(profile) => match profile.counter("internal_errors") {
            0 => None,
            count => Some(format!("{count} internal errors")),
        },
        Err(problem) => Some(problem),
    }
}
