//! The server's records: dumps, jobs, uploads, tokens, and who did what.
//!
//! [`Catalogue`] is all that the rest of the server sees of the database.

mod figures;
pub mod fleet;
mod model;
#[cfg(not(feature = "fleet"))]
mod no_postgres;
#[cfg(feature = "fleet")]
mod postgres;
pub mod pushed;
mod queue;
#[cfg(feature = "serve")]
mod sqlite;

pub use figures::{ClassFigures, Figures, MAX_CLASSES, MAX_SUSPECTS, NO_LABEL, SuspectFigures};
pub use fleet::FleetFigures;
pub use model::{
    Dump, DumpKind, DumpPatch, Job, JobError, JobState, NewDump, Outcome, Page, Role, Upload,
};
#[cfg(not(feature = "fleet"))]
pub use no_postgres::{DatabaseAddress, NoAddress};
#[cfg(feature = "fleet")]
pub use postgres::{DatabaseAddress, NoAddress, PostgresCatalogue};
pub use queue::{Claim, Ending, JobQuery, News, Queue};
#[cfg(feature = "serve")]
pub use sqlite::SqliteCatalogue;

use pushed::PushedSegments;

use crate::ids::{DumpId, JobId};
use crate::rules::Verdict;
use crate::time::Millis;

/// The database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// It failed, and would fail again.
    #[error("the catalogue failed: {0}")]
    Failed(String),
    /// It cannot be reached, or did not answer in time; it may answer later.
    #[error("the database cannot be reached: {0}")]
    Away(String),
}

impl CatalogueError {
    /// A failure for this reason.
    pub(crate) fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }
}

/// A result of the catalogue.
pub type Result<T> = std::result::Result<T, CatalogueError>;

/// A question for a list of dumps, latest first.
#[derive(Debug, Clone, Default)]
pub struct DumpQuery {
    /// Where the page before this one ended.
    pub cursor: Option<String>,
    /// The largest number of rows.
    pub limit: usize,
    /// A part of name, note or labels, in any case.
    pub text: Option<String>,
}

/// The result of adding a dump: it is new, or was there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is new, and this job for it is in the queue.
    New(JobId),
    /// Equal bytes were there.
    Known,
}

/// An action and its actor, for the audit log.
#[derive(Debug, Clone)]
pub struct Deed<'a> {
    /// The first digits of the token's hash, or `server`.
    pub who: &'a str,
    /// From which address.
    pub address: &'a str,
    /// The request, such as `DELETE /api/v1/dumps/0a1b2c3d4e5f6071`.
    pub what: &'a str,
    /// The status of the answer.
    pub status: u16,
}

/// The database. Every call is short, blocks, and ends in time; no call holds a lock between two
/// statements of different callers. State changes are conditional, so that of two that race one wins.
pub trait Catalogue: Queue + FleetFigures + Send + Sync {
    /// Adds a dump, and puts a job for it into the queue if it is new: both or neither.
    ///
    /// # Errors
    /// All calls fail if the database does.
    fn add_dump(&self, dump: &NewDump) -> Result<Added>;
    /// A dump with its last job.
    ///
    /// # Errors
    /// If the database fails.
    fn dump(&self, id: &DumpId) -> Result<Option<Dump>>;
    /// A page of dumps.
    ///
    /// # Errors
    /// If the database fails.
    fn dumps(&self, query: &DumpQuery) -> Result<Page<Dump>>;
    /// Changes a dump; false if there is none.
    ///
    /// # Errors
    /// If the database fails.
    fn change_dump(&self, id: &DumpId, patch: &DumpPatch) -> Result<bool>;
    /// Gives a dump these rules; false if there is none, or its rules are not `instead_of`.
    ///
    /// # Errors
    /// If the database fails.
    fn set_rules(
        &self,
        id: &DumpId,
        rules: &[Verdict],
        instead_of: Option<&[Verdict]>,
    ) -> Result<bool>;
    /// Removes a dump with its jobs and figures; false if there was none.
    ///
    /// # Errors
    /// If the database fails.
    fn delete_dump(&self, id: &DumpId) -> Result<bool>;
    /// Dumps that are not pinned and have no job under way, oldest first, with their bytes.
    ///
    /// # Errors
    /// If the database fails.
    fn removable(&self) -> Result<Vec<(DumpId, Millis, u64)>>;

    /// Adds an upload.
    ///
    /// # Errors
    /// If the database fails.
    fn add_upload(&self, upload: &Upload) -> Result<()>;
    /// An upload.
    ///
    /// # Errors
    /// If the database fails.
    fn upload(&self, id: &str) -> Result<Option<Upload>>;
    /// All uploads, complete ones too.
    ///
    /// # Errors
    /// If the database fails.
    fn uploads(&self) -> Result<Vec<Upload>>;
    /// Notes the dump that a complete upload has become.
    ///
    /// # Errors
    /// If the database fails.
    fn complete_upload(&self, id: &str, dump: &DumpId) -> Result<()>;
    /// Removes an upload; false if there was none.
    ///
    /// # Errors
    /// If the database fails.
    fn delete_upload(&self, id: &str) -> Result<bool>;

    /// Keeps a token by its hash.
    ///
    /// # Errors
    /// If the database fails.
    fn add_token(&self, hash: &str, role: Role, name: &str) -> Result<()>;
    /// The role of the token with a hash.
    ///
    /// # Errors
    /// If the database fails.
    fn role_of(&self, hash: &str) -> Result<Option<Role>>;
    /// Removes the tokens with a name; gives how many.
    ///
    /// # Errors
    /// If the database fails.
    fn remove_tokens(&self, name: &str) -> Result<usize>;

    /// How many dumps there are, and their bytes.
    ///
    /// # Errors
    /// If the database fails.
    fn totals(&self) -> Result<(u64, u64)>;
    /// How many tokens there are.
    ///
    /// # Errors
    /// If the database fails.
    fn token_count(&self) -> Result<u64>;
    /// Adds a line to the audit log.
    ///
    /// # Errors
    /// If the database fails.
    fn audit(&self, deed: &Deed<'_>) -> Result<()>;

    /// The list of segments of pushed profiles; none if no other machine can use it.
    fn pushed(&self) -> Option<&dyn PushedSegments> {
        None
    }
}

/// A pattern of LIKE for texts that contain this one.
fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The JSON of a value that always has one.
fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(CatalogueError::failed)
}

/// Divides rows, of which there is one more than asked for if others follow, into a page.
fn page<T>(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(cursor);
    Page { items, next }
}

/// The place after which a page of dumps begins: time and id.
fn place_of(cursor: Option<&str>) -> (i64, &str) {
    match cursor.and_then(|it| it.split_once(':')) {
        Some((time, id)) => (time.parse().unwrap_or(0), id),
        None => (i64::MAX, ""),
    }
}

/// The row before which a page of jobs begins. A cursor of another list gives no rows.
fn row_of(cursor: Option<&str>) -> i64 {
    cursor.map_or(i64::MAX, |cursor| cursor.parse().unwrap_or(0))
}
