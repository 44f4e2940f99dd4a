//! The text of `perf script`: for each sample a line with the thread, the time and the event, then its frames from
//! the innermost on, each with its address, its symbol and the file of that; an empty line ends the sample.

use std::borrow::Cow;
use std::ops::Range;

use hprof_format::model::Line;
use hprof_stacks::{FrameIndex, Measure};
use rustc_hash::FxHashMap;

use crate::builder::Builder;
use crate::{Kind, NotShown, Note, Profile, Unreadable};

/// Lines that are looked at for the first sample: remarks and events of perf itself come before it.
const LOOKED_AT: usize = 200;
/// Names of events that are counted apart; those of a file of garbage would be without end.
const MAX_EVENTS: usize = 100;
/// How the files of functions of the kernel and its modules begin.
const KERNEL_FILES: [&str; 2] = ["[kernel.", "/lib/modules/"];

/// The first line of a sample.
#[derive(Debug, PartialEq, Eq)]
struct Head<'a> {
    /// The name of the thread, which may hold blanks.
    thread: &'a str,
    event: &'a str,
}

impl<'a> Head<'a> {
    /// `java 4242/4250 [001] 1234.567890:     250000 cycles:u:`; processor, time and period may be left out.
    fn parse(line: &'a str) -> Option<Self> {
        if line.starts_with([' ', '\t', '#']) {
            return None;
        }
        let mut from = 0;
        // The thread's name ends before the first number.
        let (name_end, rest) = loop {
            let blank = from + line[from..].find(char::is_whitespace)?;
            let rest = line[blank..].trim_start();
            let word = rest.split_whitespace().next()?;
            if is_thread(word) {
                break (blank, &rest[word.len()..]);
            }
            from = line.len() - rest.len();
        };
        let words = rest.split_whitespace();
        let event = words.filter_map(|word| word.strip_suffix(':'));
        let mut event = event.filter(|word| !word.is_empty() && !is_time(word));
        Some(Self {
            thread: line[..name_end].trim_end(),
            event: event.next()?,
        })
    }
}

/// `4242` or `4242/4250`.
fn is_thread(word: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (process, thread) = word.split_once('/').unwrap_or((word, "0"));
    is_number(process) && is_number(thread)
}

/// `1234.567890`.
fn is_time(word: &str) -> bool {
    word.bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// The symbol and the file of a frame: `\t7f1234 Interpreter+0x10 (/tmp/perf-4242.map)`.
fn frame(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim_start();
    if trimmed.len() == line.len() {
        return None;
    }
    let (address, rest) = trimmed.trim_end().split_once(' ')?;
    let is_address = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (symbol, file) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    is_address.then_some((symbol.trim(), file))
}

/// A symbol as flame graphs have it: without its offset, `[libjvm.so]` where there is none, and Java methods of
/// `perf-map-agent` (`La/B;::m`) in source form.
fn name_of<'a>(symbol: &'a str, file: &str) -> Cow<'a, str> {
    let bare = match symbol.rsplit_once("+0x") {
        Some((bare, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => bare,
        _ => symbol,
    };
    if bare.is_empty() || bare == "[unknown]" {
        let file = file.rsplit('/').next().unwrap_or(file);
        let file = file.trim_matches(['[', ']']);
        return Cow::Owned(format!("[{file}]"));
    }
    if KERNEL_FILES.iter().any(|start| file.starts_with(start)) {
        return Cow::Owned(crate::frames::kernel(bare));
    }
    if let Some((class, method)) = bare.split_once(";::")
        && let Some(class) = class.strip_prefix('L')
    {
        return Cow::Owned(format!("{class}.{method}"));
    }
    Cow::Borrowed(bare)
}

/// True if the start of a file has a sample with a frame.
pub(crate) fn is_at(head: &[u8]) -> bool {
    if head.contains(&0) {
        return false;
    }
    let text = String::from_utf8_lossy(head);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut follows_head = false;
    for line in lines.filter(|line| !line.starts_with('#')).take(LOOKED_AT) {
        if follows_head && frame(line).is_some() {
            return true;
        }
        follows_head = Head::parse(line).is_some();
        // Other text: the first line of all must be one of perf.
        if !follows_head && frame(line).is_none() {
            return false;
        }
    }
    false
}

/// A sample whose frames are being read.
#[derive(Default)]
struct Sample {
    thread: String,
    /// False if it is of another event than the first.
    is_shown: bool,
    frames: Vec<FrameIndex>,
}

/// Reads all samples of the first event.
///
/// # Errors
/// If most lines are neither samples nor frames.
pub(crate) fn read(
    file: &[u8],
    passed: &mut dyn FnMut(Range<usize>),
) -> Result<Profile, Unreadable> {
    let mut builder = Builder::new(file.len());
    let (mut at, mut told) = (0, 0);
    let (mut lines, mut bad, mut bad_bytes) = (0, 0, 0);
    let mut first_bad = None;
    let mut shown: Option<String> = None;
    let mut others: FxHashMap<String, u64> = FxHashMap::default();
    let mut sample: Option<Sample> = None;
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if text.is_empty() {
            end(&mut builder, sample.take());
        } else if let Some((symbol, file)) = frame(text) {
            lines += 1;
            if let Some(sample) = sample.as_mut().filter(|it| it.is_shown) {
                let frame = builder.named_frame(&name_of(symbol, file), None, Line::Unknown);
                sample.frames.push(frame);
            }
        } else if let Some(head) = Head::parse(text) {
            lines += 1;
            end(&mut builder, sample.take());
            let shown = shown.get_or_insert_with(|| head.event.to_owned());
            let is_shown = shown == head.event;
            if !is_shown && (others.len() < MAX_EVENTS || others.contains_key(head.event)) {
                *others.entry(head.event.to_owned()).or_default() += 1;
            }
            sample = Some(Sample {
                thread: head.thread.to_owned(),
                is_shown,
                frames: Vec::new(),
            });
        } else if !text.starts_with('#') {
            lines += 1;
            bad += 1;
            bad_bytes += line.len();
            first_bad = first_bad.or(Some(at));
        }
        at += line.len();
        if at - told > crate::STRETCH {
            passed(told..at);
            told = at;
        }
    }
    passed(told..at);
    end(&mut builder, sample);
    if bad * 2 > lines {
        return Err(Unreadable::Lines { bad, lines });
    }
    if let Some(at) = first_bad {
        let message = format!(
            "{bad} of {lines} lines are neither samples nor frames, the first at byte {at}; they are skipped"
        );
        builder.damage(Some(at), bad_bytes, message);
    }
    let mut profile = builder.finish(Kind::Perf, None);
    let others = others
        .into_iter()
        .map(|(event, count)| NotShown { event, count });
    profile.notes.extend(Note::not_shown(others.collect()));
    Ok(profile)
}

fn end(builder: &mut Builder, sample: Option<Sample>) {
    if let Some(sample) = sample.filter(|it| it.is_shown) {
        let thread = builder.thread(&sample.thread);
        let trace = builder.trace(Some(thread), &sample.frames);
        builder.add(Measure::Samples, trace, None, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_stacks::by_method;
    use proptest::prelude::*;

    const TEXT: &str = "\
# captured on: Thu Jan  1 00:00:00 2026
java 4242/4250 [001]  1234.567890:     250000 cycles:u:
\t    7f0000001000 Lcom/example/Work;::spin+0x20 (/tmp/perf-4242.map)
\t    7f0000002000 Interpreter (/tmp/perf-4242.map)
\t    7f0000003000 [unknown] (/usr/lib/jvm/libjvm.so)
\t    7f0000004000 std::sort(int*, int*) (/usr/lib/libx.so)

C2 Compiler Thre 4242/4251 [000]  1234.567990:     250000 cycles:u:
\tffffffff81000000 do_syscall_64 ([kernel.kallsyms])

java  4242 1234.568: context-switches:
\t    7f0000001000 Lcom/example/Work;::spin+0x21 (/tmp/perf-4242.map)

";

    #[test]
    fn samples_of_perf_are_stacks() {
        assert!(is_at(TEXT.as_bytes()));
        assert_eq!(Kind::of(TEXT.as_bytes()), Some(Kind::Perf));
        let profile = read(TEXT.as_bytes(), &mut |_| {}).expect("samples");
        assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
        let costs = by_method(&profile.stacks, &profile.weights[0]);
        let mut found: Vec<_> = costs
            .iter()
            .map(|it| (&*it.name, it.own, it.total))
            .collect();
        found.sort_unstable();
        let expected = [
            ("Interpreter", 0, 1),
            ("[kernel] do_syscall_64", 1, 1),
            ("[libjvm.so]", 0, 1),
            ("com.example.Work.spin", 1, 1),
            ("std::sort(int*, int*)", 0, 1),
        ];
        assert_eq!(found, expected);
        let threads: Vec<_> = profile.threads.iter().map(|it| &*it.name).collect();
        assert_eq!(threads, ["java", "C2 Compiler Thre"]);
        let other = NotShown {
            event: "context-switches".to_owned(),
            count: 1,
        };
        assert_eq!(profile.notes, [Note::NotShown(vec![other])]);
    }

    #[test]
    fn bad_lines_are_counted() {
        let text = format!("{TEXT}perf: interrupted\n{TEXT}");
        let profile = read(text.as_bytes(), &mut |_| {}).expect("samples");
        assert_eq!(profile.weights[0].total, 4);
        assert_eq!(profile.damaged, 1);
        assert!(
            profile.damage[0].message.starts_with("1 of 19 lines"),
            "{:?}",
            profile.damage
        );
    }

    #[test]
    fn other_text_is_none_of_perf() {
        for other in [
            "2026-01-01 10:00:00\nFull thread dump OpenJDK\n\n\"main\" #1\n\tat a.B.c(B.java:1)\n",
            "a;b 1\n",
            "error 12 here: no\n\tat a.B.c(B.java:7)\n",
            "",
        ] {
            assert!(!is_at(other.as_bytes()), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_lines_are_read(lines in prop::collection::vec(
            prop_oneof!["[ -~]{0,40}", "[a-z ]{0,9} [0-9/]{1,9} [0-9.:]{0,9} [a-z:]{0,9}", "\t[0-9a-f]{1,9} [a-z+x0 ]{0,9} \\([a-z]{0,5}\\)"],
            0..40,
        )) {
            let text = lines.join("\n");
            let mut passed = 0;
            let _ = read(text.as_bytes(), &mut |part| passed = part.end);
            prop_assert_eq!(passed, text.len());
            is_at(text.as_bytes());
        }
    }
}
