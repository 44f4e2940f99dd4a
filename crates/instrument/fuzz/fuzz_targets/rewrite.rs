//! Any bytes may be given for a class: nothing panics, nothing loops, and what comes out can be
//! read again. Seeds are class files, as those of a JDK.

#![no_main]

use hprof_instrument::{
    AllocationHooks, ClassSkip, Hooks, Member, MethodHook, MethodInfo, MethodNumber, NewField, Rewriter, Shape,
    add_fields, call_for_calls, call_for_writes,
};
use libfuzzer_sys::fuzz_target;

const HOOKS: Hooks<'static> = Hooks {
    class: b"fuzz/Hooks",
    enter: b"enter",
    exit: b"exit",
    repair: b"repair",
    count: b"count",
};

const ALLOCATION_HOOKS: AllocationHooks<'static> = AllocationHooks {
    made: b"made",
    nested: b"nested",
    reflected: b"reflected",
    copied: b"copied",
};

fuzz_target!(|class: &[u8]| {
    let mut number = 0;
    let mut select = |method: &MethodInfo<'_>| {
        number += 997;
        let leaf = method.is_leaf() && !method.is_intrinsic_candidate();
        let shape = if leaf { Shape::CountOnly } else { Shape::Full };
        Some(MethodHook { number: MethodNumber(number), shape })
    };
    let mut rewriter = Rewriter::new();
    if let Ok(done) = rewriter.rewrite(class, &HOOKS, &mut select) {
        assert!(done.bytes.len() < class.len() * 80 + (2 << 20));
        let bytes = done.bytes.to_vec();
        let again = rewriter.rewrite(&bytes, &HOOKS, &mut select).err();
        assert_eq!(again, Some(ClassSkip::RefersToHooks));
        // A second set of hooks reads all that the first rewriting wrote.
        let others = Hooks { class: b"fuzz/Others", ..HOOKS };
        let _ = rewriter.rewrite(&bytes, &others, &mut select);
    }
    let mut of_allocations = |method: &MethodInfo<'_>| {
        let hook = MethodHook { number: MethodNumber(0), shape: Shape::Allocations };
        method.allocates().then_some(hook)
    };
    let mut rewriter = Rewriter::new().counting_allocations(ALLOCATION_HOOKS);
    if let Ok(done) = rewriter.rewrite(class, &HOOKS, &mut of_allocations) {
        let bytes = done.bytes.to_vec();
        let others = Hooks { class: b"fuzz/Others", ..HOOKS };
        let _ = rewriter.rewrite(&bytes, &others, &mut select);
    }
    let field = Member { class: b"A", name: b"a", descriptor: b"J" };
    let added = NewField { name: b"added", descriptor: b"J", access_flags: 2 };
    let _ = add_fields(class, &[added]);
    let setter = Member { class: b"S", name: b"set", descriptor: b"(LA;J)V" };
    let _ = call_for_writes(class, &field, &setter);
    let _ = call_for_calls(class, &field, &setter);
});
