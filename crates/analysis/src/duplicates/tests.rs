use std::path::Path;

use super::*;
use crate::snapshot::OpenOptions;

/// A digest by which all arrays seem equal: only their contents tell them apart.
#[test]
fn arrays_of_one_digest_are_compared() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let snapshot = Snapshot::open(&data, &OpenOptions::default()).unwrap();
    let real = duplicates(&snapshot, usize::MAX).unwrap();
    let found = find(&snapshot, usize::MAX, &|_, _| 7).unwrap();
    assert_eq!(found.arrays, real.arrays);
    // One group, of those that are equal to the first array.
    for group in &found.groups {
        let known = real.groups.iter().find(|it| it.object == group.object);
        assert_eq!(known.map(|it| it.count), Some(group.count));
    }
    let wasted = found.groups.iter().map(|group| group.wasted_bytes);
    assert_eq!(found.wasted_bytes, wasted.sum::<u64>());
}
