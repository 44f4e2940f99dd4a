//! The costs of a recording, as a profile in text.

use std::io::Write;
use std::path::PathBuf;

use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::{Measure, Weights};
use hprof_stacks::events::Chunk;

use crate::export;

/// Returns true if there are costs. Calls may be there without a millisecond of time.
pub fn has_any(contents: &Contents) -> bool {
    let mut all = Measure::ALL.into_iter();
    all.any(|measure| Weights::of(contents, measure).is_some_and(|it| it.total > 0))
}

/// A profile in text, with the times of samples.
///
/// # Errors
/// None for contents of a recording.
pub fn profile_text(contents: &Contents, times: &[Chunk]) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    export::hprof::text_with_times(contents, times, &mut text)?;
    Ok(text)
}

/// Writes a profile to a name of its own in the folder for temporary files.
///
/// # Errors
/// If there is no room.
pub fn keep(text: &[u8]) -> anyhow::Result<PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix("hprof-rs-")
        .suffix(".hprof.txt")
        .tempfile()?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    Ok(file.keep()?.1)
}
