//! The methods at an address of compiled code: the method itself and what is inlined there.
//!
//! ```text
//! PcDesc     │ pc 16, scope ─┐ │ pc 40, scope │ pc 52, scope │ ...      sorted by pc
//!                            ▼
//! scopes     │ sender scope │ method │ bytecode index + 1 │ ...          compressed numbers
//!                  └► the scope that this one is inlined into; 0 for none
//! ```
//!
//! # The nearest record
//!
//! A record describes the code that ends at its pc. A return address has a record of its own, the call's. For
//! an interrupted program counter, the first record at or after it counts. A record exactly there ended with the
//! instruction before. That instruction is the one to charge: the processor takes interrupts when an instruction
//! retires, so the one before has used the time.

use crate::code::{Blob, start};
use crate::compressed::Numbers;
use crate::layout::{Metadata, NmethodLayout};
use crate::memory::{Memory, WORD};

/// Scopes that may be inlined into each other: more than any compiler does.
const MAX_INLINED: u32 = 512;
/// Records of a method: more than any has.
const MAX_RECORDS: usize = 1 << 24;

/// Calls `found` with method and bytecode index of each frame at `pc`, innermost first, until it returns false.
/// `None` when there is no record.
pub(crate) fn frames<M: Memory>(
    memory: &M,
    layout: &NmethodLayout,
    blob: &Blob,
    pc: usize,
    mut found: impl FnMut(usize, i32) -> bool,
) -> Option<()> {
    let immutable = immutable(memory, layout, blob)?;
    let (_, scope) = record(memory, layout, blob, immutable, pc)?;
    let mut scope = usize::try_from(scope).ok()?;
    if scope == 0 {
        return None;
    }
    let data = start(
        memory,
        layout.scopes_data,
        blob.address,
        blob.code,
        immutable,
    )?;
    let metadata = metadata(memory, layout, blob)?;
    for _ in 0..MAX_INLINED {
        let mut numbers = Numbers::new(memory, data.checked_add(scope)?, layout.excluded_byte);
        let sender = numbers.next()?;
        let method = usize::try_from(numbers.next()?).ok()?.checked_sub(1)?;
        // Stored with 1 added, since the entry of a method is -1.
        let index = i64::from(numbers.next()?).wrapping_sub(1);
        let method = memory.word(metadata, method.checked_mul(WORD)?)?;
        if !found(method, i32::try_from(index.max(0)).ok()?) || sender == 0 {
            return Some(());
        }
        // Scopes are written outermost first.
        let sender = usize::try_from(sender).ok()?;
        if sender >= scope {
            return None;
        }
        scope = sender;
    }
    None
}

/// Returns whether the return address `pc` has a record of its own.
pub(crate) fn has_record<M: Memory>(
    memory: &M,
    layout: &NmethodLayout,
    blob: &Blob,
    pc: usize,
) -> Option<bool> {
    let immutable = immutable(memory, layout, blob)?;
    let (end, _) = record(memory, layout, blob, immutable, pc)?;
    Some(blob.code.checked_add(usize::try_from(end).ok()?)? == pc)
}

/// The end and the scope of the first record at `pc` or after it.
fn record<M: Memory>(
    memory: &M,
    layout: &NmethodLayout,
    blob: &Blob,
    immutable: usize,
    pc: usize,
) -> Option<(i32, i32)> {
    let offset = |field| usize::try_from(memory.int(blob.address, field)?).ok();
    let first = immutable.checked_add(offset(layout.scopes_pcs)?)?;
    let end = immutable.checked_add(offset(layout.scopes_pcs_end)?)?;
    let wanted = i32::try_from(pc.checked_sub(blob.code)?).ok()?;
    let desc = layout.pc_desc;
    let count = end.checked_sub(first)?.checked_div(desc.size)?;
    if count > MAX_RECORDS {
        return None;
    }
    let at = |index: usize| first.checked_add(index.checked_mul(desc.size)?);
    let (mut low, mut high) = (0usize, count);
    while low < high {
        let middle = low.midpoint(high);
        if memory.int(at(middle)?, desc.pc)? < wanted {
            low = middle.checked_add(1)?;
        } else {
            high = middle;
        }
    }
    // The last record is an end mark, beyond all code.
    if low.checked_add(1)? >= count {
        return None;
    }
    let record = at(low)?;
    Some((
        memory.int(record, desc.pc)?,
        memory.int(record, desc.scope)?,
    ))
}

fn immutable<M: Memory>(memory: &M, layout: &NmethodLayout, blob: &Blob) -> Option<usize> {
    match layout.immutable {
        Some(field) => memory.word(blob.address, field),
        None => Some(blob.address),
    }
}

fn metadata<M: Memory>(memory: &M, layout: &NmethodLayout, blob: &Blob) -> Option<usize> {
    let (base, field) = match layout.metadata {
        Metadata::InBlob(field) => (blob.address, field),
        Metadata::Apart { block, relocations } => (memory.word(blob.address, block)?, relocations),
    };
    base.checked_add(usize::try_from(memory.int(blob.address, field)?).ok()?)
}

/// The return address of a frame of this method, where the VM has exchanged it because the frame is due for
/// deoptimization.
pub(crate) fn original_pc<M: Memory>(
    memory: &M,
    layout: &NmethodLayout,
    blob: &Blob,
    pc: usize,
    sp: usize,
) -> Option<usize> {
    let is_handler = |&place: &_| start(memory, place, blob.address, blob.code, 0) == Some(pc);
    if !layout.deopt_handlers.iter().any(is_handler) {
        return Some(pc);
    }
    let offset = usize::try_from(memory.int(blob.address, layout.original_pc)?).ok()?;
    let original = memory.word(sp, offset)?;
    (blob.code <= original && original < blob.end).then_some(original)
}
