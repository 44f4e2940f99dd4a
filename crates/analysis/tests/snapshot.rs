//! Snapshots of real dumps: exact, the same in every mode, and unimpressed by damage.

mod common;

use std::fs;
use std::path::Path;

use common::{contents, data, shared};
use hprof_analysis::graph::{Follow, ReferenceKind};
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::leaks::{LeakOptions, leaks};
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::paths::{PathSearch, ShortestPaths, merged};
use hprof_analysis::retained::{RetainedBy, freed_without, retained_by};
use hprof_analysis::snapshot::{IndexPlace, IndexState, OpenOptions, Snapshot};
use proptest::prelude::*;

/// Real dumps that may be there: of a VM of 32 and of 64 bits, of Android, of the JDK's agent.
fn dumps() -> Vec<std::path::PathBuf> {
    let names = [
        "hprof-32.bin",
        "hprof-64.bin",
        "hprof-android.bin",
        "heap-dump-b.hprof",
    ];
    let mut found = vec![data("hprof-32.bin")];
    found.extend(names[1..].iter().filter_map(|name| shared(name)));
    found
}

fn open(path: &Path, options: &OpenOptions<'_>) -> Snapshot {
    Snapshot::open(path, options).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The whole dominator tree, as text.
fn told(snapshot: &Snapshot) -> String {
    let dominators = snapshot.dominators();
    let mut text = String::new();
    for place in dominators.largest_children(None, 50) {
        let object = dominators.object(place);
        text.push_str(&format!(
            "{:x} {} {}\n",
            snapshot.graph().id(object),
            snapshot.describe(object),
            dominators.retained(place)
        ));
    }
    let leaks = leaks(snapshot, LeakOptions::default()).unwrap();
    text.push_str(&serde_json::to_string_pretty(&leaks).unwrap());
    for by in [
        RetainedBy::Class,
        RetainedBy::Package,
        RetainedBy::Loader,
        RetainedBy::Thread,
    ] {
        text.push_str(&serde_json::to_string_pretty(&retained_by(snapshot, by).unwrap()).unwrap());
    }
    text
}

#[test]
fn the_graph_has_all_objects_of_the_histogram_with_their_sizes() {
    for path in dumps() {
        let snapshot = open(&path, &OpenOptions::default());
        let contents = contents(&path);
        let histogram = histogram(&contents, contents.dumps.last().unwrap(), Group::Class);
        let graph = snapshot.graph();
        let is_class = |object: &ObjectNumber| graph.class_of_object(*object).is_some();
        let objects = graph.objects().filter(|object| !is_class(object)).count();
        assert_eq!(
            objects as u64,
            histogram.total.objects,
            "{}",
            path.display()
        );
        let bytes: u64 = graph.objects().map(|object| graph.size(object)).sum();
        assert_eq!(bytes, histogram.total.shallow_bytes, "{}", path.display());
    }
}

#[test]
fn what_the_topmost_objects_retain_is_all_that_lives() {
    for path in dumps() {
        let snapshot = open(&path, &OpenOptions::default());
        let dominators = snapshot.dominators();
        let tops: u64 = dominators
            .children(None)
            .map(|place| dominators.retained(place))
            .sum();
        assert_eq!(tops, dominators.live_bytes());
        let paths = ShortestPaths::new(snapshot.graph(), snapshot.store()).unwrap();
        assert_eq!(paths.len(), dominators.len());
        let live: u64 = (snapshot.graph().objects())
            .filter(|&object| paths.before(object).is_some())
            .map(|object| snapshot.graph().size(object))
            .sum();
        assert_eq!(live, dominators.live_bytes());
        // What would be free without the largest objects, by a walk without them.
        for place in dominators.largest_children(None, 3) {
            let object = dominators.object(place);
            let freed = freed_without(&snapshot, |other| other == object).unwrap();
            assert_eq!(freed.bytes, dominators.retained(place));
            assert_eq!(freed.objects, dominators.span(place));
        }
    }
}

#[test]
fn a_search_that_stops_finds_the_paths_of_one_that_does_not() {
    for path in dumps() {
        let snapshot = open(&path, &OpenOptions::default());
        let graph = snapshot.graph();
        let all = ShortestPaths::new(graph, snapshot.store()).unwrap();
        let search = PathSearch::new();
        // Now near the roots, now far from them, and those that no root reaches.
        let count = graph.len();
        for step in 0..count.min(2000) {
            let object = ObjectNumber::new(step * 7919 % count);
            assert_eq!(
                search.to(&snapshot, object).unwrap(),
                all.to(object),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn what_a_class_retains_is_what_would_be_free_without_it() {
    for path in dumps() {
        let snapshot = open(&path, &OpenOptions::default());
        let graph = snapshot.graph();
        let rows = retained_by(&snapshot, RetainedBy::Class).unwrap();
        assert!(rows.iter().all(|row| row.is_exact));
        let name = |object: ObjectNumber| &graph.classes().get(graph.class_of(object)).name;
        for row in rows.iter().take(20).chain(rows.iter().step_by(17)) {
            let freed = freed_without(&snapshot, |object| *name(object) == row.name).unwrap();
            let (file, class) = (path.display(), &row.name);
            assert_eq!(row.retained_bytes, freed.bytes, "{file} {class}");
            assert_eq!(row.objects, freed.members, "{file} {class}");
        }
        let rows = retained_by(&snapshot, RetainedBy::Package).unwrap();
        let row = rows.iter().find(|row| row.name == "java.util").unwrap();
        let package = |object: ObjectNumber| hprof_analysis::names::package(name(object));
        let freed = freed_without(&snapshot, |object| package(object) == row.name).unwrap();
        assert_eq!(row.retained_bytes, freed.bytes, "{}", path.display());
        // Of a loader: what its only row has is what all of its classes' objects keep alive.
        let rows = retained_by(&snapshot, RetainedBy::Loader).unwrap();
        assert!(rows[0].retained_bytes <= snapshot.dominators().live_bytes());
    }
}

#[test]
fn every_mode_gives_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    for path in dumps() {
        let expected = told(&open(&path, &OpenOptions::default()));
        let indexed = OpenOptions {
            index: IndexPlace::Folder(folder.path().to_owned()),
            ..OpenOptions::default()
        };
        for used in [false, true] {
            let snapshot = open(&path, &indexed);
            assert_eq!(matches!(snapshot.index(), IndexState::Used), used);
            assert_eq!(told(&snapshot), expected, "{}", path.display());
        }
        for options in [
            OpenOptions {
                wide: true,
                ..OpenOptions::default()
            },
            OpenOptions {
                wide: true,
                ..indexed.clone()
            },
            OpenOptions {
                threads: 1,
                ..OpenOptions::default()
            },
            OpenOptions {
                memory: Some(16 << 20),
                scratch: folder.path().to_owned(),
                ..OpenOptions::default()
            },
        ] {
            assert_eq!(told(&open(&path, &options)), expected, "{}", path.display());
        }
    }
}

#[test]
fn an_index_of_another_dump_or_a_damaged_one_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("heap.hprof");
    fs::copy(data("hprof-32.bin"), &dump).unwrap();
    let options = OpenOptions {
        index: IndexPlace::Folder(folder.path().to_owned()),
        ..OpenOptions::default()
    };
    assert!(matches!(
        open(&dump, &options).index(),
        IndexState::Written { .. }
    ));
    let follow = OpenOptions {
        follow: Follow {
            kinds: ReferenceKind::ALL.into(),
            without: Vec::new(),
        },
        ..options.clone()
    };
    assert!(matches!(
        open(&dump, &follow).index(),
        IndexState::Written { .. }
    ));
    assert!(matches!(
        open(&dump, &options).index(),
        IndexState::Written { .. }
    ));
    let index = folder.path().join("heap.hprof.hprof-rs-index");
    let bytes = fs::read(&index).unwrap();
    for length in [0, 10, 63, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&index, &bytes[..length]).unwrap();
        assert!(matches!(
            open(&dump, &options).index(),
            IndexState::Written { .. }
        ));
    }
    // The same length and time, but other bytes.
    let modified = fs::metadata(&dump).unwrap().modified().unwrap();
    let mut changed = fs::read(&dump).unwrap();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    fs::write(&dump, changed).unwrap();
    fs::File::options()
        .write(true)
        .open(&dump)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    assert!(matches!(
        open(&dump, &options).index(),
        IndexState::Written { .. }
    ));
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let nowhere = OpenOptions {
        index: IndexPlace::Folder(folder.path().join("missing")),
        ..OpenOptions::default()
    };
    assert!(matches!(
        open(&dump, &nowhere).index(),
        IndexState::Failed(_)
    ));
}

#[test]
fn an_index_with_a_flipped_bit_anywhere_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("heap.hprof");
    fs::copy(data("hprof-32.bin"), &dump).unwrap();
    let options = OpenOptions {
        index: IndexPlace::Folder(folder.path().to_owned()),
        ..OpenOptions::default()
    };
    let expected = open(&dump, &options).dominators().live_bytes();
    let index = folder.path().join("heap.hprof.hprof-rs-index");
    let bytes = fs::read(&index).unwrap();
    // The prelude after the checksum has no meaning.
    let places = (0..40).filter(|at| !(12..16).contains(at));
    for place in places.chain((64..bytes.len()).step_by(bytes.len() / 150)) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(&index, damaged).unwrap();
        let snapshot = open(&dump, &options);
        assert!(
            matches!(snapshot.index(), IndexState::Written { .. }),
            "{place}"
        );
        assert_eq!(snapshot.dominators().live_bytes(), expected);
    }
    assert!(matches!(open(&dump, &options).index(), IndexState::Used));
}

#[test]
fn weak_references_keep_alive_only_if_asked() {
    // What the JDK's agent wrote has no weak references: it did not know when they were made.
    let with_references = |path: &std::path::PathBuf| !path.ends_with("heap-dump-b.hprof");
    for path in dumps().into_iter().filter(with_references) {
        let live = |kinds: Vec<ReferenceKind>| {
            let follow = Follow {
                kinds,
                without: Vec::new(),
            };
            let options = OpenOptions {
                follow,
                ..OpenOptions::default()
            };
            open(&path, &options).dominators().len()
        };
        let (none, soft, all) = (
            live(Vec::new()),
            live(vec![ReferenceKind::Soft]),
            live(ReferenceKind::ALL.into()),
        );
        assert!(
            none <= soft && soft < all,
            "{} {none} {soft} {all}",
            path.display()
        );
    }
}

/// Asks everything there is to ask.
fn use_all(snapshot: &Snapshot) {
    told(snapshot);
    snapshot.threads();
    let graph = snapshot.graph();
    let paths = ShortestPaths::new(graph, snapshot.store()).unwrap();
    for object in graph.objects().step_by(graph.len() / 50 + 1) {
        snapshot.describe(object);
        snapshot.fields(object);
        snapshot.references(object);
        snapshot.collection_elements(object, 5);
        paths.to(object);
    }
    merged(snapshot, &paths, |object| {
        graph.class_of(object).get().is_multiple_of(7)
    });
}

fn of_bytes(bytes: &[u8]) -> Option<Snapshot> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    Snapshot::open(file.path(), &OpenOptions::default()).ok()
}

#[test]
fn a_dump_cut_anywhere_gives_the_graph_of_what_is_left() {
    let bytes = fs::read(data("hprof-32.bin")).unwrap();
    let whole = of_bytes(&bytes).unwrap().graph().len();
    let mut last = 0;
    for part in 1..12 {
        let Some(snapshot) = of_bytes(&bytes[..bytes.len() * part / 12]) else {
            continue;
        };
        use_all(&snapshot);
        let count = snapshot.graph().len();
        assert!((last..=whole).contains(&count));
        let damage = snapshot.graph().damage().count + snapshot.contents().damage.count;
        assert!(damage > 0, "nothing said of what is missing at {part}/12");
        last = count;
    }
    assert!(last > whole / 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn flipped_bytes_end_in_a_graph_or_an_error(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = fs::read(data("hprof-32.bin")).unwrap();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(snapshot) = of_bytes(&bytes) {
            use_all(&snapshot);
        }
    }
}

#[test]
fn the_android_fixture_leaks_its_activity_and_a_bitmap() {
    let Some(path) = shared("hprof-android.bin") else {
        return;
    };
    let snapshot = open(&path, &OpenOptions::default());
    let traces = hprof_analysis::android::traces(&snapshot).unwrap();
    let leaks: Vec<(&str, String)> = (traces.iter())
        .map(|trace| {
            let step = trace.path.end().unwrap();
            let edges = trace
                .suspects
                .iter()
                .map(|&index| trace.path.steps[index].edge.as_ref().unwrap().name.clone());
            (
                step.description.as_str(),
                edges.collect::<Vec<_>>().join(" "),
            )
        })
        .collect();
    assert_eq!(
        leaks,
        [
            (
                "android.graphics.Bitmap",
                "instance runnable val$leaking 1".to_owned()
            ),
            (
                "com.example.leakcanary.MainActivity",
                "local variable this$0".to_owned()
            ),
        ]
    );
    assert!(traces.iter().all(|trace| trace.library_leak.is_none()));
}
