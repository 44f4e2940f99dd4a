//! The rules for callers in an ELF file: its section `.eh_frame`, which the compiler writes for exceptions.
//!
//! A record of the section (FDE) has the instructions of a function's code; many share a head (CIE). They are a
//! small program, which gives one row after the other:
//!
//! ```text
//! CIE   code at start        caller at rsp + 8
//! FDE   1 byte on            caller at rsp + 16, rbp 16 below     after push rbp
//!       3 bytes on           caller at rbp + 16                   after mov rbp, rsp
//! ```
//!
//! Programs are bounded: a file may be of anybody.

use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice,
    LittleEndian, RegisterRule, UnwindContext, UnwindContextStorage, UnwindExpression,
    UnwindSection, UnwindTableRow, X86_64,
};

use crate::vm::callers::{FrameAddress, Rule, Rules, SavedFp};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;
type Cie<'a> = CommonInformationEntry<Bytes<'a>>;

/// Bytes of a head at most. Compilers write some thirty; its program runs for each function.
const MAX_CIE: u32 = 512;
/// Bytes of programs of a file that run at most, for each byte of the section.
const MAX_WORK: usize = 4;

/// A section in memory.
pub(super) struct Section<'a> {
    pub(super) bytes: &'a [u8],
    /// The address that the file gives it.
    pub(super) address: u64,
    /// The addresses of the file's code.
    pub(super) code: &'a [Range<u64>],
}

/// The room for a program's state: there are 17 registers.
struct Small;

impl UnwindContextStorage<usize> for Small {
    type Rules = [(gimli::Register, RegisterRule<usize>); 24];
    type Stack = [UnwindTableRow<usize, Self>; 4];
}

/// A function's record.
struct Function {
    start: u32,
    end: u32,
    /// Where in the section it is.
    record: usize,
}

/// The rules of a section, `most` at most, and whether there would be more.
pub(super) fn rules(section: &Section<'_>, most: usize) -> (Rules, bool) {
    let reader = Reader {
        bytes: section.bytes,
        frame: EhFrame::new(section.bytes, LittleEndian),
        bases: BaseAddresses::default().set_eh_frame(section.address),
    };
    let mut functions = reader.functions(section.code);
    functions.sort_unstable_by_key(|function| function.start);
    let mut rules = Rules::default();
    let mut context = Box::new(UnwindContext::<usize, Small>::new_in());
    let mut work = section.bytes.len().saturating_mul(MAX_WORK);
    let mut end = 0;
    let mut is_cut = false;
    for function in functions {
        // Where functions overlap, any of them may be kept.
        if function.start < end {
            continue;
        }
        if rules.len() >= most {
            is_cut = true;
            break;
        }
        let Some(cost) = reader.run(&function, &mut context, &mut rules, most) else {
            continue;
        };
        end = function.end;
        rules.push(end, Rule::UNKNOWN);
        let Some(rest) = work.checked_sub(cost) else {
            is_cut = true;
            break;
        };
        work = rest;
    }
    rules.shrink();
    (rules, is_cut)
}

struct Reader<'a> {
    bytes: &'a [u8],
    frame: EhFrame<Bytes<'a>>,
    bases: BaseAddresses,
}

impl<'a> Reader<'a> {
    /// The functions that lie in the code.
    fn functions(&self, code: &[Range<u64>]) -> Vec<Function> {
        let mut found = Vec::new();
        let mut entries = self.frame.entries(&self.bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let Ok(record) = partial.parse(|_, _, offset| self.head(offset)) else {
                continue;
            };
            let start = record.initial_address();
            let Some(end) = start.checked_add(record.len()) else {
                continue;
            };
            let is_inside = |code: &Range<u64>| code.start <= start && end <= code.end;
            if start < end
                && code.iter().any(is_inside)
                && let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end))
            {
                found.push(Function {
                    start,
                    end,
                    record: record.offset(),
                });
            }
        }
        found
    }

    /// The head of a record.
    fn head(&self, offset: EhFrameOffset) -> gimli::Result<Cie<'a>> {
        let length = self
            .bytes
            .get(offset.0..)
            .and_then(|rest| rest.first_chunk());
        let length = length.map(|bytes| u32::from_le_bytes(*bytes));
        if length.is_none_or(|length| length > MAX_CIE) {
            return Err(gimli::Error::OffsetOutOfBounds(offset.0 as u64));
        }
        self.frame.cie_from_offset(&self.bases, offset)
    }

    /// Runs the program of a function; returns its length in bytes. `None` if there is none.
    fn run(
        &self,
        function: &Function,
        context: &mut UnwindContext<usize, Small>,
        rules: &mut Rules,
        most: usize,
    ) -> Option<usize> {
        let offset = EhFrameOffset::from(function.record);
        let head = |_: &_, _: &_, offset| self.head(offset);
        let record = self.frame.fde_from_offset(&self.bases, offset, head).ok()?;
        let head = record.cie();
        let cost = record.entry_len().saturating_add(head.entry_len());
        if head.return_address_register() != X86_64::RA {
            return Some(cost);
        }
        let mut rows = record.rows(&self.frame, &self.bases, context).ok()?;
        let mut last = function.start;
        while rules.len() < most {
            let row = match rows.next_row() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(_) => {
                    rules.push(last, Rule::UNKNOWN);
                    break;
                }
            };
            let start = u32::try_from(row.start_address()).ok();
            let Some(start) = start.filter(|start| (last..function.end).contains(start)) else {
                break;
            };
            last = start;
            rules.push(start, self.rule(row));
        }
        Some(cost)
    }

    /// The rule of a row.
    fn rule(&self, row: &UnwindTableRow<usize, Small>) -> Rule {
        let frame = match row.register(X86_64::RA) {
            Some(RegisterRule::Offset(-8)) => self.frame_address(row.cfa()),
            Some(RegisterRule::Undefined) => FrameAddress::Root,
            _ => FrameAddress::Unknown,
        };
        let fp = match row.register(X86_64::RBP) {
            None | Some(RegisterRule::SameValue) => SavedFp::Register,
            Some(RegisterRule::Offset(offset)) => offset
                .checked_neg()
                .and_then(|below| usize::try_from(below).ok())
                .map_or(SavedFp::Lost, SavedFp::Saved),
            Some(RegisterRule::Expression(expression))
                if self.expression(&expression) == [0x76, 0] =>
            {
                SavedFp::AtFp
            }
            Some(_) => SavedFp::Lost,
        };
        Rule { frame, fp }
    }

    fn frame_address(&self, rule: &CfaRule<usize>) -> FrameAddress {
        match rule {
            CfaRule::RegisterAndOffset { register, offset } => {
                let address = match *register {
                    X86_64::RSP => FrameAddress::Sp,
                    X86_64::RBP => FrameAddress::Fp,
                    _ => return FrameAddress::Unknown,
                };
                usize::try_from(*offset).map_or(FrameAddress::Unknown, address)
            }
            // Two expressions of GCC and GNU ld are common enough.
            CfaRule::Expression(expression) => match *self.expression(expression) {
                // rsp + 8 + ((rip & 15 >= 11) << 3)
                [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22] => {
                    FrameAddress::Linkage
                }
                // *(rbp - n), n in LEB128 of one byte.
                [0x76, offset @ 0x40..=0x7f, 6] => {
                    FrameAddress::BelowFp(usize::from(0x80 - offset))
                }
                _ => FrameAddress::Unknown,
            },
        }
    }

    fn expression(&self, expression: &UnwindExpression<usize>) -> &'a [u8] {
        let end = expression.offset.saturating_add(expression.length);
        self.bytes.get(expression.offset..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
