//! Numbers of bytes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A number of bytes. Sums and differences saturate, as the numbers come from files that anything may have written.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// None.
    pub const ZERO: Self = Self(0);

    /// Units of 1,024 bytes, as `/proc` and the JVM count.
    pub const fn kib(number: u64) -> Self {
        Self(number.saturating_mul(1 << 10))
    }

    /// Units of 1,048,576 bytes.
    pub const fn mib(number: u64) -> Self {
        Self(number.saturating_mul(1 << 20))
    }

    /// The part of a whole, from 0 to 1; 0 of nothing.
    pub fn share_of(self, whole: Self) -> f64 {
        match whole.0 {
            0 => 0.0,
            whole => self.0 as f64 / whole as f64,
        }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    /// In a unit of 1000 that fits: `1.5 GB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
        if self.0 < 1000 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut value = self.0 as f64 / 1000.0;
        let mut unit = 0;
        // A value that would be shown as 1000.0 moves on.
        while value >= 999.95 && unit + 1 < UNITS.len() {
            value /= 1000.0;
            unit += 1;
        }
        f.pad(&format!("{value:.1} {}", UNITS[unit]))
    }
}

/// Reads a number with an optional unit of 1,024 (`K`, `M`, `G`, with or without `B`), as the JVM prints sizes: `512K`,
/// `1.50 MB`, `8388608B`.
pub fn parse_size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return Some(Bytes(whole.saturating_mul(1 << shift)));
    }
    let value: f64 = number.parse().ok()?;
    Some(Bytes((value * (1_u64 << shift) as f64) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_printed_and_read() {
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(999_999).to_string(), "1.0 MB");
        assert_eq!(Bytes(u64::MAX).to_string(), "18.4 EB");
        assert_eq!(parse_size("512K"), Some(Bytes::kib(512)));
        assert_eq!(parse_size("1.50 MB"), Some(Bytes::kib(1536)));
        assert_eq!(parse_size("8388608B"), Some(Bytes::mib(8)));
        assert_eq!(parse_size("12 apples"), None);
        assert_eq!(parse_size(""), None);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "[0-9.]{0,30} ?[KMGTBkx]{0,2}") {
            let _ = parse_size(&text);
        }

        #[test]
        fn whole_numbers_come_back(number in 0..1_u64 << 40) {
            prop_assert_eq!(parse_size(&format!("{number}K")), Some(Bytes::kib(number)));
        }
    }
}
