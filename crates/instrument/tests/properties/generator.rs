//! Generates methods with branches, tables, frames and handlers.

use hprof_instrument::Shape;
use proptest::prelude::*;

use crate::common::*;

/// An instruction whose targets are indices into the list of instructions.
#[derive(Clone, Debug)]
pub enum Instruction {
    /// Any bytes that make one instruction.
    Other(Vec<u8>),
    /// This number of bytes, of `wide iinc` and `nop`.
    Filler(u16),
    Branch(u8, usize),
    WideBranch(u8, usize),
    Table(usize, Vec<usize>),
    Lookup(usize, Vec<usize>),
}

#[derive(Clone, Debug)]
pub struct Program {
    pub instructions: Vec<Instruction>,
    /// Start, end and handler as indices; what is caught.
    pub exceptions: Vec<(usize, usize, usize, u8)>,
    /// Index, locals, stack.
    pub frames: Vec<(usize, u8, u8)>,
    pub lines: Vec<(usize, u16)>,
    pub is_static: bool,
    pub max_locals: u16,
    pub number: u32,
    pub major: u16,
    pub shape: Shape,
}

pub const DESCRIPTOR: &str = "(I[JLjava/lang/String;DLmissing/Type;)V";
/// `this` if there is one, and what the descriptor says.
pub const PARAMETER_SLOTS: u16 = 7;
pub const CATCH_TYPES: [Option<&str>; 4] = [
    None,
    Some("java/lang/Throwable"),
    Some("java/io/IOException"),
    Some("java/lang/Error"),
];

pub fn instruction(len: usize) -> impl Strategy<Value = Instruction> {
    let other = prop_oneof![
        Just(vec![0]),
        Just(vec![89]),
        Just(vec![191]),
        any::<u8>().prop_map(|value| vec![16, value]),
        any::<u16>().prop_map(|value| [vec![17], value.to_be_bytes().to_vec()].concat()),
        Just(vec![196, 132, 1, 0, 255, 255]),
        Just(vec![196, 21, 1, 4]),
        Just(vec![187, 0, 2]),
        Just(vec![185, 0, 2, 1, 0]),
        Just(vec![197, 0, 2, 1]),
    ];
    let target = 0..len;
    let targets = prop::collection::vec(0..len, 0..5);
    prop_oneof![
        6 => other.prop_map(Instruction::Other),
        4 => (172u8..=177).prop_map(|opcode| Instruction::Other(vec![opcode])),
        5 => (prop_oneof![153u8..=168, Just(198), Just(199)], target.clone())
            .prop_map(|(opcode, target)| Instruction::Branch(opcode, target)),
        1 => (200u8..=201, target.clone())
            .prop_map(|(opcode, target)| Instruction::WideBranch(opcode, target)),
        1 => (target.clone(), targets.clone())
            .prop_map(|(default, targets)| Instruction::Table(default, targets)),
        1 => (target, targets)
            .prop_map(|(default, targets)| Instruction::Lookup(default, targets)),
    ]
}

pub fn program() -> impl Strategy<Value = Program> {
    programs(1..60, |len| {
        let filler = (0..len, 1u16..31_000);
        prop_oneof![
            9 => Just(vec![]),
            1 => prop::collection::vec(filler, 1..3),
        ]
    })
}

/// Programs with branches that are hardly short enough.
pub fn long_program() -> impl Strategy<Value = Program> {
    programs(10..40, |len| {
        (len / 3..len / 2, 32_400u16..32_760).prop_map(|filler| vec![filler])
    })
}

pub fn programs<S: Strategy<Value = Vec<(usize, u16)>>>(
    lengths: std::ops::Range<usize>,
    fillers: impl Fn(usize) -> S,
) -> impl Strategy<Value = Program> {
    lengths.prop_flat_map(move |len| {
        let instructions = prop::collection::vec(instruction(len), len);
        let exceptions = prop::collection::vec((0..len, 0..len, 0..len, 0u8..4), 0..4);
        let frames = prop::collection::vec((0..len, 0u8..8, 0u8..3), 0..12);
        let lines = prop::collection::vec((0..len, any::<u16>()), 0..6);
        let numbers = prop_oneof![0u32..6, 6u32..128, 128u32..32768, any::<u32>()];
        let shape = prop_oneof![4 => Just(Shape::Full), 1 => Just(Shape::CountOnly)];
        let major = prop_oneof![Just(48u16), Just(52), Just(69)];
        let fillers = fillers(len);
        let rest = (
            any::<bool>(),
            7u16..12,
            prop_oneof![9 => Just(0u16), 1 => Just(300)],
        );
        (
            instructions,
            exceptions,
            frames,
            lines,
            numbers,
            shape,
            major,
            fillers,
            rest,
        )
            .prop_map(
                |(instructions, exceptions, frames, lines, number, shape, major, fillers, rest)| {
                    let (is_static, max_locals, more) = rest;
                    let mut program = Program {
                        instructions,
                        exceptions,
                        frames,
                        lines,
                        is_static,
                        max_locals: max_locals + more,
                        number,
                        major,
                        shape,
                    };
                    program.tidy(&fillers);
                    program
                },
            )
    })
}

impl Program {
    /// Makes the random parts fit each other, without changing indices.
    pub fn tidy(&mut self, fillers: &[(usize, u16)]) {
        for &(at, len) in fillers {
            self.instructions[at] = Instruction::Filler(len);
        }
        // So that the islands, which are goto_w behind the end of flow, can be told from the rest.
        for at in 1..self.instructions.len() {
            let ends = match &self.instructions[at - 1] {
                Instruction::Other(bytes) => matches!(bytes[0], 172..=177 | 191),
                Instruction::Branch(opcode, _) => *opcode == 167,
                Instruction::WideBranch(opcode, _) => *opcode == 200,
                Instruction::Table(..) | Instruction::Lookup(..) => true,
                Instruction::Filler(_) => false,
            };
            let goes = matches!(
                self.instructions[at],
                Instruction::Branch(167, _) | Instruction::WideBranch(200, _)
            );
            if ends && goes {
                self.instructions[at] = Instruction::Other(vec![0]);
            }
        }
        let (addresses, _) = self.assemble();
        for (instruction, at) in self.instructions.iter_mut().zip(&addresses) {
            if let Instruction::Branch(_, target) = instruction
                && addresses[*target].abs_diff(*at) > 32_767
            {
                // As long as a branch, so that the others stay valid.
                *instruction = Instruction::Other(vec![17, 0, 0]);
            }
        }
        self.exceptions.retain(|&(start, end, _, _)| start < end);
        // The frame of an island is that at its target.
        for instruction in &self.instructions {
            if let Instruction::Branch(_, target) = instruction {
                self.frames
                    .push((*target, (*target % 8) as u8, (*target % 3) as u8));
            }
        }
        self.frames.sort_by_key(|frame| frame.0);
        self.frames.dedup_by_key(|frame| frame.0);
        self.lines.sort_unstable();
    }

    /// Addresses of the instructions and the end, and the code.
    pub fn assemble(&self) -> (Vec<usize>, Vec<u8>) {
        let mut addresses = vec![];
        let mut at = 0;
        for instruction in &self.instructions {
            addresses.push(at);
            let padding = 3 - at % 4;
            at += match instruction {
                Instruction::Other(bytes) => bytes.len(),
                Instruction::Filler(len) => usize::from(*len),
                Instruction::Branch(..) => 3,
                Instruction::WideBranch(..) => 5,
                Instruction::Table(_, targets) => 1 + padding + 12 + 4 * targets.len(),
                Instruction::Lookup(_, targets) => 1 + padding + 8 + 8 * targets.len(),
            };
        }
        addresses.push(at);
        let mut code: Vec<u8> = vec![];
        for (instruction, &at) in self.instructions.iter().zip(&addresses) {
            let offset = |target: usize| addresses[target] as i32 - at as i32;
            let padding = std::iter::repeat_n(0, 3 - at % 4);
            match instruction {
                Instruction::Other(bytes) => code.extend(bytes),
                Instruction::Filler(len) => {
                    let len = usize::from(*len);
                    (0..len / 6).for_each(|_| code.extend([196, 132, 1, 0, 255, 255]));
                    code.extend(std::iter::repeat_n(0, len % 6));
                }
                Instruction::Branch(opcode, target) => {
                    code.push(*opcode);
                    code.extend((offset(*target) as i16).to_be_bytes());
                }
                Instruction::WideBranch(opcode, target) => {
                    code.push(*opcode);
                    code.extend(offset(*target).to_be_bytes());
                }
                Instruction::Table(default, targets) => {
                    code.push(170);
                    code.extend(padding);
                    let words = [offset(*default), -1, targets.len() as i32 - 2];
                    let targets = targets.iter().map(|target| offset(*target));
                    code.extend(words.into_iter().chain(targets).flat_map(i32::to_be_bytes));
                }
                Instruction::Lookup(default, targets) => {
                    code.push(171);
                    code.extend(padding);
                    code.extend(offset(*default).to_be_bytes());
                    code.extend((targets.len() as i32).to_be_bytes());
                    for (key, target) in targets.iter().enumerate() {
                        code.extend((key as i32 * 3).to_be_bytes());
                        code.extend(offset(*target).to_be_bytes());
                    }
                }
            }
        }
        (addresses, code)
    }

    pub fn class(&self) -> Vec<u8> {
        let mut builder = ClassBuilder::new(self.major, "test/Random");
        let string = builder.class("java/lang/String");
        let (addresses, code) = self.assemble();
        let address = |index: &usize| addresses[*index] as u16;
        let mut exceptions = vec![];
        for (start, end, handler, caught) in &self.exceptions {
            let caught = CATCH_TYPES[usize::from(*caught)].map_or(0, |name| builder.class(name));
            exceptions.push([address(start), address(end), address(handler), caught]);
        }
        let types = [vec![1], vec![3], vec![4], vec![7, 0, string as u8], vec![5]];
        let mut frames: Vec<u8> = (self.frames.len() as u16).to_be_bytes().to_vec();
        let mut last: Option<u16> = None;
        let mut appended = 0;
        for (index, locals, stack) in &self.frames {
            let pc = address(index);
            let delta = last.map_or(pc, |last| pc - last - 1);
            last = Some(pc);
            let [high, low] = delta.to_be_bytes();
            match (locals, stack) {
                // An object that is not initialized, and a long.
                (0, _) => {
                    let [new_high, new_low] = pc.to_be_bytes();
                    frames.extend([255, high, low, 0, 2, 8, new_high, new_low, 4, 0, *stack]);
                    frames.extend(std::iter::repeat_n(1, usize::from(*stack)));
                    appended = 0;
                }
                (1, 0) if self.max_locals > PARAMETER_SLOTS && appended == 0 => {
                    frames.extend([252, high, low, 1]);
                    appended = 9;
                }
                (2, 0) if appended == 9 => {
                    frames.extend([250, high, low]);
                    appended = 0;
                }
                (_, 0) if delta < 64 => frames.push(delta as u8),
                (_, 0) => frames.extend([251, high, low]),
                (kind, 1) if delta < 64 => {
                    frames.push(64 + delta as u8);
                    frames.extend(&types[usize::from(*kind) % types.len()]);
                }
                (kind, _) => {
                    frames.extend([247, high, low]);
                    frames.extend(&types[usize::from(*kind) % types.len()]);
                }
            }
        }
        let mut lines: Vec<u8> = (self.lines.len() as u16).to_be_bytes().to_vec();
        for (index, line) in &self.lines {
            lines.extend(address(index).to_be_bytes());
            lines.extend(line.to_be_bytes());
        }
        let spec = CodeSpec {
            max_stack: 4,
            max_locals: self.max_locals,
            bytes: code,
            exceptions,
            attributes: vec![
                ("Custom", vec![1, 2, 3]),
                ("LineNumberTable", lines),
                ("StackMapTable", frames),
            ],
        };
        builder.field(2, "field", "I");
        builder.method(0x0401, "missing", "()V", None);
        let access = if self.is_static { 9 } else { 1 };
        builder.method(access, "random", DESCRIPTOR, Some(&spec));
        builder.build()
    }

    pub fn start_locals(&self, view: &ClassView) -> Vec<FrameType> {
        let class = |name: &str| {
            let index = (1..view.pool.len() as u16).find(|&index| {
                matches!(&view.pool[usize::from(index)], Some((7, _)))
                    && view.class_name(index) == name
            });
            (7, index.unwrap_or(0))
        };
        let this = (!self.is_static).then(|| class("test/Random"));
        let parameters = [
            (1, 0),
            class("[J"),
            class("java/lang/String"),
            (3, 0),
            class("missing/Type"),
        ];
        this.into_iter().chain(parameters).collect()
    }
}
