//! `hprof-rs run`: starts a Java program under the agent.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use std::{env, io};

use anyhow::bail;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory};
use hprof_server::{TemporaryFolder, temporary_folder};

use super::record::{PushOptions, of_run};
use crate::agent_library;
use crate::agent_options::{self, Checked, RUN_BEGAN, RUN_FROM};
use crate::cli::Cli;
use crate::launch::{Launch, Method, TOOL_OPTIONS};
use crate::listen::{self, Address, Limits, Settings};
use crate::render::out::tell;

/// Start a Java program under the agent.
///
/// The program replaces this command, so input, output, signals and exit status are its own. With
/// --listen this command stays, receives the profile, and shows it at the end; with --push it stays, and sends a
/// profile every 10 seconds.
#[derive(Debug, Args)]
#[command(
    after_long_help = LONG_HELP,
    override_usage = "hprof-rs run [--agent <OPTIONS>] [--listen | --push [<URL>]] -- <COMMAND>..."
)]
pub struct Run {
    /// The options of the agent; `--agent help` explains them.
    #[arg(short, long, value_name = "OPTIONS", default_value = "cpu=samples")]
    agent: String,

    /// Receive the profile, as `hprof-rs listen` does, and print its first rows on standard error
    /// after the program has ended.
    #[arg(long)]
    listen: bool,

    /// The folder for received profiles.
    #[arg(long, value_name = "DIR", default_value = ".", requires = "listen")]
    save: PathBuf,

    #[command(flatten)]
    pushing: PushOptions,

    /// The command to run, usually `java` and its arguments.
    // Not required by the parser: `--agent help` does without.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const LONG_HELP: &str = "\
Examples:
  hprof-rs run -- java -cp classes App one two
      samples the CPU time of App and writes java.hprof.txt when it ends

  hprof-rs run --agent cpu=samples,depth=200,file=app-%p.txt -- java -jar app.jar
      keeps 200 frames per stack trace, and names the file after the process id

  hprof-rs run --agent cpu=samples,file=/tmp/build-%p.txt -- mvn package
      profiles every JVM that the build starts

  hprof-rs run --listen --agent cpu=samples -- java App
      prints the methods that took most CPU time; saves App-PID.hprof.txt

  hprof-rs run --push http://localhost:4318 --agent cpu=samples,heap=sites -- java -jar app.jar
      sends profiles of CPU time and allocations every 10 seconds, and writes no file

  kill -QUIT PID
      writes the profile of the time since the last one; the program continues

Depth of stacks:
  The default is depth=64, with heap=sites or cpu=times depth=8. The agent alone
  keeps four frames, as the JDK's agent did.

How the agent is loaded:
  If COMMAND is java, -agentpath:LIBRARY=OPTIONS becomes its first argument. Any
  other command (a script, mvn, javac) gets it in JAVA_TOOL_OPTIONS, which every JVM
  below it reads; each of them then prints \"Picked up
  JAVA_TOOL_OPTIONS: ...\" on standard error.

  Each says at its end which file it has written. The first that ends has the
  file's name; the others add their process id, so none replaces the profile of
  another. A JVM without a program (java -version), or without a single sample,
  leaves no file.

  The library is unpacked into a private folder below the first safe one of
  $XDG_CACHE_HOME (or ~/.cache), $XDG_RUNTIME_DIR, $TMPDIR (or /tmp).

Exit status:
  that of the program; 1 for bad agent options, 2 for a bad command line,
  126 if the program cannot be run, 127 if it is not found.";

impl Run {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let mut this = self;
        if this.pushing.is_wanted() && this.agent != "help" {
            if this.listen {
                bail!("--listen writes files, and --push sends profiles: one of the two");
            }
            if this.command.is_empty() {
                no_command();
            }
            return of_run(&this.agent, this.pushing, this.command);
        }
        let mut socket = None;
        if this.listen && this.agent != "help" {
            let folder = temporary_folder("")?;
            let path = folder.path().join("net");
            let separator = if this.agent.is_empty() { "" } else { "," };
            this.agent = format!("{}{separator}net=unix:{}", this.agent, path.display());
            socket = Some((folder, path));
        }
        this.start(socket)
    }

    fn start(self, socket: Option<(TemporaryFolder, PathBuf)>) -> anyhow::Result<ExitCode> {
        let environment = env::var_os(agent_options::ENVIRONMENT_VARIABLE);
        let environment = environment.as_ref().map(|value| value.to_string_lossy());
        let keeps_processes_apart = match agent_options::check(&self.agent, environment.as_deref())
        {
            Checked::Good {
                names_by_process, ..
            } => names_by_process,
            Checked::Finished(finish) => return finish(),
        };
        let Some((program, arguments)) = self.command.split_first() else {
            no_command()
        };
        let library = agent_library::unpack()?;
        let options = agent_options::with_depth(&self.agent, environment.as_deref());
        let launch = Launch::new(
            program,
            arguments,
            &library,
            &options,
            env::var_os(TOOL_OPTIONS).as_deref(),
        );
        if launch.method == Method::ToolOptions {
            let program = program.to_string_lossy();
            tell!(
                "hprof-rs: {program} is not java, so the agent is passed in {TOOL_OPTIONS}: \
                 every JVM it starts is profiled and says \"Picked up {TOOL_OPTIONS}\""
            );
            if !keeps_processes_apart && !self.listen {
                tell!(
                    "hprof-rs: if it starts several, the first that ends has the file's name, and the \
                     others add their process id; file=java.hprof.%p.txt names all of them so"
                );
            }
        }
        let mut command = launch.command();
        if launch.method == Method::ToolOptions {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            command.env(RUN_BEGAN, now.unwrap_or_default().as_nanos().to_string());
        } else {
            // An outer `run` may have started this one.
            command.env_remove(RUN_BEGAN);
        }
        let error = match socket {
            // The agent tells in the end what this command no longer can.
            None => {
                if let Ok(folder) = env::current_dir() {
                    command.env(RUN_FROM, folder);
                }
                command.exec()
            }
            Some((_folder, path)) => {
                let settings = Settings {
                    address: Address::Unix(path),
                    folder: self.save,
                    script: None,
                    json: false,
                    // A private socket, and a debugger may hold the JVM before it says anything.
                    limits: Limits {
                        silence: Duration::MAX,
                        ..Limits::default()
                    },
                };
                match listen::run_program(&settings, &mut command) {
                    Ok(status) => return Ok(status),
                    Err(error) => error.downcast::<io::Error>()?,
                }
            }
        };
        let shown = program.to_string_lossy();
        if error.kind() == io::ErrorKind::NotFound {
            let advice = if env::var_os("JAVA_HOME").is_some() && shown == "java" {
                "it is not on PATH; write $JAVA_HOME/bin/java"
            } else {
                "give its full path, or add its folder to PATH"
            };
            tell!("hprof-rs: there is no program {shown}: {advice}");
            return Ok(ExitCode::from(127));
        }
        tell!("hprof-rs: cannot run {shown}: {error}");
        Ok(ExitCode::from(126))
    }
}

/// Exits like any error on the command line.
fn no_command() -> ! {
    let text = "there is no command to run; write for instance:\n  \
                hprof-rs run -- java -cp classes App";
    let mut cli = Cli::command();
    cli.build();
    let run = cli.find_subcommand_mut("run");
    run.unwrap_or(&mut Cli::command())
        .error(ErrorKind::MissingRequiredArgument, text)
        .exit()
}
