//! Numbers as C reads them, without its dependence on the locale.

/// White space of C's `isspace` in the "C" locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Reads a 64-bit number like `strtol` (ISO C11, 7.22.1.4): blanks, a sign,
/// digits. Returns the number, held at the ends of its range, and how many
/// bytes were used (0 if there is no number).
///
/// `base` is 10, or 0 for the base the text itself shows (`0x`, `0`).
pub(super) fn strtol(text: &str, base: u32) -> (i64, usize) {
    let bytes = text.as_bytes();
    let mut at = bytes.iter().take_while(|&&byte| is_space(byte)).count();
    let negative = bytes.get(at) == Some(&b'-');
    if matches!(bytes.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let digit = |at: usize, base: u32| bytes.get(at).and_then(|&b| char::from(b).to_digit(base));
    let mut radix = base;
    if base == 0 {
        radix = 10;
        if bytes.get(at) == Some(&b'0') {
            radix = 8;
            if matches!(bytes.get(at + 1), Some(b'x' | b'X')) && digit(at + 2, 16).is_some() {
                radix = 16;
                at += 2;
            }
        }
    }
    let mut value: i64 = 0;
    let first = at;
    while let Some(digit) = digit(at, radix) {
        let digit = i64::from(digit);
        // Counted downwards when negative, because the lower end is further out.
        let digit = if negative { -digit } else { digit };
        value = value.saturating_mul(i64::from(radix)).saturating_add(digit);
        at += 1;
    }
    (value, if at == first { 0 } else { at })
}

/// Reads a 32-bit number in base 10 that fills the whole text; a larger number
/// is cut to its low 32 bits.
pub(super) fn decimal(text: &str) -> Option<i32> {
    let (value, used) = strtol(text, 10);
    (used == text.len()).then_some(value as i32)
}

/// Reads a number of bytes below 2^31 that fills the whole text: digits, and
/// possibly `k` or `m` in either case for units of 1024 or 1024 * 1024.
pub(super) fn bytes(text: &str) -> Option<u32> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse::<u32>().ok()?.checked_mul(unit)?;
    i32::try_from(number).is_ok().then_some(number)
}

/// Reads a floating-point number that fills the whole text like `strtod` (ISO
/// C11, 7.22.1.3): decimal, hexadecimal, infinite, or not a number.
pub(super) fn strtod(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(|c: char| u8::try_from(c).is_ok_and(is_space));
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if body.starts_with(['-', '+']) {
        return None;
    }
    let lower = body.to_ascii_lowercase();
    let magnitude = if let Some(hexadecimal) = lower.strip_prefix("0x") {
        hexadecimal_float(hexadecimal)?
    } else if let Some(payload) = lower.strip_prefix("nan(").and_then(|t| t.strip_suffix(')')) {
        let known = payload
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        known.then_some(f64::NAN)?
    } else {
        lower.parse().ok()?
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// Reads what follows `0x`, in lower case.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (digits, written_exponent) = match text.split_once('p') {
        Some((digits, exponent)) => {
            // `strtol` would accept blanks here.
            if exponent.starts_with(|c: char| c.is_ascii() && is_space(c as u8)) {
                return None;
            }
            let (value, used) = strtol(exponent, 10);
            if used == 0 || used != exponent.len() {
                return None;
            }
            (digits, value)
        }
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut mantissa: u64 = 0;
    let mut exponent: i64 = 0;
    // True if digits that no longer fit had a bit set: it decides the rounding.
    let mut sticky = false;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = digit.to_digit(16)?;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
        } else {
            sticky |= digit != 0;
            exponent += 4;
        }
        if index >= whole.len() {
            exponent -= 4;
        }
    }
    if mantissa == 0 {
        return Some(0.0);
    }
    let mut value = (mantissa | u64::from(sticky)) as f64;
    // Beyond these ends the result is infinite or zero whatever the mantissa.
    let mut exponent = exponent.saturating_add(written_exponent).clamp(-1200, 1200) as i32;
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        value *= 2f64.powi(step);
        exponent -= step;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strtol_in_base_ten() {
        assert_eq!(strtol("42", 10), (42, 2));
        assert_eq!(strtol(" \t\n\u{b}\u{c}\r+42", 10), (42, 9));
        assert_eq!(strtol("-7x", 10), (-7, 2));
        assert_eq!(strtol("0x10", 10), (0, 1));
        for none in ["", " ", "-", "+", "x", "+-1", "\u{e9}"] {
            assert_eq!(strtol(none, 10), (0, 0), "{none:?}");
        }
        assert_eq!(strtol("9223372036854775808", 10).0, i64::MAX);
        assert_eq!(strtol("-9223372036854775808", 10).0, i64::MIN);
        assert_eq!(strtol("-99999999999999999999", 10).0, i64::MIN);
    }

    #[test]
    fn strtol_in_base_zero() {
        assert_eq!(strtol("0x1F", 0), (31, 4));
        assert_eq!(strtol("-0X1f", 0), (-31, 5));
        assert_eq!(strtol("010", 0), (8, 3));
        assert_eq!(strtol("08", 0), (0, 1));
        assert_eq!(strtol("0xg", 0), (0, 1));
        assert_eq!(strtol("10", 0), (10, 2));
        assert_eq!(strtol("zz", 0), (0, 0));
    }

    #[test]
    fn decimals_are_cut_to_32_bits() {
        assert_eq!(decimal("4294967298"), Some(2));
        assert_eq!(decimal("-4294967294"), Some(2));
        assert_eq!(decimal("2147483648"), Some(i32::MIN));
        assert_eq!(decimal("99999999999999999999"), Some(-1));
        assert_eq!(decimal("5 "), None);
        assert_eq!(decimal("5.0"), None);
    }

    #[test]
    fn bytes_have_units_and_a_limit() {
        for (text, value) in [
            ("0", 0),
            ("512k", 512 << 10),
            ("1M", 1 << 20),
            ("2047m", 2047 << 20),
            ("2147483647", 2_147_483_647),
        ] {
            assert_eq!(bytes(text), Some(value), "{text}");
        }
        for text in [
            "",
            "k",
            "-1",
            "+1",
            "1g",
            "1kk",
            "1 k",
            "2048m",
            "2147483648",
            "99999999999",
            "1.5m",
            "m\u{e4}",
        ] {
            assert_eq!(bytes(text), None, "{text:?}");
        }
    }

    #[test]
    fn strtod_takes_every_notation_of_c() {
        for (text, value) in [
            ("0.0001", 0.0001),
            ("  +1e-3", 1e-3),
            (".5", 0.5),
            ("1.", 1.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("0x1p-4", 0.0625),
            ("0X.8", 0.5),
            ("0x1.8P+1", 3.0),
            ("-0x10", -16.0),
            ("0x0p99999999999999999999", 0.0),
            ("0x1p99999999999999999999", f64::INFINITY),
            ("0x1p-99999999999999999999", 0.0),
            ("0x1p-1074", 5e-324),
            ("0x123456789abcdef01", 20_988_295_479_420_645_121.0),
        ] {
            assert_eq!(strtod(text), Some(value), "{text}");
        }
        for text in ["nan", "-NaN", "nan(1_a)", "NAN()"] {
            assert!(strtod(text).is_some_and(f64::is_nan), "{text}");
        }
    }

    #[test]
    fn strtod_must_use_the_whole_text() {
        for text in [
            "", " ", "+", "--1", "+-1", "1e", "1 ", "1x", ".", "0x", "0x.", "0x1p", "0x1p 3",
            "0xp1", "0x1g", "1_0", "0,1", "nan(", "nan(-)", "infi", "1%", "0x1.2.3",
        ] {
            assert_eq!(strtod(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_never_panic(text in "\\PC*") {
            let _ = (strtol(&text, 0), decimal(&text), strtod(&text), bytes(&text));
        }

        #[test]
        fn printed_numbers_are_read_back(number: i64, float: f64) {
            prop_assert_eq!(strtol(&number.to_string(), 10).0, number);
            let read = strtod(&format!("{float:e}"));
            prop_assert!(read == Some(float) || float.is_nan());
        }

        #[test]
        fn hexadecimal_floats_are_read_exactly(mantissa in 0u64..1 << 53, exponent in -900i32..900) {
            let value = mantissa as f64 * 2f64.powi(exponent);
            prop_assert_eq!(strtod(&format!("0x{mantissa:x}p{exponent}")), Some(value));
        }

        #[test]
        fn long_mantissas_round_like_integers(mantissa: u128) {
            prop_assert_eq!(strtod(&format!("0x{mantissa:x}")), Some(mantissa as f64));
        }
    }
}
