//! A recording that was written as JSON, read again.

use hprof_process_memory::course::{Change, PartChange};
use serde::{Deserialize, Serialize};

use super::record::Recording;

/// The part of a recording that text shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Its program.
    pub name: String,
    /// The process.
    pub pid: u32,
    /// Its JDK.
    pub jdk: Option<String>,
    /// The conclusion.
    pub sentence: String,
    /// Likely causes at the end.
    pub causes: Vec<String>,
    /// Seconds from the first look to the last.
    pub seconds: f64,
    /// The number of looks.
    pub looks: u64,
    /// The resident set.
    pub resident: Change,
    /// The rows, those that grow fastest first.
    pub rows: Vec<SavedRow>,
    /// What could not be seen.
    pub notes: Vec<String>,
}

/// A row of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedRow {
    /// Its name.
    pub title: String,
    /// The change of its resident memory.
    #[serde(flatten)]
    pub change: Change,
    /// The part that grew most.
    pub part: Option<PartChange>,
}

/// The fields of the file that matter here.
#[derive(Deserialize)]
struct File {
    name: String,
    pid: u32,
    jdk: Option<String>,
    sentence: String,
    course: Course,
    series: Series,
    last: Last,
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Course {
    resident: Change,
    rows: Vec<SavedRow>,
}

#[derive(Deserialize)]
struct Series {
    looks: u64,
    points: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    seconds: f64,
}

#[derive(Deserialize)]
struct Last {
    causes: Vec<Cause>,
}

#[derive(Deserialize)]
struct Cause {
    sentence: String,
}

impl Saved {
    /// Reads a file of `memory --record`; `None` if the text is none.
    pub fn read(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        let file: File = serde_json::from_str(text).ok()?;
        Some(Self {
            name: file.name,
            pid: file.pid,
            jdk: file.jdk,
            sentence: file.sentence,
            causes: file.last.causes.into_iter().map(|it| it.sentence).collect(),
            seconds: file.series.points.last().map_or(0.0, |last| last.seconds),
            looks: file.series.looks,
            resident: file.course.resident,
            rows: file.course.rows,
            notes: file.notes,
        })
    }

    /// The same part of a recording that was just made.
    pub fn of(recording: &Recording) -> Self {
        let course = &recording.course;
        let causes = recording.last.causes.iter();
        let rows = course.rows.iter().map(|row| SavedRow {
            title: row.title.to_owned(),
            change: row.change,
            part: row.part.clone(),
        });
        Self {
            name: recording.name.clone(),
            pid: recording.pid,
            jdk: recording.last.jdk.clone(),
            sentence: recording.sentence.clone(),
            causes: causes.map(|it| it.sentence.clone()).collect(),
            seconds: recording.series.seconds(),
            looks: recording.series.looks,
            resident: course.resident,
            rows: rows.collect(),
            notes: recording.notes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_no_recordings() {
        for text in ["", "{", "{}", "[1]", "# A fatal error", r#"{"name": "x"}"#] {
            assert_eq!(Saved::read(text), None, "{text}");
        }
    }
}
