//! Properties that hold for any code: the rewritten method is the old one with hooks between.

mod bytecode;
#[path = "../common/mod.rs"]
mod common;
mod generator;

use std::collections::BTreeMap;

use bytecode::*;
use common::*;
use generator::*;
use hprof_instrument::{NewField, Rewriter, Shape, add_fields, call_for_writes};
use proptest::prelude::*;

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

/// A class that writes [`SIZE`].
fn writing() -> Vec<u8> {
    let mut builder = ClassBuilder::new(52, "test/One");
    let [high, low] = builder.field_ref("test/One", "size", "J").to_be_bytes();
    let code = CodeSpec {
        max_stack: 3,
        max_locals: 3,
        // aload_0; lload_1; putfield; return.
        bytes: vec![42, 31, 181, high, low, 177],
        ..CodeSpec::default()
    };
    builder.method(1, "set", "(J)V", Some(&code));
    builder.build()
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
    fn damaged_writes_do_no_harm(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut class = writing();
        for (at, value) in &damage {
            let at = at.index(class.len());
            class[at] = *value;
        }
        if let Some(cut) = cut {
            class.truncate(cut.index(class.len()));
        }
        match call_for_writes(&class, &SIZE, &SETTER) {
            Ok(more) => prop_assert!(more.len() < class.len() + 100),
            Err(_) => prop_assert!(!damage.is_empty() || cut.is_some()),
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0];
        class.extend(bytes);
        let mut rewriter = Rewriter::new();
        let _ = rewriter.rewrite(&class, &HOOKS, &mut all(0, Shape::Full));
        let _ = call_for_writes(&class, &SIZE, &SETTER);
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
