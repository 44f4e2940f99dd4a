//! Any bytes: reading ends, counts each pause in one kind, and takes bounded memory.

#![no_main]

use hprof_gclog::Reader;
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The memory that any log may take, in bytes.
const MAX_MEMORY: usize = 4 << 20;

fuzz_target!(|log: &[u8]| {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut reader = Reader::new();
    for piece in log.chunks(1 + log.len() / 3) {
        reader.feed(piece);
    }
    let summary = reader.finish();
    let of_kinds: u64 = summary.kinds.iter().map(|row| row.spread.count).sum();
    assert_eq!(of_kinds, summary.pauses.count);
    assert!(summary.lines.not_understood <= summary.lines.total);
    let peak = MEMORY.peak_usage().saturating_sub(before);
    assert!(peak <= MAX_MEMORY, "{peak} bytes for {} bytes", log.len());
});
