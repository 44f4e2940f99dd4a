//! How long an export to Parquet takes against a report, and how large the tables are.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};
use super::graph::{BIG, cache_folder, measure};
use super::listener::front_end;

/// A report and exports of one dump, in turn.
pub fn parquet(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let temporary = tempfile::tempdir_in(cache_folder()?)?;
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    let dump = folder.join("big.hprof");
    if !dump.exists() {
        BIG.write(&dump)?;
    }
    let command = front_end()?;
    let lake = temporary.path().join("lake");
    let report = ["report", "--json", "--no-index"].map(OsStr::new);
    let export = ["export", "--no-index", "--parquet"].map(OsStr::new);
    let export = [&export[..], &[lake.as_os_str()]].concat();
    let limited = [&export[..], &["--memory", "400M"].map(OsStr::new)].concat();
    let mut costs = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..arguments.pairs.min(3) {
        for (costs, arguments) in costs.iter_mut().zip([&report[..], &export, &limited]) {
            costs.push(measure(&command, arguments, &dump)?);
        }
    }
    let seconds =
        |costs: &[(f64, f64)]| median(costs.iter().map(|cost| cost.0).collect::<Vec<_>>());
    let peak = |costs: &[(f64, f64)]| median(costs.iter().map(|cost| cost.1).collect::<Vec<_>>());
    let [report, export, limited] = &costs;
    let megabytes = bytes_below(&lake)? as f64 / 1e6;
    let dumped = fs::metadata(&dump)?.len() as f64 / 1e6;
    let ratio = |case: &str, measure, plain: f64, value: f64, unit, most| Figure {
        benchmark: "parquet",
        case: case.to_owned(),
        measure,
        plain: Some(plain),
        profiled: value,
        unit,
        result: value / plain,
        wanted: Wanted::AtMost(most),
    };
    let (time, base) = (seconds(export), seconds(report));
    figures.add(ratio(
        "export, against report",
        "wall, ratio",
        base,
        time,
        "s",
        2.0,
    ));
    figures.add(ratio(
        "tables, against the dump",
        "size, ratio",
        dumped,
        megabytes,
        "MB",
        0.5,
    ));
    figures.add(Figure {
        benchmark: "parquet",
        case: "export, --memory 400M".to_owned(),
        measure: "peak memory",
        plain: None,
        profiled: peak(limited),
        unit: "MB",
        result: peak(limited),
        wanted: Wanted::AtMost(420.0),
    });
    Ok(())
}

/// The bytes of all files below a folder.
fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => bytes_below(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}
