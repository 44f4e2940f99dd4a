//! Any bytes: reading them as a recording ends, tells of each part once, and takes no more memory than
//! a fixed number of bytes for each byte read.

#![no_main]

use hprof_foreign::jfr::facts::{self, COLLECTION, Fact, Recorded, THREAD_DUMP, Visitor};
use hprof_foreign::{Kind, read};
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory for any file, most of it for names that a file repeats.
const FIXED: usize = 10 << 20;
/// Memory for each byte of a file.
const PER_BYTE: usize = 64;

/// Counts the bytes of texts.
struct Texts(usize);

impl<'a> Visitor<'a> for Texts {
    fn event(&mut self, event: &Recorded<'a, '_>) {
        for fact in [Fact::Name, Fact::Cause, Fact::Result] {
            self.0 += event.text(fact).len();
        }
    }

    fn chunk_end(&mut self, _: i64, _: i64) {}
}

fuzz_target!(|file: &[u8]| {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut passed = 0;
    let profile = read(file, Kind::Jfr, &mut |part| {
        assert_eq!(part.start, passed);
        passed = part.end;
    });
    assert_eq!(passed, file.len());
    if let Ok(profile) = profile {
        for weights in &profile.weights {
            for row in &weights.rows {
                let trace = profile.stacks.trace(row.trace).expect("a trace");
                trace.frames.iter().for_each(|&frame| {
                    profile.stacks.frame(frame);
                });
            }
        }
    }
    let mut texts = Texts(0);
    let mut passed = 0;
    facts::read(file, &[COLLECTION, THREAD_DUMP], &mut texts, &mut |part| {
        assert_eq!(part.start, passed);
        passed = part.end;
    });
    assert_eq!(passed, file.len());
    // Bytes that are not UTF-8 take three.
    assert!(texts.0 <= 8 * 3 * file.len());
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let most = FIXED + PER_BYTE * file.len();
    assert!(peak <= most, "{peak} bytes for {} bytes", file.len());
});
