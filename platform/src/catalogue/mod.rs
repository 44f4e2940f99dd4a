//! The server's records: dumps, jobs, uploads, tokens, and who did what.
//!
//! [`Catalogue`] is all that the rest of the server sees of the database.

mod model;
mod rows;
mod sqlite;

pub use model::{
    Dump, DumpKind, DumpPatch, Job, JobError, JobState, NewDump, Outcome, Page, Role, Upload,
};
pub use sqlite::SqliteCatalogue;

use crate::ids::{DumpId, JobId};
use crate::rules::Verdict;
use crate::time::Millis;

/// The database failed.
#[derive(Debug, thiserror::Error)]
#[error("the catalogue failed: {0}")]
pub struct CatalogueError(pub String);

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

/// A question for a list of jobs, latest first.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Where the page before this one ended.
    pub cursor: Option<String>,
    /// The largest number of rows.
    pub limit: usize,
    /// In this state only.
    pub state: Option<JobState>,
}

/// Whether a dump was there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New,
    /// Equal bytes were there.
    Known,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The analysis is complete.
    Done(Outcome),
    /// It failed.
    Failed(JobError),
    /// The worker ended without an answer: the job returns to the queue, or fails with this error
    /// if no attempt is left.
    Crashed(JobError),
    /// The server stops: the job returns to the queue, and the attempt does not count.
    Interrupted,
}

/// Something done by somebody, for the audit log.
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

/// The database. Every call is short and blocks; no call holds a lock between two statements of
/// different callers. State changes are conditional, so that of two that race one wins.
pub trait Catalogue: Send + Sync {
    /// Adds a dump.
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
    /// Removes a dump and its jobs; false if there was none.
    ///
    /// # Errors
    /// If the database fails.
    fn delete_dump(&self, id: &DumpId) -> Result<bool>;
    /// Dumps that are not pinned and have no job under way, oldest first, with their bytes.
    ///
    /// # Errors
    /// If the database fails.
    fn removable(&self) -> Result<Vec<(DumpId, Millis, u64)>>;

    /// Puts a job for a dump into the queue.
    ///
    /// # Errors
    /// If the database fails.
    fn enqueue(&self, dump: &DumpId) -> Result<JobId>;
    /// A job.
    ///
    /// # Errors
    /// If the database fails.
    fn job(&self, id: JobId) -> Result<Option<Job>>;
    /// A page of jobs.
    ///
    /// # Errors
    /// If the database fails.
    fn jobs(&self, query: &JobQuery) -> Result<Page<Job>>;
    /// How many jobs run and wait.
    ///
    /// # Errors
    /// If the database fails.
    fn job_counts(&self) -> Result<(u64, u64)>;
    /// The job that has waited for longest.
    ///
    /// # Errors
    /// If the database fails.
    fn next_queued(&self) -> Result<Option<Job>>;
    /// Begins the next attempt of a queued job; gives its number, or none if it is not queued any
    /// more.
    ///
    /// # Errors
    /// If the database fails.
    fn begin(&self, id: JobId) -> Result<Option<u32>>;
    /// Notes the step that an attempt is in.
    ///
    /// # Errors
    /// If the database fails.
    fn phase(&self, id: JobId, attempt: u32, phase: &str) -> Result<()>;
    /// Ends an attempt; false if the job is not in this attempt any more.
    ///
    /// # Errors
    /// If the database fails.
    fn end(&self, id: JobId, attempt: u32, ending: &Ending) -> Result<bool>;
    /// Cancels a job that waits or runs; gives the state that it was in.
    ///
    /// # Errors
    /// If the database fails.
    fn cancel(&self, id: JobId) -> Result<Option<JobState>>;
    /// Puts a job that failed or was cancelled back into the queue, as if it were new.
    ///
    /// # Errors
    /// If the database fails.
    fn retry(&self, id: JobId) -> Result<bool>;
    /// Jobs that ran when the server ended: those with an attempt left return to the queue, the
    /// others fail with this error. Gives how many there were.
    ///
    /// # Errors
    /// If the database fails.
    fn recover(&self, error: &JobError) -> Result<usize>;

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
}
