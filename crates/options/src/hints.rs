//! Guesses at what was meant, for the second half of an error message.

use super::error::Hint;
use super::table;

/// The word closest to `given`, if it is close enough to be a slip.
fn nearest<'a>(given: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_ascii_lowercase();
    let length = given.chars().count();
    // Distances are quadratic in time, and a word this long is no mistyped option.
    if length == 0 || length > 64 {
        return None;
    }
    let distance = |word: &str| {
        let word = word.to_ascii_lowercase();
        // No abbreviations are accepted, but they are understood.
        if length >= 2 && word.starts_with(&given) {
            return 0;
        }
        strsim::osa_distance(&given, &word)
    };
    words
        .map(|word| (distance(word), word))
        .filter(|&(distance, word)| distance <= (length.max(word.len()) / 3).max(1))
        // One letter resembles every other letter.
        .filter(|&(distance, word)| distance == 0 || (length > 1 && word.len() > 1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, word)| word)
}

/// Advice for a name that no option has.
pub(super) fn name(given: &str) -> Hint {
    if given == "help" {
        return Hint::new("help must be the only option, and on the command line");
    }
    if let Some(rest) = given.strip_prefix(',') {
        let rest = rest.trim_start_matches(',');
        return Hint::new(match rest {
            "" => "take out the extra comma".to_owned(),
            rest => format!("take out the comma before {rest}"),
        });
    }
    if let Some((first, _)) = given.split_once(',') {
        return Hint::new(missing_value(first));
    }
    let trimmed = given.trim();
    if trimmed != given && table::find(trimmed).is_some() {
        return Hint::new("take out the blank");
    }
    match nearest(given, table::names()) {
        Some(name) => Hint::new(format!("did you mean {name}?")),
        None => Hint::new("the option string help lists all options"),
    }
}

/// Advice for a name longer than `max`; `text` starts with it.
pub(super) fn long_name(text: &str, max: usize) -> Hint {
    let name = text.split('=').next().unwrap_or_default();
    match name.split_once(',') {
        Some((first, _)) if !first.is_empty() => Hint::new(missing_value(first)),
        _ => Hint::new(format!("names have at most {max} bytes")),
    }
}

/// `first` precedes a comma, in the place of a name and a value.
fn missing_value(first: &str) -> String {
    match table::find(first) {
        Some(spec) => format!("{first} needs a value, write {first}={}", spec.value),
        None => match nearest(first, table::names()) {
            Some(name) => format!("options are written name=value; did you mean {name}=?"),
            None => "options are written name=value; a value cannot hold a comma".to_owned(),
        },
    }
}

/// Advice for a switch that is neither `y` nor `n`.
pub(super) fn switch(name: &str, given: &str) -> Hint {
    match given.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" | "t" | "on" | "1" => Hint::new(format!("did you mean {name}=y?")),
        "n" | "no" | "false" | "f" | "off" | "0" => Hint::new(format!("did you mean {name}=n?")),
        _ => not(given),
    }
}

/// Advice for a word that is none of `words`.
pub(super) fn word(name: &str, given: &str, words: &[&str]) -> Hint {
    match nearest(given, words.iter().copied()) {
        Some(word) => Hint::new(format!("did you mean {name}={word}?")),
        None => not(given),
    }
}

/// Advice for what is not a good whole number.
pub(super) fn number(name: &str, given: &str) -> Hint {
    let digits = given
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(given.len());
    let (number, unit) = given.split_at(digits);
    if !number.is_empty() && unit.chars().all(char::is_alphabetic) && !unit.is_empty() {
        return Hint::new(format!(
            "write the number without a unit, as in {name}={number}"
        ));
    }
    not(given)
}

/// Advice for what is not a good number of bytes.
pub(super) fn bytes(name: &str, given: &str) -> Hint {
    let lower = given.to_ascii_lowercase();
    let number = lower
        .trim_end_matches("ib")
        .trim_end_matches('b')
        .to_owned();
    if number != given && super::numbers::bytes(&number).is_some() {
        return Hint::new(format!("did you mean {name}={number}?"));
    }
    not(given)
}

/// Advice for what is not a good fraction.
pub(super) fn fraction(name: &str, given: &str) -> Hint {
    match given
        .strip_suffix('%')
        .and_then(|percent| percent.trim().parse::<f64>().ok())
    {
        Some(percent) if percent.is_finite() && percent >= 0.0 => Hint::new(format!(
            "it is a fraction, write {name}={}",
            percent / 100.0
        )),
        _ => not(given),
    }
}

fn not(given: &str) -> Hint {
    Hint::new(format!("'{given}' is not"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_the_name_that_was_meant() {
        for (given, meant) in [
            ("dpeth", "depth"),
            ("Depth", "depth"),
            ("heaps", "heap"),
            ("interv", "interval"),
            ("intervall", "interval"),
            ("monitors", "monitor"),
            ("cup", "cpu"),
            ("line", "lineno"),
            ("treads", "thread"),
            ("x", "X"),
        ] {
            assert_eq!(
                name(given),
                Hint::new(format!("did you mean {meant}?")),
                "{given}"
            );
        }
    }

    #[test]
    fn far_names_get_no_guess() {
        for given in ["bogus", "q", "garbage", "\u{e4}\u{f6}", &"d".repeat(5000)] {
            assert_eq!(
                name(given),
                Hint::new("the option string help lists all options")
            );
        }
    }

    #[test]
    fn commas_and_blanks_are_pointed_at() {
        assert_eq!(name(",heap"), Hint::new("take out the comma before heap"));
        assert_eq!(name(","), Hint::new("take out the extra comma"));
        assert_eq!(
            name("doe,cpu"),
            Hint::new("doe needs a value, write doe=y|n")
        );
        assert_eq!(
            name("dpth,cpu"),
            Hint::new("options are written name=value; did you mean depth=?")
        );
        assert_eq!(name(" depth"), Hint::new("take out the blank"));
        assert_eq!(
            long_name("monitor,thread,doe=y", 15),
            Hint::new("monitor needs a value, write monitor=y|n")
        );
        assert_eq!(
            long_name("averyveryverylongname", 15),
            Hint::new("names have at most 15 bytes")
        );
    }

    #[test]
    fn values_are_guessed_too() {
        assert_eq!(switch("doe", "yes"), Hint::new("did you mean doe=y?"));
        assert_eq!(switch("doe", "False"), Hint::new("did you mean doe=n?"));
        assert_eq!(switch("doe", "maybe"), Hint::new("'maybe' is not"));
        let words = ["y", "samples", "times", "old"];
        assert_eq!(
            word("cpu", "sample", &words),
            Hint::new("did you mean cpu=samples?")
        );
        assert_eq!(
            word("cpu", "TIMES", &words),
            Hint::new("did you mean cpu=times?")
        );
        assert_eq!(word("cpu", "n", &words), Hint::new("'n' is not"));
        assert_eq!(
            number("interval", "5ms"),
            Hint::new("write the number without a unit, as in interval=5")
        );
        assert_eq!(number("depth", "-1"), Hint::new("'-1' is not"));
        assert_eq!(
            bytes("heapinterval", "512KiB"),
            Hint::new("did you mean heapinterval=512k?")
        );
        assert_eq!(bytes("heapinterval", "3g"), Hint::new("'3g' is not"));
        assert_eq!(
            fraction("cutoff", "1%"),
            Hint::new("it is a fraction, write cutoff=0.01")
        );
        assert_eq!(fraction("cutoff", "x"), Hint::new("'x' is not"));
    }
}
