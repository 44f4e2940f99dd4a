//! How long a recording of Flight Recorder takes to read, and how much memory, beside the JDK's own tool.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;

use anyhow::Result;
use java_test_harness::{Jdk, Run};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};
use super::graph::{cache_folder, measure};
use super::listener::front_end;

/// The size of the file in bytes: a recording again and again, as a file is a row of chunks.
const BYTES: u64 = 64 << 20;
const SETTINGS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.ExecutionSample">
    <setting name="enabled">true</setting><setting name="period">10 ms</setting>
  </event>
  <event name="jdk.ObjectAllocationInNewTLAB">
    <setting name="enabled">true</setting><setting name="stackTrace">true</setting>
  </event>
  <event name="jdk.ObjectAllocationOutsideTLAB">
    <setting name="enabled">true</setting><setting name="stackTrace">true</setting>
  </event>
</configuration>"#;

/// `samples` against `jfr print --events jdk.ExecutionSample`.
pub fn jfr(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::feature_release(17);
    let run = Run::new(jdk).file("s.jfc", SETTINGS);
    let (settings, recording) = (run.path("s.jfc"), run.path("r.jfr"));
    let option = format!(
        "-XX:StartFlightRecording=settings={},filename={}",
        settings.display(),
        recording.display()
    );
    let outcome = run.jvm_arg(option).class("Recorded").args(["10000"]).run();
    let chunk = outcome.expect_status(0).bytes("r.jfr");
    let temporary = tempfile::tempdir_in(cache_folder()?)?;
    let path = temporary.path().join("recording.jfr");
    let mut file = File::create(&path)?;
    let mut written = 0;
    while written < BYTES {
        file.write_all(&chunk)?;
        written += chunk.len() as u64;
    }
    drop(file);
    let flags = ["samples", "--json"].map(OsStr::new);
    let of_jdk = ["print", "--events", "jdk.ExecutionSample"].map(OsStr::new);
    let (command, print) = (front_end()?, jdk.tool("jfr"));
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..arguments.pairs.min(3) {
        plain.push(measure(&print, &of_jdk, &path)?);
        ours.push(measure(&command, &flags, &path)?);
    }
    let bytes = fs::metadata(&path)?.len();
    let case = format!(
        "{} MB, samples and allocations of JDK 17",
        bytes / 1_000_000
    );
    let times = |costs: &[(f64, f64)]| median(costs.iter().map(|cost| cost.0).collect::<Vec<_>>());
    let peaks = |costs: &[(f64, f64)]| median(costs.iter().map(|cost| cost.1).collect::<Vec<_>>());
    figures.add(Figure {
        benchmark: "jfr",
        case: case.clone(),
        measure: "wall",
        plain: Some(times(&plain)),
        profiled: times(&ours),
        unit: "s",
        result: times(&plain) / times(&ours),
        wanted: Wanted::AtLeast(5.0),
    });
    figures.add(Figure {
        benchmark: "jfr",
        case,
        measure: "peak memory",
        plain: Some(peaks(&plain)),
        profiled: peaks(&ours),
        unit: "MB",
        result: peaks(&ours),
        wanted: Wanted::AtMost(256.0),
    });
    Ok(())
}
