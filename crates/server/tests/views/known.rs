//! A heap dump made by hand, whose figures are known, and how tests ask views.

use hprof_server::views::opened::Opened;
use hprof_server::views::page::TableQuery;
use hprof_server::views::table::{Cell, Row, Table};

use super::made::Made;
use super::made::Put::{Int, Long, Ref};
use super::opening::{Opening, open};

/// A program with a map of three entries that a static field holds, a class of a hostile name, and
/// an object that nothing refers to.
pub struct Known {
    pub opening: Opening,
    pub map: u64,
    pub table: u64,
    pub nodes: [u64; 3],
    pub values: [u64; 3],
    pub app: u64,
    pub hostile: u64,
    pub lost: u64,
}

pub const HOSTILE: &str = "=cmd|' calc'!<img src=x onerror=alert(1)>";

pub fn known() -> Known {
    let mut made = Made::new();
    let object = made.object();
    let string = made.class("java.lang.String", object, &[("value", Ref(0))]);
    let abstract_map = made.class("java.util.AbstractMap", object, &[]);
    let map_fields = [("table", Ref(0)), ("size", Int(0))];
    let map_class = made.class("java.util.HashMap", abstract_map, &map_fields);
    let node_fields = [("key", Ref(0)), ("value", Ref(0)), ("next", Ref(0))];
    let node_class = made.class("java.util.HashMap$Node", object, &node_fields);
    let nodes_class = made.class("java.util.HashMap$Node[]", object, &[]);
    let hostile_class = made.class(HOSTILE, object, &[("big", Long(0))]);
    let values = [8, 16, 24].map(|n| made.primitives(8, n, &vec![7; n as usize]));
    let mut nodes = [0; 3];
    for (at, name) in ["one", "two", "three"].into_iter().enumerate() {
        let key = made.string(string, name);
        let fields = [("key", Ref(key)), ("value", Ref(values[at]))];
        nodes[at] = made.instance(node_class, &fields);
    }
    let table = made.array(nodes_class, &[nodes[0], 0, nodes[1], nodes[2]]);
    let map = made.instance(map_class, &[("table", Ref(table)), ("size", Int(3))]);
    let statics = [("cache", Ref(map)), ("limit", Int(-5))];
    let app = made.class_with("com.example.App", object, &[], &statics, 0);
    made.root(0x05, app);
    let hostile = made.instance(hostile_class, &[("big", Long(-1))]);
    made.root(0xff, hostile);
    let lost = made.instance(hostile_class, &[]);
    Known {
        opening: open(&made.bytes(), "{}"),
        map,
        table,
        nodes,
        values,
        app,
        hostile,
        lost,
    }
}

pub fn all() -> TableQuery {
    TableQuery {
        limit: Some(1000),
        ..TableQuery::default()
    }
}

pub fn number(row: &Row, key: &str) -> u64 {
    match row.cell(key) {
        Some(Cell::Count(number)) => *number,
        other => panic!("{key}: {other:?}"),
    }
}

pub fn text<'a>(row: &'a Row, key: &str) -> &'a str {
    match row.cell(key) {
        Some(Cell::Text(text)) => text,
        other => panic!("{key}: {other:?}"),
    }
}

pub fn row<'a>(table: &'a Table, name: &str) -> &'a Row {
    let found = table.rows.iter().find(|row| text(row, "name") == name);
    found.unwrap_or_else(|| panic!("no {name} in {table:?}"))
}

pub fn size(opened: &Opened, id: u64) -> u64 {
    let graph = opened.snapshot.graph();
    graph.size(graph.number(id).unwrap())
}

/// Asks until nothing is worked out in the background any more.
pub fn settled(ask: impl Fn() -> Table) -> Table {
    for _ in 0..600 {
        let table = ask();
        if !table.pending {
            return table;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("still pending after twelve seconds")
}
