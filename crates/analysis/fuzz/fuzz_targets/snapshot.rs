//! Any bytes: what was read of a dump is analysed to the end, and the totals agree.

#![no_main]

use std::sync::Arc;

use hprof_analysis::contents::{ReadOptions, read};
use hprof_analysis::duplicates::duplicates;
use hprof_analysis::graph::{Follow, ReferenceKind};
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::input::Input;
use hprof_analysis::leaks::{LeakOptions, leaks};
use hprof_analysis::paths::{Path, ShortestPaths, alternatives, merged};
use hprof_analysis::retained::{RetainedBy, retained_by};
use hprof_analysis::snapshot::{OpenOptions, Snapshot};
use hprof_analysis::{android, growth};
use libfuzzer_sys::fuzz_target;
use memmap2::MmapMut;

fuzz_target!(|file: &[u8]| {
    let options = ReadOptions {
        threads: 1,
        ..ReadOptions::default()
    };
    if let Ok(contents) = read(Input::from_bytes("fuzz", file.to_vec()), &options) {
        for dump in &contents.dumps {
            histogram(&contents, dump, Group::Class);
        }
    }
    // The last byte chooses the way of working.
    let Some((&choice, file)) = file.split_last() else {
        return;
    };
    let Ok(mut map) = MmapMut::map_anon(file.len().max(1)) else {
        return;
    };
    map[..file.len()].copy_from_slice(file);
    let map = Arc::new(map.make_read_only().expect("a map of memory"));
    let options = OpenOptions {
        memory: (choice & 15 == 0).then_some(1 << 20),
        threads: if choice & 16 == 0 { 1 } else { 2 },
        wide: choice & 32 != 0,
        follow: match choice & 64 {
            0 => Follow::default(),
            _ => Follow {
                kinds: ReferenceKind::ALL.into(),
                without: Vec::new(),
            },
        },
        ..OpenOptions::default()
    };
    if let Ok(snapshot) = Snapshot::of_map("fuzz".to_owned(), map, &options) {
        look_at_all(&snapshot);
    }
});

fn look_at_all(snapshot: &Snapshot) {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let topmost = dominators.children(None);
    let live: u64 = topmost.map(|place| dominators.retained(place)).sum();
    assert_eq!(live, dominators.live_bytes());
    let paths = ShortestPaths::new(graph, snapshot.store()).expect("room");
    assert_eq!(paths.len(), dominators.len());

    let options = LeakOptions {
        threshold: 0.01,
        ..LeakOptions::default()
    };
    for suspect in leaks(snapshot, options).expect("room").suspects {
        assert!(suspect.retained_bytes <= live, "{}", suspect.accumulation_id);
        merged(snapshot, &paths, |it| it == suspect.accumulation_point);
    }
    for by in [
        RetainedBy::Class,
        RetainedBy::Package,
        RetainedBy::Loader,
        RetainedBy::Thread,
    ] {
        let _ = retained_by(snapshot, by);
    }
    duplicates(snapshot, 10).expect("room");
    growth::places(snapshot, &paths).expect("room");
    android::traces(snapshot).expect("room");
    android::bitmaps(snapshot);
    snapshot.threads();
    snapshot.system_properties();
    for object in graph.objects().take(200) {
        snapshot.describe(object);
        snapshot.fields(object);
        snapshot.elements(object);
        snapshot.primitives(object, 10);
        snapshot.collection(object);
        snapshot.collection_elements(object, 10);
        snapshot.referrers(object);
        for path in alternatives(snapshot, &paths, object, 3) {
            Path::new(snapshot, &path);
        }
    }
}
