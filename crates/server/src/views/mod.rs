//! Views: functions of an analysis and a query, which give pages of rows. No HTTP in here.
//!
//! [`Cache`](cache::Cache) holds opened analyses, [`Opened`](opened::Opened) is one of them, and each
//! other file is a view. Results that take a walk over the dump are computed once, in the background
//! ([`Later`](later::Later)); a view answers meanwhile with what it has, and says so.

pub mod cache;
pub mod csv;
pub mod dominators;
mod error;
pub mod histogram;
pub mod kept;
pub mod later;
pub mod objects;
pub mod opened;
pub mod overview;
pub mod page;
#[cfg(test)]
mod page_tests;
pub mod profile;
pub mod records;
pub mod report;
pub mod retained;
pub mod sql;
pub mod table;
pub mod treemap;

pub mod by_class;
pub mod classes;
pub mod compare;
pub mod entries;
pub mod facts;
pub mod fields;
pub mod loaders;
pub mod logs;
pub mod object;
pub mod paths;
pub mod reference_kinds;
pub mod references;
pub mod roots;
pub mod service;
pub mod sites;
pub mod threads;
pub mod values;
pub mod waste;
pub use error::ViewError;
