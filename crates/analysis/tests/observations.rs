//! Observations about dumps made by hand.

mod common;

use common::made::Made;
use common::made::Put::{Int, Long, Ref};
use hprof_analysis::direct_buffers::{DirectBuffers, direct_memory};
use hprof_analysis::graph::Follow;
use hprof_analysis::leaks::{LeakOptions, leaks};
use hprof_analysis::observations::{Observation, observations};
use hprof_analysis::paths::{PathSearch, only_soft};
use hprof_analysis::snapshot::Snapshot;

/// The classes of references, and the fields of the first.
struct References {
    soft: u64,
    weak: u64,
}

fn references(made: &mut Made) -> References {
    let object = made.object();
    let fields = ["referent", "queue", "next", "discovered"].map(|name| (name, Ref(0)));
    let reference = made.class("java.lang.ref.Reference", object, &fields);
    References {
        soft: made.class("java.lang.ref.SoftReference", reference, &[]),
        weak: made.class("java.lang.ref.WeakReference", reference, &[]),
    }
}

/// A class whose static fields are roots.
fn statics(made: &mut Made, fields: &[(&str, u64)]) {
    let object = made.object();
    let fields: Vec<_> = fields.iter().map(|&(name, id)| (name, Ref(id))).collect();
    let holder = made.class_with("app.Holder", object, &[], &fields, 0);
    made.root(0x05, holder);
}

fn number(snapshot: &Snapshot, id: u64) -> hprof_analysis::numbers::ObjectNumber {
    snapshot.graph().number(id).expect("an object")
}

#[test]
fn links_of_the_collector_are_no_references_of_the_program() {
    let mut made = Made::new();
    let classes = references(&mut made);
    let data = made.primitives(8, 1000, &[0; 1000]);
    let last = made.instance(classes.soft, &[("referent", Ref(data))]);
    let first = made.instance(classes.weak, &[("discovered", Ref(last))]);
    statics(&mut made, &[("FIRST", first)]);
    let snapshot = made.open();
    let place = |id| snapshot.dominators().place(number(&snapshot, id));
    assert!(place(first).is_some());
    assert!(place(last).is_none() && place(data).is_none());
    // Whatever kinds are followed.
    assert_eq!(snapshot.graph().follow(), &Follow::default());
    let (from, to) = (number(&snapshot, first), number(&snapshot, last));
    assert!(snapshot.is_passed_over(from, to));
}

#[test]
fn only_what_no_other_way_leads_to_is_softly_held() {
    for second in [false, true] {
        let mut made = Made::new();
        let classes = references(&mut made);
        let object = made.object();
        let node = made.class("app.Node", object, &[("next", Ref(0))]);
        let data = made.primitives(8, 100_000, &[0; 100_000]);
        let cache = made.instance(classes.soft, &[("referent", Ref(data))]);
        let other = made.instance(classes.soft, &[("referent", Ref(data))]);
        // A longer way, which is none if its first step leads to nothing.
        let end = made.instance(node, &[("next", Ref(if second { data } else { 0 }))]);
        let middle = made.instance(node, &[("next", Ref(end))]);
        let start = made.instance(node, &[("next", Ref(middle))]);
        statics(&mut made, &[("A", cache), ("B", other), ("C", start)]);
        let snapshot = made.open();
        let objects = [number(&snapshot, data), number(&snapshot, start)];
        let found = only_soft(&snapshot, &PathSearch::new(), &objects).unwrap();
        assert_eq!(found, [!second, false]);
        let leaks = leaks(&snapshot, LeakOptions::default()).unwrap();
        assert_eq!(leaks.suspects[0].finding.is_soft, !second);
        let path = &leaks.suspects[0].path;
        let edge = path.steps.last().unwrap().edge.as_ref().unwrap();
        assert_eq!(edge.to_string(), ".referent (soft)");
        assert_eq!(serde_json::to_value(edge).unwrap()["reference"], "soft");
    }
}

#[test]
fn entries_of_a_bucket_count_once_and_keys_that_others_hold_do_not() {
    let mut made = Made::new();
    let classes = references(&mut made);
    let object = made.object();
    let key_class = made.class("app.Key", object, &[]);
    let value_class = made.class("app.Value", object, &[("key", Ref(0)), ("data", Ref(0))]);
    let entry_fields = [("value", Ref(0)), ("next", Ref(0)), ("hash", Int(0))];
    let entry_class = made.class("java.util.WeakHashMap$Entry", classes.weak, &entry_fields);
    let array_class = made.class("java.util.WeakHashMap$Entry[]", object, &[]);
    let map_class = made.class(
        "java.util.WeakHashMap",
        object,
        &[("table", Ref(0)), ("size", Int(0))],
    );
    let mut keys = Vec::new();
    let mut next = 0;
    for _ in 0..10 {
        let key = made.instance(key_class, &[]);
        let data = made.primitives(8, 1000, &[0; 1000]);
        let value = made.instance(value_class, &[("key", Ref(key)), ("data", Ref(data))]);
        let values = [
            ("referent", Ref(key)),
            ("value", Ref(value)),
            ("next", Ref(next)),
        ];
        next = made.instance(entry_class, &values);
        keys.push(key);
    }
    let table = made.array(array_class, &[next, 0]);
    let map = made.instance(map_class, &[("table", Ref(table)), ("size", Int(10))]);
    statics(&mut made, &[("MAP", map), ("KEY", keys[3])]);
    let snapshot = made.open();
    let found = observations(&snapshot);
    let [Observation::WeakEntriesStay(entries)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(entries.entries, 9);
    let first = number(&snapshot, next);
    assert_eq!(entries.bytes, snapshot.retained(first));
    assert_eq!(entries.held_by.as_deref(), Some("app.Holder.MAP"));
    assert_eq!(entries.way, ["app.Value.key"]);
}

/// The fields of Netty 4.1 that matter: a chunk and each of its buffers refer to the same `ByteBuffer`.
#[test]
fn direct_memory_without_a_cleaner_is_counted_by_pool_and_arena() {
    let mut made = Made::new();
    let object = made.object();
    let fields = [
        ("address", Long(0)),
        ("capacity", Int(0)),
        ("fd", Ref(0)),
        ("att", Ref(0)),
        ("cleaner", Ref(0)),
    ];
    let buffer_class = made.class("java.nio.DirectByteBuffer", object, &fields);
    let allocator_class = made.class("io.netty.buffer.PooledByteBufAllocator", object, &[]);
    let arena_class = made.class(
        "io.netty.buffer.PoolArena$DirectArena",
        object,
        &[("parent", Ref(0))],
    );
    let chunk_class = made.class(
        "io.netty.buffer.PoolChunk",
        object,
        &[("arena", Ref(0)), ("memory", Ref(0))],
    );
    let pooled_class = made.class(
        "io.netty.buffer.PooledUnsafeDirectByteBuf",
        object,
        &[("memory", Ref(0))],
    );
    let own_class = made.class(
        "io.netty.buffer.UnpooledDirectByteBuf",
        object,
        &[("buffer", Ref(0))],
    );
    let array_class = made.class("java.lang.Object[]", object, &[]);
    let allocator = made.instance(allocator_class, &[]);
    let arena = made.instance(arena_class, &[("parent", Ref(allocator))]);
    let mut address = 0x7000_0000;
    let mut buffer = |made: &mut Made, capacity: i32, more: &[(&str, common::made::Put)]| {
        address += 0x1000_0000;
        let values = [
            &[("address", Long(address)), ("capacity", Int(capacity))],
            more,
        ]
        .concat();
        made.instance(buffer_class, &values)
    };
    let mut all = Vec::new();
    for _ in 0..20 {
        let memory = buffer(&mut made, 16 << 20, &[]);
        all.push(made.instance(
            chunk_class,
            &[("arena", Ref(arena)), ("memory", Ref(memory))],
        ));
        all.push(made.instance(pooled_class, &[("memory", Ref(memory))]));
    }
    for _ in 0..5 {
        let memory = buffer(&mut made, 1 << 20, &[]);
        all.push(made.instance(own_class, &[("buffer", Ref(memory))]));
        // A slice has no memory of its own.
        all.push(buffer(&mut made, 1 << 19, &[("att", Ref(memory))]));
    }
    let descriptor = made.instance(object, &[]);
    all.push(buffer(&mut made, 4096, &[("fd", Ref(descriptor))]));
    // The JDK's modules, which the VM maps: a view of a buffer of native code.
    let reader_class = made.class(
        "jdk.internal.jimage.BasicImageReader",
        object,
        &[("memoryMap", Ref(0))],
    );
    let image = buffer(&mut made, 129 << 20, &[]);
    let view = buffer(&mut made, 129 << 20, &[("att", Ref(image))]);
    all.push(made.instance(reader_class, &[("memoryMap", Ref(view))]));
    // Freed, as nothing holds it.
    buffer(&mut made, 77 << 20, &[]);
    let array = made.array(array_class, &all);
    statics(&mut made, &[("BUFFERS", array)]);
    let snapshot = made.open();
    let memory = direct_memory(&snapshot).expect("buffers");
    let of = |buffers, capacity| DirectBuffers { buffers, capacity };
    assert_eq!(memory.buffers, of(25, 340_787_200));
    assert_eq!(memory.without_cleaner, memory.buffers);
    assert_eq!(memory.mapped, of(2, 4096 + (129 << 20)));
    let pool = &memory.holders[0];
    assert_eq!(pool.name, "io.netty.buffer.PooledByteBufAllocator");
    assert_eq!(pool.buffers, of(20, 20 * (16 << 20)));
    assert_eq!(pool.parts[0].name, "io.netty.buffer.PoolArena$DirectArena");
    let chunks = &pool.parts[0].parts[0];
    assert_eq!(
        (chunks.name.as_str(), chunks.buffers),
        ("io.netty.buffer.PoolChunk", pool.buffers)
    );
    let rest = &memory.holders[1];
    assert_eq!(
        (rest.name.as_str(), rest.buffers),
        ("class app.Holder", of(5, 5 << 20))
    );
    let found = observations(&snapshot);
    assert!(
        matches!(&found[..], [Observation::DirectMemory(_)]),
        "{found:?}"
    );
}

/// A frame of a class that is loaded with a serial, as its identifier.
fn frame(made: &mut Made, serial: u32, class: &str, method: &str) -> u64 {
    let (id, class_id) = (made.fresh(), made.fresh());
    let names = [&class.replace('.', "/"), method, "()V", "A.java"]
        .map(|text| made.name(text).to_be_bytes());
    let [class, method, signature, file] = names;
    let load = [
        &serial.to_be_bytes()[..],
        &class_id.to_be_bytes(),
        &[0; 4],
        &class,
    ];
    made.record(2, &load.concat());
    let body = [
        &id.to_be_bytes()[..],
        &method,
        &signature,
        &file,
        &serial.to_be_bytes(),
        &9u32.to_be_bytes(),
    ];
    made.record(4, &body.concat());
    id
}

fn trace(made: &mut Made, serial: u32, thread: u32, frames: &[u64]) {
    let mut body = [serial, thread, frames.len() as u32]
        .map(u32::to_be_bytes)
        .concat();
    frames
        .iter()
        .for_each(|frame| body.extend(frame.to_be_bytes()));
    made.record(5, &body);
}

/// A dump with two threads, whose roots name a trace each, and a kilobyte that nothing holds.
fn two_threads(traces: [u32; 2], top: &str) -> Snapshot {
    let mut made = Made::new();
    let object = made.object();
    let class = made.class("java.lang.Thread", object, &[("name", Ref(0))]);
    let frames = [
        frame(&mut made, 70, top, "<init>"),
        frame(&mut made, 71, "java.util.Arrays", "copyOf"),
        frame(&mut made, 72, "app.Loader", "load"),
    ];
    trace(&mut made, 1, 0, &[]);
    trace(&mut made, 2, 1, &frames[1..]);
    trace(&mut made, 3, 2, &frames);
    for (serial, trace) in (1..).zip(traces) {
        let thread = made.instance(class, &[]);
        made.thread_with(thread, serial, trace);
    }
    made.primitives(8, 1000, &[0; 1000]);
    made.open()
}

#[test]
fn the_thread_that_ran_out_of_memory_is_the_one_with_the_errors_frame() {
    let found = |top| {
        let all = observations(&two_threads([2, 3], top)).into_iter();
        all.filter(|it| !matches!(it, Observation::NotReached(_)))
            .collect::<Vec<_>>()
    };
    let all = found("java.lang.OutOfMemoryError");
    let [Observation::OutOfMemory(error)] = &all[..] else {
        panic!("{all:?}");
    };
    assert_eq!(error.serial, 2);
    assert_eq!(
        error.at.as_deref(),
        Some("java.util.Arrays.copyOf(A.java:9)")
    );
    assert_eq!(error.program.as_deref(), Some("app.Loader.load(A.java:9)"));
    assert!(found("java.lang.StackOverflowError").is_empty());
}

#[test]
fn a_dump_of_the_serviceability_agent_holds_garbage() {
    for (traces, is_of_agent) in [([1, 1], true), ([2, 3], false)] {
        let found = observations(&two_threads(traces, "app.Top"));
        let [Observation::NotReached(found)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(found.is_of_serviceability_agent, is_of_agent);
        assert_eq!(
            (found.objects, found.classes[0].name.as_str()),
            (1, "byte[]")
        );
        assert_eq!(found.bytes, found.classes[0].bytes);
    }
}

#[test]
fn an_old_version_of_a_class_is_nothing_that_is_missing() {
    let mut made = Made::new();
    let object = made.object();
    made.class("app.Lock", object, &[]);
    // Loaded again, without a dump.
    let name = made.name("app/Lock");
    let old = made.fresh();
    let load = [
        1u32.to_be_bytes().to_vec(),
        old.to_be_bytes().to_vec(),
        vec![0; 4],
        name.to_be_bytes().to_vec(),
    ];
    made.record(2, &load.concat());
    made.root(0x05, old);
    let lost = made.fresh();
    made.root(0x05, lost);
    let bytes = made.bytes();
    let snapshot = common::made::open(&bytes);
    let gaps = snapshot.graph().gaps();
    assert_eq!((gaps.undumped_classes, gaps.dangling_roots), (1, 1));
    let contents = common::stream(bytes.clone());
    let all = hprof_analysis::graph::Gaps::of_all(&bytes, &contents);
    let gaps = all[0].as_ref().expect("a dump").0;
    assert_eq!((gaps.undumped_classes, gaps.dangling_roots), (1, 1));
    let shapes = &contents.dumps[0].census.shapes;
    let names = contents
        .names
        .old_versions(|class| shapes.contains_key(&class));
    assert_eq!(names, ["app.Lock"]);
}
