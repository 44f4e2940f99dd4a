use super::*;

fn record(tag: u8, words: &[u32], rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag, 0, 0, 0, 0];
    bytes.extend((words.len() as u32 * 4 + rest.len() as u32).to_be_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    bytes.extend(rest);
    bytes
}

/// A small profile with ids of four bytes, record by record.
fn sample() -> Vec<Vec<u8>> {
    vec![
        [
            b"JAVA PROFILE 1.0.2\0" as &[u8],
            &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9],
        ]
        .concat(),
        record(0x0e, &[2], &[0, 4]),
        record(0x01, &[1], b"Spin"),
        record(0x01, &[2], b"hot"),
        record(0x01, &[3], b"()V"),
        record(0x02, &[100, 77, 300, 1], b""),
        record(0x0a, &[200, 78, 300, 1, 0, 0], b""),
        record(0x04, &[7, 2, 3, 0, 100, 12], b""),
        record(0x05, &[300, 0, 0], b""),
        record(0x05, &[301, 200, 1, 7], b""),
        record(0x0d, &[5, 1, 4, 301], b""),
        record(0x0b, &[200], b""),
    ]
}

#[test]
fn walks_a_profile() {
    let profile = BinaryProfile::parse(&sample().concat()).unwrap();
    assert_eq!(
        (profile.version.as_str(), profile.id_size, profile.created),
        ("1.0.2", 4, 9)
    );
    assert_eq!(profile.control, Some((2, 4)));
    assert_eq!(profile.frames[&7].method, "Spin.hot");
    assert_eq!(profile.samples_with("Spin.hot"), 4);
    assert_eq!(profile.table().total, 5);
    assert_eq!(profile.threads[&200], "Spin");
}

#[test]
fn nothing_may_be_missing_or_twice() {
    // Without the table and the end of the thread a profile is still whole.
    for index in 0..10 {
        let mut records = sample();
        records.remove(index);
        assert!(
            BinaryProfile::parse(&records.concat()).is_err(),
            "without record {index}"
        );
    }
    // The settings may change while a program runs, which a second record of them tells.
    for index in (0..10).filter(|index| *index != 1) {
        let mut records = sample();
        records.insert(index, records[index].clone());
        assert!(
            BinaryProfile::parse(&records.concat()).is_err(),
            "with record {index} twice"
        );
    }
}

#[test]
fn cut_files_are_noticed() {
    for (index, last) in sample().iter().enumerate() {
        let whole = sample()[..index].concat();
        for length in 1..last.len() {
            let cut = [&whole, &last[..length]].concat();
            assert!(
                BinaryProfile::parse(&cut).is_err(),
                "record {index} cut at {length}"
            );
        }
    }
}
