//! Where HotSpot places the fields of an object.

use hprof_format::binary::{BasicType, IdSize};

use super::hotspot;
use super::layout::align;

/// The bytes taken in an object so far.
pub(super) struct Placement {
    /// Where the next field may begin.
    pub end: u64,
    /// Unused ranges below `end`.
    gaps: Vec<(u64, u64)>,
}

impl Placement {
    /// A header and nothing else.
    pub fn new(header: u64) -> Self {
        Self {
            end: header,
            gaps: Vec::new(),
        }
    }

    /// Leaves the room that keeps contended fields apart from others.
    pub fn pad(&mut self) {
        self.end += hotspot::PADDING;
        self.gaps.clear();
    }

    /// Leaves room after contended fields; sub-classes begin at the next word.
    pub fn pad_end(&mut self) {
        self.pad();
        self.end = align(self.end, 8);
    }

    /// Takes an aligned place of this width, in the smallest gap that will do, if any.
    pub fn place(&mut self, width: u64) {
        let fits = |&(from, to): &(u64, u64)| from.next_multiple_of(width) + width <= to;
        let fitting = (self.gaps.iter().enumerate()).filter(|(_, gap)| fits(gap));
        if let Some((index, _)) = fitting.min_by_key(|&(_, &(from, to))| to - from) {
            let (from, to) = self.gaps.swap_remove(index);
            let start = from.next_multiple_of(width);
            self.leave(from, start);
            self.leave(start + width, to);
            return;
        }
        let start = self.end.next_multiple_of(width);
        self.leave(self.end, start);
        self.end = start + width;
    }

    /// Places the fields of one class as HotSpot did up to JDK 14 (`ClassFileParser::layout_fields`
    /// with its defaults): after those of the super class, the widest first and references last;
    /// only the gap before the first `long` is filled, by one `int`, else shorter fields, else one
    /// reference. Of classes whose fields the VM itself knew, references came first, and no gap was
    /// filled.
    pub fn place_as_before_jdk_15(
        &mut self,
        types: &[BasicType],
        reference: u64,
        references_first: bool,
    ) {
        let count = |width: u64| {
            let has_width = |it: &&BasicType| {
                **it != BasicType::Object && it.width(IdSize::Eight) as u64 == width
            };
            types.iter().filter(has_width).count() as u64
        };
        let [longs, mut ints, mut shorts, mut bytes] = [8, 4, 2, 1].map(count);
        let mut references = types.len() as u64 - longs - ints - shorts - bytes;
        let mut at = self.end.next_multiple_of(reference);
        if references_first {
            at += reference * references;
            references = 0;
        }
        if longs > 0 {
            let mut gap = at.next_multiple_of(8) - at;
            at += gap + 8 * longs;
            if references_first {
                gap = 0;
            }
            for (width, left) in [(4, &mut ints), (2, &mut shorts), (1, &mut bytes)] {
                let fitting = (gap / width).min(*left);
                gap -= width * fitting;
                *left -= fitting;
            }
            if gap >= reference && references > 0 {
                references -= 1;
            }
        }
        at += 4 * ints + 2 * shorts + bytes;
        at = at.next_multiple_of(reference) + reference * references;
        self.end = at;
        self.gaps.clear();
    }

    fn leave(&mut self, from: u64, to: u64) {
        if from < to {
            self.gaps.push((from, to));
        }
    }
}
