//! Records that fill room in a file.

use super::tags::record::UTF8;
use crate::ids::StringId;

/// How many bytes of a filler are not zero: its head and its identifier.
pub const FILLER_HEAD: usize = 17;

/// The longest filler, in bytes. Readers that know what is damaged do not believe that there are strings of megabytes.
const LONGEST: u64 = 512 << 10;

/// The starts of records that say nothing and fill `length` bytes together, each with its place, in a file with
/// identifiers of eight bytes: strings that nothing refers to. The rest of them is zeros. `None` if no record is as short.
#[must_use]
pub fn fillers(length: u64) -> Option<impl Iterator<Item = (u64, [u8; FILLER_HEAD])>> {
    const SHORTEST: u64 = FILLER_HEAD as u64;
    let (mut at, mut number) = (0, 0);
    let next = move || {
        let rest = length - at;
        let own = match rest {
            0 => return None,
            _ if rest <= LONGEST => rest,
            // So that the last one is not too short.
            _ => LONGEST.min(rest - SHORTEST),
        };
        let (place, id) = (at, StringId::FILLER - number);
        at += own;
        number += 1;
        Some((place, head(own, id)))
    };
    (length >= SHORTEST || length == 0).then(|| std::iter::from_fn(next))
}

/// The start of one filler.
fn head(length: u64, id: u64) -> [u8; FILLER_HEAD] {
    const RECORD_HEAD: u64 = 9;
    let body = (length - RECORD_HEAD) as u32;
    let mut head = [0; FILLER_HEAD];
    head[0] = UTF8;
    head[5..9].copy_from_slice(&body.to_be_bytes());
    head[9..].copy_from_slice(&id.to_be_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fillers_fill_the_room_and_none_is_long_or_cut() {
        let exact = [0, 17, 18, LONGEST - 1, LONGEST, LONGEST + 1, LONGEST + 16];
        for length in exact.into_iter().chain([LONGEST + 17, 3 << 20]) {
            let mut end = 0;
            let mut ids = std::collections::BTreeSet::new();
            for (at, head) in fillers(length).unwrap() {
                assert!(ids.insert(head[9..].to_vec()), "{length}");
                assert_eq!(at, end, "{length}");
                let body = u32::from_be_bytes(head[5..9].try_into().unwrap());
                assert!((8..LONGEST).contains(&u64::from(body)), "{length}: {body}");
                end = at + 9 + u64::from(body);
            }
            assert_eq!(end, length);
        }
        assert!((1..17).all(|length| fillers(length).is_none()));
    }
}
