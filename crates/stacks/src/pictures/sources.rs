//! The source of methods, for pages that show it.

use std::collections::BTreeMap;

use serde::Serialize;

/// The lines of a method in its source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MethodSource {
    /// The file, as the page names it.
    pub path: String,
    /// The number of the first line, counted from 1.
    pub first: u32,
    /// The text of the lines.
    pub lines: Vec<String>,
    /// The address that opens the file in an editor, with `{line}` for the number of the line. Pages for others have
    /// none: it names a file of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// The source of methods, by their names.
pub type Sources = BTreeMap<String, MethodSource>;
