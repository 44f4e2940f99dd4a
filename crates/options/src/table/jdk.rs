//! The options of the JDK's agent, and those of this one that stand beside them in the help text.

use super::{Choice, Kind, OptionSpec, Section};
use crate::raw::Timing;
use crate::settings::{Format, Locks, SampleClock};

/// In the order of the help text.
pub(super) static ROWS: &[OptionSpec] = &[
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
];
