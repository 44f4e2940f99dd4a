//! Instructions of AArch64.

/// Bytes of an instruction.
pub(super) const INSTRUCTION: usize = 4;

/// Returns whether an instruction does the same at any address: it has no distance from its own.
pub(super) fn is_movable(instruction: u32) -> bool {
    let kinds = [
        // adr, adrp
        (0x1f00_0000, 0x1000_0000),
        // b, bl
        (0x7c00_0000, 0x1400_0000),
        // b with a condition
        (0xfe00_0000, 0x5400_0000),
        // cbz, cbnz
        (0x7e00_0000, 0x3400_0000),
        // tbz, tbnz
        (0x7e00_0000, 0x3600_0000),
        // ldr from a distance
        (0x3b00_0000, 0x1800_0000),
    ];
    !kinds.iter().any(|&(mask, bits)| instruction & mask == bits)
}

/// The branch from an address to another one, if it is near enough.
pub(super) fn branch(from: usize, to: usize) -> Option<u32> {
    const BRANCH: u32 = 0x1400_0000;
    const BITS: u32 = 26;
    let distance = (to as isize).checked_sub(from as isize)?;
    if distance % INSTRUCTION as isize != 0 {
        return None;
    }
    let count = i32::try_from(distance / INSTRUCTION as isize).ok()?;
    let limit = 1 << (BITS - 1);
    (-limit..limit)
        .contains(&count)
        .then_some(BRANCH | count.cast_unsigned() & ((1 << BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_with_a_distance_stay() {
        // stp x29, x30, [sp, #-48]!; paciasp; sub sp, sp, #32; bti c; ldr x1, [x0]
        for first in [
            0xa9bd_7bfd,
            0xd503_233f,
            0xd100_83ff,
            0xd503_245f,
            0xf940_0001,
        ] {
            assert!(is_movable(first), "{first:x}");
        }
        // adrp, adr, b, bl, b.eq, cbz, tbnz, ldr from a distance
        for first in [
            0x9000_0000,
            0x1000_0000,
            0x1400_0001,
            0x9400_0001,
            0x5400_0000,
            0xb400_0000,
            0x3700_0000,
            0x5800_0051,
        ] {
            assert!(!is_movable(first), "{first:x}");
        }
    }

    #[test]
    fn a_branch_leads_where_it_should_or_is_none() {
        assert_eq!(branch(0x1000, 0x1010), Some(0x1400_0004));
        assert_eq!(branch(0x1010, 0x1000), Some(0x17ff_fffc));
        assert_eq!(branch(0x1000, 0x1002), None);
        assert_eq!(branch(0, (1 << 27) - 4), Some(0x15ff_ffff));
        assert_eq!(branch(0, 1 << 27), None);
        assert_eq!(branch(usize::MAX, 0), None);
    }
}
