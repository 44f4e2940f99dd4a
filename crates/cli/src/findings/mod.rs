//! Findings of recordings: what the rules of `hprof-findings` say, in text, Markdown and JSON.

mod text;

use std::path::Path;

use hprof_analysis::input::Input;
use hprof_findings::Findings;
use serde::Serialize;
use serde_json::Value;

use crate::recordings::{self, Opened};
use crate::{by_time, memory, open};

pub use text::{markdown, text};

/// An opened recording.
pub struct Recording {
    input: Input,
    is_cut_short: bool,
}

/// The findings of a recording.
#[derive(Debug, Serialize)]
pub struct Judged {
    /// The version of this program.
    pub version: &'static str,
    /// The name of the recording.
    pub file: String,
    /// Limits of the findings, as sentences.
    pub notes: Vec<String>,
    /// The change of CPU use that stands out, with clock times; none if the load is even.
    pub change_sentence: Option<String>,
    /// The change; null if the load is even.
    pub change: Value,
    /// The findings, worst first.
    #[serde(flatten)]
    pub findings: Findings,
}

/// Opens a file if it is a recording. Standard input is none, as it can be read only once.
///
/// # Errors
/// If it is a recording of another version, or cannot be read.
pub fn recording(path: &Path) -> anyhow::Result<Option<Recording>> {
    if !path.is_file() {
        return Ok(None);
    }
    // The command that reads the file otherwise has the better message.
    let Ok(input) = Input::open(path) else {
        return Ok(None);
    };
    Ok(match recordings::open(input)? {
        Opened::Recording {
            input,
            is_cut_short,
        } => Some(Recording {
            input,
            is_cut_short,
        }),
        Opened::Other(_) => None,
    })
}

/// Judges a recording. The program's classes are those of `own` if that is not empty.
pub fn read(recording: Recording, own: &[String]) -> Judged {
    let Recording {
        input,
        is_cut_short,
    } = recording;
    let bar = open::progress_bar(&input);
    let bytes = input.mapped().unwrap_or_default();
    let (findings, skipped) = hprof_findings::read(bytes, own, &mut |part| {
        memory::has_read(part.len() as u64);
        bar.inc(part.len() as u64);
    });
    bar.finish_and_clear();
    let mut notes = recordings::damage(&input.name, &skipped, is_cut_short);
    if findings.seconds.is_none() {
        notes.push(
            "The events of this recording have no times, so rates are not known and no rule can judge; record with `hprof-rs record` or \
             -XX:StartFlightRecording."
                .to_owned(),
        );
    } else if findings.findings.is_empty() {
        notes.push(
            "The recording has events of none of the rules: record with -XX:StartFlightRecording:settings=profile.".to_owned(),
        );
    }
    let change = findings.change.as_ref();
    Judged {
        version: env!("CARGO_PKG_VERSION"),
        file: input.name.clone(),
        notes,
        change_sentence: change.map(|(load, found)| by_time::in_words(load, found)),
        change: change.map_or(Value::Null, |(load, found)| by_time::as_json(load, found)),
        findings,
    }
}
