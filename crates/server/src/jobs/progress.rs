//! Lines of progress that workers write.

use serde::{Deserialize, Serialize};

use crate::catalogue::Job;

/// How far the step of a job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The step.
    pub phase: String,
    /// Units that are done.
    pub done: u64,
    /// All units; 0 if that is not known.
    pub total: u64,
    /// The name of the unit: `bytes` or `objects`.
    pub unit: String,
    /// Units in a second.
    pub bytes_per_second: f64,
    /// Seconds until the step ends.
    pub seconds_left: Option<f64>,
}

impl Progress {
    /// The progress in a line, if it is such a line.
    pub fn of_line(line: &str) -> Option<Self> {
        if !line.starts_with('{') {
            return None;
        }
        serde_json::from_str(line).ok()
    }

    /// Shows the progress in a job.
    pub fn show_in(&self, job: &mut Job) {
        job.phase = Some(self.phase.clone());
        job.done = self.done;
        job.total = self.total;
        job.unit.clone_from(&self.unit);
        job.rate = self.bytes_per_second;
        job.seconds_left = self.seconds_left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_is_told_from_a_message() {
        let line = r#"{"phase":"graph","done":5,"total":10,"unit":"bytes","bytes_per_second":2.0,"seconds_left":2.5}"#;
        let progress = Progress::of_line(line).unwrap();
        assert_eq!((progress.phase.as_str(), progress.done), ("graph", 5));
        for other in ["", "hprof-rs: x", "{", "{}", r#"{"phase":1}"#] {
            assert_eq!(Progress::of_line(other), None, "{other}");
        }
    }
}
