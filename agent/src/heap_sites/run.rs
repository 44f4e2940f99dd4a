//! Followed objects in few bytes: about 5 of them for each, where they came one after the other.
//!
//! A VM gives references out in the order of its memory, and threads allocate at few sites at a time, so
//! that differences to the object before are small. They are kept as variable-length integers, 7 bits in
//! a byte, signed ones with the sign in the lowest bit (as in Protocol Buffers' encoding of `sint64`).

use super::live::Packed;

/// Followed objects, to be read from the first to the last.
pub(super) struct Run {
    bytes: Box<[u8]>,
    len: usize,
}

impl Run {
    /// Of so many objects, using `buffer` meanwhile.
    pub(super) fn new(objects: impl Iterator<Item = Packed>, buffer: &mut Vec<u8>) -> Self {
        buffer.clear();
        let mut last = Packed::ZERO;
        let mut len = 0;
        for object in objects {
            // References are aligned, and have the same tag.
            let weak = object.weak.wrapping_sub(last.weak) as i64;
            let weak = if weak % 8 == 0 {
                zigzag(weak / 8) << 1
            } else {
                zigzag(weak) << 1 | 1
            };
            put(buffer, weak);
            let site = i64::from(object.site_and_shift) - i64::from(last.site_and_shift);
            put(buffer, zigzag(site));
            put(buffer, u64::from(object.size));
            last = object;
            len += 1;
        }
        Self {
            bytes: buffer.as_slice().into(),
            len,
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = Packed> + '_ {
        let mut bytes = &*self.bytes;
        let mut last = Packed::ZERO;
        (0..self.len).map(move |_| {
            let weak = take(&mut bytes);
            let step = match weak & 1 {
                0 => unzigzag(weak >> 1).wrapping_mul(8),
                _ => unzigzag(weak >> 1),
            };
            let site = i64::from(last.site_and_shift) + unzigzag(take(&mut bytes));
            last = Packed {
                weak: last.weak.wrapping_add(step as usize),
                site_and_shift: site as u32,
                size: take(&mut bytes) as u32,
            };
            last
        })
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn put(buffer: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        buffer.push(value as u8 | 0x80);
        value >>= 7;
    }
    buffer.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    let mut shift = 0;
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 || shift > 63 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reading_undoes_writing(
            objects in prop::collection::vec((0usize..1 << 57, any::<u32>(), any::<u32>()), 0..300),
        ) {
            let packed = objects.iter().map(|&(weak, site_and_shift, size)| Packed {
                weak,
                site_and_shift,
                size,
            });
            let run = Run::new(packed, &mut Vec::new());
            prop_assert_eq!(run.len(), objects.len());
            let back: Vec<_> = run
                .objects()
                .map(|it| (it.weak, it.site_and_shift, it.size))
                .collect();
            prop_assert_eq!(back, objects);
        }
    }

    #[test]
    fn neighbours_take_few_bytes() {
        let objects = (0..1000).map(|number| Packed {
            weak: 0x7fff_1234_5671 + number * 8,
            site_and_shift: 20_000 + (number as u32 * 7) % 50,
            size: 5,
        });
        let run = Run::new(objects, &mut Vec::new());
        assert!(run.bytes.len() < 3100, "{} bytes", run.bytes.len());
    }
}
