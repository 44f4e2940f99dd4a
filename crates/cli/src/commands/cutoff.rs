//! The remarks of an agent about rows that it left out of a table.

use hprof_analysis::contents::Contents;

/// The rows that were left out of all tables of a name; `None` if the file does not tell.
pub fn rows(contents: &Contents, table: &str) -> Option<u64> {
    let remarks = of(contents, table).filter_map(|remark| number(remark, "rows_below_cutoff"));
    remarks.reduce(|sum, rows| sum + rows)
}

/// A number of the last remark on a table.
pub fn last(contents: &Contents, table: &str, name: &str) -> Option<u64> {
    number(of(contents, table).last()?, name)
}

fn of<'a>(contents: &'a Contents, table: &'a str) -> impl Iterator<Item = &'a str> {
    let remarks = contents.comments.iter().map(String::as_str);
    let of_table = move |remark: &&str| {
        let named = remark
            .split_whitespace()
            .find_map(|word| word.strip_prefix("table="));
        named == Some(table) && remark.contains("rows_below_cutoff=")
    };
    remarks.filter(of_table)
}

fn number(remark: &str, name: &str) -> Option<u64> {
    let value = |word: &str| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    remark.split_whitespace().find_map(value)
}
