//! Samples without a stack: AsyncGetCallTrace against the agent's own walk.

use anyhow::{Result, ensure};
use java_test_harness::{Jdk, Run};

use super::Arguments;
use super::cost::{compile, module_sources};
use super::figures::{Figure, Figures, Wanted};

/// Programs that AsyncGetCallTrace fails for: flags of the JVM, class, arguments.
const PROGRAMS: &[(&[&str], &str, &[&str])] = &[
    (&[], "Spin", &["5", "1"]),
    (&["-Xint"], "AllocPressure", &["5"]),
    (&["-Xcomp"], "AllocPressure", &["5"]),
    (&[], "VirtualThreads", &["many", "5", "1000"]),
];

/// The share of samples without a stack, with both engines.
pub fn walks(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let compiler = Jdk::compiler();
    if arguments.chooses("javac") {
        let (sources, _) = module_sources(compiler)?;
        compare(format!("{compiler}, javac"), figures, |options| {
            compile(compiler, &sources, Some(options))
        })?;
    }
    for jdk in Jdk::tested() {
        for (flags, class, program) in PROGRAMS {
            let is_virtual = *class == "VirtualThreads";
            let case = format!("{jdk}, {} {class}", flags.join(" "));
            if arguments.chooses(&case) && (!is_virtual || jdk.feature() >= 21) {
                compare(case, figures, |options| {
                    let run = Run::new(jdk).jvm_args(flags.iter().copied());
                    run.agent(options)
                        .class(class)
                        .args(program.iter().copied())
                })?;
            }
        }
    }
    Ok(())
}

fn compare(case: String, figures: &mut Figures, run: impl Fn(&str) -> Run) -> Result<()> {
    let mut lost = [0.0; 2];
    for (lost, engine) in lost.iter_mut().zip(["signal", "walker"]) {
        let options = format!("cpu=samples,interval=1,depth=64,engine={engine}");
        let outcome = run(&options).run();
        ensure!(
            outcome.status == Some(0),
            "the program failed:\n{}",
            outcome.report()
        );
        let profile = outcome.profile();
        let without = profile.counter("samples_without_stack") as f64;
        *lost = 100.0 * without / profile.table().total as f64;
    }
    let [plain, profiled] = lost;
    figures.add(Figure {
        benchmark: "walks",
        case,
        measure: "samples without a stack",
        plain: Some(plain),
        profiled,
        unit: "%",
        result: profiled,
        wanted: Wanted::AtMost(0.5),
    });
    Ok(())
}
