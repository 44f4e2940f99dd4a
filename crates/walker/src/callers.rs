//! Where the callers of native code are, as its compilers wrote it down for exceptions.
//!
//! ```text
//!            │ ...            │ ◄─ the canonical frame address (CFA): the caller's stack pointer
//!            │ return address │
//!            │ caller's rbp   │    anywhere in the frame, or still in the register
//! sp ──────► │ ...            │
//! ```
//!
//! Each instruction has a rule that leads from its registers to the address, so the frame need not have a pointer. Rules
//! are made beforehand, from files; here they are looked up in a signal handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::WORD;

/// The way from a function's registers to its canonical frame address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameAddress {
    /// Not known.
    Unknown,
    /// There is none: the function has no caller.
    Root,
    /// Bytes above the stack pointer.
    Sp(usize),
    /// Bytes above the frame pointer.
    Fp(usize),
    /// In the word this many bytes below the frame pointer: the function has aligned its stack.
    BelowFp(usize),
    /// That of an entry of the procedure linkage table: one word above the stack pointer, two after its second
    /// instruction.
    Linkage,
}

/// Where the caller's frame pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedFp {
    /// In its register.
    Register,
    /// Bytes below the canonical frame address.
    Saved(usize),
    /// In the word at the frame pointer.
    AtFp,
    /// Nowhere.
    Lost,
}

/// The rule of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The canonical frame address.
    pub frame: FrameAddress,
    /// The caller's frame pointer.
    pub fp: SavedFp,
}

/// Rules in one word each: bits 0 to 2 say how the frame address is found, 3 to 21 how many words away, the others
/// where the frame pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed(u32);

const WAY_BITS: u32 = 3;
const WORDS_BITS: u32 = 19;
const FP_BITS: u32 = 10;
const FP_LOST: u32 = (1 << FP_BITS) - 1;
const FP_AT_FP: u32 = FP_LOST - 1;

impl Rule {
    /// Without a known way to the caller.
    pub const UNKNOWN: Self = Self {
        frame: FrameAddress::Unknown,
        fp: SavedFp::Lost,
    };

    fn pack(self) -> Packed {
        let words = |bytes: usize, bits: u32| {
            let words = u32::try_from(bytes / WORD).ok()?;
            (bytes.is_multiple_of(WORD) && words < 1 << bits).then_some(words)
        };
        let frame = match self.frame {
            FrameAddress::Unknown => Some((0, 0)),
            FrameAddress::Root => Some((1, 0)),
            FrameAddress::Sp(bytes) => words(bytes, WORDS_BITS).map(|words| (2, words)),
            FrameAddress::Fp(bytes) => words(bytes, WORDS_BITS).map(|words| (3, words)),
            FrameAddress::BelowFp(bytes) => words(bytes, WORDS_BITS).map(|words| (4, words)),
            FrameAddress::Linkage => Some((5, 0)),
        };
        let fp = match self.fp {
            SavedFp::Register => 0,
            SavedFp::AtFp => FP_AT_FP,
            SavedFp::Lost => FP_LOST,
            SavedFp::Saved(bytes) => words(bytes, FP_BITS)
                .filter(|words| (1..FP_AT_FP).contains(words))
                .unwrap_or(FP_LOST),
        };
        let (way, words) = frame.unwrap_or((0, 0));
        Packed(way | words << WAY_BITS | fp << (WAY_BITS + WORDS_BITS))
    }
}

impl Packed {
    fn rule(self) -> Rule {
        let words = (self.0 >> WAY_BITS) & ((1 << WORDS_BITS) - 1);
        let bytes = (words as usize).saturating_mul(WORD);
        Rule {
            frame: match self.0 & ((1 << WAY_BITS) - 1) {
                1 => FrameAddress::Root,
                2 => FrameAddress::Sp(bytes),
                3 => FrameAddress::Fp(bytes),
                4 => FrameAddress::BelowFp(bytes),
                5 => FrameAddress::Linkage,
                _ => FrameAddress::Unknown,
            },
            fp: match self.0 >> (WAY_BITS + WORDS_BITS) {
                0 => SavedFp::Register,
                FP_AT_FP => SavedFp::AtFp,
                FP_LOST => SavedFp::Lost,
                words => SavedFp::Saved((words as usize).saturating_mul(WORD)),
            },
        }
    }
}

/// The rules of a file, by the addresses that the file gives its code.
#[derive(Debug, Default)]
pub struct Rules {
    /// Where a rule begins, which ends where the next begins; in order.
    starts: Vec<u32>,
    rules: Vec<Packed>,
}

/// Bytes of memory that a rule takes.
pub const RULE_BYTES: usize = size_of::<u32>() + size_of::<Packed>();

impl Rules {
    /// Adds the rule from an address on. The address must not be below that of the rule before, of which nothing stays
    /// if it is equal.
    pub fn push(&mut self, start: u32, rule: Rule) {
        let packed = rule.pack();
        if self.starts.last().is_some_and(|&last| last >= start) {
            self.starts.pop();
            self.rules.pop();
        }
        if self.rules.last() != Some(&packed) {
            self.starts.push(start);
            self.rules.push(packed);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Gives back the memory that no rule takes.
    pub fn shrink(&mut self) {
        self.starts.shrink_to_fit();
        self.rules.shrink_to_fit();
    }

    /// The rule of an address. Safe in a signal handler.
    pub fn at(&self, address: u32) -> Rule {
        self.packed_at(address).rule()
    }

    fn packed_at(&self, address: u32) -> Packed {
        let after = self.starts.partition_point(|&start| start <= address);
        let found = after.checked_sub(1);
        let found = found.and_then(|index| self.rules.get(index)).copied();
        found.unwrap_or_else(|| Rule::UNKNOWN.pack())
    }
}

/// A mapping with code.
#[derive(Clone, Debug)]
pub struct MappedCode {
    /// Its first address.
    pub start: usize,
    /// The address after it.
    pub end: usize,
    /// The address that the file gives the first.
    pub address: u64,
    /// The rules of the file.
    pub rules: Arc<Rules>,
}

/// The code of a process.
#[derive(Debug, Default)]
pub struct CodeMap {
    /// In the order of their addresses.
    mappings: Box<[MappedCode]>,
    recent: Recent,
}

/// Rules that were looked up lately: most stacks are of a few places, and a search reads memory all over the tables.
#[derive(Debug)]
struct Recent(Box<[RecentRule]>);

/// An address, and its rule with the lower half of the address above it: another thread may write one of the two in between.
#[derive(Debug, Default)]
struct RecentRule {
    pc: AtomicU64,
    rule: AtomicU64,
}

/// A power of two.
const RECENT: usize = 1 << 10;

impl Default for Recent {
    fn default() -> Self {
        Self((0..RECENT).map(|_| RecentRule::default()).collect())
    }
}

impl Recent {
    fn place(&self, pc: usize) -> Option<&RecentRule> {
        let spread = (pc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.0.get(spread as usize % RECENT)
    }

    fn get(&self, pc: usize) -> Option<Packed> {
        let place = self.place(pc)?;
        let (at, rule) = (
            place.pc.load(Ordering::Relaxed),
            place.rule.load(Ordering::Relaxed),
        );
        let is_of = at == pc as u64 && at != 0 && (rule >> 32) as u32 == pc as u32;
        is_of.then_some(Packed(rule as u32))
    }

    fn put(&self, pc: usize, Packed(rule): Packed) {
        if let Some(place) = self.place(pc) {
            let tagged = u64::from(pc as u32) << 32 | u64::from(rule);
            place.rule.store(tagged, Ordering::Relaxed);
            place.pc.store(pc as u64, Ordering::Relaxed);
        }
    }
}

impl CodeMap {
    /// Makes the map of mappings that do not overlap.
    pub fn new(mut mappings: Vec<MappedCode>) -> Self {
        mappings.sort_by_key(|mapping| mapping.start);
        Self {
            mappings: mappings.into(),
            recent: Recent::default(),
        }
    }

    /// The rule of an instruction; `None` where no code is mapped. Safe in a signal handler.
    pub fn rule(&self, pc: usize) -> Option<Rule> {
        if let Some(packed) = self.recent.get(pc) {
            return Some(packed.rule());
        }
        let mapping = self.mapping(pc)?;
        let offset = u64::try_from(pc.checked_sub(mapping.start)?).ok()?;
        let address = mapping.address.checked_add(offset)?;
        let packed = match u32::try_from(address) {
            Ok(address) => mapping.rules.packed_at(address),
            Err(_) => Rule::UNKNOWN.pack(),
        };
        self.recent.put(pc, packed);
        Some(packed.rule())
    }

    /// Returns whether code is mapped at an address. Safe in a signal handler.
    pub(crate) fn has(&self, pc: usize) -> bool {
        self.mapping(pc).is_some()
    }

    fn mapping(&self, pc: usize) -> Option<&MappedCode> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= pc);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        (pc < mapping.end).then_some(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_takes_one_word() {
        let frames = [
            FrameAddress::Unknown,
            FrameAddress::Root,
            FrameAddress::Sp(8),
            FrameAddress::Sp(((1 << WORDS_BITS) - 1) * WORD),
            FrameAddress::Fp(16),
            FrameAddress::BelowFp(8),
            FrameAddress::Linkage,
        ];
        let saved = SavedFp::Saved((FP_AT_FP as usize - 1) * WORD);
        let fps = [
            SavedFp::Register,
            SavedFp::Saved(16),
            saved,
            SavedFp::AtFp,
            SavedFp::Lost,
        ];
        for frame in frames {
            for fp in fps {
                let rule = Rule { frame, fp };
                assert_eq!(rule.pack().rule(), rule);
            }
        }
        assert_eq!((WAY_BITS + WORDS_BITS + FP_BITS, RULE_BYTES), (32, 8));
    }

    #[test]
    fn what_does_not_fit_is_unknown() {
        for bytes in [12, WORD << WORDS_BITS, usize::MAX] {
            let rule = Rule {
                frame: FrameAddress::Sp(bytes),
                fp: SavedFp::Saved(bytes),
            };
            assert_eq!(rule.pack().rule(), Rule::UNKNOWN, "{bytes}");
        }
        let at_the_frame = Rule {
            frame: FrameAddress::Root,
            fp: SavedFp::Saved(0),
        };
        assert_eq!(at_the_frame.pack().rule().fp, SavedFp::Lost);
    }

    #[test]
    fn an_instruction_has_the_rule_that_began_last() {
        let sp = |bytes| Rule {
            frame: FrameAddress::Sp(bytes),
            fp: SavedFp::Register,
        };
        let mut rules = Rules::default();
        rules.push(0x10, sp(8));
        rules.push(0x18, sp(8));
        rules.push(0x20, sp(16));
        rules.push(0x20, sp(24));
        rules.push(0x30, Rule::UNKNOWN);
        assert_eq!(rules.len(), 3);
        let expected = [
            (0, Rule::UNKNOWN),
            (0x10, sp(8)),
            (0x1f, sp(8)),
            (0x20, sp(24)),
            (0x30, Rule::UNKNOWN),
            (u32::MAX, Rule::UNKNOWN),
        ];
        for (address, rule) in expected {
            assert_eq!(rules.at(address), rule, "{address:x}");
        }
        let rules = Arc::new(rules);
        let mapping = |start, address| MappedCode {
            start,
            end: start + 0x1000,
            address,
            rules: Arc::clone(&rules),
        };
        let code = CodeMap::new(vec![mapping(0x9000, u64::MAX), mapping(0x5000, 0)]);
        assert_eq!(code.rule(0x5010), Some(sp(8)));
        assert_eq!(code.rule(0x5fff), Some(Rule::UNKNOWN));
        assert_eq!(code.rule(0x9000), Some(Rule::UNKNOWN));
        // Once more, from those that were looked up.
        assert_eq!(code.rule(0x5010), Some(sp(8)));
        for outside in [0, 0x4fff, 0x6000, 0x8fff, 0xa000, usize::MAX] {
            assert_eq!((code.rule(outside), code.has(outside)), (None, false));
        }
        assert_eq!(code.rule(0x9001), None);
    }
}
