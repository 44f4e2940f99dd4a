//! The commands under headings, in the help of the command line as a whole.

use std::fmt::Write as _;

use clap::CommandFactory;

use crate::cli::Cli;

/// The widest help in columns, as clap's `max_term_width` has it for all other texts.
const MAX_WIDTH: usize = 100;
/// Columns in front of what a command does.
const INDENT: usize = 16;

/// Each heading with its commands, in the order in which people need them.
const HEADINGS: [(&str, &[&str]); 5] = [
    (
        "Running JVMs",
        &[
            "run", "ps", "record", "live", "stacks", "memory", "dump", "attach", "control",
            "metrics",
        ],
    ),
    (
        "Heap dumps",
        &[
            "report",
            "leaks",
            "histogram",
            "dominators",
            "retained",
            "paths",
            "object",
            "referrers",
            "references",
            "collections",
            "strings",
            "duplicates",
            "top",
            "threads",
            "classloaders",
            "finalizers",
            "growth",
            "android",
            "query",
            "strip",
        ],
    ),
    (
        "Profiles and logs",
        &[
            "summary", "samples", "slow", "events", "sites", "convert", "push", "diff", "gc",
            "export",
        ],
    ),
    ("Servers", &["serve", "capture", "listen", "mcp", "worker"]),
    (
        "Tools",
        &[
            "check",
            "records",
            "options",
            "agent-path",
            "completions",
            "help",
        ],
    ),
];

/// The command line, whose help has the commands under headings.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let width = terminal_size::terminal_size().map_or(MAX_WIDTH, |(width, _)| width.0.into());
    let listed = listed(&command, width.min(MAX_WIDTH));
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}{{after-help}}"
    ))
}

fn listed(command: &clap::Command, width: usize) -> String {
    let mut text = String::new();
    for (heading, names) in HEADINGS {
        let _ = writeln!(text, "{heading}:");
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(found) => about(found),
                None => "Print this, or the help of a command".to_owned(),
            };
            let mut column = INDENT;
            let _ = write!(text, "  {name:<width$}", width = INDENT - 2);
            for word in about.split_whitespace() {
                let needed = word.chars().count() + 1;
                if column + needed > width && column > INDENT {
                    let _ = write!(text, "\n{:INDENT$}", "");
                    column = INDENT;
                }
                let _ = write!(text, "{}{word}", if column > INDENT { " " } else { "" });
                column += needed;
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

fn about(command: &clap::Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    let also: Vec<&str> = command.get_visible_aliases().collect();
    let mut about = about.unwrap_or_default();
    if !also.is_empty() {
        let _ = write!(about, " (also: {})", also.join(", "));
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_under_one_heading() {
        let named: Vec<&str> = HEADINGS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        for found in Cli::command()
            .get_subcommands()
            .filter(|it| !it.is_hide_set())
        {
            let name = found.get_name();
            let times = named.iter().filter(|it| **it == name).count();
            assert_eq!(times, 1, "{name}");
        }
        let unknown = named
            .iter()
            .find(|name| **name != "help" && Cli::command().find_subcommand(name).is_none());
        assert_eq!(unknown, None);
    }

    #[test]
    fn help_fits_narrow_terminals_and_ends_with_what_all_commands_take() {
        for width in [40, 60, 100] {
            let text = listed(&Cli::command(), width);
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
        }
        let help = command().render_help().to_string();
        let place = |words: &str| {
            help.find(words)
                .unwrap_or_else(|| panic!("{words}: {help}"))
        };
        assert!(place("Running JVMs:") < place("Tools:") && place("Tools:") < place("--raw"));
    }
}
