//! Events of other profilers than the JDK, and of unfamiliar layout.

mod support;

use hprof_foreign::{Kind, NotShown, Note, Profile, Unreadable, read};
use hprof_stacks::{Measure, by_method};
use support::{Metadata, checkpoint, chunk, event, number, numbers, text};

/// Types of frames and states, as async-profiler and Datadog have them.
fn metadata() -> Metadata {
    let mut all = Metadata::of_samples();
    all.class(12, "long", &[]);
    all.class(13, "float", &[]);
    all.class(26, "jdk.types.ThreadState", &[("name", 11, "")]);
    all.class(27, "jdk.types.FrameType", &[("description", 11, "")]);
    all
}

/// A thread, and the stacks 1, `a.work`, and 2, `a.rest`.
fn pools(states: &[&str], frame_types: &[&str]) -> Vec<u8> {
    let named = |names: &[&str]| {
        let entries = (1..).zip(names);
        let entries = entries.flat_map(|(key, name)| [number(key), text(name.as_bytes())].concat());
        entries.collect::<Vec<u8>>()
    };
    checkpoint(&[
        (24, 3, named(&["a", "work", "rest"])),
        (23, 1, numbers(&[1, 1])),
        (20, 2, numbers(&[1, 1, 2, 2, 1, 3])),
        (22, 2, numbers(&[1, 1, 1, 7, 2, 1, 2, 8])),
        (25, 1, numbers(&[1, 4242])),
        (26, states.len() as u64, named(states)),
        (27, frame_types.len() as u64, named(frame_types)),
    ])
}

fn profile(events: &[Vec<u8>]) -> Profile {
    let profile = read(&chunk(events), Kind::Jfr, &mut |_| {}).expect("a known version");
    assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
    profile
}

fn total(profile: &Profile, measure: Measure) -> u64 {
    let found = profile.weights.iter().find(|it| it.measure == measure);
    found.map_or(0, |it| it.total)
}

const SAMPLE: u64 = 40;
const RUNNABLE: u64 = 1;
const SLEEPING: u64 = 2;
const DEFAULT: u64 = 3;

/// Samples with states: stack and state.
fn sampled(states: &[&str], frame_types: &[&str], samples: &[(u64, u64)]) -> Profile {
    let mut types = metadata();
    let fields = [
        ("sampledThread", 25, "pool"),
        ("stackTrace", 22, "pool"),
        ("state", 26, "pool"),
    ];
    types.class(SAMPLE, "jdk.ExecutionSample", &fields);
    types.classes.retain({
        // The one without a state.
        let mut place = 0;
        move |_| {
            place += 1;
            place != 9
        }
    });
    let mut events = vec![types.event(), pools(states, frame_types)];
    events.extend(
        samples
            .iter()
            .map(|&(stack, state)| event(SAMPLE, &numbers(&[1, stack, state]))),
    );
    profile(&events)
}

/// async-profiler before 2.0 and its forks name two states, and the samples of one recording have one clock.
#[test]
fn sleeping_samples_of_async_profiler_are_no_cpu_time() {
    let old = ["STATE_RUNNABLE", "STATE_SLEEPING"];
    let async_profiler = ["Interpreted", "Kernel"];
    let wall = [(1, RUNNABLE), (2, SLEEPING), (2, SLEEPING), (1, RUNNABLE)];
    let profile = sampled(&old, &async_profiler, &wall);
    assert_eq!(total(&profile, Measure::Samples), 0);
    assert_eq!(total(&profile, Measure::Wall), 4);
    // None slept: CPU time.
    let profile = sampled(&old, &async_profiler, &[(1, RUNNABLE), (1, RUNNABLE)]);
    assert_eq!(total(&profile, Measure::Samples), 2);
    assert_eq!(total(&profile, Measure::Wall), 0);
    // Newer ones tell.
    let new = ["STATE_RUNNABLE", "STATE_SLEEPING", "STATE_DEFAULT"];
    let both = [(1, DEFAULT), (1, RUNNABLE), (2, SLEEPING)];
    let profile = sampled(&new, &async_profiler, &both);
    assert_eq!(total(&profile, Measure::Samples), 1);
    assert_eq!(total(&profile, Measure::Wall), 2);
    // The JDK samples threads that run.
    let profile = sampled(&old, &["Interpreted"], &[(1, RUNNABLE), (1, RUNNABLE)]);
    assert_eq!(total(&profile, Measure::Samples), 2);
}

/// The agent writes functions of the kernel so, and pictures know them by that.
#[test]
fn functions_of_the_kernel_are_marked() {
    let mut types = metadata();
    let fields = [
        ("method", 20, "pool"),
        ("lineNumber", 10, ""),
        ("type", 27, "pool"),
    ];
    types.class(21, "jdk.types.StackFrame", &fields);
    // The frame without a type, after three classes.
    types.classes.remove(3);
    let named = |names: &[&str]| {
        let entries = (1..).zip(names);
        let entries = entries.flat_map(|(key, name)| [number(key), text(name.as_bytes())].concat());
        entries.collect::<Vec<u8>>()
    };
    let kernel = 3;
    let pools = checkpoint(&[
        (24, 3, named(&["", "do_futex", "write"])),
        (23, 1, numbers(&[1, 1])),
        (20, 2, numbers(&[1, 1, 2, 2, 1, 3])),
        (22, 1, numbers(&[1, 2, 1, 0, kernel, 2, 0, 2])),
        (25, 1, numbers(&[1, 4242])),
        (27, 3, named(&["Interpreted", "Native", "Kernel"])),
    ]);
    let profile = profile(&[types.event(), pools, event(30, &numbers(&[1, 1]))]);
    let costs = by_method(&profile.stacks, &profile.weights[0]);
    let names: Vec<_> = costs.iter().map(|it| (&*it.name, it.own)).collect();
    assert_eq!(names, [("[kernel] do_futex", 1), ("write", 0)]);
}

#[test]
fn events_of_datadog_and_malloc_are_shown() {
    let mut types = metadata();
    let thread = [("eventThread", 25, "pool"), ("stackTrace", 22, "pool")];
    let with = |more: &[(&'static str, u64, &'static str)]| [&thread[..], more].concat();
    types.class(50, "datadog.ExecutionSample", &with(&[("weight", 12, "")]));
    types.class(51, "datadog.MethodSample", &with(&[("weight", 12, "")]));
    types.class(
        52,
        "datadog.ObjectSample",
        &with(&[
            ("objectClass", 23, "pool"),
            ("size", 12, ""),
            ("weight", 13, ""),
        ]),
    );
    types.class(
        53,
        "profiler.Malloc",
        &with(&[("address", 12, ""), ("size", 12, "")]),
    );
    types.class(54, "datadog.ExceptionSample", &with(&[]));
    types.class(55, "jdk.FileRead", &with(&[]));
    let weighted = [numbers(&[1, 1, 1, 100]), 2.5_f32.to_be_bytes().to_vec()].concat();
    let events = [
        types.event(),
        pools(&["RUNNABLE"], &["Interpreted", "Kernel"]),
        event(50, &numbers(&[1, 1, 1])),
        event(50, &numbers(&[1, 2, 1])),
        event(51, &numbers(&[1, 2, 30])),
        event(52, &weighted),
        event(53, &numbers(&[1, 1, 0xffff, 4096])),
        event(53, &numbers(&[1, 1, 0xeeee, 1000])),
        event(54, &numbers(&[1, 1])),
        event(55, &numbers(&[1, 1])),
    ];
    let profile = profile(&events);
    let totals: Vec<_> = profile
        .weights
        .iter()
        .map(|it| (it.measure, it.total))
        .collect();
    let expected = [
        (Measure::Samples, 2),
        (Measure::AllocatedBytes, 250),
        (Measure::Wall, 30),
        (Measure::NativeBytes, 5096),
    ];
    assert_eq!(totals, expected);
    let costs = by_method(&profile.stacks, &profile.weights[3]);
    assert_eq!((&*costs[0].name, costs[0].own), ("a.work", 5096));
    // Recordings of the JDK have stacks of many events that are no profile.
    assert_eq!(
        profile.notes,
        [Note::NotShown(vec![not_shown(
            "datadog.ExceptionSample",
            1
        )])]
    );
}

fn not_shown(event: &str, count: u64) -> NotShown {
    NotShown {
        event: event.to_owned(),
        count,
    }
}

#[test]
fn events_of_unfamiliar_layout_are_named_with_their_number() {
    let mut types = metadata();
    types.class(
        60,
        "jdk.ObjectAllocationSample",
        &[("stackTrace", 22, "pool")],
    );
    types.class(
        61,
        "jdk.CPUTimeSample",
        &[("stack", 22, "pool"), ("samplingPeriod", 12, "")],
    );
    types.class(62, "com.example.Order", &[("stackTrace", 22, "pool")]);
    types.class(63, "jdk.FileRead", &[("stackTrace", 22, "pool")]);
    let mut events = vec![types.event(), pools(&[], &[])];
    events.extend((0..5).map(|_| event(60, &numbers(&[1]))));
    events.extend((0..3).map(|_| event(61, &numbers(&[1, 10]))));
    events.extend([event(62, &numbers(&[1])), event(63, &numbers(&[1]))]);
    let all = [
        not_shown("jdk.ObjectAllocationSample", 5),
        not_shown("jdk.CPUTimeSample", 3),
        not_shown("com.example.Order", 1),
        not_shown("jdk.FileRead", 1),
    ];
    // Without any cost, everything with a stack says what was recorded.
    let empty = profile(&events);
    assert!(empty.weights.is_empty(), "{:?}", empty.weights);
    assert_eq!(empty.notes, [Note::NotShown(all.to_vec())]);
    let said = empty.notes[0].to_string();
    assert!(
        said.starts_with("not shown: jdk.ObjectAllocationSample (5), jdk.CPUTimeSample (3)"),
        "{said}"
    );
    events.push(event(30, &numbers(&[1, 1])));
    let with_samples = profile(&events);
    assert_eq!(total(&with_samples, Measure::Samples), 1);
    assert_eq!(with_samples.notes, [Note::NotShown(all[..3].to_vec())]);
}

#[test]
fn recordings_of_other_versions_are_named() {
    let whole = chunk(&[
        metadata().event(),
        pools(&[], &[]),
        event(30, &numbers(&[1, 1])),
    ]);
    let of_version = |major: u8, minor: u8| {
        let mut file = whole.clone();
        (file[5], file[7]) = (major, minor);
        file
    };
    let unreadable = |file: &[u8]| read(file, Kind::Jfr, &mut |_| {}).expect_err("another version");
    let old = unreadable(&of_version(0, 9).repeat(3));
    assert_eq!(old, Unreadable::OldRecording { major: 0, minor: 9 });
    assert!(old.to_string().contains("version 0.9"), "{old}");
    assert!(old.to_string().contains("JDK Mission Control"), "{old}");
    let old = unreadable(&of_version(1, 0));
    assert_eq!(old, Unreadable::OldRecording { major: 1, minor: 0 });
    let new = unreadable(&of_version(3, 1)[..20]);
    assert_eq!(new, Unreadable::UnknownRecording { major: 3, minor: 1 });
    // A damaged head in front of chunks that are whole is damage.
    let file = [of_version(0, 9), whole.clone()].concat();
    let profile = read(&file, Kind::Jfr, &mut |_| {}).expect("a whole chunk");
    assert_eq!(profile.damaged, 1);
    assert_eq!(profile.damage[0].lost_bytes, whole.len() as u64);
    assert_eq!(total(&profile, Measure::Samples), 1);
}
