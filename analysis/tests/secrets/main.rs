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

use hprof_analysis::strip::{FieldRule, Proof, Run, StripPlan, StripPolicy, prove};

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

fn is_named(spot: Spot) -> bool {
    matches!(spot, Spot::ClassName | Spot::ThreadName)
}

fn of_customer(spot: Spot) -> bool {
    use Spot::{Account, Key, Name, Shared, Static, StaticText};
    matches!(spot, Account | Key | Name | Shared | Static | StaticText)
}

fn cases<'a>(customer: FieldRule<'a>, label: FieldRule<'a>) -> [Case<'a>; 7] {
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
            stays: |spot| is_named(spot) || is_number(spot),
        },
        Case {
            policy: fields,
            stays: is_named,
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
            stays: |spot| is_named(spot) || spot == Spot::Label,
        },
        Case {
            policy: StripPolicy {
                keeps: Some(customer),
                ..fields
            },
            stays: |spot| is_named(spot) || of_customer(spot),
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
                is_named(spot) || spot == Spot::Label || is_number(spot) && !of_customer(spot)
            },
        },
    ]
}

/// The number of heaps that a test makes.
fn heap_count() -> u64 {
    let number = std::env::var("HPROF_RS_HEAPS");
    number.map_or(100, |it| it.parse().expect("a number"))
}

/// Puts contents of the original back into a copy of equal length. Records of unknown kinds are empty in
/// copies, so what comes after them has moved.
fn put_back(copy: &mut [u8], file: &[u8], secret: &Secret) {
    let at = place(file, &secret.bytes).expect("in the original");
    let unknown = place(file, &[0x77, 0, 0, 0, 0]).expect("an unknown record");
    let moved = if at > unknown {
        file.len() - copy.len()
    } else {
        0
    };
    copy[at - moved..][..secret.bytes.len()].copy_from_slice(&secret.bytes);
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
    put_back(&mut broken, file, one);
    let (found, runs) = self::proof(file, &broken, policy);
    assert_eq!(found.forbidden.runs, 1, "{}: {runs:#?}", about(one));
    assert_eq!(found.forbidden.bytes, one.bytes.len() as u64);
    for secret in &forbidden {
        put_back(&mut broken, file, secret);
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
    for seed in 0..heap_count() {
        let heap = heap(seed);
        for case in cases(&customer, &label) {
            check(seed, &heap, &case);
        }
    }
}

#[test]
fn a_copy_under_a_weaker_policy_is_no_copy_under_a_strict_one() {
    let customer = |class: &str, _: &str| class == "com.example.Customer";
    let label = |_: &str, field: &str| field == "label";
    for seed in 0..heap_count() / 10 {
        let Heap { file, secrets } = heap(seed);
        let cases = cases(&customer, &label);
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
