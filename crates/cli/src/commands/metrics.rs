//! `hprof-rs metrics`: figures of a JVM and of the agent in it, for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use hprof_wire::control::Request;
use serde_json::{Value, json};

use crate::attach::{self, Target};
use crate::jvm::process::Pid;
use crate::jvm::{AgentState, Jvm};
use crate::render::screen::{print, print_json, printable, printable_lines};

/// Print figures of a running JVM and of the agent in it, in Prometheus' text format.
///
/// Nothing is loaded into the JVM. Heap, threads and collections are those of its performance counters, which it brings
/// up to date at each collection.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Metrics {
    /// The JVM's process id, or a part of its program's name, as `hprof-rs ps` shows them.
    #[arg(value_name = "PID", value_parser = crate::jvm::pick::pid)]
    pid: u32,

    /// The time limit for the agent's answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs metrics 4242
  hprof-rs metrics 4242 > /var/lib/node_exporter/java.prom.new && mv /var/lib/node_exporter/java.prom{.new,}
      for the textfile collector of Prometheus' node_exporter, from cron

Exit status:
  0, also without an agent: hprof_rs_agent_up is 0 then; 1 if there is no such JVM, or its agent does not answer.";

/// How a figure develops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}

/// Figures of the agent's reply to `metrics`: its name there, that of Prometheus, and what it is. Others that are
/// numbers are gauges of their own name.
const OF_AGENT: [(&str, &str, Kind, &str); 17] = [
    (
        "samples",
        "samples",
        Kind::Gauge,
        "Samples since the last dump of the profile.",
    ),
    (
        "lost_samples",
        "lost_samples",
        Kind::Gauge,
        "Samples that found no room.",
    ),
    (
        "samples_without_stack",
        "samples_without_stack",
        Kind::Gauge,
        "Samples of which only the CPU time is known.",
    ),
    (
        "foreign_signals",
        "foreign_signals",
        Kind::Gauge,
        "Signals of the profiler's number that another program sent.",
    ),
    ("stacks", "stacks", Kind::Gauge, "Different stacks."),
    ("traces", "traces", Kind::Gauge, "Stacks in the profile."),
    (
        "traces_cut",
        "traces_cut",
        Kind::Gauge,
        "Stacks that were cut, for want of memory.",
    ),
    (
        "table_bytes",
        "table_bytes",
        Kind::Gauge,
        "Memory of names and stacks in bytes.",
    ),
    (
        "threads_seen",
        "threads_seen_total",
        Kind::Counter,
        "Threads since the agent was loaded.",
    ),
    (
        "threads_live",
        "threads_live",
        Kind::Gauge,
        "Threads that live.",
    ),
    (
        "threads_without_timer",
        "threads_without_timer",
        Kind::Gauge,
        "Threads whose CPU time is not sampled.",
    ),
    (
        "lost_thread_records",
        "lost_thread_records_total",
        Kind::Counter,
        "Starts and ends of threads that found no room.",
    ),
    (
        "commands_refused",
        "commands_refused_total",
        Kind::Counter,
        "Requests that the agent refused.",
    ),
    (
        "dumps",
        "dumps_total",
        Kind::Counter,
        "Profiles that were written.",
    ),
    (
        "profile_thread_cpu_ms",
        "cpu_seconds_total",
        Kind::Counter,
        "CPU time of the agent's own thread in seconds.",
    ),
    (
        "internal_errors",
        "internal_errors_total",
        Kind::Counter,
        "Errors of the agent that it survived.",
    ),
    (
        "running_ms",
        "run_seconds",
        Kind::Gauge,
        "The length of the run so far in seconds.",
    ),
];

/// A figure under one set of labels.
struct Figure {
    name: String,
    kind: Kind,
    about: String,
    /// Labels beside those of the process.
    labels: Vec<(&'static str, String)>,
    value: f64,
}

/// The figures in the order in which they are printed.
#[derive(Default)]
struct Figures(Vec<Figure>);

impl Figures {
    fn add(&mut self, name: &str, kind: Kind, about: &str, value: f64) {
        self.labelled(name, kind, about, Vec::new(), value);
    }

    fn labelled(
        &mut self,
        name: &str,
        kind: Kind,
        about: &str,
        labels: Vec<(&'static str, String)>,
        value: f64,
    ) {
        self.0.push(Figure {
            name: format!("hprof_rs_{name}"),
            kind,
            about: about.to_owned(),
            labels,
            value,
        });
    }

    fn of_agent(&mut self, values: &BTreeMap<String, String>) {
        for (name, text) in values {
            let Ok(value) = text.parse::<f64>() else {
                continue;
            };
            let known = OF_AGENT.iter().find(|known| known.0 == name);
            let is_name = name
                .bytes()
                .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
            match known {
                Some((reply, name, kind, about)) => {
                    let is_millis = reply.ends_with("_ms");
                    let value = if is_millis { value / 1000.0 } else { value };
                    self.add(&format!("agent_{name}"), *kind, about, value);
                }
                None if is_name && value.is_finite() => {
                    let about = format!("The agent's figure {name} (docs/counters.md).");
                    self.add(&format!("agent_{name}"), Kind::Gauge, &about, value);
                }
                None => {}
            }
        }
    }

    /// Figures of HotSpot's performance counters (`hsperfdata`), by the names that `jstat` reads.
    fn of_jvm(&mut self, jvm: &Jvm) {
        for (counter, name, kind, about) in [
            (
                "java.threads.live",
                "threads",
                Kind::Gauge,
                "Threads of Java that live.",
            ),
            (
                "java.threads.daemon",
                "daemon_threads",
                Kind::Gauge,
                "Daemon threads that live.",
            ),
            (
                "java.threads.started",
                "threads_started_total",
                Kind::Counter,
                "Threads of Java since the start.",
            ),
            (
                "java.cls.loadedClasses",
                "classes_loaded_total",
                Kind::Counter,
                "Classes that were loaded.",
            ),
            (
                "sun.rt.safepoints",
                "safepoints_total",
                Kind::Counter,
                "Safepoints.",
            ),
        ] {
            if let Some(value) = jvm.counter(counter) {
                self.add(&format!("jvm_{name}"), kind, about, value as f64);
            }
        }
        let frequency = jvm.counter("sun.os.hrt.frequency").filter(|it| *it > 0);
        let seconds = |ticks: i64| frequency.map(|frequency| ticks as f64 / frequency as f64);
        if let Some(time) = jvm.counter("sun.rt.safepointTime").and_then(seconds) {
            let about = "Time in safepoints in seconds.";
            self.add("jvm_safepoint_seconds_total", Kind::Counter, about, time);
        }
        for at in 0..MAX_PARTS {
            let of = |name: &str| jvm.counter(&format!("sun.gc.collector.{at}.{name}"));
            let Some(number) = of("invocations") else {
                break;
            };
            let name = jvm.counter_text(&format!("sun.gc.collector.{at}.name"));
            let label = || {
                vec![(
                    "collector",
                    name.map_or_else(|| at.to_string(), str::to_owned),
                )]
            };
            let about = "Collections of garbage.";
            self.labelled("jvm_gc_total", Kind::Counter, about, label(), number as f64);
            if let Some(time) = of("time").and_then(seconds) {
                let about = "Time of collections in seconds.";
                self.labelled("jvm_gc_seconds_total", Kind::Counter, about, label(), time);
            }
        }
        for generation in 0..MAX_PARTS {
            for space in 0..MAX_PARTS {
                let prefix = format!("sun.gc.generation.{generation}.space.{space}");
                let Some(used) = jvm.counter(&format!("{prefix}.used")) else {
                    break;
                };
                let name = jvm.counter_text(&format!("{prefix}.name"));
                let name = name.map_or_else(|| format!("{generation}.{space}"), str::to_owned);
                let label = || vec![("space", name.clone())];
                let about = "Bytes in use, as of the last collection.";
                self.labelled(
                    "jvm_heap_used_bytes",
                    Kind::Gauge,
                    about,
                    label(),
                    used as f64,
                );
                if let Some(capacity) = jvm.counter(&format!("{prefix}.capacity")) {
                    let about = "Bytes that the space has.";
                    let capacity = capacity as f64;
                    self.labelled("jvm_heap_bytes", Kind::Gauge, about, label(), capacity);
                }
            }
        }
    }

    fn text(&self, pid: u32, program: &str) -> String {
        let mut text = String::new();
        let mut order: Vec<&str> = Vec::new();
        for figure in &self.0 {
            if !order.contains(&figure.name.as_str()) {
                order.push(&figure.name);
            }
        }
        for name in order {
            let of_name = self.0.iter().filter(|figure| figure.name == name);
            for (at, figure) in of_name.enumerate() {
                if at == 0 {
                    let kind = match figure.kind {
                        Kind::Counter => "counter",
                        Kind::Gauge => "gauge",
                    };
                    // Writing to a string cannot fail.
                    let _ = write!(
                        text,
                        "# HELP {name} {}\n# TYPE {name} {kind}\n",
                        figure.about
                    );
                }
                let _ = write!(
                    text,
                    "{name}{{pid=\"{pid}\",program=\"{}\"",
                    escaped(program)
                );
                for (label, value) in &figure.labels {
                    let _ = write!(text, ",{label}=\"{}\"", escaped(value));
                }
                let _ = writeln!(text, "}} {}", figure.value);
            }
        }
        text
    }

    fn json(&self, pid: u32, program: &str) -> Value {
        let figures = self.0.iter().map(|figure| {
            let labels = figure.labels.iter();
            let labels: BTreeMap<&str, &str> =
                labels.map(|(key, value)| (*key, &**value)).collect();
            json!({"name": figure.name, "labels": labels, "value": figure.value})
        });
        json!({"pid": pid, "program": program, "metrics": figures.collect::<Vec<_>>()})
    }
}

/// Collectors, generations and spaces that are looked for.
const MAX_PARTS: usize = 16;

/// The value of a label. Control characters would act on a terminal.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in printable(text).chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            c => escaped.push(c),
        }
    }
    escaped
}

impl Metrics {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let pid = Pid(self.pid);
        let found =
            Jvm::started(pid).with_context(|| format!("there is no process {}", self.pid))?;
        let Some(jvm) = found else {
            bail!(
                "process {} is no JVM; `hprof-rs ps` lists those of this machine",
                self.pid
            );
        };
        let mut figures = Figures::default();
        let is_loaded = jvm.agent() == AgentState::Loaded;
        let about = "1 if the agent is loaded and answers.";
        figures.add("agent_up", Kind::Gauge, about, f64::from(is_loaded));
        if is_loaded {
            let target = Target::find(pid)?;
            let timeout = Duration::from_secs(self.timeout);
            let reply = attach::control(&target, &Request::Metrics, timeout)?;
            if let Some(error) = reply.error {
                bail!(
                    "the agent does not tell its figures: {}",
                    printable_lines(&error)
                );
            }
            let values: BTreeMap<String, String> = reply.values.into_iter().collect();
            figures.of_agent(&values);
        }
        let resident = "Memory of the process in bytes.";
        if let Ok(bytes) = pid.resident() {
            figures.add("jvm_resident_bytes", Kind::Gauge, resident, bytes as f64);
        }
        figures.of_jvm(&jvm);
        let program = jvm.short_name();
        match self.json {
            true => print_json(&figures.json(self.pid, program))?,
            false => print(&figures.text(self.pid, program))?,
        };
        Ok(ExitCode::SUCCESS)
    }
}
