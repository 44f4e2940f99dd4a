//! Files that other programs read, and pictures of heap dumps.

mod csv;
mod firefox;
mod heap;
mod hprof;
mod json;

pub use csv::csv;
pub use firefox::firefox;
pub use heap::heap_view;
pub use hprof::hprof;
pub use json::json;
