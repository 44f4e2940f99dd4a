//! An Android program's dump in the forms that phones send: each command works on it, with the figures of
//! the whole dump or a sentence that says what is missing.

#[path = "../../analysis/tests/common/made.rs"]
mod made;
mod support;

use std::fs;
use std::process::Output;

use made::Made;
use made::Put::{Bool, Int, Ref};
use serde_json::Value;
use support::phones::{arrays_of_numbers, hprof_conv, koom, matrix};
use support::{Scene, run, shared, stderr, stdout};

const FIXTURE: &str = "hprof-android.bin";

fn fixture() -> Option<Vec<u8>> {
    Some(fs::read(shared(FIXTURE)?).expect("a file"))
}

/// A program with a destroyed activity, three bitmaps, two of them with equal pixels, and a table of
/// numbers; its objects are in the heaps of image, zygote and program.
fn program() -> Vec<u8> {
    let mut made = Made::bare("JAVA PROFILE 1.0.3", 4);
    let object = made.class_with("java.lang.Object", 0, &[], &[], 8);
    made.class_with("java.lang.Class", object, &[], &[], 16);
    made.heap(b'I', "image");
    let string = made.class_with("java.lang.String", object, &[("value", Ref(0))], &[], 16);
    made.heap(b'Z', "zygote");
    let name = made.string(string, "a name of the system");
    made.root(0x89, name);
    made.heap(b'A', "app");
    let fields = [("mBuffer", Ref(0)), ("mWidth", Int(0)), ("mHeight", Int(0))];
    let bitmap = made.class_with("android.graphics.Bitmap", object, &fields, &[], 24);
    let fields = [
        ("mDestroyed", Bool(false)),
        ("mPictures", Ref(0)),
        ("mTable", Ref(0)),
    ];
    let activity = made.class_with("android.app.Activity", object, &fields, &[], 24);
    let picture = |made: &mut Made, fill: u8, side: i32| {
        let length = (4 * side * side) as u32;
        let buffer = made.primitives(8, length, &vec![fill; length as usize]);
        let values = [
            ("mBuffer", Ref(buffer)),
            ("mWidth", Int(side)),
            ("mHeight", Int(side)),
        ];
        made.instance(bitmap, &values)
    };
    let pictures = [
        picture(&mut made, 1, 100),
        picture(&mut made, 2, 10),
        picture(&mut made, 2, 10),
    ];
    let bitmaps = made.class_with("android.graphics.Bitmap[]", object, &[], &[], 0);
    let pictures = made.array(bitmaps, &pictures);
    let table = made.primitives(10, 250, &[7; 1000]);
    let values = [
        ("mDestroyed", Bool(true)),
        ("mPictures", Ref(pictures)),
        ("mTable", Ref(table)),
    ];
    let leak = made.instance(activity, &values);
    made.root(0x8d, leak);
    made.bytes()
}

/// A file in a scene of its own.
struct Sent {
    scene: Scene,
}

impl Sent {
    fn new(bytes: &[u8]) -> Self {
        let scene = Scene::new();
        fs::write(scene.path("phone.hprof"), bytes).expect("a file");
        Self { scene }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut arguments = arguments.to_vec();
        arguments.insert(1, "phone.hprof");
        run(&mut self.scene.hprof_rs(&arguments), "")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        let text = stdout(&output);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{arguments:?}: {}", stderr(&output)))
    }

    /// All that a command prints.
    fn said(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        stdout(&output) + &stderr(&output)
    }
}

/// The leaks of a dump: signature, class, what they retain, and the estimate of missing pixels.
fn leaks(sent: &Sent) -> Vec<(String, String, u64, u64)> {
    let found = sent.json(&["android"]);
    let leaks = found["leaks"].as_array().expect("leaks").iter();
    let leaks = leaks.map(|leak| {
        let steps = leak["path"]["steps"].as_array().expect("steps");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        (
            text(&leak["signature"]),
            text(&steps.last().expect("a step")["description"]),
            leak["retained_bytes"].as_u64().expect("bytes"),
            leak["missing_pixel_bytes"].as_u64().expect("bytes"),
        )
    });
    let mut leaks: Vec<_> = leaks.collect();
    leaks.sort();
    leaks
}

/// The rows of a histogram that are no primitive arrays.
fn objects(sent: &Sent) -> Vec<Value> {
    let found = sent.json(&["histogram", "--top", "0"]);
    let rows = found["histogram"]["rows"].as_array().expect("rows").iter();
    let primitive = |name: &str| !name.contains('.') && name.ends_with("[]");
    let rows = rows.filter(|row| !primitive(row["name"].as_str().expect("a name")));
    let mut rows: Vec<Value> = rows.cloned().collect();
    rows.sort_by_key(|row| row["name"].as_str().map(str::to_owned));
    rows
}

const MATRIX: &str = "as Matrix leaves out primitive arrays but texts: what holds them retains more \
                      than is shown";

#[test]
fn a_shrunk_program_leaks_the_same_and_says_what_is_missing() {
    let (whole, shrunk) = (Sent::new(&program()), Sent::new(&matrix(&program())));
    let (wanted, found) = (leaks(&whole), leaks(&shrunk));
    assert_eq!((wanted.len(), found.len()), (1, 1));
    // The buffer of 40,000 bytes and the table of 1,000 are gone with their heads, and of two equal
    // buffers of 400 bytes one is.
    assert_eq!(wanted[0].0, found[0].0);
    assert_eq!(wanted[0].1, "android.app.Activity");
    assert_eq!((wanted[0].3, found[0].3), (0, 40_000));
    assert_eq!(wanted[0].2 - found[0].2, 40_016 + 1_016 + 416);
    assert_eq!(objects(&whole), objects(&shrunk));
    let checked = shrunk.run(&["check"]);
    assert_eq!(checked.status.code(), Some(1));
    let sentence = format!("2 references lead to 2 objects that the file lacks, {MATRIX}");
    assert!(stdout(&checked).contains(&sentence), "{}", stdout(&checked));
    let text = shrunk.said(&["android"]);
    for part in [
        &*sentence,
        "and pixels that the file lacks: an estimated 40.0 kB",
        "40.0 kB of it is an estimate by width and height",
        "100 x 100, about 40.0 kB",
        "10 x 10, 400 B, 2 times with one buffer",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = whole.said(&["android"]);
    for part in ["10 x 10, 400 B, 2 times\n", "400 B of it in equal ones"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("at least"), "{text}");
}

#[test]
fn the_heaps_of_a_program_are_shown_by_name_until_they_are_not_known() {
    let whole = Sent::new(&program());
    let heaps = "Objects by heap: app 9, image 0, zygote 2\n";
    let heaps = heaps.replace("image 0, ", "");
    assert!(whole.said(&["android"]).contains(&heaps));
    assert!(whole.said(&["summary"]).contains("2 zygote, 9 app"));
    let converted = Sent::new(&hprof_conv(&program(), false));
    let text = converted.said(&["android"]);
    assert!(text.contains("Objects by heap: not known"), "{text}");
    assert_eq!(leaks(&converted), leaks(&whole));
    assert_eq!(objects(&converted), objects(&whole));
    // What only the program's heap has.
    let app = Sent::new(&koom(&program(), true));
    let checked = app.run(&["check"]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(
        stdout(&checked).contains("1 root is an object that the file lacks"),
        "{}",
        stdout(&checked)
    );
    assert_eq!(leaks(&app), leaks(&whole));
}

#[test]
fn a_shrunk_dump_of_a_real_program_leaks_the_same() {
    let Some(file) = fixture() else { return };
    let shrunk = matrix(&file);
    assert!(arrays_of_numbers(&file) > 2_000 && arrays_of_numbers(&shrunk) == 0);
    let (whole, shrunk) = (Sent::new(&file), Sent::new(&shrunk));
    let (wanted, found) = (leaks(&whole), leaks(&shrunk));
    assert_eq!(wanted.len(), 2);
    for (wanted, found) in wanted.iter().zip(&found) {
        assert_eq!((&wanted.0, &wanted.1), (&found.0, &found.1));
        // The estimate makes up for the bitmap's buffer; other arrays have no known size.
        let known = found.2 + found.3;
        assert!(wanted.2 >= known, "{wanted:?} {found:?}");
        assert!(wanted.2 - known < wanted.2 / 10, "{wanted:?} {found:?}");
    }
    assert_eq!(found.iter().map(|leak| leak.3).max(), Some(160_000));
    assert_eq!(objects(&whole), objects(&shrunk));
    let sentence = format!("3,794 references lead to 3,545 objects that the file lacks, {MATRIX}");
    let checked = stdout(&shrunk.run(&["check"]));
    assert!(checked.contains(&sentence), "{checked}");
    let report = shrunk.json(&["report"]);
    assert_eq!(report["notes"][0], Value::from(sentence.clone()));
    assert!(shrunk.said(&["report", "--md"]).contains(&sentence));
}

#[test]
fn converted_dumps_of_a_real_program_are_as_the_whole_one() {
    let Some(file) = fixture() else { return };
    let whole = Sent::new(&file);
    let converted = Sent::new(&hprof_conv(&file, false));
    assert_eq!(leaks(&converted), leaks(&whole));
    assert_eq!(objects(&converted), objects(&whole));
    assert!(converted.run(&["check"]).status.success());
    let facts = |sent: &Sent| sent.json(&["android"])["android"].clone();
    assert_eq!(facts(&converted), facts(&whole));
    // `-z` and KOOM's hook leave out what all programs of a phone share.
    for (bytes, reason) in [
        (hprof_conv(&file, true), ""),
        (
            koom(&file, true),
            ", as a tool has left out the zygote and image heaps",
        ),
    ] {
        let app = Sent::new(&bytes);
        let sentence = format!(
            "6,748 references lead to 5,640 objects that the file lacks{reason}: what holds them retains \
             more than is shown"
        );
        let checked = stdout(&app.run(&["check"]));
        assert!(checked.contains(&sentence), "{checked}");
        let classes = |sent: &Sent| leaks(sent).into_iter().map(|leak| (leak.0, leak.1, leak.2));
        assert!(classes(&app).eq(classes(&whole)));
    }
}

/// The commands that read heap dumps, each with what it needs.
const COMMANDS: &[&[&str]] = &[
    &["summary"],
    &["histogram"],
    &["top"],
    &["strings"],
    &["threads"],
    &["report", "--md"],
    &["leaks"],
    &["collections"],
    &["duplicates"],
    &["finalizers"],
    &["classloaders"],
    &["android"],
    &["paths", "android.graphics.Bitmap"],
    &["dominators"],
    &["retained"],
    &["query", "SELECT count(*) FROM objects"],
];

#[test]
fn every_command_works_on_every_form_and_says_what_is_missing() {
    let Some(file) = fixture() else { return };
    for (bytes, sentences) in [
        (hprof_conv(&file, false), &[][..]),
        (
            matrix(&file),
            &["as Matrix leaves out", "as Matrix shrinks dumps"][..],
        ),
        (koom(&file, true), &["KOOM has left the elements"]),
        (koom(&file, false), &["KOOM has left the elements"]),
    ] {
        let sent = Sent::new(&bytes);
        for command in COMMANDS {
            let said = sent.said(command);
            let is_told = sentences.iter().any(|sentence| said.contains(sentence));
            assert!(is_told || sentences.is_empty(), "{command:?}: {said}");
        }
    }
}

/// The facts about objects on a path come from the program.
#[test]
fn labels_do_not_command_a_terminal() {
    let mut made = Made::bare("JAVA PROFILE 1.0.3", 4);
    let object = made.class_with("java.lang.Object", 0, &[], &[], 8);
    made.class_with("java.lang.Class", object, &[], &[], 16);
    let string = made.class_with("java.lang.String", object, &[("value", Ref(0))], &[], 16);
    let fields = [
        ("mTag", Ref(0)),
        ("mFragmentManager", Ref(0)),
        ("mCalled", Bool(false)),
    ];
    let class = made.class_with("android.app.Fragment", object, &fields, &[], 24);
    let tag = made.string(string, "a\u{1b}[2Jtag");
    let leak = made.instance(class, &[("mTag", Ref(tag)), ("mCalled", Bool(true))]);
    made.root(0xff, leak);
    let sent = Sent::new(&made.bytes());
    for command in [
        &["android"][..],
        &["android", "--json"],
        &["leaks"],
        &["report", "--json"],
    ] {
        let text = stdout(&sent.run(command));
        assert!(text.contains("[2Jtag"), "{command:?}: {text}");
        assert!(!text.contains('\u{1b}'), "{command:?}: {text}");
    }
}
