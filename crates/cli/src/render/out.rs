//! The way to standard output and standard error, for all commands. Texts pass
//! [`foreign::page`] here; clippy.toml has the other ways refused.

#![allow(clippy::disallowed_methods)]

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use super::foreign::{self, JsonWriter};

/// Says something to the person, on standard error: as `eprintln!`.
macro_rules! tell {
    ($($what:tt)*) => {
        $crate::render::out::tell_person(format_args!($($what)*))
    };
}
pub(crate) use tell;

/// One message on standard error. Whatever follows a line feed in it is set in, so that no text
/// of others looks like a message of its own.
pub fn tell_person(what: fmt::Arguments<'_>) {
    let text = foreign::page(&what.to_string());
    let mut lines = text.lines();
    let mut message = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let indent = if line.starts_with(' ') { "" } else { "  " };
        message.push_str(&format!("\n{indent}{line}"));
    }
    message.push('\n');
    // A failure cannot be reported: standard error is gone.
    let _ = io::stderr().lock().write_all(message.as_bytes());
}

/// Lines of a log, on standard error; texts of others in them are made harmless.
pub struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = foreign::page(&String::from_utf8_lossy(bytes));
        io::stderr().lock().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line for a program that reads standard error; it holds no text of others.
pub fn tell_line(line: &str) {
    // A failure cannot be reported: standard error is gone.
    let _ = io::stderr()
        .lock()
        .write_all(format!("{line}\n").as_bytes());
}

/// Standard output.
pub struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    /// For as long as something is to be written.
    pub fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    /// Text for people.
    ///
    /// # Errors
    /// Errors of standard output, here and below.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(foreign::page(text).as_bytes())
    }

    /// A piece of JSON.
    pub fn json(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(foreign::json(text).as_bytes())
    }

    /// A file in a format of its own, whose writer has seen to its texts.
    pub fn data(&mut self) -> &mut impl Write {
        &mut self.0
    }

    /// Hands on what was written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints a text, whole.
///
/// # Errors
/// Errors of standard output.
pub fn print(text: &str) -> anyhow::Result<ExitCode> {
    let mut out = Out::new();
    out.text(text)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a value as JSON.
///
/// # Errors
/// Errors of standard output.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<ExitCode> {
    let mut out = Out::new();
    serde_json::to_writer_pretty(JsonWriter(&mut out.0), value).map_err(io::Error::from)?;
    out.json("\n")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes what is meant for the terminal, with its controls; texts in it have passed
/// [`foreign::page`] before. A terminal that has gone is no reason to stop.
pub fn to_terminal(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Standard output as a screen that is drawn over and over; texts on it are printable.
pub fn screen() -> impl Write {
    io::stdout().lock()
}

/// Standard output for a file that is written piece by piece.
///
/// # Errors
/// If there is no descriptor left.
pub fn stdout_as_file() -> io::Result<OwnedFd> {
    io::stdout().as_fd().try_clone_to_owned()
}

/// Returns true if standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The columns of the terminal that standard output is, if it is one.
pub fn columns_of_terminal() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0)).filter(|&columns| columns > 0)
}

/// Returns true if standard error is a terminal.
pub fn tells_terminal() -> bool {
    io::stderr().is_terminal()
}
