use super::*;

fn header() -> Vec<u8> {
    b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec()
}

#[test]
fn a_length_without_bytes_takes_no_memory() {
    for tag in [0x01, 0x1c, 0xde] {
        let mut file = header();
        file.extend_from_slice(&[tag, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        // An array that claims 16 GiB.
        file.extend_from_slice(&[
            0x22, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x7f, 255, 255, 255,
        ]);
        file.extend_from_slice(&[0; 100]);
        let mut reader = StreamReader::new(&file[..]).unwrap();
        let mut damages = 0;
        while let Some(event) = reader.next() {
            damages += usize::from(event.is_err());
        }
        assert_eq!(damages, 1);
        assert!(reader.buffer.memory() <= CHUNK);
    }
}

#[test]
fn an_overflowed_length_is_mended_if_the_length_of_the_file_is_known() {
    let mut file = header();
    file.extend_from_slice(&[0x0c, 0, 0, 0, 0, 0, 0, 0, 9]);
    file.extend_from_slice(&[5, 0, 0, 0, 0, 0, 0, 0, 1].repeat(3));
    let mut reader = StreamReader::new(&file[..]).unwrap();
    reader.set_file_length(40 + 9 + (1 << 32));
    let mut subs = 0;
    let damage = loop {
        match reader.next() {
            Some(Ok(Event::SubRecord { .. })) => subs += 1,
            Some(Ok(_)) => {}
            Some(Err(StreamError::Damage(damage))) => break damage,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(subs, 3);
    assert_eq!(
        damage,
        Damage::SegmentCut {
            offset: 67,
            missing: (1 << 32) + 9 - 27
        }
    );
    assert!(reader.next().is_none());
}

#[test]
fn says_what_a_file_is_instead() {
    let text = &b"JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:08 2026\n"[..];
    let error = StreamReader::new(text).unwrap_err();
    assert!(matches!(error, StreamError::Header(HeaderError::Text)));
    let error = StreamReader::new(&header()[..20]).unwrap_err();
    assert!(matches!(error, StreamError::Header(HeaderError::TooShort)));
}
