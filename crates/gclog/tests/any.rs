//! Any bytes, in pieces of any size: no panic, and figures that do not depend on the pieces.

use hprof_gclog::Reader;
use proptest::prelude::*;

const LOGS: [&str; 5] = [
    include_str!("data/jdk8-parallel.log"),
    include_str!("data/jdk8-cms.log"),
    include_str!("data/jdk8-g1.log"),
    include_str!("data/unified-g1.log"),
    include_str!("data/unified-zgc.log"),
];

fn json(pieces: &[&[u8]]) -> String {
    let mut reader = Reader::new();
    for piece in pieces {
        reader.feed(piece);
    }
    serde_json::to_string(&reader.finish()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_do_not_matter(log in 0usize..LOGS.len(), at: prop::sample::Index, length in 1usize..300) {
        let bytes = LOGS[log].as_bytes();
        let whole = json(&[bytes]);
        prop_assert_eq!(&json(&bytes.chunks(length).collect::<Vec<_>>()), &whole);
        let (one, other) = bytes.split_at(at.index(bytes.len()));
        prop_assert_eq!(&json(&[one, other]), &whole);
    }

    #[test]
    fn damage_is_counted_and_never_fatal(
        log in 0usize..LOGS.len(),
        from: prop::sample::Index,
        to: prop::sample::Index,
        junk in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let bytes = LOGS[log].as_bytes();
        let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
        let mut damaged = bytes[..from].to_vec();
        damaged.extend(&junk);
        damaged.extend(&bytes[to..]);
        let mut reader = Reader::new();
        reader.feed(&damaged);
        let summary = reader.finish();
        prop_assert!(summary.lines.not_understood <= summary.lines.total);
        let of_kinds: u64 = summary.kinds.iter().map(|row| row.spread.count).sum();
        prop_assert_eq!(of_kinds, summary.pauses.count);
        serde_json::to_string(&summary).unwrap();
    }

    #[test]
    fn lines_of_words_that_logs_have_do_no_harm(words in prop::collection::vec(prop::sample::select(WORDS), 0..200)) {
        json(&[words.concat().as_bytes()]);
    }
}

const WORDS: &[&str] = &[
    "[",
    "]",
    "(",
    ")",
    "\n",
    " ",
    ":",
    "->",
    "GC(1)",
    "GC(18446744073709551615)",
    "[1.5s]",
    "[gc]",
    "[gc,start]",
    "[safepoint]",
    "Pause Young",
    "Pause Full",
    " (Normal)",
    "24M",
    "99999999999999999999G",
    "1K->2K(3K)",
    "2.5ms",
    "0.020s",
    "[GC pause",
    "[GC (",
    "[Full GC",
    ", 0.1 secs]",
    "[Times: user=1 sys=2, real=3 secs]",
    "[CMS",
    "-concurrent-sweep: ",
    "Allocation Stall (x) ",
    "Garbage Collection (x) ",
    "Metaspace: ",
    "Old regions: 1->2",
    "Heap Region Size: 32M",
    "Safepoint \"x\", Total: 5 ns",
    "\u{202e}",
    "Allocated: 1M 2M",
    "y: Promoted: 7M",
    "[Eden: ",
    "Heap: 1M(2M)->1M(2M)",
    "1.5: ",
    "2016-12-12T10:40:25.000-0500: ",
    "e9999999",
    "[99999999999999999999999999ms]",
];
