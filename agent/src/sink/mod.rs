//! Where profile bytes go.

mod file;

pub use file::FileSink;
