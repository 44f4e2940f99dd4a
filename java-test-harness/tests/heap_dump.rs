//! heap=dump: every object, in both formats, with the figures of the VM's own dumper.

use std::collections::{BTreeMap, BTreeSet};

use java_test_harness::{
    BinaryHeap, BinaryProfile, Content, HeapRoot, Jdk, Run, Running, Signal, each_collector,
    each_jdk,
};

/// A running Shapes, quiet.
fn shapes(jdk: &'static Jdk, options: &str) -> Running {
    let running = Run::new(jdk).agent(options).class("Shapes").start();
    running.wait_for_line("ready");
    running
}

fn end(running: Running) -> java_test_harness::Outcome {
    std::fs::write(running.path("end"), "").unwrap();
    running.finish().expect_status(0)
}

/// The VM's own dump of a running program.
fn vm_dump(running: &Running, name: &str) -> BinaryProfile {
    let path = running.path(name);
    running.jcmd(&["GC.heap_dump", path.to_str().unwrap()]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    BinaryProfile::parse_vm_dump(&bytes).unwrap()
}

fn assert_shapes(heap: &BinaryHeap) {
    let kid = heap.static_field("Shapes", "kid");
    let fields: Vec<_> = heap.fields(kid);
    let value = |name: &str| fields.iter().find(|(it, _, _)| it == name).unwrap().2;
    let names: Vec<&str> = fields.iter().map(|(name, _, _)| name.as_str()).collect();
    let position = |name: &str| names.iter().position(|it| *it == name).unwrap();
    // Own fields come before inherited ones.
    assert!(position("third") < position("other"));
    assert_eq!(
        (value("number"), value("small"), value("letter")),
        (1, 3, 0x78)
    );
    assert_eq!(value("wide") as i64, -2);
    assert_eq!(value("yes"), 1);
    assert_eq!(f64::from_bits(value("real")), 4.5);
    assert_eq!(value("shortNumber") as u16 as i16, -2);
    assert_eq!(f32::from_bits(value("halfReal") as u32), 1.5);
    let (kid_class, class) = heap.class_named("Shapes$Kid");
    assert_eq!(heap.objects[&kid].content, {
        let Content::Instance(_, values) = &heap.objects[&kid].content else {
            panic!()
        };
        assert_eq!(values.len(), class.instance_size as usize);
        Content::Instance(kid_class, values.clone())
    });
    assert_eq!(heap.name(class.super_class), "Shapes$Base");

    let array = |name: &str| &heap.objects[&heap.static_field("Shapes", name)].content;
    let Content::Objects(class, elements) = array("mixed") else {
        panic!()
    };
    assert_eq!(
        (heap.name(*class).as_str(), elements.len()),
        ("java.lang.Object[]", 10)
    );
    assert_eq!(elements[2], kid);
    assert_eq!(elements.iter().filter(|id| **id == 0).count(), 8);
    let Content::Objects(_, elements) = array("nothing") else {
        panic!()
    };
    assert_eq!(elements, &[0; 5]);
    let Content::Objects(class, elements) = array("nested") else {
        panic!()
    };
    assert_eq!((heap.name(*class).as_str(), elements.len()), ("int[][]", 3));
    let Content::Objects(_, elements) = array("many") else {
        panic!()
    };
    assert_eq!(
        (elements.len(), elements[149_998]),
        (150_000, heap.static_field("Shapes", "mixed"))
    );
    let Content::Primitives(8, bytes) = array("large") else {
        panic!()
    };
    assert_eq!(bytes.len(), 800_000);
    assert!(
        bytes
            .iter()
            .enumerate()
            .all(|(index, byte)| *byte == index as u8)
    );
    let Content::Objects(_, elements) = array("primitives") else {
        panic!()
    };
    let found: Vec<(u8, Vec<u8>)> = elements
        .iter()
        .map(|id| match &heap.objects[id].content {
            Content::Primitives(element, bytes) => (*element, bytes.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found[0], (4, vec![1, 0]));
    assert_eq!(found[1], (5, vec![0, 0x61, 0xff, 0xff]));
    assert_eq!(found[3].1[..8], (-0.0f64).to_be_bytes());
    assert_eq!(found[6], (10, i32::MIN.to_be_bytes().to_vec()));
    assert_eq!(found[7], (11, i64::MAX.to_be_bytes().to_vec()));
    assert_eq!(found[8], (8, vec![]));

    assert_eq!(heap.static_field("Shapes", "none"), 0);
    assert_eq!(heap.static_field("Shapes", "count"), 42);
    assert_eq!(heap.instances("Shapes$Node").len(), 5001);
}

/// The dump made on request is the one that the VM makes at the same time.
#[test]
fn the_figures_are_those_of_the_vm() {
    each_jdk(|jdk| {
        let running = shapes(jdk, "heap=dump,format=b,doe=n");
        // The first command of all makes the VM load classes.
        running.jcmd(&["JVMTI.data_dump"]);
        running.wait_until("the first dump", |it| {
            it.stderr().contains("after a garbage")
        });
        let before = vm_dump(&running, "before.hprof");
        running.jcmd(&["JVMTI.data_dump"]);
        running.wait_until("the second dump", |it| {
            it.stderr().matches("after a garbage").count() == 2
        });
        let after = vm_dump(&running, "after.hprof");
        let outcome = end(running);
        assert_eq!(outcome.files(), ["end", "java.hprof"]);
        let profile = outcome.binary_profile("java.hprof");
        assert_eq!(profile.heaps.len(), 2);
        assert!(profile.heaps.iter().all(|heap| heap.ended));
        let ours = &profile.heaps[1];
        assert_shapes(ours);
        let (before, after) = (before.heap().counts(), after.heap().counts());
        assert_eq!(before, after, "the program is not quiet");
        // The string that names the file to the VM, and its bytes.
        let mut more = difference(&before, &ours.counts());
        for class in ["java.lang.String", "byte[]"] {
            let objects = more.remove(class).map(|(objects, _)| objects);
            assert_eq!(objects, Some(1), "{class}");
        }
        assert_eq!(more, BTreeMap::new());
    });
}

fn difference(
    from: &BTreeMap<String, (u64, u64)>,
    to: &BTreeMap<String, (u64, u64)>,
) -> BTreeMap<String, (i64, i64)> {
    let names = from.keys().chain(to.keys());
    let all = names.map(|name| {
        let get = |map: &BTreeMap<String, (u64, u64)>| map.get(name).copied().unwrap_or_default();
        let (old, new) = (get(from), get(to));
        let change = (new.0 as i64 - old.0 as i64, new.1 as i64 - old.1 as i64);
        (name.clone(), change)
    });
    all.filter(|(_, change)| *change != (0, 0)).collect()
}

/// At the exit, whatever the collector.
#[test]
fn every_reference_of_a_binary_dump_resolves() {
    each_collector(|jdk, collector| {
        let run = Run::new(jdk).jvm_args(collector.arguments());
        let run = run.agent("heap=dump,format=b,file=dump").class("Shapes");
        let running = run.start();
        running.wait_for_line("ready");
        let outcome = end(running);
        assert_eq!(outcome.files(), ["dump", "end"]);
        let profile = outcome.binary_profile("dump");
        let heap = profile.heap();
        assert!(heap.ended);
        assert_shapes_without_locals(heap);
        assert_resolved(&heap.dangling());
        assert!(heap.objects.values().all(|object| object.trace == 300_000));
        // Some readers want the segments to follow each other.
        let breaks = heap.segments.windows(2).filter(|it| it[0].1 != it[1].0);
        assert_eq!(breaks.count(), 0);
        assert_roots(&profile, heap);
    });
}

/// Every reference is to an object of the dump, but those in one array of the VM: it holds the class
/// objects of the VM's archive, also of classes that were not loaded, and HotSpot's dumper leaves
/// these out.
fn assert_resolved(dangling: &[(u64, u64)]) {
    let holders: BTreeSet<u64> = dangling.iter().map(|(holder, _)| *holder).collect();
    assert!(holders.len() <= 1 && !holders.contains(&0), "{dangling:x?}");
}

fn assert_shapes_without_locals(heap: &BinaryHeap) {
    let (node, _) = heap.class_named("Shapes$Node");
    assert!(heap.instances("Shapes$Node").len() >= 5000);
    let chain = heap.static_field("Shapes", "chain");
    assert!(matches!(&heap.objects[&chain].content, Content::Instance(class, _) if *class == node));
}

/// Thread roots are the threads that the profile told of, with their stacks; frame roots are in them.
fn assert_roots(profile: &BinaryProfile, heap: &BinaryHeap) {
    let mut depths = BTreeMap::new();
    let mut names = Vec::new();
    for root in heap.roots.iter().filter(|root| root.tag == 0x08) {
        let (thread, trace) = (root.thread.unwrap(), root.place.unwrap());
        depths.insert(thread, profile.traces[&trace].frames.len());
        names.push(profile.threads[&thread].as_str());
        assert!(heap.objects.contains_key(&root.object));
    }
    for name in ["Reference Handler", "Finalizer", "HPROF profile thread"] {
        assert_eq!(
            names.iter().filter(|it| **it == name).count(),
            1,
            "{name} in {names:?}"
        );
    }
    let unseen = names.iter().filter(|it| it.starts_with('('));
    assert_eq!(unseen.count(), 0, "{names:?}");
    for root in heap.roots.iter().filter(|root| matches!(root.tag, 2 | 3)) {
        let depth = depths[&root.thread.unwrap()];
        let frame = root.place.unwrap();
        assert!(
            frame == u32::MAX || (frame as usize) < depth,
            "{root:?} of {depth}"
        );
    }
    for (tag, least) in [(0x01, 5), (0x03, 5), (0x05, 300)] {
        let found = heap.roots.iter().filter(|root| root.tag == tag).count();
        assert!(found >= least, "{found} roots of kind {tag}");
    }
}

/// The stack of a running program, with its locals.
#[test]
fn locals_are_roots_in_their_frames() {
    each_jdk(|jdk| {
        let running = shapes(jdk, "heap=dump,format=b,doe=n");
        running.signal(Signal::Quit);
        running.wait_until("the dump", |it| it.stderr().contains("after a garbage"));
        let outcome = end(running);
        let profile = outcome.binary_profile("java.hprof");
        let heap = profile.heap();
        assert_shapes(heap);
        let (main, _) = profile
            .threads
            .iter()
            .find(|(_, name)| *name == "main")
            .unwrap();
        let thread = heap
            .roots
            .iter()
            .find(|root| root.tag == 8 && root.thread == Some(*main));
        let frames = &profile.traces[&thread.unwrap().place.unwrap()].frames;
        let of_main = frames
            .iter()
            .position(|id| profile.frames[id].method == "Shapes.main");
        let of_main = of_main.unwrap() as u32;
        let nodes = heap.instances("Shapes$Node");
        let is_local = |root: &&HeapRoot| {
            root.tag == 3 && root.thread == Some(*main) && root.place == Some(of_main)
        };
        let mut locals = heap.roots.iter().filter(is_local);
        assert!(
            locals.any(|root| nodes.contains(&root.object)),
            "the local is no root"
        );
        assert!(profile.frames[&frames[of_main as usize]].line > 0);
    });
}

/// The text tells the same objects as the binary dump, with the sizes of the VM.
#[test]
fn text_has_the_same_objects_and_the_sizes_of_the_vm() {
    each_jdk(|jdk| {
        let running = shapes(jdk, "heap=dump,doe=n");
        running.jcmd(&["JVMTI.data_dump"]);
        running.wait_until("the dump", |it| it.stderr().contains("after a garbage"));
        let vm = vm_dump(&running, "vm.hprof");
        let histogram = running.jcmd(&["GC.class_histogram"]);
        let outcome = end(running);
        let profile = outcome.profile();
        let heap = profile.heap();
        assert_eq!(heap.objects, heap.entries.len() as u64);
        assert_eq!(
            heap.bytes,
            heap.entries.values().map(|it| it.size).sum::<u64>()
        );
        assert_resolved(&heap.dangling());
        for (name, (objects, _)) in vm.heap().counts() {
            // The first command of jcmd makes a few objects of its own, and a thread.
            if name.starts_with("Shapes") || name.starts_with("java.util.HashMap") {
                assert_eq!(heap.counts()[&name].0, objects, "{name}");
            }
        }
        let sizes = heap.counts();
        let mut compared = 0;
        for line in histogram.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, objects, bytes, name, ..] = words.as_slice() else {
                continue;
            };
            let Some((ours, our_bytes)) = sizes.get(*name) else {
                continue;
            };
            // Class objects have no size in a dump.
            if *name != "java.lang.Class" && objects.parse() == Ok(*ours) {
                assert_eq!(bytes.parse(), Ok(*our_bytes), "{name}");
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared} classes compared");
        let kid = heap
            .entries
            .values()
            .find(|it| it.class == "Shapes$Kid")
            .unwrap();
        let names: Vec<&str> = kid
            .references
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert!(
            names.contains(&"aVeryLongFieldName") && names.contains(&"eightchr"),
            "{names:?}"
        );
        let mixed = heap
            .classes
            .values()
            .find(|it| it.name == "Shapes")
            .unwrap();
        let mixed = mixed
            .references
            .iter()
            .find(|(name, _)| name == "static mixed")
            .unwrap();
        let mixed = &heap.entries[&mixed.1];
        assert_eq!(mixed.elements, Some(10));
        let indexes: Vec<&str> = mixed
            .references
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(indexes, ["[2]", "[5]"]);
    });
}

#[test]
fn contents_can_be_left_out() {
    let running = shapes(
        Jdk::feature_release(17),
        "heap=dump,format=b,primfields=n,primarrays=n",
    );
    let outcome = end(running);
    let profile = outcome.binary_profile("java.hprof");
    let heap = profile.heap();
    let fields = heap.fields(heap.static_field("Shapes", "kid"));
    let (references, primitives): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|(_, code, _)| *code == 2);
    assert!(primitives.iter().all(|(_, _, value)| *value == 0));
    assert_eq!(primitives.len(), 8);
    assert_eq!(
        references
            .iter()
            .filter(|(_, _, value)| *value != 0)
            .count(),
        2
    );
    let arrays = heap.objects.values().filter_map(|it| match &it.content {
        Content::Primitives(_, bytes) => Some(bytes.len()),
        _ => None,
    });
    assert_eq!(arrays.sum::<usize>(), 0);
    assert_resolved(&heap.dangling());
}

#[test]
fn samples_and_the_heap_are_in_one_file() {
    each_jdk(|jdk| {
        for format in ["a", "b"] {
            let options = format!("cpu=samples,interval=1,heap=dump,file=out,format={format}");
            let run = Run::new(jdk).agent(&options).class("Spin").args(["0.5"]);
            let outcome = run.run().expect_status(0);
            let message = "Dumping Java heap ... CPU usage by sampling running threads ... done.\n";
            assert!(outcome.stderr.starts_with(message), "{}", outcome.stderr);
            if format == "a" {
                let profile = outcome.text_profile("out");
                assert!(profile.samples_with("Spin.hot") > 30);
                assert_resolved(&profile.heap().dangling());
            } else {
                let profile = outcome.binary_profile("out");
                assert!(profile.samples_with("Spin.hot") > 30);
                assert_resolved(&profile.heap().dangling());
            }
        }
    });
}

#[test]
fn verbose_n_is_silent() {
    let running = shapes(Jdk::feature_release(17), "heap=dump,verbose=n");
    assert_eq!(end(running).stderr, "");
}

/// A thread that the end of the VM stops before its THREAD START record is sent has another row, not a dangling serial.
#[test]
fn threads_that_start_during_the_end_are_written() {
    each_jdk(|jdk| {
        let agent = "heap=dump,format=b,thread=y";
        for _ in 0..4 {
            let outcome = Run::new(jdk).agent(agent).class("StartsAtExit").run();
            let profile = outcome.expect_status(0).binary_profile("java.hprof");
            assert_resolved(&profile.heap().dangling());
        }
    });
}

#[test]
fn monitors_that_are_held_and_threads_are_roots() {
    each_collector(|jdk, collector| {
        let dump = |options: &str| {
            Run::new(jdk)
                .jvm_args(collector.arguments())
                .agent(options)
                .class("HeldMonitors")
                .run()
                .expect_status(0)
        };
        let outcome = dump("heap=dump,format=b");
        let profile = outcome.binary_profile("java.hprof");
        let heap = profile.heap();
        let of_kind = |tag: u8| {
            let roots = heap.roots.iter().filter(move |root| root.tag == tag);
            roots.map(|root| (root.object, root.thread))
        };
        // Before JDK 16 the VM has to be asked at its start, at the price of slower code.
        let expected: BTreeSet<u64> = match jdk.feature() {
            ..16 => BTreeSet::new(),
            _ => heap.instances("HeldMonitors$Owned"),
        };
        let used: BTreeSet<u64> = of_kind(7).map(|(object, _)| object).collect();
        let owned: BTreeSet<u64> = used
            .intersection(&heap.instances("HeldMonitors$Owned"))
            .copied()
            .collect();
        assert_eq!(owned, expected);
        assert!(
            used.iter()
                .all(|it| heap.objects.contains_key(it) || heap.classes.contains_key(it))
        );
        let threads: Vec<_> = of_kind(8).collect();
        assert_eq!(of_kind(6).collect::<Vec<_>>(), threads);
        assert!(threads.len() >= 5);

        let text = dump("heap=all").profile();
        let busy = |(object, kind): &&(u64, String)| {
            let class = text.heap().entries.get(object).map(|it| &*it.class);
            kind.starts_with("busy monitor>") && class == Some("HeldMonitors$Owned")
        };
        assert_eq!(
            text.heap().roots.iter().filter(busy).count(),
            expected.len()
        );
    });
}
