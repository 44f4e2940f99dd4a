//! Measures what profiling costs, how true the profiles are, and whether the agent survives.

mod attach;
mod calls;
mod cost;
mod figures;
mod fleet;
mod gclog;
mod graph;
mod guard;
mod heap;
mod jfr;
mod levels;
mod listener;
mod locks;
mod made_dump;
mod native;
mod net;
mod objects;
mod parquet;
#[path = "../../../../crates/server/tests/support/postgres.rs"]
mod postgres;
mod pushed;
mod read;
mod releases;
mod rewriting;
mod same;
mod serve;
mod site;
mod slow;
mod soak;
mod strain;
mod truth;
mod walks;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use java_test_harness::Jdk;

use figures::Figures;

type Benchmark = fn(&Arguments, &mut Figures) -> Result<()>;

/// The benchmarks: name, what it measures, and how.
const BENCHMARKS: &[(&str, &str, Benchmark)] = &[
    (
        "javac",
        "the Java compiler on module java.xml: time, CPU, memory",
        cost::javac,
    ),
    (
        "releases",
        "the Java compiler of each JDK on generated sources, by mode: time, CPU",
        releases::releases,
    ),
    ("hello", "start and end of a JVM, per JDK", cost::hello),
    (
        "threads",
        "30,000 threads that start and end, per JDK",
        cost::threads,
    ),
    (
        "calls",
        "cpu=times: the Java compiler, fib(40), start and end of a JVM",
        calls::calls,
    ),
    (
        "rewrite",
        "hooks into all classes of a JDK, on one thread, without a JVM",
        rewriting::rewriting,
    ),
    (
        "parked",
        "2,000 parked threads: CPU while nothing happens, per JDK",
        cost::parked,
    ),
    (
        "wall",
        "cpu=wall with 2,000 and 10,000 parked threads: CPU, per JDK",
        cost::wall,
    ),
    (
        "truth",
        "shares and CPU time against what the program knows, per JDK",
        truth::truth,
    ),
    (
        "lockstep",
        "shares of work in cycles of 1 to 100 ms, each engine, ten runs of each",
        truth::lockstep,
    ),
    (
        "bias",
        "a loop without safepoint polls, both engines, per JDK",
        truth::bias,
    ),
    (
        "walks",
        "samples without a stack, engine=signal and engine=walker, per JDK",
        walks::walks,
    ),
    (
        "sites",
        "heap=sites with the Java compiler, and a program per JDK: time, memory",
        heap::sites,
    ),
    (
        "dumps",
        "heap dumps of 13 million objects: time, memory",
        heap::dumps,
    ),
    (
        "levels",
        "dumps of 13 million objects without values, compressed, per JDK",
        levels::levels,
    ),
    (
        "same",
        "ids, histogram, dominators and retained sizes of 13 million objects after strip and level 1",
        same::same,
    ),
    (
        "slow",
        "slow=: what timing a call costs, per JDK",
        slow::slow,
    ),
    (
        "locks",
        "programs that fight for locks, and one that does not, per JDK",
        locks::locks,
    ),
    (
        "native",
        "native=512k with a program that allocates by zlib, and one that does nothing else",
        native::native,
    ),
    (
        "read",
        "summary, histogram and top of a dump of 13 million objects; long profiles",
        read::read,
    ),
    (
        "graph",
        "a report on a dump of 13 million objects, and its index",
        graph::graph,
    ),
    (
        "gclog",
        "a garbage collection log of one gigabyte: time, memory",
        gclog::gclog,
    ),
    (
        "jfr",
        "a recording of Flight Recorder, read by the command and by jfr print",
        jfr::jfr,
    ),
    (
        "parquet",
        "an export of a dump of 13 million objects to Parquet: time, memory, size",
        parquet::parquet,
    ),
    (
        "serve",
        "a server under load: idle, uploads, readers, views, report",
        serve::serve,
    ),
    (
        "pushed",
        "profiles that 200 programs push to a server: rate, size, questions",
        pushed::pushed,
    ),
    (
        "fleet",
        "a queue in PostgreSQL, and workers against the plain command",
        fleet::fleet,
    ),
    (
        "netdump",
        "heap dumps of 13 million objects, to a listener and to a file",
        net::net_dumps,
    ),
    (
        "agents",
        "50 JVMs on one listener: streams, memory",
        net::agents,
    ),
    (
        "peers",
        "speed of a program whose front-end misbehaves",
        net::peers,
    ),
    (
        "attach",
        "200 times attached to 20,000 classes: pauses, what stays behind",
        attach::attach,
    ),
    (
        "late",
        "cpu=times begun and ended while the program runs: fib(40), pauses, per JDK",
        attach::late,
    ),
    (
        "objects",
        "1,000 questions about a million live objects: pauses, ids, memory",
        objects::objects,
    ),
    (
        "soak",
        "stress programs for many minutes, per JDK; only when named",
        soak::soak,
    ),
    (
        "cycles",
        "200 times attached and detached at random while 16 threads allocate native memory, per JDK; only when named",
        native::cycles,
    ),
    (
        "strain",
        "engine=walker and cstack=y under all strains together, per JDK, collector and layout; only when named",
        strain::strain,
    ),
];

/// The cases that take hours, and run only when they are named.
const LONG: &[&str] = &["soak", "cycles", "strain"];

/// Benchmarks of the agent. Every comparison is of pairs of runs in turn, and tells medians.
#[derive(Debug, Parser)]
struct Arguments {
    /// The benchmarks to run; all but soak, cycles and strain if none is named
    names: Vec<String>,
    /// List the benchmarks
    #[arg(long)]
    list: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Compare with the figures kept in figures.json, and fail where one is worse by more than the noise of its pairs
    #[arg(long, conflicts_with = "keep_figures")]
    guard: bool,
    /// Keep the figures in figures.json, and write docs/figures.md
    #[arg(long = "keep-figures")]
    keep_figures: bool,
    /// Only the cases of calls, dumps, fleet, graph ("12 GB", "50 GB": a dump of that size, which needs twice that of disk), late, levels, locks, lockstep, native, parked, serve, sites, strain, walks and wall whose name has this in it, as "javac", "depth=4",
    /// "fib", "hello", "monitor", "readers"; more than once for several
    #[arg(long = "case")]
    cases: Vec<String>,
    /// The feature release of the JDK of javac, calls, native and sites, which needs a compiler and sources
    /// (lib/src.zip); more than once for several [default: 17]
    #[arg(long = "jdk", value_name = "FEATURE")]
    jdks: Vec<u32>,
    /// Pairs of runs per comparison (hello: four times as many)
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Seconds per run of truth, bias, parked, wall and the readers of serve
    #[arg(long, default_value_t = 12)]
    seconds: u32,
    /// Minutes per kind of stress and JDK
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// The engine of soak
    #[arg(long, default_value = "auto")]
    engine: String,
    /// The size of each upload of serve, in MB; views and report take dumps of four times that
    #[arg(long, default_value_t = 200)]
    megabytes: u64,
    /// Jobs of fleet's queue, dumps of its workers, JVMs of strain at a time, cycles [default: 100000, 60, 2, 200]
    #[arg(long)]
    count: Option<u64>,
    /// Readers at once, of serve
    #[arg(long, default_value_t = 500)]
    readers: usize,
    /// A folder for the dumps of graph and serve, which stay there for the next time
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

impl Arguments {
    /// Returns whether the case is to be measured.
    fn chooses(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|part| case.contains(part.as_str()))
    }

    /// The JDKs whose compilers are measured.
    fn compilers(&self) -> Result<Vec<&'static Jdk>> {
        if self.jdks.is_empty() {
            return Ok(vec![Jdk::compiler()]);
        }
        let with = |feature: &u32| {
            let found = Jdk::compilers()
                .iter()
                .find(|jdk| jdk.feature() == *feature);
            found.with_context(|| format!("no JDK {feature} with a compiler is installed"))
        };
        self.jdks.iter().map(with).collect()
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.list {
        for (name, what, _) in BENCHMARKS {
            println!("{name:8} {what}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    for name in &arguments.names {
        let known = BENCHMARKS.iter().any(|benchmark| benchmark.0 == name);
        ensure!(
            known,
            "no benchmark \"{name}\"; --list tells which there are"
        );
    }
    let mut figures = Figures::default();
    for &(name, what, run) in BENCHMARKS {
        let named = arguments.names.iter().any(|it| it == name);
        if named || (arguments.names.is_empty() && !LONG.contains(&name)) {
            eprintln!("{name}: {what}");
            run(&arguments, &mut figures)?;
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        print!("{figures}");
    }
    let mut kept = guard::Table::read(&guard::file())?;
    if arguments.keep_figures {
        kept.keep(&figures)?;
    }
    if arguments.guard {
        return Ok(judged(&kept, &figures));
    }
    // A figure that is not as wanted is a result, not an error of the benchmark.
    Ok(match figures.missed() {
        0 => ExitCode::SUCCESS,
        missed => {
            eprintln!("{missed} figures are not as wanted");
            ExitCode::FAILURE
        }
    })
}

/// Prints which figures are worse than those kept.
fn judged(kept: &guard::Table, figures: &Figures) -> ExitCode {
    let worse = kept.worse(figures);
    for line in &worse {
        println!("worse: {line}");
    }
    match kept.unknown(figures) {
        0 => {}
        unknown => {
            println!("{unknown} figures are not in the table; --keep-figures puts them there")
        }
    }
    if worse.is_empty() {
        println!("no figure is worse than the table's by more than noise");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
