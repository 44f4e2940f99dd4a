//! Any text: the reader must end.

#![no_main]

use hprof_format::binary::mutf8;
use hprof_format::text::TextReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let text = mutf8::decode(file);
    let items = TextReader::new(&text).count();
    assert!(items <= text.lines().count());
});
