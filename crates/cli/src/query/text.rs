//! The text of a query before SQLite sees it.

use anyhow::bail;

/// Refuses what is no question: a query only reads.
///
/// # Errors
/// The error names the replacement.
pub fn check(sql: &str) -> anyhow::Result<()> {
    check_of(
        sql,
        "SELECT class, count(*) AS n FROM objects GROUP BY class ORDER BY n DESC",
    )
}

/// As [`check`], with an example for those whose query is none.
///
/// # Errors
/// The error names the replacement.
pub fn check_of(sql: &str, example: &str) -> anyhow::Result<()> {
    let first = tokens(sql).find(|token| !token.is_blank);
    let word = first.map_or("", |token| token.text);
    let asks = ["select", "with", "values", "explain"];
    if asks.iter().any(|ask| word.eq_ignore_ascii_case(ask)) {
        return Ok(());
    }
    bail!(
        "a query begins with SELECT, WITH, VALUES or EXPLAIN{}; for example\n  {example}",
        match word {
            "" => String::new(),
            word => format!(", not with {word}"),
        }
    )
}

/// Puts the table `references` in quotation marks, since its name is a keyword, which no
/// query needs otherwise.
pub fn prepare(sql: &str) -> String {
    let mut prepared = String::with_capacity(sql.len() + 8);
    for token in tokens(sql) {
        match token.text.eq_ignore_ascii_case("references") {
            true => prepared.push_str("\"references\""),
            false => prepared.push_str(token.text),
        }
    }
    prepared
}

#[derive(Debug, PartialEq)]
pub(super) struct Token<'a> {
    /// Its characters.
    pub(super) text: &'a str,
    /// White space or a comment.
    pub(super) is_blank: bool,
}

/// Words, quoted texts, comments and single other characters.
pub(super) fn tokens(sql: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end_of = |mark: &str, from: usize| {
            let found = rest.get(from..).and_then(|rest| rest.find(mark));
            found.map_or(rest.len(), |at| from + at + mark.len())
        };
        let (length, is_blank) = match first {
            c if c.is_whitespace() => (c.len_utf8(), true),
            '-' if rest.starts_with("--") => (end_of("\n", 2), true),
            '/' if rest.starts_with("/*") => (end_of("*/", 2), true),
            '\'' => (end_of("'", 1), false),
            '"' => (end_of("\"", 1), false),
            '`' => (end_of("`", 1), false),
            '[' => (end_of("]", 1), false),
            c if is_word(c) => (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), false),
            c => (c.len_utf8(), false),
        };
        let (text, after) = rest.split_at(length);
        rest = after;
        Some(Token { text, is_blank })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bare_word_is_quoted() {
        for (sql, expected) in [
            ("SELECT * FROM references", "SELECT * FROM \"references\""),
            (
                "select References.name from REFERENCES r",
                "select \"references\".name from \"references\" r",
            ),
            (
                "SELECT 'references', \"references\"",
                "SELECT 'references', \"references\"",
            ),
            ("SELECT 1 -- references\n, 2", "SELECT 1 -- references\n, 2"),
            (
                "SELECT /* references */ my_references",
                "SELECT /* references */ my_references",
            ),
            ("SELECT 'it''s references'", "SELECT 'it''s references'"),
            ("SELECT 'open", "SELECT 'open"),
            (
                "SELECT [references] FROM \u{e9}",
                "SELECT [references] FROM \u{e9}",
            ),
        ] {
            assert_eq!(prepare(sql), expected);
        }
    }

    #[test]
    fn a_query_only_reads() {
        for sql in [
            "select 1",
            " -- first\n WITH a AS (SELECT 1) SELECT * FROM a",
            "VALUES (1)",
        ] {
            assert!(check(sql).is_ok(), "{sql}");
        }
        for sql in [
            "",
            "  ",
            "ATTACH 'file' AS x",
            "drop table objects",
            "PRAGMA x",
            "objects",
        ] {
            let error = check(sql).unwrap_err().to_string();
            assert!(error.contains("SELECT class, count(*)"), "{error}");
        }
    }
}
