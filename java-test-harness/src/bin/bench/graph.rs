//! How long the graph of a heap takes, and how much memory.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median, noise};
use super::listener::front_end;
use super::made_dump::MadeDump;

/// 780 MB of dump, 13 million objects.
pub const BIG: MadeDump = MadeDump {
    rounds: 1_300_000,
    note_bytes: 208,
};
/// 5 GB of dump, 90 million objects.
const HUGE: MadeDump = MadeDump {
    rounds: 9_000_000,
    note_bytes: 160,
};

/// Dumps of gigabytes that a case names, as in "50 GB": 17.4 million objects each. With scratch files and index they take
/// twice their size of disk, so they are measured only where they are named.
fn of_gigabytes(case: &str) -> Option<(u64, MadeDump)> {
    let gigabytes = case.strip_suffix(" GB")?.parse().ok()?;
    let made = MadeDump {
        rounds: 1_740_000 * gigabytes,
        note_bytes: 160,
    };
    Some((gigabytes, made))
}

/// A run: name, options, and the limits in seconds and megabytes.
type Case<'a> = (&'a str, &'a [&'a str], f64, f64);

/// Questions to a dump whose index is there, which a person asks one after another: options before
/// and after the dump.
const QUESTIONS: [(&[&str], &[&str]); 14] = [
    (&["dominators"], &[]),
    (&["threads", "--names"], &[]),
    (&["classloaders"], &[]),
    (&["object"], &["0x700000030"]),
    (&["query"], &["SELECT * FROM objects"]),
    (&["query"], &["SELECT name, objects FROM classes"]),
    (&["query"], &["SELECT name, retained FROM classes"]),
    (&["query"], &["SELECT * FROM \"references\""]),
    (&["query"], &["SELECT * FROM fields"]),
    (&["query"], &["SELECT * FROM strings"]),
    (&["query"], &["SELECT * FROM roots"]),
    (&["query"], &["SELECT * FROM threads"]),
    (&["retained"], &[]),
    (&["paths"], &["0x700000030"]),
];

/// A report on a large dump, with and without an index, and on a huge one in little memory.
pub fn graph(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let temporary = tempfile::tempdir_in(cache_folder()?)?;
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    let cases: [Case<'_>; 5] = [
        ("report", &["report", "--json", "--no-index"], 2.5, 500.0),
        (
            "report, --memory 400M",
            &["report", "--json", "--no-index", "--memory", "400M"],
            2.5,
            420.0,
        ),
        ("report, index written", &["report", "--json"], 5.0, 1000.0),
        ("dominators, index used", &["dominators"], 0.3, 1000.0),
        ("report, index used", &["report", "--json"], 5.0, 1000.0),
    ];
    let named: Vec<_> = (arguments.cases.iter())
        .filter_map(|case| of_gigabytes(case))
        .collect();
    for &(gigabytes, made) in &named {
        let dump = folder.join(format!("{gigabytes}-gigabytes.hprof"));
        giant(&dump, gigabytes, made, figures)?;
    }
    if !named.is_empty() {
        return Ok(());
    }
    let rounds = arguments.pairs.min(3);
    measure_all(&folder.join("big.hprof"), BIG, &cases, rounds, figures)?;
    first_rows(&folder.join("big.hprof"), arguments.pairs, figures)?;
    let cases: [Case<'_>; 1] = [(
        "5 GB, report, --memory 1500M",
        &["report", "--json", "--no-index", "--memory", "1500M"],
        25.0,
        1572.9,
    )];
    measure_all(&folder.join("huge.hprof"), HUGE, &cases, 1, figures)
}

/// A dump of which the objects alone fill several times the memory: read, indexed, reported. Memory is 4 GiB for 50 GB.
fn giant(dump: &Path, gigabytes: u64, made: MadeDump, figures: &mut Figures) -> Result<()> {
    let mebibytes = 4096 * gigabytes / 50;
    let memory = format!("{mebibytes}M");
    let most = mebibytes as f64 * 1.048_576;
    // Seconds for 50 GB.
    let cases: [(&str, &[&str], f64); 4] = [
        ("summary", &["summary"], 1200.0),
        ("report, index written", &["report", "--json"], 3600.0),
        ("dominators, index used", &["dominators"], 60.0),
        ("report, index used", &["report", "--json"], 1800.0),
    ];
    for (name, options, seconds) in cases {
        let case = format!("{gigabytes} GB, --memory {memory}, {name}");
        let options = [options, &["--memory", &memory]].concat();
        let seconds = seconds * gigabytes as f64 / 50.0;
        measure_all(dump, made, &[(&case, &options, seconds, most)], 1, figures)?;
    }
    let mut index = dump.as_os_str().to_owned();
    index.push(".hprof-rs-index");
    for (what, file) in [
        ("bytes of the dump", dump),
        ("bytes of the index", index.as_ref()),
    ] {
        let size = fs::metadata(file)?.len() as f64 / 1e9;
        figures.add(Figure {
            benchmark: "graph",
            case: format!("{gigabytes} GB"),
            measure: what,
            plain: None,
            profiled: size,
            unit: "GB",
            result: size,
            wanted: Wanted::Any,
        });
    }
    Ok(())
}

/// Where dumps of gigabytes may lie: the folder of the JDKs, on a disk.
pub fn cache_folder() -> Result<PathBuf> {
    let home = java_test_harness::cache_folder();
    fs::create_dir_all(&home).with_context(|| home.display().to_string())?;
    Ok(home)
}

fn measure_all(
    dump: &Path,
    made: MadeDump,
    cases: &[Case<'_>],
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let command = front_end()?;
    if !dump.exists() {
        made.write(dump)?;
    }
    eprintln!(
        "graph: {} objects in {} MB",
        made.objects(),
        fs::metadata(dump)?.len() / 1_000_000
    );
    for &(case, options, seconds, megabytes) in cases {
        let mut times = Vec::new();
        let mut peaks = Vec::new();
        for _ in 0..rounds {
            let mut index = dump.as_os_str().to_owned();
            index.push(".hprof-rs-index");
            if case.ends_with("written") && Path::new(&index).exists() {
                fs::remove_file(&index)?;
            }
            let (time, peak) = measure(&command, options, dump)?;
            times.push(time);
            peaks.push(peak);
        }
        for (measure, values, unit, most) in [
            ("wall time", times, "s", seconds),
            ("peak memory", peaks, "MB", megabytes),
        ] {
            let noise = noise(values.iter().copied());
            let value = median(values);
            let figure = Figure {
                benchmark: "graph",
                case: case.to_owned(),
                measure,
                plain: None,
                profiled: value,
                unit,
                result: value,
                wanted: Wanted::AtMost(most),
            };
            figures.add_paired(figure, noise);
        }
    }
    Ok(())
}

/// The time until the first row of each question appears.
fn first_rows(dump: &Path, rounds: usize, figures: &mut Figures) -> Result<()> {
    let command = front_end()?;
    for (before, after) in QUESTIONS {
        let times = (0..rounds).map(|_| first_row(&command, before, dump, after));
        let times = times.collect::<Result<Vec<_>>>()?;
        let milliseconds = 1000.0 * median(times);
        figures.add(Figure {
            benchmark: "graph",
            case: format!("{}, index used", [before, after].concat().join(" ")),
            measure: "first row",
            plain: None,
            profiled: milliseconds,
            unit: "ms",
            result: milliseconds,
            wanted: Wanted::AtMost(50.0),
        });
    }
    Ok(())
}

/// Seconds until a command prints something. Later output is not waited for.
fn first_row(command: &Path, before: &[&str], dump: &Path, after: &[&str]) -> Result<f64> {
    let start = Instant::now();
    let mut child = Command::new(command)
        .args(before)
        .arg(dump)
        .args(after)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("hprof-rs does not start")?;
    let mut out = child.stdout.take().context("no output")?;
    let read = out.read(&mut [0])?;
    let seconds = start.elapsed().as_secs_f64();
    child.kill()?;
    child.wait()?;
    ensure!(read == 1, "hprof-rs {before:?} {after:?} prints nothing");
    Ok(seconds)
}

/// Seconds, and the largest resident size in megabytes, pages of mapped files included.
pub fn measure(command: &Path, options: &[impl AsRef<OsStr>], dump: &Path) -> Result<(f64, f64)> {
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
