//! Heap dumps and profiles as tables of Parquet files, for DuckDB, Spark, Trino and other engines.
//!
//! [`schema::TABLES`] declares the tables; docs/fleet/schema.md is made of it. [`Export`] writes
//! those of one dump or profile into a [`Folder`], partitioned by service, host, date and dump. A
//! file gets its name when all of its dump are whole, the one of `summary` last.
//!
//! Files are written through the low-level writers of the crate `parquet`, a row group at a time.
//! Threads encode row groups side by side (`file.rs`), so memory grows with the cores and
//! not with the dump.

mod batch;
mod export;
mod file;
mod folder;
mod heap;
mod order;
mod profile;
pub mod schema;
mod stacks;

use std::io;

use parquet::errors::ParquetError;
use thiserror::Error;

pub use batch::Cell;
pub use export::{Export, Exported, Subject};
pub use file::TableFile;
pub use folder::{Folder, Labels};

/// Why tables cannot be written.
#[derive(Debug, Error)]
pub enum TableError {
    /// A file cannot be written, or there is no room for an array.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The Parquet writer refuses.
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] ParquetError),
}
