//! Remarks on native memory that is held for long.

use std::fmt;

use crate::ids::TraceSerial;

/// Memory that a stack had allocated in the first half of a recording and had not freed when the profile was written. A profile
/// has remarks of the largest, which the agent writes and readers take from its comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its place by bytes, from 1 on.
    pub rank: usize,
    /// Bytes that are held.
    pub bytes: u64,
    /// Blocks that are held.
    pub blocks: u64,
    /// Milliseconds from the start of the recording to the allocation of the oldest of them.
    pub oldest_millis: u32,
    /// The stack.
    pub trace: TraceSerial,
    /// The function that was called, such as `malloc`.
    pub function: String,
}

/// The beginning of a remark.
const NAME: &str = "hprof-rs: native_held ";

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{NAME}rank={} bytes={} blocks={} oldest_ms={} trace={} function={}",
            self.rank,
            self.bytes,
            self.blocks,
            self.oldest_millis,
            self.trace.get(),
            self.function
        )
    }
}

impl Held {
    /// Reads a comment; `None` if it is another one.
    #[must_use]
    pub fn parse(comment: &str) -> Option<Self> {
        let mut held = Self {
            rank: 0,
            bytes: 0,
            blocks: 0,
            oldest_millis: 0,
            trace: TraceSerial::SYSTEM,
            function: String::new(),
        };
        for word in comment.strip_prefix(NAME)?.split(' ') {
            let (name, value) = word.split_once('=')?;
            match name {
                "rank" => held.rank = value.parse().ok()?,
                "bytes" => held.bytes = value.parse().ok()?,
                "blocks" => held.blocks = value.parse().ok()?,
                "oldest_ms" => held.oldest_millis = value.parse().ok()?,
                "trace" => held.trace = TraceSerial::new(value.parse().ok()?),
                "function" => value.clone_into(&mut held.function),
                _ => {}
            }
        }
        (held.rank > 0).then_some(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_read_as_it_is_written() {
        let held = Held {
            rank: 1,
            bytes: 401_860_481,
            blocks: 40_187,
            oldest_millis: 515,
            trace: TraceSerial::new(300_014),
            function: "malloc".to_owned(),
        };
        assert_eq!(Held::parse(&held.to_string()), Some(held));
        for other in [
            "",
            "hprof-rs: native_held",
            "hprof-rs: native_held rank=x",
            "a",
        ] {
            assert_eq!(Held::parse(other), None);
        }
    }
}
