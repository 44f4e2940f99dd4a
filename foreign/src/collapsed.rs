//! Collapsed stacks, as async-profiler, perf's scripts and flame graph tools have them: one line
//! per stack, its frames from the outermost on with semicolons between, a blank, the cost.

use std::ops::Range;

use hprof_format::model::Line;
use hprof_stacks::{FrameIndex, Measure};

use crate::builder::Builder;
use crate::{Kind, Profile};

/// The lines that are looked at to recognise a file.
const LOOKED_AT: usize = 20;

/// Stack and cost of a line.
fn parts(line: &str) -> Option<(&str, u64)> {
    let (stack, cost) = line.trim_end().rsplit_once([' ', '\t'])?;
    let stack = stack.trim_end();
    (!stack.is_empty()).then_some((stack, cost.parse().ok()?))
}

/// Whether a stack of one frame may be a method: a name in a class or package, as `java.lang.Thread.run` or `a::b`.
fn is_qualified(stack: &str) -> bool {
    let parts = stack.rsplit_once(['.', '/', ':']);
    stack.starts_with(|first: char| first.is_alphabetic() || "_$".contains(first))
        && !stack.contains(char::is_whitespace)
        && parts.is_some_and(|(_, name)| !name.is_empty())
}

/// True if all lines of the start of a file are stacks, and one has more than one frame, or a method for its only one.
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
    let lines = whole.lines().filter(|line| !line.trim().is_empty());
    let mut lines = lines.take(LOOKED_AT).peekable();
    let mut has_frames = false;
    lines.peek().is_some()
        && lines.all(|line| {
            let found = parts(line);
            has_frames |=
                found.is_some_and(|(stack, _)| stack.contains(';') || is_qualified(stack));
            found.is_some()
        })
        && has_frames
}

/// Reads all lines. Their unit is not stated; it is taken for samples.
pub(crate) fn read(file: &[u8], passed: &mut dyn FnMut(Range<usize>)) -> Profile {
    let mut builder = Builder::new(file.len());
    let mut at = 0;
    let mut told = 0;
    let mut frames: Vec<FrameIndex> = Vec::new();
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if !text.trim().is_empty() {
            match parts(&text) {
                Some((stack, cost)) => add(&mut builder, stack, cost, &mut frames),
                None => {
                    let length = line.len();
                    let message = format!(
                        "at byte {at}: a line is no stack with a cost; {length} bytes are not read"
                    );
                    builder.damage(Some(at), length, message);
                }
            }
        }
        at += line.len();
        if at - told > crate::STRETCH {
            passed(told..at);
            told = at;
        }
    }
    passed(told..at);
    builder.finish(Kind::Collapsed, None)
}

fn add(builder: &mut Builder, stack: &str, cost: u64, frames: &mut Vec<FrameIndex>) {
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
    let trace = builder.trace(thread, frames);
    builder.add(Measure::Samples, trace, None, cost);
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_stacks::by_method;

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
        let profile = read(text.as_bytes(), &mut |_| {});
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
}
