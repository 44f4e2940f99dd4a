use hprof_format::model::Line;
use hprof_stacks::pictures::message::Message;
use proptest::prelude::*;

use super::*;
use crate::otlp::read::Unread;
use crate::{Kind, read_part};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn message(write: impl FnOnce(&mut Message)) -> Vec<u8> {
    let mut message = Message::default();
    write(&mut message);
    message.0
}

/// A function of the dictionary by its name and file, and the location with a line and the type of frame.
fn code(dictionary: &mut Message, at: u64, (name, file): (u64, u64), line: u64, kind: u64) {
    let function = message(|it| {
        it.number(1, name);
        it.number(3, file);
    });
    dictionary.bytes(3, &function);
    let place = message(|it| {
        it.number(1, at);
        it.number(2, line);
    });
    let location = message(|it| {
        it.bytes(3, &place);
        it.numbers(4, &[kind]);
    });
    dictionary.bytes(2, &location);
}

/// Samples of one stack at these times, of another without a time, and allocation with the class of its objects.
fn file(times: &[u64]) -> Vec<u8> {
    let dictionary = message(|it| {
        for table in [2, 3, 5, 6, 7] {
            it.bytes(table, &[]);
        }
        for text in [
            "samples",
            "count",
            "acme.Shop.sell",
            "Shop.java",
            "do_futex",
            "jvm",
            "kernel",
            "profile.frame.type",
            "alloc_space",
            "bytes",
            "java.lang.String",
            CLASS_FILE,
        ] {
            it.bytes(5, text.as_bytes());
        }
        for kind in [6, 7] {
            let text = message(|it| it.bytes(1, if kind == 6 { b"jvm" } else { b"kernel" }));
            it.bytes(
                6,
                &message(|it| {
                    it.number(1, 8);
                    it.bytes(2, &text);
                }),
            );
        }
        code(it, 1, (3, 4), 41, 1);
        code(it, 2, (5, 0), 0, 2);
        code(it, 3, (11, 12), 0, 0);
        for stack in [&[1][..], &[2, 1], &[3, 1]] {
            it.bytes(7, &message(|it| it.numbers(1, stack)));
        }
    });
    let profile = |kind: u64, unit: u64, samples: Vec<Vec<u8>>| {
        message(|it| {
            it.bytes(
                1,
                &message(|it| {
                    it.number(1, kind);
                    it.number(2, unit);
                }),
            );
            for sample in samples {
                it.bytes(2, &sample);
            }
            it.fixed_numbers(3, &[START]);
            it.number(4, 10 * SECOND);
        })
    };
    let timed = message(|it| {
        it.number(1, 1);
        it.numbers(4, &vec![1; times.len()]);
        it.fixed_numbers(5, times);
    });
    let untimed = message(|it| {
        it.number(1, 2);
        it.numbers(4, &[3]);
    });
    let allocated = message(|it| {
        it.number(1, 3);
        it.numbers(4, &[64]);
    });
    let scope = message(|it| {
        it.bytes(2, &profile(1, 2, vec![timed, untimed]));
        it.bytes(2, &profile(9, 10, vec![allocated]));
    });
    message(|it| {
        it.bytes(1, &message(|it| it.bytes(2, &scope)));
        it.bytes(2, &dictionary);
    })
}

fn profile(bytes: &[u8], part: Part) -> Profile {
    assert_eq!(Kind::of(bytes), Some(Kind::Otlp));
    read_part(bytes, Kind::Otlp, part, &mut |_| {}).unwrap()
}

/// The sum of a measure.
fn total(profile: &Profile, measure: Measure) -> u64 {
    let mut weights = profile.weights.iter();
    let weights = weights.find(|weights| weights.measure == measure);
    weights.map_or(0, |weights| weights.total)
}

#[test]
fn stacks_have_lines_kinds_and_classes() {
    let profile = profile(&file(&[START, START + 7 * SECOND]), Part::default());
    assert_eq!(profile.created_millis, Some(START / 1_000_000));
    assert_eq!(total(&profile, Measure::Samples), 5);
    assert_eq!(total(&profile, Measure::AllocatedBytes), 64);
    let of_allocation = &profile.weights[1];
    assert_eq!(
        of_allocation.rows[0].class.as_deref(),
        Some("java.lang.String")
    );
    let mut stacks = Vec::new();
    for row in &profile.weights[0].rows {
        let frames = profile.stacks.frames_of(row.trace).iter();
        let frames = frames.map(|&frame| profile.stacks.frame(frame));
        stacks.push(
            frames
                .map(|frame| (frame.name(), frame.line))
                .collect::<Vec<_>>(),
        );
    }
    let sell = ("acme.Shop.sell".to_owned(), Line::Number(41));
    let futex = ("[kernel] do_futex".to_owned(), Line::Unknown);
    assert_eq!(stacks, [vec![sell.clone()], vec![futex, sell]]);
}

#[test]
fn windows_are_of_the_times_of_samples() {
    let bytes = file(&[START, START + 7 * SECOND, START + 8 * SECOND]);
    let begin = START as i64;
    let span = Window {
        from: begin,
        to: begin + 10 * SECOND as i64,
    };
    assert_eq!(crate::span(&bytes, Kind::Otlp), Some(span));
    let of = |from: u64, to: u64| Part {
        window: Some(Window {
            from: begin + (from * SECOND) as i64,
            to: begin + (to * SECOND) as i64,
        }),
        with_times: true,
    };
    // What has no time counts at the middle of its profile.
    for (from, to, samples) in [(0, 5, 1), (5, 6, 3), (6, 10, 2), (0, 10, 6)] {
        let part = profile(&bytes, of(from, to));
        assert_eq!(total(&part, Measure::Samples), samples, "{from} {to}");
        let timeline = part.timeline.unwrap();
        let moments = timeline.moments.iter();
        let moments = moments.filter(|it| it.measure == Measure::Samples);
        assert_eq!(moments.map(|it| it.value).sum::<u64>(), samples);
        assert!(timeline.moments.is_sorted_by_key(|it| it.at));
    }
    // Without times of samples one profile has no parts.
    assert_eq!(crate::span(&file(&[]), Kind::Otlp), None);
}

#[test]
fn other_files_are_none() {
    let bytes = file(&[START]);
    for other in [
        &b"\n\n\n\n"[..],
        b"",
        &[10],
        &[10, 0],
        &[18, 2, 10, 0],
        b"a;b 3\n",
    ] {
        assert_ne!(Kind::of(other), Some(Kind::Otlp), "{other:?}");
    }
    // The start of a long file is enough, and one that is cut is an error.
    assert_eq!(Kind::of(&bytes[..40]), Some(Kind::Otlp));
    let cut = read_part(
        &bytes[..bytes.len() - 3],
        Kind::Otlp,
        Part::default(),
        &mut |_| {},
    );
    assert!(matches!(cut, Err(Unreadable::Otlp(_))));
    // The numbers of one request mean nothing in another.
    let several = [&*bytes, &bytes].concat();
    let several = read_part(&several, Kind::Otlp, Part::default(), &mut |_| {});
    assert!(matches!(several, Err(Unreadable::Otlp(Unread::Several))));
}

proptest! {
    #[test]
    fn damage_is_an_error_or_less(at in 0_usize..400, byte in any::<u8>()) {
        let mut bytes = file(&[START, START + SECOND]);
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = Kind::of(&bytes);
        if let Ok(profile) = read_part(&bytes, Kind::Otlp, Part::default(), &mut |_| {}) {
            prop_assert!(profile.stacks.len() <= 16);
        }
    }
}
