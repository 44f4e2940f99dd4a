//! Numbers of logs: durations, sizes, changes of sizes, points in time.

use crate::event::{HeapChange, Nanos};

/// A decimal number at the beginning, with a point or a comma, and what follows it. JVMs of some
/// locales print a comma.
pub(crate) fn decimal(text: &[u8]) -> Option<(f64, &[u8])> {
    let mut value = 0f64;
    let mut scale = 0f64;
    let mut end = 0;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                value = value * 10.0 + f64::from(byte - b'0');
                scale *= 10.0;
            }
            b'.' | b',' if scale == 0.0 && at > 0 => scale = 1.0,
            _ => break,
        }
        end = at + 1;
    }
    (end > 0).then(|| (value / scale.max(1.0), &text[end..]))
}

/// A whole number at the beginning, and what follows it.
pub(crate) fn whole(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let mut value = 0u64;
    for byte in &text[..end] {
        value = value
            .saturating_mul(10)
            .saturating_add(u64::from(byte - b'0'));
    }
    (end > 0).then_some((value, &text[end..]))
}

/// A duration with its unit and nothing else: `2.345ms`, `0.012s`, `12ns`, `3us`, also with a space between them.
pub(crate) fn duration(text: &[u8]) -> Option<Nanos> {
    let (value, unit) = decimal(text)?;
    let scale = match unit.strip_prefix(b" ").unwrap_or(unit) {
        b"ms" => 1e6,
        b"s" => 1e9,
        b"us" => 1e3,
        b"ns" => 1.0,
        _ => return None,
    };
    Some(Nanos((value * scale).round() as u64))
}

/// The duration that ends a text after a space, and what is before it.
pub(crate) fn duration_at_end(text: &[u8]) -> Option<(&[u8], Nanos)> {
    let text = text.trim_ascii_end();
    let mut at = memchr::memrchr(b' ', text)?;
    // Some logs have a space before the unit.
    if !text[at + 1..].first()?.is_ascii_digit() {
        at = memchr::memrchr(b' ', &text[..at])?;
    }
    let duration = duration(&text[at + 1..])?;
    Some((text[..at].trim_ascii_end(), duration))
}

/// A size with its unit, and what follows: `24M`, `1097.0M`, `0.0B`, `613404K`, and `387920 K` of CMS.
pub(crate) fn size(text: &[u8]) -> Option<(u64, &[u8])> {
    let (value, rest) = decimal(text)?;
    let rest = match rest {
        [b' ', b'B' | b'K' | b'M' | b'G' | b'T', ..] => &rest[1..],
        _ => rest,
    };
    let shift = match rest.first()? {
        b'B' => 0,
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return None,
    };
    Some(((value * (1u64 << shift) as f64) as u64, &rest[1..]))
}

/// A part in parentheses at the beginning, and what follows. Parentheses may be nested, as in
/// `(System.gc())`.
pub(crate) fn parenthesized(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if text.first() != Some(&b'(') {
        return None;
    }
    let mut depth = 0usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[1..at], &text[at + 1..]));
        }
    }
    None
}

/// A change of sizes, and what follows: `24M->3M(256M)`, `20M(10%)->8M(4%)`,
/// `34944K(39296K)->4352K(39296K)`.
pub(crate) fn change(text: &[u8]) -> Option<(HeapChange, &[u8])> {
    let (before, rest) = size(text)?;
    let rest = parenthesized(rest).map_or(rest, |(_, rest)| rest);
    let (after, rest) = size(rest.strip_prefix(b"->")?)?;
    let (capacity, rest) = match parenthesized(rest) {
        Some((inner, rest)) => (size(inner).map(|(size, _)| size), rest),
        None => (None, rest),
    };
    let change = HeapChange {
        before,
        after,
        capacity,
    };
    Some((change, rest))
}

/// The nanoseconds since 1970 of a point in time: `2026-11-23T02:50:00.123+0000`.
pub(crate) fn date_time(text: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        let (value, rest) = whole(digits)?;
        rest.is_empty().then(|| i64::try_from(value).ok())?
    };
    let sign = |at: usize, byte: u8| text.get(at) == Some(&byte);
    if !(sign(4, b'-') && sign(7, b'-') && sign(10, b'T') && sign(13, b':') && sign(16, b':')) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let (millis, zone) = match text.get(19) {
        Some(b'.' | b',') => (number(20, 23)?, text.get(23..)?),
        _ => (0, text.get(19..)?),
    };
    let offset = match zone {
        [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            let digit = |byte: &u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
            let hours = digit(h1)? * 10 + digit(h2)?;
            let minutes = digit(m1)? * 10 + digit(m2)?;
            let seconds = hours * 3600 + minutes * 60;
            if *sign == b'-' { -seconds } else { seconds }
        }
        b"Z" | b"" => 0,
        _ => return None,
    };
    let whole = days(year, month, day) * 86_400 + seconds - offset;
    whole
        .checked_mul(1000)?
        .checked_add(millis)?
        .checked_mul(1_000_000)
}

/// The days from 1970-01-01 in the Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_have_units() {
        assert_eq!(duration(b"2.345ms"), Some(Nanos(2_345_000)));
        assert_eq!(duration(b"0,020s"), Some(Nanos(20_000_000)));
        assert_eq!(duration(b"17"), None);
        assert_eq!(duration(b"6.5 ms"), Some(Nanos(6_500_000)));
        let at_end = |text: &'static str| duration_at_end(text.as_bytes());
        let found = Some((&b"Pause 3M->1M(4M)"[..], Nanos(2_500_000)));
        assert_eq!(at_end("Pause 3M->1M(4M) 2.5ms"), found);
        assert_eq!(at_end("Pause 3M->1M(4M)  2.5 ms "), found);
        for other in ["2.5ms", "Pause 2.5", "Pause ms", "a b ms", " ms", ""] {
            assert_eq!(at_end(other), None, "{other}");
        }
        assert_eq!(size(b"1097.5M)"), Some((1_150_812_160, &b")"[..])));
        assert_eq!(size(b"0.0B"), Some((0, &b""[..])));
        assert_eq!(size(b"387920 K ("), Some((397_230_080, &b" ("[..])));
        assert_eq!(size(b"12x"), None);
    }

    #[test]
    fn changes_of_all_collectors_are_read() {
        let mega = |before: u64, after: u64, capacity: Option<u64>| HeapChange {
            before: before << 20,
            after: after << 20,
            capacity: capacity.map(|it| it << 20),
        };
        for (text, expected) in [
            ("24M->3M(256M)", mega(24, 3, Some(256))),
            ("20M(10%)->8M(4%)", mega(20, 8, None)),
            ("2048K(4096K)->1024K(8192K)", mega(2, 1, Some(8))),
            (
                "1024.0M(2048.0M)->512.0M(2048.0M)",
                mega(1024, 512, Some(2048)),
            ),
        ] {
            assert_eq!(
                change(text.as_bytes()),
                Some((expected, &b""[..])),
                "{text}"
            );
        }
        assert_eq!(change(b"24M->"), None);
    }

    #[test]
    fn parentheses_may_be_nested() {
        assert_eq!(
            parenthesized(b"(System.gc()) 1"),
            Some((&b"System.gc()"[..], &b" 1"[..]))
        );
        assert_eq!(parenthesized(b"(open"), None);
    }

    #[test]
    fn dates_have_zones() {
        let at = |text: &str| date_time(text.as_bytes());
        assert_eq!(at("1970-01-01T00:00:00.001+0000"), Some(1_000_000));
        assert_eq!(
            at("2026-11-23T02:50:00.000+0000"),
            at("2026-11-23T05:20:00.000+0230")
        );
        assert_eq!(
            at("2024-02-29T12:00:00.000+0000"),
            Some(1_709_208_000_000_000_000)
        );
        assert_eq!(at("2024-13-29T12:00:00.000+0000"), None);
        assert_eq!(at("9999-12-31T23:59:59.999+0000"), None);
    }
}
