//! `hprof-rs attach`: loads the agent into a running JVM.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use hprof_wire::control::Request;

use crate::agent_options::{self, Checked};
use crate::attach::{self, Limits, MAX_ARGUMENT, Refusal, Target};
use crate::jvm::Jvm;
use crate::jvm::process::Pid;
use crate::render::out::tell;
use crate::render::screen::{print, printable};

/// Load the agent into a running JVM.
///
/// The options choose the output, as with `run`. A relative `file` is relative to the program's
/// current folder.
#[derive(Debug, Args)]
#[command(after_long_help = LONG_HELP)]
pub struct Attach {
    /// The JVM's process id, or a part of its program's name, as `hprof-rs ps` shows them.
    #[arg(value_name = "PID", value_parser = crate::jvm::pick::pid)]
    pid: u32,

    /// Options of the agent; `hprof-rs options` lists them.
    #[arg(value_name = "OPTIONS", default_value = "cpu=samples")]
    options: String,

    /// The time limits for the JVM to listen and for its answer, in seconds [default: 10 for the
    /// first, 600 for the second].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: Option<u64>,

    /// Load nothing; run a diagnostic command of the VM, as the JDK's jcmd does. Quote commands
    /// with arguments.
    #[arg(long, value_name = "COMMAND", conflicts_with = "options")]
    jcmd: Option<String>,
}

const LONG_HELP: &str = "\
Examples:
  hprof-rs ps
      lists the JVMs of this machine

  hprof-rs attach 4242 cpu=samples,depth=16,file=/tmp/app.txt
      samples the CPU time of process 4242 from now on

  hprof-rs attach 4242 heap=dump,format=b,file=/tmp/heap.hprof
      writes a heap dump at once, and takes the agent out again

  hprof-rs attach 4242 cpu=times,include=com.example,file=/tmp/calls.txt
      counts every call of these classes from now on; 'control 4242 detach' ends
      it and restores the code of all classes

  hprof-rs attach 4242 --jcmd help
  hprof-rs attach 4242 --jcmd 'GC.heap_dump /tmp/heap.hprof'
      the JDK's jcmd, where no JDK is installed

Who may:
  The JVM's user and root. For a JVM in a container, PID is the process id on the
  host; its files are below /proc/PID/root. The library goes into its /tmp.

JEP 451:
  JDK 21 and later print a warning on the standard error of the JVM. The JVM flag
  -XX:+EnableDynamicAgentLoading suppresses it; -XX:-EnableDynamicAgentLoading
  refuses the agent.

Exit status:
  0 if the agent has started, 1 if not.";

impl Attach {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let seconds = |default| Duration::from_secs(self.timeout.unwrap_or(default));
        let limits = Limits {
            connect: seconds(10),
            answer: seconds(600),
        };
        if let Some(command) = &self.jcmd {
            let target = Target::find(Pid(self.pid))?;
            return diagnose(&target, command, limits);
        }
        let only_dumps = match agent_options::check(&self.options, None) {
            Checked::Good { only_dumps, .. } => only_dumps,
            Checked::Finished(finish) => return finish(),
        };
        if self.options.len() > MAX_ARGUMENT {
            bail!("a running JVM takes at most {MAX_ARGUMENT} bytes of options");
        }
        attach::sweep();
        let target = Target::find(Pid(self.pid))?;
        let loaded = match attach::load_agent(&target, &self.options, limits) {
            Err(refusal @ Refusal::AgentRefused { .. }) => {
                tell!("hprof-rs: {refusal}");
                self.tell_what_helps(&target, limits.answer, only_dumps);
                return Ok(ExitCode::FAILURE);
            }
            loaded => loaded?,
        };
        let jvm = &target.jvm;
        let name = printable(jvm.short_name());
        let done = match loaded.was_there {
            true => "has new options",
            false => "is running",
        };
        tell!(
            "hprof-rs: the agent {done} in process {} ({name})",
            self.pid
        );
        let ends = only_dumps && !loaded.was_there;
        self.tell_what_is_next(&target, limits.answer, ends);
        if !loaded.was_there && warns(jvm) {
            tell!(
                "hprof-rs: its JVM has warned of that on its standard error (JEP 451); programs \
                 started with -XX:+EnableDynamicAgentLoading are spared it"
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Attach {
    /// The run that is in the way of these options, and the commands that make room or do without.
    fn tell_what_helps(&self, target: &Target, limit: Duration, only_dumps: bool) {
        let pid = self.pid;
        let status = attach::control_as_it_is(target, &Request::Status, limit);
        let run = status.ok().and_then(|reply| {
            let text = |name| reply.get(name).map(printable);
            Some((text("modes")?, text("output")?))
        });
        if let Some((modes, place)) = &run {
            tell!("  a run with {modes} is under way there; its profile goes to {place}");
        }
        if only_dumps {
            tell!("  hprof-rs dump {pid}             writes a heap dump to the current folder");
        }
        if run.is_some() {
            tell!("  hprof-rs control {pid} detach   writes its profile and ends the run");
        }
    }

    /// Where the profile is, and the commands to use next. An agent without a control socket has
    /// said why, on the program's standard error. A run that `ends` with its dump is ended, since it would only be in the
    /// way of the next one; one that was there before is its owner's.
    fn tell_what_is_next(&self, target: &Target, limit: Duration, ends: bool) {
        let Ok(status) = attach::control(target, &Request::Status, limit) else {
            return;
        };
        let pid = self.pid;
        let Some(place) = status.get("output").map(printable) else {
            tell!("  next: hprof-rs control {pid} start cpu=samples");
            return;
        };
        let number = |name| status.get(name).and_then(|text| text.parse::<u64>().ok());
        let is_written = number("dumps").is_some_and(|dumps| dumps > 0);
        let is_file = place.starts_with('/');
        let what = match (is_file, is_written) {
            (false, _) => "goes to",
            (true, true) => "is in",
            (true, false) => "will be in",
        };
        tell!("  the profile {what} {place}");
        if is_file && target.jvm.in_container == Some(true) {
            tell!("    from outside of the container: /proc/{pid}/root{place}");
        }
        if is_file && is_written {
            tell!("  hprof-rs summary {place}");
        }
        // A run that was there before has other modes too.
        let is_all = status.get("modes") == Some("heap=dump");
        if ends && is_all && is_written && attach::control(target, &Request::Detach, limit).is_ok()
        {
            tell!("  the agent has left the JVM again");
            return;
        }
        tell!("  hprof-rs control {pid} dump     writes what was counted so far");
        tell!("  hprof-rs control {pid} detach   writes the profile and ends the run");
    }
}

fn warns(jvm: &Jvm) -> bool {
    jvm.feature().is_some_and(|feature| feature >= 21)
        && jvm.flag("EnableDynamicAgentLoading") != Some(true)
}

fn diagnose(target: &Target, command: &str, limits: Limits) -> anyhow::Result<ExitCode> {
    let answer = attach::ask(target, &attach::Request::Diagnostic(command), limits)?;
    if answer.status == 0 {
        let lines = answer.text.lines().map(|line| {
            // Its tables are set with tabs.
            let words: Vec<String> = line.split('\t').map(printable).collect();
            format!("{}\n", words.join("\t"))
        });
        return print(&lines.collect::<String>());
    }
    bail!(
        "the JVM of process {}: {}",
        target.pid().0,
        attach::said(&answer)
    )
}
