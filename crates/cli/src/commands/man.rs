//! `hprof-rs man`: manual pages, one of the command and one of each subcommand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_mangen::roff::{self, Roff};

use crate::cli::Cli;
use crate::render::foreign::printable;
use crate::render::out::print;

/// Write the manual pages into a folder.
///
/// The folder is made where it does not exist; pages in it are replaced. Packages carry the pages,
/// so this is for a command that was built from source.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManualPages {
    /// The folder, for instance ~/.local/share/man/man1.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs man ~/.local/share/man/man1
  man hprof-rs-record";

/// How examples begin in the help of commands that print nothing else after their options.
const EXAMPLES_HEADINGS: [&str; 2] = ["Examples:\n", "Example:\n"];

impl ManualPages {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let shown = printable(&self.folder.display().to_string());
        let written = write_all(&self.folder)
            .with_context(|| format!("cannot write manual pages into {shown}"))?;
        print(&format!("wrote {written} manual pages into {shown}\n"))
    }
}

/// Writes the page of the command and those of its subcommands; returns how many there are.
fn write_all(folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    // A page of `help` would only repeat the others.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut written = 1;
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_page(subcommand.clone(), folder)?;
        written += 1;
    }
    write_page(command, folder)?;
    Ok(written)
}

/// Writes one page beside its place, then renames it: a reader sees the old page or the new one.
fn write_page(command: clap::Command, folder: &Path) -> io::Result<()> {
    let after_help = command.get_after_long_help().or(command.get_after_help());
    let after_help = after_help.map(ToString::to_string);
    let has_subcommands = command.has_subcommands();
    let name = command.get_display_name().unwrap_or(command.get_name());
    let page = clap_mangen::Man::new(command.clone())
        .title(name.to_uppercase())
        .source(concat!("hprof-rs ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if has_subcommands {
        page.render_subcommands_section(&mut text)?;
    }
    if let Some(after_help) = after_help {
        text.extend(as_printed(&after_help).into_bytes());
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, &text)?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(file.path(), permissions)?;
    file.persist(folder.join(page.get_filename()))?;
    Ok(())
}

/// The text after a command's options, in lines as the help prints them.
fn as_printed(after_help: &str) -> String {
    let mut headings = EXAMPLES_HEADINGS.iter();
    let (heading, lines) = match headings.find_map(|heading| after_help.strip_prefix(heading)) {
        Some(examples) => ("EXAMPLES", examples),
        None => ("NOTES", after_help),
    };
    let mut page = Roff::new();
    page.control("SH", [heading]).control("nf", []);
    for line in lines.lines() {
        page.text([roff::roman(line)]);
    }
    page.control("fi", []);
    page.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_that_help_lists_gets_a_page_with_an_example() {
        let folder = tempfile::tempdir().unwrap();
        let written = write_all(folder.path()).unwrap();
        let command = Cli::command();
        let listed = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut pages = 1;
        for subcommand in listed {
            let name = format!("hprof-rs-{}.1", subcommand.get_name());
            let page = fs::read_to_string(folder.path().join(&name)).unwrap();
            assert!(
                page.contains("Example") || page.contains(".SH EXAMPLES"),
                "{name}: {page}"
            );
            pages += 1;
        }
        let page = fs::read_to_string(folder.path().join("hprof-rs.1")).unwrap();
        assert!(page.contains("hprof\\-rs\\-record(1)"), "{page}");
        assert_eq!(written, pages);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), pages);
    }

    #[test]
    fn examples_keep_their_lines() {
        let page = as_printed("Examples:\n  hprof-rs ps\n  .hidden 'x'\n");
        assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{page}");
        assert!(page.contains("  hprof\\-rs ps\n"), "{page}");
        // A line that begins with a dot would be a request of roff's.
        assert!(!page.contains("\n.hidden"), "{page}");
    }
}
