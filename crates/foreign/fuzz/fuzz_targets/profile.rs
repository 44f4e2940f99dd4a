//! Any bytes: reading them as a profile of any format but a recording ends, tells of each part once, and takes no
//! more memory than a fixed number of bytes for each byte read.

#![no_main]

use hprof_foreign::{Kind, read};
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory for any file, most of it for names that a file repeats.
const FIXED: usize = 10 << 20;
/// Memory for each byte of a file: JSON is held as a tree.
const PER_BYTE: usize = 128;

const KINDS: [Kind; 6] = [
    Kind::Collapsed,
    Kind::Perf,
    Kind::Pprof,
    Kind::Speedscope,
    Kind::Firefox,
    Kind::Otlp,
];

fuzz_target!(|file: &[u8]| {
    Kind::of(file);
    for kind in KINDS {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let mut passed = 0;
        let profile = read(file, kind, &mut |part| {
            assert_eq!(part.start, passed);
            passed = part.end;
        });
        assert_eq!(passed, file.len());
        if let Ok(profile) = profile {
            for row in profile.weights.iter().flat_map(|it| &it.rows) {
                assert!(profile.stacks.trace(row.trace).is_some());
            }
        }
        let peak = MEMORY.peak_usage().saturating_sub(before);
        let most = FIXED + PER_BYTE * file.len();
        assert!(peak <= most, "{peak} bytes for {} bytes", file.len());
    }
});
