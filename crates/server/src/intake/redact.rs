//! Blanking of values before a dump is kept: strings, arrays, text outside of the heap.
//!
//! `hprof-rs worker --strip` does it, in a process of its own with a memory limit, from the part to
//! a new part. It gets both as open files, so that it needs to know nothing of the store.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, ExitStatus, Stdio};

use hprof_analysis::input::Input;
use http::StatusCode;
use serde::Deserialize;

use super::strip_rules::{StripFigures, StripRules, StrippedBy, Stripping};
use super::{Digested, digest, of_disk};
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::PartId;
use crate::worker_status::DISK_FULL;

/// The longest message of the worker that is shown, in characters.
const MAX_WORDS: usize = 1000;

/// A part without values.
pub(super) struct Redacted {
    /// Where it is.
    pub part: PartId,
    /// Its hash and kind.
    pub digested: Digested,
    /// A remark about it; empty if all went well.
    pub note: String,
    /// The step that was done.
    pub step: Stripping,
}

/// The last line that the worker prints on standard error.
#[derive(Deserialize)]
struct Said {
    /// Where the file is damaged or cut short.
    ends_at: Option<u64>,
    /// Records of unknown kinds, of which only the heads were copied.
    unknown: u64,
    /// The contents that went.
    figures: StripFigures,
}

impl AppState {
    /// Writes a part without values from a part with a heap dump; gives none for other files, which
    /// have no values. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read as a dump, or the disk is full.
    pub(super) fn redact(
        &self,
        part: &PartId,
        rules: StripRules,
    ) -> Result<Option<Redacted>, Problem> {
        let original = self.store().open_part(part).map_err(Problem::internal)?;
        if !has_values(&original)? {
            return Ok(None);
        }
        let new = PartId::new().map_err(Problem::internal)?;
        let file = self.store().create_part(&new);
        let file = file.map_err(|error| of_disk(&error))?;
        let redacted = self.run_worker(original, &file, &rules).and_then(|said| {
            let mut file = file;
            file.sync_data().map_err(|error| of_disk(&error))?;
            file.seek(SeekFrom::Start(0)).map_err(Problem::internal)?;
            let digested = digest(&mut file, self.config().recognise)?;
            Ok(Redacted {
                part: new.clone(),
                digested,
                note: note(&said),
                step: Stripping {
                    by: StrippedBy::Server,
                    rules,
                    figures: said.figures,
                },
            })
        });
        if redacted.is_err() {
            self.store().delete_part(&new).map_err(Problem::internal)?;
        }
        redacted.map(Some)
    }

    fn run_worker(&self, original: File, copy: &File, rules: &StripRules) -> Result<Said, Problem> {
        let rules = serde_json::to_string(rules).map_err(Problem::internal)?;
        let config = self.config();
        let memory = config.memory / config.workers.max(1) as u64;
        let copy = copy.try_clone().map_err(Problem::internal)?;
        let output = Command::new(&config.executable)
            .args(["worker", "--strip", "--memory", &memory.to_string()])
            .args(["--limit", &config.max_upload.to_string()])
            .args(["--rules", &rules])
            .env("RUST_BACKTRACE", "0")
            .env_remove(crate::DATABASE_VARIABLE)
            .stdin(original)
            .stdout(copy)
            .stderr(Stdio::piped())
            .output()
            .map_err(Problem::internal)?;
        let text = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(failure(output.status, &text));
        }
        let last = text.lines().last().unwrap_or_default();
        serde_json::from_str(last).map_err(Problem::internal)
    }
}

/// The remark about a copy that is not whole.
fn note(said: &Said) -> String {
    let mut sentences = Vec::new();
    if let Some(end) = said.ends_at {
        sentences.push(format!(
            "The original was damaged or cut short at byte {end}; the stripped copy ends there."
        ));
    }
    if said.unknown > 0 {
        sentences.push(format!(
            "Of {} records of unknown kinds only the heads were kept.",
            said.unknown
        ));
    }
    sentences.join(" ")
}

fn failure(status: ExitStatus, said: &str) -> Problem {
    if status.code() == Some(DISK_FULL) {
        return super::full();
    }
    let last = said.lines().last().unwrap_or_default();
    let words: String = last
        .trim_start_matches("hprof-rs: ")
        .chars()
        .take(MAX_WORDS)
        .collect();
    let words = match words.is_empty() {
        true => "its worker was killed",
        false => &words,
    };
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "not-stripped",
        "Its values could not be blanked",
        format!("nothing of the file was kept: {words}"),
    )
}

/// Returns whether a file is binary: profiles and dumps in text have no values of fields and
/// arrays.
fn has_values(file: &File) -> Result<bool, Problem> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "not-stripped",
            "Its values could not be blanked",
            format!("nothing of the file was kept: {error}"),
        )
    };
    let input = Input::from_file("the file", file).map_err(|error| unreadable(&error))?;
    let mut head = Vec::new();
    let read = input.into_reader().take(64).read_to_end(&mut head);
    read.map_err(|error| unreadable(&error))?;
    // "JAVA PROFILE 1.0.2" and a zero byte; in a text profile a comma follows.
    let is_text = head.starts_with(b"JAVA PROFILE") && head.get(18) != Some(&0);
    Ok(!is_text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn only_texts_have_no_values() {
        for (content, is) in [
            (&b"JAVA PROFILE 1.0.2\0\0\0\0\x08"[..], true),
            (b"JAVA PROFILE 1.0.1, created Tue", false),
            (b"something else", true),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content).unwrap();
            assert_eq!(has_values(&file).unwrap(), is);
        }
    }

    #[test]
    fn a_copy_that_is_not_whole_says_so() {
        let said = Said {
            ends_at: Some(7),
            unknown: 2,
            figures: StripFigures::default(),
        };
        let note = note(&said);
        assert!(
            note.contains("byte 7") && note.contains("2 records"),
            "{note}"
        );
        let whole = Said {
            ends_at: None,
            unknown: 0,
            figures: StripFigures::default(),
        };
        assert_eq!(super::note(&whole), "");
    }

    #[test]
    fn a_failure_names_its_reason_and_keeps_nothing() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        let problem = failure(exit(1), "hprof-rs: it is text\n");
        assert_eq!(problem.detail, "nothing of the file was kept: it is text");
        assert_eq!(
            failure(exit(DISK_FULL), "x: No space left on device").status,
            StatusCode::INSUFFICIENT_STORAGE
        );
        assert!(
            failure(ExitStatus::from_raw(9), "")
                .detail
                .contains("killed")
        );
    }
}
