use super::*;
use proptest::prelude::*;

fn key(text: &str, as_chars: bool) -> Key {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let latin1: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let text = match as_chars {
        true => Text::Utf16 {
            units: &units,
            is_big_endian: true,
        },
        false => Text::Latin1(&latin1),
    };
    text.key()
}

proptest! {
    #[test]
    fn equal_texts_have_equal_keys_in_every_encoding(text in "[\\x00-\\xff]{0,600}", other in "\\PC{0,9}") {
        prop_assert_eq!(key(&text, true), key(&text, false));
        prop_assert_eq!(key(&text, true) == key(&other, true), text == other);
        let units: Vec<u8> = other.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let wide = Text::Utf16 { units: &units, is_big_endian: false };
        prop_assert_eq!(wide.decode(usize::MAX), other);
    }

    #[test]
    fn parts_of_arrays_are_looked_at_only(values in prop::collection::vec(any::<u8>(), 0..40), offset: u32, count in 0u32..30) {
        let part = Some((offset % 64, count));
        for element in BasicType::ALL {
            if let Some(text) = Text::of(element, false, part, &values) {
                prop_assert_eq!(text.length(), u64::from(count));
            }
        }
    }
}
