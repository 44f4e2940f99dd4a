//! The options that only this agent has.

use super::{Choice, Kind, OptionSpec, Section};
use crate::settings::{Clock, Engine, Live, Lost};

/// In the order of the help text.
pub(super) static ROWS: &[OptionSpec] = &[
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
                  native code, beside the `depth` frames of Java; threads without Java frames have them alone; with \
                  `event=` up to 32 frames `[kernel] function` stand above them. x86-64 only",
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
                  `pthread_mutex_lock`, `pthread_rwlock_rdlock`, `pthread_rwlock_wrlock` and their forms with a limit, of any \
                  library, the JVM included, by its stack of Java and native code; with a time such as `100us` those that are as long or \
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
        name: "spans",
        value: "y|n",
        default: "n",
        summary: "spans that the program names",
        details: "times spans as `slow=` times calls: the program begins one with `java.lang.HprofSpan.start(name)`, a class that \
                  the agent brings, and ends it with `close()`. The same as `slow=span.*`; `slow=span.checkout:200ms` times \
                  spans of one name, with a threshold: [slow-calls.md](slow-calls.md#spans)",
        section: Section::New,
        kind: Kind::Switch(|raw| &mut raw.spans),
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
];
