//! The walk from frame to frame.

mod by_link;
mod frozen;
mod innermost;
mod moved;
mod places;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::OnceLock;

use crate::code::{self, Blob, Kind, Names};
use crate::layout::FrozenLayout;
use crate::memory::{Memory, WORD};
use crate::{Heaps, Layout, NATIVE, method, nmethod};

/// Registers of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer, `rbp` or `x29`.
    pub fp: usize,
    /// Where the interpreter keeps the address of the bytecode, `r13` or `x22`.
    pub bytecode: usize,
    /// Where callers leave the method that they enter, `rbx` or `x12`.
    pub method: usize,
    /// Where the return address is before it is in the frame: `rax`, while the interpreter makes one, or `x30`.
    pub result: usize,
    /// Where callers leave their stack pointer when they enter the interpreter: `r13`, twice, or `x19` and, before JDK 20, `x13`.
    pub caller_sp: [usize; 2],
}

/// A thread whose stack is walked.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// The address of its `JavaFrameAnchor`; 0 when not known.
    pub anchor: usize,
    /// The address after its stack.
    pub stack_end: usize,
}

/// A frame of a Java method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The id of the method; 0 when it has none yet.
    pub method_id: usize,
    /// The index of the bytecode, or [`NATIVE`].
    pub location: i32,
}

/// How a walk ended that has frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the first Java frame of the thread.
    Root,
    /// At the first frame of a virtual thread, in the heap.
    VirtualRoot,
    /// At a frame of a virtual thread whose callers are in the heap, and cannot be read now.
    Heap,
    /// Where native code has called Java in a way that the VM does not describe.
    Native,
    /// The receiver wanted no more.
    Full,
    /// At a frame that the walk does not understand.
    Unknown,
}

/// Why a walk found no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The thread runs native code or code of the VM, and Java has not called it.
    NoJavaFrame,
    /// The thread runs Java code, and its innermost frame is not clear.
    UnknownTop,
}

/// Walks stacks.
#[derive(Debug)]
pub struct Walker {
    layout: Layout,
    frozen: OnceLock<FrozenLayout>,
    names: Names,
}

/// A frame that waits for the one that it has called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    pc: usize,
    sp: usize,
    fp: usize,
}

/// Frames of all kinds on a stack.
const MAX_FRAMES: usize = 1 << 16;
/// Words of an interpreted frame: the most that a method can have of locals and operands, and some for the VM.
const MAX_INTERPRETED_WORDS: usize = (2 << 16) + 64;

impl Walker {
    /// A walker of stacks of the VM with this layout.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            frozen: OnceLock::new(),
            names: Names::default(),
        }
    }

    /// From now on the walk goes on to frames of virtual threads in the heap.
    pub fn set_frozen(&self, layout: FrozenLayout) {
        // A thread that was faster has learnt it from the same VM.
        let _ = self.frozen.set(layout);
    }

    /// Returns whether the walk goes on to frames of virtual threads in the heap.
    pub fn knows_frozen(&self) -> bool {
        self.frozen.get().is_some()
    }

    /// Hands the Java frames of a thread to `receive`, innermost first, until that returns false.
    ///
    /// The thread is the current one, interrupted with these registers; `heaps` has the bounds of this moment.
    ///
    /// # Errors
    /// [`Failure`] when there is not even one frame.
    pub fn walk<M: Memory>(
        &self,
        memory: &M,
        heaps: &Heaps,
        thread: Thread,
        registers: Registers,
        receive: &mut impl FnMut(Frame) -> bool,
    ) -> Result<End, Failure> {
        let mut walk = Walk {
            walker: self,
            memory,
            heaps,
            anchor: thread.anchor,
            stack: registers.sp..thread.stack_end,
            receive,
            frames: 0,
            is_full: false,
            last: (0, 0),
        };
        let end = walk.run(thread, registers);
        match (walk.frames, end) {
            (0, Ok(_)) => Err(Failure::UnknownTop),
            (0, Err(failure)) => Err(failure),
            (_, Ok(end)) => Ok(end),
            (_, Err(_)) => Ok(End::Unknown),
        }
    }
}

/// One walk.
struct Walk<'a, M, R> {
    walker: &'a Walker,
    memory: &'a M,
    heaps: &'a Heaps,
    /// The address of the thread's `JavaFrameAnchor`; 0 when not known.
    anchor: usize,
    /// From the innermost frame to the end of the stack.
    stack: Range<usize>,
    receive: &'a mut R,
    frames: usize,
    is_full: bool,
    /// The last method, and its id.
    last: (usize, usize),
}

/// The next step of a walk.
enum Step {
    Caller(Waiting),
    End(End),
}

impl<M: Memory, R: FnMut(Frame) -> bool> Walk<'_, M, R> {
    fn run(&mut self, thread: Thread, registers: Registers) -> Result<End, Failure> {
        let mut frame = match self.anchored(thread.anchor) {
            Some(frame) => frame,
            None => match self.innermost(registers)? {
                Step::Caller(frame) => frame,
                Step::End(end) => return Ok(end),
            },
        };
        for _ in 0..MAX_FRAMES {
            if self.is_full {
                return Ok(End::Full);
            }
            match self.step(frame) {
                // Frames only ever lie further up.
                Some(Step::Caller(caller)) if caller.sp > frame.sp => frame = caller,
                Some(Step::End(end)) => return Ok(end),
                _ => {
                    return Ok(if self.is_full {
                        End::Full
                    } else {
                        End::Unknown
                    });
                }
            }
        }
        Ok(End::Unknown)
    }

    /// A word of the stack that has the address of code.
    fn stack_code(&self, base: usize, index: isize) -> Option<usize> {
        let machine = self.walker.layout.machine;
        self.stack_word(base, index)
            .map(|word| machine.code_address(word))
    }

    /// A word of the stack.
    fn stack_word(&self, base: usize, index: isize) -> Option<usize> {
        let address = base.checked_add_signed(index.checked_mul(WORD as isize)?)?;
        let is_inside =
            self.stack.contains(&address) && address <= self.stack.end.checked_sub(WORD)?;
        if !is_inside || !address.is_multiple_of(WORD) {
            return None;
        }
        self.memory.word(address, 0)
    }

    fn blob(&self, pc: usize) -> Option<Blob> {
        let layout = &self.walker.layout.blob;
        code::find(self.memory, self.heaps, layout, &self.walker.names, pc)
    }

    fn is_code(&self, pc: usize) -> bool {
        code::is_code(self.heaps, &self.walker.layout, pc)
    }

    fn is_interpreter(&self, pc: usize) -> bool {
        self.walker.layout.interpreted.code.contains(&pc)
    }

    /// The last Java frame of a thread that runs code of the VM or native code.
    fn anchored(&self, anchor: usize) -> Option<Waiting> {
        if anchor == 0 {
            return None;
        }
        let at = self.walker.layout.anchor;
        let frame = Waiting {
            sp: self.memory.word(anchor, at.sp)?,
            pc: self.memory.word(anchor, at.pc)?,
            fp: self.memory.word(anchor, at.fp)?,
        };
        self.completed(frame)
    }

    /// The frame of an anchor. The VM leaves the program counter out where it is the word below.
    fn completed(&self, frame: Waiting) -> Option<Waiting> {
        if frame.sp == 0 {
            return None;
        }
        let pc = match frame.pc {
            0 => self.stack_code(frame.sp, -1)?,
            pc => self.walker.layout.machine.code_address(pc),
        };
        let is_inside = self.stack.contains(&frame.sp) && frame.sp.is_multiple_of(WORD);
        (is_inside && self.is_code(pc)).then_some(Waiting { pc, ..frame })
    }

    fn caller_by_size(&self, frame: Waiting, bytes: usize) -> Option<Waiting> {
        let sp = frame.sp.checked_add(bytes)?;
        Some(Waiting {
            sp,
            fp: self.stack_word(sp, -2)?,
            pc: self.stack_code(sp, -1)?,
        })
    }

    /// The method of an interpreted frame; `None` when it is none.
    fn interpreted_method(&self, frame: Waiting) -> Option<usize> {
        let layout = &self.walker.layout;
        let at = &layout.interpreted;
        let words = frame.fp.checked_sub(frame.sp)? / WORD;
        if words > MAX_INTERPRETED_WORDS {
            return None;
        }
        let method = self.stack_word(frame.fp, at.method)?;
        let bytecode = self.stack_word(frame.fp, at.bytecode)?;
        method::id(self.memory, &layout.method, method)?;
        let index = method::bytecode_index(self.memory, &layout.method, method, bytecode);
        // Native methods have no bytecode; versions that were redefined are in no class.
        let is_method =
            index.is_some() || method::is_of_its_class(self.memory, &layout.method, method);
        is_method.then_some(method)
    }

    /// An interpreted frame; returns the caller. `live` is where the bytecode may be, rather than where it was
    /// when the frame last called.
    fn interpreted(&mut self, frame: Waiting, live: Option<usize>) -> Option<Waiting> {
        let at = &self.walker.layout.interpreted;
        let method = self.interpreted_method(frame)?;
        let pc = self.stack_code(frame.fp, at.caller_pc)?;
        let saved = self.stack_word(frame.fp, at.caller_sp)?;
        let machine = self.walker.layout.machine;
        let caller = Waiting {
            pc,
            fp: self.stack_word(frame.fp, at.caller_fp)?,
            sp: machine.caller_sp(frame.fp, saved, self.is_interpreter(pc)),
        };
        self.emit_interpreted(method, frame.fp, live)?;
        Some(caller)
    }

    /// Hands the frame of an interpreted method to the receiver.
    fn emit_interpreted(&mut self, method: usize, fp: usize, live: Option<usize>) -> Option<()> {
        let layout = &self.walker.layout;
        let index =
            |bytecode| method::bytecode_index(self.memory, &layout.method, method, bytecode);
        let location = if method::is_native(self.memory, &layout.method, method)? {
            NATIVE
        } else {
            let saved = self.stack_word(fp, layout.interpreted.bytecode);
            live.and_then(index)
                .or_else(|| saved.and_then(index))
                .unwrap_or(0)
        };
        self.emit(method, location)
    }

    /// One frame that waits for another.
    fn step(&mut self, frame: Waiting) -> Option<Step> {
        if self.is_interpreter(frame.pc) {
            return self.interpreted(frame, None).map(Step::Caller);
        }
        let entry = &self.walker.layout.entry;
        if frame.pc == entry.return_pc {
            let wrapper = self.stack_word(frame.fp, entry.call_wrapper)?;
            return self.before(wrapper.checked_add(entry.anchor)?);
        }
        let blob = self.blob(frame.pc)?;
        let caller = match blob.kind {
            // The VM copies frames to or from the heap: the next ones are on the stack, somewhere.
            Kind::Continuation if self.frames == 0 => return self.scanned(frame).map(Step::Caller),
            Kind::Continuation => return Some(Step::End(self.frozen())),
            Kind::Upcall => return self.before_upcall(&blob, frame),
            Kind::Method => {
                let layout = &self.walker.layout.nmethod;
                let pc = nmethod::original_pc(self.memory, layout, &blob, frame.pc, frame.sp)?;
                self.compiled_frames(&blob, pc)?;
                self.caller_by_size(frame, blob.frame_bytes)
            }
            Kind::Native => {
                self.native_frame(&blob)?;
                self.caller_by_size(frame, blob.frame_bytes)
            }
            Kind::Stub if blob.frame_bytes == 0 => self.caller_by_frame_pointer(frame),
            Kind::Stub => self.caller_by_size(frame, blob.frame_bytes),
        };
        caller.map(Step::Caller)
    }

    /// The Java frame before native code called Java, by the anchor on the stack that tells of it.
    fn before(&self, anchor: usize) -> Option<Step> {
        let at = self.walker.layout.anchor;
        let word = |offset: usize| self.stack_word(anchor.checked_add(offset)?, 0);
        let before = Waiting {
            sp: word(at.sp)?,
            pc: word(at.pc)?,
            fp: word(at.fp)?,
        };
        match before.sp {
            0 => Some(Step::End(End::Root)),
            _ => self.completed(before).map(Step::Caller),
        }
    }

    /// The Java frame before native code called Java through a pointer (`UpcallStub::jfa_for_frame`).
    fn before_upcall(&self, blob: &Blob, frame: Waiting) -> Option<Step> {
        let Some(layout) = self.walker.layout.upcall else {
            return Some(Step::End(End::Native));
        };
        let data = self.memory.int(blob.address, layout.data)?;
        let data = frame.sp.checked_add(usize::try_from(data).ok()?)?;
        self.before(data.checked_add(layout.anchor)?)
    }

    /// Frames of a compiled method and of what is inlined at `pc`.
    fn compiled_frames(&mut self, blob: &Blob, pc: usize) -> Option<()> {
        let layout = &self.walker.layout.nmethod;
        let memory = self.memory;
        let before = self.frames;
        let mut is_good = true;
        let found = nmethod::frames(memory, layout, blob, pc, |method, index| {
            is_good = self.emit(method, index).is_some();
            is_good && !self.is_full
        });
        if !is_good {
            return None;
        }
        if found.is_none() && self.frames == before {
            // Code without a record, at its very start or end.
            let method = memory.word(blob.address, layout.method)?;
            self.emit(method, 0)?;
        }
        Some(())
    }

    /// The frame of a native method.
    fn native_frame(&mut self, blob: &Blob) -> Option<()> {
        let layout = &self.walker.layout.nmethod;
        let method = self.memory.word(blob.address, layout.method)?;
        self.emit(method, NATIVE)
    }

    /// Hands a frame to the receiver. `None` when the method is none.
    fn emit(&mut self, method: usize, location: i32) -> Option<()> {
        let layout = &self.walker.layout.method;
        if self.last.0 != method {
            let id = method::id(self.memory, layout, method)?;
            self.last = (method, id);
        }
        let location = match method::is_native(self.memory, layout, method)? {
            true => NATIVE,
            false => location,
        };
        self.frames = self.frames.saturating_add(1);
        self.is_full = !(self.receive)(Frame {
            method_id: self.last.1,
            location,
        });
        Some(())
    }
}
