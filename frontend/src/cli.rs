//! The command line as a whole.

use clap::Parser;

use crate::commands::Command;

/// What the user typed.
#[derive(Debug, Parser)]
#[command(
    name = "hprof-rs",
    version,
    about = "Profiles Java programs with the HPROF agent, which this command carries inside itself, and \
             shows what heap dumps and profiles hold.",
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub struct Cli {
    /// Print names and texts as they are. Otherwise control characters, marks of direction and
    /// invisible characters in them are shown as `\x1b` or `\u{202e}`, so that no terminal obeys
    /// them.
    #[arg(long, global = true)]
    pub raw: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs run -- java -cp classes App          CPU profile of App in java.hprof.txt
  hprof-rs run --agent cpu=samples,depth=8 -- java -jar app.jar
  hprof-rs options                              what can stand behind --agent
  java -agentpath:$(hprof-rs agent-path)=cpu=samples -jar app.jar

  hprof-rs summary java.hprof.txt               what is in a profile or heap dump
  hprof-rs convert java.hprof.txt -o p.html     a flame graph
  hprof-rs histogram heap.hprof                 the objects of a heap dump by class

More: hprof-rs help COMMAND";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
