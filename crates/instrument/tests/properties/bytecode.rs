//! Reads the code of a method as instructions that can be compared.

use crate::common::*;

/// An instruction with the addresses it may go to, and its bytes without offsets.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub pc: usize,
    pub opcode: u8,
    pub rest: Vec<u8>,
    pub targets: Vec<usize>,
}

pub fn steps(class: &[u8], code: &[u8]) -> Vec<Step> {
    let mut addresses = instruction_addresses(class, 1);
    addresses.push(code.len());
    let mut steps = vec![];
    for pair in addresses.windows(2) {
        let (pc, end) = (pair[0], pair[1]);
        let opcode = code[pc];
        let body = (pc & !3) + 4;
        let short = |at: usize| i32::from(i16::from_be_bytes([code[at], code[at + 1]]));
        let long = |at: usize| i32::from_be_bytes(code[at..at + 4].try_into().unwrap());
        let (rest, offsets): (Vec<u8>, Vec<i32>) = match opcode {
            153..=168 | 198 | 199 => (vec![], vec![short(pc + 1)]),
            200 | 201 => (vec![], vec![long(pc + 1)]),
            170 => {
                let entries = (body + 12..end).step_by(4).map(long);
                let offsets = std::iter::once(long(body)).chain(entries).collect();
                (code[body + 4..body + 12].to_vec(), offsets)
            }
            171 => {
                let entries = (body + 12..end).step_by(8).map(long);
                let offsets = std::iter::once(long(body)).chain(entries).collect();
                let keys = (body + 8..end)
                    .step_by(8)
                    .flat_map(|at| code[at..at + 4].to_vec());
                (
                    code[body + 4..body + 8]
                        .iter()
                        .copied()
                        .chain(keys)
                        .collect(),
                    offsets,
                )
            }
            _ => (code[pc + 1..end].to_vec(), vec![]),
        };
        let targets = offsets
            .iter()
            .map(|offset| (pc as i64 + i64::from(*offset)) as usize);
        steps.push(Step {
            pc,
            opcode,
            rest,
            targets: targets.collect(),
        });
    }
    steps
}

/// The call of one hook, from the instruction at `at` on: its name, and how many instructions.
pub fn hook_call(view: &ClassView, steps: &[Step], at: usize) -> Option<(String, usize)> {
    (0..3).find_map(|more| {
        let step = steps.get(at + more).filter(|step| step.opcode == 184)?;
        let index = u16::from_be_bytes([step.rest[0], step.rest[1]]);
        let (class, name, _) = view.method_ref(index);
        (class == "test/Hooks").then_some((name, more + 1))
    })
}

pub fn pushed_number(view: &ClassView, step: &Step) -> u32 {
    match step.opcode {
        3..=8 => u32::from(step.opcode - 3),
        16 => u32::from(step.rest[0]),
        17 => u32::from(u16::from_be_bytes([step.rest[0], step.rest[1]])),
        18 => view.integer(u16::from(step.rest[0])) as u32,
        19 => view.integer(u16::from_be_bytes([step.rest[0], step.rest[1]])) as u32,
        other => panic!("no constant: {other}"),
    }
}
