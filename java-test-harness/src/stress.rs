//! Programs that strain a JVM and whatever watches it.

use std::fmt;
use std::time::Duration;

use crate::compile::redefiner;
use crate::{Collector, Jdk, Outcome, Run};

/// A kind of strain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stress {
    /// Classes are loaded, redefined and unloaded without pause.
    Classes,
    /// Threads start and end by the thousand.
    Threads,
    /// Virtual threads start, leave their carriers and end by the ten thousand.
    VirtualThreads,
    /// Stacks overflow, and the error is caught.
    StackOverflow,
    /// The collector is kept busy.
    Allocation(Collector),
    /// A flight recording runs, and a debugger could connect, where the JDK has these.
    OtherAgents,
    /// All kinds of strain in one JVM.
    Together,
}

impl Stress {
    /// All kinds, the allocation once with each collector.
    pub fn all() -> Vec<Stress> {
        let mut all = vec![
            Stress::Classes,
            Stress::Threads,
            Stress::VirtualThreads,
            Stress::StackOverflow,
            Stress::OtherAgents,
        ];
        all.extend(Collector::ALL.map(Stress::Allocation));
        all
    }

    /// Returns whether the JDK has what it needs.
    pub fn supported_by(self, jdk: &Jdk) -> bool {
        match self {
            Stress::VirtualThreads => jdk.feature() >= 21,
            Stress::Allocation(collector) => collector.supported_by(jdk),
            _ => true,
        }
    }

    /// Runs it for N seconds under the agent with these options.
    ///
    /// The time limit is two minutes more.
    pub fn run(self, jdk: &'static Jdk, options: &str, seconds: u32) -> Outcome {
        self.run_in(jdk, &[], options, seconds)
    }

    /// As `run`, in a JVM with these flags.
    pub fn run_in(self, jdk: &'static Jdk, flags: &[&str], options: &str, seconds: u32) -> Outcome {
        let limit = Duration::from_secs(u64::from(seconds) + 120);
        let run = Run::new(jdk)
            .jvm_args(flags.iter().copied())
            .agent(options)
            .time_limit(limit);
        let seconds = seconds.to_string();
        match self {
            Stress::Classes => run
                .jvm_arg(format!("-javaagent:{}", redefiner().display()))
                .class("ClassChurn")
                .args([seconds]),
            Stress::Threads => run.class("ManyThreads").args([&seconds, "32"]),
            Stress::VirtualThreads => run
                .class("VirtualThreads")
                .args(["many", &seconds, "10000"]),
            Stress::StackOverflow => run.class("DeepRecursion").args(["overflow", &seconds, "3"]),
            Stress::Allocation(collector) => run
                .jvm_args(collector.arguments())
                .class("AllocPressure")
                .args([seconds]),
            Stress::OtherAgents => {
                let mut run = run.class("AllocPressure").args([seconds]);
                if jdk.has_module("jdk.jfr") {
                    run = run.jvm_arg("-XX:StartFlightRecording=filename=recording.jfr");
                }
                if jdk.has_module("jdk.jdwp.agent") {
                    let debugger = "transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0";
                    run = run.jvm_arg(format!("-agentlib:jdwp={debugger}"));
                }
                run
            }
            Stress::Together => run
                .jvm_arg("-Xmx1g")
                .jvm_arg(format!("-javaagent:{}", redefiner().display()))
                .class("Together")
                .args([seconds]),
        }
        .run()
    }
}

impl fmt::Display for Stress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stress::Classes => out.write_str("classes"),
            Stress::Threads => out.write_str("threads"),
            Stress::VirtualThreads => out.write_str("virtual threads"),
            Stress::StackOverflow => out.write_str("stack overflow"),
            Stress::Allocation(collector) => write!(out, "allocation with {collector}"),
            Stress::OtherAgents => out.write_str("flight recording and debugger"),
            Stress::Together => out.write_str("all strains together"),
        }
    }
}
