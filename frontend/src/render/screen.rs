//! Numbers, colours and columns for people.

use std::env;

pub use hprof_stacks::pictures::numbers::{count, percent};

pub use super::foreign::printable;
use super::foreign::{Mark, width};
pub use super::out::{print, print_json};
use super::{narrow, out};

/// Colours, if standard output wants them.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    is_on: bool,
}

impl Style {
    /// Colours on a terminal, unless the user has set `NO_COLOR` (<https://no-color.org>).
    pub fn of_stdout() -> Self {
        let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            is_on: out::is_terminal() && !is_refused,
        }
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.paint(Mark::Bold, text)
    }

    /// Dims less important text.
    pub fn dim(self, text: &str) -> String {
        self.paint(Mark::Dim, text)
    }

    /// A warning.
    pub fn warn(self, text: &str) -> String {
        self.paint(Mark::Yellow, text)
    }

    /// The state of a thread: what runs stands out, what waits does not.
    pub fn state(self, state: &str) -> String {
        match state {
            "RUNNABLE" => self.paint(Mark::Green, state),
            "BLOCKED" => self.paint(Mark::Red, state),
            _ => state.to_owned(),
        }
    }

    /// Whatever of others is in the text, it is on one line.
    fn paint(self, colour: Mark, text: &str) -> String {
        let (text, end) = match text.strip_suffix('\n') {
            Some(text) => (text, "\n"),
            None => (text, ""),
        };
        let text = printable(text);
        if self.is_on && !text.is_empty() {
            format!("{}{text}{}{end}", colour.char(), Mark::Plain.char())
        } else {
            text + end
        }
    }
}

/// A number of bytes in a unit that fits, of 1000 as disks are sold: `1.5 GB`.
pub fn bytes(number: u64) -> String {
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1000.0;
    let mut unit = 0;
    // What would be shown as 1000.0 moves on.
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

/// A difference with its sign and commas.
pub fn signed(number: i128) -> String {
    let digits = count(u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX));
    match number {
        1.. => format!("+{digits}"),
        0 => digits,
        _ => format!("-{digits}"),
    }
}

/// A noun with its number: `1 class`, `2 classes`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A line on rows that are not shown; nothing if all are.
pub fn more(left_out: usize) -> String {
    if left_out == 0 {
        return String::new();
    }
    let line = format!("... {} more (--top 0 for all)", count(left_out as u64));
    format!("{}\n", Style::of_stdout().dim(&line))
}

/// The beginning of a line that has no more than `width` characters.
pub fn cut(line: &str, most: usize) -> String {
    if width(line) <= most {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.push('\u{2026}');
    cut
}

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
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

fn columns_within<const N: usize>(
    style: Style,
    head: [(&str, Align); N],
    rows: &[[String; N]],
    room: Option<usize>,
) -> String {
    let rows: Vec<[String; N]> = (rows.iter())
        .map(|row| row.each_ref().map(|cell| printable(cell)))
        .collect();
    let mut widths = head.map(|(title, _)| width(title));
    for row in &rows {
        for (most, cell) in widths.iter_mut().zip(row) {
            *most = (*most).max(width(cell));
        }
    }
    let total = widths.iter().sum::<usize>() + 2 * N.saturating_sub(1);
    let aligns = head.map(|(_, align)| align);
    let titles = head.map(|(title, _)| title.to_owned());
    if let Some(room) = room.filter(|&room| total > room && aligns.contains(&Align::Left)) {
        let lines = |cells: &[String; N]| match narrow::widths(aligns, widths, room) {
            Some(widths) => narrow::wrapped(cells, aligns, widths),
            None => narrow::stacked(cells, aligns, widths, room),
        };
        let head = lines(&titles).into_iter().map(|line| style.bold(&line));
        let lines = head.chain(rows.iter().flat_map(lines));
        return lines.map(|line| line + "\n").collect();
    }
    let line = |cells: &[String; N]| {
        let mut line = String::new();
        for (index, ((cell, most), (_, align))) in cells.iter().zip(widths).zip(head).enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            let room = " ".repeat(most - width(cell));
            match align {
                Align::Right => line.push_str(&(room + cell)),
                Align::Left if index + 1 == N => line.push_str(cell),
                Align::Left => line.push_str(&(cell.clone() + &room)),
            }
        }
        line.trim_end().to_owned()
    };
    let mut text = style.bold(&line(&titles));
    text.push('\n');
    for row in &rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(bytes(u64::MAX), "18.4 EB");
        assert_eq!(signed(-1_000), "-1,000");
        assert_eq!(signed(5), "+5");
    }

    #[test]
    fn columns_line_up() {
        let style = Style { is_on: false };
        let head = [
            ("n", Align::Right),
            ("kind", Align::Left),
            ("name", Align::Left),
        ];
        let rows = [
            ["1".to_owned(), "a".to_owned(), "x".to_owned()],
            ["100".to_owned(), "long".to_owned(), String::new()],
        ];
        let text = columns(style, head, &rows);
        assert_eq!(text, "  n  kind  name\n  1  a     x\n100  long\n");
    }
}
