//! Source files by what a stack frame tells: the package of its class, and the file's name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

mod page;

pub use page::PageSourcesArgument;

/// Folders with what build tools make, which may hold copies of sources.
const SKIPPED: [&str; 4] = ["target", "build", "out", "node_modules"];
/// Entries of folders that a search looks at.
const MOST_ENTRIES: usize = 200_000;
/// Folders inside each other that a search enters.
const MOST_DEPTH: usize = 40;
/// A larger file is no source that a person wrote.
const MOST_BYTES: u64 = 8 << 20;

/// The option that names folders with sources.
#[derive(Debug, Args)]
pub struct SourcesArgument {
    /// A folder that has the program's sources at any depth; may be repeated [default: src/main/java and the like, at any depth
    /// below the working folder].
    #[arg(long, value_name = "DIR", requires = "annotate")]
    pub sources: Vec<PathBuf>,
}

/// A source file.
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its lines.
    pub lines: Vec<String>,
}

impl SourcesArgument {
    /// The file of this name that holds this class, with its package; none if it is not there.
    ///
    /// # Errors
    /// If there is no such folder as an option names.
    pub fn find(&self, class: &str, file: &str) -> anyhow::Result<Option<Source>> {
        Ok(source_of(&self.search(&[file].into())?, class, file))
    }

    /// The places of files of these names.
    ///
    /// # Errors
    /// If there is no such folder as an option names.
    fn search(&self, names: &BTreeSet<&str>) -> anyhow::Result<BTreeMap<String, Vec<PathBuf>>> {
        for folder in &self.sources {
            if !folder.is_dir() {
                bail!("--sources: there is no folder {}", folder.display());
            }
        }
        let here = [PathBuf::from(".")];
        let is_given = !self.sources.is_empty();
        let folders = match is_given {
            true => &self.sources[..],
            false => &here,
        };
        let mut search = Search {
            names,
            found: BTreeMap::new(),
            left: MOST_ENTRIES,
        };
        for folder in folders {
            search.folder(folder, 0);
        }
        let mut found = search.found;
        for paths in found.values_mut() {
            paths.retain(|path| is_given || is_in_layout(path));
            paths.sort();
        }
        Ok(found)
    }

    /// Where [`find`](Self::find) looks.
    pub fn places(&self) -> String {
        match self.sources.is_empty() {
            true => "src/main/java and the like below this folder".to_owned(),
            false => {
                let names = self.sources.iter().map(|it| it.display().to_string());
                names.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// The file among those that were found that holds a class, with its package.
fn source_of(found: &BTreeMap<String, Vec<PathBuf>>, class: &str, file: &str) -> Option<Source> {
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    // The folder tells the package; Kotlin's files may be elsewhere.
    let folder: PathBuf = package.split('.').collect();
    let (near, far): (Vec<&PathBuf>, Vec<&PathBuf>) = (found.get(file)?.iter())
        .partition(|path| path.parent().is_some_and(|it| it.ends_with(&folder)));
    let mut read = near.into_iter().chain(far).cloned().filter_map(source);
    read.find(|source| package_of(source) == package)
}

/// A search for files of some names.
struct Search<'a> {
    names: &'a BTreeSet<&'a str>,
    found: BTreeMap<String, Vec<PathBuf>>,
    left: usize,
}

impl Search<'_> {
    /// Links are not followed, so it ends.
    fn folder(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else {
                continue;
            };
            let Some(name) = name.to_str() else {
                continue;
            };
            if kind.is_file() && self.names.contains(name) {
                let found = self.found.entry(name.to_owned()).or_default();
                found.push(entry.path());
            } else if kind.is_dir()
                && depth < MOST_DEPTH
                && !name.starts_with('.')
                && !SKIPPED.contains(&name)
            {
                self.folder(&entry.path(), depth + 1);
            }
        }
    }
}

/// Returns true of a path in Maven's and Gradle's layout, `src/SET/LANGUAGE`.
fn is_in_layout(path: &Path) -> bool {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let languages = ["java", "kotlin", "scala", "groovy"];
    parts
        .windows(3)
        .any(|three| three[0] == "src" && languages.contains(&three[2]))
}

fn source(path: PathBuf) -> Option<Source> {
    if path.metadata().ok()?.len() > MOST_BYTES {
        return None;
    }
    let bytes = fs::read(&path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.replace('\t', "    "));
    Some(Source {
        lines: lines.collect(),
        path,
    })
}

/// The package that a file says it belongs to.
fn package_of(source: &Source) -> &str {
    let mut lines = source.lines.iter();
    let package = lines.find_map(|line| line.trim_start().strip_prefix("package "));
    let name = package.unwrap_or_default().trim_start();
    let end = name.find(|c: char| c == ';' || c == '/' || c.is_whitespace());
    &name[..end.unwrap_or(name.len())]
}

impl Source {
    /// The lines of a method, counted from 1, of which `first` to `last` are known: from its head to its last brace.
    pub fn method(&self, class: &str, method: &str, first: u32, last: u32) -> (u32, u32) {
        /// Lines around those that are known, where the head is not found.
        const AROUND: u32 = 3;
        /// Lines above those that are known that may have the head.
        const MOST_ABOVE: usize = 300;
        let simple = class.rsplit(['.', '$']).next().unwrap_or(class);
        // A lambda is `lambda$NAME$0`.
        let outer = method.strip_prefix("lambda$").unwrap_or(method);
        let outer = outer.split('$').next().unwrap_or(outer);
        let head = match outer {
            "<clinit>" => "static {".to_owned(),
            "<init>" | "new" => format!("{simple}("),
            name => format!("{name}("),
        };
        let end = (self.lines.len()).min(first as usize);
        let above = self.lines[..end].iter().enumerate().rev().take(MOST_ABOVE);
        let mut heads = above.filter(|(_, line)| is_head(line, &head));
        let Some((start, _)) = heads.next() else {
            let last = last.saturating_add(AROUND).min(self.lines.len() as u32);
            return (first.saturating_sub(AROUND).max(1), last);
        };
        let mut depth = 0_i64;
        let mut stop = last as usize;
        for (place, line) in self.lines.iter().enumerate().skip(start) {
            let opened = line.matches('{').count() as i64;
            let closed = line.matches('}').count() as i64;
            depth += opened - closed;
            if depth <= 0 && opened + closed > 0 {
                stop = stop.max(place + 1);
                break;
            }
            // Braces in texts are counted as well, so it may never end.
            if place > last as usize + MOST_ABOVE {
                break;
            }
        }
        (start as u32 + 1, stop.min(self.lines.len()) as u32)
    }
}

/// Returns true of a line that is neither empty nor a comment.
pub fn has_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !["//", "/*", "*"].iter().any(|it| line.starts_with(it))
}

/// Returns true if a line declares what `head` says, and is no call of it.
fn is_head(line: &str, head: &str) -> bool {
    let Some(at) = line.find(head).filter(|_| has_code(line)) else {
        return false;
    };
    let before = line[..at].trim_start();
    let is_word = |text: &str| text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let is_call = is_word(&line[..at])
        || before.ends_with([
            '.', '(', '=', ',', '!', '+', '-', '*', '/', '&', '|', '?', ':',
        ])
        || ["return", "new", "throw", "else"]
            .iter()
            .any(|word| before.trim_end().ends_with(word))
        || before
            .trim_end()
            .ends_with(['=', '(', ',', '+', '&', '|', '?', ':'])
        || line.trim_end().ends_with(';');
    !is_call
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(folders: &[&Path]) -> SourcesArgument {
        let sources = folders.iter().map(|it| it.to_path_buf()).collect();
        SourcesArgument { sources }
    }

    #[test]
    fn a_file_is_that_of_the_package() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/src/main/java/acme/A.java", "package acme;\n");
        write("b/src/main/java/other/A.java", "package other;\n");
        write("b/src/main/kotlin/M.kt", "package acme.deep // here\n");
        write("target/acme/B.java", "package acme;\n");
        write("C.java", "class C {}\n");
        let all = sources(&[folder.path()]);
        let find = |class: &str, file: &str| {
            let found = all.find(class, file).unwrap();
            found.map(|it| it.path.strip_prefix(folder.path()).unwrap().to_path_buf())
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(
            find("acme.A", "A.java"),
            path("a/src/main/java/acme/A.java")
        );
        assert_eq!(
            find("other.A$B", "A.java"),
            path("b/src/main/java/other/A.java")
        );
        assert_eq!(
            find("acme.deep.MKt", "M.kt"),
            path("b/src/main/kotlin/M.kt")
        );
        assert_eq!(find("C", "C.java"), path("C.java"));
        assert_eq!(find("acme.B", "B.java"), None);
        assert_eq!(find("acme.A", "../A.java"), None);
        assert_eq!(find("third.A", "A.java"), None);
        assert!(is_in_layout(Path::new("./x/src/main/java/acme/A.java")));
        assert!(!is_in_layout(Path::new("./x/java/acme/A.java")));
        let missing = sources(&[&folder.path().join("none")]);
        assert!(missing.find("C", "C.java").is_err());
    }

    #[test]
    fn a_method_reaches_from_its_head_to_its_last_brace() {
        let text = "\
class A {
    static {
        f(1);
    }

    A(int i) {
        if (f(i) > 0) {
            g();
        }
    }

    static int f(
        int i) {
        return i;
    }
}";
        let source = Source {
            path: PathBuf::new(),
            lines: text.lines().map(str::to_owned).collect(),
        };
        assert_eq!(source.method("p.A", "<clinit>", 3, 3), (2, 4));
        assert_eq!(source.method("p.A", "<init>", 8, 8), (6, 10));
        assert_eq!(source.method("p.A", "f", 14, 14), (12, 15));
        assert_eq!(source.method("p.A", "lambda$f$0", 14, 14), (12, 15));
        assert_eq!(source.method("p.A", "access", 7, 8), (4, 11));
        assert!(!is_head("     * in hot(), most of it", "hot("));
        // A line that is not in the file.
        assert_eq!(source.method("p.A", "access", 99, 99), (96, 16));
    }
}
