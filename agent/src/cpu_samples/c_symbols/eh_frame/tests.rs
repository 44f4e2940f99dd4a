//! Sections that tests write, and any bytes.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Where the section and the code of these tests are.
const SECTION: u64 = 0x1000;
const CODE: Range<u64> = 0x4000..0x8000;
/// `def_cfa rsp + 8`, `offset ra, 1`.
const HEAD: [u8; 5] = [0x0c, 7, 8, 0x90, 1];

/// Appends a record after its length.
fn add(section: &mut Vec<u8>, record: &[u8]) {
    let length = u32::try_from(record.len()).unwrap();
    section.extend(length.to_le_bytes());
    section.extend(record);
}

/// A section with one head.
fn with_head(program: &[u8]) -> Vec<u8> {
    let mut section = Vec::new();
    // Version 1, "zR", code by 1, data by -8, register 16, addresses relative, in 4 bytes.
    let mut head = vec![0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b];
    head.extend(program);
    add(&mut section, &head);
    section
}

/// Appends the record of a function.
fn add_function(section: &mut Vec<u8>, start: u64, length: u32, program: &[u8]) {
    let place = section.len() as u64 + 4;
    let mut record = Vec::new();
    record.extend(u32::try_from(place).unwrap().to_le_bytes());
    let relative = i64::try_from(start).unwrap() - i64::try_from(SECTION + place + 4).unwrap();
    record.extend(i32::try_from(relative).unwrap().to_le_bytes());
    record.extend(length.to_le_bytes());
    record.push(0);
    record.extend(program);
    add(section, &record);
}

fn read(bytes: &[u8], most: usize) -> (Rules, bool) {
    let code = [CODE];
    let section = Section {
        bytes,
        address: SECTION,
        code: &code,
    };
    rules(&section, most)
}

fn rule(frame: FrameAddress, fp: SavedFp) -> Rule {
    Rule { frame, fp }
}

const ENTRY: Rule = Rule {
    frame: FrameAddress::Sp(8),
    fp: SavedFp::Register,
};

#[test]
fn each_instruction_has_its_rule() {
    let mut section = with_head(&HEAD);
    // push rbp; mov rbp, rsp; ...; ret
    let program = [
        0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x5c, 0xc6, 0x0c, 7, 8,
    ];
    add_function(&mut section, 0x4100, 0x40, &program);
    // sub rsp, 40; registers that the unwinder does not use; the state before a jump, and after it again
    let program = [0x44, 0x0e, 48, 0x83, 3, 0x0a, 0x44, 0x0e, 8, 0x41, 0x0b];
    add_function(&mut section, 0x4140, 0x20, &program);
    let (rules, is_cut) = read(&section, 100);
    let pushed = rule(FrameAddress::Sp(16), SavedFp::Saved(16));
    let moved = rule(FrameAddress::Fp(16), SavedFp::Saved(16));
    let grown = rule(FrameAddress::Sp(48), SavedFp::Register);
    let expected = [
        (0x40ff, Rule::UNKNOWN),
        (0x4100, ENTRY),
        (0x4101, pushed),
        (0x4103, pushed),
        (0x4104, moved),
        (0x411f, moved),
        (0x4120, ENTRY),
        (0x4143, ENTRY),
        (0x4144, grown),
        (0x4148, ENTRY),
        (0x4149, grown),
        (0x415f, grown),
        (0x4160, Rule::UNKNOWN),
    ];
    for (address, rule) in expected {
        assert_eq!(rules.at(address), rule, "{address:x}");
    }
    assert!(!is_cut);
    // The end of the first function and the start of the second are one rule.
    assert_eq!(rules.len(), 8);
    let (rules, is_cut) = read(&section, 3);
    assert_eq!((rules.len(), is_cut), (4, true));
    assert_eq!(rules.at(0x4140), Rule::UNKNOWN);
}

#[test]
fn expressions_of_compilers_are_known() {
    // The linkage table, as GNU ld writes it.
    let linkage = [
        0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
    ];
    // A function of GCC with an aligned stack.
    let aligned = [0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 6];
    let other = [0x0f, 3, 0x77, 0xa0, 6];
    let by_rbx = [0x0c, 3, 16];
    let root = [0x07, 16];
    let in_rcx = [0x09, 16, 2];
    let negative = [0x12, 7, 8];
    let cases: [(&[u8], Rule); 7] = [
        (&linkage, rule(FrameAddress::Linkage, SavedFp::Register)),
        (&aligned, rule(FrameAddress::BelowFp(8), SavedFp::AtFp)),
        (&other, rule(FrameAddress::Unknown, SavedFp::Register)),
        (&by_rbx, rule(FrameAddress::Unknown, SavedFp::Register)),
        (&root, rule(FrameAddress::Root, SavedFp::Register)),
        (&in_rcx, rule(FrameAddress::Unknown, SavedFp::Register)),
        (&negative, rule(FrameAddress::Unknown, SavedFp::Register)),
    ];
    for (program, expected) in cases {
        let mut section = with_head(&HEAD);
        add_function(&mut section, 0x4100, 0x40, program);
        assert_eq!(read(&section, 100).0.at(0x4100), expected, "{program:x?}");
    }
}

#[test]
fn what_is_not_to_be_trusted_is_left_out() {
    let mut section = with_head(&HEAD);
    for (start, length) in [(0, 0x10), (0x3ff8, 0x10), (0x7ff8, 0x10), (0x5000, 0)] {
        add_function(&mut section, start, length, &[]);
    }
    assert_eq!(read(&section, 100).0.len(), 0);
    // A second function over the first, and a program that breaks off.
    add_function(&mut section, 0x4100, 0x40, &[]);
    add_function(&mut section, 0x4120, 0x40, &[]);
    add_function(&mut section, 0x4200, 0x40, &[0x44, 0x0e, 16, 0x44, 0x0b]);
    let (rules, _) = read(&section, 100);
    let spans = [0x4100, 0x413f, 0x4140, 0x4200, 0x4203].map(|at| rules.at(at));
    assert_eq!(spans, [ENTRY, ENTRY, Rule::UNKNOWN, ENTRY, ENTRY]);
    assert_eq!([0x4204, 0x4208].map(|at| rules.at(at)), [Rule::UNKNOWN; 2]);
    // Another register for the return address.
    let mut other = with_head(&HEAD);
    other[14] = 3;
    add_function(&mut other, 0x4100, 0x40, &[]);
    assert_eq!(read(&other, 100).0.at(0x4100), Rule::UNKNOWN);
}

#[test]
fn long_heads_are_not_run_for_each_function() {
    let long = [HEAD.to_vec(), vec![0; MAX_CIE as usize]].concat();
    let mut section = with_head(&long);
    add_function(&mut section, 0x4100, 0x40, &[]);
    assert!(read(&section, 100).0.is_empty());
    // Shorter ones are, as long as there is work left.
    let short = [HEAD.to_vec(), vec![0; 400]].concat();
    let mut section = with_head(&short);
    for function in 0..1000 {
        add_function(&mut section, 0x4000 + function * 16, 16, &[]);
    }
    let (rules, is_cut) = read(&section, 10_000);
    assert!(is_cut);
    assert_eq!(rules.at(0x4000), ENTRY);
    assert_eq!(rules.at(0x4000 + 999 * 16), Rule::UNKNOWN);
}

/// Records of compilers, some of whose bytes are wrong.
fn spoilt_section() -> impl Strategy<Value = Vec<u8>> {
    let program = || prop::collection::vec(any::<u8>(), 0..40);
    let function = (0x3ff0u64..0x8010, 0u32..0x400, program());
    let functions = prop::collection::vec(function, 0..12);
    let spoils = prop::collection::vec((any::<usize>(), any::<u8>()), 0..6);
    (program(), any::<bool>(), functions, spoils).prop_map(|(head, is_whole, functions, spoils)| {
        let head = match is_whole {
            true => HEAD.to_vec(),
            false => head,
        };
        let mut section = with_head(&head);
        for (start, length, program) in functions {
            add_function(&mut section, start, length, &program);
        }
        for (place, byte) in spoils {
            let place = place % section.len();
            section[place] = byte;
        }
        section
    })
}

proptest! {
    #![proptest_config(super::super::cases(if cfg!(debug_assertions) { 3_000 } else { 200_000 }))]

    /// A file may be of anybody: its rules are in order, no more than asked for, and each fits into its memory.
    #[test]
    fn any_section_has_few_rules_soon(
        section in prop_oneof![4 => spoilt_section(), 1 => prop::collection::vec(any::<u8>(), 0..400)],
        address in prop_oneof![4 => Just(SECTION), 1 => any::<u64>()],
        most in 0usize..100,
    ) {
        let code = [CODE, 0x10_0000_0000..u64::MAX];
        let read = Section { bytes: &section, address, code: &code };
        let begun = Instant::now();
        let (rules, _) = rules(&read, most);
        prop_assert!(begun.elapsed() < Duration::from_secs(1));
        // The last one ends the last function.
        prop_assert!(rules.len() <= most + 1);
        for address in [0, 0x3fff, 0x8010, u32::MAX] {
            prop_assert_eq!(rules.at(address), Rule::UNKNOWN);
        }
    }
}
