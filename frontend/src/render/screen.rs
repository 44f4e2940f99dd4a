//! Numbers, colours and columns for people.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

pub use hprof_stacks::pictures::numbers::{count, percent};

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
            is_on: io::stdout().is_terminal() && !is_refused,
        }
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What matters less.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A warning.
    pub fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// The state of a thread: what runs stands out, what waits does not.
    pub fn state(self, state: &str) -> String {
        match state {
            "RUNNABLE" => self.paint("32", state),
            "BLOCKED" => self.paint("31", state),
            _ => state.to_owned(),
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.is_on && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Prints a text, whole.
///
/// # Errors
/// Those of standard output.
pub fn print(text: &str) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a value as JSON.
///
/// # Errors
/// Those of standard output.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<ExitCode> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
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

/// Text without control characters, which a terminal might obey.
pub fn printable(text: &str) -> String {
    let replace = |c: char| if c.is_control() { '\u{b7}' } else { c };
    text.chars().map(replace).collect()
}

/// The beginning of a line that has no more than `width` characters, colours aside.
pub fn cut(line: &str, width: usize) -> String {
    if line.contains('\x1b') || line.chars().count() <= width {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
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

/// Columns two spaces apart, under a head. The last one is not padded, so that long names
/// cost nothing.
pub fn columns<const N: usize>(
    style: Style,
    head: [(&str, Align); N],
    rows: &[[String; N]],
) -> String {
    let mut widths = head.map(|(title, _)| title.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String; N]| {
        let mut line = String::new();
        for (index, ((cell, width), (_, align))) in cells.iter().zip(widths).zip(head).enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            match align {
                Align::Right => line.push_str(&format!("{cell:>width$}")),
                Align::Left if index + 1 == N => line.push_str(cell),
                Align::Left => line.push_str(&format!("{cell:<width$}")),
            }
        }
        line.trim_end().to_owned()
    };
    let mut text = style.bold(&line(&head.map(|(title, _)| title.to_owned())));
    text.push('\n');
    for row in rows {
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
        assert_eq!(printable("a\x1b[31m\n"), "a\u{b7}[31m\u{b7}");
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
