//! The memory of a JVM's process now, as `hprof-rs memory` accounts for it.

use serde::Serialize;
use utoipa::ToSchema;

/// A row: each resident page is in one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemoryRow {
    /// Its name, such as `Java heap`.
    pub name: String,
    /// Its resident bytes.
    pub resident: u64,
    /// Bytes that may be used, where the JVM reports them.
    pub committed: Option<u64>,
    /// Bytes in use, where the JVM reports them.
    pub used: Option<u64>,
    /// Its largest parts, and how the row was found.
    pub details: String,
}

/// A limit or another figure beside the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemoryFact {
    /// What it is, such as `cgroup`.
    pub name: String,
    /// Its value in words.
    pub value: String,
}

/// The memory of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemoryNow {
    /// The resident set in bytes; the sum of all rows.
    pub resident: u64,
    /// The limit of the cgroup in bytes, if there is one.
    pub limit: Option<u64>,
    /// Bytes that the limit leaves, page cache counted as free.
    pub left: Option<u64>,
    /// Likely causes of the size with the next step, the likeliest first.
    pub causes: Vec<String>,
    /// The rows that are not empty; the last one is what no row explains.
    pub rows: Vec<MemoryRow>,
    /// Limits and figures of the kernel.
    pub facts: Vec<MemoryFact>,
    /// What could not be seen, as sentences.
    pub notes: Vec<String>,
}
