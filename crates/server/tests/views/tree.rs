//! Histogram, dominator tree, map of the heap.

use hprof_server::views::dominators::{DominatorsBy, DominatorsQuery, dominators};
use hprof_server::views::histogram::{HistogramBy, HistogramQuery, histogram, unreachable};
use hprof_server::views::opened::Opened;
use hprof_server::views::page::TableQuery;
use hprof_server::views::roots::{RootsQuery, roots};
use hprof_server::views::table::hex;
use hprof_server::views::{loaders, threads, treemap, waste};

use super::known::{HOSTILE, all, known, number, row, settled, size};
use super::made::Made;
use super::opening::{data, open};

#[test]
fn the_histogram_counts_live_objects_with_what_they_retain() {
    let known = known();
    let opened = &known.opening.opened;
    let by = |by| HistogramQuery { by, node: None };
    let ask = |query| settled(|| histogram(opened, &query, &all()).unwrap());
    let classes = ask(by(HistogramBy::Class));
    let nodes = row(&classes, "java.util.HashMap$Node");
    assert_eq!(number(nodes, "objects"), 3);
    assert_eq!(number(nodes, "shallow"), 3 * size(opened, known.nodes[0]));
    let map = row(&classes, "java.util.HashMap");
    let all_bytes = opened.snapshot.dominators().live_bytes();
    // All that lives but the hostile object and class objects without a size.
    assert_eq!(
        number(map, "retained"),
        all_bytes - size(opened, known.hostile)
    );
    assert_eq!(number(row(&classes, HOSTILE), "objects"), 1);
    let sum: u64 = classes.rows.iter().map(|row| number(row, "shallow")).sum();
    assert_eq!(sum, all_bytes);
    // The results lie beside the index for the next caller that opens the analysis.
    assert!(opened.files.index.join("retained.json").exists());
    let packages = ask(by(HistogramBy::Package));
    let util = row(&packages, "java.util");
    assert_eq!(number(util, "retained"), number(map, "retained"));
    let loaders = ask(by(HistogramBy::Loader));
    assert_eq!(number(row(&loaders, "boot loader"), "shallow"), all_bytes);
    let tops = ask(by(HistogramBy::Superclass));
    let object_row = row(&tops, "java.lang.Object");
    let node = object_row.links.node.clone();
    assert!(object_row.links.children);
    let below = HistogramQuery {
        by: HistogramBy::Superclass,
        node,
    };
    let below = ask(below);
    let maps = row(&below, "java.util.AbstractMap");
    assert_eq!((number(maps, "objects"), maps.links.children), (1, true));
    let unreached = unreachable(opened, &all()).unwrap();
    assert_eq!(unreached.rows.len(), 1);
    assert_eq!(number(&unreached.rows[0], "objects"), 1);
    assert_eq!(
        number(&unreached.rows[0], "shallow"),
        size(opened, known.lost)
    );
}

#[test]
fn the_dominator_tree_opens_level_by_level() {
    let known = known();
    let opened = &known.opening.opened;
    let ask = |by, node: Option<String>| {
        dominators(opened, &DominatorsQuery { by, node }, &all()).unwrap()
    };
    let top = ask(DominatorsBy::Object, None);
    let app = row(&top, "class com.example.App");
    assert!(app.links.children);
    let map = ask(DominatorsBy::Object, app.links.node.clone());
    assert_eq!(map.rows[0].links.object, Some(known.map));
    let table = ask(DominatorsBy::Object, map.rows[0].links.node.clone());
    assert_eq!(table.rows[0].links.object, Some(known.table));
    let nodes = ask(DominatorsBy::Object, table.rows[0].links.node.clone());
    let ids: Vec<u64> = nodes
        .rows
        .iter()
        .filter_map(|row| row.links.object)
        .collect();
    // The largest value is in the last entry.
    let largest = [known.nodes[2], known.nodes[1], known.nodes[0]];
    // Class objects that only instances refer to come after them.
    assert_eq!(ids[..3], largest);
    let retained: u64 = nodes.rows.iter().map(|row| number(row, "retained")).sum();
    let own = size(opened, known.table);
    assert_eq!(number(&table.rows[0], "retained"), own + retained);
    let nothing = ask(DominatorsBy::Object, Some(hex(known.lost)));
    assert_eq!((nothing.total, nothing.notes.len()), (0, 1));

    let top = ask(DominatorsBy::Class, None);
    let total: u64 = top.rows.iter().map(|row| number(row, "retained")).sum();
    assert_eq!(total, opened.snapshot.dominators().live_bytes());
    let mut level = row(&top, "java.lang.Class").clone();
    for (name, objects) in [
        ("java.util.HashMap", 1),
        ("java.util.HashMap$Node[]", 1),
        ("java.util.HashMap$Node", 3),
        ("byte[]", 3),
    ] {
        let below = ask(DominatorsBy::Class, level.links.node.clone());
        level = row(&below, name).clone();
        assert_eq!(number(&level, "objects"), objects);
    }
    let values: u64 = known.values.iter().map(|&id| size(opened, id)).sum();
    assert_eq!(
        (number(&level, "retained"), level.links.children),
        (values, false)
    );
    let packages = ask(DominatorsBy::Package, None);
    let lang = row(&packages, "java.lang").links.node.clone();
    assert_eq!(
        number(
            row(&ask(DominatorsBy::Package, lang), "java.util"),
            "objects"
        ),
        1
    );
}

#[test]
fn a_map_of_the_heap_has_all_its_bytes() {
    let known = known();
    let query = treemap::TreemapQuery {
        depth: 8,
        least: 0.0,
        ..Default::default()
    };
    let map = treemap::treemap(&known.opening.opened, &query).unwrap();
    fn check(area: &treemap::Area, opened: &Opened) {
        let inner: u64 = area.children.iter().map(|it| it.bytes).sum();
        let own = match &area.node {
            Some(node) => opened.snapshot.graph().size(opened.object(node).unwrap()),
            None => 0,
        };
        assert!(
            area.children.is_empty() || inner + own == area.bytes,
            "{area:?}"
        );
        area.children.iter().for_each(|area| check(area, opened));
    }
    check(&map, &known.opening.opened);
    assert_eq!(
        map.bytes,
        known.opening.opened.snapshot.dominators().live_bytes()
    );
}

/// Real objects in place of made ones: what pages tell together is what the graph has.
#[test]
fn pages_of_a_real_dump_cover_all_of_it() {
    let bytes = std::fs::read(data("hprof-32.bin")).unwrap();
    let opening = open(&bytes, "{}");
    let opened = &opening.opened;
    let graph = opened.snapshot.graph();
    let all_roots = roots(opened, &RootsQuery::default(), &all()).unwrap();
    let listed: u64 = all_roots.rows.iter().map(|row| number(row, "roots")).sum();
    assert_eq!(listed, (graph.roots().len() + graph.locals().len()) as u64);
    let mut query = TableQuery {
        limit: Some(700),
        sort: Some("-shallow".to_owned()),
        ..all()
    };
    let mut seen = std::collections::BTreeSet::new();
    let (mut bytes, mut last) = (0, u64::MAX);
    loop {
        let table = dominators(opened, &DominatorsQuery::default(), &query).unwrap();
        for row in &table.rows {
            assert!(seen.insert(row.links.object.unwrap()), "twice: {row:?}");
            assert!(number(row, "shallow") <= last);
            last = number(row, "shallow");
            bytes += number(row, "retained");
        }
        assert_eq!(
            table.total,
            opened.snapshot.dominators().children(None).count() as u64
        );
        let Some(next) = table.next else { break };
        query.cursor = Some(next);
    }
    assert_eq!(
        seen.len(),
        opened.snapshot.dominators().children(None).count()
    );
    assert_eq!(bytes, opened.snapshot.dominators().live_bytes());
    let by = HistogramQuery::default();
    let classes = settled(|| histogram(opened, &by, &all()).unwrap());
    let objects: u64 = classes.rows.iter().map(|row| number(row, "objects")).sum();
    assert_eq!(objects, opened.snapshot.dominators().len() as u64);
    assert!(
        classes
            .rows
            .iter()
            .all(|row| number(row, "retained") >= number(row, "shallow"))
    );
    let found = threads::threads(opened, &all()).unwrap();
    assert!(found.total > 0);
    let thread = threads::thread(opened, &hex(found.rows[0].links.object.unwrap())).unwrap();
    assert_eq!(thread.retained, number(&found.rows[0], "retained"));
    let list = loaders::loaders(opened, &all()).unwrap();
    let described = graph
        .classes()
        .list()
        .iter()
        .filter(|class| class.is_described)
        .count();
    let sum: u64 = list.rows.iter().map(|row| number(row, "classes")).sum();
    assert_eq!(sum, described as u64);
    let collections = settled(|| waste::collections(opened, &all()).unwrap());
    assert!(number(row(&collections, "java.util.HashMap"), "objects") > 0);
}

/// Levels of more objects than are sorted are not sorted as a whole; their pages fit together.
#[test]
fn pages_of_a_level_with_many_objects_are_those_of_the_whole_level() {
    let mut made = Made::new();
    let string = made.object();
    for at in 0..2500u32 {
        let length = at * 7919 % 500;
        let array = made.primitives(8, length, &vec![1; length as usize]);
        made.root(0xff, array);
    }
    let extra = made.instance(string, &[]);
    made.root(0xff, extra);
    let opening = open(&made.bytes(), "{}");
    let ask = |sort: Option<&str>, cursor: Option<String>, limit| {
        let query = TableQuery {
            sort: sort.map(str::to_owned),
            cursor,
            limit: Some(limit),
            ..TableQuery::default()
        };
        dominators(&opening.opened, &DominatorsQuery::default(), &query).unwrap()
    };
    let ids = |sort: Option<&str>, keeps_sort: bool| {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let is_first = cursor.is_none();
            let asked = sort.filter(|_| is_first || keeps_sort);
            let table = ask(asked, cursor, 900);
            found.extend(table.rows.iter().filter_map(|row| row.links.object));
            cursor = table.next;
            if cursor.is_none() {
                assert_eq!(table.total as usize, found.len());
                return found;
            }
        }
    };
    let largest = ids(None, false);
    assert!(largest.len() > 2500);
    assert_eq!(ids(Some("-retained"), true), largest);
    assert_eq!(ids(Some("-percent"), true), largest);
    // The cursor alone carries the sort on.
    let names = ids(Some("object"), false);
    assert!(names.is_sorted() && names.len() == largest.len());
    let mut sorted = largest;
    sorted.sort_unstable();
    assert_eq!(sorted, names);
}
