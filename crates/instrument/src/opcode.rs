//! Instructions: their lengths and the few of them that matter here
//! (Java Virtual Machine Specification chapter 6.5).

use crate::bytes::i32_at;
use crate::error::{Malformed, MethodSkip};

pub(crate) const ICONST_0: u8 = 3;
pub(crate) const ALOAD_0: u8 = 42;
pub(crate) const DUP: u8 = 89;
pub(crate) const BIPUSH: u8 = 16;
pub(crate) const SIPUSH: u8 = 17;
pub(crate) const LDC: u8 = 18;
pub(crate) const LDC_W: u8 = 19;
pub(crate) const LLOAD: u8 = 22;
pub(crate) const LLOAD_0: u8 = 30;
pub(crate) const LSTORE: u8 = 55;
pub(crate) const LSTORE_0: u8 = 63;
pub(crate) const IFEQ: u8 = 153;
pub(crate) const GOTO: u8 = 167;
pub(crate) const JSR: u8 = 168;
pub(crate) const RET: u8 = 169;
pub(crate) const TABLESWITCH: u8 = 170;
pub(crate) const LOOKUPSWITCH: u8 = 171;
pub(crate) const IRETURN: u8 = 172;
pub(crate) const RETURN: u8 = 177;
pub(crate) const PUTFIELD: u8 = 181;
pub(crate) const INVOKEVIRTUAL: u8 = 182;
pub(crate) const INVOKESPECIAL: u8 = 183;
pub(crate) const INVOKESTATIC: u8 = 184;
pub(crate) const INVOKEDYNAMIC: u8 = 186;
pub(crate) const NEW: u8 = 187;
pub(crate) const NEWARRAY: u8 = 188;
pub(crate) const ANEWARRAY: u8 = 189;
pub(crate) const ATHROW: u8 = 191;
pub(crate) const MONITORENTER: u8 = 194;
pub(crate) const MONITOREXIT: u8 = 195;
pub(crate) const WIDE: u8 = 196;
pub(crate) const MULTIANEWARRAY: u8 = 197;
pub(crate) const IFNULL: u8 = 198;
pub(crate) const IFNONNULL: u8 = 199;
pub(crate) const GOTO_W: u8 = 200;
pub(crate) const JSR_W: u8 = 201;
const IINC: u8 = 132;

/// Length of the instructions that have one, 0 for the others: `wide`, the switches, and the
/// opcodes that do not occur in class files.
const LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut opcode = 0;
    while opcode <= 201 {
        lengths[opcode] = match opcode as u8 {
            BIPUSH | LDC | 21..=25 | 54..=58 | RET | 188 => 2,
            SIPUSH | LDC_W | 20 | IINC | IFEQ..=JSR | 178..=184 | 187 | 189 | 192 | 193 => 3,
            IFNULL | IFNONNULL => 3,
            197 => 4,
            185 | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
            WIDE | TABLESWITCH | LOOKUPSWITCH => 0,
            _ => 1,
        };
        opcode += 1;
    }
    lengths
};

/// Length in bytes of the instruction at `pc`, which need not fit into `code`.
pub(crate) fn length(code: &[u8], pc: usize) -> Result<usize, MethodSkip> {
    let opcode = *code.get(pc).ok_or(Malformed::TRUNCATED)?;
    match LENGTHS[usize::from(opcode)] {
        0 => variable_length(code, pc, opcode),
        len => Ok(usize::from(len)),
    }
}

fn variable_length(code: &[u8], pc: usize, opcode: u8) -> Result<usize, MethodSkip> {
    match opcode {
        WIDE => Ok(match code.get(pc + 1) {
            Some(&IINC) => 6,
            _ => 4,
        }),
        TABLESWITCH | LOOKUPSWITCH => {
            let switch = Switch::parse(code, pc)?;
            Ok(switch.body - pc + switch.body_len())
        }
        other => Err(MethodSkip::UnknownInstruction(other)),
    }
}

/// Returns whether control never continues to the next instruction.
pub(crate) fn ends_flow(opcode: u8) -> bool {
    matches!(opcode, GOTO | RET..=RETURN | ATHROW | GOTO_W)
}

/// A `tableswitch` or `lookupswitch`.
pub(crate) struct Switch {
    /// Where the default offset stands, after the padding.
    pub(crate) body: usize,
    /// The entries after the default: bytes before each offset (4 for a key, 0 in a table).
    key_len: usize,
    entries: usize,
}

impl Switch {
    /// Reads the switch at `pc`, whose offsets all lie in `code` if this succeeds.
    pub(crate) fn parse(code: &[u8], pc: usize) -> Result<Self, Malformed> {
        // Padding so that the operands start at a multiple of four.
        let body = (pc & !3) + 4;
        let word = |n: usize| i32_at(code, body + 4 * n).ok_or(Malformed::TRUNCATED);
        let is_table = code.get(pc) == Some(&TABLESWITCH);
        let entries = if is_table {
            i64::from(word(2)?) - i64::from(word(1)?) + 1
        } else {
            i64::from(word(1)?)
        };
        // Checked against the length of the code at once: counts are up to 2^32.
        let entries = usize::try_from(entries)
            .ok()
            .filter(|&entries| entries <= code.len())
            .ok_or(Malformed("switch bounds"))?;
        let switch = Self {
            body,
            key_len: if is_table { 0 } else { 4 },
            entries,
        };
        match code.get(body..body + switch.body_len()) {
            Some(_) => Ok(switch),
            None => Err(Malformed::TRUNCATED),
        }
    }

    /// Bytes before the first entry: default and count, or default, low and high.
    fn head_len(&self) -> usize {
        if self.key_len == 0 { 12 } else { 8 }
    }

    /// Bytes after the padding.
    pub(crate) fn body_len(&self) -> usize {
        self.head_len() + self.entries * (self.key_len + 4)
    }

    /// The places of the branch offsets, counted from the start of the body.
    pub(crate) fn offset_places(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, step) = (self.head_len() + self.key_len, self.key_len + 4);
        std::iter::once(0).chain((0..self.entries).map(move |entry| first + entry * step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_known_opcodes() {
        // Lengths of the fixed-length instructions, in opcode order, from the table of chapter 7.
        let singles = LENGTHS[..=201].iter().filter(|&&len| len == 1).count();
        assert_eq!(singles, 147);
        assert_eq!(
            LENGTHS[202..].iter().max(),
            Some(&0),
            "breakpoint and beyond are no code"
        );
        assert_eq!(length(&[WIDE, IINC, 0, 1, 0, 1], 0), Ok(6));
        assert_eq!(length(&[WIDE, 21, 0, 1], 0), Ok(4));
        assert_eq!(length(&[202], 0), Err(MethodSkip::UnknownInstruction(202)));
    }

    #[test]
    fn switches_are_padded_and_bounded() {
        let mut code = vec![0, TABLESWITCH, 0, 0];
        for word in [20i32, -1, 1, 21, 22, 23] {
            code.extend_from_slice(&word.to_be_bytes());
        }
        assert_eq!(length(&code, 1), Ok(27));
        let places: Vec<_> = Switch::parse(&code, 1).unwrap().offset_places().collect();
        assert_eq!(places, [0, 12, 16, 20]);
        code.truncate(27);
        assert!(length(&code, 1).is_err());
        let mut huge = vec![TABLESWITCH, 0, 0, 0, 0, 0, 0, 0];
        huge.extend_from_slice(&i32::MIN.to_be_bytes());
        huge.extend_from_slice(&i32::MAX.to_be_bytes());
        assert!(length(&huge, 0).is_err());
        let negative = [LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255];
        assert!(length(&negative, 0).is_err());
    }
}
