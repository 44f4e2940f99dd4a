//! The sub-commands, one file each.

mod agent_path;
mod android;
mod attach;
#[cfg(feature = "capture")]
mod capture;
mod check;
mod class_loaders;
mod collections;
mod completions;
mod control;
mod convert;
mod cutoff;
mod diff;
mod dominators;
mod dump;
mod duplicates;
mod events;
#[cfg(feature = "parquet")]
mod export;
mod finalizers;
mod gc;
mod growth;
mod histogram;
mod leaks;
mod listen;
mod listing;
#[cfg(feature = "live")]
mod live;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod metrics;
mod object;
mod objects;
mod options;
mod paths;
mod ps;
#[cfg(feature = "capture")]
mod push;
#[cfg(feature = "query")]
mod query;
mod record;
mod records;
mod report;
mod retained;
mod run;
mod samples;
#[cfg(feature = "serve")]
mod serve;
mod sites;
mod slow;
mod slow_strips;
mod stacks;
mod strings;
mod strip;
mod summary;
mod threads;
mod top;
mod worker;

pub(crate) use object::in_words as object_in_words;
pub(crate) use slow::in_words as slow_calls;

use std::process::ExitCode;

use clap::Subcommand;

#[cfg(not(all(
    feature = "capture",
    feature = "live",
    feature = "mcp",
    feature = "parquet",
    feature = "query",
    feature = "serve"
)))]
use crate::not_built::command_not_built;

#[cfg(not(feature = "capture"))]
command_not_built!("capture" capture::Capture);
#[cfg(not(feature = "capture"))]
command_not_built!("capture" push::Push);
#[cfg(not(feature = "live"))]
command_not_built!("live" live::Live);
#[cfg(not(feature = "mcp"))]
command_not_built!("mcp" mcp::Mcp);
#[cfg(not(feature = "parquet"))]
command_not_built!("parquet" export::Export);
#[cfg(not(feature = "query"))]
command_not_built!("query" query::Query);
#[cfg(not(feature = "serve"))]
command_not_built!("serve" serve::Serve);

/// A sub-command with its flags.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a Java program under the agent.
    Run(run::Run),
    /// List the JVMs of this machine, those in containers too.
    #[command(visible_alias = "list")]
    Ps(ps::Ps),
    /// Load the agent into a running JVM.
    Attach(attach::Attach),
    /// Write a heap dump of a running JVM.
    Dump(dump::Dump),
    /// Record a JVM, and write a flame graph.
    #[command(visible_alias = "profile")]
    Record(record::Record),
    /// Show the methods of a running JVM while it runs.
    Live(live::Live),
    /// Command the agent in a running JVM: start, stop, dump, reset, status, detach.
    Control(control::Control),
    /// Print figures of a running JVM and of the agent in it, in Prometheus' text format.
    Metrics(metrics::Metrics),
    /// Dump the heap of a JVM to a server, and print the link of its report.
    Capture(Box<capture::Capture>),
    /// Receive the profiles of programs started with net=HOST:PORT, and command their agents.
    Listen(listen::Listen),
    /// Summarize a heap dump or profile on one screen.
    Summary(summary::Summary),
    /// Count the objects of a heap dump by class, package or loader.
    Histogram(histogram::HistogramCommand),
    /// Show the largest arrays of a heap dump.
    Top(top::Top),
    /// Show where a profile spends CPU time, allocates or waits.
    #[command(visible_alias = "methods")]
    Samples(samples::Samples),
    /// List the events of a recording by type, or those of one type with their fields.
    Events(events::Events),
    /// Show where a profile's objects were allocated.
    #[command(visible_alias = "allocations")]
    Sites(sites::Sites),
    /// Show how long calls of methods took, and the slowest of them (slow=).
    Slow(slow::SlowCommand),
    /// Show the strings of a heap dump by content, and the memory that duplicates waste.
    Strings(strings::Strings),
    /// Show the threads of a heap dump or profile, with their stacks.
    Threads(threads::Threads),
    /// Write a report on a heap dump: a page, JSON or Markdown.
    Report(report::ReportCommand),
    /// Find leak suspects: what keeps an unexpected part of the heap alive.
    Leaks(leaks::LeaksCommand),
    /// Show how full and how empty collections are.
    Collections(collections::Collections),
    /// Show strings and arrays with equal contents.
    Duplicates(duplicates::DuplicatesCommand),
    /// Show the objects that wait for finalization.
    Finalizers(finalizers::Finalizers),
    /// Show class loaders, and classes that were loaded more than once.
    #[command(name = "classloaders")]
    ClassLoaders(class_loaders::ClassLoaders),
    /// Show what has grown over several heap dumps.
    Growth(growth::Growth),
    /// Show why destroyed objects of an Android program are still alive.
    Android(android::Android),
    /// Show why an object, or the objects of a class, are alive.
    Paths(paths::Paths),
    /// Show which objects keep most memory alive, as a tree.
    Dominators(dominators::DominatorsCommand),
    /// Show what an object, a class or every class keeps alive.
    Retained(retained::Retained),
    /// Show an object with its fields, elements or text.
    Object(object::Object),
    /// Show what refers to an object.
    Referrers(object::Referrers),
    /// Show what an object refers to.
    References(object::References),
    /// Query a heap dump with SQL: tables of objects, classes, references, roots, threads.
    Query(query::Query),
    /// Show what threads do, from thread dumps or a running JVM: stacks, pools, locks, deadlocks.
    Stacks(stacks::Stacks),
    /// Summarize garbage collection logs: pauses, heap, rates, findings with advice; or compare two.
    Gc(gc::Gc),
    /// Show what takes the memory of a process: heap, stacks, buffers, malloc, files; against its limits.
    Memory(memory::Memory),
    /// Convert a profile to a flame graph or to the format of another tool.
    Convert(convert::Convert),
    /// Send a profile to OpenTelemetry's collector or to Pyroscope.
    Push(Box<push::Push>),
    /// Write heap dumps and profiles as tables of Parquet files.
    Export(Box<export::Export>),
    /// Write a shareable copy of a heap dump, with all values removed.
    Strip(strip::Strip),
    /// Serve heap dumps and profiles to browsers: upload, analyse, look.
    Serve(Box<serve::Serve>),
    /// Answer an assistant's questions about files: a Model Context Protocol server.
    Mcp(mcp::Mcp),
    /// Show what has changed from one file to another.
    Diff(diff::Diff),
    /// Read a whole file and report every place that is damaged.
    Check(check::Check),
    /// List the records of a binary file with their offsets.
    Records(records::Records),
    /// Unpack the agent library and print its path.
    AgentPath(agent_path::AgentPath),
    /// Show the agent's options as a table.
    Options(options::Options),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
    /// Write the manual pages into a folder.
    #[command(name = "man", hide = true)]
    Man(man::ManualPages),
    /// Take jobs from the database of a fleet, and analyse dumps.
    Worker(worker::Worker),
}

impl Command {
    /// True for commands that answer others about files, with the damage in the answer, so that their own exit status is
    /// about themselves.
    pub fn answers_itself(&self) -> bool {
        matches!(
            self,
            Self::Serve(_) | Self::Worker(_) | Self::Mcp(_) | Self::Listen(_)
        )
    }

    /// Runs the subcommand. `Run` returns only if the program could not be started.
    ///
    /// # Errors
    /// A message for the user, of one sentence or several lines.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Run(command) => command.execute(),
            Self::Ps(command) => command.execute(),
            Self::Attach(command) => command.execute(),
            Self::Dump(command) => command.execute(),
            Self::Record(command) => command.execute(),
            Self::Live(command) => command.execute(),
            Self::Control(command) => command.execute(),
            Self::Metrics(command) => command.execute(),
            Self::Capture(command) => command.execute(),
            Self::Listen(command) => command.execute(),
            Self::Summary(command) => command.execute(),
            Self::Histogram(command) => command.execute(),
            Self::Top(command) => command.execute(),
            Self::Samples(command) => command.execute(),
            Self::Events(command) => command.execute(),
            Self::Sites(command) => command.execute(),
            Self::Slow(command) => command.execute(),
            Self::Strings(command) => command.execute(),
            Self::Threads(command) => command.execute(),
            Self::Report(command) => command.execute(),
            Self::Leaks(command) => command.execute(),
            Self::Android(command) => command.execute(),
            Self::Collections(command) => command.execute(),
            Self::Duplicates(command) => command.execute(),
            Self::Finalizers(command) => command.execute(),
            Self::ClassLoaders(command) => command.execute(),
            Self::Growth(command) => command.execute(),
            Self::Paths(command) => command.execute(),
            Self::Dominators(command) => command.execute(),
            Self::Retained(command) => command.execute(),
            Self::Object(command) => command.execute(),
            Self::Referrers(command) => command.execute(),
            Self::References(command) => command.execute(),
            Self::Query(command) => command.execute(),
            Self::Stacks(command) => command.execute(),
            Self::Gc(command) => command.execute(),
            Self::Memory(command) => command.execute(),
            Self::Convert(command) => command.execute(),
            Self::Push(command) => command.execute(),
            Self::Export(command) => command.execute(),
            Self::Strip(command) => command.execute(),
            Self::Serve(command) => command.execute(),
            Self::Mcp(command) => command.execute(),
            Self::Diff(command) => command.execute(),
            Self::Check(command) => command.execute(),
            Self::Records(command) => command.execute(),
            Self::AgentPath(command) => command.execute(),
            Self::Options(command) => command.execute(),
            Self::Completions(command) => command.execute(),
            Self::Man(command) => command.execute(),
            Self::Worker(command) => command.execute(),
        }
    }
}
