//! The parts that the JSON formats share.

use hprof_stacks::Measure;

use crate::builder::Builder;

/// A measure, and what its values are multiplied with for the builder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) measure: Measure,
    factor: f64,
}

impl Scale {
    pub(crate) fn new(measure: Measure, factor: f64) -> Self {
        Self { measure, factor }
    }

    /// The measure whose title begins a name, as this project's files have it: `CPU samples of
    /// x.txt`, or `Live bytes / 1024`.
    pub(crate) fn of_title(name: &str) -> Option<Self> {
        let measure = Measure::ALL.into_iter().find(|measure| {
            let rest = name.strip_prefix(measure.title());
            rest.is_some_and(|it| it.is_empty() || it.starts_with(" of ") || it.starts_with(" / "))
        })?;
        let unit = match measure.unit() {
            "ms" => 1e6,
            _ => 1.0,
        };
        let multiple = name.rsplit_once(" / ").and_then(|(_, it)| it.parse().ok());
        Some(Self::new(measure, unit * multiple.unwrap_or(1.0)))
    }

    /// A value as the builder takes it; nothing of those below 0.
    pub(crate) fn cost(self, value: f64) -> u64 {
        (value * self.factor).round() as u64
    }
}

/// Notes where a file is no JSON, or not that of the format.
pub(crate) fn damage(builder: &mut Builder, file: &[u8], error: &serde_json::Error) {
    let (line, column) = (error.line(), error.column());
    let message = format!("line {line}, column {column}: the profile cannot be read: {error}");
    builder.damage(None, file.len(), message);
}
