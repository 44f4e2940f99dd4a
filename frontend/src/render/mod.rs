//! How results are shown.

pub mod table;
