//! Any bytes: reading them as a recording ends, counts each pause in one kind, and takes no more memory than a
//! fixed number of bytes for each byte read.

#![no_main]

use hprof_gclog::read_recording;
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory for any file.
const FIXED: usize = 10 << 20;
/// Memory for each byte of a file.
const PER_BYTE: usize = 192;

fuzz_target!(|file: &[u8]| {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let (summary, _) = read_recording(file, &mut |_| {});
    let of_kinds: u64 = summary.kinds.iter().map(|row| row.spread.count).sum();
    assert_eq!(of_kinds, summary.pauses.count);
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let most = FIXED + PER_BYTE * file.len();
    assert!(peak <= most, "{peak} bytes for {} bytes", file.len());
});
