//! Any bytes: reading them as a request of Pyroscope's push service ends, and takes no more memory than a fixed number of
//! bytes for each byte read.

#![no_main]

use hprof_foreign::pyroscope::{read, span};
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const FIXED: usize = 64 << 10;
const PER_BYTE: usize = 16;

fuzz_target!(|request: &[u8]| {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    for series in read(request).map_while(Result::ok) {
        for profile in series.profiles {
            span(profile);
        }
    }
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let most = FIXED + PER_BYTE * request.len();
    assert!(peak <= most, "{peak} bytes for {} bytes", request.len());
});
