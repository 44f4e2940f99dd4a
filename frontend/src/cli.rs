//! The command line as a whole.

use clap::Parser;

use crate::commands::Command;

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

    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs run -- java -cp classes App          CPU profile of App in java.hprof.txt
  hprof-rs run --agent cpu=samples,depth=8 -- java -jar app.jar
  hprof-rs options                              the options of --agent
  java -agentpath:$(hprof-rs agent-path)=cpu=samples -jar app.jar

  hprof-rs summary java.hprof.txt               the contents of a profile or heap dump
  hprof-rs convert java.hprof.txt -o p.html     a flame graph
  hprof-rs leaks heap.hprof                     what keeps an unexpected part of the heap alive

More: hprof-rs help COMMAND";

#[cfg(test)]
mod tests {
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
}
