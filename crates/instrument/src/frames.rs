//! Stack map frames (Java Virtual Machine Specification 4.7.4).
//!
//! A frame tells the types of the locals and of the operand stack at one address, most often as
//! the difference to the frame before. The long that `enter` returned is in a local that no
//! other code uses, above all the others, and has to be in every frame, so:
//!
//! - `same_frame` and `same_locals_1_stack_item_frame` stay what they are, since the frame before
//!   has the long as well;
//! - only the first one differs from the frame at the start of the method, which has no long: it
//!   becomes an `append_frame` if the long and the unused locals below it are three at most;
//! - `chop_frame` and `append_frame` change locals below the long, which only a `full_frame` can
//!   say.

mod types;
mod writer;

use hprof_java_names::Primitive;

use crate::bytes::{Put, Reader};
use crate::constant_pool::{ConstantPool, PoolFull};
use crate::error::{Malformed, MethodSkip};
use crate::layout::Layout;
use crate::method::Method;
use types::{
    DOUBLE, FLOAT, INTEGER, LONG, OBJECT, PARAMETER, TOP, Type, UNINITIALIZED, UNINITIALIZED_THIS,
    read_type,
};
use writer::FrameWriter;

/// Begins a frame in a constructor of a class with strict fields (JEP 401, a preview feature of Java 28): it lists the fields
/// that are not set yet, by numbers of constants, and a frame of another kind follows.
const EARLY_LARVAL: u8 = 246;

/// How the original frame said what it said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coding {
    /// `same_frame` or `same_locals_1_stack_item_frame`.
    Same,
    Chop(u8),
    Append(u8),
    Full,
}

/// A decoded frame, kept until all have been read; only used when islands come between.
#[derive(Clone)]
struct Kept {
    new_pc: u32,
    old_pc: Option<u32>,
    locals: Vec<Type>,
    stack: Vec<Type>,
}

/// Rewrites StackMapTable attributes; its memory is kept from method to method.
#[derive(Default)]
pub(crate) struct FrameRewriter {
    locals: Vec<Type>,
    stack: Vec<Type>,
    /// Where the class names of parameters are in the descriptor.
    parameters: Vec<(u16, u16)>,
    /// What the last frame begins with if it is of the kind [`EARLY_LARVAL`].
    early: Vec<u8>,
}

/// The inputs for rewriting the stack map frames of one method.
pub(crate) struct FrameContext<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) method: &'a Method<'a>,
    pub(crate) class_name: &'a [u8],
    pub(crate) this_class: u16,
    /// The old `max_locals`, index of the new long; `None` if there is no such local.
    pub(crate) local: Option<u16>,
    /// Handlers that get a second frame, this far after their first one.
    pub(crate) guarded: &'a [u16],
    pub(crate) repair_len: u32,
    /// The frame of a handler behind the code.
    pub(crate) tail: Option<TailFrame>,
}

/// The frame of a handler behind the code, for any state of the method: of the locals, it knows the new long alone.
#[derive(Clone, Copy)]
pub(crate) struct TailFrame {
    pub(crate) pc: u32,
    /// The index of the class `Throwable`.
    pub(crate) exception: u16,
}

impl TailFrame {
    /// Writes a table with this frame alone; the long is in the local `local`.
    pub(crate) fn write_alone(self, local: u16, out: &mut Vec<u8>) {
        out.put_u16(1);
        out.put_u8(255);
        out.put_u16(self.pc as u16);
        self.write_types(local, out);
    }

    fn write_types(self, local: u16, out: &mut Vec<u8>) {
        out.put_u16(local.saturating_add(1));
        out.extend(std::iter::repeat_n(TOP, usize::from(local)));
        out.put_u8(LONG);
        out.put_u16(1);
        out.put_u8(OBJECT);
        out.put_u16(self.exception);
    }
}

/// The most bytes that the frames of a method may take, for `len` bytes before. Frames that each
/// repeat all locals can grow without measure, in code made to do that and nowhere else.
fn size_limit(len: usize) -> usize {
    (1 << 20) + len.saturating_mul(64)
}

impl FrameRewriter {
    /// Appends to `out` the content of a StackMapTable for the new code.
    pub(crate) fn rewrite(
        &mut self,
        content: &[u8],
        context: &FrameContext<'_>,
        pool: &mut ConstantPool<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), MethodSkip> {
        let mut reader = Reader::new(content);
        let count = reader.u16()?;
        let count_at = out.len();
        out.put_u16(0);
        self.start_locals(context)?;
        let mut kept = (!context.layout.islands().is_empty()).then(Vec::new);
        let mut kept_types = 0;
        let limit = size_limit(content.len());
        let mut writer = FrameWriter {
            out,
            last_pc: None,
            count: 0,
            early: Vec::new(),
        };
        let mut old_pc = None;
        for _ in 0..count {
            let (coding, delta) = self.decode(&mut reader)?;
            if kept.is_some() && !self.early.is_empty() {
                // Copies of frames at other places would need the list of the frame before them.
                return Err(MethodSkip::UnknownFrame(EARLY_LARVAL));
            }
            writer.early.append(&mut self.early);
            let pc = old_pc.map_or(0, |pc: u32| pc + 1) + u32::from(delta);
            old_pc = Some(pc);
            let new_pc = context.layout.branch_target(pc)?;
            let is_guarded = context
                .guarded
                .binary_search(&(pc.min(0xffff) as u16))
                .is_ok();
            let second = is_guarded.then_some(new_pc + context.repair_len);
            if let Some(kept) = &mut kept {
                for (new_pc, old_pc) in [(Some(new_pc), Some(pc)), (second, None)] {
                    let Some(new_pc) = new_pc else { continue };
                    kept_types += self.locals.len() + self.stack.len();
                    if kept_types > limit {
                        return Err(MethodSkip::FrameTooLarge);
                    }
                    let (locals, stack) = (self.locals.clone(), self.stack.clone());
                    kept.push(Kept {
                        new_pc,
                        old_pc,
                        locals,
                        stack,
                    });
                }
                continue;
            }
            self.write(coding, new_pc, context, pool, &mut writer)?;
            if writer.out.len() - count_at > limit {
                return Err(MethodSkip::FrameTooLarge);
            }
            if let Some(second) = second {
                let coding = if self.stack.len() == 1 {
                    Coding::Same
                } else {
                    Coding::Full
                };
                self.write(coding, second, context, pool, &mut writer)?;
            }
        }
        if !reader.is_at_end() {
            return Err(Malformed("bytes after the stack map frames").into());
        }
        for frame in with_islands(kept.unwrap_or_default(), context.layout)? {
            (self.locals, self.stack) = (frame.locals, frame.stack);
            self.write(Coding::Full, frame.new_pc, context, pool, &mut writer)?;
        }
        if let (Some(tail), Some(local)) = (context.tail, context.local) {
            writer.start(255, tail.pc)?;
            tail.write_types(local, writer.out);
        }
        let count = u16::try_from(writer.count).map_err(|_| MethodSkip::FrameTooLarge)?;
        out.patch_u16(count_at, count);
        Ok(())
    }

    /// The locals at the start of the method: `this` and the parameters.
    fn start_locals(&mut self, context: &FrameContext<'_>) -> Result<(), Malformed> {
        const STATIC: u16 = 0x0008;
        let Self {
            locals, parameters, ..
        } = self;
        locals.clear();
        parameters.clear();
        if context.method.access_flags & STATIC == 0 {
            let is_constructor =
                context.method.name == b"<init>" && context.class_name != b"java/lang/Object";
            locals.push(match is_constructor {
                true => Type::plain(UNINITIALIZED_THIS),
                false => Type {
                    tag: OBJECT,
                    data: context.this_class,
                },
            });
        }
        let wrong = Malformed("descriptor of a method");
        let descriptor = context.method.descriptor;
        let mut at = 1;
        loop {
            let start = at;
            let mut next = || {
                let byte = descriptor.get(at).copied();
                at += 1;
                byte.ok_or(wrong)
            };
            let mut kind = next()?;
            let is_array = kind == b'[';
            while kind == b'[' {
                kind = next()?;
            }
            match kind {
                b')' if !is_array => return Ok(()),
                b'L' => while next()? != b';' {},
                _ if Primitive::of_descriptor(kind).is_some() => (),
                _ => return Err(wrong),
            }
            locals.push(match (is_array, kind) {
                (true, _) | (_, b'L') => {
                    // An array class is named by its descriptor, another one without L and `;`.
                    let name = if is_array {
                        (start, at)
                    } else {
                        (start + 1, at - 1)
                    };
                    let data = parameters.len() as u16;
                    parameters.push((name.0 as u16, name.1 as u16));
                    Type {
                        tag: PARAMETER,
                        data,
                    }
                }
                (_, b'D') => Type::plain(DOUBLE),
                (_, b'F') => Type::plain(FLOAT),
                (_, b'J') => Type::plain(LONG),
                _ => Type::plain(INTEGER),
            });
        }
    }

    /// Reads one frame into `locals` and `stack`; returns how it was coded, and its distance.
    fn decode(&mut self, reader: &mut Reader<'_>) -> Result<(Coding, u16), MethodSkip> {
        self.early.clear();
        let mut kind = reader.u8()?;
        if kind == EARLY_LARVAL {
            let count = reader.u16()?;
            self.early.put_u8(kind);
            self.early.put_u16(count);
            let fields = reader.take(2 * usize::from(count))?;
            self.early.extend_from_slice(fields);
            kind = reader.u8()?;
        }
        let delta = match kind {
            0..=63 => u16::from(kind),
            64..=127 => u16::from(kind - 64),
            247..=255 => reader.u16()?,
            128..=246 => return Err(MethodSkip::UnknownFrame(kind)),
        };
        self.stack.clear();
        let coding = match kind {
            64..=127 | 247 => {
                self.stack.push(read_type(reader)?);
                Coding::Same
            }
            248..=250 => {
                let left = self.locals.len().checked_sub(usize::from(251 - kind));
                self.locals
                    .truncate(left.ok_or(Malformed("chop of too many locals"))?);
                Coding::Chop(251 - kind)
            }
            252..=254 => {
                for _ in 251..kind {
                    self.locals.push(read_type(reader)?);
                }
                Coding::Append(kind - 251)
            }
            255 => {
                self.locals.clear();
                for _ in 0..reader.u16()? {
                    self.locals.push(read_type(reader)?);
                }
                for _ in 0..reader.u16()? {
                    self.stack.push(read_type(reader)?);
                }
                Coding::Full
            }
            _ => Coding::Same,
        };
        Ok((coding, delta))
    }

    /// Writes a frame with the types of `locals` and `stack`, and with the new long.
    fn write(
        &mut self,
        coding: Coding,
        new_pc: u32,
        context: &FrameContext<'_>,
        pool: &mut ConstantPool<'_>,
        writer: &mut FrameWriter<'_>,
    ) -> Result<(), MethodSkip> {
        let is_first = writer.last_pc.is_none();
        let Some(local) = context.local else {
            return self.write_as_before(coding, new_pc, context, pool, writer);
        };
        if coding == Coding::Same && !is_first {
            writer.same(new_pc, self.stack.len())?;
            return self.write_types(&self.stack, context, writer.out);
        }
        let used: u32 = self.locals.iter().map(|local| local.slots()).sum();
        let unused = u32::from(local)
            .checked_sub(used)
            .ok_or(Malformed("more locals in a frame than in the method"))?;
        let appended = match coding {
            Coding::Same => Some(0),
            Coding::Append(more) => Some(usize::from(more)),
            Coding::Chop(_) | Coding::Full => None,
        };
        let appended =
            appended.filter(|more| is_first && self.stack.is_empty() && *more as u32 + unused < 3);
        if let Some(more) = appended {
            writer.start(252 + more as u8 + unused as u8, new_pc)?;
            let first_new = self.locals.len() - more;
            self.write_types(&self.locals[first_new..], context, writer.out)?;
            writer.out.extend(std::iter::repeat_n(TOP, unused as usize));
            writer.out.put_u8(LONG);
            return Ok(());
        }
        self.write_full(new_pc, Some(unused), context, pool, writer)
    }

    /// Writes a frame of a method without a new local, in its own coding.
    fn write_as_before(
        &mut self,
        coding: Coding,
        new_pc: u32,
        context: &FrameContext<'_>,
        pool: &mut ConstantPool<'_>,
        writer: &mut FrameWriter<'_>,
    ) -> Result<(), MethodSkip> {
        match coding {
            Coding::Same => {
                writer.same(new_pc, self.stack.len())?;
                self.write_types(&self.stack, context, writer.out)
            }
            Coding::Chop(fewer) => writer.start(251 - fewer, new_pc),
            Coding::Append(more) => {
                writer.start(251 + more, new_pc)?;
                let first_new = self.locals.len() - usize::from(more);
                self.write_types(&self.locals[first_new..], context, writer.out)
            }
            Coding::Full => self.write_full(new_pc, None, context, pool, writer),
        }
    }

    /// Writes a `full_frame`; with the long above `unused` locals, unless that is `None`.
    fn write_full(
        &mut self,
        new_pc: u32,
        unused: Option<u32>,
        context: &FrameContext<'_>,
        pool: &mut ConstantPool<'_>,
        writer: &mut FrameWriter<'_>,
    ) -> Result<(), MethodSkip> {
        self.resolve_parameters(context, pool)?;
        writer.start(255, new_pc)?;
        let more = unused.map_or(0, |unused| unused as usize + 1);
        let count = u16::try_from(self.locals.len() + more);
        writer
            .out
            .put_u16(count.map_err(|_| MethodSkip::FrameTooLarge)?);
        self.write_types(&self.locals, context, writer.out)?;
        if let Some(unused) = unused {
            writer.out.extend(std::iter::repeat_n(TOP, unused as usize));
            writer.out.put_u8(LONG);
        }
        writer.out.put_u16(self.stack.len() as u16);
        self.write_types(&self.stack, context, writer.out)
    }

    /// Looks up the classes of parameters among the locals, which are only now needed.
    fn resolve_parameters(
        &mut self,
        context: &FrameContext<'_>,
        pool: &mut ConstantPool<'_>,
    ) -> Result<(), MethodSkip> {
        for local in self
            .locals
            .iter_mut()
            .filter(|local| local.tag == PARAMETER)
        {
            let wrong = Malformed("descriptor of a method");
            let &(start, end) = self.parameters.get(usize::from(local.data)).ok_or(wrong)?;
            let name = context
                .method
                .descriptor
                .get(usize::from(start)..usize::from(end));
            let class = pool.class_index(name.ok_or(wrong)?);
            let data = class.map_err(|PoolFull| MethodSkip::ConstantPoolFull)?;
            *local = Type { tag: OBJECT, data };
        }
        Ok(())
    }

    fn write_types(
        &self,
        types: &[Type],
        context: &FrameContext<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), MethodSkip> {
        for &Type { tag, data } in types {
            out.put_u8(tag);
            match tag {
                OBJECT => out.put_u16(data),
                UNINITIALIZED => {
                    out.put_u16(context.layout.instruction(u32::from(data))? as u16);
                }
                _ => (),
            }
        }
        Ok(())
    }
}

/// Adds the frames of the islands, copies of those at their targets, in the order of addresses.
fn with_islands(mut kept: Vec<Kept>, layout: &Layout) -> Result<Vec<Kept>, MethodSkip> {
    for &island in layout.islands() {
        let at_target = kept
            .iter()
            .find(|frame| frame.old_pc == Some(island.target));
        let mut frame = at_target.ok_or(MethodSkip::BranchTooFar)?.clone();
        frame.new_pc = layout.island_address(island);
        frame.old_pc = None;
        kept.push(frame);
    }
    kept.sort_by_key(|frame| frame.new_pc);
    Ok(kept)
}
