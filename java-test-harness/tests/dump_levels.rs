//! `dumplevel`, `strip` and compressed files: less in a heap dump, and the same figures.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hprof_analysis::input::Input;
use hprof_analysis::snapshot::{OpenOptions, Snapshot};
use java_test_harness::{
    BinaryHeap, BinaryProfile, Content, FrontEnd, Jdk, Run, Running, contains, each_collector,
    each_jdk, each_release,
};

/// The object in which the secrets of the program are.
const HOLDER: &str = "Secrets$Account";

fn secrets(jdk: &'static Jdk, options: &str) -> Running {
    let running = Run::new(jdk).agent(options).class("Secrets").start();
    running.wait_for_line("ready");
    running
}

/// Lets the program end and gives the bytes of its profile, without compression.
fn end(running: Running, file: &str) -> Vec<u8> {
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);
    let mut expected = ["end", file];
    expected.sort_unstable();
    assert_eq!(outcome.files(), expected, "{}", outcome.stderr);
    plain(&outcome.path(file))
}

fn plain(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let input = Input::open(path).unwrap().into_reader();
    { input }.read_to_end(&mut bytes).unwrap();
    bytes
}

fn heap(bytes: &[u8]) -> BinaryHeap {
    let profile = BinaryProfile::parse(bytes).unwrap_or_else(|error| panic!("{error}"));
    assert!(profile.heap().ended);
    profile.heap().clone()
}

/// Each secret as bytes of a binary file, by the place where it is.
fn planted() -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    vec![
        ("a Latin-1 string", text("SECRET-latin-4711")),
        ("a map's key", text("SECRET-key17-4711")),
        ("a property", text("SECRET-property-4711")),
        // Strings are little-endian in memory, and the VM dumps their bytes as they are.
        (
            "a UTF-16 string",
            vec![0x21, 4, 0x15, 4, 0x1a, 4, 0x20, 4, 0x15, 4],
        ),
        ("a char[]", wide("SECRET-chars")),
        ("a byte[]", text("SECRET-bytes-4711")),
        ("a large byte[]", text("SECRET-large.SECRET-large.")),
        ("an int[]", 0x5ec2_e7c3u32.to_be_bytes().to_vec()),
        ("a long[]", 0x0005_ec2e_7d41_c0deu64.to_be_bytes().to_vec()),
        ("an int field", 0x5ec2_e7b2u32.to_be_bytes().to_vec()),
        (
            "an inherited field",
            0x0005_ec2e_7a11_c0deu64.to_be_bytes().to_vec(),
        ),
        ("a double", 0x0405_ec2e_7e51_c0deu64.to_be_bytes().to_vec()),
        (
            "a static long",
            0x0005_ec2e_7f61_c0deu64.to_be_bytes().to_vec(),
        ),
        ("a static int", 0x5ec2_e707u32.to_be_bytes().to_vec()),
    ]
}

/// The places whose secret is in the file.
fn found(bytes: &[u8]) -> Vec<&'static str> {
    let planted = planted().into_iter();
    let finders = planted.filter(|(_, secret)| contains(bytes, secret));
    finders.map(|(place, _)| place).collect()
}

/// Objects, bytes and retained bytes of each class, as the commands find them.
fn figures(path: &Path) -> BTreeMap<String, (u64, u64, Vec<u64>)> {
    let snapshot = Snapshot::open(path, &OpenOptions::default()).unwrap();
    let graph = snapshot.graph();
    let mut figures: BTreeMap<String, (u64, u64, Vec<u64>)> = BTreeMap::new();
    for object in graph.objects() {
        let name = snapshot.class_name(object).to_owned();
        let (count, bytes, retained) = figures.entry(name).or_default();
        *count += 1;
        *bytes += graph.size(object);
        retained.push(snapshot.retained(object));
    }
    for (_, _, retained) in figures.values_mut() {
        retained.sort_unstable();
    }
    figures
}

/// How many entries the program's map is said to have.
fn map_size(path: &Path) -> Option<u64> {
    let snapshot = Snapshot::open(path, &OpenOptions::default()).unwrap();
    let objects = snapshot.graph().objects();
    let maps = objects.filter(|map| snapshot.class_name(*map) == "java.util.HashMap");
    let map = maps.max_by_key(|map| snapshot.retained(*map)).unwrap();
    snapshot.collection(map).unwrap().size
}

/// Writes the bytes of a profile beside the dumps of the VM.
fn kept(folder: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn the_secrets_are_found_where_they_stay() {
    let bytes = end(
        secrets(Jdk::feature_release(17), "heap=dump,format=b"),
        "java.hprof",
    );
    let expected: Vec<_> = planted().into_iter().map(|it| it.0).collect();
    assert_eq!(found(&bytes), expected);
}

/// A dump without values has the figures of the VM's full dump.
#[test]
fn level_1_keeps_all_figures_and_no_value() {
    each_jdk(|jdk| {
        let files = match jdk.feature() {
            17 => &["p.hprof", "p.hprof.zst"][..],
            _ => &["p.hprof.gz"],
        };
        for &file in files {
            let options = format!("heap=dump,format=b,dumplevel=1,doe=n,file={file}");
            let running = secrets(jdk, &options);
            // The first commands make the VM load classes.
            running.jcmd(&["JVMTI.data_dump"]);
            running.wait_until("the first dump", |it| {
                it.stderr().contains("after a garbage")
            });
            let full = running.path("full.hprof");
            for _ in 0..2 {
                let _ = std::fs::remove_file(&full);
                running.jcmd(&["GC.heap_dump", full.to_str().unwrap()]);
            }
            let other = tempfile::tempdir().unwrap();
            let full_bytes = std::fs::read(&full).unwrap();
            std::fs::remove_file(&full).unwrap();
            running.jcmd(&["JVMTI.data_dump"]);
            running.wait_until("the second dump", |it| {
                it.stderr().matches("after a garbage").count() == 2
            });
            let bytes = end(running, file);
            assert_eq!(found(&bytes), Vec::<&str>::new(), "{jdk} {file}");
            let profile = BinaryProfile::parse(&bytes).unwrap();
            let ours = &profile.heaps[1];
            assert!(ours.ended);
            let vm = BinaryProfile::parse_vm_dump(&full_bytes).unwrap();
            let mut more = ours.counts();
            for (class, (count, bytes)) in vm.heap().counts() {
                let own = more.entry(class).or_default();
                *own = (own.0.wrapping_sub(count), own.1.wrapping_sub(bytes));
            }
            more.retain(|_, change| *change != (0, 0));
            // The string that names the file to the VM, and its bytes.
            let counts: Vec<_> = more
                .iter()
                .map(|(name, it)| (name.as_str(), it.0))
                .collect();
            assert_eq!(counts, [("byte[]", 1), ("java.lang.String", 1)], "{jdk}");
            for (id, object) in &ours.objects {
                match &object.content {
                    Content::Primitives(_, bytes) => assert!(bytes.iter().all(|it| *it == 0)),
                    Content::Instance(..) => {
                        let values = ours.fields(*id);
                        let set = |it: &(String, u8, u64)| it.1 != 2 && it.2 != 0;
                        assert!(!values.iter().any(set), "{values:?}");
                    }
                    Content::Objects(..) => {}
                }
            }
            let statics = ours.classes.values().flat_map(|class| &class.statics);
            assert!({ statics }.all(|(_, code, value)| *code == 2 || *value == 0));
            // The first of two dumps is as good for what the program holds.
            let ours = figures(&kept(other.path(), "ours.hprof", &bytes));
            let theirs = figures(&kept(other.path(), "full.hprof", &full_bytes));
            for class in [
                HOLDER,
                "Secrets$Config",
                "java.util.HashMap",
                "int[]",
                "char[]",
            ] {
                assert_eq!(ours.get(class), theirs.get(class), "{class} {jdk} {file}");
            }
            assert_eq!(ours[HOLDER].0, 1000);
            assert_eq!(map_size(&other.path().join("ours.hprof")), None, "{jdk}");
            assert_eq!(
                map_size(&other.path().join("full.hprof")),
                Some(1000),
                "{jdk}"
            );
        }
    });
}

#[test]
fn each_strip_leaves_what_it_names() {
    let jdk = Jdk::feature_release(21);
    let stays = |strip: &str| {
        let options = format!("heap=dump,format=b,strip={strip}");
        let bytes = end(secrets(jdk, &options), "java.hprof");
        let port = 0x0c0f_1680u32.to_be_bytes();
        let heap = heap(&bytes);
        let config = heap.fields(heap.static_field("Secrets", "config"));
        let is_there = config
            .iter()
            .any(|it| it.2 == u64::from(u32::from_be_bytes(port)));
        (found(&bytes), is_there)
    };
    let fields = [
        "an int field",
        "an inherited field",
        "a double",
        "a static long",
        "a static int",
    ];
    assert_eq!(stays("arrays"), (fields.to_vec(), true));
    assert_eq!(stays("values"), (vec![], false));
    assert_eq!(stays("all-but=Secrets$Config"), (vec![], true));
    let some = stays("all-but=Secrets$Account.pin:Secrets.static*:int[]:Secrets$Base.inherited");
    let expected = [
        "an int[]",
        "an int field",
        "an inherited field",
        "a static long",
        "a static int",
    ];
    assert_eq!(some, (expected.to_vec(), false));
}

/// Level 0: each object with its class and size, and no reference.
#[test]
fn level_0_has_objects_and_types_only() {
    each_collector(|jdk, collector| {
        let dump = |options: &str| {
            let run = Run::new(jdk).jvm_args(collector.arguments()).agent(options);
            let running = run.class("Secrets").start();
            running.wait_for_line("ready");
            end(running, "java.hprof")
        };
        let bytes = dump("heap=dump,format=b,dumplevel=0");
        assert_eq!(found(&bytes), Vec::<&str>::new());
        let objects = heap(&bytes);
        for object in objects.objects.values() {
            let is_empty = match &object.content {
                Content::Instance(_, values) => values.iter().all(|it| *it == 0),
                Content::Objects(_, elements) => elements.iter().all(|it| *it == 0),
                Content::Primitives(_, bytes) => bytes.iter().all(|it| *it == 0),
            };
            assert!(is_empty);
        }
        let mut statics = objects.classes.values().flat_map(|class| &class.statics);
        assert!(statics.all(|(_, _, value)| *value == 0));
        assert!(!objects.roots.is_empty());
        let counts = objects.counts();
        let full = heap(&dump("heap=dump,format=b")).counts();
        for class in [HOLDER, "Secrets$Config", "Secrets", "long[]", "char[]"] {
            assert_eq!(counts.get(class), full.get(class), "{class} {jdk}");
        }
    });
}

/// A small dump is read, and blanked, where the VM wrote it, and then copied.
#[test]
fn threads_have_their_names_in_a_small_dump_without_values() {
    each_release(|jdk| {
        for level in [0, 1, 2] {
            let options = format!("heap=dump,format=b,dumplevel={level}");
            let bytes = end(secrets(jdk, &options), "java.hprof");
            let profile = BinaryProfile::parse(&bytes).unwrap();
            let threads: Vec<_> = profile
                .heap()
                .roots
                .iter()
                .filter(|root| root.tag == 8)
                .map(|root| profile.threads[&root.thread.unwrap()].as_str())
                .collect();
            for name in ["Reference Handler", "Finalizer", "Signal Dispatcher"] {
                let count = threads.iter().filter(|it| **it == name).count();
                assert_eq!(count, 1, "{name} in {threads:?}, level {level} {jdk}");
            }
            let all = profile.threads.values();
            let unknown = all.filter(|name| name.starts_with('('));
            assert_eq!(unknown.count(), 0, "{:?}", profile.threads);
        }
    });
}

#[test]
fn allocation_sites_come_with_a_stripped_dump() {
    each_jdk(|jdk| {
        let options = "heap=all,dumplevel=1,file=all.hprof.gz";
        let bytes = end(secrets(jdk, options), "all.hprof.gz");
        assert_eq!(found(&bytes), Vec::<&str>::new());
        let heap = heap(&bytes);
        let accounts = heap.instances(HOLDER);
        assert_eq!(accounts.len(), 1000);
        let is_located = |id: &u64| heap.objects[id].trace > 1;
        assert!(accounts.iter().filter(|id| is_located(id)).count() > 990);
    });
}

/// The disk does not hold the zeros of large arrays.
#[test]
fn a_plain_file_has_holes_where_arrays_were() {
    let running = secrets(Jdk::feature_release(17), "heap=dump,format=b,strip=arrays");
    std::fs::write(running.path("end"), "").unwrap();
    let outcome = running.finish().expect_status(0);
    let file = std::fs::metadata(outcome.path("java.hprof")).unwrap();
    // The array of three mebibytes.
    assert!(file.blocks() * 512 + (2 << 20) < file.len(), "{file:?}");
    let heap = heap(&outcome.bytes("java.hprof"));
    let large = &heap.objects[&heap.static_field("Secrets", "large")].content;
    assert_eq!(*large, Content::Primitives(8, vec![0; 3 << 20]));
}

#[test]
fn a_front_end_gets_no_values_either() {
    let front_end = FrontEnd::new();
    let options = format!("heap=dump,format=b,dumplevel=1,{}", front_end.option());
    let running = secrets(Jdk::feature_release(17), &options);
    let peer = front_end.accept();
    std::fs::write(running.path("end"), "").unwrap();
    running.finish().expect_status(0);
    let bytes = peer.finish();
    assert_eq!(found(&bytes), Vec::<&str>::new());
    assert_eq!(heap(&bytes).instances(HOLDER).len(), 1000);
}
