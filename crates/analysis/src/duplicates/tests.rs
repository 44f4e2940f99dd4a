use std::path::Path;

use super::*;
use crate::snapshot::OpenOptions;

/// Digests that were made while the dominators were computed know nothing of life; those made later look at all the same.
#[test]
fn digests_made_before_the_dominators_and_after_them_find_the_same() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
    let open = |digests| {
        let options = OpenOptions {
            digests,
            ..OpenOptions::default()
        };
        Snapshot::open(&data, &options).unwrap()
    };
    let (before, after) = (open(true), open(false));
    let found = |snapshot| format!("{:?}", duplicates(snapshot, usize::MAX).unwrap());
    assert_eq!(found(&before), found(&after));
    // They are taken once, and made anew after that.
    assert!(before.take_digests().is_none());
    assert_eq!(found(&before), found(&after));
    // Equal texts are equal arrays.
    let found = duplicates(&after, 1).unwrap();
    let (strings, waste) = by_walks(&after);
    assert!(strings > 100, "{strings}");
    assert_eq!(found.strings, Some(strings));
    assert_eq!(found.wasted_in_strings, Some(waste));
}
