//! Tables for people.

use comfy_table::{ContentArrangement, Table, presets};

/// Columns when standard output is no terminal.
const DEFAULT_WIDTH: u16 = 100;

/// The columns to fill: the terminal's, or a usual number of them.
pub fn width() -> u16 {
    terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| width.0)
}

/// A table with a head, its cells wrapped to fit `width` columns, each line
/// ending in a line feed and none in a space.
pub fn text<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    width: u16,
) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(head)
        .add_rows(rows);
    lines(&table)
}

/// Rows without a head, set in by two columns; the last cell wraps to fit `width` columns.
pub fn list<const N: usize>(
    rows: impl IntoIterator<Item = [String; N]>,
    width: Option<u16>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).add_rows(rows);
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    lines(&table)
}

/// The lines of a table, each ending in a line feed and none in a space.
fn lines(table: &Table) -> String {
    table
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_wrap_within_the_width() {
        let long = "word ".repeat(40);
        let text = text(["A", "B"], [["x".to_owned(), long]], 60);
        assert!(
            text.lines().all(|line| line.chars().count() <= 60),
            "{text}"
        );
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
        assert_eq!(text.matches("word").count(), 40);
    }
}
