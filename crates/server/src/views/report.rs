//! The parts of the worker's report.json that views show (docs/report-schema.md).

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// The rows of a table of the report are all there if they are fewer.
pub const REPORT_ROWS: usize = 500;

/// A part of a report; what a field lacks is empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Report {
    /// The version of its layout.
    pub schema: u32,
    /// The dump's name.
    pub file: String,
    /// When the dump was taken, in milliseconds since 1970-01-01 UTC.
    pub created_millis: Option<u64>,
    /// The model of sizes and references.
    pub model: String,
    /// The missing parts of the dump.
    pub notes: Vec<String>,
    /// Totals.
    pub summary: Value,
    /// Observations beside the suspects.
    pub observations: Vec<Observation>,
    /// Leak suspects.
    pub leaks: Leaks,
    /// The objects that retain most.
    pub objects: Vec<Share>,
    /// Live objects by class.
    pub classes: Vec<Retained>,
    /// By package.
    pub packages: Vec<Retained>,
    /// By loader.
    pub loaders: Vec<Retained>,
    /// Equal strings and arrays.
    pub duplicates: Duplicates,
    /// System properties, secrets masked.
    pub properties: Vec<(String, String)>,
    /// On Android, device and program.
    pub android: Option<serde_json::Map<String, Value>>,
    /// On Android, objects whose life is over.
    pub dead_objects: Vec<DeadObject>,
}

/// An observation in words, such as a deadlock; the fields of its kind are in docs/report-schema.md.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// The kind.
    pub kind: String,
    /// The observation in a sentence.
    pub headline: String,
    /// The facts, in sentences.
    pub sentences: Vec<String>,
}

/// Leak suspects.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Leaks {
    /// The suspects, the largest first.
    pub suspects: Vec<Suspect>,
    /// The largest object, if there are no suspects.
    pub largest: Option<Suspect>,
}

/// A leak suspect.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Suspect {
    /// The suspicion in a sentence.
    pub headline: String,
    /// The classes and fields that hold it, equal in all dumps; empty in reports of earlier versions.
    pub signature: String,
    /// The facts, in sentences.
    pub sentences: Vec<String>,
    /// The bytes that are kept alive.
    pub retained_bytes: u64,
    /// The share of the live heap, from 0 to 1.
    pub share: f64,
    /// How many objects are suspected together.
    pub count: u64,
    /// The object at which memory piles up.
    pub accumulation_id: String,
    /// The object that the headline names; none if it names several, and in reports of earlier versions.
    pub subject_id: Option<String>,
    /// The last field of the program on the way to it, as `Class.field`.
    pub field: Option<String>,
    /// The way to it.
    pub path: Way,
    /// The objects that the accumulation point dominates directly, by class.
    pub children: Vec<ClassShare>,
}

/// A way from a root.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Way {
    /// The root in words.
    pub root: String,
    /// The objects from there on.
    pub steps: Vec<Step>,
}

/// An object on a way.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Step {
    /// How the one before holds it.
    pub edge: Option<Edge>,
    /// Its identifier.
    pub id: String,
    /// The object in a few words.
    pub description: String,
    /// Its retained size, in bytes.
    pub retained_bytes: u64,
    /// The objects between the step before and this one that are left out.
    pub more: u64,
}

/// How an object is held.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Edge {
    /// The kind of reference.
    pub kind: String,
    /// The name of the field, or a word.
    pub name: String,
    /// The kind of `java.lang.ref.Reference` that holds it, if one does: `soft`, `weak`, `phantom` or `final`.
    pub reference: Option<String>,
}

/// Objects of a class within some set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ClassShare {
    /// The class.
    pub name: String,
    /// The objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// An object within some set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Share {
    /// Its identifier.
    pub id: String,
    /// The object in a few words.
    pub description: String,
    /// Its retained size, in bytes.
    pub retained_bytes: u64,
}

/// The retained size of a class, package or loader.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Retained {
    /// Its name.
    pub name: String,
    /// Its live objects.
    pub objects: u64,
    /// Their own bytes.
    pub shallow_bytes: u64,
    /// The bytes that would be free without its objects.
    pub retained_bytes: u64,
    /// False for a lower bound.
    pub is_exact: bool,
}

/// Equal strings and arrays.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Duplicates {
    /// Live arrays.
    pub arrays: u64,
    /// The bytes that could be saved.
    pub wasted_bytes: u64,
    /// The bytes that equal strings waste, where they were counted.
    pub wasted_in_strings: Option<u64>,
    /// The groups that waste most.
    pub groups: Vec<Duplicate>,
}

/// Arrays with equal contents.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Duplicate {
    /// How many there are.
    pub count: u64,
    /// The bytes that one takes.
    pub bytes: u64,
    /// The bytes that all but one take.
    pub wasted_bytes: u64,
    /// One of them, by number.
    pub object: usize,
    /// The type of the elements.
    pub element: String,
    /// True if strings consist of them.
    pub is_string: bool,
    /// The text, or the first elements.
    pub preview: String,
}

/// Objects whose life is over, with what keeps them alive.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeadObject {
    /// A known leak of a library.
    pub library_leak: Option<String>,
    /// How many there are.
    pub count: u64,
    /// The bytes they keep alive.
    pub retained_bytes: u64,
    /// The way to one of them.
    pub path: Way,
}

/// Larger reports are none of ours: those of the largest dumps have a few megabytes.
pub const MAX_REPORT: u64 = 64 << 20;

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// If it cannot be read, is no report, or too large for one.
    pub fn read(path: &Path) -> Result<Self, String> {
        let fail = |error: &dyn std::fmt::Display| format!("the report cannot be read: {error}");
        let length = std::fs::metadata(path).map_err(|error| fail(&error))?.len();
        if length > MAX_REPORT {
            return Err(fail(&"it is too large for one"));
        }
        let bytes = std::fs::read(path).map_err(|error| fail(&error))?;
        Self::parse(&bytes)
    }

    /// A report from its bytes.
    ///
    /// # Errors
    /// If it is no report.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let parsed = serde_json::from_slice(bytes);
        parsed.map_err(|error| format!("the report cannot be read: {error}"))
    }
}
