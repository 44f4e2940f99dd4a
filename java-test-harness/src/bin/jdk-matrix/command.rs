//! Uses of the command, each on a program whose figures are known.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use java_test_harness::{Jdk, Outcome, Run, Running};
use serde_json::Value;

use crate::cell::Cell;

/// A row of the table of uses.
pub struct Use {
    /// The command line, as the page shows it.
    pub name: &'static str,
    /// The program and its arguments.
    pub program: &'static str,
    /// A description of the comparison, for the page.
    pub compares: &'static str,
    /// Runs the command and compares its figures.
    compare: fn(&Scene) -> Result<()>,
    /// A module that the JDK needs for it.
    module: Option<&'static str>,
}

/// The built command, a JDK, and a folder for files.
struct Scene {
    command: PathBuf,
    jdk: &'static Jdk,
    folder: tempfile::TempDir,
}

const SPIN: &str = "Spin";
const SHARE: &str =
    "the share of a loop is that of the thread's CPU clock within four standard deviations";

/// All uses, in the order of the page.
pub const USES: &[Use] = &[
    Use {
        name: "record PID -d 2 -o x.collapsed",
        program: SPIN,
        compares: SHARE,
        compare: record,
        module: None,
    },
    Use {
        name: "attach PID cpu=samples, control PID detach",
        program: SPIN,
        compares: SHARE,
        compare: attach,
        module: None,
    },
    Use {
        name: "dump PID -o x.hprof",
        program: "KeepsAndMakes",
        compares: "200,000 instances",
        compare: dump,
        module: None,
    },
    Use {
        name: "stacks PID",
        program: "Deadlock",
        compares: "three deadlocks",
        compare: stacks,
        module: None,
    },
    Use {
        name: "memory PID",
        program: "Deadlock",
        compares: "rows add up to the resident set, and that is the kernel's within 3 %",
        compare: memory,
        module: None,
    },
    Use {
        name: "gc LOG",
        program: "GcBeans 200",
        compares: "collections are as many as the VM's beans count (Serial), on JDK 8 as many as the lines of its log: a young \
                   collection that becomes a full one has no line there",
        compare: gc,
        module: Some("java.management"),
    },
    Use {
        name: "convert x.jfr",
        program: "Spin 1",
        compares: "the share of a loop in a recording of the JVM's own is that of `jfr print`",
        compare: recording,
        module: Some("jdk.jfr"),
    },
];

impl Use {
    /// The outcome on one JDK.
    pub fn cell(&self, command: &Path, jdk: &'static Jdk) -> Cell {
        if let Some(module) = self.module.filter(|module| !has(jdk, module)) {
            return Cell::NotPossible(format!("this JDK's runtime has no module {module}"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let command = command.to_owned();
        let scene = Scene {
            command,
            jdk,
            folder,
        };
        match (self.compare)(&scene) {
            Ok(()) => Cell::Exact,
            Err(error) => Cell::Wrong(format!("{error:#}")),
        }
    }
}

/// JDK 8 has all, and no modules.
fn has(jdk: &Jdk, module: &str) -> bool {
    jdk.feature() < 9 || jdk.has_module(module)
}

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the command in the folder, and returns what it prints.
    fn ask(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.command);
        let command = command.args(arguments).current_dir(self.folder.path());
        let output = command.output().context("the command does not start")?;
        ensure!(
            output.status.success(),
            "{}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.ask(arguments)?)?)
    }

    fn start(&self, class: &str, arguments: &[&str]) -> Running {
        let run = Run::new(self.jdk).time_limit(Duration::from_secs(300));
        let run = run.jvm_arg("-Xmx128m").class(class);
        run.args(arguments.iter().copied()).start()
    }

    fn deadlocked(&self) -> (Running, String) {
        let jvm = self.start("Deadlock", &[]);
        jvm.wait_for_line("ready");
        let pid = jvm.pid().to_string();
        (jvm, pid)
    }

    /// Compares the share of a method in folded stacks.
    fn share(&self, file: &str, truth: f64, tolerance: Option<f64>) -> Result<()> {
        let text = std::fs::read_to_string(self.path(file))?;
        let samples = |method: &str| -> f64 {
            let lines = text.lines().filter(|line| line.contains(method));
            let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
            counts.sum()
        };
        let (hot, warm) = (samples("Spin.hot"), samples("Spin.warm"));
        let share = hot / (hot + warm);
        // A kernel looks at timers of CPU time at its ticks, every fourth millisecond.
        let looks = (hot + warm) / 4.0;
        let by_chance = 4.0 * (truth * (1.0 - truth) / looks).sqrt();
        let tolerance = tolerance.unwrap_or(by_chance);
        ensure!(
            (share - truth).abs() <= tolerance,
            "hot has {share:.2}, in truth {truth:.2}"
        );
        Ok(())
    }
}

/// The share of Spin.hot by the loop's own limits.
const SHARE_OF_HOT: f64 = 0.75;

fn record(scene: &Scene) -> Result<()> {
    let jvm = scene.start("Spin", &["60"]);
    let pid = jvm.pid().to_string();
    scene.ask(&[
        "record",
        &pid,
        "-d",
        "2",
        "-o",
        "x.collapsed",
        "--options",
        "interval=1",
    ])?;
    scene.share("x.collapsed", SHARE_OF_HOT, None)
}

fn attach(scene: &Scene) -> Result<()> {
    let jvm = scene.start("Spin", &["60"]);
    let pid = jvm.pid().to_string();
    let file = scene.path("x.txt");
    let options = format!("cpu=samples,interval=1,depth=64,file={}", file.display());
    scene.ask(&["attach", &pid, &options])?;
    std::thread::sleep(Duration::from_secs(2));
    scene.ask(&["control", &pid, "detach"])?;
    scene.ask(&["convert", "x.txt", "-o", "x.collapsed"])?;
    scene.share("x.collapsed", SHARE_OF_HOT, None)
}

fn dump(scene: &Scene) -> Result<()> {
    let jvm = scene.start("KeepsAndMakes", &[]);
    jvm.wait_for_line("ready");
    scene.ask(&["dump", &jvm.pid().to_string(), "-o", "x.hprof"])?;
    let found = scene.json(&["histogram", "--json", "--top", "0", "x.hprof"])?;
    let rows = found["histogram"]["rows"].as_array().context("no rows")?;
    let row = rows.iter().find(|row| row["name"] == "KeepsAndMakes$Old");
    let count = row.and_then(|row| row["objects"].as_u64());
    ensure!(count == Some(200_000), "{count:?} instances, not 200,000");
    Ok(())
}

fn stacks(scene: &Scene) -> Result<()> {
    let (_jvm, pid) = scene.deadlocked();
    let found = scene.json(&["stacks", "--json", &pid])?;
    let deadlocks = found["report"]["deadlocks"].as_array();
    let count = deadlocks.context("no deadlocks in the report")?.len();
    ensure!(count == 3, "{count} deadlocks, not 3");
    Ok(())
}

fn memory(scene: &Scene) -> Result<()> {
    let (_jvm, pid) = scene.deadlocked();
    let found = scene.json(&["memory", "--json", &pid])?;
    let rows = found["table"]["rows"].as_array().context("no rows")?;
    let sum: u64 = rows.iter().filter_map(|row| row["resident"].as_u64()).sum();
    let whole = found["table"]["resident"].as_u64().context("no sum")?;
    ensure!(sum == whole, "rows have {sum} bytes, the set {whole}");
    let kernel = found["status"]["resident"].as_u64().context("no status")?;
    let off = kernel.abs_diff(whole) as f64 / kernel as f64;
    ensure!(off < 0.03, "{whole} bytes, the kernel has {kernel}");
    Ok(())
}

fn gc(scene: &Scene) -> Result<()> {
    let log = match scene.jdk.feature() {
        8 => "-Xloggc:gc.log",
        _ => "-Xlog:gc:file=gc.log",
    };
    let run = Run::new(scene.jdk).jvm_args(["-Xmx96m", "-XX:+UseSerialGC", log]);
    let outcome = run.class("GcBeans").args(["200"]).run();
    ensure!(outcome.status == Some(0), "the JVM failed");
    let lines = outcome.stdout.lines();
    let beans = lines.filter_map(|line| line.strip_prefix("bean=")?.split('|').nth(1));
    let beans: u64 = beans.filter_map(|count| count.parse::<u64>().ok()).sum();
    let log = outcome.path("gc.log");
    let log = log.to_str().context("a path in UTF-8")?;
    let found = scene.json(&["gc", "--json", log])?;
    let kinds = found["logs"][0]["kinds"].as_array().context("no kinds")?;
    let kinds = kinds
        .iter()
        .filter(|kind| kind["family"] == "young" || kind["family"] == "full");
    let count: u64 = kinds.filter_map(|kind| kind["count"].as_u64()).sum();
    let truth = match scene.jdk.feature() {
        8 => {
            let text = std::fs::read_to_string(outcome.path("gc.log"))?;
            text.lines().filter(|line| line.ends_with(" secs]")).count() as u64
        }
        _ => beans,
    };
    ensure!(count == truth, "{count} collections, in truth {truth}");
    Ok(())
}

fn recording(scene: &Scene) -> Result<()> {
    let file = scene.path("x.jfr");
    let option = format!(
        "-XX:StartFlightRecording=settings=profile,filename={}",
        file.display()
    );
    let run = Run::new(scene.jdk).jvm_args(["-Xmx128m".to_owned(), option]);
    let outcome: Outcome = run.class("Spin").args(["3"]).run();
    ensure!(outcome.status == Some(0), "the JVM failed");
    scene.ask(&["convert", "x.jfr", "-o", "x.collapsed"])?;
    scene.share("x.collapsed", printed_share(&file)?, Some(0.01))
}

/// The share of Spin.hot as the JDK's own tool prints the recording.
fn printed_share(file: &Path) -> Result<f64> {
    let with_tool = Jdk::compilers().iter().rev();
    let mut with_tool = with_tool.filter(|jdk| jdk.tool("jfr").is_file());
    let jdk = with_tool.next().context("no JDK with the tool jfr")?;
    let mut print = Command::new(jdk.tool("jfr"));
    let print = print.args(["print", "--events", "jdk.ExecutionSample"]);
    let output = print.args(["--stack-depth", "64"]).arg(file).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let events = |method: &str| {
        text.split("jdk.ExecutionSample")
            .filter(|it| it.contains(method))
            .count() as f64
    };
    let (hot, warm) = (events("Spin.hot("), events("Spin.warm("));
    ensure!(hot + warm > 0.0, "jfr print shows no samples");
    Ok(hot / (hot + warm))
}
