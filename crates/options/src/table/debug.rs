//! Options for debugging the agent, and those that the JDK has removed.

use super::{Kind, OptionSpec, Section};

/// `help` lists none of them.
pub(super) static ROWS: &[OptionSpec] = &[
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
