//! Numbers and colours for people.

use std::env;

pub use hprof_stacks::pictures::numbers::{count, percent};

use super::foreign::{Mark, width};
pub use super::foreign::{printable, printable_lines};
use super::out;
pub use super::out::{print, print_json};
pub use super::table::{Align, columns, headless, whole_columns};

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

    /// No colours.
    #[cfg(test)]
    pub fn plain() -> Self {
        Self { is_on: false }
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
}
