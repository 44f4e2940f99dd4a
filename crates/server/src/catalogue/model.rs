//! The rows of the catalogue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Figures;
use crate::ids::{ContentHash, DumpId, JobId};
use crate::intake::Stripping;
use crate::rules::Verdict;
use crate::time::Millis;

/// The kinds of files that are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DumpKind {
    /// A heap dump with objects.
    Heap,
    /// A profile: samples, times, sites or monitors.
    Profile,
    /// Thread dumps.
    ThreadDump,
    /// A garbage collection log.
    GcLog,
    /// Nothing has read it yet.
    Unknown,
}

impl DumpKind {
    /// The word for it in the catalogue.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Profile => "profile",
            Self::ThreadDump => "thread_dump",
            Self::GcLog => "gc_log",
            Self::Unknown => "unknown",
        }
    }

    /// The kind with a word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        let all = [
            Self::Heap,
            Self::Profile,
            Self::ThreadDump,
            Self::GcLog,
            Self::Unknown,
        ];
        all.into_iter().find(|kind| kind.word() == word)
    }
}

/// A dump: bytes as they came.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Dump {
    /// Its name for this server.
    pub id: DumpId,
    /// The name of the file as its sender gave it.
    pub name: String,
    /// The kind of dump.
    pub kind: DumpKind,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it came.
    pub uploaded_at: Millis,
    /// A text by people.
    pub note: String,
    /// Labels, such as service, host, build.
    pub labels: BTreeMap<String, String>,
    /// True: retention leaves it.
    pub pinned: bool,
    /// True: this server blanked its values before it kept it.
    pub stripped: bool,
    /// The steps that took contents out of it, in order: those that its sender tells of, then this server's.
    pub strippings: Vec<Stripping>,
    /// Its rules, with verdicts after the job is done.
    pub rules: Vec<Verdict>,
    /// The hash of its bytes.
    pub sha256: ContentHash,
    /// The last attempt to analyse it.
    pub job: Option<Job>,
    /// The sentence that matters most.
    pub headline: Option<String>,
    /// Totals of the analysis.
    #[schema(value_type = Option<Object>)]
    pub summary: Option<serde_json::Value>,
}

/// The facts about a dump when it is published.
#[derive(Debug, Clone)]
pub struct NewDump {
    /// Its id.
    pub id: DumpId,
    /// The name that the sender gave.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// The hash of its bytes.
    pub sha256: ContentHash,
    /// True: this server blanked its values.
    pub stripped: bool,
    /// The steps that took contents out of it, in order.
    pub strippings: Vec<Stripping>,
    /// A first note.
    pub note: String,
}

/// Changes by people; fields that are absent stay as they are.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DumpPatch {
    /// A new name.
    pub name: Option<String>,
    /// A new note.
    pub note: Option<String>,
    /// New labels, all of them.
    pub labels: Option<BTreeMap<String, String>>,
    /// True if retention leaves it.
    pub pinned: Option<bool>,
    /// New rules, all of them, such as `suspects=0`.
    pub fail_above: Option<Vec<String>>,
}

/// The result of an analysis, for lists.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The kind of dump.
    pub kind: DumpKind,
    /// The sentence that matters most.
    pub headline: Option<String>,
    /// Totals.
    pub summary: Option<serde_json::Value>,
    /// Figures for questions over many dumps; heap dumps have them.
    pub figures: Option<Figures>,
}

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for memory, a core or disk space.
    Queued,
    /// Its worker runs.
    Running,
    /// The analysis is complete.
    Done,
    /// There is no analysis, and an error says why.
    Failed,
    /// A user has cancelled it.
    Cancelled,
}

impl JobState {
    /// The word for it in the catalogue and in answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with a word.
    pub fn of_word(word: &str) -> Option<Self> {
        use JobState::{Cancelled, Done, Failed, Queued, Running};
        let all = [Queued, Running, Done, Failed, Cancelled];
        all.into_iter().find(|state| state.word() == word)
    }
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobError {
    /// The reason in a few words.
    pub title: String,
    /// The whole of it, and what to change.
    pub detail: String,
    /// True if it may succeed another time.
    pub can_retry: bool,
}

/// An attempt to analyse a dump.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// The dump that it analyses.
    pub dump: DumpId,
    /// Where it is.
    pub state: JobState,
    /// The worker's step: `unpacking`, `reading`, `graph`, `dominators`, `index`, `report`; none
    /// before it runs.
    pub phase: Option<String>,
    /// Units of this step that are done.
    pub done: u64,
    /// Units of this step in all; 0 if that is not known.
    pub total: u64,
    /// The unit that the step counts in: `bytes` or `objects`.
    pub unit: String,
    /// Units in a second.
    pub rate: f64,
    /// Seconds until this step ends, where it can be told.
    pub seconds_left: Option<f64>,
    /// When it began to run.
    pub started_at: Option<Millis>,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// Why it failed.
    pub error: Option<JobError>,
    /// How many times a worker was started for it.
    pub attempt: u32,
    /// The process that runs it, or ran it last, where workers are on several machines.
    pub worker: Option<String>,
    /// The bytes that a worker without other work has room for at most, while all have less than the
    /// dump takes.
    pub room: Option<u64>,
    /// The rules of its dump, with verdicts after it is done.
    pub rules: Vec<Verdict>,
}

/// An upload that is under way.
#[derive(Debug, Clone)]
pub struct Upload {
    /// Its name: 32 hexadecimal digits by chance.
    pub id: String,
    /// The name of the file as its sender gives it.
    pub name: String,
    /// The bytes there will be.
    pub length: u64,
    /// When it began.
    pub created_at: Millis,
    /// True: values are blanked before the dump is kept.
    pub strips: bool,
    /// Rules for the dump, with commas between them.
    pub fail_above: String,
    /// The values that its sender has blanked, in JSON; empty if it does not say.
    pub stripped: String,
    /// The dump that it has become. Kept for visitors who missed the last answer.
    pub dump: Option<DumpId>,
}

/// The roles of tokens; each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks at everything.
    Reader,
    /// Adds dumps, and commands their jobs.
    Uploader,
    /// Changes and deletes everything, and opens files of the server.
    Admin,
}

impl Role {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Uploader => "uploader",
            Self::Admin => "admin",
        }
    }

    /// The role with a word.
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::Reader, Self::Uploader, Self::Admin];
        all.into_iter().find(|role| role.word() == word)
    }
}

/// A part of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The value of the parameter `cursor` for the rows after these; none if these are the last.
    pub next: Option<String>,
}
