//! Frames of virtual threads that are in the heap.
//!
//! When a virtual thread has to wait, the VM copies its frames into objects of the class `StackChunk`. When it goes on,
//! the VM copies a few back, and others as they are returned to.
//!
//! ```text
//! JavaThread ─► VirtualThread ─► Continuation ─► StackChunk ─parent─► StackChunk ─► ...
//!
//! StackChunk │ fields │ (free) │ return address │ frame │ frame │ ... │ arguments │
//!                                               sp ►                 bottom ►     size ►
//! ```
//!
//! Compiled frames are as on the stack. Frames of the interpreter hold distances instead of addresses on the stack.
//!
//! # Why the objects stay
//!
//! Objects are only read while the thread is in a state that a safepoint has to wait for. A collector that stops the
//! program cannot move them, then, and a concurrent one cannot begin or end a phase: what a reference of the present phase
//! leads to is not freed. References that may be of an earlier phase are not followed.

#[cfg(test)]
mod tests;

use super::{End, Frame, MAX_FRAMES, Waiting, Walk};
use crate::code::Kind;
use crate::layout::{FrozenLayout, References};
use crate::memory::{Memory, WORD};
use crate::nmethod;

/// Words of a chunk: more than a stack has.
const MAX_CHUNK_WORDS: usize = 1 << 24;
/// The lowest bits of an object's first word, of which both are set when the object has a copy.
const FORWARDED: usize = 3;
/// No object lies below this address. Null has colors too with ZGC, which may be those of an earlier phase.
const LOWEST_REFERENCE: usize = 1 << 16;
/// Words of return address and frame pointer, above a frame.
const METADATA: usize = 2 * WORD;

/// A frame in the heap.
#[derive(Clone, Copy)]
struct Frozen {
    pc: usize,
    /// After the return address and frame pointer of the frame that this one has called.
    sp: usize,
    /// Where a compiled frame begins. One that has called an interpreted method has room for its local variables below.
    start: usize,
}

/// A chunk: its first frame, and the address after its last one.
struct Chunk {
    innermost: Option<Frozen>,
    bottom: usize,
}

impl<M: Memory, R: FnMut(Frame) -> bool> Walk<'_, M, R> {
    /// Frames in the heap, after the last one of a virtual thread that is on the stack.
    pub(super) fn frozen(&mut self) -> End {
        let walker = self.walker;
        let known = walker.frozen.get();
        let whole = known.and_then(|layout| self.chunks(layout));
        match whole {
            _ if self.is_full => End::Full,
            Some(()) => End::VirtualRoot,
            None => End::Heap,
        }
    }

    /// The frames of all chunks. `None` when the outermost was not reached.
    fn chunks(&mut self, layout: &FrozenLayout) -> Option<()> {
        let thread = self.anchor.checked_sub(layout.thread.anchor)?;
        let state = self.memory.int(thread, layout.thread.state)?;
        if self.anchor == 0 || !layout.thread.stops_safepoints.contains(&state) {
            return None;
        }
        let references = layout.references;
        let slot = self.memory.word(thread, layout.thread.virtual_thread)?;
        let virtual_thread = self.object(references, self.memory.word(slot, 0)?)??;
        let continuation = self.field(references, virtual_thread, layout.continuation)??;
        let mut next = self.field(references, continuation, layout.tail)?;
        let before = self.frames;
        let mut steps = 0usize;
        while let Some(object) = next {
            let chunk = self.chunk(layout, object)?;
            let mut frame = chunk.innermost;
            while let Some(frozen) = frame {
                steps = steps.checked_add(1).filter(|&steps| steps < MAX_FRAMES)?;
                frame = self.frozen_caller(frozen, chunk.bottom)?;
                if self.is_full {
                    return None;
                }
            }
            steps = steps.checked_add(1).filter(|&steps| steps < MAX_FRAMES)?;
            next = self.field(references, object, layout.chunk.parent)?;
        }
        // The VM puts no barrier above nothing.
        (self.frames > before).then_some(())
    }

    /// A chunk, whose words are the stack from now on.
    fn chunk(&mut self, layout: &FrozenLayout, object: usize) -> Option<Chunk> {
        let at = &layout.chunk;
        let number = |field| usize::try_from(self.memory.int(object, field)?).ok();
        let (size, sp, bottom) = (number(at.size)?, number(at.sp)?, number(at.bottom)?);
        if sp > bottom || bottom > size || size > MAX_CHUNK_WORDS {
            return None;
        }
        let start = object.checked_add(at.stack)?;
        let address = |words: usize| start.checked_add(words.checked_mul(WORD)?);
        let (end, first, bottom_address) = (address(size)?, address(sp)?, address(bottom)?);
        self.stack = start..end;
        let innermost = if sp < bottom {
            Some(Frozen {
                pc: self.stack_code(first, -1)?,
                sp: first,
                start: first,
            })
        } else {
            None
        };
        Some(Chunk {
            innermost,
            bottom: bottom_address,
        })
    }

    /// One frame; returns its caller in the chunk, which ends at `bottom`. `None` when the frame is not understood.
    fn frozen_caller(&mut self, frame: Frozen, bottom: usize) -> Option<Option<Frozen>> {
        let caller = if self.is_interpreter(frame.pc) {
            self.frozen_interpreted(frame, bottom)?
        } else {
            self.frozen_compiled(frame, bottom)?
        };
        // Frames only ever lie further up.
        match caller {
            Some(caller) if caller.sp <= frame.sp => None,
            caller => Some(caller),
        }
    }

    fn frozen_compiled(&mut self, frame: Frozen, bottom: usize) -> Option<Option<Frozen>> {
        let blob = self.blob(frame.pc)?;
        match blob.kind {
            Kind::Method => {
                let layout = &self.walker.layout.nmethod;
                let pc = nmethod::original_pc(self.memory, layout, &blob, frame.pc, frame.start)?;
                self.compiled_frames(&blob, pc)?;
            }
            Kind::Native => self.native_frame(&blob)?,
            Kind::Stub => {}
            // Native code pins its virtual thread.
            Kind::Continuation | Kind::Upcall => return None,
        }
        if blob.frame_bytes == 0 {
            return None;
        }
        let sp = frame.start.checked_add(blob.frame_bytes)?;
        if sp >= bottom.checked_sub(METADATA)? {
            return Some(None);
        }
        Some(Some(Frozen {
            pc: self.stack_code(sp, -1)?,
            sp,
            start: sp,
        }))
    }

    fn frozen_interpreted(&mut self, frame: Frozen, bottom: usize) -> Option<Option<Frozen>> {
        let at = &self.walker.layout.interpreted;
        let (caller_sp, locals) = (at.caller_sp, at.locals);
        let (caller_pc, link) = (at.caller_pc, frame.sp.checked_sub(METADATA)?);
        let fp = self.relative(link, link)?;
        let waiting = Waiting {
            pc: frame.pc,
            sp: frame.sp,
            fp,
        };
        let method = self.interpreted_method(waiting)?;
        self.emit_interpreted(method, fp, None)?;
        let field = |index: isize| fp.checked_add_signed(index.checked_mul(WORD as isize)?);
        if self.relative(fp, field(locals)?)?.checked_add(WORD)? >= bottom {
            return Some(None);
        }
        Some(Some(Frozen {
            pc: self.stack_code(fp, caller_pc)?,
            sp: fp.checked_add(METADATA)?,
            start: self.relative(fp, field(caller_sp)?)?,
        }))
    }

    /// The address that the word at `place` tells by its distance from `base` in words.
    fn relative(&self, base: usize, place: usize) -> Option<usize> {
        let words = self.stack_word(place, 0)?.cast_signed();
        base.checked_add_signed(words.checked_mul(WORD as isize)?)
    }

    /// The object in a field; `Some(None)` for null, `None` when that is not known.
    fn field(&self, references: References, object: usize, offset: usize) -> Option<Option<usize>> {
        let reference = match references {
            References::Narrow { base, shift, .. } => {
                let number = self.memory.int(object, offset)?.cast_unsigned() as usize;
                match number {
                    0 => 0,
                    number => base.checked_add(number.checked_shl(shift)?)?,
                }
            }
            _ => self.memory.word(object, offset)?,
        };
        self.object(references, reference)
    }

    /// The object behind a reference that is as wide as an address; `Some(None)` for null, `None` when that is not known.
    fn object(&self, references: References, reference: usize) -> Option<Option<usize>> {
        let object = match references {
            _ if reference < LOWEST_REFERENCE => return Some(None),
            References::Colored { bad, shift } => {
                if reference & self.memory.word(bad, 0)? != 0 {
                    return None;
                }
                match shift {
                    None => reference,
                    Some(shift) => {
                        let bits = u32::try_from(self.memory.word(shift, 0)?).ok()?;
                        reference.checked_shr(bits)?
                    }
                }
            }
            References::Addresses { are_forwarded } | References::Narrow { are_forwarded, .. } => {
                let head = if are_forwarded {
                    self.memory.word(reference, 0)?
                } else {
                    0
                };
                if head & FORWARDED == FORWARDED {
                    head & !FORWARDED
                } else {
                    reference
                }
            }
        };
        (object != 0 && object.is_multiple_of(WORD)).then_some(Some(object))
    }
}
