use std::path::Path;

use super::*;
use crate::snapshot::OpenOptions;

/// A digest by which all arrays seem equal: only their contents tell them apart.
struct Alike;

impl Digest for Alike {
    fn of(&self, _: BasicType, _: &[u8]) -> [u64; 2] {
        [7, 7]
    }
}

#[test]
fn arrays_of_one_digest_are_compared() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let snapshot = Snapshot::open(&data, &OpenOptions::default()).unwrap();
    let real = duplicates(&snapshot, usize::MAX).unwrap();
    let (graph, store) = (snapshot.graph(), snapshot.store());
    let digested = Digested::new(graph, &snapshot.file, store, 0, Alike);
    let found = find(&snapshot, usize::MAX, digested).unwrap();
    assert_eq!(found.arrays, real.arrays);
    // One group, of those that are equal to the first array.
    for group in &found.groups {
        let known = real.groups.iter().find(|it| it.object == group.object);
        assert_eq!(known.map(|it| it.count), Some(group.count));
    }
    let wasted = found.groups.iter().map(|group| group.wasted_bytes);
    assert_eq!(found.wasted_bytes, wasted.sum::<u64>());
}

/// What is digested beside the dominators is what a walk after them finds.
#[test]
fn arrays_that_were_digested_early_are_counted_as_any_others() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let found = |digests_arrays| {
        let options = OpenOptions {
            digests_arrays,
            ..OpenOptions::default()
        };
        let snapshot = Snapshot::open(&data, &options).unwrap();
        let is_early = snapshot.digested.lock().unwrap().is_some();
        assert_eq!(is_early, digests_arrays);
        let found = duplicates(&snapshot, usize::MAX).unwrap();
        assert!(found.arrays > 100 && !found.groups.is_empty());
        serde_json::to_string(&found).unwrap()
    };
    assert_eq!(found(true), found(false));
}
