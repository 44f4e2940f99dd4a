//! The one table that declares every option.
//!
//! A new option is one row in `new.rs` and one field in [`Raw`] (and, if it means
//! something to the profilers, one in [`Settings`](super::Settings)). The help text
//! keeps the order of the rows.

mod debug;
mod jdk;
mod new;

use std::fmt::Write as _;

use super::raw::Raw;

/// Where an option is listed, and with it where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// In the help text of the JDK's agent.
    Standard,
    /// In the JDK's help text under its own heading: accepted, without effect.
    Obsolete,
    /// Not in the JDK's agent.
    New,
    /// For debugging the agent: parsed by every build, not listed in `help`.
    Debug,
    /// Taken out of the JDK's agent: always an option error.
    Removed,
}

/// Which agent an option comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The HPROF agent shipped with the JDK up to version 8.
    Jdk,
    /// This agent.
    HprofRs,
}

/// One accepted word of an enumerated option, and its effect.
#[derive(Debug)]
pub struct Choice {
    /// The word, case-sensitive.
    pub word: &'static str,
    /// Records it.
    pub set: fn(&mut Raw),
}

/// How the value of an option is written, and which field takes it.
///
/// Except for [`Kind::Removed`] a value is at most 4096 bytes long (79 for a
/// switch), and ends at the next comma.
#[derive(Debug)]
pub enum Kind {
    /// `y` or `n`.
    Switch(fn(&mut Raw) -> &mut bool),
    /// One of a list of words.
    Choice(&'static [Choice]),
    /// A whole number as `strtol` reads it in base 10, cut to 32 bits.
    Decimal {
        /// The smallest accepted value.
        min: i32,
        /// The rule as an error message states it.
        rule: &'static str,
        /// The field.
        field: fn(&mut Raw) -> &mut i32,
    },
    /// A number of bytes below 2^31, possibly followed by `k` or `m`.
    Bytes(fn(&mut Raw) -> &mut u32),
    /// A floating-point number that is not below zero, as `strtod` reads it.
    Fraction(fn(&mut Raw) -> &mut f64),
    /// A bit mask as `strtol` reads it in base 0, without further checks.
    Mask(fn(&mut Raw) -> &mut i32),
    /// Any text; checked when the options are resolved.
    Text(fn(&mut Raw) -> &mut Option<String>),
    /// The output file; once in total together with [`Kind::Net`].
    File,
    /// `host:port`; once in total together with [`Kind::File`].
    Net,
    /// Always an error.
    Removed {
        /// The replacement.
        instead: &'static str,
    },
}

/// One row: everything there is to know about an option.
#[derive(Debug)]
pub struct OptionSpec {
    /// The name, at most 15 bytes long.
    pub name: &'static str,
    /// The values as shown to the user.
    pub value: &'static str,
    /// The default as shown to the user.
    pub default: &'static str,
    /// The description in the help text: at most 30 columns wide.
    pub summary: &'static str,
    /// The description in docs/options.md, in Markdown.
    pub details: &'static str,
    /// Where it is listed.
    pub section: Section,
    /// Its values.
    pub kind: Kind,
}

impl OptionSpec {
    /// Which agent the option comes from.
    pub fn since(&self) -> Since {
        match self.section {
            Section::New => Since::HprofRs,
            Section::Standard | Section::Obsolete | Section::Debug | Section::Removed => Since::Jdk,
        }
    }

    /// Returns whether `help` shows it.
    pub fn is_listed(&self) -> bool {
        !matches!(self.section, Section::Debug | Section::Removed)
    }

    /// Returns whether it serves only to debug the agent.
    pub fn is_debug(&self) -> bool {
        self.section == Section::Debug
    }
}

/// Looks an option up by its exact name.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    all().find(|spec| spec.name == name)
}

/// The names of all options that can be used, for shell completion.
pub fn names() -> impl Iterator<Item = &'static str> {
    all()
        .filter(|spec| spec.section != Section::Removed)
        .map(|spec| spec.name)
}

/// The table of all options for docs/options.md, in Markdown, with a line end
/// after its last row.
pub fn markdown_table() -> String {
    let mut text = String::from("| Option | Default | Since | Meaning |\n|---|---|---|---|\n");
    for spec in all() {
        let since = match spec.since() {
            Since::Jdk => "JDK",
            Since::HprofRs => "hprof-rs",
        };
        let default = match spec.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let debugging = if spec.is_debug() { "Debugging: " } else { "" };
        // A bar ends a cell even inside a code span.
        let value = spec.value.replace('|', "\\|");
        let details = spec.details.replace('|', "\\|");
        let name = spec.name;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{name}={value}` | {default} | {since} | {debugging}{details} |"
        );
    }
    text
}

/// Every option, in the order of the help text.
pub fn all() -> impl Iterator<Item = &'static OptionSpec> + Clone {
    [jdk::ROWS, new::ROWS, debug::ROWS].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Request, parse};
    use super::super::settings::MAX_DEPTH;
    use super::*;

    #[test]
    fn rows_keep_the_limits_of_the_grammar_and_the_help_layout() {
        for (index, spec) in all().enumerate() {
            assert!(
                !spec.name.is_empty() && spec.name.len() <= 15,
                "{}",
                spec.name
            );
            assert!(
                spec.name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_')
            );
            let width = spec.summary.chars().count();
            assert!(width <= 30, "{}: {width} columns", spec.name);
            assert!(
                !all().take(index).any(|other| other.name == spec.name),
                "{}",
                spec.name
            );
        }
    }

    #[test]
    fn the_shown_default_is_the_one_in_force() {
        for spec in all() {
            let skipped = match spec.kind {
                // Off by default, or not a value.
                Kind::File | Kind::Net | Kind::Text(_) | Kind::Removed { .. } => true,
                _ => matches!(spec.name, "heap" | "cpu"),
            };
            if skipped {
                continue;
            }
            let text = format!("{}={}", spec.name, spec.default);
            let Ok(Request::Options(raw)) = parse(&text, None) else {
                panic!("{text}")
            };
            let (has_format, has_depth) = (spec.name == "format", spec.name == "depth");
            let (has_cutoff, has_force) = (spec.name == "cutoff", spec.name == "force");
            assert_eq!(
                *raw,
                Raw {
                    text,
                    has_format,
                    has_depth,
                    has_cutoff,
                    has_force,
                    ..Raw::default()
                }
            );
        }
    }

    #[test]
    fn the_depth_limit_in_the_details_is_the_one_in_force() {
        let depth = find("depth").map(|spec| spec.details).unwrap_or_default();
        assert!(depth.contains(&format!("0 to {MAX_DEPTH}.")), "{depth}");
    }

    #[test]
    fn names_leave_out_what_was_removed() {
        let names: Vec<_> = names().collect();
        assert!(names.contains(&"cpu") && names.contains(&"engine") && names.contains(&"X"));
        assert!(!names.contains(&"exitpause") && !names.contains(&"precrash"));
    }

    #[test]
    fn markdown_has_one_row_of_four_cells_per_option() {
        let table = markdown_table();
        assert_eq!(table.lines().count(), all().count() + 2);
        for line in table.lines() {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 5, "{line}");
        }
        assert!(table.contains("| `heap=dump\\|sites\\|all` | `all` | JDK | "));
        assert!(
            table.contains("| `engine=auto\\|signal\\|walker\\|safepoint` | `auto` | hprof-rs | ")
        );
    }
}
