//! Disk space while a dump is read.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;

use super::*;
use crate::heap_dump::vm_dump::open;

struct Nothing;

impl Visitor for Nothing {
    fn record(&mut self, _record: &Record<'_>) -> Result<(), DumpError> {
        Ok(())
    }

    fn sub_records(&mut self, _bytes: &mut [u8], _offset: u64) -> Result<usize, DumpError> {
        Ok(0)
    }

    fn large_array(
        &mut self,
        _head: &[u8; primitive_array::HEAD],
        _elements: &mut dyn Read,
        _offset: u64,
    ) -> Result<(), DumpError> {
        Ok(())
    }
}

/// A file that was opened for reading only took no holes: the disk held the whole dump.
#[test]
fn the_disk_space_of_what_was_read_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.hprof");
    let mut file = fs::File::create(&path).unwrap();
    let head = [&b"JAVA PROFILE 1.0.2\0"[..], &[0, 0, 0, 8], &[0; 8]].concat();
    file.write_all(&head).unwrap();
    let record = [&[1, 0, 0, 0, 0, 0, 16, 0, 0][..], &[7; 1 << 20]].concat();
    for _ in 0..100 {
        file.write_all(&record).unwrap();
    }
    file.write_all(&[0x2c, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let held = || fs::metadata(&path).unwrap().blocks() * 512;
    let before = held();
    assert!(before >= 100 << 20);
    let growth = Growth::default();
    growth.finish();
    let file = open(&path).unwrap();
    let reader = DumpReader::new(&file, &growth, true).unwrap();
    reader.read(&mut Nothing).unwrap();
    assert!(held() <= 2 * FREE_STEP, "{} of {before}", held());
}
