use std::io::Read;

use flate2::read::DeflateDecoder;

use super::*;

const START: i64 = 1_764_381_000_250_000_000;
const MILLI: i64 = 1_000_000;

fn moment(millis: i64, trace: u32, thread: u32, value: u64, measure: Measure) -> Moment {
    Moment {
        at: START + millis * MILLI,
        value,
        trace: TraceSerial::new(trace),
        thread: Some(ThreadSerial::new(thread)),
        measure,
    }
}

fn timeline(seconds: i64, moments: Vec<Moment>) -> Timeline {
    Timeline {
        span: Window {
            from: START,
            to: START + seconds * 1000 * MILLI,
        },
        sample_nanos: Some(10_000_000),
        is_wall: false,
        moments,
    }
}

fn name(thread: ThreadSerial) -> Option<String> {
    Some(match thread.get() {
        0 => "main".to_owned(),
        serial => format!("pool-1-thread-{serial}"),
    })
}

fn packed(timeline: &Timeline, measure: Measure) -> (Clock, Vec<u64>, Packed) {
    let stacks = Stacks::default();
    let times = Times {
        timeline,
        span: timeline.span,
        stacks: &stacks,
        thread_name: &name,
        change: None,
        pauses: vec![(START + 500 * MILLI, 7_000_000)],
        safepoints: Vec::new(),
        lanes: None,
    };
    let packer = Packer::new(&times);
    let packed = packer
        .pack(measure, &mut |trace| Some(trace.get() * 10))
        .expect("events");
    let bytes = STANDARD.decode(&packed.data).expect("base64");
    let mut numbers = Vec::new();
    let (mut value, mut shift) = (0, 0);
    let mut unpacked = Vec::new();
    DeflateDecoder::new(&*bytes)
        .read_to_end(&mut unpacked)
        .expect("deflated");
    for byte in unpacked {
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            numbers.push(value);
            (value, shift) = (0, 0);
        }
    }
    (packer.clock, numbers, packed)
}

#[test]
fn events_are_packed_by_ticks_and_pairs() {
    let of = |millis, trace, thread| moment(millis, trace, thread, 1, Measure::Samples);
    let line = timeline(
        1,
        vec![
            of(0, 1, 0),
            of(2, 2, 5),
            of(2, 2, 6),
            of(2, 1, 0),
            of(999, 2, 7),
        ],
    );
    let (clock, numbers, packed) = packed(&line, Measure::Samples);
    // The clock begins at a whole second, 250 ms before the recording.
    assert_eq!(
        (clock.from, clock.first, clock.to),
        (1_764_381_000_000_000, 250_000, 1_250_000)
    );
    assert_eq!((clock.tick, clock.ticks), (1000, 1250));
    assert_eq!(clock.groups, ["pool-1-thread-*", "main"]);
    assert_eq!(clock.pauses, [(750_000, 7000)]);
    let (heads, rest) = numbers.split_at(5);
    assert_eq!(heads, [2, 20, 10, 0, 1]);
    let (counts, rest) = rest.split_at(1250);
    let filled: Vec<_> = (0..).zip(counts).filter(|(_, count)| **count > 0).collect();
    assert_eq!(filled, [(250, &1), (252, &3), (1249, &1)]);
    assert_eq!(rest, [1, 0, 0, 1, 0, 0]);
    assert_eq!(
        (packed.scale, packed.factor, &*packed.rate),
        (1.0, 0.01, "cores")
    );
}

#[test]
fn a_wait_is_where_it_was() {
    let wait = moment(0, 1, 0, 250_000_000, Measure::Contention);
    let (_, numbers, packed) = packed(&timeline(10, vec![wait]), Measure::Contention);
    assert_eq!(&*packed.rate, "threads");
    let weights: u64 = numbers[numbers.len() - 25..].iter().sum();
    assert_eq!(weights, 250_000_000);
    // Parts of ten ticks.
    let counts = &numbers[3..3 + 10_250];
    let at: Vec<usize> = (0..counts.len()).filter(|&tick| counts[tick] > 0).collect();
    assert_eq!((at[0], at[1], at.len()), (250, 260, 25));
}

#[test]
fn any_time_has_a_bounded_number_of_ticks() {
    for (from, to) in [
        (0, 1),
        (-5, i64::MAX),
        (i64::MIN / 2, 0),
        (0, 86_400_000_000_000),
    ] {
        let line = Timeline {
            span: Window { from, to },
            ..timeline(0, vec![moment(0, 1, 0, 1, Measure::Samples)])
        };
        let (clock, numbers, _) = packed(&line, Measure::Samples);
        assert!(clock.ticks <= MAX_TICKS && clock.ticks > 0, "{clock:?}");
        assert!(clock.tick >= 1_000_000 || 1_000_000 % clock.tick == 0);
        assert_eq!(numbers.len() as u64, 3 + clock.ticks + 2);
    }
}

#[test]
fn an_hour_of_five_million_samples_takes_few_bytes() {
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    // A tenth of it: stacks by a distribution with a long tail, on twenty threads.
    let moments = (0..500_000)
        .map(|at| {
            let trace = 2000 / (1 + random(2000)) as u32;
            moment(
                at * 720 / 1000,
                trace,
                random(20) as u32,
                1,
                Measure::Samples,
            )
        })
        .collect();
    let (_, _, packed) = packed(&timeline(360, moments), Measure::Samples);
    assert!(packed.data.len() < 1_200_000, "{}", packed.data.len());
}
