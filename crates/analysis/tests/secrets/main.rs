//! Secrets in generated heaps: none that a policy forbids is in a copy, and the proof finds each one that a
//! broken copy leaves.
//!
//! `HPROF_RS_HEAPS=10000` makes that many heaps instead of 100.

#[path = "../common/mod.rs"]
mod common;
mod forms;
mod heaps;
mod redact;

use std::io;

use hprof_analysis::strip::{FieldRule, Proof, Run, StripPlan, StripPolicy, ThreadNames, prove};

use heaps::{Heap, Numbers, Secret, Spot, heap};

fn copy(file: &[u8], policy: StripPolicy<'_>) -> Vec<u8> {
    let plan = StripPlan::of(|| Ok(file), policy).expect("a plan");
    let mut copy = Vec::new();
    plan.copy(file, &mut copy).expect("a copy");
    copy
}

fn proof(file: &[u8], copy: &[u8], policy: &StripPolicy<'_>) -> (Proof, Vec<Run>) {
    let mut runs = Vec::new();
    let mut each = |run: &Run| {
        runs.push(run.clone());
        io::Result::Ok(())
    };
    let open = |file| move || io::Result::Ok(file);
    let proof = prove(open(file), open(copy), policy, 64 << 20, &mut each).expect("a proof");
    (proof, runs)
}

fn place(file: &[u8], bytes: &[u8]) -> Option<usize> {
    file.windows(bytes.len()).position(|found| found == bytes)
}

/// A policy, and whether it lets a secret stay.
struct Case<'a> {
    policy: StripPolicy<'a>,
    stays: fn(Spot) -> bool,
}

fn is_string(spot: Spot) -> bool {
    use Spot::{Label, Lost, Name, Property, PropertyName, Shared, StaticText, ThreadField};
    let others = matches!(spot, Label | Lost | Name | Shared | StaticText);
    others || matches!(spot, Property | PropertyName | ThreadField)
}

fn is_number(spot: Spot) -> bool {
    use Spot::{Account, OtherStatic, Pair, Static};
    matches!(spot, Account | Pair | Static | OtherStatic)
}

/// The name of the class, which always stays, and that of the thread where the texts of strings do.
fn is_named(spot: Spot) -> bool {
    is_class(spot) || spot == Spot::ThreadName
}

fn is_class(spot: Spot) -> bool {
    spot == Spot::ClassName
}

fn without_threads(spot: Spot) -> bool {
    spot != Spot::ThreadField && (is_class(spot) || is_number(spot) || is_string(spot))
}

fn of_customer(spot: Spot) -> bool {
    use Spot::{Account, Key, Name, Shared, Static, StaticText};
    matches!(spot, Account | Key | Name | Shared | Static | StaticText)
}

fn cases<'a>(
    customer: FieldRule<'a>,
    label: FieldRule<'a>,
    thread: FieldRule<'a>,
) -> [Case<'a>; 11] {
    let none = StripPolicy::default();
    let fields = StripPolicy {
        empties_fields: true,
        ..none
    };
    let strings = StripPolicy {
        keeps_strings: true,
        ..none
    };
    [
        Case {
            policy: none,
            stays: |spot| is_class(spot) || is_number(spot),
        },
        Case {
            policy: fields,
            stays: is_class,
        },
        Case {
            policy: strings,
            stays: |spot| is_named(spot) || is_number(spot) || is_string(spot),
        },
        Case {
            policy: StripPolicy {
                keeps: Some(label),
                ..fields
            },
            stays: |spot| is_class(spot) || spot == Spot::Label,
        },
        Case {
            policy: StripPolicy {
                keeps: Some(customer),
                ..fields
            },
            stays: |spot| is_class(spot) || of_customer(spot),
        },
        Case {
            policy: StripPolicy {
                drops: Some(customer),
                ..strings
            },
            stays: |spot| {
                is_named(spot) || (is_number(spot) || is_string(spot)) && !of_customer(spot)
            },
        },
        Case {
            policy: StripPolicy {
                drops: Some(customer),
                keeps: Some(label),
                ..none
            },
            stays: |spot| {
                is_class(spot) || spot == Spot::Label || is_number(spot) && !of_customer(spot)
            },
        },
        Case {
            policy: StripPolicy {
                threads: ThreadNames::Keep,
                ..fields
            },
            stays: |spot| is_named(spot) || spot == Spot::ThreadField,
        },
        Case {
            policy: StripPolicy {
                threads: ThreadNames::Number,
                ..strings
            },
            stays: without_threads,
        },
        Case {
            policy: StripPolicy {
                threads: ThreadNames::Remove,
                ..strings
            },
            stays: without_threads,
        },
        Case {
            policy: StripPolicy {
                drops: Some(thread),
                ..strings
            },
            stays: without_threads,
        },
    ]
}

/// The number of heaps that a test makes.
fn heap_count() -> u64 {
    let number = std::env::var("HPROF_RS_HEAPS");
    number.map_or(100, |it| it.parse().expect("a number"))
}

/// Puts contents of the original back into a copy. Records of unknown kinds are empty in copies, and
/// names of threads may have another length, so what comes after these has moved.
fn put_back(copy: &mut Vec<u8>, file: &[u8], secrets: &[Secret], secret: &Secret) {
    let in_file = |bytes: &[u8]| place(file, bytes).expect("in the original");
    let at = in_file(&secret.bytes);
    let unknown = in_file(&[0x77, 0, 0, 0, 0]);
    let name = secrets.iter().find(|it| it.spot == Spot::ThreadName);
    let name = &name.expect("a name").bytes;
    let name_at = in_file(name);
    let length = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes")) as usize;
    // All that went of the record is its content.
    let went = length(&file[unknown + 5..unknown + 9]);
    let before = |place: usize| if place > unknown { went } else { 0 };
    let id = usize::from(file[22]);
    let name_in_copy = name_at - before(name_at);
    let head = name_in_copy - id - 4;
    let now = length(&copy[head..head + 4]) - id;
    if secret.spot == Spot::ThreadName {
        copy.splice(name_in_copy..name_in_copy + now, name.iter().copied());
        copy[head..head + 4].copy_from_slice(&((id + name.len()) as u32).to_be_bytes());
        return;
    }
    let mut moved = at - before(at);
    if at > name_at {
        moved = moved + now - name.len();
        // The record of its group, `main`, follows.
        let group = name_in_copy + now + 5;
        moved = moved + length(&copy[group..group + 4]) - id - "main".len();
    }
    copy[moved..][..secret.bytes.len()].copy_from_slice(&secret.bytes);
}

fn check(seed: u64, Heap { file, secrets }: &Heap, Case { policy, stays }: &Case<'_>) {
    let stripped = copy(file, *policy);
    let about = |secret: &Secret| format!("seed {seed}, {:?}, {policy:?}", secret.spot);
    for secret in secrets {
        let is_there = place(&stripped, &secret.bytes).is_some();
        assert_eq!(is_there, stays(secret.spot), "{}", about(secret));
    }
    let (proof, runs) = proof(file, &stripped, policy);
    assert!(proof.is_clean(), "seed {seed}, {policy:?}: {runs:#?}");
    let forbidden = |secret: &&Secret| !stays(secret.spot) && secret.spot != Spot::Record;
    let forbidden: Vec<&Secret> = secrets.iter().filter(forbidden).collect();
    let mut numbers = Numbers::new(seed);
    let one = forbidden[numbers.below(forbidden.len() as u64) as usize];
    let mut broken = stripped.clone();
    put_back(&mut broken, file, secrets, one);
    let (found, runs) = self::proof(file, &broken, policy);
    assert_eq!(found.forbidden.runs, 1, "{}: {runs:#?}", about(one));
    assert_eq!(found.forbidden.bytes, one.bytes.len() as u64);
    for secret in &forbidden {
        put_back(&mut broken, file, secrets, secret);
    }
    let (found, runs) = self::proof(file, &broken, policy);
    let left: u64 = forbidden.iter().map(|it| it.bytes.len() as u64).sum();
    assert_eq!(found.forbidden.runs, forbidden.len() as u64, "{runs:#?}");
    assert_eq!(found.forbidden.bytes, left, "seed {seed}, {policy:?}");
}

#[test]
fn no_secret_that_a_policy_forbids_is_in_a_copy_and_the_proof_finds_those_that_are() {
    let customer = |class: &str, _: &str| class == "com.example.Customer";
    let label = |_: &str, field: &str| field == "label";
    let thread = |class: &str, field: &str| (class, field) == ("java.lang.Thread", "name");
    for seed in 0..heap_count() {
        let heap = heap(seed);
        for case in cases(&customer, &label, &thread) {
            check(seed, &heap, &case);
        }
    }
}

#[test]
fn a_copy_under_a_weaker_policy_is_no_copy_under_a_strict_one() {
    let customer = |class: &str, _: &str| class == "com.example.Customer";
    let label = |_: &str, field: &str| field == "label";
    let thread = |class: &str, field: &str| (class, field) == ("java.lang.Thread", "name");
    for seed in 0..heap_count() / 10 {
        let Heap { file, secrets } = heap(seed);
        let cases = cases(&customer, &label, &thread);
        for weak in &cases {
            let weaker = copy(&file, weak.policy);
            for strict in &cases {
                let (proof, runs) = proof(&file, &weaker, &strict.policy);
                let is_left = |it: &&Secret| (weak.stays)(it.spot) && !(strict.stays)(it.spot);
                let left = secrets.iter().filter(is_left).count() as u64;
                assert_eq!(proof.forbidden.runs, left, "seed {seed}: {runs:#?}");
            }
        }
    }
}

#[test]
fn what_a_copier_writes_into_an_unknown_record_or_behind_the_end_is_found() {
    let Heap { file, secrets } = heap(7);
    let policy = StripPolicy::default();
    let stripped = copy(&file, policy);
    let secret = secrets.iter().find(|it| it.spot == Spot::Key).expect("one");
    let unknown = place(&stripped, &[0x77, 0, 0, 0, 0, 0, 0, 0, 0]).expect("a record");
    let mut longer = stripped.clone();
    longer[unknown + 8] = secret.bytes.len() as u8;
    longer.splice(unknown + 9..unknown + 9, secret.bytes.iter().copied());
    let (found, runs) = proof(&file, &longer, &policy);
    let place = runs.iter().find(|run| run.allowed_by.is_none()).unwrap();
    assert_eq!((found.forbidden.runs, place.place), (1, "unknown-record"));
    assert_eq!(place.offset, unknown as u64);
    let longer = [&stripped[..], &[0; 9], &secret.bytes].concat();
    let (found, runs) = proof(&file, &longer, &policy);
    let place = runs.iter().find(|run| run.allowed_by.is_none()).unwrap();
    assert_eq!((found.forbidden.runs, place.place), (1, "unreadable"));
}

#[test]
fn a_copy_of_more_windows_than_memory_has_room_for_is_looked_at_in_slices() {
    // Six million windows do not fit into the smallest table.
    let mut numbers = Numbers::new(1);
    let elements: Vec<u8> = (0..6 << 20).map(|_| numbers.next() as u8).collect();
    let mut made = common::made::Made::new();
    made.primitives(8, elements.len() as u32, &elements);
    made.primitives(8, 20, b"a secret of 20 bytes");
    let file = made.bytes();
    let none = StripPolicy::default();
    let open = |file| move || io::Result::Ok(file);
    let mut runs = Vec::new();
    let mut each = |run: &Run| {
        runs.extend(run.allowed_by.is_none().then_some(run.bytes));
        io::Result::Ok(())
    };
    let found = prove(open(&*file), open(&*file), &none, 0, &mut each).expect("a proof");
    assert!(found.slices > 1, "{found:?}");
    assert_eq!(runs.last(), Some(&20));
    // A run ends with its slice, and the next one begins with the next byte or up to seven before it.
    let long: u64 = runs[..runs.len() - 1].iter().sum();
    let size = elements.len() as u64;
    assert!((size..=size + 7 * found.slices).contains(&long), "{long}");
}
