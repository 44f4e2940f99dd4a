use hprof_format::model::Line;

use super::*;
use crate::{Frame, Trace};

const MILLI: i64 = 1_000_000;
const ALL: Window = Window {
    from: 0,
    to: 1_000 * MILLI,
};

/// Stacks by their frames, innermost first, numbered from 1.
fn stacks(all: &[&[&str]]) -> Stacks {
    let mut stacks = Stacks::default();
    for (serial, frames) in (1..).map(TraceSerial::new).zip(all) {
        let frames = frames.iter().map(|name| {
            let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
            stacks.intern(Frame {
                class_name: class.into(),
                method: method.into(),
                source_file: None,
                line: Line::Unknown,
            })
        });
        let frames = frames.collect();
        stacks.add(
            serial,
            Trace {
                thread: None,
                frames,
            },
        );
    }
    stacks
}

fn name(thread: ThreadSerial) -> Option<String> {
    match thread.get() {
        1 => Some("worker-1".to_owned()),
        2 => Some("worker-2".to_owned()),
        // A name that is a number.
        3 => Some("77".to_owned()),
        20..30 => Some(String::new()),
        30..40 => Some(format!("task-{thread}")),
        _ => None,
    }
}

/// Milliseconds and state of each stretch.
fn told(lane: &Lane) -> Vec<(i64, i64, ThreadState)> {
    let of = |it: &Stretch| (it.time.from / MILLI, it.time.to / MILLI, it.state);
    lane.stretches.iter().map(of).collect()
}

fn did(thread: u32, trace: u32, from: i64, to: i64, state: ThreadState) -> Did<'static> {
    Did {
        thread: Some(ThreadSerial::new(thread)),
        trace: TraceSerial::new(trace),
        time: Window {
            from: from * MILLI,
            to: to * MILLI,
        },
        state,
        of: "java.lang.Object",
        owner: "worker-2",
    }
}

#[test]
fn samples_fill_the_gaps_between_events() {
    let stacks = stacks(&[&["java.util.HashMap.get", "acme.A.a", "java.lang.Thread.run"]]);
    let mut builder = LanesBuilder::new(&stacks, 20 * MILLI as u64);
    for at in [20, 45, 60, 200] {
        builder.sample(&did(1, 1, at - 20, at, ThreadState::Running));
    }
    builder.add(&did(1, 1, 30, 50, ThreadState::WaitsForLock));
    let lanes = builder.finish(LaneSource::Recording, ALL, &name).unwrap();
    let [lane] = &lanes.lanes[..] else {
        panic!("{lanes:?}");
    };
    assert_eq!((&*lane.name, lane.threads), ("worker-1", 1));
    let expected = [
        (0, 20, ThreadState::Running),
        (30, 50, ThreadState::WaitsForLock),
        (50, 60, ThreadState::Running),
        (180, 200, ThreadState::Running),
    ];
    assert_eq!(told(lane), expected);
    let reason = lane.stretches[1].reason;
    let text = |at: u32| &*lanes.texts[at as usize];
    let texts = [reason.method, reason.of, reason.owner].map(text);
    assert_eq!(texts, ["acme.A.a", "java.lang.Object", "worker-2"]);
}

#[test]
fn the_wall_clock_gives_each_thread_one_state_after_another() {
    let stacks = stacks(&[
        &["acme.A.runs", "[running]"],
        &["acme.A.runs", "[runnable]"],
        &["java.lang.Thread.sleep", "acme.A.sleeps", "[sleeping]"],
    ]);
    let samples = [(10, 1, 1), (40, 1, 1), (40, 2, 2), (90, 3, 5), (95, 1, 1)];
    let moments = samples.map(|(at, trace, value)| Moment {
        at: at * MILLI,
        value,
        trace: TraceSerial::new(trace),
        thread: Some(ThreadSerial::new(3)),
        measure: Measure::Samples,
    });
    let timeline = Timeline {
        span: ALL,
        sample_nanos: None,
        is_wall: true,
        moments: moments.to_vec(),
    };
    let lanes = of_samples(&timeline, &stacks, 10 * MILLI as u64, ALL, &name).unwrap();
    assert_eq!(lanes.source, LaneSource::Wall);
    let lane = &lanes.lanes[0];
    assert_eq!(lane.name, "77");
    let all: i64 = told(lane).iter().map(|(from, to, _)| to - from).sum();
    assert_eq!(all, 95);
    let of = |state| -> i64 {
        let mine = told(lane).into_iter().filter(|it| it.2 == state);
        mine.map(|(from, to, _)| to - from).sum()
    };
    assert_eq!(of(ThreadState::Sleeps), 50);
    assert_eq!(of(ThreadState::WaitsForCpu), 20);
    // A part of the time has what is in it.
    let part = Window {
        from: 50 * MILLI,
        to: 60 * MILLI,
    };
    let lanes = of_samples(&timeline, &stacks, 10 * MILLI as u64, part, &name).unwrap();
    assert_eq!(told(&lanes.lanes[0]), [(50, 60, ThreadState::Sleeps)]);
}

#[test]
fn the_lanes_that_say_most_come_first_and_virtual_threads_are_one() {
    let stacks = stacks(&[
        &["acme.A.a", "java.lang.Thread.run"],
        &["acme.V.v", "java.lang.VirtualThread.run"],
        &["java.util.concurrent.ThreadPoolExecutor.getTask"],
    ]);
    let mut builder = LanesBuilder::new(&stacks, 0);
    builder.add(&did(1, 1, 0, 900, ThreadState::Sleeps));
    builder.add(&did(2, 3, 0, 900, ThreadState::Waits));
    builder.add(&did(3, 1, 0, 100, ThreadState::Running));
    for thread in 20..23 {
        builder.add(&did(thread, 2, 0, 50, ThreadState::WaitsForLock));
    }
    for thread in 30..32 {
        builder.add(&did(thread, 2, 0, 10, ThreadState::InputOutput));
    }
    builder.add(&did(50, 1, 0, 1, ThreadState::Waits));
    let lanes = builder.finish(LaneSource::Recording, ALL, &name).unwrap();
    let names: Vec<_> = lanes
        .lanes
        .iter()
        .map(|it| (&*it.name, it.threads))
        .collect();
    let expected = [
        ("virtual threads", 3),
        ("77", 1),
        ("task-*", 2),
        ("worker-1", 1),
        ("thread 50", 1),
        ("worker-2", 1),
    ];
    assert_eq!(names, expected);
}

#[test]
fn virtual_threads_of_a_recording_overlap() {
    let stacks = stacks(&[&["acme.V.v", "java.lang.VirtualThread.run"]]);
    let mut builder = LanesBuilder::new(&stacks, 0);
    for from in [0, 10, 20] {
        builder.add(&did(60, 1, from, 100, ThreadState::Sleeps));
    }
    let name = |_| Some(VIRTUAL.to_owned());
    let lanes = builder.finish(LaneSource::Recording, ALL, &name).unwrap();
    assert_eq!(lanes.lanes[0].threads, 0);
    let froms: Vec<i64> = told(&lanes.lanes[0]).iter().map(|it| it.0).collect();
    assert_eq!(froms, [0, 10, 20]);
}
