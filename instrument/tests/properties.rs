//! Properties that hold for any code: the rewritten method is the old one with hooks between.

mod common;

use std::collections::BTreeMap;

use common::*;
use hprof_instrument::{NewField, Rewriter, Shape, add_fields};
use proptest::prelude::*;

/// An instruction whose targets are indices into the list of instructions.
#[derive(Clone, Debug)]
enum Instruction {
    /// Any bytes that make one instruction.
    Other(Vec<u8>),
    /// So many bytes, of `wide iinc` and `nop`.
    Filler(u16),
    Branch(u8, usize),
    WideBranch(u8, usize),
    Table(usize, Vec<usize>),
    Lookup(usize, Vec<usize>),
}

#[derive(Clone, Debug)]
struct Program {
    instructions: Vec<Instruction>,
    /// Start, end and handler as indices; what is caught.
    exceptions: Vec<(usize, usize, usize, u8)>,
    /// Index, locals, stack.
    frames: Vec<(usize, u8, u8)>,
    lines: Vec<(usize, u16)>,
    is_static: bool,
    max_locals: u16,
    number: u32,
    major: u16,
    shape: Shape,
}

const DESCRIPTOR: &str = "(I[JLjava/lang/String;DLmissing/Type;)V";
/// `this` if there is one, and what the descriptor says.
const PARAMETER_SLOTS: u16 = 7;
const CATCH_TYPES: [Option<&str>; 4] = [
    None,
    Some("java/lang/Throwable"),
    Some("java/io/IOException"),
    Some("java/lang/Error"),
];

fn instruction(len: usize) -> impl Strategy<Value = Instruction> {
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

fn program() -> impl Strategy<Value = Program> {
    programs(1..60, |len| {
        let filler = (0..len, 1u16..31_000);
        prop_oneof![
            9 => Just(vec![]),
            1 => prop::collection::vec(filler, 1..3),
        ]
    })
}

/// Programs with branches that are hardly short enough.
fn long_program() -> impl Strategy<Value = Program> {
    programs(10..40, |len| {
        (len / 3..len / 2, 32_400u16..32_760).prop_map(|filler| vec![filler])
    })
}

fn programs<S: Strategy<Value = Vec<(usize, u16)>>>(
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
    fn tidy(&mut self, fillers: &[(usize, u16)]) {
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
    fn assemble(&self) -> (Vec<usize>, Vec<u8>) {
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

    fn class(&self) -> Vec<u8> {
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

    fn start_locals(&self, view: &ClassView) -> Vec<FrameType> {
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

/// An instruction with the addresses it may go to, and its bytes without offsets.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    pc: usize,
    opcode: u8,
    rest: Vec<u8>,
    targets: Vec<usize>,
}

fn steps(class: &[u8], code: &[u8]) -> Vec<Step> {
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
fn hook_call(view: &ClassView, steps: &[Step], at: usize) -> Option<(String, usize)> {
    (0..3).find_map(|more| {
        let step = steps.get(at + more).filter(|step| step.opcode == 184)?;
        let index = u16::from_be_bytes([step.rest[0], step.rest[1]]);
        let (class, name, _) = view.method_ref(index);
        (class == "test/Hooks").then_some((name, more + 1))
    })
}

fn pushed_number(view: &ClassView, step: &Step) -> u32 {
    match step.opcode {
        3..=8 => u32::from(step.opcode - 3),
        16 => u32::from(step.rest[0]),
        17 => u32::from(u16::from_be_bytes([step.rest[0], step.rest[1]])),
        18 => view.integer(u16::from(step.rest[0])) as u32,
        19 => view.integer(u16::from_be_bytes([step.rest[0], step.rest[1]])) as u32,
        other => panic!("no constant: {other}"),
    }
}

fn check(program: &Program) -> Result<(), TestCaseError> {
    let class = program.class();
    let mut rewriter = Rewriter::new();
    let done = rewriter.rewrite(&class, &HOOKS, &mut all(program.number, program.shape));
    let Ok(done) = done else {
        // Nothing but their size may be wrong with these methods.
        use hprof_instrument::MethodSkip::{BranchTooFar, CodeTooLarge};
        let reason = rewriter.tally().skipped[0].reason;
        prop_assert!(matches!(reason, BranchTooFar | CodeTooLarge), "{reason:?}");
        prop_assert!(class.len() > 32_000 / 7);
        return Ok(());
    };
    let bytes = done.bytes.to_vec();
    let (old, new) = (ClassView::parse(&class), ClassView::parse(&bytes));
    prop_assert_eq!(&new.pool[..old.pool.len()], &old.pool[..]);
    prop_assert_eq!(&new.head, &old.head);
    prop_assert_eq!(&new.methods[0], &old.methods[0]);
    let (old_code, new_code) = (old.methods[1].3.as_ref(), new.methods[1].3.as_ref());
    let (old_code, new_code) = (old_code.unwrap(), new_code.unwrap());
    let full = program.shape == Shape::Full;
    prop_assert_eq!(
        new_code.max_locals,
        old_code.max_locals + if full { 2 } else { 0 }
    );
    let (old_steps, new_steps) = (
        steps(&class, &old_code.bytes),
        steps(&bytes, &new_code.bytes),
    );

    // Walks both, expecting hooks where they belong.
    let handlers: Vec<usize> = old_code
        .exceptions
        .iter()
        .map(|entry| entry[2].into())
        .collect();
    let mut at = 0;
    let hook = |at: &mut usize, wanted: &str| {
        let (name, len) = hook_call(&new, &new_steps, *at).expect("a hook");
        assert_eq!(name, wanted);
        *at += len;
    };
    prop_assert_eq!(pushed_number(&new, &new_steps[0]), program.number);
    hook(&mut at, if full { "enter" } else { "count" });
    at += usize::from(full);
    let mut places = BTreeMap::new();
    let mut instructions = BTreeMap::new();
    let mut islands = BTreeMap::new();
    let mut pairs = vec![];
    for step in &old_steps {
        while new_steps[at].opcode == 200 && !matches!(step.opcode, 167 | 200) {
            islands.insert(new_steps[at].pc, new_steps[at].targets[0]);
            at += 1;
        }
        places.insert(step.pc, new_steps[at].pc);
        if full && handlers.contains(&step.pc) {
            hook(&mut at, "repair");
        }
        if full && (172..=177).contains(&step.opcode) {
            hook(&mut at, "exit");
        }
        instructions.insert(step.pc, new_steps[at].pc);
        pairs.push((step, &new_steps[at]));
        at += 1;
    }
    for step in &new_steps[at..] {
        prop_assert_eq!(step.opcode, 200);
        islands.insert(step.pc, step.targets[0]);
    }
    places.insert(old_code.bytes.len(), new_code.bytes.len());

    for (old_step, new_step) in pairs {
        let same = old_step.opcode == new_step.opcode
            || (old_step.opcode, new_step.opcode) == (167, 200)
            || (old_step.opcode, new_step.opcode) == (168, 201);
        prop_assert!(same, "{old_step:?} {new_step:?}");
        prop_assert_eq!(&old_step.rest, &new_step.rest);
        let wanted: Vec<usize> = old_step
            .targets
            .iter()
            .map(|target| places[target])
            .collect();
        let via = |target: &usize| *islands.get(target).unwrap_or(target);
        let found: Vec<usize> = new_step.targets.iter().map(via).collect();
        prop_assert_eq!(wanted, found);
    }

    // Guards first, then the old entries.
    let guards = new_code.exceptions.len() - old_code.exceptions.len();
    for guard in &new_code.exceptions[..guards] {
        let handler = old_code.exceptions.iter().find(|entry| {
            places[&usize::from(entry[2])] == usize::from(guard[0]) && entry[3] == guard[3]
        });
        prop_assert!(handler.is_some(), "{guard:?}");
        prop_assert_eq!(guard[1], guard[2]);
    }
    for (old_entry, new_entry) in old_code
        .exceptions
        .iter()
        .zip(&new_code.exceptions[guards..])
    {
        for part in [0, 2] {
            let place = places[&usize::from(old_entry[part])];
            prop_assert_eq!(place, usize::from(new_entry[part]));
        }
        // Islands stand between the end of a range and the next instruction.
        let (end, next) = (
            usize::from(new_entry[1]),
            places[&usize::from(old_entry[1])],
        );
        let between: Vec<_> = (end..next).step_by(5).collect();
        prop_assert!(end <= next || between.iter().all(|pc| islands.contains_key(pc)));
        prop_assert_eq!(old_entry[3], new_entry[3]);
    }

    prop_assert_eq!(new_code.attribute("Custom"), old_code.attribute("Custom"));
    let lines = |code: &CodeView| -> Vec<(usize, u16)> {
        let content = code.attribute("LineNumberTable").unwrap();
        let entries = content[2..].chunks(4);
        entries
            .map(|entry| (Cursor(entry).u16().into(), Cursor(&entry[2..]).u16()))
            .collect()
    };
    let moved = |(pc, line): &(usize, u16)| (if *pc == 0 { 0 } else { places[pc] }, *line);
    let wanted: Vec<_> = lines(old_code).iter().map(moved).collect();
    prop_assert_eq!(wanted, lines(new_code));

    if program.major < 50 {
        let name = "StackMapTable";
        prop_assert_eq!(new_code.attribute(name), old_code.attribute(name));
        return Ok(());
    }
    let move_type = |&(tag, data): &FrameType| match tag {
        8 => (8, instructions[&usize::from(data)] as u16),
        _ => (tag, data),
    };
    let content = old_code.attribute("StackMapTable").unwrap();
    let mut wanted = vec![];
    // Classes of parameters may have been added, so the new pool is asked.
    for frame in frames(content, program.start_locals(&new)) {
        let mut locals: Vec<FrameType> = frame.locals.iter().map(move_type).collect();
        if full {
            let slot = |local: &FrameType| if matches!(local.0, 3 | 4) { 2 } else { 1 };
            let used: usize = locals.iter().map(slot).sum();
            locals.extend(vec![(0, 0); usize::from(program.max_locals) - used]);
            locals.push((4, 0));
        }
        let stack: Vec<FrameType> = frame.stack.iter().map(move_type).collect();
        let mut put = |pc| {
            wanted.push(Frame {
                pc,
                locals: locals.clone(),
                stack: stack.clone(),
            })
        };
        put(places[&frame.pc]);
        if let Some(guard) = new_code.exceptions[..guards]
            .iter()
            .find(|guard| usize::from(guard[0]) == places[&frame.pc])
        {
            put(guard[1].into());
        }
        for (&island, _) in islands
            .iter()
            .filter(|(_, target)| **target == places[&frame.pc])
        {
            put(island);
        }
    }
    wanted.sort_by_key(|frame| frame.pc);
    let found = frames(
        new_code.attribute("StackMapTable").unwrap(),
        program.start_locals(&new),
    );
    prop_assert_eq!(wanted, found);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn rewritten_code_is_the_old_with_hooks(program in program()) {
        prop_assume!(program.assemble().1.len() < 65_536);
        check(&program)?;
    }

    #[test]
    fn damaged_classes_do_no_harm(
        program in program(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut class = program.class();
        for (at, value) in changes {
            let at = at.index(class.len());
            class[at] = value;
        }
        if let Some(cut) = cut {
            class.truncate(cut.index(class.len()));
        }
        let mut rewriter = Rewriter::new();
        let done = rewriter.rewrite(&class, &HOOKS, &mut all(program.number, program.shape));
        if let Ok(done) = done {
            prop_assert!(done.bytes.len() < class.len() * 80 + (2 << 20));
        }
        let field = NewField { name: b"added", descriptor: b"J", access_flags: 2 };
        if let Ok(more) = add_fields(&class, &[field]) {
            prop_assert!(more.len() < class.len() + 100);
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0];
        class.extend(bytes);
        let mut rewriter = Rewriter::new();
        let _ = rewriter.rewrite(&class, &HOOKS, &mut all(0, Shape::Full));
        let _ = add_fields(&class, &[]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn long_branches_still_reach_their_targets(program in long_program()) {
        prop_assume!(program.assemble().1.len() < 65_536);
        check(&program)?;
    }
}
