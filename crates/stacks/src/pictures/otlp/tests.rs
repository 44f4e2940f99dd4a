use crate::timeline::Moment;
use crate::{Frame, Stacks, Trace, Weight, Weights};
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::Line;

use super::samples::of;
use super::*;

const TRACE: TraceSerial = TraceSerial::new(1);

fn stacks() -> Stacks {
    let mut stacks = Stacks::default();
    let frame = stacks.intern(Frame {
        class_name: "Spin".into(),
        method: "hot".into(),
        source_file: None,
        line: Line::Number(3),
    });
    stacks.add(
        TRACE,
        Trace {
            thread: None,
            frames: [frame].into(),
        },
    );
    stacks
}

fn weights(measure: Measure, rows: &[(u64, Option<&str>)]) -> Weights {
    let row = |&(value, class): &(u64, Option<&str>)| Weight {
        trace: TRACE,
        value,
        class: class.map(Into::into),
    };
    Weights {
        measure,
        rows: rows.iter().map(row).collect(),
        total: rows.iter().map(|row| row.0).sum(),
    }
}

fn timeline(measure: Measure, moments: &[(i64, u64, u32)]) -> Timeline {
    let moment = |&(at, value, thread): &(i64, u64, u32)| Moment {
        at,
        value,
        trace: TRACE,
        thread: Some(ThreadSerial::new(thread)),
        measure,
    };
    Timeline {
        span: Window { from: 0, to: 100 },
        sample_nanos: None,
        is_wall: false,
        moments: moments.iter().map(moment).collect(),
    }
}

/// Values and times of a sample.
type Row = (Vec<u64>, Vec<u64>);

/// The samples of one measure.
fn values(weights: Weights, timeline: &Timeline) -> (Vec<Row>, Vec<Untimed>) {
    let stacks = stacks();
    let profile = Profile {
        title: "",
        stacks: &stacks,
        weights: vec![weights],
        thread_name: &|_| None,
        remarks: &[],
        own: None,
        depth: None,
    };
    let samples = of(
        &profile,
        &profile.weights[0],
        Some(timeline),
        &Requests::default(),
    );
    let samples = samples.into_iter().map(|it| (it.values, it.times));
    (samples.collect(), untimed(&profile, timeline))
}

#[test]
fn samples_of_two_threads_with_one_stack_stay_apart() {
    let times = timeline(Measure::Samples, &[(5, 1, 1), (7, 2, 2), (9, 1, 1)]);
    let (samples, untimed) = values(weights(Measure::Samples, &[(4, None)]), &times);
    assert_eq!(
        samples,
        [(vec![1, 1], vec![5, 9]), (vec![2], vec![7])],
        "in the order of threads"
    );
    assert_eq!(untimed, []);
}

#[test]
fn costs_without_their_times_are_sums_and_reported() {
    let times = timeline(Measure::Samples, &[(5, 1, 1)]);
    let (samples, untimed) = values(weights(Measure::Samples, &[(4, None)]), &times);
    assert_eq!(samples, [(vec![4], vec![])]);
    let [one] = untimed[..] else {
        panic!("{untimed:?}")
    };
    assert_eq!((one.timed, one.total), (1, 4));
    // An event does not say of which class it is.
    let two = weights(Measure::AllocatedBytes, &[(3, Some("A")), (2, Some("B"))]);
    let times = timeline(Measure::AllocatedBytes, &[(5, 3, 1), (6, 2, 1)]);
    let (samples, untimed) = values(two, &times);
    assert_eq!(samples, [(vec![3], vec![]), (vec![2], vec![])]);
    assert_eq!(untimed.len(), 1);
}

#[test]
fn times_are_nanoseconds() {
    let plain = timeline(Measure::Samples, &[]);
    let (samples, _) = values(weights(Measure::Contention, &[(4, None)]), &plain);
    assert_eq!(samples, [(vec![4_000_000], vec![])]);
    // 4.9 ms are 4 ms in the sums.
    let times = timeline(Measure::Contention, &[(5, 4_900_000, 1)]);
    let (samples, untimed) = values(weights(Measure::Contention, &[(4, None)]), &times);
    assert_eq!(samples, [(vec![4_900_000], vec![5])]);
    assert_eq!(untimed, []);
}
