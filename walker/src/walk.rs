//! The walk from frame to frame.

use std::ops::Range;

use crate::code::{self, Blob, Kind, Names};
use crate::instructions::{Built, built, is_after_call};
use crate::memory::{Memory, WORD};
use crate::{Heaps, Layout, NATIVE, method, nmethod};

/// Registers of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer, `rbp`.
    pub fp: usize,
    /// Where the interpreter keeps the address of the bytecode, `r13`.
    pub bytecode: usize,
    /// Where callers leave the method that they enter, `rbx`.
    pub method: usize,
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
    /// At a frame of a virtual thread whose callers are in the heap.
    Heap,
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
    names: Names,
}

/// A frame that waits for the one that it has called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    pc: usize,
    sp: usize,
    fp: usize,
}

/// Frames of native code between the interrupted one and Java: more than leaf routines have.
const MAX_NATIVE_FRAMES: usize = 64;
/// Words above the stack pointer among which a return address to Java is looked for.
const MAX_SCANNED_WORDS: isize = 512;
/// Frames of all kinds on a stack.
const MAX_FRAMES: usize = 1 << 16;
/// Words of an interpreted frame: the most that a method can have of locals and operands, and some for the VM.
const MAX_INTERPRETED_WORDS: usize = (2 << 16) + 64;

impl Walker {
    /// A walker of stacks of the VM with this layout.
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            names: Names::default(),
        }
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
            0 => self.stack_word(frame.sp, -1)?,
            pc => pc,
        };
        let is_inside = self.stack.contains(&frame.sp) && frame.sp.is_multiple_of(WORD);
        (is_inside && self.is_code(pc)).then_some(Waiting { pc, ..frame })
    }

    /// The innermost frame of a thread that has not left Java, or the frame that waits for it.
    fn innermost(&mut self, registers: Registers) -> Result<Step, Failure> {
        let Registers { pc, sp, fp, .. } = registers;
        if !self.is_code(pc) {
            let caller = self.native_caller(Waiting { pc, sp, fp });
            return caller.map(Step::Caller).ok_or(Failure::NoJavaFrame);
        }
        let caller = if self.is_interpreter(pc) {
            self.innermost_interpreted(registers)
        } else {
            let blob = self.blob(pc).ok_or(Failure::UnknownTop)?;
            self.innermost_compiled(&blob, registers)
        };
        let end = if self.is_full {
            End::Full
        } else {
            End::Unknown
        };
        Ok(caller.map_or(Step::End(end), Step::Caller))
    }

    /// The Java frame that has called native code without leaving Java: runtime routines, of the kind "leaf".
    fn native_caller(&self, top: Waiting) -> Option<Waiting> {
        let mut frame = top;
        for _ in 0..MAX_NATIVE_FRAMES {
            let Some(caller) = self.caller_by_frame_pointer(frame) else {
                break;
            };
            if self.is_code(caller.pc) {
                if self.is_plausible(caller) {
                    return Some(caller);
                }
                break;
            }
            frame = caller;
        }
        self.scanned(top)
    }

    /// The caller of code that keeps its frame pointer.
    fn caller_by_frame_pointer(&self, frame: Waiting) -> Option<Waiting> {
        let caller = Waiting {
            pc: self.stack_word(frame.fp, 1)?,
            fp: self.stack_word(frame.fp, 0)?,
            sp: frame.fp.checked_add(2 * WORD)?,
        };
        (caller.sp > frame.sp).then_some(caller)
    }

    /// The nearest return address to a Java frame that has a caller in Java too. Native code often keeps no
    /// frame pointers.
    fn scanned(&self, top: Waiting) -> Option<Waiting> {
        (0..MAX_SCANNED_WORDS).find_map(|index| {
            let pc = self.stack_word(top.sp, index)?;
            let above = index.checked_add(1)?.checked_mul(WORD as isize)?;
            let frame = Waiting {
                pc,
                sp: top.sp.checked_add_signed(above)?,
                fp: top.fp,
            };
            (self.is_code(pc) && !self.is_interpreter(pc) && self.is_plausible(frame))
                .then_some(frame)
        })
    }

    /// Whether code returns to this frame, and it returns to code in turn.
    fn is_plausible(&self, frame: Waiting) -> bool {
        if self.is_interpreter(frame.pc) {
            return self.interpreted_method(frame).is_some();
        }
        if !is_after_call(self.memory, frame.pc) {
            return false;
        }
        let Some(blob) = self.blob(frame.pc) else {
            return false;
        };
        let caller = match (blob.kind, blob.frame_bytes) {
            (Kind::Continuation, _) => return true,
            (_, 0) => self.caller_by_frame_pointer(frame),
            (_, bytes) => self.caller_by_size(frame, bytes),
        };
        caller.is_some_and(|caller| self.is_return(caller.pc))
    }

    /// Whether an address is one that code returns to.
    fn is_return(&self, pc: usize) -> bool {
        self.is_interpreter(pc)
            || pc == self.walker.layout.entry.return_pc
            || self.blob(pc).is_some_and(|blob| {
                blob.kind == Kind::Continuation
                    || is_after_call(self.memory, pc)
                    || self.is_deopt_handler(&blob, pc)
            })
    }

    fn is_deopt_handler(&self, blob: &Blob, pc: usize) -> bool {
        let layout = &self.walker.layout.nmethod;
        let mut handlers = layout.deopt_handlers.iter();
        handlers.any(|&at| code::start(self.memory, at, blob.address, blob.code, 0) == Some(pc))
    }

    fn caller_by_size(&self, frame: Waiting, bytes: usize) -> Option<Waiting> {
        let sp = frame.sp.checked_add(bytes)?;
        Some(Waiting {
            sp,
            fp: self.stack_word(sp, -2)?,
            pc: self.stack_word(sp, -1)?,
        })
    }

    /// Frames of the method or stub that was interrupted; returns the caller.
    fn innermost_compiled(&mut self, blob: &Blob, registers: Registers) -> Option<Waiting> {
        let Registers { pc, sp, fp, .. } = registers;
        let is_complete = blob.frame_complete.is_some_and(|complete| pc >= complete);
        let entry = match blob.kind {
            Kind::Method => {
                self.compiled_frames(blob, if is_complete { pc } else { blob.code })?;
                let layout = &self.walker.layout.nmethod;
                code::start(
                    self.memory,
                    layout.verified_entry,
                    blob.address,
                    blob.code,
                    0,
                )?
            }
            Kind::Native => {
                self.native_frame(blob)?;
                let layout = &self.walker.layout.nmethod;
                code::start(
                    self.memory,
                    layout.verified_entry,
                    blob.address,
                    blob.code,
                    0,
                )?
            }
            Kind::Stub | Kind::Continuation => blob.code,
        };
        let frame = Waiting { pc, sp, fp };
        let (found, others) = if blob.frame_bytes == 0 {
            (self.caller_without(frame, 0, fp), Built::FramePointer)
        } else {
            match built(self.memory, entry, pc, is_complete) {
                Built::Nothing => (self.caller_without(frame, 0, fp), Built::FramePointer),
                Built::FramePointer => (self.caller_pushed(frame), Built::Nothing),
                Built::Room => {
                    let caller = self.caller_by_size(frame, blob.frame_bytes);
                    (caller.map(|it| Waiting { fp, ..it }), Built::Nothing)
                }
                Built::Complete => (self.caller_by_size(frame, blob.frame_bytes), Built::Nothing),
            }
        };
        let good = |caller: &Waiting| self.is_return(caller.pc);
        found
            .filter(good)
            .or_else(|| match others {
                Built::Nothing => self.caller_without(frame, 0, fp).filter(good),
                _ => None,
            })
            .or_else(|| self.caller_pushed(frame).filter(good))
            .or_else(|| {
                let caller = self.caller_by_frame_pointer(frame)?;
                good(&caller).then_some(caller)
            })
            .or_else(|| {
                // A word has been pushed for a moment.
                let moved = Waiting {
                    sp: sp.checked_add(WORD)?,
                    ..frame
                };
                let caller = match blob.frame_bytes {
                    0 => None,
                    bytes => self.caller_by_size(moved, bytes),
                };
                caller.filter(good)
            })
            .or_else(|| self.scanned(frame))
    }

    /// The caller of code that has `words` on the stack besides the return address.
    fn caller_without(&self, frame: Waiting, words: isize, fp: usize) -> Option<Waiting> {
        let above = words.checked_add(1)?.checked_mul(WORD as isize)?;
        Some(Waiting {
            pc: self.stack_word(frame.sp, words)?,
            sp: frame.sp.checked_add_signed(above)?,
            fp,
        })
    }

    /// The caller of code that has pushed its frame pointer.
    fn caller_pushed(&self, frame: Waiting) -> Option<Waiting> {
        self.caller_without(frame, 1, self.stack_word(frame.sp, 0)?)
    }

    /// The frame of the interpreted method that was interrupted; returns the caller.
    fn innermost_interpreted(&mut self, registers: Registers) -> Option<Waiting> {
        let Registers { pc, sp, fp, .. } = registers;
        let frame = Waiting { pc, sp, fp };
        // Where a method is entered, the stack pointer of the caller is in the register of the bytecode.
        if Some(registers.bytecode) == sp.checked_add(WORD)
            && let Some(return_pc) = self.stack_word(sp, 0)
            && self.is_return(return_pc)
            && self.is_method(registers.method)
        {
            self.emit(registers.method, 0)?;
            return self.caller_without(frame, 0, fp);
        }
        if self.interpreted_method(frame).is_some() {
            return self.interpreted(frame, Some(registers.bytecode));
        }
        // The frame is not there yet. The return address may be in a register.
        if self.is_method(registers.method) {
            self.emit(registers.method, 0)?;
        }
        let good = |caller: &Waiting| self.is_return(caller.pc);
        let caller = self.caller_without(frame, 0, fp).filter(good);
        caller.or_else(|| self.scanned(frame))
    }

    fn is_method(&self, method: usize) -> bool {
        let layout = &self.walker.layout.method;
        let id = method::id(self.memory, layout, method);
        id.is_some_and(|id| id != 0 && self.memory.word(id, 0) == Some(method))
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
        let id = method::id(self.memory, &layout.method, method)?;
        // Ids of methods that were redefined are those of their successors.
        let is_known = id != 0 && self.memory.word(id, 0) == Some(method);
        let index = method::bytecode_index(self.memory, &layout.method, method, bytecode);
        (is_known || index.is_some()).then_some(method)
    }

    /// An interpreted frame; returns the caller. `live` is where the bytecode may be, rather than where it was
    /// when the frame last called.
    fn interpreted(&mut self, frame: Waiting, live: Option<usize>) -> Option<Waiting> {
        let layout = &self.walker.layout;
        let at = &layout.interpreted;
        let method = self.interpreted_method(frame)?;
        let caller = Waiting {
            pc: self.stack_word(frame.fp, at.caller_pc)?,
            fp: self.stack_word(frame.fp, at.caller_fp)?,
            sp: self.stack_word(frame.fp, at.caller_sp)?,
        };
        let index =
            |bytecode| method::bytecode_index(self.memory, &layout.method, method, bytecode);
        let location = if method::is_native(self.memory, &layout.method, method)? {
            NATIVE
        } else {
            let saved = self.stack_word(frame.fp, at.bytecode);
            live.and_then(index)
                .or_else(|| saved.and_then(index))
                .unwrap_or(0)
        };
        self.emit(method, location)?;
        Some(caller)
    }

    /// One frame that waits for another.
    fn step(&mut self, frame: Waiting) -> Option<Step> {
        if self.is_interpreter(frame.pc) {
            return self.interpreted(frame, None).map(Step::Caller);
        }
        let entry = &self.walker.layout.entry;
        if frame.pc == entry.return_pc {
            let wrapper = self.stack_word(frame.fp, entry.call_wrapper)?;
            let anchor = wrapper.checked_add(entry.anchor)?;
            let at = self.walker.layout.anchor;
            let word = |offset: usize| self.stack_word(anchor.checked_add(offset)?, 0);
            let before = Waiting {
                sp: word(at.sp)?,
                pc: word(at.pc)?,
                fp: word(at.fp)?,
            };
            return match before.sp {
                0 => Some(Step::End(End::Root)),
                _ => self.completed(before).map(Step::Caller),
            };
        }
        let blob = self.blob(frame.pc)?;
        let caller = match blob.kind {
            Kind::Continuation => return Some(Step::End(End::Heap)),
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
