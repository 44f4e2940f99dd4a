//! Collections as JDKs kept them that no test runs any more.

mod common;

use common::made::Put::{Int, Long, Ref};
use common::made::{Made, Put};
use hprof_analysis::snapshot::Value;

/// The size and the first elements of the last object that was made.
fn size(made: Made, object: u64) -> (Option<u64>, usize) {
    let snapshot = made.open();
    let object = snapshot.graph().number(object).expect("an object");
    let collection = snapshot.collection(object).expect("a collection");
    (
        collection.size,
        snapshot.collection_elements(object, 100).len(),
    )
}

fn map_classes(made: &mut Made, name: &str, fields: &[(&str, Put)]) -> (u64, u64) {
    let object = made.object();
    let map = made.class("java.util.AbstractMap", object, &[]);
    (map, made.class(name, map, fields))
}

#[test]
fn a_concurrent_map_of_segments_has_the_entries_of_all_segments() {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("segmentMask", Int(0)), ("segments", Ref(0))];
    let (_, class) = map_classes(&mut made, "java.util.concurrent.ConcurrentHashMap", &fields);
    let fields = [("count", Int(0)), ("table", Ref(0))];
    let name = "java.util.concurrent.ConcurrentHashMap$Segment";
    let segment_class = made.class(name, object, &fields);
    let fields = [("key", Ref(0)), ("value", Ref(0)), ("next", Ref(0))];
    let entry = made.class(
        "java.util.concurrent.ConcurrentHashMap$HashEntry",
        object,
        &fields,
    );
    let key = made.instance(object, &[]);
    let segments: Vec<u64> = [2, 0, 3]
        .into_iter()
        .map(|count| {
            let mut chain = 0;
            for _ in 0..count {
                let values = [("key", Ref(key)), ("value", Ref(key)), ("next", Ref(chain))];
                chain = made.instance(entry, &values);
            }
            let table = made.array(object, &[0, chain, 0]);
            made.instance(
                segment_class,
                &[("count", Int(count)), ("table", Ref(table))],
            )
        })
        .collect();
    let segments = made.array(object, &[&segments[..], &[0]].concat());
    let map = made.instance(class, &[("segments", Ref(segments))]);
    made.root(0xff, map);
    assert_eq!(size(made, map), (Some(5), 5));
}

#[test]
fn properties_up_to_jdk_8_have_the_entries_of_their_table() {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("table", Ref(0)), ("count", Int(0))];
    let table_class = made.class("java.util.Hashtable", object, &fields);
    let class = made.class("java.util.Properties", table_class, &[("defaults", Ref(0))]);
    let table = made.array(object, &[0; 11]);
    let properties = made.instance(class, &[("table", Ref(table)), ("count", Int(54))]);
    made.root(0xff, properties);
    assert_eq!(size(made, properties).0, Some(54));
}

/// A skip list of JDK 8: nodes with marks after those that are being removed.
#[test]
fn a_skip_list_without_a_count_is_counted() {
    let mut made = Made::new();
    let object = made.object();
    let name = "java.util.concurrent.ConcurrentSkipListMap";
    let (_, class) = map_classes(&mut made, name, &[("head", Ref(0))]);
    let fields = [("key", Ref(0)), ("value", Ref(0)), ("next", Ref(0))];
    let node = made.class(&format!("{name}$Node"), object, &fields);
    let index = made.class(&format!("{name}$HeadIndex"), object, &[("node", Ref(0))]);
    let key = made.instance(object, &[]);
    let mut next = 0;
    for _ in 0..3 {
        next = made.instance(
            node,
            &[("key", Ref(key)), ("value", Ref(key)), ("next", Ref(next))],
        );
    }
    // A mark is its own value, and what it follows has none.
    let mark = made.fresh();
    made.put_instance(mark, node, &[("value", Ref(mark)), ("next", Ref(next))]);
    let gone = made.instance(node, &[("key", Ref(key)), ("next", Ref(mark))]);
    let base = made.instance(node, &[("value", Ref(object)), ("next", Ref(gone))]);
    let head = made.instance(index, &[("node", Ref(base))]);
    let map = made.instance(class, &[("head", Ref(head))]);
    made.root(0xff, map);
    assert_eq!(size(made, map), (Some(3), 3));
}

#[test]
fn a_linked_list_in_a_circle_ends_where_it_began() {
    let mut made = Made::new();
    let object = made.object();
    let class = made.class(
        "java.util.LinkedList",
        object,
        &[("header", Ref(0)), ("size", Int(0))],
    );
    let fields = [("element", Ref(0)), ("next", Ref(0))];
    let entry = made.class("java.util.LinkedList$Entry", object, &fields);
    let item = made.instance(object, &[]);
    let header = made.fresh();
    let second = made.instance(entry, &[("element", Ref(item)), ("next", Ref(header))]);
    let first = made.instance(entry, &[("element", Ref(item)), ("next", Ref(second))]);
    made.put_instance(header, entry, &[("next", Ref(first))]);
    let list = made.instance(class, &[("header", Ref(header)), ("size", Int(2))]);
    made.root(0xff, list);
    assert_eq!(size(made, list), (Some(2), 2));
}

#[test]
fn marks_of_what_was_taken_out_of_a_sparse_array_are_no_elements() {
    let mut made = Made::of("JAVA PROFILE 1.0.3", 4);
    let object = made.object();
    let mark = made.instance(object, &[]);
    let fields = [("mKeys", Ref(0)), ("mValues", Ref(0)), ("mSize", Int(0))];
    let class = made.class_with(
        "android.util.SparseArray",
        object,
        &fields,
        &[("DELETED", Ref(mark))],
        24,
    );
    let value = made.instance(object, &[]);
    let values = made.array(object, &[value, mark, value, 0]);
    let keys: Vec<u8> = [1u32, 2, 3, 0]
        .iter()
        .flat_map(|key| key.to_be_bytes())
        .collect();
    let keys = made.primitives(10, 4, &keys);
    let values = [
        ("mKeys", Ref(keys)),
        ("mValues", Ref(values)),
        ("mSize", Int(3)),
    ];
    let array = made.instance(class, &values);
    made.root(0xff, array);
    made.root(0xff, mark);
    assert_eq!(size(made, array).0, Some(2));
}

#[test]
fn chains_in_a_circle_and_wrappers_of_themselves_are_of_unknown_size() {
    let mut made = Made::new();
    let object = made.object();
    let class = made.class(
        "java.util.concurrent.ConcurrentLinkedQueue",
        object,
        &[("head", Ref(0))],
    );
    let fields = [("item", Ref(0)), ("next", Ref(0))];
    let node = made.class(
        "java.util.concurrent.ConcurrentLinkedQueue$Node",
        object,
        &fields,
    );
    let (first, second) = (made.fresh(), made.fresh());
    made.put_instance(first, node, &[("item", Ref(object)), ("next", Ref(second))]);
    made.put_instance(second, node, &[("next", Ref(first))]);
    let queue = made.instance(class, &[("head", Ref(first))]);
    made.root(0xff, queue);
    assert_eq!(size(made, queue).0, None);

    let mut made = Made::new();
    let object = made.object();
    let class = made.class(
        "java.util.Collections$UnmodifiableMap",
        object,
        &[("m", Ref(0))],
    );
    let map = made.fresh();
    made.put_instance(map, class, &[("m", Ref(map))]);
    made.root(0xff, map);
    assert_eq!(size(made, map), (None, 0));
}

#[test]
fn the_size_of_a_set_of_constants_is_that_of_its_bits() {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("elements", Long(0)), ("universe", Ref(0))];
    let class = made.class("java.util.RegularEnumSet", object, &fields);
    let constants: Vec<u64> = (0..5).map(|_| made.instance(object, &[])).collect();
    let universe = made.array(object, &constants);
    let values = [("elements", Long(0b1_0010)), ("universe", Ref(universe))];
    let set = made.instance(class, &values);
    made.root(0xff, set);
    let snapshot = made.open();
    let number = |id| snapshot.graph().number(id).expect("an object");
    assert_eq!(snapshot.collection(number(set)).unwrap().size, Some(2));
    let elements = snapshot.collection_elements(number(set), 10);
    let expected = [1, 4].map(|at| (Value::Object(number(constants[at])), None));
    assert_eq!(elements, expected);
}

#[test]
fn the_name_of_a_constant_that_was_left_out_shows_as_points() {
    let mut made = Made::new();
    let object = made.object();
    let string = made.class("java.lang.String", object, &[("value", Ref(0))]);
    let parent = made.class("java.lang.Enum", object, &[("name", Ref(0))]);
    let class = made.class("app.Colour", parent, &[]);
    let names = ["RED", "\0\0\0", "\u{1b}[m"].map(|text| made.string(string, text));
    let constants = names.map(|name| made.instance(class, &[("name", Ref(name))]));
    let all = made.array(object, &constants);
    made.root(0xff, all);
    let snapshot = made.open();
    let described = constants.map(|id| snapshot.describe(snapshot.graph().number(id).unwrap()));
    assert_eq!(
        described,
        [
            "app.Colour RED",
            "app.Colour \u{b7}\u{b7}\u{b7}",
            "app.Colour \u{b7}[m"
        ]
    );
}
