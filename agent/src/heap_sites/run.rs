//! Followed objects in few bytes: about 2 of them for each, where they came one after the other.
//!
//! A VM gives references out in the order of its memory, a thread allocates at one site after another
//! again and again, and objects of a site are mostly of one size. So each object is guessed from those
//! before it in the run, and only what was guessed wrong is kept: a byte that says what that is, and
//! these values as variable-length integers, 7 bits in a byte, signed ones with the sign in the lowest
//! bit (as in Protocol Buffers' encoding of `sint64`).

use super::live::Packed;

/// Followed objects, to be read from the first to the last.
pub(super) struct Run {
    bytes: Box<[u8]>,
    len: usize,
}

/// The wrong guesses, in the low bits of an object's first byte. The other bits count the objects
/// after it were guessed right in all, which have no bytes.
const OTHER_WEAK: u8 = 1;
const OTHER_SITE: u8 = 2;
const OTHER_SIZE: u8 = 4;
const ONE_MORE: u8 = 8;
const MAX_MORE: u8 = u8::MAX - (ONE_MORE - 1);

impl Run {
    /// A run of this many objects, with `buffer` as scratch space.
    pub(super) fn new(objects: impl Iterator<Item = Packed>, buffer: &mut Vec<u8>) -> Self {
        buffer.clear();
        let mut guess = Guess::new();
        let mut first_byte: Option<usize> = None;
        let mut len = 0;
        for object in objects {
            len += 1;
            let (weak, site) = (guess.weak(), guess.site());
            let size = guess.size(object.site_and_shift);
            let last = guess.learn(object);
            let wrong = |is: bool, flag: u8| if is { flag } else { 0 };
            let flags = wrong(object.weak != weak, OTHER_WEAK)
                | wrong(object.site_and_shift != site, OTHER_SITE)
                | wrong(object.size != size, OTHER_SIZE);
            if let Some(byte) = first_byte.and_then(|at| buffer.get_mut(at))
                && flags == 0
                && *byte < MAX_MORE
            {
                *byte += ONE_MORE;
                continue;
            }
            first_byte = Some(buffer.len());
            buffer.push(flags);
            if flags & OTHER_WEAK != 0 {
                // References are aligned, and have the same tag.
                let step = object.weak.wrapping_sub(last.weak) as i64;
                let step = if step % 8 == 0 {
                    zigzag(step / 8) << 1
                } else {
                    zigzag(step) << 1 | 1
                };
                put(buffer, step);
            }
            if flags & OTHER_SITE != 0 {
                let step = i64::from(object.site_and_shift) - i64::from(last.site_and_shift);
                put(buffer, zigzag(step));
            }
            if flags & OTHER_SIZE != 0 {
                put(buffer, u64::from(object.size));
            }
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
        let mut guess = Guess::new();
        let mut more = 0;
        (0..self.len).map(move |_| {
            let (mut weak, mut site) = (guess.weak(), guess.site());
            let mut flags = 0;
            if more > 0 {
                more -= 1;
            } else if let Some((&byte, rest)) = bytes.split_first() {
                bytes = rest;
                (flags, more) = (byte, byte / ONE_MORE);
            }
            if flags & OTHER_WEAK != 0 {
                let step = take(&mut bytes);
                let step = match step & 1 {
                    0 => unzigzag(step >> 1).wrapping_mul(8),
                    _ => unzigzag(step >> 1),
                };
                weak = guess.last.weak.wrapping_add(step as usize);
            }
            if flags & OTHER_SITE != 0 {
                let step = unzigzag(take(&mut bytes));
                site = (i64::from(guess.last.site_and_shift) + step) as u32;
            }
            let size = match flags & OTHER_SIZE {
                0 => guess.size(site),
                _ => take(&mut bytes) as u32,
            };
            let object = Packed {
                weak,
                site_and_shift: site,
                size,
            };
            guess.learn(object);
            object
        })
    }
}

/// The prediction of the next object of a run, from those before it.
struct Guess {
    last: Packed,
    /// By site, that of the object after its last one.
    sites: [u32; GUESSES],
    /// By site, the size of its last object.
    sizes: [u32; GUESSES],
}

const GUESS_BITS: u32 = 9;
const GUESSES: usize = 1 << GUESS_BITS;

impl Guess {
    fn new() -> Self {
        Self {
            last: Packed::ZERO,
            sites: [0; GUESSES],
            sizes: [0; GUESSES],
        }
    }

    /// The reference after the last one, in the VM's memory.
    fn weak(&self) -> usize {
        self.last.weak.wrapping_add(8)
    }

    fn site(&self) -> u32 {
        self.sites[place(self.last.site_and_shift)]
    }

    fn size(&self, site: u32) -> u32 {
        self.sizes[place(site)]
    }

    /// Takes note of the object, and returns the one before.
    fn learn(&mut self, object: Packed) -> Packed {
        let last = std::mem::replace(&mut self.last, object);
        self.sites[place(last.site_and_shift)] = object.site_and_shift;
        self.sizes[place(object.site_and_shift)] = object.size;
        last
    }
}

/// Sites that share a place only make wrong guesses.
fn place(site: u32) -> usize {
    (site.wrapping_mul(0x9e37_79b1) >> (u32::BITS - GUESS_BITS)) as usize
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

    fn packed(&(weak, site_and_shift, size): &(usize, u32, u32)) -> Packed {
        Packed {
            weak,
            site_and_shift,
            size,
        }
    }

    fn there_and_back(objects: &[(usize, u32, u32)]) -> Vec<(usize, u32, u32)> {
        let run = Run::new(objects.iter().map(packed), &mut Vec::new());
        assert_eq!(run.len(), objects.len());
        run.objects()
            .map(|it| (it.weak, it.site_and_shift, it.size))
            .collect()
    }

    proptest! {
        #[test]
        fn reading_undoes_writing(
            objects in prop::collection::vec((0usize..1 << 57, any::<u32>(), any::<u32>()), 0..300),
        ) {
            prop_assert_eq!(&there_and_back(&objects), &objects);
        }
    }

    proptest! {
        /// As above, of few values, which are guessed right now and then.
        #[test]
        fn guesses_are_the_same_in_reading(
            objects in prop::collection::vec((0usize..3, 0u32..4, 0u32..2), 0..300),
        ) {
            let mut weak = 0x7fff_1234_5671;
            let packed: Vec<_> = objects
                .iter()
                .map(|&(step, site_and_shift, size)| {
                    weak += 8 * step;
                    (weak, site_and_shift, size)
                })
                .collect();
            prop_assert_eq!(&there_and_back(&packed), &packed);
        }
    }

    #[test]
    fn what_is_as_before_takes_no_byte() {
        let objects: Vec<_> = (0..1000)
            .map(|number| {
                let site = 20_000 + (number as u32 * 7) % 50;
                (0x7fff_1234_5671 + number * 8, site, site % 5)
            })
            .collect();
        let run = Run::new(objects.iter().map(packed), &mut Vec::new());
        // The first 50 and, for all 32 after, a byte.
        assert!(
            run.bytes.len() < 50 * 5 + 1000 / 32,
            "{} bytes",
            run.bytes.len()
        );
        assert_eq!(there_and_back(&objects), objects);
    }
}
