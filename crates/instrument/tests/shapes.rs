//! The exact bytes of small methods made by hand, after rewriting.

mod common;

use common::*;
use hprof_instrument::{
    AllocationHooks, ClassSkip, Member, MethodHook, MethodInfo, MethodNumber, MethodSkip,
    NEWEST_MAJOR, NewField, Rewriter, Shape, add_fields, call_for_calls, call_for_writes,
};

fn class_of(descriptor: &str, code: &CodeSpec) -> Vec<u8> {
    let mut builder = ClassBuilder::new(52, "test/One");
    builder.method(9, "one", descriptor, Some(code));
    builder.build()
}

fn rewrite(class: &[u8], shape: Shape) -> ClassView {
    let mut rewriter = Rewriter::new();
    let done = rewriter.rewrite(class, &HOOKS, &mut all(7, shape));
    ClassView::parse(done.expect("rewritten").bytes)
}

fn code_of(view: &ClassView) -> &CodeView {
    view.methods[0].3.as_ref().unwrap()
}

fn skip_of(class: &[u8], shape: Shape) -> MethodSkip {
    let mut rewriter = Rewriter::new();
    let outcome = rewriter.rewrite(class, &HOOKS, &mut all(7, shape));
    assert_eq!(outcome, Err(ClassSkip::NothingHooked));
    let skipped = &rewriter.tally().skipped[0];
    assert_eq!(skipped.number.0, 7);
    skipped.reason
}

/// `iload_0; ifeq 0; try { nop } catch (any) { pop }; return`, with the frames it needs.
fn looping() -> CodeSpec {
    CodeSpec {
        max_stack: 1,
        max_locals: 1,
        bytes: vec![26, 153, 255, 255, 0, 177, 87, 177],
        exceptions: vec![[4, 5, 6, 0]],
        attributes: vec![
            ("StackMapTable", vec![0, 2, 0, 69, 5]),
            ("LineNumberTable", vec![0, 2, 0, 0, 0, 10, 0, 5, 0, 11]),
        ],
    }
}

#[test]
fn hooks_stand_where_they_belong() {
    let view = rewrite(&class_of("(I)V", &looping()), Shape::Full);
    let code = code_of(&view);
    #[rustfmt::skip]
    let (before, after) = code.bytes.split_at(12);
    // bipush 7; invokestatic enter; lstore_1; iload_0; ifeq to that iload_0; nop.
    assert_eq!(
        [before[0], before[1], before[2], before[5]],
        [16, 7, 184, 64]
    );
    assert_eq!(before[6..], [26, 153, 255, 255, 0, 31][..6]);
    assert_eq!(
        view.method_ref(u16::from_be_bytes([before[3], before[4]]))
            .1,
        "enter"
    );
    // lload_1 was the last of before; invokestatic exit; return.
    assert_eq!([after[0], after[3]], [184, 177]);
    assert_eq!(
        view.method_ref(u16::from_be_bytes([after[1], after[2]])).1,
        "exit"
    );
    // lload_1; bipush 7; invokestatic repair; pop; lload_1; invokestatic exit; return.
    assert_eq!(after[4..8], [31, 16, 7, 184]);
    let repair = view.method_ref(u16::from_be_bytes([after[8], after[9]]));
    assert_eq!((repair.1.as_str(), repair.2.as_str()), ("repair", "(JI)V"));
    assert_eq!(after[10..13], [87, 31, 184]);
    assert_eq!((code.max_stack, code.max_locals), (4, 3));
    // First the entry for exceptions of the repair hook, which continue after it; then the old
    // entry.
    assert_eq!(code.exceptions, [[16, 22, 22, 0], [10, 11, 16, 0]]);
    let lines = code.attribute("LineNumberTable").unwrap();
    assert_eq!(lines, [0, 2, 0, 0, 0, 10, 0, 11, 0, 11]);
    // append_frame of the long at 6; one exception on the stack at 16 and again at 22.
    let frames = code.attribute("StackMapTable").unwrap();
    assert_eq!(frames, [0, 3, 252, 0, 6, 4, 73, 5, 69, 5]);
}

#[test]
fn counting_only_moves_things() {
    let view = rewrite(&class_of("(I)V", &looping()), Shape::CountOnly);
    let code = code_of(&view);
    assert_eq!(code.bytes[5..], looping().bytes);
    assert_eq!((code.max_stack, code.max_locals), (1, 1));
    assert_eq!(code.exceptions, [[9, 10, 11, 0]]);
    assert_eq!(code.attribute("StackMapTable").unwrap(), [0, 2, 5, 69, 5]);
}

/// Constructors of value classes have such frames, where a branch comes before all fields are set.
#[test]
fn fields_that_are_not_set_yet_are_listed_before_their_frame() {
    let mut spec = looping();
    spec.attributes = vec![(
        "StackMapTable",
        vec![0, 2, 246, 0, 1, 0, 5, 0, 246, 0, 0, 69, 5],
    )];
    let frames = |shape| {
        let view = rewrite(&class_of("(I)V", &spec), shape);
        code_of(&view).attribute("StackMapTable").unwrap().to_vec()
    };
    let moved = [0, 2, 246, 0, 1, 0, 5, 5, 246, 0, 0, 69, 5];
    assert_eq!(frames(Shape::CountOnly), moved);
    // The second frame of a handler has the list of the first.
    let with_hooks = [0, 3, 246, 0, 1, 0, 5, 252, 0, 6, 4, 246, 0, 0, 73, 5, 69, 5];
    assert_eq!(frames(Shape::Full), with_hooks);
}

#[test]
fn frames_are_as_short_as_they_can_be() {
    let mut spec = CodeSpec {
        max_stack: 1,
        max_locals: 4,
        bytes: vec![0, 0, 0, 0, 0, 177],
        exceptions: vec![],
        // append of an int; same; chop of it; same.
        attributes: vec![("StackMapTable", vec![0, 4, 252, 0, 0, 1, 0, 250, 0, 0, 0])],
    };
    let frames = |spec: &CodeSpec, descriptor| {
        let view = rewrite(&class_of(descriptor, spec), Shape::Full);
        let string = (1..view.pool.len() as u16).find(|&index| {
            matches!(&view.pool[usize::from(index)], Some((7, _)))
                && view.class_name(index) == "missing/Type"
        });
        (
            code_of(&view).attribute("StackMapTable").unwrap().to_vec(),
            string,
        )
    };
    // Parameters take two of four locals, so int, an unused one and the long are appended.
    let (found, class) = frames(&spec, "(ILmissing/Type;)V");
    let class = class.expect("added since a full frame names it") as u8;
    #[rustfmt::skip]
    let wanted = [
        0, 4, 254, 0, 7, 1, 0, 4, 0,
        255, 0, 0, 0, 5, 1, 7, 0, class, 0, 0, 4, 0, 0, 0,
    ];
    assert_eq!(found, wanted);
    // With two more unused locals that is too much for an append_frame.
    spec.max_locals = 6;
    spec.attributes = vec![("StackMapTable", vec![0, 1, 0])];
    let (found, _) = frames(&spec, "(IJ)V");
    assert_eq!(found, [0, 1, 255, 0, 7, 0, 6, 1, 4, 0, 0, 0, 4, 0, 0]);
    // No class is added if none is named.
    spec.max_locals = 2;
    assert_eq!(
        frames(&spec, "(ILmissing/Type;)V"),
        (vec![0, 1, 252, 0, 6, 4], None)
    );
}

#[test]
fn limits_are_reasons() {
    let mut spec = CodeSpec {
        max_stack: 0,
        max_locals: 0,
        ..CodeSpec::default()
    };
    spec.bytes = vec![0; 65_535];
    *spec.bytes.last_mut().unwrap() = 177;
    assert_eq!(
        skip_of(&class_of("()V", &spec), Shape::Full),
        MethodSkip::CodeTooLarge
    );
    assert_eq!(
        skip_of(&class_of("()V", &spec), Shape::CountOnly),
        MethodSkip::CodeTooLarge
    );
    spec.bytes = vec![177];
    spec.max_locals = 65_534;
    assert_eq!(
        skip_of(&class_of("()V", &spec), Shape::Full),
        MethodSkip::FrameTooLarge
    );
    rewrite(&class_of("()V", &spec), Shape::CountOnly);
    spec.max_locals = 0;
    spec.max_stack = 65_534;
    assert_eq!(
        skip_of(&class_of("()V", &spec), Shape::Full),
        MethodSkip::FrameTooLarge
    );
    spec.max_stack = 0;
    spec.bytes = vec![203, 177];
    let unknown = MethodSkip::UnknownInstruction(203);
    assert_eq!(skip_of(&class_of("()V", &spec), Shape::Full), unknown);
    spec.bytes = vec![0, 177];
    // The last one is behind a list of no fields.
    for frame in [&[245][..], &[128], &[246, 0, 0, 246]] {
        spec.attributes = vec![("StackMapTable", [&[0, 1], frame].concat())];
        let kind = frame[frame.len() - 1];
        assert_eq!(
            skip_of(&class_of("()V", &spec), Shape::Full),
            MethodSkip::UnknownFrame(kind)
        );
    }
    spec.attributes.clear();
    spec.bytes = vec![167, 0, 1, 177];
    let skip = skip_of(&class_of("()V", &spec), Shape::Full);
    assert!(matches!(skip, MethodSkip::Malformed(_)), "{skip}");
}

#[test]
fn full_constant_pool_is_a_reason() {
    let mut builder = ClassBuilder::new(52, "test/One");
    let [high, low] = builder.field_ref("test/One", "size", "J").to_be_bytes();
    let code = CodeSpec {
        bytes: vec![181, high, low, 177],
        ..CodeSpec::default()
    };
    builder.method(9, "one", "()V", Some(&code));
    let mut count = 0;
    // The hooks need ten entries.
    while builder.entry(&[3, 0, 0, 0, 0]) < 65_534 - 9 {
        count += 1;
    }
    assert!(count > 65_000);
    assert_eq!(
        skip_of(&builder.build(), Shape::Full),
        MethodSkip::ConstantPoolFull
    );
    let field = NewField {
        name: b"added",
        descriptor: b"J",
        access_flags: 2,
    };
    assert!(add_fields(&builder.build(), &[field]).is_ok());
    assert_eq!(
        add_fields(&builder.build(), &[field; 5]),
        Err(ClassSkip::ConstantPoolFull)
    );
    // The call of a setter needs six.
    assert!(call_for_writes(&builder.build(), &SIZE, &SETTER).is_ok());
    while builder.entry(&[3, 0, 0, 0, 0]) < 65_534 - 5 {}
    assert_eq!(
        call_for_writes(&builder.build(), &SIZE, &SETTER),
        Err(ClassSkip::ConstantPoolFull)
    );
}

#[test]
fn some_methods_and_classes_are_never_hooked() {
    let empty = CodeSpec {
        bytes: vec![177],
        max_locals: 1,
        ..CodeSpec::default()
    };
    let one = |class: &str, method: &str| {
        let mut builder = ClassBuilder::new(52, class);
        builder.method(1, method, "()V", Some(&empty));
        builder.build()
    };
    let skip = |class, method| skip_of(&one(class, method), Shape::Full);
    assert_eq!(skip("java/lang/Object", "<init>"), MethodSkip::Reserved);
    assert_eq!(skip("java/lang/Thread", "<clinit>"), MethodSkip::Reserved);
    assert_eq!(skip("any/Class", "finalize"), MethodSkip::EmptyFinalizer);
    rewrite(&one("java/lang/Thread", "<init>"), Shape::Full);

    let mut rewriter = Rewriter::new();
    let mut class_skip = |class: &[u8]| {
        rewriter
            .rewrite(class, &HOOKS, &mut all(0, Shape::Full))
            .err()
    };
    assert_eq!(
        class_skip(&one("test/Hooks", "run")),
        Some(ClassSkip::RefersToHooks)
    );
    let unsafe_class = one("jdk/internal/misc/Unsafe", "run");
    assert_eq!(class_skip(&unsafe_class), Some(ClassSkip::UsedByHooks));
    assert!(matches!(class_skip(b"PK"), Some(ClassSkip::Malformed(_))));
    let again = Rewriter::new()
        .rewrite(&one("any/Class", "run"), &HOOKS, &mut all(0, Shape::Full))
        .map(|done| done.bytes.to_vec());
    let again = again.unwrap();
    assert_eq!(class_skip(&again), Some(ClassSkip::RefersToHooks));
    let mut accepting = Rewriter::new().accepting_names();
    let twice = accepting.rewrite(&again, &HOOKS, &mut all(0, Shape::Full));
    assert_eq!(twice.unwrap().tally.hooked, 1);
}

#[test]
fn classes_of_a_version_to_come_and_of_preview_features_are_checked_by_their_content() {
    let class = |(major, minor): (u16, u16), attribute: &'static str| {
        let code = CodeSpec {
            bytes: vec![177],
            max_locals: 1,
            attributes: vec![(attribute, vec![0, 0])],
            ..CodeSpec::default()
        };
        let mut builder = ClassBuilder::new(major, "any/Class");
        builder.minor = minor;
        builder.method(1, "run", "()V", Some(&code));
        builder.method(
            1,
            "plain",
            "()V",
            Some(&CodeSpec {
                attributes: Vec::new(),
                ..code
            }),
        );
        builder.build()
    };
    let hooked = |class: &[u8]| {
        let mut rewriter = Rewriter::new();
        let done = rewriter.rewrite(class, &HOOKS, &mut all(0, Shape::Full));
        let tally = done.unwrap().tally;
        let reasons = tally.skipped.iter().map(|skipped| skipped.reason);
        (tally.hooked, reasons.collect::<Vec<_>>())
    };
    // Preview features of a known release may bring attributes too.
    for version in [
        (NEWEST_MAJOR + 1, 0),
        (u16::MAX, 0),
        (NEWEST_MAJOR, 65535),
        (61, 65535),
    ] {
        assert_eq!(hooked(&class(version, "LineNumberTable")), (2, vec![]));
        let unknown = MethodSkip::UnknownAttribute(version.0);
        assert!(unknown.is_unknown());
        assert_eq!(hooked(&class(version, "Unheard")), (1, vec![unknown]));
    }
    assert_eq!(hooked(&class((NEWEST_MAJOR, 0), "Unheard")), (2, vec![]));
}

#[test]
fn methods_are_described_to_the_caller() {
    let mut builder = ClassBuilder::new(52, "test/One");
    builder.method(0x0101, "native", "()V", None);
    let mut leaf = looping();
    leaf.bytes = vec![26, 153, 0, 4, 0, 177, 87, 177];
    builder.method(9, "leaf", "(I)V", Some(&leaf));
    builder.method(9, "loop", "(I)V", Some(&looping()));
    let mut seen = vec![];
    let mut rewriter = Rewriter::new();
    let outcome = rewriter.rewrite(&builder.build(), &HOOKS, &mut |method: &MethodInfo<'_>| {
        let name = format!("{}.{}{}", method.class, method.name, method.descriptor);
        seen.push((name, method.code_len, method.first_line, method.is_leaf()));
        assert!(!method.is_intrinsic_candidate());
        None
    });
    assert_eq!(outcome, Err(ClassSkip::NothingHooked));
    assert_eq!(rewriter.tally().natives, 1);
    let expected = [("test/One.leaf(I)V", true), ("test/One.loop(I)V", false)];
    let expected = expected.map(|(name, is_leaf)| (name.to_owned(), 8, Some(10), is_leaf));
    assert_eq!(seen, expected);
}

#[test]
fn writes_of_a_field_become_calls() {
    let mut builder = ClassBuilder::new(52, "test/One");
    builder.field(2, "size", "J");
    let own = builder.field_ref("test/One", "size", "J").to_be_bytes();
    let other = builder.field_ref("test/Other", "size", "J").to_be_bytes();
    // aload_0; lload_1; putfield; aload_0; lload_1; putfield of another class; ldc_w with the bytes of a
    // putfield; putfield; return.
    let bytes = [
        [42, 31, 181, own[0], own[1]].to_vec(),
        [42, 31, 181, other[0], other[1]].to_vec(),
        [42, 20, 181, own[0], 181, own[0], own[1]].to_vec(),
        vec![177],
    ];
    let written = bytes.concat();
    let code = CodeSpec {
        max_stack: 3,
        max_locals: 3,
        bytes: written.clone(),
        ..CodeSpec::default()
    };
    builder.method(1, "<init>", "(J)V", Some(&code));
    builder.method(1, "one", "(I)V", Some(&looping()));
    builder.method(0x101, "two", "()V", None);
    let class = builder.build();
    let bytes = call_for_writes(&class, &SIZE, &SETTER).unwrap();
    let (old, new) = (ClassView::parse(&class), ClassView::parse(&bytes));
    assert_eq!(new.head, old.head);
    assert_eq!(new.methods[1..], old.methods[1..]);
    assert_eq!(new.pool[..old.pool.len()], old.pool);
    let mut expected = written.clone();
    let code = new.methods[0].3.as_ref().unwrap();
    for at in [2, 14] {
        let call: [u8; 3] = code.bytes[at..at + 3].try_into().unwrap();
        assert_eq!(call[0], 184);
        let setter = ["test/Two", "set", "(Ltest/One;J)V"].map(str::to_owned);
        let called = new.method_ref(u16::from_be_bytes([call[1], call[2]]));
        assert_eq!(called, setter.into());
        expected[at..at + 3].copy_from_slice(&call);
    }
    assert_eq!(code.bytes, expected);
    // There is no write left.
    let again = call_for_writes(&bytes, &SIZE, &SETTER);
    assert_eq!(again, Err(ClassSkip::NotWritten));
    rewrite(&bytes, Shape::Full);
}

#[test]
fn fields_are_added_behind_the_others() {
    let mut builder = ClassBuilder::new(52, "test/One");
    builder.field(2, "first", "I");
    builder.method(9, "one", "(I)V", Some(&looping()));
    let class = builder.build();
    let fields = [
        NewField {
            name: b"current",
            descriptor: b"J",
            access_flags: 0x1080,
        },
        NewField {
            name: b"first",
            descriptor: b"Ljava/lang/Object;",
            access_flags: 0,
        },
    ];
    let bytes = add_fields(&class, &fields).unwrap();
    let (old, new) = (ClassView::parse(&class), ClassView::parse(&bytes));
    assert_eq!(new.methods, old.methods);
    assert_eq!(new.pool[..old.pool.len()], old.pool);
    let count_at = 8;
    assert_eq!(old.head[count_at..count_at + 2], [0, 1]);
    assert_eq!(new.head[count_at..count_at + 2], [0, 3]);
    let mut added = Cursor(&new.head[old.head.len()..]);
    assert_eq!(
        new.head[count_at + 2..old.head.len()],
        old.head[count_at + 2..]
    );
    for field in fields {
        assert_eq!(added.u16(), field.access_flags);
        assert_eq!(new.utf8(added.u16()).as_bytes(), field.name);
        assert_eq!(new.utf8(added.u16()).as_bytes(), field.descriptor);
        assert_eq!(added.u16(), 0);
    }
    assert_eq!(
        add_fields(&bytes, &fields[..1]),
        Err(ClassSkip::FieldExists)
    );
    rewrite(&bytes, Shape::Full);
}

#[test]
fn calls_of_a_method_become_calls_of_another() {
    let mut builder = ClassBuilder::new(52, "test/One");
    let own = builder
        .method_ref("test/Store", "put", "(J)V")
        .to_be_bytes();
    let other = builder
        .method_ref("test/Store", "get", "(J)V")
        .to_be_bytes();
    // aload_0; lload_1; invokevirtual; aload_0; lload_1; invokevirtual of another method; the first by
    // invokespecial; return.
    let bytes = [
        [42, 31, 182, own[0], own[1]].to_vec(),
        [42, 31, 182, other[0], other[1]].to_vec(),
        [42, 31, 183, own[0], own[1], 177].to_vec(),
    ];
    let called = bytes.concat();
    let code = CodeSpec {
        max_stack: 3,
        max_locals: 3,
        bytes: called.clone(),
        ..CodeSpec::default()
    };
    builder.method(1, "run", "(J)V", Some(&code));
    let put = Member {
        class: b"test/Store",
        name: b"put",
        descriptor: b"(J)V",
    };
    let noted = Member {
        class: b"test/Two",
        name: b"note",
        descriptor: b"(Ltest/Store;J)V",
    };
    let bytes = call_for_calls(&builder.build(), &put, &noted).unwrap();
    let new = ClassView::parse(&bytes);
    let code = new.methods[0].3.as_ref().unwrap();
    let mut expected = called;
    let call: [u8; 3] = code.bytes[2..5].try_into().unwrap();
    assert_eq!(call[0], 184);
    let note = ["test/Two", "note", "(Ltest/Store;J)V"].map(str::to_owned);
    assert_eq!(
        new.method_ref(u16::from_be_bytes([call[1], call[2]])),
        note.into()
    );
    expected[2..5].copy_from_slice(&call);
    assert_eq!(code.bytes, expected);
    let again = call_for_calls(&bytes, &put, &noted);
    assert_eq!(again, Err(ClassSkip::NotWritten));
}

const ALLOCATION_HOOKS: AllocationHooks<'static> = AllocationHooks {
    made: b"made",
    nested: b"nested",
    reflected: b"reflected",
    copied: b"copied",
};

#[test]
fn code_calls_a_hook_with_each_array_and_copy() {
    let mut builder = ClassBuilder::new(52, "test/One");
    let clone = builder.method_ref("[I", "clone", "()Ljava/lang/Object;");
    let other = builder.method_ref("[I", "hashCode", "()I");
    let super_clone = builder.method_ref("java/lang/Object", "clone", "()Ljava/lang/Object;");
    let of = builder.class("[[I").to_be_bytes();
    let [clone, other, super_clone] = [clone, other, super_clone].map(u16::to_be_bytes);
    // iconst_3, newarray int, goto 8; at 6 nop, nop; at 8 the clone of an array, its hash, pop; iconst_3 twice,
    // multianewarray, pop; the own clone, pop; return.
    let code = [
        vec![6, 188, 10, 167, 0, 5, 0, 0],
        vec![182, clone[0], clone[1], 182, other[0], other[1], 87],
        vec![6, 6, 197, of[0], of[1], 2, 87],
        vec![42, 183, super_clone[0], super_clone[1], 87, 177],
    ];
    let code = CodeSpec {
        max_stack: 2,
        max_locals: 1,
        bytes: code.concat(),
        ..CodeSpec::default()
    };
    builder.method(1, "run", "()V", Some(&code));
    builder.method(1, "plain", "(I)V", Some(&looping()));
    let class = builder.build();
    let mut rewriter = Rewriter::new().counting_allocations(ALLOCATION_HOOKS);
    let mut select = |method: &MethodInfo<'_>| {
        let number = MethodNumber(0);
        let shape = Shape::Allocations;
        method.allocates().then_some(MethodHook { number, shape })
    };
    let done = rewriter.rewrite(&class, &HOOKS, &mut select).unwrap();
    assert_eq!(done.tally.hooked, 1);
    let (old, new) = (ClassView::parse(&class), ClassView::parse(done.bytes));
    assert_eq!(new.methods[1], old.methods[1]);
    let code = new.methods[0].3.as_ref().unwrap();
    let called = |at: usize| {
        assert_eq!(code.bytes[at..at + 2], [89, 184], "dup, invokestatic");
        let method = u16::from_be_bytes([code.bytes[at + 2], code.bytes[at + 3]]);
        new.method_ref(method).1
    };
    assert_eq!(called(3), "made");
    // The branch leads over the hook of the first array to the clone.
    assert_eq!(code.bytes[7..10], [167, 0, 5]);
    assert_eq!(called(15), "made");
    assert_eq!(code.bytes[19], 182);
    assert_eq!(called(29), "nested");
    assert_eq!(called(38), "reflected");
    assert_eq!(code.bytes.len(), 44);
}

#[test]
fn the_constructor_of_object_calls_a_hook() {
    let empty = CodeSpec {
        bytes: vec![177],
        max_locals: 1,
        ..CodeSpec::default()
    };
    let mut builder = ClassBuilder::new(52, "java/lang/Object");
    builder.method(1, "<init>", "()V", Some(&empty));
    let class = builder.build();
    let mut rewriter = Rewriter::new().counting_allocations(ALLOCATION_HOOKS);
    let done = rewriter
        .rewrite(&class, &HOOKS, &mut all(0, Shape::Allocations))
        .unwrap();
    let view = ClassView::parse(done.bytes);
    let code = code_of(&view);
    // aload_0, invokestatic made, return.
    assert_eq!(
        (code.bytes[..2].to_vec(), code.bytes[4]),
        (vec![42, 184], 177)
    );
    assert_eq!(code.max_stack, 1);
}
