//! Recordings that are written are read back, and any profile can be one.

use hprof_foreign::{Kind, jfr, read};
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::slow::{SlowCall, SlowMethod, SlowSpan};
use hprof_stacks::timeline::Window;
use hprof_stacks::{Measure, by_method};

/// The profile of a file as pictures need it, written as a recording.
fn written(file: &[u8]) -> (hprof_foreign::Profile, Vec<u8>) {
    let kind = Kind::of(file).expect("a known format");
    let read = read(file, kind, &mut |_| {}).expect("a profile");
    let threads = read.threads.clone();
    let thread_name = move |serial| {
        let mut all = threads.iter();
        all.find(|it| it.serial == serial).map(|it| it.name.clone())
    };
    let profile = Profile {
        title: "test",
        stacks: &read.stacks,
        weights: read.weights.clone(),
        thread_name: &thread_name,
        remarks: &[],
        own: None,
        depth: None,
    };
    let bytes = jfr::write::write(&profile, None, Some(1_700_000_000_000), None);
    (read, bytes)
}

#[test]
fn a_recording_that_was_written_is_read_back() {
    let file = b"[main tid=1];a/B.main;a/B.work 12\n[io tid=2];a/B.main;libc.so.6 3\n";
    let (original, bytes) = written(file);
    let back = read(&bytes, Kind::of(&bytes).expect("JFR"), &mut |_| {}).expect("a recording");
    assert_eq!(back.damaged, 0, "{:?}", back.damage);
    assert_eq!(back.created_millis, Some(1_700_000_000_000));
    let costs = |profile: &hprof_foreign::Profile| {
        assert_eq!(profile.weights.len(), 1);
        assert_eq!(profile.weights[0].measure, Measure::Samples);
        by_method(&profile.stacks, &profile.weights[0])
    };
    assert_eq!(costs(&back), costs(&original));
    let names = |profile: &hprof_foreign::Profile| {
        let mut names: Vec<_> = profile.threads.iter().map(|it| it.name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&back), names(&original));
}

/// Sums of allocations are read back; blocks that were freed have two events.
/// Waits for native locks are the events of async-profiler.
#[test]
fn waits_for_native_locks_are_read_back() {
    let file = b"a/B.main;a/B.work 12\na/B.main;libc.so.6 3\n";
    let kind = Kind::of(file).expect("a known format");
    let original = read(file, kind, &mut |_| {}).expect("a profile");
    let mut weights = original.weights[0].clone();
    weights.measure = Measure::NativeLock;
    let profile = Profile {
        title: "test",
        stacks: &original.stacks,
        weights: vec![weights],
        thread_name: &|_| None,
        remarks: &[],
        own: None,
        depth: None,
    };
    let bytes = jfr::write::write(&profile, None, None, None);
    let name = b"profiler.NativeLock";
    assert!(bytes.windows(name.len()).any(|it| it == name));
    let back = read(&bytes, Kind::of(&bytes).expect("JFR"), &mut |_| {}).expect("a recording");
    assert_eq!(back.damaged, 0, "{:?}", back.damage);
    assert_eq!(back.weights.len(), 1);
    assert_eq!(back.weights[0].measure, Measure::NativeLock);
    assert_eq!(back.weights[0].total, 15);
    let costs = by_method(&back.stacks, &back.weights[0]);
    assert_eq!(costs, by_method(&original.stacks, &profile.weights[0]));
}

#[test]
fn native_memory_is_allocated_and_freed() {
    let file = b"a/B.main;a/B.work 12\na/B.main;libc.so.6 3\n";
    let kind = Kind::of(file).expect("a known format");
    let original = read(file, kind, &mut |_| {}).expect("a profile");
    let allocated = &original.weights[0];
    let mut live = allocated.clone();
    live.rows[0].value = 5;
    live.rows.truncate(1);
    let profile = Profile {
        title: "test",
        stacks: &original.stacks,
        weights: Vec::new(),
        thread_name: &|_| None,
        remarks: &[],
        own: None,
        depth: None,
    };
    let bytes_of = |live| {
        let memory = jfr::write::NativeMemory { allocated, live };
        jfr::write::write(&profile, Some(memory), None, None)
    };
    let lengths = [None, Some(&live)].map(|live| {
        let bytes = bytes_of(live);
        let back = read(&bytes, Kind::of(&bytes).expect("JFR"), &mut |_| {}).expect("a recording");
        assert_eq!(back.damaged, 0, "{:?}", back.damage);
        assert_eq!(back.weights[0].measure, Measure::NativeBytes);
        let costs = by_method(&back.stacks, &back.weights[0]);
        assert_eq!(costs, by_method(&original.stacks, allocated));
        bytes.len()
    });
    // One stack has freed a part, so that it has an event more for what is left, and both have one for what is freed.
    assert!(lengths[1] > lengths[0] + 3 * 8, "{lengths:?}");
}

/// Reads events of slow calls.
#[derive(Default)]
struct SlowCalls(Vec<(i64, u64, String, String, Option<u64>, String)>);

impl jfr::any::Visitor for SlowCalls {
    fn wants(&self, name: &str) -> bool {
        name == "profiler.SlowCall"
    }

    fn event(&mut self, event: &mut jfr::any::Event<'_, '_, '_>) {
        let (at, duration) = (event.at, event.duration);
        let thread = event.text("eventThread").into_owned();
        let method = event.text("method").into_owned();
        let cpu = event.number("cpuTime");
        let cpu = cpu.and_then(|cpu| u64::try_from(cpu).ok());
        let trace = event.text("traceId").into_owned();
        self.0.push((at, duration, thread, method, cpu, trace));
    }
}

#[test]
fn slow_calls_are_events_with_their_times() {
    let began = 1_700_000_000_000_000_000;
    let call = |offset: i64, wall: u64, thread: &str, trace: &str| SlowCall {
        began: began + offset,
        wall,
        cpu: wall / 2,
        thread: thread.to_owned(),
        serial: Some(7),
        trace_id: (!trace.is_empty()).then(|| trace.to_owned()),
        ..SlowCall::default()
    };
    let handle = SlowMethod {
        class: "acme.Api".to_owned(),
        name: "handle".to_owned(),
        descriptor: "(I)V".to_owned(),
        slowest: vec![call(5_000_000, 900_000_000, "http-1", "4bf9")],
        spans: vec![
            // The slowest itself, and one beside it.
            SlowSpan(began / 1000 + 5_000, 900_000, 7),
            SlowSpan(began / 1000 + 2_000_000, 300_000, 8),
        ],
        ..SlowMethod::default()
    };
    let span = SlowMethod {
        class: "span".to_owned(),
        name: "check out".to_owned(),
        slowest: vec![SlowCall {
            serial: None,
            ..call(0, 1_000, "#99", "")
        }],
        ..SlowMethod::default()
    };
    let stacks = hprof_stacks::Stacks::default();
    let profile = Profile {
        title: "test",
        stacks: &stacks,
        weights: Vec::new(),
        thread_name: &|_| Some("http-2".to_owned()),
        remarks: &[],
        own: None,
        depth: None,
    };
    let methods = [handle, span];
    let events = |part| {
        let bytes = jfr::write::slow_calls(&profile, &methods, part);
        let mut calls = SlowCalls::default();
        let read = jfr::any::read(&bytes, &mut calls, &mut |_| {});
        assert_eq!(read.skipped.damaged, 0, "{:?}", read.skipped.damage);
        calls.0.sort();
        calls.0
    };
    let text = str::to_owned;
    let known = [
        (
            began,
            1_000,
            text("#99"),
            text("span.check out"),
            Some(500),
            text(""),
        ),
        (
            began + 5_000_000,
            900_000_000,
            text("http-1"),
            text("acme.Api.handle"),
            Some(450_000_000),
            text("4bf9"),
        ),
        (
            began + 2_000_000_000,
            300_000_000,
            text("http-2"),
            text("acme.Api.handle"),
            None,
            text(""),
        ),
    ];
    assert_eq!(events(None), known);
    let part = Window {
        from: began + 950_000_000,
        to: began + 3_000_000_000,
    };
    assert_eq!(events(Some(part)), known[2..]);
    let nothing = Window {
        from: 0,
        to: began - 1,
    };
    assert!(jfr::write::slow_calls(&profile, &methods, Some(nothing)).is_empty());
}
