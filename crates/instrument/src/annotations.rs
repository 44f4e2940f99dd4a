//! Annotations: walked to find their ends, and the code offsets in type annotations
//! (Java Virtual Machine Specification 4.7.16 and 4.7.20).

use hprof_java_names::Primitive;

use crate::bytes::{Put, Reader};
use crate::error::Malformed;

/// Returns whether one of the annotations in a `RuntimeVisibleAnnotations` content has a type for
/// which `wanted` answers true.
pub(crate) fn has_type(content: &[u8], wanted: impl Fn(u16) -> bool) -> bool {
    let mut reader = Reader::new(content);
    let mut search = || -> Result<bool, Malformed> {
        for _ in 0..reader.u16()? {
            if wanted(reader.u16()?) {
                return Ok(true);
            }
            skip_pairs(&mut reader)?;
        }
        Ok(false)
    };
    search().unwrap_or(false)
}

/// Skips the count and the element-value pairs of an annotation.
fn skip_pairs(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    // Values may nest without limit, so what is still open is counted instead of recursing: a
    // number of pairs and then a number of plain values in each open annotation or array.
    let mut open = vec![(reader.u16()?, true)];
    while let Some((left, named)) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        if *named {
            reader.skip(2)?;
        }
        match reader.u8()? {
            b's' | b'c' => reader.skip(2)?,
            b'e' => reader.skip(4)?,
            b'@' => {
                reader.skip(2)?;
                open.push((reader.u16()?, true));
            }
            b'[' => open.push((reader.u16()?, false)),
            tag if Primitive::of_descriptor(tag).is_some() => reader.skip(2)?,
            _ => return Err(Malformed("element value of an annotation")),
        }
    }
    Ok(())
}

/// Where the parts of a method's code went.
pub(crate) trait Relocate {
    /// The new address of the instruction at `pc`.
    fn instruction(&self, pc: u16) -> Result<u16, Malformed>;
    /// New start and length of a range of addresses.
    fn range(&self, start: u16, len: u16) -> Result<(u16, u16), Malformed>;
    /// The new index of an entry of the exception table.
    fn exception_entry(&self, index: u16) -> u16;
}

/// Appends a `Runtime(In)VisibleTypeAnnotations` content of a Code attribute to `out`, with new
/// addresses.
pub(crate) fn relocate_type_annotations(
    content: &[u8],
    to: &impl Relocate,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let base = out.len();
    out.extend_from_slice(content);
    let mut reader = Reader::new(content);
    for _ in 0..reader.u16()? {
        match reader.u8()? {
            // Type parameters of classes and methods, formal parameters.
            0x00 | 0x01 | 0x16 => reader.skip(1)?,
            // Supertypes, bounds, throws.
            0x10 | 0x11 | 0x12 | 0x17 => reader.skip(2)?,
            0x13..=0x15 => (),
            // Local variables and resources: a table of ranges.
            0x40 | 0x41 => {
                for _ in 0..reader.u16()? {
                    let at = base + reader.position();
                    let (start, len) = to.range(reader.u16()?, reader.u16()?)?;
                    out.patch_u16(at, start);
                    out.patch_u16(at + 2, len);
                    reader.skip(2)?;
                }
            }
            // Exception parameters.
            0x42 => {
                let at = base + reader.position();
                out.patch_u16(at, to.exception_entry(reader.u16()?));
            }
            // instanceof, new, method references; with a type argument from 0x47 on.
            kind @ 0x43..=0x4b => {
                let at = base + reader.position();
                out.patch_u16(at, to.instruction(reader.u16()?)?);
                reader.skip(if kind >= 0x47 { 1 } else { 0 })?;
            }
            _ => return Err(Malformed("target of a type annotation")),
        }
        let path = usize::from(reader.u8()?) * 2;
        // The path, then the type.
        reader.skip(path + 2)?;
        skip_pairs(&mut reader)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shift;

    impl Relocate for Shift {
        fn instruction(&self, pc: u16) -> Result<u16, Malformed> {
            Ok(pc + 100)
        }
        fn range(&self, start: u16, len: u16) -> Result<(u16, u16), Malformed> {
            Ok((start + 100, len + 10))
        }
        fn exception_entry(&self, index: u16) -> u16 {
            index + 1
        }
    }

    #[test]
    fn only_addresses_change() {
        let mut content = vec![0, 4];
        // A local variable with one range, no path, one pair with a nested annotation in an array.
        content.extend_from_slice(&[0x40, 0, 1, 0, 5, 0, 6, 0, 2, 0, 0, 9, 0, 1]);
        content.extend_from_slice(&[0, 8, b'[', 0, 1, b'@', 0, 7, 0, 1, 0, 6, b'e', 0, 1, 0, 2]);
        // A catch, a new with a path of one step, a cast with type argument.
        content.extend_from_slice(&[0x42, 0, 3, 0, 0, 9, 0, 0]);
        content.extend_from_slice(&[0x44, 0, 17, 1, 0, 0, 0, 9, 0, 0]);
        content.extend_from_slice(&[0x47, 0, 18, 1, 0, 0, 9, 0, 0]);
        let mut out = vec![1];
        relocate_type_annotations(&content, &Shift, &mut out).unwrap();
        let changed: Vec<_> = (0..content.len())
            .filter(|&at| content[at] != out[at + 1])
            .collect();
        assert_eq!(changed, [6, 8, 35, 43, 53]);
        assert_eq!(
            [out[7], out[9], out[36], out[44], out[54]],
            [105, 16, 4, 117, 118]
        );
    }

    #[test]
    fn deep_nesting_ends() {
        let mut content = vec![0, 1, 0, 1, 0, 1, 0, 1];
        for _ in 0..100_000 {
            content.extend_from_slice(&[b'[', 0, 1]);
        }
        assert!(!has_type(&content, |index| index == 2));
        assert!(has_type(&content, |index| index == 1));
    }
}
