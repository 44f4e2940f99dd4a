use hprof_format::model::Line;

use super::*;
use crate::Trace;

const SECOND: i64 = 1_000_000_000;
/// A sample each 10 ms of a thread that runs all the time.
const SAMPLE: u64 = 10_000_000;

/// The traces of methods, from the outermost on.
fn stacks(traces: &[&[&str]]) -> Stacks {
    let mut stacks = Stacks::default();
    for (serial, methods) in (1..).zip(traces) {
        let frames = methods
            .iter()
            .rev()
            .map(|name| {
                let (class, method) = name.rsplit_once('.').expect("a class");
                stacks.intern_parts(class, method, None, Line::Unknown)
            })
            .collect();
        let thread = None;
        stacks.add(TraceSerial::new(serial), Trace { thread, frames });
    }
    stacks
}

/// A recording of phases: seconds, and the number of threads that run in each trace.
fn recorded(phases: &[(i64, &[u32])]) -> Timeline {
    let mut moments = Vec::new();
    let mut now = 0;
    for (seconds, threads) in phases {
        let end = now + seconds * SECOND;
        while now < end {
            for (trace, &threads) in (1..).zip(*threads) {
                moments.extend((0..threads).map(|_| Moment {
                    at: now,
                    value: 1,
                    trace: TraceSerial::new(trace),
                    thread: None,
                    measure: Measure::Samples,
                }));
            }
            now += SAMPLE as i64;
        }
    }
    Timeline {
        span: Window { from: 0, to: now },
        sample_nanos: Some(SAMPLE),
        is_wall: false,
        moments,
    }
}

fn found(stacks: &Stacks, phases: &[(i64, &[u32])]) -> Option<Change> {
    let timeline = recorded(phases);
    change(&timeline, stacks, timeline.span).map(|(_, change)| change)
}

#[test]
fn a_burst_is_found_with_its_method() {
    let stacks = stacks(&[
        &["java.lang.Thread.run", "acme.Poll.run"],
        &[
            "java.lang.Thread.run",
            "acme.Report.render",
            "acme.Page.draw",
        ],
        &[
            "java.lang.Thread.run",
            "acme.Report.render",
            "java.util.List.add",
        ],
    ]);
    let phases: [(i64, &[u32]); 3] = [(10, &[1]), (15, &[1, 2, 1]), (35, &[1])];
    let change = found(&stacks, &phases).expect("a change");
    assert_eq!(
        change.window,
        Window {
            from: 10 * SECOND,
            to: 25 * SECOND
        }
    );
    assert!((change.rate - 4.0).abs() < 0.01, "{change:?}");
    assert!((change.otherwise - 1.0).abs() < 0.01, "{change:?}");
    assert_eq!(change.method.as_deref(), Some("acme.Report.render"));
    assert!(change.share > 0.99, "{change:?}");
}

#[test]
fn a_drop_is_found_with_what_stopped() {
    let stacks = stacks(&[&["acme.Work.run"], &["acme.Poll.run"]]);
    let phases: [(i64, &[u32]); 3] = [(30, &[2, 1]), (10, &[0, 1]), (30, &[2, 1])];
    let change = found(&stacks, &phases).expect("a change");
    assert_eq!(
        change.window,
        Window {
            from: 30 * SECOND,
            to: 40 * SECOND
        }
    );
    assert!(change.rate < change.otherwise, "{change:?}");
    assert_eq!(change.method.as_deref(), Some("acme.Work.run"));
}

#[test]
fn nothing_is_said_of_even_load() {
    let stacks = stacks(&[&["acme.A.run"], &["acme.B.run"]]);
    let even: [&[(i64, &[u32])]; 4] = [
        &[(60, &[1])],
        &[(10, &[1, 0]), (10, &[0, 1])],
        // The start and the end of a program.
        &[(1, &[0]), (30, &[2]), (1, &[0])],
        &[(60, &[0])],
    ];
    for phases in even {
        assert_eq!(found(&stacks, phases), None, "{phases:?}");
    }
}

#[test]
fn stretches_are_lengths_that_people_count_in() {
    let timeline = recorded(&[(10, &[1]), (10, &[3])]);
    let load = Load::of(&timeline, Measure::Samples, timeline.span, 30);
    assert_eq!((load.stretch, load.values.len()), (SECOND as u64, 20));
    assert_eq!((load.values[0], load.values[19]), (100, 300));
    assert!((load.rate(load.values[19], load.time_of(19)) - 3.0).abs() < 1e-9);
    let part = Window {
        from: 5 * SECOND,
        to: 12 * SECOND,
    };
    let load = Load::of(&timeline, Measure::Samples, part, 7);
    assert_eq!(load.values, [100, 100, 100, 100, 100, 300, 300]);
}
