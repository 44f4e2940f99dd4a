//! Cells for spreadsheets.

use crate::render::foreign;

/// A text of others as a cell. Spreadsheets take some beginnings for a formula, which could fetch
/// or send what it likes: an apostrophe before them makes them text again. Numbers of ours, which
/// may be negative, do not come here.
pub fn text(text: &str) -> String {
    let shown = foreign::written(text);
    let is_formula = |c: char| {
        let full_width = ['\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
        matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r') || full_width.contains(&c)
    };
    match shown.starts_with(is_formula) {
        true => format!("'{shown}"),
        false => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula() {
        for (given, cell) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\\x09=1"),
            ("a=1", "a=1"),
            ("", ""),
        ] {
            assert_eq!(text(given), cell);
        }
    }
}
