//! The inspector.

use hprof_server::views::by_class::{ClassReferencesQuery, class_references, retained_set};
use hprof_server::views::classes;
use hprof_server::views::compare::{CompareBy, compare};
use hprof_server::views::entries::entries;
use hprof_server::views::fields::{FieldsQuery, fields};
use hprof_server::views::object::object;
use hprof_server::views::page::TableQuery;
use hprof_server::views::paths::{merged_paths, merged_paths_to, path};
use hprof_server::views::references::{Direction, ReferencesQuery, references};
use hprof_server::views::table::hex;

use super::known::{all, known, number, row, text};

#[test]
fn the_inspector_shows_an_object_with_its_surroundings() {
    let known = known();
    let opened = &known.opening.opened;
    let map = object(opened, &hex(known.map)).unwrap();
    assert_eq!(map.class.name, "java.util.HashMap");
    assert_eq!(map.name, "java.util.HashMap with 3 entries");
    assert_eq!(map.value.unwrap().text, "size 3");
    assert_eq!(map.dominator.unwrap().name, "class com.example.App");
    assert_eq!((map.loader.as_str(), map.is_live), ("boot loader", true));
    let lost = object(opened, &hex(known.lost)).unwrap();
    assert_eq!((lost.is_live, lost.retained, lost.percent), (false, 0, 0.0));
    let bytes = object(opened, &hex(known.values[0]))
        .unwrap()
        .value
        .unwrap();
    assert_eq!(
        (bytes.kind, bytes.text.as_str()),
        ("bytes", "07 07 07 07 07 07 07 07")
    );

    let ask =
        |id, query: TableQuery| fields(opened, &hex(id), FieldsQuery::default(), &query).unwrap();
    let of_map = ask(known.map, all());
    let names: Vec<&str> = of_map.rows.iter().map(|row| text(row, "name")).collect();
    assert_eq!(names, ["table", "size"]);
    assert_eq!(of_map.rows[0].links.object, Some(known.table));
    assert_eq!(text(&of_map.rows[1], "value"), "3");
    assert_eq!(text(&of_map.rows[1], "type"), "int");
    let statics = ask(known.app, all());
    assert_eq!(text(row(&statics, "limit"), "value"), "-5");
    assert_eq!(row(&statics, "cache").links.object, Some(known.map));
    let elements = ask(known.table, all());
    let shown: Vec<Option<u64>> = elements.rows.iter().map(|row| row.links.object).collect();
    let [one, two, three] = known.nodes.map(Some);
    assert_eq!(shown, [one, None, two, three]);
    let last = TableQuery {
        sort: Some("-name".to_owned()),
        limit: Some(1),
        ..all()
    };
    assert_eq!(ask(known.table, last).rows[0].links.object, three);

    let found = entries(opened, &hex(known.map), &all()).unwrap();
    let keys: Vec<&str> = found.rows.iter().map(|row| text(row, "key")).collect();
    assert_eq!(
        keys,
        [
            "java.lang.String \"one\"",
            "java.lang.String \"two\"",
            "java.lang.String \"three\""
        ]
    );
    assert_eq!(found.total, 3);
    let first = TableQuery {
        limit: Some(2),
        ..TableQuery::default()
    };
    let page = entries(opened, &hex(known.map), &first).unwrap();
    let second = TableQuery {
        cursor: page.next.clone(),
        ..first
    };
    let rest = entries(opened, &hex(known.map), &second).unwrap();
    assert_eq!(
        (page.rows.len(), rest.rows.len(), rest.next.as_deref()),
        (2, 1, None)
    );
    assert_eq!(text(&rest.rows[0], "key"), keys[2]);
    let filtered = TableQuery {
        filter: Some("TWO".to_owned()),
        ..all()
    };
    let no_keys = entries(opened, &hex(known.table), &filtered).unwrap();
    assert_eq!((no_keys.rows.len(), no_keys.notes.len()), (0, 1));

    let ask = |id, direction| {
        references(opened, &hex(id), ReferencesQuery { direction }, &all()).unwrap()
    };
    let held = ask(known.table, Direction::Out);
    let through: Vec<&str> = held.rows.iter().map(|row| text(row, "field")).collect();
    assert_eq!(through, ["[0]", "[2]", "[3]", "class"]);
    let holders = ask(known.table, Direction::In);
    assert_eq!(holders.rows.len(), 1);
    assert_eq!(text(&holders.rows[0], "field"), ".table");
    assert_eq!(holders.rows[0].links.object, Some(known.map));

    let way = path(opened, &hex(known.values[1])).unwrap();
    let steps: Vec<(String, Option<String>)> = way
        .items
        .into_iter()
        .map(|item| (item.object, item.field))
        .collect();
    let step = |id, field: &str| (hex(id), Some(field.to_owned()));
    assert_eq!(
        steps,
        [
            (hex(known.app), None),
            step(known.map, ".cache (static)"),
            step(known.table, ".table"),
            step(known.nodes[1], "[2]"),
            step(known.values[1], ".value"),
        ]
    );
    assert!(path(opened, &hex(known.lost)).unwrap().root.is_none());
    let class = opened.snapshot.graph().number(known.nodes[0]).unwrap();
    let class = opened.id(opened.snapshot.class_object(class).unwrap());
    let merged = merged_paths(opened, &hex(class)).unwrap();
    assert_eq!((merged.count, merged.children.len()), (3, 1));
    assert_eq!(merged.children[0].name, "class com.example.App");
    // Some of them, a value, and what nothing keeps alive.
    let ids = [known.nodes[0], known.nodes[2], known.values[1], known.lost].map(hex);
    let picked = merged_paths_to(opened, &ids.join(",")).unwrap();
    assert_eq!((picked.name.as_str(), picked.count), ("4 objects", 3));
    assert_eq!(picked.children[0].name, "class com.example.App");
    assert!(merged_paths_to(opened, "0x1,nonsense").is_err());
    let many = vec![hex(known.app); 501];
    assert_eq!(merged_paths_to(opened, &many.join(",")).unwrap().count, 1);
    let instances = classes::instances(opened, &hex(class), &all()).unwrap();
    assert_eq!(instances.total, 3);
    let head = classes::class(opened, &hex(class)).unwrap();
    assert_eq!((head.instances, head.fields.len()), (3, 3));
}

#[test]
fn a_retained_set_is_counted_by_class() {
    let known = known();
    let opened = &known.opening.opened;
    let set = retained_set(opened, &hex(known.map), &all()).unwrap();
    let nodes = row(&set, "java.util.HashMap$Node");
    assert_eq!(number(nodes, "objects"), 3);
    let sum = |key| -> u64 { set.rows.iter().map(|row| number(row, key)).sum() };
    // The map, its table, three nodes, of each node key, its characters and value, and the classes
    // of map, table, nodes and keys with the super class of the map's: no root reaches them otherwise.
    assert_eq!(sum("objects"), 2 + 3 + 9 + 5);
    let map = opened.snapshot.graph().number(known.map).unwrap();
    assert_eq!(sum("shallow"), opened.snapshot.retained(map));
    let lost = retained_set(opened, &hex(known.lost), &all()).unwrap();
    assert_eq!((lost.rows.len(), lost.notes.len()), (0, 1));
}

#[test]
fn references_of_a_class_are_counted_by_class_in_both_directions() {
    let known = known();
    let opened = &known.opening.opened;
    let graph = opened.snapshot.graph();
    let node = graph.number(known.nodes[0]).unwrap();
    let class = hex(opened.id(opened.snapshot.class_object(node).unwrap()));
    let ask = |direction| {
        class_references(opened, &class, ClassReferencesQuery { direction }, &all()).unwrap()
    };
    let out = ask(Direction::Out);
    let names: Vec<&str> = out.rows.iter().map(|row| text(row, "name")).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let keys = row(&out, "java.lang.String");
    assert_eq!(
        (number(keys, "objects"), number(keys, "references")),
        (3, 3)
    );
    let held = ask(Direction::In);
    assert_eq!(held.rows.len(), 1);
    let table = row(&held, "java.util.HashMap$Node[]");
    assert_eq!(
        (number(table, "objects"), number(table, "references")),
        (1, 3)
    );
}

#[test]
fn top_dominators_of_two_dumps_keep_all_that_is_alive() {
    let (before, after) = (known(), known());
    let (a, b) = (&before.opening.opened, &after.opening.opened);
    let found = compare(a, b, CompareBy::Dominator, &all()).unwrap();
    let kept: u64 = found.rows.iter().map(|row| number(row, "retained_a")).sum();
    assert_eq!(kept, a.snapshot.dominators().live_bytes());
    // The class with the map, and the object that is a root; nothing within the map.
    assert_eq!(found.rows.len(), 2);
    assert_eq!(number(row(&found, super::known::HOSTILE), "objects_b"), 1);
}
