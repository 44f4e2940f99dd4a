//! Sums of hours and minutes answer as the rows that they are of.

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;

use super::tests::{START, query, window};
use super::*;
use crate::batch::At;
use crate::chunk::Detail;
use crate::tree::Tree;

/// Seconds of the rows: several hours, the first and the last of them in part.
const LENGTH: u32 = 5 * 3600 + 1234;

/// A store with one segment of rows (service, is a state, second, thread, stack, value), with sums or without.
fn store(rows: &[(bool, bool, u32, bool, u8, u64)], has_sums: bool) -> (tempfile::TempDir, Pushed) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.seg");
    let mut tree = Tree::default();
    let nodes: Vec<u32> = (0..8_u8)
        .map(|at| tree.stack(["main", ["a", "b"][usize::from(at % 2)], &format!("f{at}")]))
        .collect();
    let threads = ["one", "two"].map(|name| tree.name(name));
    let mut writer = segment::Writer::create(&path, has_sums).unwrap();
    for service in [false, true] {
        for state in [false, true] {
            let kind = match state {
                true => kind::of_sender("inuse_space", "bytes"),
                false => kind::of_sender("samples", "count"),
            };
            assert_eq!(is_state(&kind.key), state);
            let labels = [("service.name".to_owned(), format!("{service}"))];
            let series = Arc::new(batch::series(labels, &kind));
            let own = rows.iter().filter(|row| (row.0, row.1) == (service, state));
            let mut own: Vec<(At, u64)> = own
                .map(|&(_, _, second, thread, stack, value)| {
                    let at = At {
                        second: START as u32 + second,
                        thread: threads[usize::from(thread)],
                        node: nodes[usize::from(stack % 8)],
                    };
                    (at, value)
                })
                .collect();
            chunk::join(&mut own);
            writer.add(&series, &mut own).unwrap();
        }
    }
    writer.finish(&tree).unwrap();
    let store = Pushed::open(&folder.path().join("store")).unwrap();
    let segment = segment::Segment::open(&path, 1 << 40, 1).unwrap();
    let mut chunks = segment.parts.iter().flat_map(|part| &part.chunks);
    let is_less = |detail| {
        chunks
            .clone()
            .any(|chunk| chunk.least(detail).count < chunk.rows.count)
    };
    if rows.len() > 2000 {
        assert_eq!(
            [Detail::Stacks, Detail::Times].map(is_less),
            [has_sums; 2],
            "the sums are there"
        );
    }
    assert!(chunks.all(|chunk| chunk.from / 3600 == chunk.to / 3600));
    store.shared.held.write().segments.push(Arc::new(segment));
    (folder, store)
}

/// Few seconds, so that those of a state have several rows.
fn second() -> impl Strategy<Value = u32> {
    (0..LENGTH / 600, 0..3_u32).prop_map(|(step, more)| step * 600 + more)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sums_answer_as_rows_do(
        rows in prop::collection::vec((any::<bool>(), any::<bool>(), second(), any::<bool>(), 0..8_u8, 1..1000_u64), 1..3000),
        windows in prop::collection::vec((0..LENGTH, 1..LENGTH, 1..400_u32), 8),
    ) {
        let (_kept, with) = store(&rows, true);
        let (_kept_too, without) = store(&rows, false);
        for (from, length, steps) in windows {
            let from = START + u64::from(from);
            let window = window(from, from + u64::from(length));
            for (kind, by) in [("samples", None), ("samples", Some("service")), ("live-bytes", Some("thread"))] {
                for selector in ["", "service=\"true\"", "thread=\"one\""] {
                    let question = CostsQuery { kind: kind.to_owned(), ..query(selector, by) };
                    let ask = |store: &Pushed| {
                        let tree = store.call_tree(&question, window, None, false).unwrap().0;
                        let values = store.over_time(&question, window, Some(steps)).unwrap();
                        if kind == "samples" {
                            let lanes = values.lanes.iter().map(|lane| lane.total);
                            assert_eq!(lanes.sum::<u64>(), tree.total);
                        }
                        (tree, values)
                    };
                    prop_assert_eq!(ask(&with), ask(&without));
                }
            }
        }
    }
}

/// Files from before hours had sums have one block for each series.
#[test]
fn segments_of_earlier_servers_are_read() {
    let rows: Vec<_> = (0..500)
        .map(|at| (false, false, at * 7, at % 3 == 0, at as u8, u64::from(at)))
        .collect();
    let (folder, _) = store(&rows, false);
    let path = folder.path().join("rows.seg");
    let new = segment::Segment::open(&path, 1, 0).unwrap();
    let earlier = folder.path().join("earlier.seg");
    segment::write_as_before(&new, &earlier).unwrap();
    assert!(fs::read(&earlier).unwrap() != fs::read(&path).unwrap());
    let read = segment::Segment::open(&earlier, 1, 0).unwrap();
    assert_eq!((read.span(), read.rows()), (new.span(), new.rows()));
    for (part, earlier) in new.parts.iter().zip(&read.parts) {
        assert_eq!(new.rows_of(part).unwrap(), read.rows_of(earlier).unwrap());
    }
    assert_eq!(read.stacks().unwrap().nodes, new.stacks().unwrap().nodes);

    // Merged, they have the same rows in hours.
    let store = Pushed::open(&folder.path().join("merging")).unwrap();
    let due = [Arc::new(read), Arc::new(new)];
    let merged = keeping::merged(&store.shared, &due, 1, START as u32).unwrap();
    let part = &merged.parts[0];
    assert_eq!((part.rows, part.total), (500, 2 * (0..500).sum::<u64>()));
    assert!(
        part.chunks.len() > 1
            && part
                .chunks
                .iter()
                .all(|chunk| chunk.from / 3600 == chunk.to / 3600)
    );
}
