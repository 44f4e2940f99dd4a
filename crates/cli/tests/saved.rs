//! A stream that `listen` saves equals the file that a run writes.
//!
//! Both are read by the parsers of the test harness, which share no code with the product.

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use java_test_harness::{BinaryProfile, Content, Jdk, Run, TextProfile, each_jdk};
use support::listener::Listener;
use support::{Scene, run, stdout};

const PART: &str = "Determined$Part";

/// Runs the program with these options, once with a file and once with a front-end that listens.
/// Returns what came out of both.
fn both(scene: &Scene, jdk: &'static Jdk, options: &str) -> [Vec<u8>; 2] {
    let library = run(&mut scene.hprof_rs(&["agent-path"]), "");
    let library = stdout(&library);
    let agent = |more: &str| {
        let argument = format!("-agentpath:{}={options},{more}", library.trim());
        Run::new(jdk).jvm_arg(argument).class("Determined")
    };
    let written = agent("file=own.hprof").run().expect_status(0);
    let script = Some("wait agents 1 100; wait end 100; quit");
    let mut listener = Listener::start(scene, script);
    let net = format!("net={}", listener.address);
    let sent = agent(&net).run().expect_status(0);
    assert_eq!(written.stdout, sent.stdout);
    assert!(sent.files().is_empty(), "{:?}", sent.files());
    let event = listener.ended(1);
    assert_eq!(event["complete"], true, "{event}");
    let saved: PathBuf = scene.path("").join(event["file"].as_str().expect("a file"));
    assert_eq!(listener.finish(), Some(0));
    [
        written.bytes("own.hprof"),
        std::fs::read(saved).expect("the saved file"),
    ]
}

/// Parses both, and asserts that they say the same.
fn compare<P, F: PartialEq + std::fmt::Debug>(
    bytes: [Vec<u8>; 2],
    parse: impl Fn(&[u8]) -> P,
    facts: impl Fn(&P) -> F,
) -> F {
    let [written, saved] = bytes.map(|bytes| facts(&parse(&bytes)));
    assert_eq!(written, saved);
    saved
}

fn text(bytes: &[u8]) -> TextProfile {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    TextProfile::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn binary(bytes: &[u8]) -> BinaryProfile {
    BinaryProfile::parse(bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// Figures by class or method and stack, sorted: the order of equals is free.
type Table = Vec<(String, Vec<String>, Vec<u64>)>;

/// Returns true if the program's own code allocated it, and not that of the VM on the way.
fn is_own(frames: &[String]) -> bool {
    frames
        .first()
        .is_some_and(|frame| frame.starts_with("Determined"))
}

/// Kinds of records in order, each once in a row.
fn kinds(bytes: &[u8]) -> Vec<u8> {
    let mut rest = &bytes[19 + 4 + 8..];
    let mut kinds = Vec::new();
    while let [kind, _, _, _, _, a, b, c, d, ..] = *rest {
        rest = &rest[9 + u32::from_be_bytes([a, b, c, d]) as usize..];
        // Names come when they are needed first, which depends on the rest of the VM.
        if matches!(kind, 0x06 | 0x0c | 0x0d | 0x0e | 0x1c | 0x2c) && kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn text_sites(profile: &TextProfile) -> Table {
    let rows = profile.sites().rows.iter().map(|row| {
        let frames = profile.traces[&row.trace].frames.clone();
        let figures = vec![
            row.live_bytes,
            row.live_objects,
            row.allocated_bytes,
            row.allocated_objects,
        ];
        (row.class.clone(), frames, figures)
    });
    let mut rows: Table = rows.filter(|row| is_own(&row.1)).collect();
    rows.sort();
    rows
}

fn frames(profile: &BinaryProfile, trace: u32) -> Vec<String> {
    let frames = profile.traces[&trace].frames.iter();
    frames
        .map(|frame| {
            let frame = &profile.frames[frame];
            format!(
                "{}{} {:?}:{}",
                frame.method, frame.signature, frame.source, frame.line
            )
        })
        .collect()
}

fn binary_sites(profile: &BinaryProfile) -> Table {
    let table = profile.site_tables.last().expect("a table");
    let rows = table.iter().map(|row| {
        let figures = [
            row.live_bytes,
            row.live_objects,
            row.allocated_bytes,
            row.allocated_objects,
        ];
        (
            row.class.clone(),
            frames(profile, row.trace),
            figures.map(u64::from).to_vec(),
        )
    });
    let mut rows: Table = rows.filter(|row| is_own(&row.1)).collect();
    rows.sort();
    rows
}

fn part_figures(table: &Table) -> Vec<u64> {
    let parts = table.iter().filter(|row| row.0 == PART);
    let mut sums = vec![0; 4];
    for (_, _, figures) in parts {
        sums.iter_mut()
            .zip(figures)
            .for_each(|(sum, it)| *sum += it);
    }
    sums
}

#[test]
fn sites_are_the_same() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let bytes = both(&scene, jdk, "heap=sites,depth=8,cutoff=0");
        let table = compare(bytes, text, text_sites);
        let figures = part_figures(&table);
        assert_eq!((figures[1], figures[3]), (500, 700));
        let scene = Scene::new();
        let bytes = both(&scene, jdk, "heap=sites,depth=8,cutoff=0,format=b");
        assert_eq!(kinds(&bytes[0]), kinds(&bytes[1]));
        let table = compare(bytes, binary, binary_sites);
        let figures = part_figures(&table);
        assert_eq!((figures[1], figures[3]), (500, 700));
    });
}

/// Names, sizes and references of the parts by the class of what they refer to; the program's class.
fn text_heap(profile: &TextProfile) -> BTreeMap<(u64, Vec<String>), u64> {
    let heap = profile.heap();
    let class_of = |id: &u64| {
        let object = heap.entries.get(id);
        object.map_or_else(
            || heap.classes.get(id).map_or("?", |it| it.name.as_str()),
            |object| object.class.as_str(),
        )
    };
    let named = |references: &[(String, u64)]| -> Vec<String> {
        let named = references.iter();
        named
            .map(|(name, id)| format!("{name} {}", class_of(id)))
            .collect()
    };
    let mut facts = BTreeMap::new();
    for object in heap.entries.values().filter(|object| object.class == PART) {
        let key = (object.size, named(&object.references));
        *facts.entry(key).or_default() += 1;
    }
    for class in heap.classes.values() {
        if class.name.starts_with("Determined") {
            let mut references = vec![class.name.clone()];
            // Entries of the constant pool are there when they have been resolved.
            let statics = class.references.iter();
            let statics = statics.filter(|it| !it.0.starts_with("constant")).cloned();
            references.extend(named(&statics.collect::<Vec<_>>()));
            *facts.entry((0, references)).or_default() += 1;
        }
    }
    facts
}

/// All values of the parts and of the program's static fields; of references the class, and of
/// strings and arrays the length.
fn binary_heap(profile: &BinaryProfile) -> BTreeMap<u64, Vec<String>> {
    let heap = profile.heap();
    let told = |code: u8, value: u64| match (code, value, heap.objects.get(&value)) {
        (2, 0, _) => "null".to_owned(),
        (2, _, Some(object)) => match &object.content {
            Content::Instance(class, values) => format!("{} {}", heap.name(*class), values.len()),
            Content::Objects(class, elements) => {
                format!("{} {}", heap.name(*class), elements.len())
            }
            Content::Primitives(element, bytes) => format!("{element} {bytes:?}"),
        },
        (2, ..) => heap.name(value),
        _ => value.to_string(),
    };
    let mut facts = BTreeMap::new();
    for part in heap.instances(PART) {
        let fields = heap.fields(part);
        let number = fields.iter().find(|field| field.0 == "number");
        let values = fields.iter();
        let values = values.map(|(name, code, value)| format!("{name}={}", told(*code, *value)));
        facts.insert(number.expect("a number").2, values.collect());
    }
    let (_, class) = heap.class_named("Determined");
    let statics = class.statics.iter();
    let statics = statics.map(|(name, code, value)| format!("{name}={}", told(*code, *value)));
    let mut statics: Vec<String> = statics.collect();
    statics.push(format!("{:?}", heap.class_named(PART).1.fields));
    facts.insert(u64::MAX, statics);
    facts
}

#[test]
fn heap_dumps_are_the_same() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        let facts = compare(both(&scene, jdk, "heap=dump"), text, text_heap);
        let parts = facts.iter().filter(|((size, _), _)| *size > 0);
        assert_eq!(parts.map(|(_, count)| count).sum::<u64>(), 500);
        let scene = Scene::new();
        let bytes = both(&scene, jdk, "heap=dump,format=b");
        assert_eq!(kinds(&bytes[0]), kinds(&bytes[1]));
        let facts = compare(bytes, binary, binary_heap);
        assert_eq!(facts.len(), 501);
        assert!(facts[&6].contains(&"twice=12".to_owned()), "{facts:?}");
    });
}

#[test]
fn calls_are_the_same() {
    each_jdk(|jdk| {
        let scene = Scene::new();
        // Times differ from run to run, calls do not.
        let bytes = both(&scene, jdk, "cpu=times,depth=5,cutoff=0");
        let calls = compare(bytes, text, |profile| {
            let table = profile.times.last().expect("a table");
            let rows = table.rows.iter().map(|row| {
                let frames = profile.traces[&row.trace].frames.clone();
                (row.method.clone(), frames, vec![row.count])
            });
            let mut rows: Table = rows.filter(|row| row.0.starts_with("Determined")).collect();
            rows.sort();
            rows
        });
        let of = |method: &str| -> u64 {
            let rows = calls.iter().filter(|row| row.0 == method);
            rows.map(|row| row.2[0]).sum()
        };
        assert_eq!(of("Determined.leaf"), 2000);
        assert_eq!(of("Determined.fibonacci"), 21_891);
    });
}
