//! Descriptions of what is in the heap.

use crate::binary::{BasicType, IdSize, Value};
use crate::ids::{ObjectId, ThreadSerial, TraceSerial};

/// How much a heap dump holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapTotals {
    /// The number of objects and arrays that the dump lists.
    pub objects: u64,
    /// The sum of their sizes in bytes.
    pub bytes: u64,
}

/// A reason why an object is kept alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Root {
    /// The object; null in one root of the JDK's agent, the stand-in for the unknown thread.
    pub object: ObjectId,
    /// The reason.
    pub kind: RootKind,
}

/// The kinds of roots.
///
/// A frame counts from the top of the thread's trace, where 0 is the innermost; `None` means
/// that there is no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RootKind {
    /// Not known.
    Unknown,
    /// A global JNI reference.
    JniGlobal {
        /// The address of the reference, or a running number.
        reference: u64,
    },
    /// A local JNI reference.
    JniLocal {
        /// The thread.
        thread: ThreadSerial,
        /// The frame.
        frame: Option<u32>,
    },
    /// A local variable or operand of a Java method.
    JavaFrame {
        /// The thread.
        thread: ThreadSerial,
        /// The frame.
        frame: Option<u32>,
    },
    /// A native stack.
    NativeStack {
        /// The thread.
        thread: ThreadSerial,
    },
    /// A class that cannot be unloaded.
    StickyClass,
    /// An object a thread blocks on.
    ThreadBlock {
        /// The thread.
        thread: ThreadSerial,
    },
    /// A monitor in use.
    MonitorUsed,
    /// A thread that lives.
    ThreadObject {
        /// The thread's serial.
        thread: ThreadSerial,
        /// The trace at which the thread was started, or its present stack.
        trace: TraceSerial,
    },
    /// Android: an interned string.
    InternedString,
    /// Android: an object about to be finalized.
    Finalizing,
    /// Android: an object a debugger holds.
    Debugger,
    /// Android: an object about to be cleaned up.
    ReferenceCleanup,
    /// Android: an object the VM holds.
    VmInternal,
    /// Android: a monitor locked from native code.
    JniMonitor {
        /// The thread.
        thread: ThreadSerial,
        /// The frame.
        frame: Option<u32>,
    },
}

/// A root with what the text format tells beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRoot<'a> {
    /// The root.
    pub root: Root,
    /// Where the object was allocated; shown with global JNI references.
    pub trace: TraceSerial,
    /// The name of the class that the object represents, or else of the object's class, as Java
    /// source has it; shown with sticky classes.
    pub class_name: &'a str,
}

/// A field with its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeapField<'a> {
    /// The name.
    pub name: &'a str,
    /// The value.
    pub value: Value,
}

/// A field without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapFieldType<'a> {
    /// The name.
    pub name: &'a str,
    /// The type.
    pub basic_type: BasicType,
}

/// How much room the fields of an object take, whatever the width of identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstanceLayout {
    /// The number of references.
    pub references: u32,
    /// The sum of the widths of all other fields, in bytes.
    pub primitive_bytes: u32,
}

impl InstanceLayout {
    /// Adds one field.
    pub fn add(&mut self, basic_type: BasicType) {
        match basic_type {
            BasicType::Object => self.references = self.references.saturating_add(1),
            other => {
                let width = other.width(IdSize::Eight) as u32;
                self.primitive_bytes = self.primitive_bytes.saturating_add(width);
            }
        }
    }

    /// The bytes that the fields take in a file.
    pub fn bytes(&self, id_size: IdSize) -> u64 {
        u64::from(self.references) * id_size.bytes() as u64 + u64::from(self.primitive_bytes)
    }
}

/// A class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeapClass<'a> {
    /// The class object.
    pub class: ObjectId,
    /// The name, as Java source has it.
    pub name: &'a str,
    /// Where it was loaded.
    pub trace: TraceSerial,
    /// The super class, or null.
    pub super_class: ObjectId,
    /// The class loader, or null.
    pub loader: ObjectId,
    /// The signers, or null.
    pub signers: ObjectId,
    /// The protection domain, or null.
    pub domain: ObjectId,
    /// All fields of an instance, inherited ones included; nothing for interfaces and arrays.
    pub instance: InstanceLayout,
    /// The entries of the constant pool that are resolved to objects, by index.
    pub constants: &'a [(u16, ObjectId)],
    /// The static fields that the class itself declares.
    pub statics: &'a [HeapField<'a>],
    /// The instance fields that the class itself declares, in the order of the values of its
    /// instances.
    pub fields: &'a [HeapFieldType<'a>],
}

/// An object that is no array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeapInstance<'a> {
    /// The object.
    pub object: ObjectId,
    /// The size in bytes that the VM reports.
    pub size: u64,
    /// Where it was allocated.
    pub trace: TraceSerial,
    /// Its class.
    pub class: ObjectId,
    /// The name of the class, as Java source has it.
    pub class_name: &'a str,
    /// All fields, one list per class: those that the object's own class declares first, then
    /// those of its super class, and so on up.
    pub fields: &'a [&'a [HeapField<'a>]],
}

/// An array of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapObjectArray<'a> {
    /// The array.
    pub array: ObjectId,
    /// The size in bytes that the VM reports.
    pub size: u64,
    /// Where it was allocated.
    pub trace: TraceSerial,
    /// The class of the array, not of its elements.
    pub class: ObjectId,
    /// The name of that class, as Java source has it: `java.lang.String[]`.
    pub class_name: &'a str,
    /// All elements, nulls included.
    pub elements: &'a [ObjectId],
}

/// An array of a primitive type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeapPrimitiveArray<'a> {
    /// The array.
    pub array: ObjectId,
    /// The size in bytes that the VM reports.
    pub size: u64,
    /// Where it was allocated.
    pub trace: TraceSerial,
    /// The elements.
    pub values: PrimitiveValues<'a>,
}

/// The elements of a primitive array, as they lie in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrimitiveValues<'a> {
    /// One byte each, 0 or 1.
    Boolean(&'a [u8]),
    /// UTF-16 units.
    Char(&'a [u16]),
    /// Floats.
    Float(&'a [f32]),
    /// Doubles.
    Double(&'a [f64]),
    /// Bytes.
    Byte(&'a [i8]),
    /// Shorts.
    Short(&'a [i16]),
    /// Ints.
    Int(&'a [i32]),
    /// Longs.
    Long(&'a [i64]),
    /// The elements were not collected; such an array has none in the binary format.
    Omitted {
        /// Their type.
        element: BasicType,
        /// Their number.
        length: usize,
    },
}

impl PrimitiveValues<'_> {
    /// The type of the elements.
    pub fn element(&self) -> BasicType {
        match self {
            Self::Boolean(_) => BasicType::Boolean,
            Self::Char(_) => BasicType::Char,
            Self::Float(_) => BasicType::Float,
            Self::Double(_) => BasicType::Double,
            Self::Byte(_) => BasicType::Byte,
            Self::Short(_) => BasicType::Short,
            Self::Int(_) => BasicType::Int,
            Self::Long(_) => BasicType::Long,
            Self::Omitted { element, .. } => *element,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Boolean(values) => values.len(),
            Self::Char(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Byte(values) => values.len(),
            Self::Short(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Long(values) => values.len(),
            Self::Omitted { length, .. } => *length,
        }
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
