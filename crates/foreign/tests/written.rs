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
