//! Numbers and names of lines that come by the million: the formatting machinery of the standard
//! library would take most of the time of a heap dump.

use std::io::Write;

use super::escape::Name;

/// Appends a number in lower-case hexadecimal.
#[inline]
pub(super) fn hex(out: &mut Vec<u8>, number: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let count = (67 - (number | 1).leading_zeros() as usize) / 4;
    let mut digits = [0; 16];
    for (place, digit) in digits[..count].iter_mut().enumerate() {
        *digit = DIGITS[(number >> (4 * (count - 1 - place))) as usize & 15];
    }
    out.extend_from_slice(&digits[..count]);
}

/// Appends a number in decimal.
#[inline]
pub(super) fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a name, escaped as [`Name`] does.
#[inline]
pub(super) fn name(out: &mut Vec<u8>, name: &str) {
    let is_plain = name.bytes().fold(true, |plain, byte| {
        plain & (0x20..0x7f).contains(&byte) & (byte != b'\\')
    });
    if is_plain {
        out.extend_from_slice(name.as_bytes());
    } else {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{}", Name(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_standard_library(number in prop_oneof![any::<u64>(), 0u64..300], text in any::<String>()) {
            let mut out = Vec::new();
            hex(&mut out, number);
            out.push(b' ');
            decimal(&mut out, number);
            out.push(b' ');
            name(&mut out, &text);
            prop_assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("{number:x} {number} {}", Name(&text))
            );
        }
    }
}
