//! The report as a page that needs nothing else.

use super::Report;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/report-policy.txt"));

/// The page. Its script builds it from the same JSON that `--json` prints, and puts texts of the
/// dump in as text only.
///
/// # Errors
/// If the report cannot be put into JSON, which does not happen.
pub fn html(report: &Report) -> serde_json::Result<String> {
    // A `<` could end the script element.
    let data = serde_json::to_string(report)?.replace('<', "\\u003c");
    Ok(PAGE
        .replace("/*POLICY*/", POLICY)
        .replace("/*STYLE*/", STYLE)
        .replace("/*SCRIPT*/", SCRIPT)
        .replace("/*DATA*/", &data))
}
