//! `hprof-rs mcp`: answers the questions of an assistant.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use hprof_analysis::snapshot::index_cache;
use hprof_mcp::{Config, Roots, serve};

use crate::memory::{MemoryArgument, free_bytes};
use crate::render::foreign;

/// Answer an assistant's questions about dumps, profiles and logs: a Model Context Protocol server.
///
/// The assistant starts this command and speaks to it over standard input and output. It can list and read
/// files below the folders given here, and nothing else; nothing is written beside them. What was read of
/// a heap dump is kept in the user's cache folder, so that the next question is quick.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Mcp {
    /// Folders whose files may be read, with all below; or single files.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    from: Vec<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgument,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs mcp                               files below the current folder
  hprof-rs mcp /var/dumps ~/logs/gc.log      those of a folder, and one more
  claude mcp add dumps -- hprof-rs mcp /var/dumps
In the configuration of an assistant:
  {\"mcpServers\": {\"dumps\": {\"command\": \"hprof-rs\", \"args\": [\"mcp\", \"/var/dumps\"]}}}
docs/assistants.md shows the configuration of others, and a conversation.";

impl Mcp {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let half = || free_bytes().map(|free| free / 2);
        let memory = self.memory.memory.or_else(half);
        serve(Config {
            roots: Roots::new(&self.from).context("name folders or files that can be read")?,
            executable: std::env::current_exe()?,
            cache: index_cache().map(|index| index.with_file_name("assistants")),
            memory: memory.context("the free memory is not known; give --memory")?,
            clean: foreign::json,
            version: env!("CARGO_PKG_VERSION"),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
