//! The command line as a whole.

use clap::Parser;

use crate::commands::Command;
use crate::render::steps::ProgressForm;

/// The arguments of the command line.
#[derive(Debug, Parser)]
#[command(
    name = "hprof-rs",
    version,
    about = "Finds out where a Java program spends its CPU time, what fills its heap, and which locks its \
             threads wait for; reads heap dumps and profiles.",
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub struct Cli {
    /// Print names and texts unchanged. By default, control characters, direction marks and
    /// invisible characters are printed as `\x1b` or `\u{202e}`, so that no terminal obeys them.
    #[arg(long, global = true)]
    pub raw: bool,

    /// How commands that read files tell how far they are: bars on a terminal, or lines of JSON on
    /// standard error.
    #[arg(long, global = true, value_name = "FORM", value_enum)]
    pub progress: Option<ProgressForm>,

    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs record 4242 -d 30 -o cpu.html        a flame graph of half a minute of a running JVM
  hprof-rs live 4242                            its methods on the screen
  hprof-rs stacks 4242                          its threads, locks and deadlocks
  hprof-rs run -- java -cp classes App          CPU profile of App in java.hprof.txt
  hprof-rs run --agent cpu=samples,depth=8 -- java -jar app.jar
  hprof-rs options                              the options of --agent
  java -agentpath:$(hprof-rs agent-path)=cpu=samples -jar app.jar

  hprof-rs summary java.hprof.txt               the contents of a profile or heap dump
  hprof-rs convert java.hprof.txt -o p.html     a flame graph
  hprof-rs leaks heap.hprof                     what keeps an unexpected part of the heap alive
  hprof-rs gc gc.log                            pauses, heap and findings of a log

More: hprof-rs help COMMAND";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_of_every_subcommand_has_an_example() {
        for command in Cli::command().get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example"), "{}: {help}", command.get_name());
        }
    }

    /// README.md and the pages of docs/.
    fn documents() -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = ["docs", "docs/questions", "docs/fleet"]
            .into_iter()
            .flat_map(|folder| {
                let pages = fs::read_dir(root.join(folder)).unwrap();
                pages.map(|entry| entry.unwrap().path())
            });
        pages
            .filter(|path| path.extension().is_some_and(|it| it == "md"))
            .chain([root.join("README.md")])
            .collect()
    }

    #[test]
    fn documents_show_only_commands_and_flags_that_exist() {
        let cli = Cli::command();
        let mut checked = 0;
        for document in documents() {
            let text = fs::read_to_string(&document).unwrap();
            let blocks = text.split("```").skip(1).step_by(2);
            for line in blocks.flat_map(str::lines) {
                let Some((_, call)) = line.split_once("hprof-rs ") else {
                    continue;
                };
                let is_command = line.starts_with(['$', 'h', 's']) || line.starts_with("docker");
                let mut words = call
                    .split([';', '|', '&', '>', '#', ')'])
                    .next()
                    .unwrap_or_default()
                    .split_whitespace();
                let name = words.next().unwrap_or_default();
                if !is_command || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
                    continue;
                }
                let command = cli.find_subcommand(name);
                let command = command.unwrap_or_else(|| panic!("{}: {line}", document.display()));
                let flags = words
                    .take_while(|word| *word != "--")
                    .filter_map(|word| word.strip_prefix("--"));
                for flag in flags {
                    let flag = flag.split('=').next().unwrap_or_default();
                    let mut known = command.get_arguments().chain(cli.get_arguments());
                    assert!(
                        known.any(|argument| {
                            let names = argument.get_long_and_visible_aliases();
                            names.is_some_and(|names| names.contains(&flag))
                        }),
                        "{}: {line}",
                        document.display()
                    );
                }
                checked += 1;
            }
        }
        assert!(checked > 40, "{checked} commands");
    }
}
