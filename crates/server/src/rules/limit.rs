//! Limits of rules: sizes with a unit, and numbers.

/// The units of sizes. Units of 1000 are as tables and reports show sizes.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Reads a size such as `100MB` or `1.5GiB`, or `0`; gives bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let hint = || {
        let units = UNITS.map(|(unit, _)| unit).join(", ");
        format!("\"{text}\" is no size: give a number and a unit, one of {units}, as in 100MB")
    };
    if text == "0" {
        return Ok(0);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, unit) = text.split_at(end.ok_or_else(hint)?);
    let found = UNITS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let (_, scale) = found.ok_or_else(hint)?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let whole: u64 = whole.parse().map_err(|_| hint())?;
    let whole = whole.checked_mul(*scale).ok_or_else(hint)?;
    // Beyond the ninth digit there is nothing to see.
    let part = part.get(..part.len().min(9)).unwrap_or_default();
    let part = match part {
        "" => 0,
        part => {
            let tenths = 10_u128.pow(part.len() as u32);
            let number: u128 = part.parse().map_err(|_| hint())?;
            // Smaller than the scale, as the number is smaller than the tenths.
            (u128::from(*scale) * number / tenths) as u64
        }
    };
    whole.checked_add(part).ok_or_else(hint)
}

/// Reads a number.
pub(super) fn parse_count(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| format!("\"{text}\" is no limit here: give a whole number"))
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    let unit = UNITS
        .iter()
        .take(5)
        .rev()
        .find(|(_, scale)| bytes >= *scale);
    match unit {
        None | Some((_, 1)) => format!("{bytes} B"),
        Some((unit, scale)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(*scale);
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("0", 0),
            ("7B", 7),
            ("100MB", 100_000_000),
            ("100mb", 100_000_000),
            ("1.5GiB", 3 << 29),
            ("0.001kB", 1),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "5",
            "MB",
            "5M",
            "1..5MB",
            "-1MB",
            "99999999999TB",
            "1e3MB",
            ".5MB",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_990_000), "1.9 MB");
    }
}
