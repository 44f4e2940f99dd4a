//! Any bytes: reading ends, and each thread is in one group, one pool and one state.

#![no_main]

use hprof_thread_dumps::{Dumps, Report};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let mut dumps = Dumps::default();
    if dumps.add(file).is_err() {
        return;
    }
    // Another one to compare with, if there is one.
    let _ = dumps.add(&file[file.len() / 2..]);
    let report = Report::of(&dumps);
    let last = &report.dumps[report.dumps.len() - 1];
    assert_eq!(last.states.values().sum::<usize>(), last.threads);
    let of_pools: usize = report.pools.iter().map(|pool| pool.threads).sum();
    assert!(of_pools <= last.threads);
});
