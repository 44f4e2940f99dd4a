//! `hprof-rs agent-path`: unpacks the library and prints where it is.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::agent_library;
use crate::render::foreign::printable;
use crate::render::out::{Out, print};

/// Unpack the agent library and print its path.
///
/// Without --dir, the library is written to a private folder, which only you can read, and stays
/// there.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AgentPath {
    /// Write the library into this folder instead, readable for everyone.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  java -agentpath:$(hprof-rs agent-path)=cpu=samples -jar app.jar

  In a Dockerfile, for a program that runs as another user:
  RUN hprof-rs agent-path --dir /opt/hprof-rs
  ENV JAVA_TOOL_OPTIONS=-agentpath:/opt/hprof-rs/libhprof_rs.so=cpu=samples,file=/tmp/app-%t.txt";

impl AgentPath {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let path = match self.dir {
            Some(dir) => agent_library::copy_to(&dir)?,
            None => agent_library::unpack()?,
        };
        let shown = printable(&path.display().to_string());
        if path.to_str().is_some() {
            return print(&(shown + "\n"));
        }
        // For a command line: the path as it is.
        let mut line = path.into_os_string().as_bytes().to_vec();
        line.retain(|byte| !byte.is_ascii_control());
        line.push(b'\n');
        let mut out = Out::new();
        out.data().write_all(&line)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
