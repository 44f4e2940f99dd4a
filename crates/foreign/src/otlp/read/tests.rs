//! Requests of each version, made field by field.

use hprof_stacks::pictures::message::Message;

use super::*;

fn message(fields: impl FnOnce(&mut Message)) -> Vec<u8> {
    let mut message = Message::default();
    fields(&mut message);
    message.0
}

/// Strings: 1 `cpu`, 2 `nanoseconds`, 3 `App.main`, 4 `App.work`, 5 `thread.name`.
fn dictionary(stacks: bool) -> Vec<u8> {
    message(|out| {
        for function in 0..3 {
            let line = message(|line| line.number(1, function));
            out.bytes(2, &message(|location| location.bytes(3, &line)));
        }
        for name in [0, 3, 4] {
            out.bytes(3, &message(|function| function.number(1, name)));
        }
        for text in [
            "",
            "cpu",
            "nanoseconds",
            "App.main",
            "App.work",
            "thread.name",
        ] {
            out.bytes(5, text.as_bytes());
        }
        let value = message(|value| value.bytes(1, b"main"));
        out.bytes(6, &[]);
        out.bytes(
            6,
            &message(|attribute| {
                match stacks {
                    true => attribute.number(1, 5),
                    false => attribute.bytes(1, b"thread.name"),
                }
                attribute.bytes(2, &value);
            }),
        );
        if stacks {
            out.bytes(7, &[]);
            out.bytes(7, &message(|stack| stack.numbers(1, &[2, 1])));
        }
    })
}

fn request(profile: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let name = message(|value| value.bytes(1, b"shop"));
    let attribute = message(|out| {
        out.bytes(1, b"service.name");
        out.bytes(2, &name);
    });
    let resource = message(|out| out.bytes(1, &attribute));
    let scope = message(|out| out.bytes(2, profile));
    let of_resource = message(|out| {
        out.bytes(1, &resource);
        out.bytes(2, &scope);
    });
    message(|out| {
        out.bytes(1, &of_resource);
        out.bytes(2, dictionary);
    })
}

const START: u64 = 1_700_000_000_000_000_000;

fn kind() -> Vec<u8> {
    message(|kind| {
        kind.number(1, 1);
        kind.number(2, 2);
    })
}

/// Fields of samples, and the rest of a profile, of versions with stacks.
fn later(values: u64, attributes: u64) -> Vec<u8> {
    let sample = message(|out| {
        out.number(1, 1);
        out.numbers(values, &[7, 8]);
        out.numbers(attributes, &[1]);
        out.fixed_numbers(5, &[START, START + 5]);
    });
    let profile = message(|out| {
        out.bytes(1, &kind());
        out.bytes(2, &sample);
        out.fixed(3, START);
        out.number(4, 10);
    });
    request(&profile, &dictionary(true))
}

fn known(request: &[u8], at: [Option<u64>; 2]) {
    let read = read(request).expect("a request");
    let [profile] = read.profiles.as_slice() else {
        panic!("{read:?}");
    };
    assert_eq!(
        profile.labels,
        [("service.name".to_owned(), "shop".to_owned())]
    );
    assert_eq!((&*profile.kind, &*profile.unit), ("cpu", "nanoseconds"));
    assert_eq!((profile.from, profile.length), (START, 10));
    assert_eq!(read.threads, ["main"]);
    let stack = &read.stacks[profile.points[0].stack as usize];
    let names: Vec<&str> = stack.iter().map(|&at| &*read.names[at as usize]).collect();
    assert_eq!(names, ["App.main", "App.work"]);
    let points = profile.points.iter();
    let points: Vec<_> = points.map(|it| (it.thread, it.at, it.value)).collect();
    assert_eq!(points, [(Some(0), at[0], 7), (Some(0), at[1], 8)]);
}

#[test]
fn every_version_is_read() {
    let times = [Some(START), Some(START + 5)];
    known(&later(4, 2), times);
    known(&later(2, 3), times);
    let sample = message(|out| {
        out.number(2, 2);
        out.numbers(3, &[7, 8]);
        out.numbers(4, &[1]);
        out.numbers(6, &[START, START + 5]);
    });
    let profile = message(|out| {
        out.bytes(1, &kind());
        out.bytes(2, &sample);
        out.numbers(3, &[2, 1]);
        out.number(4, START);
        out.number(5, 10);
    });
    known(&request(&profile, &dictionary(false)), times);
}

#[test]
fn samples_without_values_count_once_for_each_time() {
    let sample = message(|out| {
        out.number(1, 1);
        out.numbers(2, &[1]);
        out.fixed_numbers(5, &[START, START + 1, START + 2]);
    });
    let profile = message(|out| {
        out.bytes(1, &kind());
        out.bytes(2, &sample);
    });
    let read = read(&request(&profile, &dictionary(true))).expect("a request");
    assert_eq!(read.profiles[0].points.len(), 3);
    assert!(read.profiles[0].points.iter().all(|it| it.value == 1));
}

#[test]
fn damage_is_refused_and_missing_entries_are_not_followed() {
    assert_eq!(read(b"\x0a\x05abc"), Err(Unread::Damaged(0)));
    assert!(read(b"this is no request").is_err());
    let whole = later(4, 2);
    for length in 1..whole.len() {
        let _ = read(&whole[..length]);
    }
    let sample = message(|out| {
        out.number(1, 1 << 40);
        out.numbers(4, &[7]);
        out.numbers(2, &[99]);
    });
    let profile = message(|out| {
        out.bytes(1, &kind());
        out.bytes(2, &sample);
    });
    let read = read(&request(&profile, &[])).expect("a request");
    assert_eq!(read.profiles[0].points[0].value, 7);
    assert!(read.stacks[0].is_empty());
}

#[test]
fn stacks_that_repeat_frames_without_end_are_refused() {
    // Ranges of the profile's locations take a few bytes, however long they are.
    let mut samples = Vec::new();
    for start in 0..3000 {
        samples.push(message(|out| {
            out.number(1, start);
            out.number(2, 2000);
            out.numbers(3, &[1]);
        }));
    }
    let profile = message(|out| {
        out.bytes(1, &kind());
        samples.iter().for_each(|sample| out.bytes(2, sample));
        out.numbers(3, &vec![1; 6000]);
        out.number(4, START);
    });
    assert_eq!(
        read(&request(&profile, &dictionary(false))),
        Err(Unread::TooLong)
    );
}
