//! Why a class or a method was left as it was.

use thiserror::Error;

/// The bytes do not follow the class-file format where this crate has to understand them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

impl Malformed {
    pub(crate) const TRUNCATED: Malformed = Malformed("ends too early");

    /// The violated rule, in a few words.
    pub fn what(&self) -> &'static str {
        self.0
    }
}

/// Why a whole class was left as it was. None of these is a failure of the program under profile:
/// the class is loaded with the bytes it came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClassSkip {
    /// No method was chosen, or every chosen one had to be skipped.
    #[error("no method to hook")]
    NothingHooked,
    /// A constant-pool tag this crate does not know; the size of such an entry is unknown too.
    #[error("unknown constant-pool tag {0}")]
    UnknownConstant(u8),
    /// Too few free constant-pool entries for the hooks' own references (65,534 is the limit).
    #[error("constant pool full")]
    ConstantPoolFull,
    /// The hook class itself, or a class that refers to it already: a helper of the hooks, or a
    /// class rewritten before.
    #[error("part of the hooks, or hooked before")]
    RefersToHooks,
    /// `jdk.internal.misc.Unsafe` and `sun.misc.Unsafe`, through which the hooks reach their
    /// memory: hooking them would recurse.
    #[error("used by the hooks")]
    UsedByHooks,
    /// Not a class file, or a damaged one; the VM will say so itself.
    #[error("malformed class file: {0}")]
    Malformed(#[from] Malformed),
    /// A field that should be added exists already.
    #[error("a field of that name and type exists")]
    FieldExists,
    /// A field whose writes should be replaced is nowhere written, or a method whose calls should be is nowhere called.
    #[error("no such write or call")]
    NotWritten,
}

/// Why one chosen method was left as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MethodSkip {
    /// With the hooks the code would be longer than the 65,535 bytes a method may have
    /// (Java Virtual Machine Specification 4.7.3).
    #[error("code would exceed 65,535 bytes")]
    CodeTooLarge,
    /// Its locals, its operand stack or its exception table cannot grow any more.
    #[error("locals, stack or exception table at their limit")]
    FrameTooLarge,
    /// A conditional branch became longer than 32 KiB and no place for an island was in reach.
    #[error("branch too far")]
    BranchTooFar,
    /// No free constant-pool entry for its number or for a class named in its stack maps.
    #[error("constant pool full")]
    ConstantPoolFull,
    /// A stack map frame of a kind this crate does not know.
    #[error("unknown stack map frame {0}")]
    UnknownFrame(u8),
    /// An instruction this crate does not know.
    #[error("unknown instruction {0:#04x}")]
    UnknownInstruction(u8),
    /// An attribute of the code this crate does not know, in a class-file version that it does not know either or that has
    /// preview features.
    #[error("unknown attribute of code in class-file version {0}")]
    UnknownAttribute(u16),
    /// The code or one of its tables is damaged.
    #[error("malformed code: {0}")]
    Malformed(#[from] Malformed),
    /// `java.lang.Object.<init>` and `java.lang.Thread.<clinit>`: the first is called by every
    /// constructor, the second runs before the VM can tell the current thread.
    #[error("reserved")]
    Reserved,
    /// An empty `finalize()`. The VM registers an object for finalization when its class has a
    /// `finalize` that is not empty, so hooks would turn every object into a finalizable one.
    #[error("empty finalizer")]
    EmptyFinalizer,
}

impl ClassSkip {
    /// Returns whether the class has something that this crate does not know, as a later release or a preview feature may
    /// bring.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::UnknownConstant(_))
    }
}

impl MethodSkip {
    /// Returns whether the method has something that this crate does not know, as a later release or a preview feature may
    /// bring.
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::UnknownFrame(_) | Self::UnknownInstruction(_) | Self::UnknownAttribute(_)
        )
    }
}
