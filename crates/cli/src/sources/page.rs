//! Source lines in pages of profiles, with links that open an editor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use hprof_stacks::MethodLines;
use hprof_stacks::pictures::profile::View;
use hprof_stacks::pictures::sources::{MethodSource, Sources};

use super::{Source, SourcesArgument, has_code, source_of};
use crate::render::out::tell;
use crate::render::screen::{plural, printable};

/// Lines of one method that a page has.
const MOST_LINES: usize = 400;
/// Methods that a message names.
const NAMED: usize = 3;

/// The options for source lines in pages.
#[derive(Debug, Default, Args)]
pub struct PageSourcesArgument {
    /// Show the source lines of methods in pages (.html), with each line's share. DIR has the program's sources at any depth; may
    /// be repeated. Readers of the page read these lines.
    #[arg(long, value_name = "DIR")]
    pub sources: Vec<PathBuf>,

    /// Open source lines of the page in this editor, on this machine. Without --sources the sources are in src/main/java
    /// and the like below the working folder.
    #[arg(long, value_enum, value_name = "EDITOR")]
    pub editor: Option<Editor>,
}

/// An editor that opens files by an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Editor {
    /// IntelliJ IDEA, by `idea:` addresses.
    Idea,
    /// Visual Studio Code, by `vscode:` addresses.
    Vscode,
}

impl Editor {
    /// The word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Idea => "idea",
            Self::Vscode => "vscode",
        }
    }

    /// The address of a file, with `{line}` for the number of a line.
    fn link(self, path: &Path) -> Option<String> {
        let path = encoded(std::path::absolute(path).ok()?.to_str()?);
        Some(match self {
            Self::Idea => format!("idea://open?file={path}&line={{line}}"),
            Self::Vscode => format!("vscode://file{path}:{{line}}"),
        })
    }
}

/// A path as addresses have it (RFC 3986).
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => text.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => text.push(byte.into()),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Why a method has no source in a page.
enum Without {
    /// No folder has the file.
    Missing,
    /// The file has no code where the profile has costs.
    Other,
}

impl PageSourcesArgument {
    /// Returns true if a page is to have sources.
    pub fn is_wanted(&self) -> bool {
        !self.sources.is_empty() || self.editor.is_some()
    }

    /// Refuses the options, for outputs that are no pages.
    ///
    /// # Errors
    /// If one of them is there.
    pub fn refuse(&self) -> anyhow::Result<()> {
        if self.is_wanted() {
            bail!("--sources and --editor are for pages: name an output that ends in .html");
        }
        Ok(())
    }

    /// Finds mistakes before a profile is there.
    ///
    /// # Errors
    /// If the output is no page, or there is no such folder.
    pub fn check(&self, output: Option<&Path>) -> anyhow::Result<()> {
        let is_page = |path: &Path| {
            path.extension()
                .is_some_and(|it| it == "html" || it == "htm")
        };
        if !output.is_some_and(is_page) {
            self.refuse()?;
        }
        match self.sources.iter().find(|folder| !folder.is_dir()) {
            Some(folder) => bail!("--sources: there is no folder {}", folder.display()),
            None => Ok(()),
        }
    }

    /// The source of the methods with lines in these views. Says on standard error how many are without.
    ///
    /// # Errors
    /// If there is no such folder as an option names.
    pub fn of_page(&self, views: &[View]) -> anyhow::Result<Sources> {
        if !self.is_wanted() {
            return Ok(Sources::new());
        }
        let folders = SourcesArgument {
            sources: self.sources.clone(),
        };
        let mut methods: BTreeMap<&str, (&MethodLines, (u32, u32), bool)> = BTreeMap::new();
        for view in views {
            let rule = &view.answer.own.own;
            for (name, method) in &view.answer.lines {
                let lines = || {
                    method
                        .lines
                        .iter()
                        .map(|it| it.line)
                        .filter(|&line| line > 0)
                };
                let (Some(first), Some(last)) = (lines().min(), lines().max()) else {
                    continue;
                };
                let is_own = rule.is_own_name(name);
                let known = methods
                    .entry(name)
                    .or_insert((method, (first, last), is_own));
                known.1 = (known.1.0.min(first), known.1.1.max(last));
            }
        }
        let files: BTreeSet<&str> = (methods.values())
            .filter_map(|it| it.0.file.as_deref())
            .collect();
        let found = folders.search(&files)?;
        let (mut sources, mut missing, mut other) = (Sources::new(), Vec::new(), Vec::new());
        for (&name, &(method, span, is_own)) in &methods {
            match self.of_method(&found, name, method, span) {
                Ok(source) => drop(sources.insert(name.to_owned(), source)),
                // Sources of libraries are not expected.
                Err(Without::Missing) if is_own => missing.push(name),
                Err(Without::Missing) => {}
                Err(Without::Other) => other.push(name),
            }
        }
        if sources.is_empty() && missing.is_empty() && other.is_empty() {
            tell!(
                "hprof-rs: the page has no source lines: {} has the source of no method of the profile",
                printable(&folders.places())
            );
        }
        say(&missing, &format!("no such file in {}", folders.places()));
        say(&other, "the source is of another version than the program");
        Ok(sources)
    }

    fn of_method(
        &self,
        found: &BTreeMap<String, Vec<PathBuf>>,
        name: &str,
        method: &MethodLines,
        (first, last): (u32, u32),
    ) -> Result<MethodSource, Without> {
        let file = method.file.as_deref().ok_or(Without::Missing)?;
        let source: Source = source_of(found, &method.class, file).ok_or(Without::Missing)?;
        let text = |line: u32| source.lines.get(line as usize - 1);
        let fits = |line: u32| text(line).is_some_and(|text| has_code(text));
        if !method
            .lines
            .iter()
            .filter(|it| it.line > 0)
            .all(|it| fits(it.line))
            || !fits(last)
        {
            return Err(Without::Other);
        }
        let simple = name.strip_prefix(&*method.class).unwrap_or(name);
        let (start, end) =
            source.method(&method.class, simple.trim_start_matches('.'), first, last);
        let lines = source.lines[start as usize - 1..end as usize].iter();
        let lines = lines.take(MOST_LINES).map(|line| printable(line));
        let path = source.path.strip_prefix(".").unwrap_or(&source.path);
        // The folder that was given may name a user; what lies below it is the program's.
        let below = |folder: &PathBuf| source.path.strip_prefix(folder).ok();
        let path = self.sources.iter().find_map(below).unwrap_or(path);
        Ok(MethodSource {
            path: printable(&path.display().to_string()),
            first: start,
            lines: lines.collect(),
            link: self.editor.and_then(|editor| editor.link(&source.path)),
        })
    }
}

/// Names methods without source, and why.
fn say(methods: &[&str], why: &str) {
    let Some(first) = methods.first() else {
        return;
    };
    let number = methods.len() as u64;
    let more = match number {
        1 => String::new(),
        _ => format!(", {}", methods[1..methods.len().min(NAMED)].join(", ")),
    };
    let rest = if methods.len() > NAMED { ", ..." } else { "" };
    tell!(
        "hprof-rs: no source lines for {} ({}): {}",
        plural(number, "method", "methods"),
        printable(&format!("{first}{more}{rest}")),
        printable(why)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_the_file_whatever_its_name() {
        let path = Path::new("/home/a b/src/Größe#1.java");
        let encoded = "/home/a%20b/src/Gr%C3%B6%C3%9Fe%231.java";
        assert_eq!(
            Editor::Idea.link(path).unwrap(),
            format!("idea://open?file={encoded}&line={{line}}")
        );
        assert_eq!(
            Editor::Vscode.link(path).unwrap(),
            format!("vscode://file{encoded}:{{line}}")
        );
    }
}
