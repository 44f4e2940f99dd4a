//! Contents as text of one byte per character, in which detectors look.

use hprof_format::binary::BasicType;

use crate::strip::windows::{WINDOW, each_window};

/// A byte for characters that Latin-1 does not have.
const OTHER: u8 = 0xff;

/// A text, and the width of its characters in the file.
pub(super) struct Narrowed {
    pub text: Vec<u8>,
    pub width: usize,
}

/// The elements of an array as text, in the ways in which they can be read: as UTF-16 if they may be that, and as they are; none if
/// the array can hold no text.
pub(super) fn narrowed(element: BasicType, bytes: &[u8]) -> Vec<Narrowed> {
    let wide = |unit| Narrowed {
        text: units(bytes, unit),
        width: 2,
    };
    let plain = || Narrowed {
        text: bytes.to_vec(),
        width: 1,
    };
    match element {
        BasicType::Char => vec![wide(u16::from_be_bytes)],
        BasicType::Byte if is_utf16(bytes) => vec![wide(u16::from_le_bytes), plain()],
        BasicType::Byte => vec![plain()],
        _ => Vec::new(),
    }
}

fn units(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (units, _) = bytes.as_chunks::<2>();
    let narrow = |&pair: &[u8; 2]| u8::try_from(unit(pair)).unwrap_or(OTHER);
    units.iter().map(narrow).collect()
}

/// Returns true if bytes look like UTF-16, little-endian: two characters of Latin-1 in a row. A text without them
/// holds nothing that a detector knows.
fn is_utf16(bytes: &[u8]) -> bool {
    let (units, _) = bytes.as_chunks::<2>();
    let is_narrow = |unit: &[u8; 2]| unit[0] != 0 && unit[1] == 0;
    units
        .windows(2)
        .any(|pair| is_narrow(&pair[0]) && is_narrow(&pair[1]))
}

/// Calls `see` with each window of a secret in all forms that strings have, and with the bytes of the secret that must be
/// there in a row before any of them is one: sixteen characters, or all. Of a text beyond Latin-1 only its own form is known,
/// `raw`.
pub(super) fn each_form(secret: &[u8], raw: &[u8], mut see: impl FnMut(u64, u8)) {
    const MAX_CHARACTERS: usize = 16;
    if secret.contains(&OTHER) {
        let needed = raw.len().min(2 * MAX_CHARACTERS) as u8;
        each_window(raw, 0, |_, window| see(window, needed));
        return;
    }
    let needed = secret.len().min(MAX_CHARACTERS) as u8;
    each_window(secret, 0, |_, window| see(window, needed));
    if 2 * secret.len() < WINDOW {
        return;
    }
    for form in [
        secret
            .iter()
            .flat_map(|&byte| [byte, 0])
            .collect::<Vec<u8>>(),
        secret.iter().flat_map(|&byte| [0, byte]).collect(),
    ] {
        each_window(&form, 0, |_, window| see(window, 2 * needed));
    }
}
