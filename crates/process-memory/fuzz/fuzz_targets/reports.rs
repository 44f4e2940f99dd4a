//! Any text as each of the reports: reading ends, and the rows of the account add up to the resident set.

#![no_main]

use hprof_process_memory::code_cache::CodeCache;
use hprof_process_memory::flags::Flags;
use hprof_process_memory::heap::Heap;
use hprof_process_memory::nmt::Account;
use hprof_process_memory::objects::Objects;
use hprof_process_memory::{
    Bytes, Cause, Evidence, Table, loaders, post_mortem, smaps, status,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut heap = Heap::parse(text);
    if let Some(heap) = &mut heap {
        heap.add_metaspace(text);
    }
    let evidence = Evidence {
        mappings: smaps::parse(text),
        status: status::parse(text),
        heap,
        tracking: Account::parse(text),
        code_cache: CodeCache::parse(text),
        flags: Flags::parse(text),
        loaders: loaders::parse(text, Bytes::ZERO),
        objects: Objects::parse(text),
        ..Evidence::default()
    };
    let table = Table::of(&evidence);
    let sum: Bytes = table.rows.iter().map(|row| row.resident).sum();
    assert_eq!(sum, table.resident);
    assert!(!Cause::all(&evidence, &table).is_empty());
    let _ = post_mortem::read(text);
});
