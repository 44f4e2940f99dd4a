//! Retained sizes of classes, packages and loaders: from the worker's report where that has all rows,
//! else worked out once and kept beside the index.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use hprof_analysis::retained::{RetainedBy, retained_by};
use serde::{Deserialize, Serialize};

use super::ViewError;
use super::later::PATIENCE;
use super::opened::Opened;
use super::report::{REPORT_ROWS, Retained};

/// The bytes that each name retains.
pub type BytesByName = HashMap<String, u64>;

/// The version of the file, raised when its meaning changes.
const VERSION: u32 = 1;

/// Retained sizes of all classes, packages and loaders.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RetainedTables {
    version: u32,
    /// By class name.
    pub classes: BytesByName,
    /// By package.
    pub packages: BytesByName,
    /// By loader.
    pub loaders: BytesByName,
    /// False if the figures are lower bounds.
    pub is_exact: bool,
}

/// Retained sizes of some names.
#[derive(Debug, Clone)]
pub struct Known {
    /// The bytes by name, those that are known so far.
    pub bytes: Arc<BytesByName>,
    /// False if figures are lower bounds.
    pub is_exact: bool,
    /// False while names may lack because their figures are still worked out.
    pub is_complete: bool,
}

/// The note for a table that lacks figures.
pub const PENDING: &str =
    "what the smaller rows retain is still being worked out; ask again in some seconds";
/// The note for lower bounds.
pub const LOWER_BOUNDS: &str = "what rows retain is at least what is shown: the heap has too many \
                                different ways to its objects";

impl Known {
    /// The notes that a table with these figures needs.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend((!self.is_complete).then(|| PENDING.to_owned()));
        notes.extend((!self.is_exact).then(|| LOWER_BOUNDS.to_owned()));
        notes
    }
}

impl RetainedTables {
    fn file(opened: &Opened) -> PathBuf {
        opened.files.index.join("retained.json")
    }

    /// Reads the tables from beside the index, or works them out and keeps them there.
    fn make(opened: &Arc<Opened>) -> Result<Self, ViewError> {
        let path = Self::file(opened);
        let kept = std::fs::read(&path).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        let tables = match kept.filter(|tables| tables.version == VERSION) {
            Some(tables) => tables,
            None => {
                let tables = Self::work_out(opened)?;
                if let Err(error) = tables.keep(&path) {
                    // The next one who opens the analysis works them out again.
                    tracing::warn!("{}: {error}", path.display());
                }
                tables
            }
        };
        let all = [&tables.classes, &tables.packages, &tables.loaders];
        let names = all.into_iter().flatten().map(|(name, _)| name.len() + 80);
        opened.grow(names.sum::<usize>() as u64);
        Ok(tables)
    }

    fn work_out(opened: &Opened) -> Result<Self, ViewError> {
        let mut is_exact = true;
        let mut table = |by| {
            let rows = retained_by(&opened.snapshot, by).map_err(ViewError::failed)?;
            is_exact &= rows.iter().all(|row| row.is_exact);
            let rows = rows.into_iter();
            Ok::<_, ViewError>(rows.map(|row| (row.name, row.retained_bytes)).collect())
        };
        let classes = table(RetainedBy::Class)?;
        let packages = table(RetainedBy::Package)?;
        let loaders = table(RetainedBy::Loader)?;
        Ok(Self {
            version: VERSION,
            classes,
            packages,
            loaders,
            is_exact,
        })
    }

    fn keep(&self, path: &std::path::Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(path);
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(path)?;
        Ok(())
    }
}

/// Retained sizes of the classes, packages or loaders of an analysis, as far as they are known in time.
///
/// # Errors
/// If working the rest out has failed.
pub fn known(opened: &Arc<Opened>, by: RetainedBy) -> Result<Known, ViewError> {
    let report = &opened.report;
    let rows: &[Retained] = match by {
        RetainedBy::Package => &report.packages,
        RetainedBy::Loader => &report.loaders,
        _ => &report.classes,
    };
    let of_report = |is_complete| Known {
        bytes: Arc::new(
            (rows.iter())
                .map(|row| (row.name.clone(), row.retained_bytes))
                .collect(),
        ),
        is_exact: rows.iter().all(|row| row.is_exact),
        is_complete,
    };
    if !rows.is_empty() && rows.len() < REPORT_ROWS {
        return Ok(of_report(true));
    }
    let tables = opened
        .retained
        .ask(opened, RetainedTables::make, PATIENCE)?;
    let Some(tables) = tables else {
        return Ok(of_report(false));
    };
    let bytes = match by {
        RetainedBy::Package => &tables.packages,
        RetainedBy::Loader => &tables.loaders,
        _ => &tables.classes,
    };
    Ok(Known {
        bytes: Arc::new(bytes.clone()),
        is_exact: tables.is_exact,
        is_complete: true,
    })
}
