//! Several logs side by side: figures of garbage collections, and thread dumps of one program.

use std::path::{Path, PathBuf};

use hprof_thread_dumps::{Dumps, Report};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ViewError;
use super::report::MAX_REPORT;
use crate::ids::DumpId;
use crate::state::Analysis;
use crate::store::Local;

/// All thread dumps of one comparison, in bytes: reading takes about as much memory again.
const MAX_DUMPS: u64 = 256 << 20;

/// A file of a comparison.
#[derive(Debug)]
pub struct Named {
    id: DumpId,
    name: String,
    path: PathBuf,
    _held: Vec<Local>,
}

impl Named {
    /// A file of an analysis.
    pub fn of(analysis: &Analysis, path: PathBuf) -> Self {
        Self {
            id: analysis.dump.clone(),
            name: analysis.name.clone(),
            path,
            _held: analysis.held.clone(),
        }
    }
}

/// A log of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ComparedLog {
    /// The log.
    pub id: DumpId,
    /// The name of its file.
    pub name: String,
    /// Its collector, if it is known.
    pub collector: Option<String>,
    /// Its noteworthy events: `id`, `severity`, `fact`, `advice` (docs/gc.md).
    #[schema(value_type = Vec<Object>)]
    pub findings: Vec<serde_json::Value>,
}

/// A figure of all logs.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FigureOfLogs {
    /// Its name.
    pub name: String,
    /// `count`, `milliseconds`, `bytes`, `bytes_per_second`, `percent` or `per_minute`.
    pub unit: String,
    /// Its value in each log, none where a log lacks it.
    pub values: Vec<Option<f64>>,
}

/// Logs side by side.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct GcComparison {
    /// The logs in the order of the request.
    pub logs: Vec<ComparedLog>,
    /// The figures that one of them has.
    pub figures: Vec<FigureOfLogs>,
}

#[derive(Deserialize)]
struct Figure {
    name: String,
    unit: String,
    value: Option<f64>,
}

#[derive(Deserialize, Default)]
struct Counted {
    count: u64,
}

#[derive(Deserialize)]
struct Log {
    collector: Option<String>,
    #[serde(default)]
    pauses: Counted,
    throughput: Option<f64>,
    #[serde(default)]
    stops: Counted,
    #[serde(default)]
    reaching: Counted,
    #[serde(default)]
    findings: Vec<serde_json::Value>,
    #[serde(default)]
    figures: Vec<Figure>,
}

#[derive(Deserialize)]
struct Logs {
    logs: Vec<Log>,
}

impl Log {
    /// Returns whether the log has the events that a figure counts. Without them the report has a
    /// zero.
    fn tells(&self, figure: &str) -> bool {
        match figure {
            "pauses" | "pauses a minute" | "pauses in total" | "longest pause" | "pause p50"
            | "pause p95" | "pause p99" | "pause p99.9" => {
                // Such a log has stops or cycles, but not their pauses.
                self.pauses.count > 0 || self.throughput.is_some()
            }
            "stops" | "longest stop" => self.stops.count > 0,
            "longest time to safepoint" => self.reaching.count > 0,
            _ => true,
        }
    }
}

/// Figures that are shown where they are zero in all logs too.
const ALWAYS: [&str; 2] = ["pauses", "full collections"];

/// The figures of logs, from their reports.
///
/// # Errors
/// If a report cannot be read, or is of a release that wrote no figures.
pub fn compare(files: &[Named]) -> Result<GcComparison, ViewError> {
    let mut logs = Vec::new();
    let mut figures: Vec<FigureOfLogs> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let log = log_of(&file.path)?;
        if log.figures.is_empty() {
            return Err(ViewError::Missing(format!(
                "{} was analysed by an earlier release, which kept no figures: delete it and upload it again",
                file.name
            )));
        }
        for figure in &log.figures {
            let found = figures.iter().position(|it| it.name == figure.name);
            let row = found.unwrap_or_else(|| {
                figures.push(FigureOfLogs {
                    name: figure.name.clone(),
                    unit: figure.unit.clone(),
                    values: vec![None; files.len()],
                });
                figures.len() - 1
            });
            figures[row].values[at] = figure.value.filter(|_| log.tells(&figure.name));
        }
        logs.push(ComparedLog {
            id: file.id.clone(),
            name: file.name.clone(),
            collector: log.collector,
            findings: log.findings,
        });
    }
    figures.retain(|figure| {
        let mut values = figure.values.iter().flatten();
        ALWAYS.contains(&figure.name.as_str()) || values.any(|value| *value != 0.0)
    });
    Ok(GcComparison { logs, figures })
}

fn log_of(path: &Path) -> Result<Log, ViewError> {
    let fail = |error: &dyn std::fmt::Display| {
        ViewError::Failed(format!("the report cannot be read: {error}"))
    };
    let length = std::fs::metadata(path).map_err(|error| fail(&error))?.len();
    if length > MAX_REPORT {
        return Err(fail(&"it is too large for one"));
    }
    let bytes = std::fs::read(path).map_err(|error| fail(&error))?;
    let found: Logs = serde_json::from_slice(&bytes).map_err(|error| fail(&error))?;
    let first = found.logs.into_iter().next();
    first.ok_or_else(|| fail(&"it has no log"))
}

/// A file with thread dumps of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ComparedDumps {
    /// The file.
    pub id: DumpId,
    /// Its name.
    pub name: String,
    /// How many dumps it has.
    pub dumps: usize,
}

/// Thread dumps of several files.
#[derive(Debug, Serialize, ToSchema)]
pub struct ThreadsTogether {
    /// The files, the oldest first.
    pub files: Vec<ComparedDumps>,
    /// Limits of the figures, as sentences.
    pub notes: Vec<String>,
    /// As in the report of one file (docs/stacks.md).
    #[schema(value_type = Object)]
    pub report: Report,
}

/// Reads the thread dumps of several files. They are in the order of their times if each file tells one, and in that
/// of the request if not.
///
/// # Errors
/// If a file cannot be read, has no dump, or all are too large together.
pub fn together(files: Vec<Named>) -> Result<ThreadsTogether, ViewError> {
    let mut length = 0;
    for file in &files {
        let about = std::fs::metadata(&file.path);
        length += about
            .map_err(|error| ViewError::Failed(error.to_string()))?
            .len();
    }
    if length > MAX_DUMPS {
        return Err(ViewError::Invalid(format!(
            "these files have {} MB, and the server compares {} MB: use `hprof-rs stacks FILE...`",
            length >> 20,
            MAX_DUMPS >> 20
        )));
    }
    let mut notes = Vec::new();
    let mut dumps = Dumps::default();
    let mut compared = Vec::new();
    for file in &files {
        let bytes = std::fs::read(&file.path);
        let bytes = bytes.map_err(|error| ViewError::Failed(error.to_string()))?;
        let added = dumps.add(&bytes);
        let count = added.map_err(|error| ViewError::Failed(format!("{}: {error}", file.name)))?;
        let time = dumps.dumps.iter().nth_back(count - 1);
        let time = time.and_then(|first| first.time.clone());
        let facts = ComparedDumps {
            id: file.id.clone(),
            name: file.name.clone(),
            dumps: count,
        };
        compared.push((time, facts));
    }
    let mut rest = std::mem::take(&mut dumps.dumps).into_iter();
    let mut groups: Vec<_> = compared
        .into_iter()
        .map(|(time, facts)| {
            (
                time,
                rest.by_ref().take(facts.dumps).collect::<Vec<_>>(),
                facts,
            )
        })
        .collect();
    match groups.iter().all(|(time, ..)| time.is_some()) {
        true => groups.sort_by(|(a, ..), (b, ..)| a.cmp(b)),
        false => notes.push(
            "Not all of these dumps tell their time; they are in the order in which they were chosen.".to_owned(),
        ),
    }
    let mut compared = Vec::new();
    for (_, group, facts) in groups {
        dumps.dumps.extend(group);
        compared.push(facts);
    }
    let report = Report::of(&dumps);
    let all = report.dumps.last().map(|last| last.threads);
    if all.is_some() && report.moved.as_ref().map(|moved| moved.started) == all {
        notes.push(
            "No thread is in the first dump and in the last: these are dumps of different programs.".to_owned(),
        );
    }
    Ok(ThreadsTogether {
        files: compared,
        notes,
        report,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, name: &str, report: serde_json::Value) -> Named {
        let path = folder.join(name);
        std::fs::write(&path, report.to_string()).unwrap();
        Named {
            id: "0011223344556677".parse().unwrap(),
            name: name.to_owned(),
            path,
            _held: Vec::new(),
        }
    }

    fn log(pauses: u64, throughput: Option<f64>, stops: u64) -> serde_json::Value {
        serde_json::json!({"logs": [{
            "collector": "Z",
            "pauses": {"count": pauses},
            "throughput": throughput,
            "stops": {"count": stops},
            "reaching": {"count": 0},
            "findings": [],
            "figures": [
                {"name": "pauses", "unit": "count", "value": pauses},
                {"name": "longest pause", "unit": "milliseconds", "value": 2.0 * pauses as f64},
                {"name": "full collections", "unit": "count", "value": 0},
                {"name": "longest stop", "unit": "milliseconds", "value": stops},
            ],
        }]})
    }

    #[test]
    fn pauses_and_stops_that_a_log_does_not_tell_are_not_compared_as_zero() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            written(folder.path(), "with.log", log(4, Some(0.9), 3)),
            written(folder.path(), "cycles-only.log", log(0, None, 0)),
            written(folder.path(), "quiet.log", log(0, Some(1.0), 0)),
        ];
        let found = compare(&files).unwrap();
        let values: Vec<_> = (found.figures.iter())
            .map(|figure| (figure.name.as_str(), figure.values.clone()))
            .collect();
        assert_eq!(
            values,
            [
                ("pauses", vec![Some(4.0), None, Some(0.0)]),
                ("longest pause", vec![Some(8.0), None, Some(0.0)]),
                ("full collections", vec![Some(0.0); 3]),
                ("longest stop", vec![Some(3.0), None, None]),
            ]
        );
    }
}
