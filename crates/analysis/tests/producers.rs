//! Records that only some VMs and programs write, in dumps made by hand.

mod common;

use common::made::Made;
use common::made::Put::{Int, Ref};
use hprof_analysis::android::android_facts;
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::leaks::{LeakOptions, leaks};
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::Snapshot;

fn number(snapshot: &Snapshot, id: u64) -> ObjectNumber {
    snapshot.graph().number(id).expect("an object")
}

/// The sums of a file's histogram: objects and bytes.
fn totals(bytes: Vec<u8>) -> (u64, u64) {
    let contents = common::stream(bytes);
    let histogram = histogram(&contents, &contents.dumps[0], Group::Class);
    (histogram.total.objects, histogram.total.shallow_bytes)
}

/// The size of a class loader on a VM whose `java.lang.Class` has a field.
fn loader_size(field_of_class: &str) -> u64 {
    let mut made = Made::bare("JAVA PROFILE 1.0.1", 8);
    let object = made.object();
    made.class("java.lang.Class", object, &[(field_of_class, Ref(0))]);
    let fields = [
        ("parent", Ref(0)),
        ("packages", Ref(0)),
        ("classes", Ref(0)),
    ];
    let class = made.class("java.lang.ClassLoader", object, &fields);
    let loader = made.instance(class, &[]);
    made.root(0xff, loader);
    let snapshot = made.open();
    snapshot.graph().size(number(&snapshot, loader))
}

#[test]
fn loaders_have_had_a_pointer_of_the_vm_since_jdk_8() {
    assert_eq!(loader_size("cachedConstructor"), 24);
    assert_eq!(loader_size("annotationData"), 32);
}

/// A dump of Android with an object of 24 bytes, and that object's identifier.
fn of_android(version: &'static str, id_bytes: usize) -> (Made, u64) {
    let mut made = Made::bare(version, id_bytes);
    let fields = [("shadow$_klass_", Ref(0)), ("shadow$_monitor_", Int(0))];
    let object = made.class_with("java.lang.Object", 0, &fields, &[], 8);
    made.class_with("java.lang.Class", object, &[], &[], 16);
    made.class_with("dalvik.system.VMRuntime", object, &[], &[], 8);
    let fields = [("a", Ref(0)), ("b", Ref(0)), ("c", Int(0)), ("d", Int(0))];
    let class = made.class_with("com.example.App", object, &fields, &[], 24);
    let app = made.instance(class, &[]);
    made.root(0xff, app);
    (made, app)
}

#[test]
fn what_hprof_conv_writes_keeps_the_sizes_of_android() {
    for version in ["JAVA PROFILE 1.0.3", "JAVA PROFILE 1.0.2"] {
        let (made, app) = of_android(version, 4);
        let bytes = made.bytes();
        assert_eq!(totals(bytes.clone()), (1, 24), "{version}");
        let snapshot = common::made::open(&bytes);
        assert!(snapshot.graph().is_android(), "{version}");
        assert_eq!(
            snapshot.graph().size(number(&snapshot, app)),
            24,
            "{version}"
        );
    }
    // On another VM a program may bring such a class along.
    let (made, _) = of_android("JAVA PROFILE 1.0.2", 8);
    assert!(!made.open().graph().is_android());
}

#[test]
fn an_object_that_is_class_and_instance_is_counted_once_with_its_size() {
    let mut made = Made::bare("JAVA PROFILE 1.0.2", 8);
    let object = made.class("java.lang.Object", 0, &[]);
    let fields = [("name", Ref(0)), ("loader", Ref(0)), ("module", Ref(0))];
    let class = made.class("java.lang.Class", object, &fields);
    let app = made.class("com.example.App", object, &[]);
    made.put_instance(app, class, &[]);
    let instance = made.instance(app, &[]);
    made.root(0xff, instance);
    let bytes = made.bytes();
    let snapshot = common::made::open(&bytes);
    let graph = snapshot.graph();
    assert_eq!(graph.len(), 4);
    assert_eq!(
        graph.class_of_object(number(&snapshot, app)),
        graph.classes().by_id(app)
    );
    assert_eq!(graph.size(number(&snapshot, app)), 24);
    let sizes: u64 = graph.objects().map(|object| graph.size(object)).sum();
    assert_eq!(totals(bytes), (2, sizes));
    assert_eq!(sizes, 24 + 16);
}

#[test]
fn only_system_classes_of_android_are_called_so() {
    let words = |version, id_bytes, is_of_boot_loader: bool| {
        let mut made = Made::bare(version, id_bytes);
        let object = made.class("java.lang.Object", 0, &[]);
        let loader_class = made.class("dalvik.system.PathClassLoader", object, &[]);
        let loader = made.instance(loader_class, &[]);
        made.loader = if is_of_boot_loader { 0 } else { loader };
        let class = made.class("com.example.App", object, &[]);
        made.root(0x05, class);
        let snapshot = made.open();
        let class = number(&snapshot, class);
        let root = snapshot.graph().roots_of(class)[0];
        snapshot.root_in_words(&root)
    };
    assert_eq!(words("JAVA PROFILE 1.0.3", 4, true), "system class");
    assert_eq!(
        words("JAVA PROFILE 1.0.3", 4, false),
        "class that the VM keeps"
    );
    assert_eq!(
        words("JAVA PROFILE 1.0.2", 8, true),
        "class of the boot loader"
    );
}

#[test]
fn android_dumps_tell_device_and_program_or_nothing() {
    let (made, _) = of_android("JAVA PROFILE 1.0.3", 4);
    let facts = android_facts(&made.open());
    assert_eq!(facts, Default::default());
    let lines = facts.lines();
    assert!(
        lines.iter().all(|(_, line)| line.contains("unknown")),
        "{lines:?}"
    );

    let (mut made, _) = of_android("JAVA PROFILE 1.0.3", 4);
    let object = made.object();
    let string = made.class_with("java.lang.String", object, &[("value", Ref(0))], &[], 16);
    let text = |made: &mut Made, text: &str| Ref(made.string(string, text));
    let (maker, model) = (text(&mut made, "Acme"), text(&mut made, "One"));
    let statics = [("MANUFACTURER", maker), ("MODEL", model)];
    made.class_with("android.os.Build", object, &[], &statics, 8);
    let release = text(&mut made, "14");
    let statics = [("SDK_INT", Int(34)), ("RELEASE", release)];
    made.class_with("android.os.Build$VERSION", object, &[], &statics, 8);
    let class = made.class("android.app.LoadedApk", object, &[("mPackageName", Ref(0))]);
    let package = text(&mut made, "com.example");
    let loaded = made.instance(class, &[("mPackageName", package)]);
    let fields = [
        ("processName", Ref(0)),
        ("info", Ref(0)),
        ("appInfo", Ref(0)),
    ];
    let class = made.class("android.app.ActivityThread$AppBindData", object, &fields);
    let process = text(&mut made, "com.example:remote");
    let bound = made.instance(class, &[("processName", process), ("info", Ref(loaded))]);
    let thread_class = made.fresh();
    let thread = made.fresh();
    made.describe_class(
        thread_class,
        "android.app.ActivityThread",
        object,
        &[("mBoundApplication", Ref(0))],
        &[("sCurrentActivityThread", Ref(thread))],
        16,
    );
    made.put_instance(thread, thread_class, &[("mBoundApplication", Ref(bound))]);
    let fields = [
        ("packageName", Ref(0)),
        ("versionName", Ref(0)),
        ("versionCode", Int(0)),
    ];
    let class = made.class("android.content.pm.PackageInfo", object, &fields);
    for (name, version, code) in [("com.other", "9", 9), ("com.example", "1.2.3", 45)] {
        let (name, version) = (text(&mut made, name), text(&mut made, version));
        let values = [
            ("packageName", name),
            ("versionName", version),
            ("versionCode", Int(code)),
        ];
        made.instance(class, &values);
    }
    let facts = android_facts(&made.open());
    let lines = facts.lines().map(|(name, line)| format!("{name}: {line}"));
    assert_eq!(
        lines,
        [
            "device: Acme One",
            "Android: 14, SDK 34",
            "process: com.example:remote of com.example, version 1.2.3 (45)",
        ]
    );
}

/// A list whose nodes each hold a little, one of them a good deal and the last one very much: the
/// list is a suspect, and so would be what lies within it.
#[test]
fn shares_of_suspects_add_up_to_no_more_than_all() {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("next", Ref(0)), ("value", Ref(0))];
    let node = made.class("com.example.Node", object, &fields);
    let bytes =
        |made: &mut Made, length: usize| made.primitives(8, length as u32, &vec![1; length]);
    let many: Vec<u64> = (0..300).map(|_| bytes(&mut made, 500)).collect();
    let last = made.array(object, &many);
    let mut next = made.instance(node, &[("value", Ref(last))]);
    // The last node holds many small objects, so it is where the search ends.
    for at in 0..30 {
        let length = if at == 20 { 14_000 } else { 100 };
        let value = bytes(&mut made, length);
        next = made.instance(node, &[("next", Ref(next)), ("value", Ref(value))]);
    }
    let holder = made.class(
        "com.example.Holder",
        object,
        &[("a", Ref(0)), ("b", Ref(0))],
    );
    let small: Vec<u64> = (0..60).map(|_| bytes(&mut made, 900)).collect();
    let small = made.array(object, &small);
    let holder = made.instance(holder, &[("a", Ref(next)), ("b", Ref(small))]);
    made.root(0xff, holder);
    let snapshot = made.open();
    for threshold in [0.02, 0.05, 0.1, 0.3] {
        let options = LeakOptions {
            threshold,
            most: 100,
            least: 0,
            small: 0,
        };
        let found = leaks(&snapshot, options).unwrap();
        let shares: f64 = found.suspects.iter().map(|suspect| suspect.share).sum();
        assert!(shares <= 1.0, "{shares}: {:?}", found.suspects);
        let all: u64 = found
            .suspects
            .iter()
            .map(|suspect| suspect.retained_bytes)
            .sum();
        assert_eq!(all + found.other_bytes, found.live_bytes);
        for suspect in &found.suspects {
            let children: u64 = suspect.children.iter().map(|share| share.bytes).sum();
            let contents: u64 = suspect.contents.iter().map(|share| share.bytes).sum();
            let all = suspect.retained_bytes;
            assert!(
                children <= all && contents <= all,
                "{threshold}: {suspect:?}"
            );
        }
    }
}
