//! Any bytes: reading them takes no more memory than a fixed number of bytes for each byte read.

#![no_main]

use hprof_analysis::contents::{ReadOptions, read};
use hprof_analysis::graph::Gaps;
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::input::Input;
use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The memory for buffers that reading needs for any file.
const FIXED: usize = 2 << 20;
/// For each byte of the file. The worst are arrays of many classes, which are counted by length.
const PER_BYTE: usize = 64;

fuzz_target!(|file: &[u8]| {
    let bytes = file.to_vec();
    let most = FIXED + PER_BYTE * bytes.len();
    let before = MEMORY.current_usage();
    for in_memory in [true, false] {
        MEMORY.reset_peak_usage();
        let input = match in_memory {
            true => Input::from_bytes("fuzz", bytes.clone()),
            false => Input::from_reader("fuzz", std::io::Cursor::new(bytes.clone())),
        };
        // What is compressed holds more than it takes.
        if in_memory && input.mapped().is_none() {
            continue;
        }
        let options = ReadOptions {
            threads: 1,
            ..ReadOptions::default()
        };
        let Ok(contents) = read(input, &options) else {
            continue;
        };
        for dump in &contents.dumps {
            histogram(&contents, dump, Group::Class);
        }
        Gaps::of_all(&bytes, &contents);
        drop(contents);
        let peak = MEMORY.peak_usage().saturating_sub(before);
        assert!(peak <= most, "{peak} bytes for {} bytes", file.len());
    }
});
