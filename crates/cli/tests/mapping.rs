//! `--mapping`: a program that R8 has shortened is shown with its own names by each command.

#[path = "../../analysis/tests/common/made.rs"]
mod made;
mod support;

use std::fs;

use made::Made;
use made::Put::{Bool, Ref};
use support::{Scene, data, run, stderr, stdout};

const MAPPING: &str = "\
com.example.Screen -> a.b:
    com.example.Cache cache -> c
com.example.Cache -> a.c:
    java.lang.Object entries -> d
androidx.fragment.app.Fragment -> a.d:
    androidx.fragment.app.FragmentManager mFragmentManager -> a
    boolean mCalled -> b
com.example.Page -> a.e:
com.example.Spinner -> Spin:
    4:4:long com.example.Clock.now():70 -> hot
    4:4:void spend():31 -> hot
";

/// A dump with a fragment of AndroidX that has lost its manager, which a cache of the program keeps, all with
/// short names; and the object that holds the cache.
fn program() -> (Vec<u8>, String) {
    let mut made = Made::bare("JAVA PROFILE 1.0.3", 4);
    let object = made.class_with("java.lang.Object", 0, &[], &[], 8);
    made.class_with("java.lang.Class", object, &[], &[], 16);
    let fields = [("a", Ref(0)), ("b", Bool(false))];
    let fragment = made.class_with("a.d", object, &fields, &[], 24);
    let page = made.class_with("a.e", fragment, &[], &[], 24);
    let page = made.instance(page, &[("b", Bool(true))]);
    let cache = made.class_with("a.c", object, &[("d", Ref(0))], &[], 16);
    let cache = made.instance(cache, &[("d", Ref(page))]);
    let array = made.class_with("a.c[]", object, &[], &[], 0);
    let caches = made.array(array, &[cache]);
    let screen = made.class_with("a.b", object, &[("c", Ref(0))], &[], 16);
    let screen = made.instance(screen, &[("c", Ref(caches))]);
    made.root(0xff, screen);
    (made.bytes(), format!("{screen:#x}"))
}

fn scene() -> Scene {
    let scene = Scene::new();
    fs::write(scene.path("short.hprof"), program().0).expect("a file");
    fs::write(scene.path("mapping.txt"), MAPPING).expect("a file");
    scene
}

#[test]
fn every_command_shows_the_names_of_the_program() {
    let scene = scene();
    let screen = &*program().1;
    for (arguments, name) in [
        (&["summary"][..], "com.example.Cache"),
        (&["histogram"], "com.example.Cache[]"),
        (&["histogram", "--by", "package"], "com.example"),
        (&["top"], "com.example.Cache[]"),
        (&["leaks"], "com.example.Page"),
        (&["report", "--md"], "com.example.Cache"),
        (&["android"], ".entries"),
        (&["paths", "com.example.Page"], "com.example.Cache"),
        (&["dominators"], "com.example.Screen"),
        (&["retained"], "com.example.Screen"),
        (&["object", screen], "cache"),
        (&["references", screen], ".cache"),
        (&["query", "SELECT class FROM objects"], "com.example.Page"),
        (&["convert", "--to", "csv"], "com.example.Cache"),
    ] {
        let mut all = arguments.to_vec();
        all.insert(1, "short.hprof");
        let shown = |more: &[&str]| {
            let output = run(&mut scene.hprof_rs(&[&all, more].concat()), "");
            let text = stdout(&output);
            assert!(output.status.success(), "{all:?}: {}", stderr(&output));
            text
        };
        let text = shown(&["--mapping", "mapping.txt"]);
        assert!(text.contains(name), "{all:?}: {text}");
        for short in ["a.b", "a.c", "a.d", "a.e"] {
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '.'));
            assert_eq!(
                words.filter(|word| *word == short).count(),
                0,
                "{all:?}: {text}"
            );
        }
    }
}

/// The class of AndroidX has a short name too, and so have its fields.
#[test]
fn a_leak_is_found_by_the_original_names() {
    let scene = scene();
    let android = |more: &[&str]| {
        let arguments = [&["android", "--json", "short.hprof"], more].concat();
        let output = run(&mut scene.hprof_rs(&arguments), "");
        let found: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        found["leaks"].clone()
    };
    assert_eq!(android(&[]), serde_json::json!([]));
    let found = android(&["--mapping", "mapping.txt"]);
    let marks = found[0]["marks"].as_array().expect("marks");
    assert_eq!(
        marks.last().expect("a mark")["reason"],
        "Fragment.mFragmentManager is null and mCalled is true"
    );
    // Fields that are left out go by their original names as well.
    let without = [
        "--mapping",
        "mapping.txt",
        "--without-field",
        "com.example.Cache.entries",
    ];
    assert_eq!(android(&without), serde_json::json!([]));
}

#[test]
fn differences_have_original_names_of_both_builds() {
    let scene = scene();
    let other = MAPPING.replace("com.example.Cache -> a.c:", "com.example.Store -> a.c:");
    fs::write(scene.path("other.txt"), other).expect("a file");
    let files = ["diff", "short.hprof", "short.hprof"];
    let diff = |more: &[&str]| {
        let output = run(&mut scene.hprof_rs(&[&files[..], more].concat()), "");
        stdout(&output)
    };
    let one = diff(&["--mapping", "mapping.txt"]);
    assert!(!one.contains("com.example.Cache"), "{one}");
    let two = diff(&["--mapping", "mapping.txt", "--mapping-after", "other.txt"]);
    let both = ["com.example.Cache", "com.example.Store"];
    assert!(both.iter().all(|name| two.contains(name)), "{two}");
}

#[test]
fn profiles_have_original_names_of_methods() {
    let scene = scene();
    let text = data("cpu-samples.txt");
    let arguments = ["samples", &text, "--mapping", "mapping.txt"];
    let output = run(&mut scene.hprof_rs(&arguments), "");
    let text = stdout(&output);
    // One was inlined into the other, which now has no time of its own.
    assert!(text.contains("com.example.Clock.now"), "{text}");
    assert!(text.contains("com.example.Spinner.spend"), "{text}");
    assert!(!text.contains(" Spin.hot"), "{text}");
    let wrong = [
        "samples",
        &data("cpu-samples.txt"),
        "--mapping",
        "short.hprof",
    ];
    let refused = run(&mut scene.hprof_rs(&wrong), "");
    assert!(!refused.status.success());
    assert!(
        stderr(&refused).contains("mapping.txt of R8 or ProGuard"),
        "{}",
        stderr(&refused)
    );
}
