//! The line that is being edited, and lines printed above it.
//!
//! The line editor could print from other threads itself. But then it waits for keys in a way that
//! does not see those it has read already, so that all but the first key of pasted text wait for
//! another one. So it only tells what it shows, and what is printed goes around that.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The edited line on the screen.
#[derive(Debug, Default)]
pub struct Edited(Mutex<Option<Line>>);

#[derive(Debug, Default)]
struct Line {
    prompt: String,
    text: String,
    /// The cursor's place in the text, in bytes.
    at: usize,
}

impl Edited {
    /// A line begins.
    pub fn begin(&self, prompt: &str) {
        *self.lock() = Some(Line {
            prompt: prompt.to_owned(),
            ..Line::default()
        });
    }

    /// The line has changed, or the cursor has moved.
    pub fn shows(&self, text: &str, at: usize) {
        if let Some(line) = &mut *self.lock() {
            text.clone_into(&mut line.text);
            line.at = at;
        }
    }

    /// Nothing is being edited any more.
    pub fn end(&self) {
        *self.lock() = None;
    }

    /// Has whole lines of text written above the line, on a screen of this width. No other thread changes
    /// the line meanwhile.
    pub fn print(&self, lines: &str, width: u16, write: impl FnOnce(&str)) {
        match &*self.lock() {
            Some(line) => write(&line.around(lines, usize::from(width.max(1)))),
            None => write(lines),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn around(&self, lines: &str, width: usize) -> String {
        let up = |rows: usize| match rows {
            0 => String::new(),
            _ => format!("\x1b[{rows}A"),
        };
        let prompt = self.prompt.chars().count();
        let before = self.text.get(..self.at).unwrap_or(&self.text);
        let cursor = prompt + before.chars().count();
        let end = prompt + self.text.chars().count();
        let mut out = up(cursor / width);
        out.push_str("\r\x1b[J");
        out.push_str(lines);
        out.push_str(&self.prompt);
        out.push_str(&self.text);
        if end.is_multiple_of(width) {
            // The terminal stays in the last column until something more comes.
            out.push('\n');
        }
        out.push_str(&up(end / width - cursor / width));
        out.push('\r');
        if !cursor.is_multiple_of(width) {
            out.push_str(&format!("\x1b[{}C", cursor % width));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(edited: &Edited, width: u16) -> String {
        let mut out = String::new();
        edited.print("news\n", width, |text| out.push_str(text));
        out
    }

    #[test]
    fn what_is_printed_goes_above_the_line() {
        let edited = Edited::default();
        assert_eq!(printed(&edited, 80), "news\n");
        edited.begin("> ");
        assert_eq!(printed(&edited, 80), "\r\x1b[Jnews\n> \r\x1b[2C");
        edited.shows("dump heap", 4);
        assert_eq!(printed(&edited, 80), "\r\x1b[Jnews\n> dump heap\r\x1b[6C");
        edited.end();
        assert_eq!(printed(&edited, 80), "news\n");
    }

    #[test]
    fn a_line_of_several_rows_is_written_again_in_place() {
        let edited = Edited::default();
        edited.begin("> ");
        edited.shows("0123456789", 9);
        // Two characters, eight, and then two: the cursor is in the second row, and so is the end.
        assert_eq!(
            printed(&edited, 10),
            "\x1b[1A\r\x1b[Jnews\n> 0123456789\r\x1b[1C"
        );
        edited.shows("01234567", 0);
        assert_eq!(
            printed(&edited, 10),
            "\r\x1b[Jnews\n> 01234567\n\x1b[1A\r\x1b[2C"
        );
    }
}
