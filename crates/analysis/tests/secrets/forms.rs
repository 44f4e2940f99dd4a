//! `--for` and `--bitmaps`: copies that other readers take, with the objects and references of the original.

use std::io::Read;

use hprof_analysis::input::Input;
use hprof_analysis::snapshot::Snapshot;
use hprof_analysis::strip::{Form, StripError, StripPlan, StripPolicy};
use hprof_format::binary::{Record, SubRecord};
use hprof_format::reader::{Reader, Version};

use crate::common::made::Put::{Int, Ref};
use crate::common::made::{Made, open};
use crate::heaps::{Spot, heap};
use crate::{copy, heap_count, place, proof};

const ALL: [Form; 4] = [Form::Mat, Form::Shark, Form::Koom, Form::NoData];

fn of(form: Form) -> StripPolicy<'static> {
    StripPolicy {
        empties_fields: true,
        form,
        ..StripPolicy::default()
    }
}

/// A file as this tool reads it, with zeros for what KOOM leaves out.
fn read(file: &[u8]) -> Vec<u8> {
    let stored = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(stored.path(), file).expect("written");
    let mut bytes = Vec::new();
    let input = Input::open(stored.path()).expect("a dump");
    input.into_reader().read_to_end(&mut bytes).expect("read");
    bytes
}

/// The contents of a file besides Android's roots and heaps, with zeros for elements that are left out.
fn objects(file: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for record in Reader::new(file).expect("a header") {
        match record.expect("sound").record {
            Record::HeapDump(subs) | Record::HeapDumpSegment(subs) => {
                for sub in subs {
                    match sub.expect("sound") {
                        SubRecord::HeapInfo { .. } | SubRecord::Unreachable { .. } => {}
                        SubRecord::Root(root) => found.push(format!("root {:?}", root.object)),
                        SubRecord::PrimitiveArrayNoData {
                            array,
                            element,
                            length,
                            ..
                        } => found.push(format!("{array:?} {element:?} {length}")),
                        SubRecord::PrimitiveArray {
                            array,
                            element,
                            values,
                            ..
                        } => {
                            let width = element.width(hprof_format::binary::IdSize::Four);
                            let length = values.len() / width;
                            found.push(format!("{array:?} {element:?} {length}"));
                        }
                        other => found.push(format!("{other:?}")),
                    }
                }
            }
            other => found.push(format!("{other:?}")),
        }
    }
    found
}

/// The seeds of heaps of Android.
fn android() -> impl Iterator<Item = (u64, crate::heaps::Heap)> {
    let heaps = (0..heap_count()).map(|seed| (seed, heap(seed)));
    heaps.filter(|(_, heap)| heap.file.starts_with(b"JAVA PROFILE 1.0.3"))
}

#[test]
fn copies_for_other_readers_have_the_objects_and_no_secret() {
    for (seed, heap) in android() {
        let plain = copy(&heap.file, of(Form::Same));
        for form in ALL {
            let shaped = copy(&heap.file, of(form));
            for secret in &heap.secrets {
                let stays = secret.spot == Spot::ClassName;
                let is_there = place(&shaped, &secret.bytes).is_some();
                assert_eq!(is_there, stays, "seed {seed}, {form:?}: {:?}", secret.spot);
            }
            let read = read(&shaped);
            assert_eq!(objects(&read), objects(&plain), "seed {seed}, {form:?}");
            let (found, runs) = proof(&heap.file, &read, &of(form));
            assert!(found.is_clean(), "seed {seed}, {form:?}: {runs:#?}");
            match form {
                Form::Koom => assert!(read == plain && shaped.len() < plain.len()),
                Form::NoData => assert!(shaped.len() < plain.len()),
                _ => assert_eq!(shaped.len(), plain.len()),
            }
        }
    }
}

#[test]
fn an_array_without_elements_that_claims_more_than_a_phone_holds_is_refused() {
    let mut file = copy(&phone().bytes(), of(Form::NoData));
    // The count of the array, before the type `int`.
    let count = place(&file, &[0, 0, 0, 4, 10]).expect("an array");
    file[count] = 0x7f;
    for (form, is_taken) in [(Form::Mat, false), (Form::Shark, false), (Form::Same, true)] {
        let plan = StripPlan::of(|| Ok(&*file), of(form)).expect("a plan");
        assert_eq!(
            plan.copy(&*file, std::io::sink()).is_ok(),
            is_taken,
            "{form:?}"
        );
    }
}

/// A dump of Android with its roots and heaps, and an array without elements.
fn phone() -> Made {
    let mut made = Made::of("JAVA PROFILE 1.0.3", 4);
    made.heap_of(b'A', "app");
    let array = made.primitives(10, 4, &[0x11; 16]);
    for tag in [0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x90, 0x05] {
        made.root(tag, array);
    }
    made.heap_of(b'Z', "zygote");
    made
}

#[test]
fn a_copy_for_mat_has_no_records_of_android() {
    let file = phone().bytes();
    let copy = copy(&file, of(Form::Mat));
    let reader = Reader::new(&copy).expect("a header");
    assert_eq!(reader.header().version, Version::V1_0_2);
    let mut roots = Vec::new();
    for record in reader {
        if let Record::HeapDumpSegment(subs) = record.expect("sound").record {
            for sub in subs {
                match sub.expect("sound") {
                    SubRecord::HeapInfo { .. } | SubRecord::Unreachable { .. } => {
                        panic!("a record of Android")
                    }
                    SubRecord::Root(root) => roots.push(format!("{:?}", root.kind)),
                    _ => {}
                }
            }
        }
    }
    assert_eq!(
        roots,
        [
            "Unknown",
            "Unknown",
            "Unknown",
            "Unknown",
            "Unknown",
            "StickyClass"
        ]
    );
}

#[test]
fn elements_that_are_left_out_are_zeros_for_readers_that_know_no_such_record() {
    let without = copy(&phone().bytes(), of(Form::NoData));
    assert!(place(&without, &[0, 0, 0, 4, 10, 0xfe]).is_none());
    for form in [Form::Mat, Form::Shark] {
        let copy = copy(&without, of(form));
        let expected = [&[0, 0, 0, 4, 10][..], &[0; 16]].concat();
        assert!(place(&copy, &expected).is_some(), "{form:?}");
        assert_eq!(objects(&read(&copy)), objects(&read(&without)), "{form:?}");
    }
}

#[test]
fn forms_of_android_are_for_its_dumps_only() {
    let file = Made::new().bytes();
    for form in [Form::Koom, Form::NoData] {
        let refused = StripPlan::of(|| Ok(&*file), of(form)).expect_err("refused");
        assert!(matches!(refused, StripError::NotAndroid));
    }
    for form in [Form::Mat, Form::Shark] {
        assert!(copy(&file, of(form)) == copy(&file, of(Form::Same)));
    }
}

struct Pictures {
    file: Vec<u8>,
    buffers: [u64; 6],
    bitmaps: [u64; 6],
}

/// Bitmaps: three with equal pixels, one of whose buffers an object refers to as well; one with others, two with
/// pixels that are all zero.
fn pictures() -> Pictures {
    let mut made = Made::of("JAVA PROFILE 1.0.3", 4);
    let object = made.object();
    let fields = [("mWidth", Int(0)), ("mBuffer", Ref(0)), ("mHeight", Int(0))];
    let bitmap = made.class("android.graphics.Bitmap", object, &fields);
    let holder = made.class("com.example.Holder", object, &[("pixels", Ref(0))]);
    let pixels =
        |fill: u8| -> Vec<u8> { (0..400u32).map(|at| fill.wrapping_mul(at as u8)).collect() };
    let buffers = [3, 3, 3, 5, 0, 0].map(|fill| made.primitives(8, 400, &pixels(fill)));
    let bitmaps = buffers.map(|buffer| {
        let size = Int(10);
        let values = [
            ("mWidth", size),
            ("mHeight", size),
            ("mBuffer", Ref(buffer)),
        ];
        let bitmap = made.instance(bitmap, &values);
        made.root(0xff, bitmap);
        bitmap
    });
    let holder = made.instance(holder, &[("pixels", Ref(buffers[2]))]);
    made.root(0xff, holder);
    let file = made.bytes();
    Pictures {
        file,
        buffers,
        bitmaps,
    }
}

/// The buffers of bitmaps, by identifier.
fn buffers(snapshot: &Snapshot, bitmaps: [u64; 6]) -> [u64; 6] {
    let graph = snapshot.graph();
    bitmaps.map(|bitmap| {
        let bitmap = graph.number(bitmap).expect("a bitmap");
        let buffer = snapshot.field_object(bitmap, "mBuffer").expect("a buffer");
        graph.id(buffer)
    })
}

#[test]
fn bitmaps_with_equal_pixels_share_a_buffer() {
    let Pictures {
        file,
        buffers: of,
        bitmaps,
    } = pictures();
    let keeps = |_: &str, field: &str| field == "mBuffer";
    let policy = StripPolicy {
        keeps: Some(&keeps),
        shares_bitmaps: true,
        ..StripPolicy::default()
    };
    let plan = StripPlan::of(|| Ok(&*file), policy).expect("a plan");
    let mut copy = Vec::new();
    plan.copy(&*file, &mut copy).expect("a copy");
    let shared = plan.bitmaps().expect("looked for");
    assert_eq!((shared.count(), shared.saved()), (1, 400));
    // The head of an array has 14 bytes.
    assert_eq!(copy.len(), file.len() - 414);
    let (before, after) = (open(&file), open(&copy));
    assert_eq!(buffers(&before, bitmaps), of);
    assert_eq!(
        buffers(&after, bitmaps),
        [of[0], of[0], of[2], of[3], of[4], of[5]]
    );
    let is_there = |buffer: u64| after.graph().number(buffer).is_some();
    assert_eq!(of.map(is_there), [true, false, true, true, true, true]);
    assert!(proof(&file, &copy, &policy).0.is_clean());
    // Without rules the pixels go, and the buffers are shared all the same.
    let policy = StripPolicy {
        shares_bitmaps: true,
        ..StripPolicy::default()
    };
    let blank = crate::copy(&file, policy);
    assert_eq!(buffers(&open(&blank), bitmaps), buffers(&after, bitmaps));
    assert!(place(&blank, &[3, 6, 9, 12, 15, 18, 21, 24]).is_none());
}
