//! How long the graph of a heap takes, and how much memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use java_test_harness::{Jdk, Run};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};
use super::listener::front_end;

/// Objects that the program makes; about 780 MB of dump.
const OBJECTS: &str = "15700000";

/// A report on a large dump, with and without an index.
pub fn graph(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let command = front_end()?;
    let run = Run::new(Jdk::compiler())
        .jvm_arg("-Xmx6g")
        .class("OrderHeap")
        .args([OBJECTS, "big.hprof"])
        .time_limit(Duration::from_secs(300));
    let outcome = run.run().expect_status(0);
    let dump = outcome.path("big.hprof");
    let report = ["report", "--json", "--no-index"];
    let cases: [(&str, &[&str], f64, f64); 4] = [
        ("report", &report, 5.0, 1000.0),
        (
            "report, --memory 400M",
            &["report", "--json", "--no-index", "--memory", "400M"],
            60.0,
            400.0,
        ),
        ("dominators, index written", &["dominators"], 5.0, 1000.0),
        ("dominators, index used", &["dominators"], 0.3, 1000.0),
    ];
    for (case, options, seconds, megabytes) in cases {
        let mut times = Vec::new();
        let mut peaks = Vec::new();
        for _ in 0..arguments.pairs.min(3) {
            let index = dump.with_file_name("big.hprof.hprof-rs-index");
            if case.ends_with("written") && index.exists() {
                fs::remove_file(&index)?;
            }
            let (time, peak) = measure(&command, options, &dump)?;
            times.push(time);
            peaks.push(peak);
        }
        for (measure, value, unit, most) in [
            ("wall time", median(times), "s", seconds),
            ("peak memory", median(peaks), "MB", megabytes),
        ] {
            figures.add(Figure {
                benchmark: "graph",
                case: case.to_owned(),
                measure,
                plain: None,
                profiled: value,
                unit,
                result: value,
                wanted: Wanted::AtMost(most),
            });
        }
    }
    Ok(())
}

/// Seconds, and the largest resident size in megabytes.
fn measure(command: &Path, options: &[&str], dump: &Path) -> Result<(f64, f64)> {
    let start = Instant::now();
    let mut child = Command::new(command)
        .args(options)
        .arg(dump)
        .stdout(Stdio::null())
        .spawn()
        .context("hprof-rs does not start")?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0.0;
    loop {
        // The kernel keeps the high-water mark (proc(5), VmHWM), so that looking now and then
        // misses the last moments only.
        let status = fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        peak = kilobytes.map_or(peak, |kilobytes| kilobytes * 1024.0 / 1e6);
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "hprof-rs failed on {}", dump.display());
            return Ok((start.elapsed().as_secs_f64(), peak));
        }
        thread::sleep(Duration::from_millis(2));
    }
}
