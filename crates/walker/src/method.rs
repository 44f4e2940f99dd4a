//! Methods, and their ids.
//!
//! ```text
//! Method ─► ConstMethod ─► ConstantPool ─► InstanceKlass ─► ids │ length │ id 0 │ id 1 │ ...
//!               └ number of the method ──────────────────────────────────────►│
//! ```
//!
//! The id is taken from where the VM keeps it (`Method::find_jmethod_id_or_null`). The VM creates ids when it is
//! asked for them, outside of handlers. An id is the address of a word before JDK 26 and a number since (JDK-8268406); nothing
//! here looks behind it. An address is proven to be a method's by the way back: its class has it among its methods.

use crate::layout::MethodLayout;
use crate::memory::{Memory, WORD};

/// The location of frames in native methods.
pub const NATIVE: i32 = -3;

/// The id of a method; `None` when the address is no method's, 0 when the method has none.
pub(crate) fn id<M: Memory>(memory: &M, layout: &MethodLayout, method: usize) -> Option<usize> {
    let constant = pointer(memory, method, layout.constant)?;
    let pool = pointer(memory, constant, layout.pool)?;
    let holder = pointer(memory, pool, layout.holder)?;
    let number = usize::from(memory.short(constant, layout.number)?);
    let ids = memory.word(holder, layout.ids)?;
    if ids == 0 || !ids.is_multiple_of(WORD) {
        return Some(0);
    }
    if number >= memory.word(ids, 0)? {
        return Some(0);
    }
    let offset = number.checked_add(1)?.checked_mul(WORD)?;
    memory.word(ids, offset)
}

/// True if the class of a method has it, which proves that the address is a method's. False for versions that were redefined:
/// the class has their successors.
pub(crate) fn is_of_its_class<M: Memory>(memory: &M, layout: &MethodLayout, method: usize) -> bool {
    let in_class = || {
        let constant = pointer(memory, method, layout.constant)?;
        let pool = pointer(memory, constant, layout.pool)?;
        let holder = pointer(memory, pool, layout.holder)?;
        let number = usize::from(memory.short(constant, layout.number)?);
        let methods = pointer(memory, holder, layout.methods)?;
        if number >= usize::try_from(memory.int(methods, 0)?).ok()? {
            return None;
        }
        let offset = number.checked_mul(WORD)?.checked_add(layout.array_data)?;
        memory.word(methods, offset)
    };
    in_class() == Some(method)
}

/// Returns whether a method is native; `None` when it cannot be read.
pub(crate) fn is_native<M: Memory>(
    memory: &M,
    layout: &MethodLayout,
    method: usize,
) -> Option<bool> {
    Some(memory.short(method, layout.access_flags)? & layout.native_flag != 0)
}

/// The index of a bytecode in its method; `None` when the address is not in the method's bytecode.
pub(crate) fn bytecode_index<M: Memory>(
    memory: &M,
    layout: &MethodLayout,
    method: usize,
    bytecode: usize,
) -> Option<i32> {
    let constant = pointer(memory, method, layout.constant)?;
    let start = constant.checked_add(layout.constant_size)?;
    let index = bytecode.checked_sub(start)?;
    let size = usize::from(memory.short(constant, layout.code_size)?);
    (index < size).then_some(i32::try_from(index).ok()?)
}

/// The address in a field, if it may be one of the VM's structures.
fn pointer<M: Memory>(memory: &M, base: usize, offset: usize) -> Option<usize> {
    /// No structure lies below.
    const LOWEST: usize = 4096;
    if base < LOWEST || !base.is_multiple_of(WORD) {
        return None;
    }
    let found = memory.word(base, offset)?;
    (found >= LOWEST && found.is_multiple_of(WORD)).then_some(found)
}
