//! Fields that HotSpot omits from dumps for a few JDK classes, on which their sizes depend.
//!
//! The VM gives some classes fields of its own (`*_INJECTED_FIELDS` in `javaClasses.hpp`) and
//! keeps what is marked `@Contended` 128 bytes apart from other fields (JEP 142,
//! `ContendedPaddingWidth`). Which, depends on the release, which a dump does not name; so the
//! fields that a class has tell. Found out, and compared with `jcmd PID GC.class_histogram` for
//! all classes of `java.base`, on JDK 11, 17, 21 and 25; on 26 to 28 for the classes of the test programs.

use hprof_format::binary::BasicType::{self, Boolean, Byte, Int, Long, Object, Short};
use hprof_format::ids::ObjectId;
use rustc_hash::FxHashMap;

use super::class_shape::ClassShape;
use crate::names::Names;

/// The bytes between fields that are to lie in different cache lines.
pub(super) const PADDING: u64 = 128;

/// HotSpot's pointers in objects are as wide as a `long` on VMs of 64 bits.
const POINTER: BasicType = Long;

/// The omitted fields of one class.
#[derive(Debug, Clone, Default)]
pub(super) struct NotTold {
    /// Fields that are not dumped.
    pub fields: &'static [BasicType],
    /// All fields are kept apart from those of other classes.
    pub is_contended: bool,
    /// By dumped field: whether it belongs to a group that is kept apart from all others.
    pub is_in_group: Box<[bool]>,
}

/// A row of the table of omitted fields.
#[derive(Clone, Copy)]
struct Hidden {
    fields: &'static [BasicType],
    is_contended: bool,
    group: &'static [&'static str],
}

/// Which classes of a name are meant.
enum When {
    Always,
    /// It declares this field.
    Has(&'static str),
    /// It does not declare this field.
    Lacks(&'static str),
    /// The VM is of JDK 15 or later.
    New,
    /// It does not declare this field, and the VM is of JDK 15 or later.
    NewLacks(&'static str),
    /// The VM is older than JDK 15.
    Old,
    /// The VM is of JDK 8 or later: classes lie outside of the heap (JEP 122).
    SinceMetaspace,
    /// The VM is of JDK 27 or later.
    Since27,
}
use When::{Always, Has, Lacks, New, NewLacks, Old, Since27, SinceMetaspace};

const fn fields(fields: &'static [BasicType]) -> Hidden {
    Hidden {
        fields,
        is_contended: false,
        group: &[],
    }
}

const fn group(group: &'static [&'static str]) -> Hidden {
    Hidden {
        fields: &[],
        is_contended: false,
        group,
    }
}

const CONTENDED: Hidden = Hidden {
    fields: &[],
    is_contended: true,
    group: &[],
};

/// The first row that fits a class is taken.
const TABLE: &[(&str, When, Hidden)] = &[
    ("java/lang/ClassLoader", SinceMetaspace, fields(&[POINTER])),
    ("java/lang/ClassLoader", Always, fields(&[])),
    // While threads were not virtual (JEP 425) their random seeds were kept apart.
    (
        "java/lang/Thread",
        Has("holder"),
        fields(&[POINTER, Int, Boolean, Short]),
    ),
    (
        "java/lang/Thread",
        Always,
        group(&[
            "threadLocalRandomSeed",
            "threadLocalRandomProbe",
            "threadLocalRandomSecondarySeed",
        ]),
    ),
    (
        "java/lang/VirtualThread",
        Has("onWaitingList"),
        fields(&[POINTER]),
    ),
    ("java/lang/InternalError", New, fields(&[Boolean])),
    ("java/lang/Module", Always, fields(&[POINTER])),
    ("java/lang/StackFrameInfo", Always, fields(&[Short])),
    // The epoch in which the Flight Recorder has seen a final field change (JEP 500).
    ("java/lang/reflect/Field", Since27, fields(&[Int])),
    (
        "java/lang/invoke/MemberName",
        Has("method"),
        fields(&[POINTER]),
    ),
    (
        "java/lang/invoke/MemberName",
        Always,
        fields(&[POINTER, POINTER]),
    ),
    (
        "java/lang/invoke/ResolvedMethodName",
        Has("vmholder"),
        fields(&[POINTER]),
    ),
    (
        "java/lang/invoke/ResolvedMethodName",
        Always,
        fields(&[POINTER, Object]),
    ),
    (
        "java/lang/invoke/MethodHandleNatives$CallSiteContext",
        New,
        fields(&[POINTER, Long]),
    ),
    (
        "java/lang/invoke/MethodHandleNatives$CallSiteContext",
        Always,
        fields(&[POINTER]),
    ),
    (
        "java/lang/invoke/CallSite",
        NewLacks("context"),
        fields(&[POINTER, Long]),
    ),
    (STACK_CHUNK, Always, fields(&[POINTER, Object, Int, Byte])),
    (
        "java/util/concurrent/ConcurrentHashMap$CounterCell",
        Always,
        CONTENDED,
    ),
    (
        "java/util/concurrent/Exchanger$Node",
        Has("bound"),
        CONTENDED,
    ),
    ("java/util/concurrent/Exchanger$Slot", Always, CONTENDED),
    (
        "java/util/concurrent/atomic/Striped64$Cell",
        Always,
        CONTENDED,
    ),
    (
        "java/util/concurrent/SubmissionPublisher$BufferedSubscription",
        Always,
        Hidden {
            fields: &[],
            is_contended: true,
            group: &["demand", "waiting"],
        },
    ),
    (
        "java/util/concurrent/ForkJoinPool",
        Always,
        group(&["ctl", "parallelism"]),
    ),
    (
        "java/util/concurrent/ForkJoinPool$WorkQueue",
        Old,
        CONTENDED,
    ),
    (
        "java/util/concurrent/ForkJoinPool$WorkQueue",
        Has("parking"),
        group(&["top", "phase", "stackPred", "source", "nsteals", "parking"]),
    ),
    (
        "java/util/concurrent/ForkJoinPool$WorkQueue",
        Has("access"),
        group(&["top", "access", "phase", "source", "nsteals"]),
    ),
    (
        "java/util/concurrent/ForkJoinPool$WorkQueue",
        Lacks("parking"),
        group(&["top", "source", "nsteals"]),
    ),
];

/// The stack of a virtual thread that is not running, as an object (JEP 444).
const STACK_CHUNK: &str = "jdk/internal/vm/StackChunk";

/// The omitted fields of the classes of one dump.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    pub not_told: FxHashMap<ObjectId, NotTold>,
    /// `java.lang.ClassLoader`.
    pub loader: Option<ObjectId>,
    /// Fields of a group fill the gap that the first of them leaves, as on JDK 27 and later.
    pub groups_fill_gaps: bool,
}

/// Finds the classes of the table. `is_new` tells that the VM is of JDK 15 or later.
pub(super) fn classes(
    shapes: &FxHashMap<ObjectId, ClassShape>,
    names: &Names,
    is_new: bool,
) -> Classes {
    // `java.lang.VirtualThread` has had this field since JDK 27.
    let is_since_27 = shapes.iter().any(|(&class, shape)| {
        let mut fields = shape.fields.iter();
        names.class_is(class, "java/lang/VirtualThread")
            && fields.any(|&(field, _)| names.string_is(field, "notifyAllAfterTerminate"))
    });
    let mut classes = Classes {
        groups_fill_gaps: is_since_27,
        ..Classes::default()
    };
    // `java.lang.Class` has had a field `annotationData` since JDK 8.
    let has_metaspace = !shapes.iter().any(|(&class, shape)| {
        let mut fields = shape.fields.iter();
        names.class_is(class, "java/lang/Class")
            && !shape.fields.is_empty()
            && !fields.any(|&(field, _)| names.string_is(field, "annotationData"))
    });
    for (&class, shape) in shapes.iter().filter(|(_, shape)| shape.loader.is_null()) {
        let has = |wanted| {
            let mut fields = shape.fields.iter();
            fields.any(|&(field, _)| names.string_is(field, wanted))
        };
        let row = TABLE.iter().find(|(name, when, _)| {
            names.class_is(class, name)
                && match *when {
                    Always => true,
                    Has(field) => has(field),
                    Lacks(field) => !has(field),
                    New => is_new,
                    NewLacks(field) => is_new && !has(field),
                    Old => !is_new,
                    SinceMetaspace => has_metaspace,
                    Since27 => is_since_27,
                }
        });
        if let Some(&(name, _, hidden)) = row {
            let is_in_group = |&(field, _): &_| {
                let mut group = hidden.group.iter();
                group.any(|name| names.string_is(field, name))
            };
            let not_told = NotTold {
                fields: hidden.fields,
                is_contended: hidden.is_contended,
                is_in_group: shape.fields.iter().map(is_in_group).collect(),
            };
            classes.not_told.insert(class, not_told);
            if name == "java/lang/ClassLoader" {
                classes.loader = Some(class);
            }
        }
    }
    classes
}

/// True if a class is that of the stacks of virtual threads, which are larger than their fields.
pub(crate) fn is_stack_chunk(name: &[u8]) -> bool {
    name == STACK_CHUNK.as_bytes()
}

/// The words of the stack that a chunk holds, from the values of its fields.
#[inline]
pub(crate) fn stack_words(values: &[u8], id_bytes: usize) -> Option<u32> {
    // The fields are `parent`, a reference, then `size`.
    let words = values.get(id_bytes..id_bytes + 4)?;
    Some(u32::from_be_bytes(words.try_into().ok()?))
}

/// The bytes of a chunk for its stack, and after it for a bit per place of a reference
/// (`InstanceStackChunkKlass::instance_size`).
pub(crate) const fn stack_bytes(words: u32, reference: u64) -> u64 {
    let words = words as u64;
    let bits = words * (8 / reference);
    8 * (words + bits.div_ceil(64))
}
