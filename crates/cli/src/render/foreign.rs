//! Text of others on its way to a person: names of classes, threads and files, strings, messages
//! of JVMs and peers. A terminal might obey what is in it, or show it in another order.
//!
//! It passes two places. [`printable`] takes one name, or one cell: nothing in it ends a line.
//! [`page`] takes what a command has to say, just before it is written, and lets nothing through
//! but line feeds, tabs and the colours of [`super::screen::Style`]. As standard output and
//! standard error are reached through [`super::out`] only, no command can forget the second.
//!
//! A character that is not shown as it is reads `\x1b` or `\u{202e}`. Where a text itself holds a
//! backslash that could be taken for the beginning of one, the backslash is doubled.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use unicode_width::UnicodeWidthStr;

static IS_RAW: AtomicBool = AtomicBool::new(false);

/// From now on texts are printed as they are (`--raw`).
pub fn print_raw() {
    IS_RAW.store(true, Ordering::Relaxed);
}

fn is_raw() -> bool {
    IS_RAW.load(Ordering::Relaxed)
}

/// Characters that replace others until [`page`] writes those. They are private ones,
/// chosen at random in each process, so that no file can hold them on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mark {
    /// The backslash of a character that is written in ASCII.
    Escape,
    /// A line feed in a cell, which `--raw` leaves there.
    LineFeed,
    /// Colours.
    Bold,
    /// Dimmed text.
    Dim,
    /// Red.
    Red,
    /// Green.
    Green,
    /// Yellow.
    Yellow,
    /// The end of a colour.
    Plain,
}

impl Mark {
    const ALL: [Self; 8] = [
        Self::Escape,
        Self::LineFeed,
        Self::Bold,
        Self::Dim,
        Self::Red,
        Self::Green,
        Self::Yellow,
        Self::Plain,
    ];

    /// Its replacement in this process.
    pub fn char(self) -> char {
        static FIRST: OnceLock<u32> = OnceLock::new();
        let first = FIRST.get_or_init(|| {
            // The private planes 15 and 16, where no script lies.
            let random = RandomState::new().hash_one(0) as u32;
            let (plane, place) = (random & 1, (random >> 1) % 0xff00);
            0xf_0000 + (plane << 16) + place
        });
        char::from_u32(first + self as u32).unwrap_or('?')
    }

    fn of(c: char) -> Option<Self> {
        let offset = (c as u32).wrapping_sub(Self::Escape.char() as u32);
        Self::ALL.get(offset as usize).copied()
    }

    fn written(self) -> &'static str {
        match self {
            Self::Escape => "\\",
            Self::LineFeed => "\n",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Plain => "\x1b[0m",
        }
    }
}

/// True for what a terminal may obey, and for what changes the order of a line or cannot be seen:
/// control characters, marks and overrides of direction, zero-width characters, line and paragraph
/// separators, tags.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(
            c as u32,
            0xad | 0x34f
                | 0x61c
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180b..=0x180f
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x3164
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffb
                | 0xe_0000..=0xe_0fff
        )
}

/// One name, or a cell of a table, on one line.
pub fn printable(text: &str) -> String {
    if is_raw() || !text.contains(is_hostile) {
        return text.to_owned();
    }
    escaped(text, is_hostile)
}

/// A message that may have several lines. The names in it must be printable already where they may hold line feeds.
pub fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(printable).collect();
    lines.join("\n")
}

/// All that is written at once: line feeds, tabs and colours stay, and text that no earlier step has made
/// printable is made so here.
pub fn page(text: &str) -> String {
    let is_hostile = |c: char| is_hostile(c) && !matches!(c, '\n' | '\t') && !is_raw();
    let shown = escaped(text, is_hostile);
    let mut written = String::with_capacity(shown.len());
    let mut rest = shown.as_str();
    while let Some(at) = rest.find(|c| c == '\\' || Mark::of(c).is_some()) {
        written.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = rest.find(|c| c != '\\').unwrap_or(rest.len());
        if length > 0 {
            let (backslashes, after) = rest.split_at(length);
            written.push_str(backslashes);
            if could_be_escape(after) && !is_raw() {
                written.push_str(backslashes);
            }
            rest = after;
            continue;
        }
        let mut chars = rest.chars();
        if let Some(mark) = chars.next().and_then(Mark::of) {
            written.push_str(mark.written());
        }
        rest = chars.as_str();
    }
    written.push_str(rest);
    written
}

/// HPROF text, whose readers undo the escapes of Java (`\u202e`) and no others.
pub fn hprof_text(text: &str) -> String {
    let is_hostile = |c: char| is_hostile(c) && !matches!(c, '\n' | '\t');
    if is_raw() || !text.contains(is_hostile) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hostile(c) {
            true => push_java(&mut shown, c),
            false => shown.push(c),
        }
    }
    shown
}

/// Adds the escapes of Java and JSON for a character.
fn push_java(to: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        to.push_str(&format!("\\u{unit:04x}"));
    }
}

/// A cell or name as it is written in the end, for files of other programs.
pub fn written(text: &str) -> String {
    page(&printable(text))
}

/// True if a backslash before this would look like the first of an escaped character.
fn could_be_escape(after: &str) -> bool {
    let is_hex = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
    match after.strip_prefix('x') {
        Some(digits) => digits.get(..2).is_some_and(is_hex),
        None => after.starts_with("u{") || after.starts_with(Mark::Escape.char()),
    }
}

fn escaped(text: &str, is_hostile: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_hostile(c) {
            shown.push(c);
            continue;
        }
        shown.push(Mark::Escape.char());
        match c as u32 {
            code @ 0..=0xff => shown.push_str(&format!("x{code:02x}")),
            code => shown.push_str(&format!("u{{{code:x}}}")),
        }
    }
    shown
}

/// The columns that a cell takes on a terminal: two for a wide character, as of Chinese.
pub fn width(cell: &str) -> usize {
    let takes = |c: &char| matches!(Mark::of(*c), None | Some(Mark::Escape | Mark::LineFeed));
    if cell.is_ascii() {
        return cell.len();
    }
    cell.chars().filter(takes).collect::<String>().width()
}

/// JSON whose texts hold no such characters, but their numbers (`\u202e`). Of the line feeds and
/// tabs, those are left that stand between values.
pub fn json(text: &str) -> String {
    // Those below a blank are escaped in texts of JSON already.
    let is_hostile = |c: char| c > ' ' && (is_hostile(c) || Mark::of(c).is_some());
    if !text.contains(is_hostile) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match (is_hostile(c), Mark::of(c)) {
            (false, _) => shown.push(c),
            // Text for a terminal that is in JSON as well.
            (true, Some(Mark::Escape)) => shown.push_str("\\\\"),
            (true, Some(_)) => {}
            (true, None) => push_java(&mut shown, c),
        }
    }
    shown
}

/// Passes JSON on as [`json`] has it. The caller must write whole characters, as
/// `serde_json` does.
pub struct JsonWriter<W>(pub W);

impl<W: Write> Write for JsonWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(json(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Markup, in which such a character is shown as one that is missing: a form in ASCII would mean
/// something else in each of text, script and data.
pub fn markup(text: &str) -> String {
    let is_hostile = |c: char| is_hostile(c) && !matches!(c, '\n' | '\t');
    if is_raw() || !text.contains(is_hostile) {
        return text.to_owned();
    }
    text.replace(is_hostile, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_in_ascii() {
        for (text, shown) in [
            ("a\x1b[31m\n\r\t", "a\\x1b[31m\\x0a\\x0d\\x09"),
            (
                "\u{9b}31m\u{7f}\u{202e}\u{2066}",
                "\\x9b31m\\x7f\\u{202e}\\u{2066}",
            ),
            ("\u{200b}\u{feff}\u{e0041}", "\\u{200b}\\u{feff}\\u{e0041}"),
            (
                "C:\\new\\xylem \u{e9} \u{65e5}",
                "C:\\new\\xylem \u{e9} \u{65e5}",
            ),
            // Not to be confused with an escaped character.
            ("\\x1b \\\\u{1}", "\\\\x1b \\\\\\\\u{1}"),
            ("\\\x1b", "\\\\\\x1b"),
        ] {
            assert_eq!(written(text), shown);
            assert_eq!(page(&printable(&printable(text))), shown, "twice");
        }
    }

    #[test]
    fn a_message_keeps_its_lines_and_nothing_else() {
        let text = "one\n  two\x1b[2J\r\nthree\rfour\n";
        let shown = "one\n  two\\x1b[2J\nthree\\x0dfour";
        assert_eq!(page(&printable_lines(text)), shown);
        assert_eq!(printable_lines(""), "");
    }

    #[test]
    fn a_page_keeps_its_lines_and_colours_and_nothing_else() {
        let name = printable("x\ny\x1b[2J");
        let text = format!(
            "{}bold{} {name}\n\tb\x1b\r\n",
            Mark::Bold.char(),
            Mark::Plain.char()
        );
        assert_eq!(
            page(&text),
            "\x1b[1mbold\x1b[0m x\\x0ay\\x1b[2J\n\tb\\x1b\\x0d\n"
        );
        assert_eq!(width(&text[..text.find(' ').unwrap()]), 4);
    }

    #[test]
    fn json_says_the_same_without_such_characters() {
        let text = "a\u{202e}\u{7f}\u{9b}\u{e0041}\x1b\n";
        let escaped = json(&serde_json::to_string_pretty(&[text]).unwrap());
        assert!(!escaped.contains(|c: char| is_hostile(c) && c != '\n'));
        assert_eq!(
            serde_json::from_str::<[String; 1]>(&escaped).unwrap(),
            [text]
        );
    }
}
