//! `hprof-rs worker --strip`: a copy without values, for a server that keeps no others.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;

use anyhow::Context;
use hprof_analysis::input::Input;
use hprof_analysis::strip::{Form, StripPlan};
use hprof_server::intake::StripRules;
use serde_json::json;

use crate::memory::MemoryArgument;
use crate::render::out::{stdout_as_file, tell_line};
use crate::strip_rules::{StripWork, figures};

/// Copies the file that is standard input to standard output, without what the rules take. The last
/// line on standard error tells in JSON what the copy lacks.
///
/// # Errors
/// If standard input is no file with a dump, or standard output takes no more bytes.
pub(super) fn redact(
    name: &str,
    rules: &str,
    limit: u64,
    memory: MemoryArgument,
) -> anyhow::Result<ExitCode> {
    let rules: StripRules = serde_json::from_str(rules).context("--rules")?;
    let work = StripWork::new(rules)?;
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let read = || -> io::Result<_> {
        let input = Input::from_file(name, &file).map_err(io::Error::other)?;
        Ok(input.into_reader())
    };
    memory.watch(name);
    let plan = StripPlan::of(read, work.policy(Form::Same)).with_context(|| name.to_owned())?;
    let limited = Limited {
        to: File::from(stdout_as_file()?),
        left: limit,
    };
    let mut copy = BufWriter::with_capacity(1 << 20, limited);
    let stripped = plan
        .copy(read()?, &mut copy)
        .context("cannot write the copy")?;
    copy.flush().context("cannot write the copy")?;
    let said = json!({
        "ends_at": stripped.ends_at,
        "unknown": stripped.unknown,
        "figures": figures(&plan, &stripped),
    });
    tell_line(&said.to_string());
    Ok(ExitCode::SUCCESS)
}

/// A writer with an end: a small compressed file may hold a large one.
struct Limited<W> {
    to: W,
    left: u64,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            let what = "it holds more bytes than `serve --max-upload` allows";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let written = self.to.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_not_exceeded() {
        let mut limited = Limited {
            to: Vec::new(),
            left: 5,
        };
        limited.write_all(b"abc").unwrap();
        assert!(limited.write_all(b"def").is_err());
        assert_eq!(limited.to, b"abc");
    }
}
