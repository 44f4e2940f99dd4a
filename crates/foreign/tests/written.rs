//! Recordings that are written are read back, and any profile can be one.

use hprof_foreign::{Kind, jfr, read};
use hprof_stacks::pictures::profile::Profile;
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
