//! Figures in words.

/// A share of 1 in percent.
pub(crate) fn percent(share: f64) -> String {
    // An empty sum is -0.
    let percent = share * 100.0 + 0.0;
    match percent {
        percent if percent > 0.0 && percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A number of threads, on average.
pub(crate) fn threads(count: f64) -> String {
    match format!("{:.1}", count + 0.0) {
        one if one == "1.0" => "1 thread".to_owned(),
        count => format!("{count} threads"),
    }
}

/// A number with commas.
pub(crate) fn count(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with what there is of it: `1 class`, `2 classes`.
pub(crate) fn counted(number: f64, one: &str, many: &str) -> String {
    match count(number) {
        number if number == "1" => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

/// Bytes, in units of 1000.
pub(crate) fn bytes(bytes: f64) -> String {
    let units = ["bytes", "kB", "MB", "GB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    match value < 9.95 && unit > 0 {
        true => format!("{value:.1} {}", units[unit]),
        false => format!("{value:.0} {}", units[unit]),
    }
}

/// Nanoseconds as milliseconds or seconds.
pub(crate) fn time(nanos: f64) -> String {
    match nanos / 1e6 {
        millis if millis >= 9_950.0 => format!("{:.0} s", millis / 1000.0),
        millis if millis >= 999.5 => format!("{:.1} s", millis / 1000.0),
        millis if millis >= 9.95 => format!("{millis:.0} ms"),
        millis => format!("{millis:.1} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_two_or_three_digits() {
        assert_eq!(percent(-0.0), "0 %");
        assert_eq!(percent(0.0213), "2.1 %");
        assert_eq!(percent(0.966), "97 %");
        assert_eq!(threads(0.98), "1 thread");
        assert_eq!(threads(-0.0), "0.0 threads");
        assert_eq!(threads(4.87), "4.9 threads");
        assert_eq!(count(1_216_692.4), "1,216,692");
        assert_eq!(count(7.0), "7");
        assert_eq!(counted(0.6, "class", "classes"), "1 class");
        assert_eq!(counted(0.4, "class", "classes"), "0 classes");
        assert_eq!(bytes(5_720_000_000.0), "5.7 GB");
        assert_eq!(bytes(12.0), "12 bytes");
        assert_eq!(time(191.4e6), "191 ms");
        assert_eq!(time(2.34e9), "2.3 s");
    }
}
