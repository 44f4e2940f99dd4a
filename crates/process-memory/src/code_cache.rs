//! The code cache: the text of `jcmd PID Compiler.codecache`, JDK 9 and later.

use serde::Serialize;

use crate::Bytes;
use crate::bytes::parse_size;

/// A part of the code cache, or the whole where it is one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The kind of its code, such as `non-profiled nmethods`.
    pub name: String,
    /// Its limit.
    pub size: Bytes,
    /// Compiled code in it.
    pub used: Bytes,
}

/// The code cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CodeCache {
    /// Its parts.
    pub segments: Vec<Segment>,
    /// True if the compilers have been stopped, as it was full.
    pub is_full: bool,
}

impl CodeCache {
    /// Reads the text; `None` if it shows no code cache.
    pub fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for line in text.lines().map(str::trim) {
            let name = line
                .strip_prefix("CodeHeap '")
                .and_then(|rest| rest.split_once('\'').map(|(name, _)| name))
                .or_else(|| {
                    // Behind segments it is their sum.
                    let is_whole = line.starts_with("CodeCache:") && found.segments.is_empty();
                    is_whole.then_some("code")
                });
            if let Some((name, (size, used))) =
                name.zip(number(line, " size=").zip(number(line, " used=")))
            {
                found.segments.push(Segment {
                    name: name.to_owned(),
                    size,
                    used,
                });
            } else if line.contains("disabled (not enough contiguous free space") {
                found.is_full = true;
            } else if let Some((_, count)) = line.rsplit_once("full_count=") {
                found.is_full |= count.trim().parse().is_ok_and(|count: u64| count > 0);
            }
        }
        (!found.segments.is_empty()).then_some(found)
    }

    /// Its limit.
    pub fn size(&self) -> Bytes {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// Compiled code in it.
    pub fn used(&self) -> Bytes {
        self.segments.iter().map(|segment| segment.used).sum()
    }
}

fn number(line: &str, name: &str) -> Option<Bytes> {
    let (_, rest) = line.split_once(name)?;
    parse_size(rest.split([' ', ',']).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn segments_are_added() {
        let text = "CodeHeap 'non-profiled nmethods': size=120032Kb used=12Kb max_used=12Kb free=120019Kb\n \
bounds [0x00007f1, 0x00007f2, 0x00007f3]\nCodeHeap 'profiled nmethods': size=100Kb used=88Kb max_used=88Kb free=12Kb\n \
total_blobs=1 nmethods=2 adapters=3\n compilation: enabled\n              stopped_count=0, restarted_count=0\n full_count=0\n";
        let cache = CodeCache::parse(text).unwrap();
        assert_eq!(
            (cache.size(), cache.used()),
            (Bytes::kib(120_132), Bytes::kib(100))
        );
        assert!(!cache.is_full);
        let full = text.replace("full_count=0", "full_count=3");
        assert!(CodeCache::parse(&full).unwrap().is_full);
        let with_sum =
            format!("{text}CodeCache: size=120132Kb, used=100Kb, max_used=100Kb, free=1Kb\n");
        assert_eq!(
            CodeCache::parse(&with_sum).unwrap().size(),
            Bytes::kib(120_132)
        );
        let one = CodeCache::parse("CodeCache: size=2560Kb used=2500Kb max_used=2500Kb free=60Kb")
            .unwrap();
        assert_eq!(one.segments.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(CodeHeap '|'|CodeCache:| size=| used=|full_count=|[0-9]{1,25}|Kb|\n| )*") {
            let _ = CodeCache::parse(&text);
        }
    }
}
