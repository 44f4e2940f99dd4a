//! The help text, generated from the option table.
//!
//! Its layout - head, three columns, sections, their order - is that of the
//! JDK's agent, for the sake of those who know it by heart.

use std::fmt::Write as _;

use super::table::{self, Section};

/// Width of the column that holds `name=value`.
const NAME_WIDTH: usize = 22;
/// Width of the column that holds the description.
const SUMMARY_WIDTH: usize = 30;

/// The text that the option string `help` prints on standard output.
#[must_use]
pub fn help_text() -> String {
    let mut text = format!(
        "\n     hprof-rs {}: HPROF heap, CPU and monitor profiler (JVMTI agent)\n\n\
         hprof usage: java -agentlib:hprof=[help]|[<option>=<value>, ...]\n\n",
        env!("CARGO_PKG_VERSION")
    );
    row(&mut text, "Option Name and Value", "Description", "Default");
    row(&mut text, "---------------------", "-----------", "-------");
    rows(&mut text, Section::Standard);
    heading(&mut text, "Obsolete Options");
    rows(&mut text, Section::Obsolete);
    heading(&mut text, "New in hprof-rs");
    rows(&mut text, Section::New);
    heading(&mut text, "Examples");
    examples(&mut text);
    heading(&mut text, "Notes");
    bullets(&mut text, NOTES);
    heading(&mut text, "Warnings");
    bullets(&mut text, WARNINGS);
    text
}

/// Writing to a string cannot fail, so the results of `writeln!` are dropped
/// throughout.
fn row(text: &mut String, name: &str, summary: &str, default: &str) {
    let mut name = name;
    if name.chars().count() > NAME_WIDTH {
        // Keep the columns: the rest goes to the next line.
        let _ = writeln!(text, "{name}");
        name = "";
    }
    let _ = writeln!(
        text,
        "{name:NAME_WIDTH$} {summary:SUMMARY_WIDTH$} {default}"
    );
}

fn rows(text: &mut String, section: Section) {
    for spec in table::all().filter(|spec| spec.section == section) {
        let name = format!("{}={}", spec.name, spec.value);
        row(text, &name, spec.summary, spec.default);
    }
}

fn heading(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{title}\n{}", "-".repeat(title.len()));
}

fn examples(text: &mut String) {
    text.push_str(
        "  - Sample CPU use every 20 milliseconds, with 3 frames per stack trace:\n\
         \x20     java -agentlib:hprof=cpu=samples,interval=20,depth=3 classname\n\
         \x20 - Show which places allocate what:\n\
         \x20     java -agentlib:hprof=heap=sites classname\n",
    );
}

/// Each line break continues a bullet.
fn bullets(text: &mut String, bullets: &[&str]) {
    for bullet in bullets {
        let _ = writeln!(text, "  - {}", bullet.replace('\n', "\n    "));
    }
}

static NOTES: &[&str] = &[
    "format=b cannot be used with monitor=y.",
    "format=b cannot be used with cpu=old|times.",
    "cpu=samples cannot be used with cpu=old|times: run the program once\nwith each.",
    "-Xrunhprof:[help]|[<option>=<value>, ...] does the same as\n\
     -agentlib:hprof=[help]|[<option>=<value>, ...], on JVMs that still have it.",
    "Where the library is not installed under the name hprof, use\n\
     -agentlib:hprof_rs=... or -agentpath:<path of libhprof_rs.so>=...",
    "In file=, %p is replaced by the process id, %t by the start time and\n%% by %.",
    "The options in the environment variable _JAVA_HPROF_OPTIONS come after\n\
     those of the command line.",
];

static WARNINGS: &[&str] = &[
    "-Xrunhprof is deprecated, and a later JDK may drop it: prefer -agentlib.",
    "format=b writes ids of 8 bytes, where the JDK's agent wrote 4: readers\n\
     have to go by the size in the file's header.",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<String> {
        help_text().lines().map(str::to_owned).collect()
    }

    fn position(lines: &[String], line: &str) -> usize {
        lines
            .iter()
            .position(|l| l == line)
            .unwrap_or_else(|| panic!("no line {line:?}"))
    }

    #[test]
    fn the_head_stands_where_it_always_stood() {
        let lines = lines();
        assert_eq!(lines[0], "");
        let title = format!("     hprof-rs {}: ", env!("CARGO_PKG_VERSION"));
        assert!(lines[1].starts_with(&title), "{}", lines[1]);
        assert_eq!(lines[2], "");
        assert_eq!(
            lines[3],
            "hprof usage: java -agentlib:hprof=[help]|[<option>=<value>, ...]"
        );
        assert_eq!(lines[4], "");
        assert_eq!(
            lines[5],
            "Option Name and Value  Description                    Default"
        );
        assert_eq!(
            lines[6],
            "---------------------  -----------                    -------"
        );
    }

    #[test]
    fn options_keep_their_order_columns_and_defaults() {
        let expected = [
            ("heap=dump|sites|all", "all"),
            ("cpu=samples|times|old", "off"),
            ("monitor=y|n", "n"),
            ("format=a|b", "a"),
            ("file=<file>", "java.hprof[{.txt}]"),
            ("net=<host>:<port>", "off"),
            ("depth=<size>", "4"),
            ("interval=<ms>", "10"),
            ("cutoff=<value>", "0.0001"),
            ("lineno=y|n", "y"),
            ("thread=y|n", "n"),
            ("doe=y|n", "y"),
            ("msa=y|n", "n"),
            ("force=y|n", "y"),
            ("verbose=y|n", "y"),
        ];
        let lines = lines();
        for (line, (name, default)) in lines[7..22].iter().zip(expected) {
            assert_eq!(line[..23].trim_end(), name);
            assert_ne!(line.as_bytes()[23], b' ', "{line}");
            assert_eq!(line.as_bytes()[53], b' ', "{line}");
            assert_eq!(&line[54..], default);
        }
        assert_eq!(lines[22..25], ["", "Obsolete Options", "----------------"]);
        assert!(
            lines[25].starts_with("gc_okay=y|n            "),
            "{}",
            lines[25]
        );
        assert_eq!(lines[26..29], ["", "New in hprof-rs", "---------------"]);
    }

    #[test]
    fn sections_follow_in_order_each_underlined() {
        let lines = lines();
        let titles = [
            "Obsolete Options",
            "New in hprof-rs",
            "Examples",
            "Notes",
            "Warnings",
        ];
        let mut last = 0;
        for title in titles {
            let at = position(&lines, title);
            assert!(at > last);
            assert_eq!(lines[at - 1], "");
            assert_eq!(lines[at + 1], "-".repeat(title.len()));
            last = at;
        }
        let examples = position(&lines, "Examples");
        assert!(lines[examples + 2].starts_with("  - ") && lines[examples + 2].ends_with(':'));
        assert_eq!(
            lines[examples + 3],
            "      java -agentlib:hprof=cpu=samples,interval=20,depth=3 classname"
        );
        assert!(lines[examples + 4].starts_with("  - ") && lines[examples + 4].ends_with(':'));
        assert_eq!(
            lines[examples + 5],
            "      java -agentlib:hprof=heap=sites classname"
        );
        assert_eq!(lines[examples + 6], "");
    }

    #[test]
    fn a_name_too_wide_for_its_column_has_a_line_of_its_own() {
        let lines = lines();
        let at = position(&lines, "engine=auto|signal|walker|safepoint");
        assert!(
            lines[at + 1].starts_with(&" ".repeat(23)),
            "{}",
            lines[at + 1]
        );
        assert_eq!(&lines[at + 1][54..], "auto");
    }

    #[test]
    fn listed_options_appear_and_others_do_not() {
        let text = help_text();
        for spec in table::all() {
            let shown = text.contains(&format!("\n{}={}", spec.name, spec.value));
            assert_eq!(shown, spec.is_listed(), "{}", spec.name);
        }
        assert!(
            lines()
                .iter()
                .all(|line| line.len() <= 79 && line == line.trim_end())
        );
    }
}
