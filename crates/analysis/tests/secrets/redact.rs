//! `--redact`: what detectors find goes, wherever else it is, and all else stays.

use hprof_analysis::strip::{Detectors, SecretKind, StripPlan, StripPolicy};

use crate::common::made::Made;
use crate::common::made::Put::{Byte, Int, Long, Ref};
use crate::heaps::{Numbers, Spot, heap};
use crate::{heap_count, place, proof};

/// The forms that a text has in dumps.
fn forms(text: &str) -> [Vec<u8>; 3] {
    let units = || text.encode_utf16();
    [
        text.as_bytes().to_vec(),
        units().flat_map(u16::to_le_bytes).collect(),
        units().flat_map(u16::to_be_bytes).collect(),
    ]
}

/// A secret that a detector knows by its form.
fn secret(numbers: &mut Numbers) -> (SecretKind, String) {
    let mut letters = |count: usize| {
        let mut text = String::new();
        while text.len() < count {
            text += &numbers.text();
        }
        text.truncate(count);
        text
    };
    match letters(1).as_bytes()[0] % 6 {
        0 => (
            SecretKind::Jwt,
            format!("eyJ{}.{}.{}", letters(17), letters(30), letters(20)),
        ),
        1 => (
            SecretKind::AwsKey,
            format!("AKIA{}", letters(16).to_ascii_uppercase()),
        ),
        2 => (
            SecretKind::Email,
            format!("{}@{}.example", letters(3), letters(4)),
        ),
        3 => (SecretKind::Card, card(numbers)),
        4 => (SecretKind::Token, format!("ghp_{}", letters(36))),
        _ => (
            SecretKind::Pattern,
            format!("KD-{:06}", numbers.below(1_000_000)),
        ),
    }
}

/// Sixteen digits of which the last one is the check digit.
fn card(numbers: &mut Numbers) -> String {
    let digits = format!("4{:014}", numbers.below(100_000_000_000_000));
    let doubled = |(at, digit): (usize, u32)| match at % 2 {
        0 => digit * 2 / 10 + digit * 2 % 10,
        _ => digit,
    };
    let values = digits.chars().rev().filter_map(|it| it.to_digit(10));
    let sum: u32 = values.enumerate().map(doubled).sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

struct Planted {
    file: Vec<u8>,
    secrets: Vec<(SecretKind, String)>,
    kept: Vec<Vec<u8>>,
}

/// A dump with secrets in texts of every form, and beside other texts.
fn planted(seed: u64) -> Planted {
    let mut numbers = Numbers::new(seed + 1_000_000);
    let mut made = match numbers.below(2) {
        0 => Made::of("JAVA PROFILE 1.0.3", 4),
        _ => Made::new(),
    };
    let object = made.object();
    let fields = [("value", Ref(0)), ("coder", Byte(0))];
    let string = made.class("java.lang.String", object, &fields);
    let (mut secrets, mut kept) = (Vec::new(), Vec::new());
    let mut plant = |made: &mut Made, numbers: &mut Numbers, text: &str| {
        // It is text of either width, in a string or in a buffer, or outside of the heap.
        let around = format!("<{}> {text} <{}>", numbers.text(), numbers.text());
        let [latin, little, big] = forms(&around);
        let (first, last) = around.split_once(text).expect("both sides");
        let form = numbers.below(5);
        kept.extend([first, last].map(|rest| match form {
            0 | 3 | 4 => forms(rest)[0].clone(),
            1 => forms(rest)[1].clone(),
            _ => forms(rest)[2].clone(),
        }));
        let value = match form {
            0 => made.primitives(8, latin.len() as u32, &latin),
            1 => made.primitives(8, little.len() as u32, &little),
            2 => made.primitives(5, big.len() as u32 / 2, &big),
            3 => {
                made.name(&around);
                return;
            }
            _ => return made.start_thread(1, object, &around),
        };
        if numbers.below(2) == 0 {
            let coder = Byte(i8::from(form == 1));
            made.instance(string, &[("value", Ref(value)), ("coder", coder)]);
        }
    };
    for _ in 0..6 {
        let (kind, text) = secret(&mut numbers);
        plant(&mut made, &mut numbers, &text);
        secrets.push((kind, text));
    }
    // The value of a property has no form: it is found by its name, and then elsewhere.
    let fields = [
        ("hash", Int(0)),
        ("key", Ref(0)),
        ("value", Ref(0)),
        ("next", Ref(0)),
    ];
    let node = made.class("java.util.HashMap$Node", object, &fields);
    let value = numbers.text();
    let entry = [
        ("key", Ref(made.string(string, "ftp.password"))),
        ("value", Ref(made.string(string, &value))),
    ];
    made.instance(node, &entry);
    plant(&mut made, &mut numbers, &value);
    plant(&mut made, &mut numbers, &value);
    secrets.push((SecretKind::Password, value));
    // So is the value of a field.
    let fields = [("count", Long(0)), ("apiKey", Ref(0))];
    let client = made.class("com.example.Client", object, &fields);
    let value = numbers.text();
    let key = made.string(string, &value);
    made.instance(
        client,
        &[("count", Long(0x1122_3344_5566_7788)), ("apiKey", Ref(key))],
    );
    plant(&mut made, &mut numbers, &value);
    secrets.push((SecretKind::Password, value));
    kept.push(0x1122_3344_5566_7788_u64.to_be_bytes().to_vec());
    kept.push(b"ftp.password".to_vec());
    let file = made.bytes();
    Planted {
        file,
        secrets,
        kept,
    }
}

fn detectors() -> Detectors {
    Detectors::new(&[r"KD-\d{6}".to_owned()]).expect("detectors")
}

#[test]
fn secrets_are_overwritten_everywhere_and_all_else_stays() {
    let detectors = detectors();
    let policy = StripPolicy {
        keeps_all: true,
        detectors: Some(&detectors),
        ..StripPolicy::default()
    };
    for seed in 0..heap_count() {
        let Planted {
            file,
            secrets,
            kept,
        } = planted(seed);
        let plan = StripPlan::of(|| Ok(&*file), policy).expect("a plan");
        let mut copy = Vec::new();
        plan.copy(&*file, &mut copy).expect("a copy");
        assert_eq!(copy.len(), file.len());
        let list = plan.secrets().expect("a list").found();
        let shown = format!("{list:?}");
        for (kind, text) in &secrets {
            assert!(
                list.iter().any(|it| it.kind == *kind),
                "seed {seed}: {kind:?}"
            );
            assert!(
                !shown.contains(text.as_str()),
                "seed {seed}: {kind:?} is shown"
            );
            for form in forms(text) {
                assert_eq!(place(&copy, &form), None, "seed {seed}: {kind:?} {text}");
            }
        }
        for bytes in &kept {
            assert!(place(&copy, bytes).is_some(), "seed {seed}: {bytes:?}");
        }
        let (found, runs) = proof(&file, &copy, &policy);
        let forbidden: Vec<_> = runs.iter().filter(|it| it.allowed_by.is_none()).collect();
        assert!(found.is_clean(), "seed {seed}: {forbidden:#?}");
        // A copier that forgets one place is found out.
        let at = (seed % secrets.len() as u64) as usize;
        let forms = forms(&secrets[at].1);
        let there = forms
            .iter()
            .find_map(|form| Some((form, place(&file, form)?)));
        let (form, at) = there.expect("in the original");
        copy[at..at + form.len()].copy_from_slice(form);
        let (found, _) = proof(&file, &copy, &policy);
        assert!(!found.is_clean(), "seed {seed}: {:?}", secrets[0]);
    }
}

#[test]
fn generated_heaps_lose_their_properties_and_nothing_else() {
    let detectors = detectors();
    let policy = StripPolicy {
        keeps_all: true,
        detectors: Some(&detectors),
        ..StripPolicy::default()
    };
    for seed in 0..heap_count() {
        let heap = heap(seed);
        let copy = crate::copy(&heap.file, policy);
        for secret in &heap.secrets {
            let stays = !matches!(secret.spot, Spot::Property | Spot::Record);
            let is_there = place(&copy, &secret.bytes).is_some();
            assert_eq!(is_there, stays, "seed {seed}: {:?}", secret.spot);
        }
        let (found, _) = proof(&heap.file, &copy, &policy);
        assert!(found.is_clean(), "seed {seed}");
    }
}

#[test]
fn a_secret_beyond_latin_1_goes_elsewhere_too() {
    let detectors = detectors();
    let policy = StripPolicy {
        keeps_all: true,
        detectors: Some(&detectors),
        ..StripPolicy::default()
    };
    let mut made = Made::new();
    let object = made.object();
    let string = made.class("java.lang.String", object, &[("value", Ref(0))]);
    let fields = [("key", Ref(0)), ("value", Ref(0))];
    let node = made.class("java.util.HashMap$Node", object, &fields);
    let secret = forms("κωδικός-abc")[1].clone();
    let value = made.primitives(8, secret.len() as u32, &secret);
    let entry = [
        ("key", Ref(made.string(string, "password"))),
        (
            "value",
            Ref(made.instance(string, &[("value", Ref(value))])),
        ),
    ];
    made.instance(node, &entry);
    let buffer = [b"before", &secret[..], b"after!"].concat();
    made.primitives(8, buffer.len() as u32, &buffer);
    let file = made.bytes();
    let copy = crate::copy(&file, policy);
    assert!(place(&file, &secret).is_some() && place(&copy, &secret).is_none());
    assert!(place(&copy, b"before").is_some() && place(&copy, b"after!").is_some());
    assert!(proof(&file, &copy, &policy).0.is_clean());
}

#[test]
fn a_secret_that_lies_across_the_parts_of_a_long_array_is_found() {
    let detectors = detectors();
    let policy = StripPolicy {
        keeps_all: true,
        detectors: Some(&detectors),
        ..StripPolicy::default()
    };
    let token = format!("ghp_{}", "abCD1".repeat(8));
    for before in [0, 1, 20, 30, 44, 60, 64, 130] {
        let at = (1 << 20) - before;
        let mut text = vec![b' '; 3 << 20];
        text[at..at + token.len()].copy_from_slice(token.as_bytes());
        // A copy of it that no detector sees, as letters come before it.
        let hidden = (2 << 20) - before;
        text[hidden - 1] = b'x';
        text[hidden..hidden + token.len()].copy_from_slice(token.as_bytes());
        let mut made = Made::new();
        made.primitives(8, text.len() as u32, &text);
        let file = made.bytes();
        let plan = StripPlan::of(|| Ok(&*file), policy).expect("a plan");
        let mut copy = Vec::new();
        let stripped = plan.copy(&*file, &mut copy).expect("a copy");
        assert_eq!(stripped.redacted, 2 * token.len() as u64, "{before}");
        let list = plan.secrets().expect("a list").found();
        assert_eq!((list.len(), list[0].count), (1, 1), "{before}");
        assert!(proof(&file, &copy, &policy).0.is_clean(), "{before}");
    }
}

#[test]
fn a_value_in_a_long_table_is_a_secret_by_its_key() {
    let detectors = detectors();
    let policy = StripPolicy {
        keeps_all: true,
        detectors: Some(&detectors),
        ..StripPolicy::default()
    };
    for (class, id_bytes) in [
        ("java.util.IdentityHashMap", 8),
        ("java.util.IdentityHashMap", 4),
        ("java.util.ImmutableCollections$MapN", 8),
    ] {
        let mut made = Made::of("JAVA PROFILE 1.0.2", id_bytes);
        let object = made.object();
        let string = made.class("java.lang.String", object, &[("value", Ref(0))]);
        let map = made.class(class, object, &[("table", Ref(0))]);
        let array = made.class("[Ljava.lang.Object;", object, &[]);
        // Of the first length the table is held in memory, of the others it is not.
        for length in [64, 300_000, 600_000] {
            let mut elements = vec![0; length];
            for (at, number) in [(0, 1), (length / 2, 2), (length - 2, 3)] {
                elements[at] = made.string(string, "password");
                elements[at + 1] = made.string(string, &format!("hushhush{length}x{number}"));
            }
            elements[4] = made.string(string, "colour");
            elements[5] = made.string(string, &format!("turquoise{length}"));
            let table = made.array(array, &elements);
            made.instance(map, &[("table", Ref(table))]);
        }
        let file = made.bytes();
        let copy = crate::copy(&file, policy);
        for length in [64, 300_000, 600_000] {
            for number in 1..=3 {
                let secret = format!("hushhush{length}x{number}");
                assert!(place(&file, secret.as_bytes()).is_some(), "{secret}");
                assert!(
                    place(&copy, secret.as_bytes()).is_none(),
                    "{secret} of {class}"
                );
            }
            let kept = format!("turquoise{length}");
            assert!(place(&copy, kept.as_bytes()).is_some(), "{kept}");
        }
        assert!(proof(&file, &copy, &policy).0.is_clean());
    }
}
