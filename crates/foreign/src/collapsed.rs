//! Collapsed stacks, as async-profiler, perf's scripts and flame graph tools have them: one line
//! per stack, its frames from the outermost on with semicolons between, a blank, the cost.

use std::ops::Range;

use hprof_format::ids::TraceSerial;
use hprof_format::model::Line;
use hprof_stacks::{FrameIndex, Measure};
use rustc_hash::FxHashMap;

use crate::builder::Builder;
use crate::{Kind, Note, Profile, Unreadable};

/// The lines that are looked at to recognise a file.
const LOOKED_AT: usize = 20;
/// At most one in this many lines may hold no stack.
const LINES_PER_BAD: usize = 4;
/// A sum of fractions that is smaller is shown multiplied, so that rounding changes little.
const LEAST_SUM: f64 = 1000.0;
/// Fractions are summed in this many parts of one.
const PARTS: f64 = 1e6;

/// A cost as a line has it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cost {
    Whole(u64),
    Fraction(f64),
}

impl Cost {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(whole) = text.parse() {
            return Some(Self::Whole(whole));
        }
        let is_number = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
        let value: f64 = text.parse().ok().filter(|_| is_number)?;
        let is_cost = value.is_finite() && value.is_sign_positive();
        is_cost.then_some(Self::Fraction(value))
    }

    fn value(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Fraction(fraction) => fraction,
        }
    }
}

/// A line of a file.
enum Parsed<'a> {
    /// Nothing, or a remark of the tool that wrote the file.
    Empty,
    Stack(&'a str, Cost),
    Bad,
}

impl<'a> Parsed<'a> {
    fn of(line: &'a str) -> Self {
        match parts(line) {
            Some((stack, cost)) => Self::Stack(stack, cost),
            None if line.trim().is_empty() || line.starts_with('#') => Self::Empty,
            None => Self::Bad,
        }
    }
}

/// Stack and cost of a line.
fn parts(line: &str) -> Option<(&str, Cost)> {
    let (stack, cost) = line.trim_end().rsplit_once([' ', '\t'])?;
    let stack = stack.trim_end();
    (!stack.is_empty()).then_some((stack, Cost::parse(cost)?))
}

/// Returns whether a stack of one frame may be a method: a name in a class or package, as `java.lang.Thread.run` or
/// `a::b`.
fn is_qualified(stack: &str) -> bool {
    let parts = stack.rsplit_once(['.', '/', ':']);
    stack.starts_with(|first: char| first.is_alphabetic() || "_$".contains(first))
        && !stack.contains(char::is_whitespace)
        && parts.is_some_and(|(_, name)| !name.is_empty())
}

/// True if nearly all lines of the start of a file are stacks, and one has more than one frame, or a method for
/// its only one.
pub(crate) fn is_at(head: &[u8]) -> bool {
    if head.contains(&0) {
        return false;
    }
    let text = String::from_utf8_lossy(head);
    let whole = match text.len() < 1024 || text.ends_with('\n') {
        true => &text[..],
        // The last line may be cut.
        false => text.rsplit_once('\n').map_or(&text[..], |(whole, _)| whole),
    };
    let lines = whole.lines().map(Parsed::of);
    let lines = lines.filter(|line| !matches!(line, Parsed::Empty));
    let (mut stacks, mut bad, mut has_frames) = (0, 0, false);
    for line in lines.take(LOOKED_AT) {
        match line {
            Parsed::Stack(stack, _) => {
                stacks += 1;
                has_frames |= stack.contains(';') || is_qualified(stack);
            }
            Parsed::Empty | Parsed::Bad => bad += 1,
        }
    }
    // Sentences may end with numbers; beside lines that do not, frames must be there.
    stacks > 0 && has_frames && bad * LINES_PER_BAD <= stacks + bad
}

/// The findings of a first pass over the lines.
#[derive(Default)]
struct Survey {
    lines: u64,
    bad: u64,
    bad_bytes: usize,
    first_bad: Option<usize>,
    has_fractions: bool,
    sum: f64,
}

impl Survey {
    fn of(file: &[u8]) -> Self {
        let mut survey = Self::default();
        let mut at = 0;
        for line in file.split_inclusive(|&byte| byte == b'\n') {
            match Parsed::of(&String::from_utf8_lossy(line)) {
                Parsed::Empty => {}
                Parsed::Stack(_, cost) => {
                    survey.lines += 1;
                    survey.has_fractions |= matches!(cost, Cost::Fraction(_));
                    survey.sum += cost.value();
                }
                Parsed::Bad => {
                    survey.lines += 1;
                    survey.bad += 1;
                    survey.bad_bytes += line.len();
                    survey.first_bad = survey.first_bad.or(Some(at));
                }
            }
            at += line.len();
        }
        survey
    }

    /// The power of a thousand that costs are multiplied with: 1 unless they are small fractions.
    fn factor(&self) -> u64 {
        match self.has_fractions {
            true if self.sum * 1e3 < LEAST_SUM => 1_000_000,
            true if self.sum < LEAST_SUM => 1_000,
            _ => 1,
        }
    }
}

/// Reads all lines. Their unit is not stated; it is taken for samples.
///
/// # Errors
/// If most lines are no stacks.
pub(crate) fn read(
    file: &[u8],
    passed: &mut dyn FnMut(Range<usize>),
) -> Result<Profile, Unreadable> {
    let survey = Survey::of(file);
    let (bad, lines) = (survey.bad, survey.lines);
    if bad * 2 > lines {
        passed(0..file.len());
        return Err(Unreadable::Lines { bad, lines });
    }
    let mut builder = Builder::new(file.len());
    if let Some(at) = survey.first_bad {
        let message = format!(
            "{bad} of {lines} lines are no stacks with a cost, the first at byte {at}; they are skipped"
        );
        builder.damage(Some(at), survey.bad_bytes, message);
    }
    let factor = survey.factor();
    let mut at = 0;
    let mut told = 0;
    let mut frames: Vec<FrameIndex> = Vec::new();
    let mut fractions: FxHashMap<TraceSerial, f64> = FxHashMap::default();
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if let Parsed::Stack(stack, cost) = Parsed::of(&text) {
            let trace = trace(&mut builder, stack, &mut frames);
            match (survey.has_fractions, cost) {
                (false, Cost::Whole(whole)) => builder.add(Measure::Samples, trace, None, whole),
                _ => *fractions.entry(trace).or_default() += cost.value(),
            }
        }
        at += line.len();
        if at - told > crate::STRETCH {
            passed(told..at);
            told = at;
        }
    }
    passed(told..at);
    add_rounded(&mut builder, fractions, factor);
    let mut profile = builder.finish(Kind::Collapsed, None);
    if factor > 1 {
        profile.notes.push(Note::Multiplied(factor));
    }
    Ok(profile)
}

/// Adds the sums of traces as whole numbers. The sum of rounded costs is the rounded sum.
fn add_rounded(builder: &mut Builder, sums: FxHashMap<TraceSerial, f64>, factor: u64) {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|&(trace, _)| trace);
    let parts = PARTS as u128;
    let whole = |exact: u128| (exact + parts / 2) / parts;
    let mut exact = 0_u128;
    for (trace, sum) in sums {
        let before = exact;
        exact = exact.saturating_add((sum * factor as f64 * PARTS) as u128);
        let cost = whole(exact) - whole(before);
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        builder.add(Measure::Samples, trace, None, cost);
    }
}

fn trace(builder: &mut Builder, stack: &str, frames: &mut Vec<FrameIndex>) -> TraceSerial {
    let mut thread = None;
    let mut names = stack.split(';').peekable();
    // async-profiler's option `threads`: `[main tid=7]`.
    if let Some(first) = names.peek()
        && let Some(name) = first.strip_prefix('[').and_then(|it| it.strip_suffix(']'))
        && let Some((name, _)) = name.rsplit_once(" tid=")
    {
        thread = Some(builder.thread(name));
        names.next();
    }
    frames.clear();
    for name in names {
        frames.push(builder.named_frame(name, None, Line::Unknown));
    }
    frames.reverse();
    builder.trace(thread, frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_stacks::by_method;
    use proptest::prelude::*;

    /// As with `depth=1`.
    #[test]
    fn stacks_of_one_frame_are_stacks() {
        assert!(is_at(b"java.lang.Thread.run 12\n[no stack] 3\n"));
        assert!(is_at(b"a/B.main 12\n"));
        assert!(is_at(b"std::thread::sleep 12\n"));
    }

    #[test]
    fn lines_are_stacks() {
        let text = "[main tid=7];a/B.main;a/B.work 12\na/B.main 3\n\nnonsense\n";
        assert!(is_at(b"a;b 1\nc 2\n"));
        assert!(!is_at(text.as_bytes()));
        for other in ["hello 12\n", "10.0.0.1 80\n", "see there: 7\n", "a. 1\n"] {
            assert!(!is_at(other.as_bytes()), "{other}");
        }
        let profile = read(text.as_bytes(), &mut |_| {}).expect("stacks");
        let weights = &profile.weights[0];
        let costs = by_method(&profile.stacks, weights);
        let found: Vec<_> = costs
            .iter()
            .map(|it| (&*it.name, it.own, it.total))
            .collect();
        assert_eq!(found, [("a.B.work", 12, 12), ("a.B.main", 3, 15)]);
        assert_eq!(profile.threads[0].name, "main");
        assert_eq!(profile.damaged, 1);
        assert_eq!(profile.damage[0].offset, Some(46));
    }

    fn costs(text: &str) -> Vec<(String, u64)> {
        let profile = read(text.as_bytes(), &mut |_| {}).expect("stacks");
        let costs = by_method(&profile.stacks, &profile.weights[0]);
        let costs = costs.iter().map(|it| (it.name.to_string(), it.own));
        let mut costs: Vec<_> = costs.filter(|(_, own)| *own > 0).collect();
        costs.sort_unstable();
        costs
    }

    #[test]
    fn fractions_keep_their_sum() {
        let large = "a;b 1000.5\na;c 0.25\na;b 1.25\n";
        assert!(is_at(large.as_bytes()));
        assert_eq!(costs(large), [("b".to_owned(), 1002)]);
        // Seconds: nothing would be left of them.
        let small = "a;b 0.5\na;c 0.25\na;b 1e-3\n";
        let expected = [("b".to_owned(), 501_000), ("c".to_owned(), 250_000)];
        assert_eq!(costs(small), expected);
        let profile = read(small.as_bytes(), &mut |_| {}).expect("stacks");
        assert_eq!(profile.notes, [Note::Multiplied(1_000_000)]);
        for bad in ["a;b inf", "a;b nan", "a;b -3", "a;b -0.5", "a;b 1e999"] {
            assert!(parts(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_few_bad_lines_are_counted_and_most_are_an_error() {
        let good = "a;b 1\n".repeat(30);
        let text = format!("# made by a script\nstarting\n{good}\nlost 3 events\nx;y\n{good}");
        assert!(is_at(text.as_bytes()));
        let profile = read(text.as_bytes(), &mut |_| {}).expect("stacks");
        // `lost 3 events` ends with no number.
        assert_eq!(profile.damaged, 1);
        let damage = &profile.damage[0];
        assert!(
            damage.message.starts_with("3 of 63 lines"),
            "{}",
            damage.message
        );
        assert_eq!(damage.offset, Some(19));
        assert_eq!(profile.weights[0].total, 60);
        let text = format!("a;b 1\n{}", "nonsense\n".repeat(2));
        let error = read(text.as_bytes(), &mut |_| {}).expect_err("most are bad");
        assert_eq!(error, Unreadable::Lines { bad: 2, lines: 3 });
    }

    proptest! {
        /// No cost is lost or made up, however lines are spoilt.
        #[test]
        fn sums_are_those_of_the_good_lines(
            lines in prop::collection::vec(
                prop_oneof![
                    (0_u32..100_000).prop_map(|cost| (format!("a;b {cost}"), Some(f64::from(cost)))),
                    (0_u32..100_000, 0_u32..1000).prop_map(|(whole, parts)| {
                        let cost = format!("{whole}.{parts:03}");
                        (format!("a;c;d {cost}"), cost.parse().ok())
                    }),
                    Just(("no cost".to_owned(), None)),
                ],
                1..60,
            ),
        ) {
            let text: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
            let sum: f64 = lines.iter().filter_map(|(_, cost)| *cost).sum();
            let bad = lines.iter().filter(|(_, cost)| cost.is_none()).count();
            match read(text.as_bytes(), &mut |_| {}) {
                Ok(profile) => {
                    prop_assert!(bad * 2 <= lines.len());
                    let found = profile.weights.first().map_or(0, |it| it.total) as f64;
                    let factor = match profile.notes.first() {
                        Some(Note::Multiplied(factor)) => *factor as f64,
                        _ => 1.0,
                    };
                    prop_assert!((found - sum * factor).abs() <= 1.0, "{} of {}", found, sum * factor);
                }
                Err(_) => prop_assert!(bad * 2 > lines.len()),
            }
        }
    }
}
