//! Objects that hold memory outside of the heap, from the class histogram (`jcmd PID GC.class_histogram`).

use std::ops::Sub;

use serde::Serialize;

/// How many objects there are of each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Objects {
    /// Direct buffers with memory of their own (`java.nio.DirectByteBuffer$Deallocator`).
    pub direct_buffers: u64,
    /// Objects that refer to such memory, slices and duplicates among them (`java.nio.DirectByteBuffer`). A collection
    /// removes them before the memory is freed.
    pub buffer_objects: u64,
    /// Caches of buffers that threads keep for sockets and files (`sun.nio.ch.Util$BufferCache`), one for each thread.
    pub buffer_caches: u64,
    /// `java.util.zip.Inflater`, each with up to 40 KB from `malloc`.
    pub inflaters: u64,
    /// `java.util.zip.Deflater`, each with about 260 KB.
    pub deflaters: u64,
}

impl Objects {
    /// Reads the text; `None` if it has no rows.
    pub fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut is_histogram = false;
        for line in text.lines() {
            // A row is `   1:   1234   56789  java.lang.String (java.base@17)`.
            let mut words = line.split_whitespace();
            let (Some(rank), Some(count), Some(_), Some(class)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Some(count) = rank.ends_with(':').then(|| count.parse().ok()).flatten() else {
                continue;
            };
            is_histogram = true;
            match class {
                "java.nio.DirectByteBuffer$Deallocator" => found.direct_buffers = count,
                "java.nio.DirectByteBuffer" => found.buffer_objects = count,
                "sun.nio.ch.Util$BufferCache" => found.buffer_caches = count,
                "java.util.zip.Inflater" => found.inflaters = count,
                "java.util.zip.Deflater" => found.deflaters = count,
                _ => {}
            }
        }
        is_histogram.then_some(found)
    }
}

impl Sub for Objects {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            direct_buffers: self.direct_buffers.saturating_sub(other.direct_buffers),
            buffer_objects: self.buffer_objects.saturating_sub(other.buffer_objects),
            buffer_caches: self.buffer_caches.saturating_sub(other.buffer_caches),
            inflaters: self.inflaters.saturating_sub(other.inflaters),
            deflaters: self.deflaters.saturating_sub(other.deflaters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_found_by_class() {
        let text = " num     #instances         #bytes  class name (module)\n-------------------------------------------------------\n   \
1:          1234          56789  [B (java.base@17.0.1)\n  12:            7            224  java.nio.DirectByteBuffer$Deallocator (java.base@17.0.1)\n  \
13:            3             96  java.util.zip.Deflater\nTotal          1244          57109\n";
        let objects = Objects::parse(text).unwrap();
        assert_eq!(
            (objects.direct_buffers, objects.deflaters, objects.inflaters),
            (7, 3, 0)
        );
        assert_eq!(
            (objects
                - Objects {
                    direct_buffers: 2,
                    ..Objects::default()
                })
            .direct_buffers,
            5
        );
        assert_eq!(Objects::parse("no"), None);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "([0-9]{1,25}|:| |java.util.zip.Inflater|\n)*") {
            let _ = Objects::parse(&text);
        }
    }
}
