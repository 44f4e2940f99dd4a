use super::*;
use hprof_stacks::by_method;
use proptest::prelude::*;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn part(field: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let body = parts.concat();
    [varint(field << 3 | 2), varint(body.len() as u64), body].concat()
}

fn packed(field: u64, values: &[u64], is_packed: bool) -> Vec<u8> {
    match is_packed {
        true => part(
            field,
            &values.iter().map(|&it| varint(it)).collect::<Vec<_>>(),
        ),
        false => values.iter().flat_map(|&it| number(field, it)).collect(),
    }
}

/// `main` calls `work`, into which `inner` is inlined; a place of a library without a symbol.
fn fields(is_packed: bool) -> Vec<Vec<u8>> {
    let strings = [
        "",
        "samples",
        "count",
        "cpu",
        "nanoseconds",
        "main.main",
        "main.work",
        "main.inner",
        "main.go",
        "libc.so.6",
    ];
    let line = |function, line| part(4, &[number(1, function), number(2, line)]);
    let function = |id, name| {
        let of = [
            number(1, id),
            number(2, name),
            number(3, name),
            number(4, 8),
        ];
        part(5, &of)
    };
    let sample = |locations: &[u64], values: &[u64]| {
        part(
            2,
            &[
                packed(1, locations, is_packed),
                packed(2, values, is_packed),
            ],
        )
    };
    let mut fields = vec![
        number(9, 1_700_000_000_123_456_789),
        part(1, &[number(1, 1), number(2, 2)]),
        part(1, &[number(1, 3), number(2, 4)]),
        number(10, 5_000_000_000),
        part(11, &[number(1, 3), number(2, 4)]),
        number(12, 10_000_000),
        sample(&[2, 1], &[3, 30_000_000]),
        sample(&[3, 1], &[1, 10_000_000]),
        part(
            3,
            &[
                number(1, 1),
                number(2, 0x1000),
                number(3, 0x9000),
                number(5, 9),
                number(7, 1),
            ],
        ),
        part(
            4,
            &[number(1, 1), number(2, 1), number(3, 0x1100), line(1, 7)],
        ),
        part(
            4,
            &[
                number(1, 2),
                number(2, 1),
                number(3, 0x1200),
                line(3, 9),
                line(2, 8),
            ],
        ),
        part(4, &[number(1, 3), number(2, 1), number(3, 0x1300)]),
        function(1, 5),
        function(2, 6),
        function(3, 7),
    ];
    fields.extend(strings.iter().map(|it| part(6, &[it.as_bytes().to_vec()])));
    fields
}

fn check(file: &[u8]) {
    assert_eq!(Kind::of(file), Some(Kind::Pprof));
    let profile = read_part(file, Part::default(), &mut |_| {});
    assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
    assert_eq!(profile.created_millis, Some(1_700_000_000_123));
    let [samples, time] = &profile.weights[..] else {
        panic!("{:?}", profile.weights);
    };
    assert_eq!((samples.total, time.total), (4, 40));
    let mut costs: Vec<_> = by_method(&profile.stacks, samples)
        .iter()
        .map(|it| (it.name.to_string(), it.own, it.total))
        .collect();
    costs.sort_unstable();
    let expected = [
        ("0x1300", 1, 1),
        ("main.inner", 3, 3),
        ("main.main", 0, 4),
        ("main.work", 0, 3),
    ];
    assert_eq!(
        costs,
        expected.map(|(name, own, total)| (name.to_owned(), own, total))
    );
}

/// Go writes the time first, and the strings last.
#[test]
fn profiles_of_go_are_read() {
    check(&fields(true).concat());
    check(&fields(false).concat());
}

#[test]
fn what_begins_like_a_field_is_no_profile() {
    for other in [
        "2024-01-01 10:00:00,123 INFO  HelloWorld - started up and running now\n".repeat(9),
        "Hello\n".to_owned(),
        "\n\n\n\n".to_owned(),
        "2\0".to_owned(),
        "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n".to_owned(),
    ] {
        assert!(!is_at(other.as_bytes()), "{other}");
    }
    assert!(!is_at(&[0; 100]));
    assert!(!is_at(&[]));
    // One field proves nothing.
    assert!(!is_at(&number(9, 1_700_000_000)));
}

#[test]
fn functions_without_numbers_are_numbered_in_their_order() {
    let file = [
        part(1, &[number(1, 1), number(2, 2)]),
        part(2, &[packed(1, &[2, 1], true), packed(2, &[5], true)]),
        part(4, &[number(1, 1), part(4, &[number(1, 1)])]),
        part(4, &[number(1, 2), part(4, &[number(1, 2)])]),
        part(5, &[number(2, 3)]),
        part(5, &[number(2, 4)]),
        ["", "samples", "count", "a.main", "a.work"]
            .iter()
            .flat_map(|it| part(6, &[it.as_bytes().to_vec()]))
            .collect(),
    ];
    let profile = read_part(&file.concat(), Part::default(), &mut |_| {});
    assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
    let costs = by_method(&profile.stacks, &profile.weights[0]);
    let found: Vec<_> = costs.iter().map(|it| (&*it.name, it.own)).collect();
    assert_eq!(found, [("a.work", 5), ("a.main", 0)]);
}

#[test]
fn places_with_many_methods_do_not_multiply_without_end() {
    let mut file = fields(true);
    let lines: Vec<Vec<u8>> = (0..5_000).map(|_| part(4, &[number(1, 3)])).collect();
    file.push(part(4, &[vec![number(1, 9)], lines].concat()));
    file.push(part(
        2,
        &[packed(1, &[9; 5_000], true), packed(2, &[1, 1], true)],
    ));
    let profile = read_part(&file.concat(), Part::default(), &mut |_| {});
    let message = &profile.damage[0].message;
    assert!(message.contains("repeats long stacks"), "{message}");
    assert_eq!(profile.weights[0].total, 5);
}

proptest! {
    #[test]
    fn fields_come_in_any_order(
        keys in prop::collection::vec(any::<u32>(), 25),
        is_packed in any::<bool>(),
    ) {
        let fields = fields(is_packed);
        // Values and strings are counted, so each keeps its place among its like.
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|&at| keys[at]);
        let of = |number: u8| {
            let all = fields.iter().filter(move |field| field[0] >> 3 == number);
            all.cloned()
        };
        let (mut types, mut texts) = (of(1), of(6));
        let file: Vec<u8> = order
            .iter()
            .flat_map(|&at| match fields[at][0] >> 3 {
                1 => types.next().unwrap_or_default(),
                6 => texts.next().unwrap_or_default(),
                _ => fields[at].clone(),
            })
            .collect();
        check(&file);
    }
}

#[test]
fn threads_have_the_names_of_their_labels() {
    let mut file = fields(true);
    file.extend(["thread", "one", "thread name", "two"].map(|it| part(6, &[it.into()])));
    file.extend([(10, 11), (12, 13)].map(|(key, name)| {
        let label = part(3, &[number(1, key), number(2, name)]);
        let parts = [packed(1, &[1], true), packed(2, &[5, 0], true), label];
        part(2, &parts)
    }));
    let profile = read_part(&file.concat(), Part::default(), &mut |_| {});
    let names: Vec<&str> = profile.threads.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["one", "two"]);
}

/// The number of a string, and a number.
type Label = (u64, u64);

/// The profile of [`fields`] with other samples: place, value, and what their labels say.
fn timed(samples: &[(u64, u64, Option<Label>)]) -> Vec<u8> {
    let mut file = fields(true);
    file.retain(|field| field[0] != 2 << 3 | 2);
    // "end_timestamp_ns" and "shard" follow the ten strings.
    file.extend(["end_timestamp_ns", "shard"].map(|it| part(6, &[it.as_bytes().to_vec()])));
    file.extend(samples.iter().map(|&(place, value, label)| {
        let label = label.map(|(key, at)| part(3, &[number(1, key), number(3, at)]));
        let parts = [
            packed(1, &[place], true),
            packed(2, &[value, 10_000_000 * value], true),
            label.unwrap_or_default(),
        ];
        part(2, &parts)
    }));
    file.concat()
}

#[test]
fn samples_with_times_have_windows() {
    const BEGIN: u64 = 1_700_000_000_123_456_789;
    const SECOND: u64 = 1_000_000_000;
    let at = |seconds: u64| Some((10, BEGIN + seconds * SECOND));
    // The third has no time: it counts at the middle of the five seconds.
    let samples = [(2, 1, at(1)), (2, 2, at(4)), (1, 4, None), (3, 8, at(2))];
    let file = timed(&samples);
    let begin = BEGIN as i64;
    let seconds = |from: i64, to: i64| Window {
        from: begin + from * SECOND as i64,
        to: begin + to * SECOND as i64,
    };
    assert_eq!(span(&file), Some(seconds(0, 5)));
    let total = |window| {
        let part = Part {
            window,
            with_times: true,
        };
        let profile = read_part(&file, part, &mut |_| {});
        assert_eq!(profile.span, Some(seconds(0, 5)));
        let timeline = profile.timeline.unwrap();
        assert_eq!(timeline.sample_nanos, Some(10_000_000));
        let sum = |measure| {
            let moments = timeline.moments.iter();
            let of = moments.filter(|moment| moment.measure == measure);
            of.map(|moment| moment.value).sum::<u64>()
        };
        assert_eq!(sum(Measure::Time), 10_000_000 * sum(Measure::Samples));
        assert_eq!(profile.weights[0].total, sum(Measure::Samples));
        profile.weights[0].total
    };
    assert_eq!(total(None), 15);
    assert_eq!(total(Some(seconds(2, 4))), 12);
    assert_eq!(total(Some(seconds(3, 5))), 2);
    // Another label of numbers is none, and without any there are no windows.
    let file = timed(&[(2, 1, Some((11, BEGIN))), (1, 4, None)]);
    assert_eq!(span(&file), None);
    let part = Part {
        window: Some(seconds(0, 1)),
        with_times: true,
    };
    let profile = read_part(&file, part, &mut |_| {});
    assert_eq!((profile.weights[0].total, profile.timeline), (5, None));
    // Times beyond all that a window holds.
    let file = timed(&[(2, 1, Some((10, u64::MAX))), (1, 4, None)]);
    assert!(span(&file).is_some_and(|span| span.to > span.from));
}
