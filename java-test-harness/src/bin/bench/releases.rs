//! The cost of each mode on each JDK that has a compiler. The program is `javac`; it compiles generated sources that every release from
//! 8 on accepts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use java_test_harness::{Jdk, Outcome, Run};
use tempfile::TempDir;

use super::Arguments;
use super::cost::{Variant, median_of, noise_of, ratio, rounds};
use super::figures::{Figure, Figures, Wanted, millis};

/// Generated classes, and the methods of each.
const CLASSES: usize = 400;
const METHODS: usize = 40;

/// The modes that are measured.
const VARIANTS: [Variant; 5] = [
    ("", None),
    ("cpu=samples", Some("cpu=samples,interval=10")),
    ("cpu=times", Some("cpu=times")),
    ("heap=sites", Some("heap=sites")),
    ("monitor=y", Some("monitor=y")),
];

/// Ratios of CPU time and time of the modes to the compiler without the agent.
pub fn releases(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let sources = made_sources()?;
    for jdk in Jdk::releases() {
        let Some(compiler) = Compiler::of(jdk).filter(|_| arguments.chooses(&jdk.to_string()))
        else {
            continue;
        };
        let outcomes = rounds(arguments.pairs, &VARIANTS, |options| {
            let run = compiler.run(jdk, sources.path());
            Ok(options
                .iter()
                .fold(run, |run, options| run.agent(options))
                .run())
        })?;
        for ((mode, _), profiled) in VARIANTS.iter().zip(&outcomes).skip(1) {
            add(figures, &format!("{jdk}, {mode}"), &outcomes[0], profiled);
        }
    }
    Ok(())
}

fn add(figures: &mut Figures, case: &str, plain: &[Outcome], profiled: &[Outcome]) {
    type Value = fn(&Outcome) -> f64;
    let values: [(&'static str, Value); 2] = [
        ("wall, ratio", |outcome| millis(outcome.wall)),
        ("CPU, ratio", |outcome| millis(outcome.usage.cpu())),
    ];
    for (measure, value) in values {
        let noise = noise_of(plain, profiled, value, ratio);
        let (plain, profiled) = (median_of(plain, value), median_of(profiled, value));
        let figure = Figure {
            benchmark: "releases",
            case: case.to_owned(),
            measure,
            plain: Some(plain),
            profiled,
            unit: "ms",
            result: ratio(plain, profiled),
            wanted: Wanted::Any,
        };
        figures.add_paired(figure, noise);
    }
}

/// How the compiler of a JDK is run.
enum Compiler {
    /// From a jar, before JDK 9.
    Jar(PathBuf),
    Module,
}

impl Compiler {
    /// That of a JDK, if it has one.
    fn of(jdk: &Jdk) -> Option<Self> {
        let jars = ["lib/tools.jar", "../lib/tools.jar"].map(|jar| jdk.home().join(jar));
        match jdk.feature() {
            ..9 => jars.into_iter().find(|jar| jar.exists()).map(Self::Jar),
            _ => jdk.has_module("jdk.compiler").then_some(Self::Module),
        }
    }

    fn run(&self, jdk: &'static Jdk, sources: &Path) -> Run {
        let heap = ["-Xms1g", "-Xmx1g", "-XX:+AlwaysPreTouch"];
        let run = Run::new(jdk)
            .jvm_args(heap)
            .time_limit(Duration::from_secs(600));
        let run = match self {
            Self::Jar(jar) => run.class_path(jar).class("com.sun.tools.javac.Main"),
            Self::Module => run.module("jdk.compiler/com.sun.tools.javac.Main"),
        };
        // Each run has a working folder of its own.
        let files = format!("@{}", sources.join("files").display());
        run.args(["-nowarn", "-proc:none", "-d", "."]).args([files])
    }
}

/// Classes with generic methods, lambdas, loops and inner classes, of which each uses the one before.
fn made_sources() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let mut files = String::new();
    for class in 0..CLASSES {
        let path = folder.path().join(format!("Made{class}.java"));
        fs::write(&path, made_class(class))?;
        files.push_str(&format!("{}\n", path.display()));
    }
    fs::write(folder.path().join("files"), files)?;
    Ok(folder)
}

fn made_class(number: usize) -> String {
    let before = number.saturating_sub(1);
    let mut text = format!(
        "import java.util.*;\nimport java.util.function.*;\n\npublic class Made{number} {{\n"
    );
    for method in 0..METHODS {
        let body = match method % 4 {
            0 => format!(
                "        Map<String, List<Integer>> map = new TreeMap<>();\n        for (int i = 0; i < n; i++) {{\n            \
                 map.computeIfAbsent(\"k\" + i % {}, k -> new ArrayList<>()).add(i);\n        }}\n        return map.size();\n",
                method + 3
            ),
            1 => "        Function<Integer, Integer> twice = x -> x * 2;\n        int sum = 0;\n        for (int i = n; i > 0; i--) {\n            \
                  sum += i % 3 == 0 ? twice.apply(i) : i;\n        }\n        return sum;\n"
                .to_owned(),
            2 => format!(
                "        switch (n % 5) {{\n            case 0: return Made{before}.m0(n / 2);\n            case 1: return new Part(n).value();\n            \
                 default: return (\"\" + n).hashCode();\n        }}\n"
            ),
            _ => "        try {\n            Optional<Integer> found = Arrays.asList(n, n + 1).stream().filter(x -> x > 3).findFirst();\n            \
                  return found.orElse(0);\n        } catch (IllegalStateException e) {\n            return -1;\n        }\n"
                .to_owned(),
        };
        text.push_str(&format!(
            "    static int m{method}(int n) {{\n{body}    }}\n\n"
        ));
    }
    text.push_str(
        "    static class Part {\n        final int n;\n\n        Part(int n) {\n            this.n = n;\n        }\n\n        \
         int value() {\n            Supplier<Integer> one = () -> n + 1;\n            return one.get();\n        }\n    }\n}\n",
    );
    text
}
