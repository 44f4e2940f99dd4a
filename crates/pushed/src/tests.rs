//! The store as a whole: what is acknowledged counts once, wherever the process ends.

use std::fs;

use super::*;

/// 2023-11-14, in seconds.
pub(super) const START: u64 = 1_700_000_000;
pub(super) const KEEP: Retention = Retention {
    days: 3650,
    bytes: u64::MAX,
};

/// A profile of collapsed stacks of ten seconds.
pub(super) fn entry(name: &str, from: u64, stacks: &str) -> Entry {
    let ingest = Ingest {
        name: name.to_owned(),
        from: Some(from.to_string()),
        until: Some((from + 10).to_string()),
    };
    Entry {
        protocol: Protocol::Ingest(ingest, "text/plain".to_owned()),
        is_packed: false,
        came: from + 10,
        body: stacks.as_bytes().to_vec(),
    }
}

pub(super) fn put(store: &Pushed, entry: Entry) {
    let decoded = entry.decode().expect("a profile");
    let (done, answer) = sync_channel(1);
    let queued = store.write(decoded, move |written| done.send(written).unwrap());
    queued.expect("room");
    answer.recv().expect("an answer").expect("written");
}

#[test]
fn a_request_that_comes_again_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Pushed::open(folder.path()).unwrap();
    let one = || entry("shop{pod=a}", START, "main;work 5\n");
    put(&store, one());
    put(&store, one());
    assert_eq!(total(&store, "", ALL), 5);
    // From the log, and from the index.
    store = Pushed::open(folder.path()).unwrap();
    put(&store, one());
    assert_eq!(total(&store, "", ALL), 5);
    store.make_segment().unwrap();
    drop(store);
    store = Pushed::open(folder.path()).unwrap();
    put(&store, one());
    assert_eq!(total(&store, "", ALL), 5);
    // Others are no repetition, and one without a time could be two.
    put(&store, entry("shop{pod=b}", START, "main;work 5\n"));
    put(&store, entry("shop{pod=a}", START + 1, "main;work 5\n"));
    assert_eq!(total(&store, "", ALL), 15);
    for _ in 0..2 {
        let mut timeless = one();
        if let Protocol::Ingest(ingest, _) = &mut timeless.protocol {
            ingest.from = None;
        }
        put(&store, timeless);
    }
    assert_eq!(total(&store, "", ALL), 25);
}

pub(super) fn window(from: u64, to: u64) -> Window {
    Window {
        from: Some(from as i64 * 1000),
        to: Some(to as i64 * 1000),
    }
}

pub(super) fn query(selector: &str, by: Option<&str>) -> CostsQuery {
    CostsQuery {
        selector: Some(selector.to_owned()),
        kind: "samples".to_owned(),
        by: by.map(str::to_owned),
    }
}

pub(super) const ALL: (u64, u64) = (START - 1000, START + 1_000_000);

pub(super) fn total(store: &Pushed, selector: &str, (from, to): (u64, u64)) -> u64 {
    let query = query(selector, None);
    let tree = store.call_tree(&query, window(from, to), None, false);
    tree.expect("a tree").0.total
}

#[test]
fn what_is_acknowledged_counts_once_after_every_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Pushed::open(folder.path()).unwrap();
    for round in 0..3 {
        put(
            &store,
            entry("shop{pod=a}", START + 20 * round, "main;work 5\nmain 1\n"),
        );
        put(
            &store,
            entry("shop{pod=b}", START + 20 * round, "main;work 7\n"),
        );
        assert_eq!(total(&store, "", ALL), 13 * (round + 1));
        // As if it were killed: nothing ends the store in order.
        store = Pushed::open(folder.path()).unwrap();
        assert_eq!(total(&store, "", ALL), 13 * (round + 1));
    }
    store.make_segment().unwrap();
    assert_eq!(
        (store.figures().segments, store.figures().memory_rows),
        (1, 0)
    );
    assert_eq!(total(&store, "", ALL), 39);
    put(&store, entry("shop{pod=a}", START + 60, "other 100\n"));
    store = Pushed::open(folder.path()).unwrap();
    assert_eq!(total(&store, "", ALL), 139);
    assert_eq!(total(&store, "pod=\"b\"", ALL), 21);
    // Windows side by side have each profile once.
    let parts = (0..8).map(|at| total(&store, "", (START + 10 * at, START + 10 * at + 10)));
    assert_eq!(parts.sum::<u64>(), 139);
}

#[test]
fn files_of_changes_that_were_cut_off_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let store = Pushed::open(folder.path()).unwrap();
    put(&store, entry("shop", START, "main 5\n"));
    store.make_segment().unwrap();
    drop(store);
    // A segment that was written, but is not in the index.
    let known = segment_path(folder.path(), 1);
    fs::copy(&known, segment_path(folder.path(), 99)).unwrap();
    fs::write(folder.path().join("0000000000000100.new"), "half").unwrap();
    let store = Pushed::open(folder.path()).unwrap();
    assert_eq!(total(&store, "", ALL), 5);
    assert!(!segment_path(folder.path(), 99).exists());
    // Segments outlive their index.
    drop(store);
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(folder.path().join(format!("index.db{ending}")));
    }
    let store = Pushed::open(folder.path()).unwrap();
    assert_eq!(total(&store, "", ALL), 5);
}

#[test]
fn merged_segments_answer_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = Pushed::open(folder.path()).unwrap();
    for round in 0..8 {
        put(
            &store,
            entry("shop", START + 10 * round, "main;work 5\nmain;idle 1\n"),
        );
        put(&store, entry("cart", START + 10 * round, "main;other 2\n"));
        store.make_segment().unwrap();
    }
    assert_eq!(store.figures().segments, 8);
    let now = START as u32 + 100;
    let question = query("", Some("service"));
    let ask = |store: &Pushed| {
        let tree = store.call_tree(&question, window(ALL.0, ALL.1), None, false);
        let values = store.over_time(&question, window(START, START + 80), Some(8));
        (tree.unwrap().0, values.unwrap())
    };
    let before = ask(&store);
    assert_eq!(before.0.total, 64);
    let lanes = before.1.lanes.iter();
    let lanes: Vec<_> = lanes
        .map(|lane| (&*lane.group, lane.values.clone()))
        .collect();
    assert_eq!(lanes, [("shop", vec![6; 8]), ("cart", vec![2; 8])]);
    store.keep(KEEP, now).unwrap();
    assert_eq!(store.figures().segments, 1);
    assert_eq!(ask(&store), before);
    // And after the next start.
    drop(store);
    let store = Pushed::open(folder.path()).unwrap();
    assert_eq!(ask(&store), before);
    assert_eq!(
        fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .filter(|it| { it.path().extension().is_some_and(|ending| ending == "seg") })
            .count(),
        1
    );
    let bytes = store.figures().segment_bytes;
    let keep = Retention {
        bytes: bytes - 1,
        ..KEEP
    };
    store.keep(keep, now).unwrap();
    assert_eq!(total(&store, "", ALL), 0);
}

#[test]
fn profiles_older_than_the_limit_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = Pushed::open(folder.path()).unwrap();
    put(&store, entry("shop", START, "main 5\n"));
    store.make_segment().unwrap();
    let keep = Retention { days: 1, ..KEEP };
    let day = 24 * 3600;
    store.keep(keep, START as u32 + day - 1).unwrap();
    assert_eq!(total(&store, "", ALL), 5);
    store.keep(keep, START as u32 + day + 20).unwrap();
    assert_eq!(total(&store, "", ALL), 0);
}

#[test]
fn filters_are_of_stacks() {
    let folder = tempfile::tempdir().unwrap();
    let store = Pushed::open(folder.path()).unwrap();
    put(&store, entry("shop", START, "main;work 4\nmain;idle 8\n"));
    let question = query("service=\"shop\"", None);
    let filter = regex::Regex::new("(?i)IDLE").unwrap();
    let window = window(ALL.0, ALL.1);
    let (tree, unit) = store
        .call_tree(&question, window, Some(&filter), true)
        .unwrap();
    assert_eq!((tree.total, &*unit), (8, "samples"));
    assert_eq!(&*tree.roots[0].name, "idle");
    let nothing = |query: &CostsQuery| store.nothing(query, window).unwrap();
    let kind = |key: &str| key.to_owned();
    let other = query("service=\"none\"", None);
    assert_eq!(nothing(&other), Nothing::NoSeries);
    let other = CostsQuery {
        kind: kind("wall"),
        ..question
    };
    let others = Nothing::OtherKinds {
        asked: kind("wall"),
        there: vec![kind("samples")],
    };
    assert_eq!(nothing(&other), others);
}

#[test]
fn movers_are_methods_whose_own_costs_changed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Pushed::open(folder.path()).unwrap();
    put(
        &store,
        entry("shop", START, "main;work 4\nmain;old 3\nmain;same 5\n"),
    );
    put(
        &store,
        entry(
            "shop",
            START + 20,
            "main;work 10\nmain;x;work 2\nmain;new 1\nmain;same 5\n",
        ),
    );
    let question = query("", None);
    let (old, new) = (window(START, START + 10), window(START + 20, START + 30));
    let ask = |limit| store.movers((&question, old), (&question, new), limit);
    let found = ask(None).unwrap();
    assert_eq!((found.before, found.after), (12, 18));
    let short = |list: &[Mover]| -> Vec<(String, u64, u64, i64)> {
        let all = list.iter();
        all.map(|it| (it.method.clone(), it.before, it.after, it.change))
            .collect()
    };
    let row = |name: &str, before, after, change| (name.to_owned(), before, after, change);
    assert_eq!(
        short(&found.grew),
        [row("work", 4, 12, 8), row("new", 0, 1, 1)]
    );
    assert_eq!(short(&found.shrank), [row("old", 3, 0, -3)]);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let one = ask(Some(1)).unwrap();
    assert_eq!(one.grew.len(), 1);
    assert!(one.notes[0].contains("1 more method"), "{:?}", one.notes);
    assert!(ask(Some(0)).is_err());
    // Twice as long before: half of it counts.
    let long = window(START - 10, START + 10);
    let scaled = store.movers((&question, long), (&question, new), None);
    assert_eq!(short(&scaled.unwrap().grew)[0], row("work", 4, 12, 10));
}

#[test]
fn an_archive_reads_what_the_store_has_while_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Archive::open(folder.path()).is_err());
    let store = Pushed::open(folder.path()).unwrap();
    put(&store, entry("shop{pod=a}", START, "main;work 5\nmain 1\n"));
    store.make_segment().unwrap();
    put(&store, entry("shop{pod=b}", START + 10, "main;work 7\n"));
    let archive = Archive::open(folder.path()).unwrap();
    let rows = |selector: &str, kind: Option<&str>, to: u64| {
        let choice = Choice {
            selector: selector.to_owned(),
            kind: kind.map(str::to_owned),
            from: START as u32,
            to: to as u32,
        };
        let mut rows = Vec::new();
        let read = archive.each(&choice, |costs| -> io::Result<()> {
            for cost in costs {
                let [service, _, pod] = cost.places;
                assert_eq!(service, "shop");
                let stack = cost.stack.to_owned();
                rows.push((pod.to_owned(), cost.method.to_owned(), stack, cost.value));
            }
            Ok(())
        });
        read.unwrap();
        rows.sort();
        rows
    };
    let row = |pod: &str, stack: &str, value| {
        let method = stack.rsplit(';').next().unwrap_or_default();
        (pod.to_owned(), method.to_owned(), stack.to_owned(), value)
    };
    let all = [
        row("a", "main", 1),
        row("a", "main;work", 5),
        row("b", "main;work", 7),
    ];
    assert_eq!(rows("", None, START + 100), all);
    assert_eq!(rows("pod=\"b\"", Some("samples"), START + 100), all[2..]);
    assert_eq!(rows("", None, START + 10), all[..2]);
    assert_eq!(rows("", Some("wall"), START + 100), []);
}
