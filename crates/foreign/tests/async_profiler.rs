//! Recordings of async-profiler are read as its own converter reads them.
//!
//! The data are a recording of `Recorded` of the Java programs for tests on JDK 17 by async-profiler 4.5, with
//! `event=itimer,interval=2ms,wall=20ms,alloc=512k,lock=1ms`, and what `jfrconv --total -o collapsed` makes
//! of it with `--cpu`, `--wall`, `--alloc` and `--lock`.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use hprof_foreign::{Kind, Profile, read};
use hprof_stacks::{Measure, Weights};

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let end = GzDecoder::new(packed).read_to_end(&mut file);
    end.expect("the file is whole");
    file
}

/// Costs by stack, outermost frame first; the converter takes the class of an object for a frame.
fn by_stack(profile: &Profile, weights: &Weights) -> BTreeMap<Vec<String>, u64> {
    let mut costs = BTreeMap::new();
    for row in &weights.rows {
        let frames = profile.stacks.frames_of(row.trace).iter().rev();
        let names = frames.map(|&frame| profile.stacks.frame(frame).name());
        let stack = names.chain(row.class.as_deref().map(str::to_owned));
        *costs.entry(stack.collect()).or_default() += row.value;
    }
    costs
}

#[test]
fn shares_are_those_of_its_converter() {
    let file = unpacked(include_bytes!("data/async-profiler.jfr.gz"));
    assert_eq!(Kind::of(&file), Some(Kind::Jfr));
    let profile = read(&file, Kind::Jfr, &mut |_| {}).expect("a recording");
    assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
    for (measure, expected) in [
        (
            Measure::Samples,
            &include_bytes!("data/async-profiler-cpu.txt.gz")[..],
        ),
        (
            Measure::Wall,
            include_bytes!("data/async-profiler-wall.txt.gz"),
        ),
        (
            Measure::AllocatedBytes,
            include_bytes!("data/async-profiler-alloc.txt.gz"),
        ),
        (
            Measure::Contention,
            include_bytes!("data/async-profiler-lock.txt.gz"),
        ),
    ] {
        let expected = unpacked(expected);
        let expected = read(&expected, Kind::Collapsed, &mut |_| {}).expect("stacks");
        let mut expected = by_stack(&expected, &expected.weights[0]);
        let weights = profile.weights.iter().find(|it| it.measure == measure);
        let mut found = by_stack(&profile, weights.expect("a measure"));
        if measure == Measure::Contention {
            // The converter writes nanoseconds, and a sum of parts is rounded once.
            for nanos in expected.values_mut() {
                *nanos = (*nanos + 500_000) / 1_000_000;
            }
            for (stack, millis) in &mut found {
                let other = expected.get(stack).copied().unwrap_or_default();
                if millis.abs_diff(other) <= 1 {
                    *millis = other;
                }
            }
        }
        assert!(!expected.is_empty());
        assert_eq!(found, expected, "{measure}");
    }
}
