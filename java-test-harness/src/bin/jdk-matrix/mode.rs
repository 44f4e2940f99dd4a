//! The modes, each with a program whose figures are known, and how the profile is compared with them.

use java_test_harness::{Content, Jdk, Outcome, TextProfile, Trace};

use crate::cell::{Difference, Lost, equal};

/// A row of the matrix.
pub struct Mode {
    /// Options of the agent, as the page shows them.
    pub name: &'static str,
    /// Further options that make the run short or complete.
    pub more: &'static str,
    /// The program and its arguments.
    pub program: &'static [&'static str],
    /// A description of the comparison, for the page.
    pub compares: &'static str,
    /// The first release that has what the mode looks at.
    pub since: u32,
    /// Compares the figures.
    pub compare: fn(&Seen<'_>) -> Result<(), Difference>,
    /// Samples without a whole stack, in modes that take samples.
    pub lost: Option<fn(&Outcome) -> Lost>,
}

/// A run that ended, and what is known of its JVM.
pub struct Seen<'a> {
    /// The run.
    pub outcome: &'a Outcome,
    /// True if its collector frees anything.
    pub collects: bool,
}

const SPIN: &[&str] = &["Spin", "0.5"];
const SPIN_SHARE: &str = "the share of a loop is that of the thread's CPU clock within four standard deviations; at most 2 % of \
    samples lack their stack (`engine=signal`: 40 %)";
const COUNTED: &[&str] = &["Counted"];
const CALLS: &str = "1,973 and 2,000 calls of two methods";
const ALLOCATIONS: &str = "1,200 instances, of which 500 are alive, by the methods that make them; 300 arrays, of which 100";
const CONTENTION: &str = "two entries into each of 14 kinds of locks, with their times";
const SINCE_8: u32 = 8;

/// All modes, in the order of the page.
pub const MODES: &[Mode] = &[
    Mode {
        name: "cpu=samples",
        more: ",interval=1,depth=64",
        program: SPIN,
        compares: SPIN_SHARE,
        since: SINCE_8,
        compare: spin,
        lost: Some(lost_of_spin),
    },
    Mode {
        name: "cpu=samples,engine=walker",
        more: ",interval=1,depth=64",
        program: SPIN,
        compares: SPIN_SHARE,
        since: SINCE_8,
        compare: spin_walked,
        lost: Some(lost_of_spin),
    },
    Mode {
        name: "cpu=samples,engine=signal",
        more: ",interval=1,depth=64",
        program: SPIN,
        compares: SPIN_SHARE,
        since: SINCE_8,
        compare: spin_by_signals,
        lost: Some(lost_of_spin),
    },
    Mode {
        name: "cpu=samples,engine=safepoint",
        more: ",interval=1,depth=64",
        program: SPIN,
        compares: SPIN_SHARE,
        since: SINCE_8,
        compare: spin,
        lost: None,
    },
    Mode {
        name: "cpu=samples, virtual threads",
        more: ",interval=1,depth=200",
        program: &["VirtualThreads", "many", "1", "300"],
        compares: "95 % of samples reach the root of their virtual thread",
        since: 21,
        compare: virtual_threads,
        lost: Some(lost_of_virtual_threads),
    },
    Mode {
        name: "cpu=wall",
        more: ",thread=y,depth=64",
        program: &["States", "0.6"],
        compares: "95 % of samples of each waiting thread have its state and its method",
        since: SINCE_8,
        compare: wall,
        lost: None,
    },
    Mode {
        name: "cpu=times",
        more: ",cutoff=0",
        program: COUNTED,
        compares: CALLS,
        since: SINCE_8,
        compare: times,
        lost: None,
    },
    Mode {
        name: "cpu=times,clock=exact",
        more: ",cutoff=0",
        program: COUNTED,
        compares: CALLS,
        since: SINCE_8,
        compare: times,
        lost: None,
    },
    Mode {
        name: "cpu=old",
        more: "",
        program: COUNTED,
        compares: CALLS,
        since: SINCE_8,
        compare: old,
        lost: None,
    },
    Mode {
        name: "monitor=y",
        more: "",
        program: &["Contention", "2"],
        compares: CONTENTION,
        since: SINCE_8,
        compare: contention,
        lost: None,
    },
    Mode {
        name: "monitor=y, virtual threads",
        more: "",
        program: &["Contention", "2", "virtual"],
        compares: CONTENTION,
        since: 21,
        compare: contention,
        lost: None,
    },
    Mode {
        name: "heap=sites",
        more: ",depth=8,cutoff=0",
        program: COUNTED,
        compares: ALLOCATIONS,
        since: SINCE_8,
        compare: sites,
        lost: None,
    },
    Mode {
        name: "heap=dump",
        more: "",
        program: COUNTED,
        compares: "500 instances",
        since: SINCE_8,
        compare: dump,
        lost: None,
    },
    Mode {
        name: "heap=all",
        more: ",depth=8,cutoff=0",
        program: COUNTED,
        compares: "both of the above in one file, the trace of each instance included",
        since: SINCE_8,
        compare: sites_and_dump,
        lost: None,
    },
    Mode {
        name: "heap=all,format=b",
        more: ",depth=8,cutoff=0",
        program: COUNTED,
        compares: "500 instances, read back with their traces",
        since: SINCE_8,
        compare: binary,
        lost: None,
    },
];

impl Mode {
    /// The mode of that name.
    pub fn named(name: &str) -> &'static Mode {
        let mut all = MODES.iter();
        all.find(|mode| mode.name == name)
            .unwrap_or_else(|| panic!("no mode {name}"))
    }

    /// The agent's options.
    pub fn options(&self) -> String {
        let name = self.name.split(", ").next().unwrap_or(self.name);
        format!("{name}{}", self.more)
    }

    /// Why the release cannot have it.
    pub fn reason_against(&self, jdk: &Jdk) -> Option<String> {
        (jdk.feature() < self.since)
            .then(|| format!("no virtual threads before JDK {}", self.since))
    }
}

fn share_of_hot(outcome: &Outcome, max_lost: f64) -> Result<(), Difference> {
    let profile = outcome.profile();
    let [hot, warm] = ["Spin.hot", "Spin.warm"].map(|it| profile.samples_with(it) as f64);
    let truth = outcome.printed("hot") / (outcome.printed("hot") + outcome.printed("warm"));
    let share = hot / (hot + warm);
    // A kernel looks at timers of CPU time at its ticks, every fourth millisecond.
    let deviation = (truth * (1.0 - truth) / ((hot + warm) / 4.0)).sqrt();
    if share.is_nan() || (share - truth).abs() > 4.0 * deviation {
        return Err(format!("hot has {share:.2}, in truth {truth:.2}").into());
    }
    let lost = lost_of_spin(outcome);
    match lost.lost as f64 <= max_lost * lost.all as f64 {
        true => equal("internal errors", profile.counter("internal_errors"), 0),
        false => Err(Difference::Lossy(format!(
            "{:.0} % of samples have no stack",
            100.0 * lost.lost as f64 / lost.all as f64
        ))),
    }
}

fn spin(seen: &Seen<'_>) -> Result<(), Difference> {
    share_of_hot(seen.outcome, 0.02)
}

fn spin_by_signals(seen: &Seen<'_>) -> Result<(), Difference> {
    share_of_hot(seen.outcome, 0.4)
}

fn spin_walked(seen: &Seen<'_>) -> Result<(), Difference> {
    share_of_hot(seen.outcome, 0.02)?;
    match seen.outcome.profile().counter("walks_checked") {
        16.. => Ok(()),
        few => Err(format!("{few} walks were compared with the VM's").into()),
    }
}

fn lost_of_spin(outcome: &Outcome) -> Lost {
    let profile = outcome.profile();
    let lost = profile.samples_with(".[no_stack]");
    let is_spinning = |trace: &Trace| trace.has("Spin.hot") || trace.has("Spin.warm");
    let is_whole = |trace: &Trace| is_spinning(trace) && trace.has("Spin$Spinner.run");
    let (spinning, whole) = (profile.samples(is_spinning), profile.samples(is_whole));
    Lost {
        lost: lost + spinning - whole,
        all: lost + spinning,
    }
}

fn virtual_threads(seen: &Seen<'_>) -> Result<(), Difference> {
    let Lost { lost, all } = lost_of_virtual_threads(seen.outcome);
    // Some of them begin or end at any time.
    match all > 20 && lost * 20 <= all {
        true => Ok(()),
        false => Err(format!("{lost} of {all} stacks are cut").into()),
    }
}

fn lost_of_virtual_threads(outcome: &Outcome) -> Lost {
    let profile = outcome.profile();
    let is_working = |trace: &Trace| trace.has("VirtualThreads.work");
    let is_whole = |trace: &Trace| is_working(trace) && trace.has("java.lang.VirtualThread.run");
    let (all, whole) = (profile.samples(is_working), profile.samples(is_whole));
    Lost {
        lost: all - whole,
        all,
    }
}

fn wall(seen: &Seen<'_>) -> Result<(), Difference> {
    let profile = seen.outcome.profile();
    for (thread, state, method) in [
        ("sleeper", ".[sleeping]", "java.lang.Thread.sleep"),
        ("waiter", ".[waiting]", "java.lang.Object.wait"),
        ("blocked", ".[blocked]", "States.block"),
        ("reader", ".[native]", "States.read"),
    ] {
        let serial = Some(profile.thread(thread).serial);
        let all = profile.samples(|trace| trace.thread == serial);
        for frame in [state, method] {
            let found = profile.samples(|trace| trace.thread == serial && trace.has(frame));
            if all < 20 || found * 100 < all * 95 {
                return Err(format!("{found} of {all} samples of {thread} have {frame}").into());
            }
        }
    }
    Ok(())
}

fn times(seen: &Seen<'_>) -> Result<(), Difference> {
    let profile = seen.outcome.profile();
    equal("calls of fib", profile.calls("Counted.fib"), 1973)?;
    equal("calls of leaf", profile.calls("Counted.leaf"), 2000)?;
    equal("calls of main", profile.calls("Counted.main"), 1)?;
    equal("internal errors", profile.counter("internal_errors"), 0)
}

fn old(seen: &Seen<'_>) -> Result<(), Difference> {
    let text = String::from_utf8_lossy(&seen.outcome.bytes("java.hprof.txt")).into_owned();
    for (method, calls) in [("Counted.fib", 1973), ("Counted.leaf", 2000)] {
        let rows = text.lines().filter_map(|line| {
            let (count, rest) = line.split_once(' ')?;
            let callee = rest.split('(').next()?;
            (callee == method).then(|| count.parse::<u64>().ok())?
        });
        equal(method, rows.sum(), calls)?;
    }
    Ok(())
}

fn contention(seen: &Seen<'_>) -> Result<(), Difference> {
    let profile = seen.outcome.profile();
    let mut kinds = 0;
    // Lines of the VM's own begin with a bracket.
    let lines = seen.outcome.stdout.lines();
    for line in lines.filter(|line| !line.starts_with('[')) {
        let [kind, count, least, most] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("malformed: {line}").into());
        };
        kinds += 1;
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|error| format!("{line}: {error}"))
        };
        let method = format!("Contention.{kind}");
        let (found, millis) = profile.contended(|_, trace| trace.has(&method));
        equal(kind, found, number(count)?)?;
        let [least, most] = [number(least)?, number(most)?].map(|nanos| nanos as f64 / 1e6);
        // Shares are rounded to 0.01 % of the total.
        if millis < 0.99 * least - 2.0 || millis > most + 2.0 {
            return Err(format!("{kind}: {millis:.1} ms, not {least:.1} to {most:.1}").into());
        }
    }
    equal("kinds of locks", kinds, 14)
}

fn sites(seen: &Seen<'_>) -> Result<(), Difference> {
    sites_of(&seen.outcome.profile(), seen.collects)
}

fn sites_of(profile: &TextProfile, collects: bool) -> Result<(), Difference> {
    for (class, method, allocated, live) in [
        ("Counted$Item", "Counted.keep", 500, 500),
        ("Counted$Item", "Counted.drop", 700, 0),
        ("int[]", "Counted.arrays", 300, 100),
    ] {
        let live = if collects { live } else { allocated };
        let rows = profile.sites_with(method).filter(|row| row.class == class);
        let (made, alive) = rows.fold((0, 0), |sum, row| {
            (sum.0 + row.allocated_objects, sum.1 + row.live_objects)
        });
        equal(&format!("{class} made in {method}"), made, allocated)?;
        equal(&format!("{class} alive of {method}"), alive, live)?;
    }
    Ok(())
}

fn dump(seen: &Seen<'_>) -> Result<(), Difference> {
    dump_of(&seen.outcome.profile(), seen.collects)
}

fn dump_of(profile: &TextProfile, collects: bool) -> Result<(), Difference> {
    let counts = profile.heap().counts();
    let found = counts.get("Counted$Item").map_or(0, |count| count.0);
    equal("instances", found, instances(collects))
}

fn instances(collects: bool) -> u64 {
    if collects { 500 } else { 1200 }
}

fn sites_and_dump(seen: &Seen<'_>) -> Result<(), Difference> {
    let profile = seen.outcome.profile();
    sites_of(&profile, seen.collects)?;
    dump_of(&profile, seen.collects)?;
    let items = profile.heap().entries.values();
    let traced = items.filter(|it| it.class == "Counted$Item").filter(|it| {
        let trace = profile.traces.get(&it.trace);
        trace.is_some_and(|trace| trace.has("Counted.keep") || trace.has("Counted.drop"))
    });
    equal(
        "instances with their trace",
        traced.count() as u64,
        instances(seen.collects),
    )
}

fn binary(seen: &Seen<'_>) -> Result<(), Difference> {
    let profile = seen.outcome.binary_profile("java.hprof");
    let has = |serial: u32, methods: &[&str]| {
        let frames = profile.traces.get(&serial).into_iter();
        let mut frames = frames.flat_map(|trace| &trace.frames);
        frames.any(|id| methods.contains(&profile.frames[id].method.as_str()))
    };
    let table = profile
        .site_tables
        .last()
        .ok_or_else(|| "no table of sites".to_owned())?;
    let rows = table.iter().filter(|row| row.class == "Counted$Item");
    let made = rows.filter(|row| has(row.trace, &["Counted.keep", "Counted.drop"]));
    let made = made.map(|row| u64::from(row.allocated_objects)).sum();
    equal("instances made", made, 1200)?;
    let heap = profile.heap();
    let alive = heap.objects.values().filter(|object| {
        let Content::Instance(class, _) = &object.content else {
            return false;
        };
        let is_item = profile
            .class_names
            .get(class)
            .is_some_and(|name| name == "Counted$Item");
        is_item && has(object.trace, &["Counted.keep", "Counted.drop"])
    });
    equal("instances", alive.count() as u64, instances(seen.collects))
}
