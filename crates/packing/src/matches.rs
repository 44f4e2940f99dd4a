//! Finds what a block repeats (LZ77).

/// Bytes that are written as they are, and after them some that were there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// How many bytes are written as they are.
    pub literals: u32,
    /// How many bytes are repeated: 4 to [`MAX_LENGTH`].
    pub length: u16,
    /// How far back they are, less one.
    pub distance_less_one: u16,
}

/// The longest match that DEFLATE has.
pub(crate) const MAX_LENGTH: usize = 258;
/// The largest distance that DEFLATE has.
const WINDOW: usize = 1 << 15;
const TABLE_BITS: u32 = 12;
/// The last bytes of a block are not searched for: words are read past the place in hand.
const MARGIN: usize = 16;
/// Bytes that a match found by its hash has at least. Shorter ones cost as much as they save.
const HASHED: u32 = 6;
/// After each N places without a match, the steps get longer by one.
const PATIENCE: usize = 16;
/// After N places without a match, the last distance is not tried.
const MAX_TRIES: usize = 8;

/// Where a block had which bytes: the last place of each hash.
pub(crate) struct Matches {
    places: Vec<u32>,
}

impl Default for Matches {
    fn default() -> Self {
        Self {
            places: vec![0; 1 << TABLE_BITS],
        }
    }
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes[at..at + 8].try_into();
    word.map_or(0, u64::from_le_bytes)
}

/// The hash of the first [`HASHED`] bytes of a word, by Fibonacci's multiplier.
#[inline(always)]
fn hash(word: u64) -> usize {
    let bytes = word << (64 - 8 * HASHED);
    (bytes.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - TABLE_BITS)) as usize
}

/// The first of four bytes in a row that are zero, at most the fifth.
#[inline(always)]
fn four_zeros(word: u64) -> Option<usize> {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The highest bit of each byte that is zero.
    let zeros = !(((word & LOW) + LOW) | word | LOW);
    let pairs = zeros & (zeros >> 8);
    let fours = pairs & (pairs >> 16);
    (fours != 0).then_some((fours.trailing_zeros() / 8) as usize)
}

/// How many bytes at `at` are as those at `before`.
#[inline(always)]
fn common(bytes: &[u8], at: usize, before: usize) -> usize {
    let most = (bytes.len() - at).min(MAX_LENGTH);
    let mut length = 0;
    while length + 8 <= most {
        let differ = word(bytes, at + length) ^ word(bytes, before + length);
        if differ != 0 {
            return length + (differ.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    while length < most && bytes[at + length] == bytes[before + length] {
        length += 1;
    }
    length
}

impl Matches {
    /// Appends the sequences of `block`, of at most 4 GB. What follows the last is literal.
    pub fn find(&mut self, block: &[u8], sequences: &mut Vec<Sequence>) {
        self.places.fill(0);
        let end = block.len().saturating_sub(MARGIN);
        let (mut at, mut literal, mut misses) = (0, 0, 0);
        // None yet, or not worth a try.
        let mut distance = 0;
        while at < end {
            let here = word(block, at);
            if distance != 0
                && let Some(skipped) = four_zeros(here ^ word(block, at - distance))
            {
                let start = at + skipped;
                let length = common(block, start, start - distance);
                sequences.push(sequence(start - literal, length, distance));
                at = start + length;
                literal = at;
                misses = 0;
                self.note(block, at - 4, end);
                continue;
            }
            let place = &mut self.places[hash(here)];
            let before = *place as usize;
            *place = at as u32;
            let is_near = before < at && at - before <= WINDOW;
            if is_near && (here ^ word(block, before)) << (64 - 8 * HASHED) == 0 {
                let mut length = common(block, at, before);
                let (mut start, mut before) = (at, before);
                while start > literal
                    && before > 0
                    && length < MAX_LENGTH
                    && block[start - 1] == block[before - 1]
                {
                    (start, before, length) = (start - 1, before - 1, length + 1);
                }
                distance = start - before;
                sequences.push(sequence(start - literal, length, distance));
                at = start + length;
                literal = at;
                misses = 0;
            } else {
                misses += 1;
                at += 1 + misses / PATIENCE;
                if misses > MAX_TRIES {
                    distance = 0;
                }
            }
        }
    }

    /// Notes a place inside a match.
    #[inline(always)]
    fn note(&mut self, block: &[u8], at: usize, end: usize) {
        if at < end {
            self.places[hash(word(block, at))] = at as u32;
        }
    }
}

#[inline(always)]
fn sequence(literals: usize, length: usize, distance: usize) -> Sequence {
    Sequence {
        literals: literals as u32,
        length: length as u16,
        distance_less_one: (distance - 1) as u16,
    }
}
