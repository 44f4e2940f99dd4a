//! Tables for people: the one place where cells are brought below each other.
//!
//! `comfy-table` pads and aligns. What it lacks is here and in [`super::narrow`]: numbers that are
//! never broken, texts that break where names do, a last column that is not padded.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::foreign::{self, Mark, printable};
use super::screen::Style;
use super::{narrow, out};

/// Columns when standard output is no terminal.
const DEFAULT_WIDTH: u16 = 100;
/// Columns between two cells.
const GAP: u16 = 2;
/// The columns of the longest usual name in a list of facts.
const FACT: usize = 7;
/// The least columns in which the values of facts wrap.
const MIN_WRAPPED: usize = 20;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

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
    table.lines().map(|line| end_line(&line)).collect()
}

/// Names with what there is to say of each, set in by two columns; texts wrap to fit `width` columns.
pub fn list(rows: impl IntoIterator<Item = [String; 2]>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).add_rows(rows);
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    for column in table.column_iter_mut() {
        column.set_padding((GAP, 0));
    }
    table.lines().map(|line| end_line(&line)).collect()
}

/// Names with a value each, which begin in column 10 or where the longest name allows.
pub fn facts(rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows: Vec<Vec<String>> = (rows.into_iter())
        .map(|(name, value)| vec![name, value])
        .collect();
    let aligns = [Align::Left, Align::Left];
    let natural = natural(&rows, vec![FACT, 0]);
    one_line_each(&aligns, &natural, rows).concat()
}

/// Facts as those of [`facts`] without colours; on a terminal that is too narrow for them, values wrap.
pub fn wrapping_facts(rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows: Vec<Vec<String>> = (rows.into_iter())
        .map(|(name, value)| vec![name, printable(&value)])
        .collect();
    let aligns = [Align::Left, Align::Left];
    let names = natural(&rows, vec![FACT, 0])[0];
    let room =
        out::columns_of_terminal().map_or(0, |room| room.saturating_sub(names + usize::from(GAP)));
    let widest = natural(&rows, vec![0, 0])[1];
    if room < MIN_WRAPPED || widest <= room {
        return one_line_each(&aligns, &[names, widest], rows).concat();
    }
    wrapped(&aligns, &[names, room], &rows).concat()
}

/// Columns two spaces apart, under a head. On a terminal that is too narrow for them, texts wrap.
pub fn columns<const N: usize>(
    style: Style,
    head: [(&str, Align); N],
    rows: &[[String; N]],
) -> String {
    columns_within(style, head, rows, out::columns_of_terminal())
}

/// Columns two spaces apart, a line for each row. The last one is not padded, so that long names
/// cost nothing.
pub fn whole_columns<const N: usize>(
    style: Style,
    head: [(&str, Align); N],
    rows: &[[String; N]],
) -> String {
    columns_within(style, head, rows, None)
}

/// Rows as those of [`whole_columns`] without a head. Colours are allowed in the last cell only.
pub fn headless<const N: usize>(aligns: [Align; N], rows: Vec<[String; N]>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    let widths = natural(&rows, vec![0; N]);
    one_line_each(&aligns, &widths, rows).concat()
}

/// Columns whose rows come in parts. The first part tells how wide they are; a later part with wider
/// cells is as wide as these need.
pub struct Parts {
    aligns: Vec<Align>,
    widths: Vec<usize>,
}

impl Parts {
    /// For rows as in `first`, which holds the head too.
    pub fn new(aligns: Vec<Align>, first: &[Vec<String>]) -> Self {
        let widths = natural(first, vec![0; aligns.len()]);
        Self { aligns, widths }
    }

    /// The lines of some rows, one each.
    pub fn lines(&self, rows: Vec<Vec<String>>) -> Vec<String> {
        let widths = natural(&rows, self.widths.clone());
        one_line_each(&self.aligns, &widths, rows)
    }
}

fn columns_within<const N: usize>(
    style: Style,
    head: [(&str, Align); N],
    rows: &[[String; N]],
    room: Option<usize>,
) -> String {
    let aligns = head.map(|(_, align)| align);
    let titles = vec![head.map(|(title, _)| title.to_owned()).to_vec()];
    let rows: Vec<Vec<String>> = (rows.iter())
        .map(|row| row.iter().map(|cell| printable(cell)).collect())
        .collect();
    let widths = natural(&rows, natural(&titles, vec![0; N]));
    let total = widths.iter().sum::<usize>() + usize::from(GAP) * N.saturating_sub(1);
    let room = room.filter(|&room| total > room && aligns.contains(&Align::Left));
    let lines = |rows: Vec<Vec<String>>| match room {
        None => one_line_each(&aligns, &widths, rows),
        Some(room) => match narrow::widths(&aligns, &widths, room) {
            Some(widths) => wrapped(&aligns, &widths, &rows),
            None => stacked(&aligns, &widths, rows, room),
        },
    };
    let head = lines(titles).into_iter().map(|line| style.bold(&line));
    head.chain(lines(rows)).collect()
}

/// The widths that the widest cells need, at least those given.
fn natural(rows: &[Vec<String>], mut widths: Vec<usize>) -> Vec<usize> {
    for row in rows {
        for (most, cell) in widths.iter_mut().zip(row) {
            *most = (*most).max(foreign::width(cell));
        }
    }
    widths
}

/// Sets rows in columns of these widths, each with a gap after it. A cell with line feeds takes several
/// lines.
fn set(aligns: &[Align], widths: &[usize], rows: Vec<Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).add_rows(rows);
    for ((column, align), width) in table.column_iter_mut().zip(aligns).zip(widths) {
        let width = u16::try_from(*width).unwrap_or(u16::MAX);
        column
            .set_padding((0, GAP))
            .set_constraint(ColumnConstraint::Absolute(Width::Fixed(
                width.saturating_add(GAP),
            )))
            .set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
    }
    table.lines().collect()
}

/// A line for each row. The last column is no part of the table unless it is one of numbers: one long
/// name would pad all the others.
fn one_line_each(aligns: &[Align], widths: &[usize], mut rows: Vec<Vec<String>>) -> Vec<String> {
    // With `--raw`, a name may hold line feeds, which would end the row.
    let mark = Mark::LineFeed.char().to_string();
    for cell in rows.iter_mut().flatten() {
        if cell.contains('\n') {
            *cell = cell.replace('\n', &mark);
        }
    }
    let last: Vec<String> = match aligns.last() {
        Some(Align::Left) => rows.iter_mut().filter_map(Vec::pop).collect(),
        _ => vec![String::new(); rows.len()],
    };
    let starts = match aligns {
        [Align::Left] => vec![String::new(); last.len()],
        aligns => set(aligns, widths, rows),
    };
    let whole = |(start, last): (String, String)| end_line(&(start + &last));
    starts.into_iter().zip(last).map(whole).collect()
}

/// A line without spaces at its end, and with a line feed.
fn end_line(line: &str) -> String {
    line.trim_end().to_owned() + "\n"
}

/// Rows in columns that are narrower than their texts, which take several lines.
fn wrapped(aligns: &[Align], widths: &[usize], rows: &[Vec<String>]) -> Vec<String> {
    let cells = |row: &Vec<String>| {
        let cells = row.iter().zip(widths);
        cells
            .map(|(cell, &most)| narrow::broken(cell, most).join("\n"))
            .collect()
    };
    let lines = set(aligns, widths, rows.iter().map(cells).collect());
    lines.iter().map(|line| end_line(line)).collect()
}

/// Rows whose texts stand below their numbers.
fn stacked(aligns: &[Align], widths: &[usize], rows: Vec<Vec<String>>, room: usize) -> Vec<String> {
    let widths: Vec<usize> = aligns
        .iter()
        .zip(widths)
        .filter(|(align, _)| **align == Align::Right)
        .map(|(_, &width)| width)
        .collect();
    let aligns_of_numbers = vec![Align::Right; widths.len()];
    rows.into_iter()
        .flat_map(|row| {
            let (numbers, texts): (Vec<_>, Vec<_>) =
                (row.into_iter().zip(aligns)).partition(|(_, align)| **align == Align::Right);
            let numbers = numbers.into_iter().map(|(cell, _)| cell).collect();
            let texts = texts.into_iter().map(|(cell, _)| cell);
            let line = set(&aligns_of_numbers, &widths, vec![numbers]).concat();
            narrow::below(line.trim_end(), texts, room)
        })
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

    const HEAD: [(&str, Align); 3] = [
        ("n", Align::Right),
        ("kind", Align::Left),
        ("name", Align::Left),
    ];

    fn rows() -> [[String; 3]; 2] {
        [["1", "a", "x"], ["100", "long", ""]].map(|row| row.map(str::to_owned))
    }

    #[test]
    fn columns_line_up() {
        let text = columns_within(Style::plain(), HEAD, &rows(), None);
        assert_eq!(text, "  n  kind  name\n  1  a     x\n100  long\n");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let rows = [["1", "\u{65e5}\u{672c}", "x"], ["2", "abcd", "y"]];
        let text = columns_within(
            Style::plain(),
            HEAD,
            &rows.map(|row| row.map(str::to_owned)),
            None,
        );
        assert_eq!(text, "n  kind  name\n1  \u{65e5}\u{672c}  x\n2  abcd  y\n");
    }

    #[test]
    fn a_row_is_one_line_however_long_its_last_cell_is() {
        let rows = [
            ["1".to_owned(), "a".to_owned(), "x".repeat(100_000)],
            rows()[0].clone(),
        ];
        let text = columns_within(Style::plain(), HEAD, &rows, None);
        assert_eq!(text.lines().count(), 3);
        assert!(text.len() < 100_100, "the others are not padded");
    }

    #[test]
    fn texts_wrap_where_room_is_short_and_numbers_do_not() {
        let rows = [["1,000", "a.b.LongClassName", "x"].map(str::to_owned)];
        let head = [("", Align::Right), ("", Align::Left), ("", Align::Left)];
        let text = columns_within(Style::plain(), head, &rows, Some(26));
        assert_eq!(text, "\n1,000  a.b.LongClassNam  x\n       e\n");
        let head = [("n", Align::Right), ("text", Align::Left)];
        let rows = [["1".repeat(12), "one two three four".to_owned()]];
        let text = columns_within(Style::plain(), head, &rows, Some(16));
        assert_eq!(
            text,
            "           n\n    text\n111111111111\n    one two\n    three four\n"
        );
    }

    #[test]
    fn parts_widen_where_a_later_cell_needs_it() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        let aligns = vec![Align::Left, Align::Right];
        let parts = Parts::new(aligns, &[row("name", "n")]);
        assert_eq!(parts.lines(vec![row("a", "5")]), ["a     5\n"]);
        assert_eq!(parts.lines(vec![row("longer", "5")]), ["longer  5\n"]);
    }

    #[test]
    fn facts_begin_in_one_column() {
        let fact = |name: &str| (name.to_owned(), "1".to_owned());
        assert_eq!(facts([fact("heap")]), "heap     1\n");
        assert_eq!(
            facts([fact("a"), fact("very long")]),
            "a          1\nvery long  1\n"
        );
    }
}
