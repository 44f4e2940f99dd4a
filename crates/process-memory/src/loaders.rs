//! Class loaders with their metadata: the text of `jcmd PID VM.classloader_stats`, JDK 9 and later.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Bytes;

/// The loaders of one class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Loaders {
    /// Their class, such as `org.springframework.boot.loader.LaunchedURLClassLoader`; the boot loader has none.
    pub class: String,
    /// The number of loaders.
    pub loaders: u64,
    /// The number of their classes.
    pub classes: u64,
    /// Memory that was taken for their metadata.
    pub metadata: Bytes,
}

/// The bytes of a word.
const WORD: u64 = 8;

/// Reads the text: loaders by class, those with most metadata first. JDK 16 to 20 print words where they should print bytes,
/// which shows beside the committed size of the metaspace: chunks make up most of it.
pub fn parse(text: &str, committed: Bytes) -> Vec<Loaders> {
    let mut found: BTreeMap<String, Loaders> = BTreeMap::new();
    let mut last = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A row is `0x.. 0x.. 0x..  12  3456  3400  com.acme.Loader`, and one below it counts hidden classes: `  5  640  600   + hidden classes`.
        let numbers = |from: usize| -> Option<(u64, u64)> {
            let classes = words.get(from)?.parse().ok()?;
            Some((classes, words.get(from + 1)?.parse().ok()?))
        };
        let is_row = words.len() >= 7 && words[0].starts_with("0x");
        if let Some((classes, bytes)) = is_row.then(|| numbers(3)).flatten() {
            last = words[6..].join(" ");
            let row = found.entry(last.clone()).or_default();
            row.loaders += 1;
            row.classes += classes;
            row.metadata += Bytes(bytes);
        } else if words.contains(&"+")
            && let Some((classes, bytes)) = numbers(0)
            && let Some(row) = found.get_mut(&last)
        {
            row.classes += classes;
            row.metadata += Bytes(bytes);
        }
    }
    let mut rows: Vec<Loaders> = found
        .into_iter()
        .map(|(class, row)| Loaders { class, ..row })
        .collect();
    let all: Bytes = rows.iter().map(|row| row.metadata).sum();
    if all.share_of(committed) < 0.25 {
        for row in &mut rows {
            row.metadata = Bytes(row.metadata.0.saturating_mul(WORD));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.metadata));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loaders_of_one_class_are_one_row() {
        let text = "ClassLoader         Parent              CLD*               Classes   ChunkSz   BlockSz  Type\n\
0x0000000000000000  0x0000000000000000  0x00007f1     500   4000000   3900000  <boot class loader>\n\
                                                               10     20000     19000   + hidden classes\n\
0x0000000800000010  0x0000000800000020  0x00007f2       1    100000     90000  com.acme.Loader\n\
0x0000000800000030  0x0000000800000020  0x00007f3       2    200000    190000  com.acme.Loader\n\
Total = 3                                             513   4320000   4199000\n";
        let rows = parse(text, Bytes(4_400_000));
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].classes, rows[0].metadata), (510, Bytes(4_020_000)));
        assert_eq!((rows[1].loaders, rows[1].classes), (2, 3));
        assert_eq!(rows[1].class, "com.acme.Loader");
        let of_words = parse(text, Bytes(34_000_000));
        assert_eq!(of_words[1].metadata, Bytes(2_400_000));
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(0x[0-9]{1,17}|[0-9]{1,25}| |\\+|a|\n)*") {
            let _ = parse(&text, Bytes(1));
        }
    }
}
