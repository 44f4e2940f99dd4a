//! The one table that declares every option.
//!
//! A new option is one row here and one field in [`Raw`] (and, if it means
//! something to the profilers, one in [`Settings`](super::Settings)). The order
//! of the rows is the order of the help text.

use std::fmt::Write as _;

use super::raw::{Raw, Timing};
use super::settings::{Clock, Engine, Format, Live, Locks, Lost, SampleClock};

/// Where an option is listed, and with it where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// In the help text of the JDK's agent.
    Standard,
    /// In the JDK's help text under its own heading: accepted, without effect.
    Obsolete,
    /// Not in the JDK's agent.
    New,
    /// For debugging the agent: parsed by every build, not listed in `help`.
    Debug,
    /// Taken out of the JDK's agent: always an option error.
    Removed,
}

/// Which agent an option comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The HPROF agent shipped with the JDK up to version 8.
    Jdk,
    /// This agent.
    HprofRs,
}

/// One accepted word of an enumerated option, and its effect.
#[derive(Debug)]
pub struct Choice {
    /// The word, case-sensitive.
    pub word: &'static str,
    /// Records it.
    pub set: fn(&mut Raw),
}

/// How the value of an option is written, and which field takes it.
///
/// Except for [`Kind::Removed`] a value is at most 4096 bytes long (79 for a
/// switch), and ends at the next comma.
#[derive(Debug)]
pub enum Kind {
    /// `y` or `n`.
    Switch(fn(&mut Raw) -> &mut bool),
    /// One of a list of words.
    Choice(&'static [Choice]),
    /// A whole number as `strtol` reads it in base 10, cut to 32 bits.
    Decimal {
        /// The smallest accepted value.
        min: i32,
        /// The rule as an error message states it.
        rule: &'static str,
        /// The field.
        field: fn(&mut Raw) -> &mut i32,
    },
    /// A number of bytes below 2^31, possibly followed by `k` or `m`.
    Bytes(fn(&mut Raw) -> &mut u32),
    /// A floating-point number that is not below zero, as `strtod` reads it.
    Fraction(fn(&mut Raw) -> &mut f64),
    /// A bit mask as `strtol` reads it in base 0, without further checks.
    Mask(fn(&mut Raw) -> &mut i32),
    /// Any text; checked when the options are resolved.
    Text(fn(&mut Raw) -> &mut Option<String>),
    /// The output file; once in total together with [`Kind::Net`].
    File,
    /// `host:port`; once in total together with [`Kind::File`].
    Net,
    /// Always an error.
    Removed {
        /// The replacement.
        instead: &'static str,
    },
}

/// One row: everything there is to know about an option.
#[derive(Debug)]
pub struct OptionSpec {
    /// The name, at most 15 bytes long.
    pub name: &'static str,
    /// The values as shown to the user.
    pub value: &'static str,
    /// The default as shown to the user.
    pub default: &'static str,
    /// The description in the help text: at most 30 columns wide.
    pub summary: &'static str,
    /// The description in docs/options.md, in Markdown.
    pub details: &'static str,
    /// Where it is listed.
    pub section: Section,
    /// Its values.
    pub kind: Kind,
}

impl OptionSpec {
    /// Which agent the option comes from.
    pub fn since(&self) -> Since {
        match self.section {
            Section::New => Since::HprofRs,
            Section::Standard | Section::Obsolete | Section::Debug | Section::Removed => Since::Jdk,
        }
    }

    /// Returns whether `help` shows it.
    pub fn is_listed(&self) -> bool {
        !matches!(self.section, Section::Debug | Section::Removed)
    }

    /// Returns whether it serves only to debug the agent.
    pub fn is_debug(&self) -> bool {
        self.section == Section::Debug
    }
}

/// Looks an option up by its exact name.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    TABLE.iter().find(|spec| spec.name == name)
}

/// The names of all options that can be used, for shell completion.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE
        .iter()
        .filter(|spec| spec.section != Section::Removed)
        .map(|spec| spec.name)
}

/// The table of all options for docs/options.md, in Markdown, with a line end
/// after its last row.
pub fn markdown_table() -> String {
    let mut text = String::from("| Option | Default | Since | Meaning |\n|---|---|---|---|\n");
    for spec in TABLE {
        let since = match spec.since() {
            Since::Jdk => "JDK",
            Since::HprofRs => "hprof-rs",
        };
        let default = match spec.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let debugging = if spec.is_debug() { "Debugging: " } else { "" };
        // A bar ends a cell even inside a code span.
        let value = spec.value.replace('|', "\\|");
        let details = spec.details.replace('|', "\\|");
        let name = spec.name;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{name}={value}` | {default} | {since} | {debugging}{details} |"
        );
    }
    text
}

/// Every option.
pub static TABLE: &[OptionSpec] = &[
    OptionSpec {
        name: "heap",
        value: "dump|sites|all",
        default: "all",
        summary: "heap profiling",
        details: "heap dump, allocation sites, or both; a second `heap=` adds to the first. \
                  Active by default only if no other mode is given.",
        section: Section::Standard,
        kind: Kind::Choice(&[
            Choice {
                word: "dump",
                set: |raw| raw.heap_dump = true,
            },
            Choice {
                word: "sites",
                set: |raw| raw.heap_sites = true,
            },
            Choice {
                word: "all",
                set: |raw| {
                    raw.heap_dump = true;
                    raw.heap_sites = true;
                },
            },
        ]),
    },
    OptionSpec {
        name: "cpu",
        value: "samples|times|old",
        default: "off",
        summary: "CPU use",
        details: "CPU profile: by sampling (`y` means `samples`), by counting every call, or by \
                  counting in the format of JDK 1.1's `prof`. New: `wall` samples all threads on the \
                  wall clock, waiting ones too, and tells their states",
        section: Section::Standard,
        kind: Kind::Choice(&[
            Choice {
                word: "y",
                set: |raw| raw.sample(SampleClock::Cpu),
            },
            Choice {
                word: "samples",
                set: |raw| raw.sample(SampleClock::Cpu),
            },
            Choice {
                word: "wall",
                set: |raw| raw.sample(SampleClock::Wall),
            },
            Choice {
                word: "times",
                set: |raw| raw.cpu_timing = Some(Timing::Times),
            },
            Choice {
                word: "old",
                set: |raw| raw.cpu_timing = Some(Timing::Old),
            },
        ]),
    },
    OptionSpec {
        name: "monitor",
        value: "y|n",
        default: "n",
        summary: "locks",
        details: "lock contention, waits, and lock owners; `y` means monitors of objects and \
                  locks of `java.util.concurrent`. New: `java` or `juc` for one of them, `all` \
                  for both.",
        section: Section::Standard,
        kind: Kind::Choice(&[
            Choice {
                word: "y",
                set: |raw| raw.locks = Locks::ALL,
            },
            Choice {
                word: "n",
                set: |raw| raw.locks = Locks::NONE,
            },
            Choice {
                word: "java",
                set: |raw| {
                    raw.locks = Locks {
                        java: true,
                        juc: false,
                    };
                },
            },
            Choice {
                word: "juc",
                set: |raw| {
                    raw.locks = Locks {
                        java: false,
                        juc: true,
                    };
                },
            },
            Choice {
                word: "all",
                set: |raw| raw.locks = Locks::ALL,
            },
        ]),
    },
    OptionSpec {
        name: "format",
        value: "a|b",
        default: "a",
        summary: "text or binary output",
        details: "text (`a`) or binary (`b`) output",
        section: Section::Standard,
        kind: Kind::Choice(&[
            Choice {
                word: "a",
                set: |raw| raw.format = Format::Text,
            },
            Choice {
                word: "b",
                set: |raw| raw.format = Format::Binary,
            },
        ]),
    },
    OptionSpec {
        name: "file",
        value: "<file>",
        default: "java.hprof[{.txt}]",
        summary: "where the profile is written",
        details: "output file, relative to the current directory. New: `%p` becomes the process \
                  id, `%t` the start time (`YYYYMMDD-HHMMSS`), `%%` a percent sign. The default \
                  is `java.hprof.txt`, with `format=b` `java.hprof`. A name that ends in `.html` \
                  (flame graphs and tables), `.svg`, `.collapsed`, `.pb.gz` (pprof) or \
                  `.speedscope.json` selects that format, unless `format` is given. `.hprof.gz` and \
                  `.hprof.zst` compress, and select `format=b`, unless `format` is given. Endings of \
                  other tools' formats (`.json`, `.jfr`, `.csv`, `.zip` ...) are then refused. \
                  `-` and `/dev/stdout` mean standard output. A symbolic link is replaced, not \
                  followed.",
        section: Section::Standard,
        kind: Kind::File,
    },
    OptionSpec {
        name: "net",
        value: "<host>:<port>",
        default: "off",
        summary: "to a socket",
        details: "connect to a front-end (`hprof-rs listen`) and send the profile there instead \
                  of writing a file; an IPv6 address needs brackets, as in `net=[::1]:8000`. \
                  New: `net=unix:/path`",
        section: Section::Standard,
        kind: Kind::Net,
    },
    OptionSpec {
        name: "continuous",
        value: "<url>|y",
        default: "off",
        summary: "to a receiver, all the time",
        details: "send a profile of each 10 seconds to a receiver of OpenTelemetry's profiles while the program runs, instead of \
                  writing a file: `continuous=http://localhost:4318`; `y` takes the URL of `OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT` \
                  or `OTEL_EXPORTER_OTLP_ENDPOINT`. The agent has no TLS; `hprof-rs run --push` has. Without a mode it records \
                  `cpu=samples`. Sets `thread=y`, `verbose=n`: [push.md](push.md)",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.continuous),
    },
    OptionSpec {
        name: "pushevery",
        value: "<seconds>",
        default: "10",
        summary: "time of one profile",
        details: "`continuous=`: the length of the time that a profile holds",
        section: Section::New,
        kind: Kind::Decimal {
            min: 1,
            rule: "decimal and > 0",
            field: |raw| &mut raw.push_every,
        },
    },
    OptionSpec {
        name: "depth",
        value: "<size>",
        default: "4",
        summary: "frames per stack trace",
        details: "frames kept per stack trace, 0 to 2048. New: the default is 64 for pictures; \
                  `hprof-rs run` uses 64, with `heap=sites` or `cpu=times` 8.",
        section: Section::Standard,
        kind: Kind::Decimal {
            min: 0,
            rule: "decimal and >= 0",
            field: |raw| &mut raw.depth,
        },
    },
    OptionSpec {
        name: "interval",
        value: "<ms>",
        default: "10",
        summary: "milliseconds between samples",
        details: "`cpu=samples|wall`: milliseconds between two samples of a thread",
        section: Section::Standard,
        kind: Kind::Decimal {
            min: 1,
            rule: "decimal and > 0",
            field: |raw| &mut raw.interval,
        },
    },
    OptionSpec {
        name: "cutoff",
        value: "<value>",
        default: "0.0001",
        summary: "smallest share of a row",
        details: "the smallest fraction of the total that gets a table row (0.0001 is 0.01 %). \
                  New: without this option, smaller rows follow until 99 % of the total or \
                  10,000 rows are shown, and pictures keep all. A comment line after each table \
                  says what was left out.",
        section: Section::Standard,
        kind: Kind::Fraction(|raw| &mut raw.cutoff),
    },
    OptionSpec {
        name: "lineno",
        value: "y|n",
        default: "y",
        summary: "line numbers in traces",
        details: "line numbers in stack traces",
        section: Section::Standard,
        kind: Kind::Switch(|raw| &mut raw.lineno),
    },
    OptionSpec {
        name: "thread",
        value: "y|n",
        default: "n",
        summary: "threads in traces",
        details: "separate traces for each thread, with the thread's name",
        section: Section::Standard,
        kind: Kind::Switch(|raw| &mut raw.thread),
    },
    OptionSpec {
        name: "doe",
        value: "y|n",
        default: "y",
        summary: "dump on exit",
        details: "write the profile when the JVM exits",
        section: Section::Standard,
        kind: Kind::Switch(|raw| &mut raw.doe),
    },
    OptionSpec {
        name: "msa",
        value: "y|n",
        default: "n",
        summary: "Solaris only, no effect here",
        details: "micro state accounting of Solaris; accepted, without effect",
        section: Section::Standard,
        kind: Kind::Switch(|raw| &mut raw.msa),
    },
    OptionSpec {
        name: "force",
        value: "y|n",
        default: "y",
        summary: "overwrite an existing file",
        details: "overwrite an existing output file; with `n` the new file's name gets the \
                  process id instead. New: `force=y`, written out, also allows a FIFO or \
                  character device as `file`",
        section: Section::Standard,
        kind: Kind::Switch(|raw| &mut raw.force),
    },
    OptionSpec {
        name: "verbose",
        value: "y|n",
        default: "y",
        summary: "messages about dumps",
        details: "print a message on standard error when a dump is written; errors are printed \
                  in any case",
        section: Section::Standard,
        kind: Kind::Switch(|raw| &mut raw.verbose),
    },
    OptionSpec {
        name: "gc_okay",
        value: "y|n",
        default: "n",
        summary: "no effect",
        details: "obsolete: accepted, without effect",
        section: Section::Obsolete,
        kind: Kind::Switch(|raw| &mut raw.gc_okay),
    },
    OptionSpec {
        name: "engine",
        value: "auto|signal|walker|safepoint",
        default: "auto",
        summary: "how cpu=samples samples",
        details: "`cpu=samples`: `walker` samples running threads anywhere, by timer signals, and walks \
                  their stacks itself; `signal` has the VM walk them, by `AsyncGetCallTrace`, which loses more samples; \
                  `safepoint` stops threads at safepoints, as the JDK's agent did; `auto` uses the \
                  first of them that works",
        section: Section::New,
        kind: Kind::Choice(&[
            Choice {
                word: "auto",
                set: |raw| raw.engine = Engine::Auto,
            },
            Choice {
                word: "signal",
                set: |raw| raw.engine = Engine::Signal,
            },
            Choice {
                word: "walker",
                set: |raw| raw.engine = Engine::Walker,
            },
            Choice {
                word: "safepoint",
                set: |raw| raw.engine = Engine::Safepoint,
            },
        ]),
    },
    OptionSpec {
        name: "signal",
        value: "<name|number>",
        default: "auto",
        summary: "signal of the timers",
        details: "the signal of the threads' timers (`cpu=samples` with `engine=signal`, \
                  `cpu=times`), such as `SIGPROF`, `PROF`, `RTMIN+3` or `27`; needed only if the program \
                  uses the default one",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.signal),
    },
    OptionSpec {
        name: "filter",
        value: "<pattern>[:...]",
        default: "*",
        summary: "threads to sample",
        details: "`cpu=samples|wall`: sample only threads whose name at their start matches a pattern, in \
                  which `*` stands for any characters, as in `filter=http-*:main`",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.filter),
    },
    OptionSpec {
        name: "states",
        value: "y|n",
        default: "y",
        summary: "cpu=wall: states as frames",
        details: "`cpu=wall`: the outermost frame of each stack is the state of the thread: `[running]`, \
                  `[runnable]`, `[blocked]`, `[waiting]`, `[sleeping]`, `[native]` or `[vm]`",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.states),
    },
    OptionSpec {
        name: "cstack",
        value: "y|n",
        default: "n",
        summary: "native code in stacks",
        details: "`cpu=samples|wall`: stacks of running threads begin with up to 32 frames `[native] symbol` of \
                  native code, beside the `depth` frames of Java; threads without Java frames have them alone. \
                  x86-64 only",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.c_stack),
    },
    OptionSpec {
        name: "vmthreads",
        value: "y|n",
        default: "n",
        summary: "CPU time of the VM as rows",
        details: "`cpu=samples`: rows `[gc]`, `[jit]`, `[vm]` and `[native]` for threads that run no Java \
                  code, so that samples times interval are the CPU time of the process",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.vm_threads),
    },
    OptionSpec {
        name: "timeline",
        value: "y|n",
        default: "n",
        summary: "times of samples",
        details: "`cpu=samples|wall`: the profile has the time of each sample beside the sums, in remarks (text) or \
                  strings (binary) that other readers pass over, so that `--from`, `--until` and `--by time` of \
                  `hprof-rs` work on it, and its page (`file=x.html`) shows them; about 8 bytes a sample. `hprof-rs record` \
                  sets it",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.timeline),
    },
    OptionSpec {
        name: "timelinemax",
        value: "<number>",
        default: "10000000",
        summary: "samples with a time",
        details: "`timeline=y`: samples that have a time, at most; later ones are in the sums alone, and a message \
                  says so. To a front-end (`net`): between two dumps",
        section: Section::New,
        kind: Kind::Decimal {
            min: 1,
            rule: "decimal and > 0",
            field: |raw| &mut raw.timeline_max,
        },
    },
    OptionSpec {
        name: "event",
        value: "<event>",
        default: "none",
        summary: "samples by a kernel event",
        details: "`cpu=samples`: samples are taken by an event of the kernel instead of CPU time: `page-faults`, \
                  `minor-faults`, `major-faults`, `context-switches`, `cpu-migrations`, `cpu-clock`, `task-clock`, \
                  `cycles`, `instructions`, `cache-references`, `cache-misses`, `branches`, `branch-misses`, a \
                  tracepoint such as `syscalls:sys_enter_write`, or calls of a native function such as `pthread_mutex_lock` or \
                  `G1CollectedHeap::humongous_obj_allocate`; the numbers of the table are events. Where the kernel \
                  refuses, a message says why: [events.md](events.md)",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.event),
    },
    OptionSpec {
        name: "every",
        value: "<number>",
        default: "0",
        summary: "events between two samples",
        details: "`event=`: one event in this many of a thread is a sample, which counts for all of them; 0 is the usual \
                  number of the event. `cpu-clock` and `task-clock` have `interval=` instead",
        section: Section::New,
        kind: Kind::Decimal {
            min: 0,
            rule: "decimal and >= 0",
            field: |raw| &mut raw.every,
        },
    },
    OptionSpec {
        name: "clock",
        value: "sampled|exact",
        default: "sampled",
        summary: "how cpu=times measures",
        details: "`cpu=times`: `sampled` checks about every millisecond of CPU time which method \
                  a thread is in; `exact` reads the wall clock at the start and end of every \
                  call, waiting included, and takes several times as long. `cpu=old` always uses \
                  `exact`.",
        section: Section::New,
        kind: Kind::Choice(&[
            Choice {
                word: "sampled",
                set: |raw| raw.clock = Clock::Sampled,
            },
            Choice {
                word: "exact",
                set: |raw| raw.clock = Clock::Exact,
            },
        ]),
    },
    OptionSpec {
        name: "include",
        value: "<pattern>[:...]",
        default: "*",
        summary: "classes to count",
        details: "`cpu=times|old`: count only calls of these classes, given by name, by package \
                  or with `*` for any characters, as in `include=com.example:*Servlet`",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.include),
    },
    OptionSpec {
        name: "exclude",
        value: "<pattern>[:...]",
        default: "none",
        summary: "classes not to count",
        details: "`cpu=times|old`: do not count calls of these classes; their time counts for \
                  their callers",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.exclude),
    },
    OptionSpec {
        name: "netwait",
        value: "<seconds>",
        default: "0",
        summary: "net: wait for a front-end",
        details: "`net`: how long to try to connect before giving up",
        section: Section::New,
        kind: Kind::Decimal {
            min: 0,
            rule: "decimal and >= 0",
            field: |raw| &mut raw.netwait,
        },
    },
    OptionSpec {
        name: "lost",
        value: "file|detach",
        default: "file",
        summary: "net: after the front-end ends",
        details: "`net`: when the connection to the front-end breaks, the profile continues in a \
                  `file` of the program's current folder; with `detach` nothing is written, the run \
                  ends, and the agent leaves the program, which also starts without a front-end",
        section: Section::New,
        kind: Kind::Choice(&[
            Choice {
                word: "file",
                set: |raw| raw.lost = Lost::File,
            },
            Choice {
                word: "detach",
                set: |raw| raw.lost = Lost::Detach,
            },
        ]),
    },
    OptionSpec {
        name: "exitcmd",
        value: "y|n",
        default: "n",
        summary: "net: obey the EXIT command",
        details: "`net`: whether the front-end's EXIT command ends the JVM, after a dump",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.exitcmd),
    },
    OptionSpec {
        name: "control",
        value: "y|n",
        default: "y",
        summary: "local control socket",
        details: "a socket under `/tmp`, open to the JVM's user only, by which `hprof-rs \
                  control` starts, stops, dumps and resets",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.control),
    },
    OptionSpec {
        name: "heapinterval",
        value: "<bytes>[k|m]",
        default: "0",
        summary: "bytes between allocations",
        details: "`heap=sites`: record one allocation in this many bytes on average, and \
                  estimate the rest; 0 records every allocation, and all figures are exact. \
                  `512k` costs next to nothing.",
        section: Section::New,
        kind: Kind::Bytes(|raw| &mut raw.heap_interval),
    },
    OptionSpec {
        name: "native",
        value: "<bytes>[k|m]",
        default: "0",
        summary: "memory outside of the heap",
        details: "who allocates by `malloc`, `calloc`, `realloc`, `mmap` and their like: one allocation in this many \
                  bytes on average is recorded with its stack of Java and native code, and followed until it is \
                  freed; 0 is off. `512k` costs next to nothing: [native-memory.md](native-memory.md)",
        section: Section::New,
        kind: Kind::Bytes(|raw| &mut raw.native),
    },
    OptionSpec {
        name: "nativelock",
        value: "y|n|<time>",
        default: "n",
        summary: "waits for native locks",
        details: "who waits for mutexes and read-write locks of native code, how often and how long: every wait by \
                  `pthread_mutex_lock`, `pthread_rwlock_rdlock` and `pthread_rwlock_wrlock` of any library, the JVM \
                  included, by its stack of Java and native code; with a time such as `100us` those that are as long or \
                  longer: [native-locks.md](native-locks.md)",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.native_lock),
    },
    OptionSpec {
        name: "slow",
        value: "<method>[:...]",
        default: "none",
        summary: "time each call of methods",
        details: "times every call of these methods, such as `com.acme.Api.handle` or `com.acme.Db.*`: how many took how long, \
                  and the ten slowest with time and thread. A threshold may follow each, `com.acme.Api.handle:200ms` or \
                  `:p99`: samples within slower calls are kept apart: [slow-calls.md](slow-calls.md)",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.slow),
    },
    OptionSpec {
        name: "shortcut",
        value: "y|n",
        default: "y",
        summary: "known sites need no event",
        details: "`heap=sites` with every allocation: lead one function of the JVM, by a jump at its \
                  start, to the agent, which counts objects of known sites there; `n` changes no \
                  code of the JVM and lets each object be an event of the JVM, which takes twice the \
                  time or more",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.shortcut),
    },
    OptionSpec {
        name: "live",
        value: "exact|estimate",
        default: "exact",
        summary: "how live objects are known",
        details: "`heap=sites`: `exact` follows every recorded object until it dies; `estimate` \
                  follows the first 1,024 of each site and one in 16 of the others, which is \
                  faster and takes less memory: the standard error of a site's live objects is at \
                  most the square root of 15 times their number",
        section: Section::New,
        kind: Kind::Choice(&[
            Choice {
                word: "exact",
                set: |raw| raw.live = Live::Exact,
            },
            Choice {
                word: "estimate",
                set: |raw| raw.live = Live::Estimate,
            },
        ]),
    },
    OptionSpec {
        name: "lockthreshold",
        value: "<us>",
        default: "0",
        summary: "shortest contention shown",
        details: "`monitor=y`: contention of fewer microseconds is left out, and costs less",
        section: Section::New,
        kind: Kind::Decimal {
            min: 0,
            rule: "decimal and >= 0",
            field: |raw| &mut raw.lock_threshold,
        },
    },
    OptionSpec {
        name: "dumplevel",
        value: "0|1|2",
        default: "2",
        summary: "how much heap dumps hold",
        details: "binary heap dumps, with the meanings of JVMPI: `2` all; `1` no primitive values; `0` \
                  objects and types only, so neither values nor references. Zeros stand for what \
                  is left out: [modes.md](modes.md#less-in-a-dump)",
        section: Section::New,
        kind: Kind::Choice(&[
            Choice {
                word: "0",
                set: |raw| raw.dump_level = 0,
            },
            Choice {
                word: "1",
                set: |raw| raw.dump_level = 1,
            },
            Choice {
                word: "2",
                set: |raw| raw.dump_level = 2,
            },
        ]),
    },
    OptionSpec {
        name: "strip",
        value: "none|arrays|values|all-but=<pattern>[:...]",
        default: "none",
        summary: "what heap dumps leave out",
        details: "binary heap dumps: zeros for the elements of primitive arrays (`arrays`), or for \
                  all primitive values as `dumplevel=1` (`values`), or for all but those of \
                  classes and fields that match a pattern, as in \
                  `strip=all-but=com.example.Config:*.size:int[]`",
        section: Section::New,
        kind: Kind::Text(|raw| &mut raw.strip),
    },
    OptionSpec {
        name: "primfields",
        value: "y|n",
        default: "y",
        summary: "primitive fields in dumps",
        details: "values of primitive fields in binary heap dumps",
        section: Section::Debug,
        kind: Kind::Switch(|raw| &mut raw.primfields),
    },
    OptionSpec {
        name: "primarrays",
        value: "y|n",
        default: "y",
        summary: "primitive arrays in dumps",
        details: "contents of primitive arrays in heap dumps",
        section: Section::Debug,
        kind: Kind::Switch(|raw| &mut raw.primarrays),
    },
    OptionSpec {
        name: "logflags",
        value: "<mask>",
        default: "0",
        summary: "what to log",
        details: "2: sizes of internal tables at start and end; 4: with `format=b`, read the \
                  finished file back and look up everything its records refer to, and list the \
                  records of heap dumps in `java.hprof.check.txt`; 1 is accepted, without effect",
        section: Section::Debug,
        kind: Kind::Mask(|raw| &mut raw.logflags),
    },
    OptionSpec {
        name: "debugflags",
        value: "<mask>",
        default: "0",
        summary: "no effect",
        details: "accepted, without effect",
        section: Section::Debug,
        kind: Kind::Mask(|raw| &mut raw.debugflags),
    },
    OptionSpec {
        name: "coredump",
        value: "y|n",
        default: "n",
        summary: "abort on fatal errors",
        details: "on a fatal error abort with a core dump instead of exit status 9",
        section: Section::Debug,
        kind: Kind::Switch(|raw| &mut raw.coredump),
    },
    OptionSpec {
        name: "errorexit",
        value: "y|n",
        default: "n",
        summary: "every error is fatal",
        details: "treat every reported error as fatal, also while the program runs: exit status 9",
        section: Section::Debug,
        kind: Kind::Switch(|raw| &mut raw.errorexit),
    },
    OptionSpec {
        name: "pause",
        value: "y|n",
        default: "n",
        summary: "wait for a debugger",
        details: "wait for a native debugger while loading",
        section: Section::Debug,
        kind: Kind::Switch(|raw| &mut raw.pause),
    },
    OptionSpec {
        name: "debug",
        value: "y|n",
        default: "n",
        summary: "coredump and checks",
        details: "as `coredump=y`, and check the finished file as `logflags=4` does, without the listing",
        section: Section::Debug,
        kind: Kind::Switch(|raw| &mut raw.debug),
    },
    OptionSpec {
        name: "X",
        value: "<number>",
        default: "0",
        summary: "no effect",
        details: "accepted, without effect",
        section: Section::Debug,
        kind: Kind::Mask(|raw| &mut raw.x),
    },
    OptionSpec {
        name: "exitpause",
        value: "...",
        default: "",
        summary: "removed",
        details: "removed, an option error: use the JVM's `-XX:OnError`",
        section: Section::Removed,
        // Both percent signs are part of the text the JDK's agent prints.
        kind: Kind::Removed {
            instead: "-XX:OnError='cmd %%p'",
        },
    },
    OptionSpec {
        name: "precrash",
        value: "...",
        default: "",
        summary: "removed",
        details: "removed, an option error: use the JVM's `-XX:OnError`",
        section: Section::Removed,
        kind: Kind::Removed {
            instead: "-XX:OnError='precrash -p %%p'",
        },
    },
];

#[cfg(test)]
mod tests {
    use super::super::parse::{Request, parse};
    use super::super::settings::MAX_DEPTH;
    use super::*;

    #[test]
    fn rows_keep_the_limits_of_the_grammar_and_the_help_layout() {
        for (index, spec) in TABLE.iter().enumerate() {
            assert!(
                !spec.name.is_empty() && spec.name.len() <= 15,
                "{}",
                spec.name
            );
            assert!(
                spec.name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_')
            );
            let width = spec.summary.chars().count();
            assert!(width <= 30, "{}: {width} columns", spec.name);
            assert!(
                !TABLE[..index].iter().any(|other| other.name == spec.name),
                "{}",
                spec.name
            );
        }
    }

    #[test]
    fn the_shown_default_is_the_one_in_force() {
        for spec in TABLE {
            let skipped = match spec.kind {
                // Off by default, or not a value.
                Kind::File | Kind::Net | Kind::Text(_) | Kind::Removed { .. } => true,
                _ => matches!(spec.name, "heap" | "cpu"),
            };
            if skipped {
                continue;
            }
            let text = format!("{}={}", spec.name, spec.default);
            let Ok(Request::Options(raw)) = parse(&text, None) else {
                panic!("{text}")
            };
            let (has_format, has_depth) = (spec.name == "format", spec.name == "depth");
            let (has_cutoff, has_force) = (spec.name == "cutoff", spec.name == "force");
            assert_eq!(
                *raw,
                Raw {
                    text,
                    has_format,
                    has_depth,
                    has_cutoff,
                    has_force,
                    ..Raw::default()
                }
            );
        }
    }

    #[test]
    fn the_depth_limit_in_the_details_is_the_one_in_force() {
        let depth = find("depth").map(|spec| spec.details).unwrap_or_default();
        assert!(depth.contains(&format!("0 to {MAX_DEPTH}.")), "{depth}");
    }

    #[test]
    fn names_leave_out_what_was_removed() {
        let names: Vec<_> = names().collect();
        assert!(names.contains(&"cpu") && names.contains(&"engine") && names.contains(&"X"));
        assert!(!names.contains(&"exitpause") && !names.contains(&"precrash"));
    }

    #[test]
    fn markdown_has_one_row_of_four_cells_per_option() {
        let table = markdown_table();
        assert_eq!(table.lines().count(), TABLE.len() + 2);
        for line in table.lines() {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 5, "{line}");
        }
        assert!(table.contains("| `heap=dump\\|sites\\|all` | `all` | JDK | "));
        assert!(
            table.contains("| `engine=auto\\|signal\\|walker\\|safepoint` | `auto` | hprof-rs | ")
        );
    }
}
