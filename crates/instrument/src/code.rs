//! Rewriting one Code attribute.

use crate::allocations;
use crate::annotations::{Relocate, relocate_type_annotations};
use crate::bytes::{Put, Reader, i32_at};
use crate::constant_pool::{ConstantPool, PoolFull};
use crate::error::{Malformed, MethodSkip};
use crate::frames::{FrameContext, FrameRewriter, TailFrame};
use crate::layout::{Island, Layout, Reach, Site, SiteKind};
use crate::method::{Code, Method};
use crate::opcode::{self, Switch};
use crate::plan::{AllocationHooks, Hooks, MethodHook, Shape};
use crate::rewriter::Version;
use crate::snippets::{HookRefs, MethodSnippets};

/// Methods longer than this are not compiled by HotSpot (its flag `HugeMethodLimit`).
pub(crate) const COMPILE_LIMIT: usize = 8000;

/// The first class-file version whose stack maps the VM reads.
const STACK_MAP_VERSION: u16 = 50;

/// The data that all methods of a class share.
pub(crate) struct ClassContext<'a> {
    pub(crate) version: Version,
    pub(crate) name: &'a [u8],
    pub(crate) this_class: u16,
    pub(crate) hooks: &'a Hooks<'a>,
    pub(crate) allocations: Option<&'a AllocationHooks<'a>>,
}

/// Rewrites Code attributes; its memory is kept from method to method.
#[derive(Default)]
pub(crate) struct CodeRewriter {
    layout: Layout,
    frames: FrameRewriter,
    /// Starts of handlers that may catch what a hook throws.
    guarded: Vec<u16>,
    /// Catch type and start of the guarded handlers, each pair once.
    guards: Vec<(u16, u16)>,
}

impl CodeRewriter {
    /// Appends the content of the new Code attribute to `out`, and returns the length of the new
    /// code. After an error there may be a part of it in `out`.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one class, borrowed apart"
    )]
    pub(crate) fn rewrite(
        &mut self,
        class: &ClassContext<'_>,
        method: &Method<'_>,
        code: &Code<'_>,
        hook: MethodHook,
        refs: &mut HookRefs,
        pool: &mut ConstantPool<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, MethodSkip> {
        let full = hook.shape == Shape::Full;
        let around = hook.shape == Shape::Around;
        if around && method.name == b"<init>" {
            return Err(MethodSkip::Reserved);
        }
        let local = (full || around).then_some(code.max_locals);
        let handlers = full && !code.exceptions.is_empty();
        let made = match (hook.shape, class.allocations) {
            (Shape::Allocations, Some(allocations)) => {
                let of = class.hooks.class;
                MethodSnippets::of_allocations(
                    of,
                    allocations,
                    method.is_root(class.name),
                    refs,
                    pool,
                )
            }
            (Shape::Allocations, None) => return Err(MethodSkip::Reserved),
            _ => MethodSnippets::make(class.hooks, hook, code.max_locals, handlers, refs, pool),
        };
        let snippets = made.map_err(|PoolFull| MethodSkip::ConstantPoolFull)?;
        let constants = &*pool;
        let makes = |pc| match hook.shape {
            Shape::Allocations => allocations::made(code.bytes, pc, constants),
            _ => None,
        };
        self.layout
            .compute(code, hook.shape, snippets.lengths(), makes)?;
        self.list_guards(code, full, pool);
        let body_end = self.layout.new_len();
        let tail = snippets.tail.bytes();
        let new_len = body_end + tail.len() as u32;
        if new_len > u32::from(u16::MAX) {
            return Err(MethodSkip::CodeTooLarge);
        }
        let tail_frame = match around && class.version.major >= STACK_MAP_VERSION {
            true => {
                let throwable = pool.class_index(b"java/lang/Throwable");
                let exception = throwable.map_err(|PoolFull| MethodSkip::ConstantPoolFull)?;
                Some(TailFrame {
                    pc: body_end,
                    exception,
                })
            }
            false => None,
        };

        let too_large = MethodSkip::FrameTooLarge;
        let (more_stack, least_stack, more_locals) = match (full, handlers) {
            // In the handler, the exception is on the stack too.
            (false, _) if around => (2, 3, 2),
            (false, _) if hook.shape == Shape::Allocations => (1, 1, 0),
            (false, _) => (0, 1, 0),
            // At a return the stack may hold anything, at the start nothing, in a handler the
            // exception.
            (true, false) => (2, 2, 2),
            (true, true) => (2, 4, 2),
        };
        let max_stack = code
            .max_stack
            .checked_add(more_stack)
            .ok_or(too_large)?
            .max(least_stack);
        out.put_u16(max_stack);
        out.put_u16(code.max_locals.checked_add(more_locals).ok_or(too_large)?);
        out.put_u32(new_len);
        self.write_code(code.bytes, &snippets, out)?;
        out.extend_from_slice(tail);
        self.write_exceptions(code, &snippets, body_end, out)?;

        let count_at = out.len();
        out.put_u16(code.attribute_count);
        let mut has_frames = false;
        let mut attributes = code.attributes();
        while let Some((name, content)) = attributes.next()? {
            out.put_u16(name);
            let len_at = out.len();
            out.put_u32(0);
            let frames = FrameContext {
                layout: &self.layout,
                method,
                class_name: class.name,
                this_class: class.this_class,
                local,
                guarded: &self.guarded,
                repair_len: snippets.lengths().repair,
                tail: tail_frame,
            };
            let relocation = Relocation {
                layout: &self.layout,
                guards: self.guards.len() as u16,
            };
            match pool.utf8(name) {
                Some(b"StackMapTable") if class.version.major >= STACK_MAP_VERSION => {
                    has_frames = true;
                    self.frames.rewrite(content, &frames, pool, out)?;
                }
                Some(b"LineNumberTable") => self.write_lines(content, out)?,
                Some(b"LocalVariableTable" | b"LocalVariableTypeTable") => {
                    self.write_variables(content, out)?;
                }
                Some(b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations") => {
                    relocate_type_annotations(content, &relocation, out)?;
                }
                // It may hold addresses of code, which change.
                _ if !class.version.is_known() => {
                    return Err(MethodSkip::UnknownAttribute(class.version.major));
                }
                _ => out.extend_from_slice(content),
            }
            let len = u32::try_from(out.len() - len_at - 4).map_err(|_| too_large)?;
            out.patch_u32(len_at, len);
        }
        if let Some(tail) = tail_frame.filter(|_| !has_frames) {
            let name = pool.add_utf8(b"StackMapTable");
            out.put_u16(name.map_err(|PoolFull| MethodSkip::ConstantPoolFull)?);
            let len_at = out.len();
            out.put_u32(0);
            tail.write_alone(code.max_locals, out);
            let len = u32::try_from(out.len() - len_at - 4).map_err(|_| too_large)?;
            out.patch_u32(len_at, len);
            let count = code.attribute_count.checked_add(1).ok_or(too_large)?;
            out.patch_u16(count_at, count);
        }
        Ok(new_len as usize)
    }

    /// Lists the handlers whose repair hook must not be thrown out of.
    ///
    /// A hook can throw a StackOverflowError. Compilers make handlers that are in their own range
    /// (for `synchronized` blocks, javac's is): where the stack ends there, the repair hook would
    /// send control to its own start for ever. And a clean-up must run even then. So whatever
    /// these handlers would catch of it continues right after the hook, in the handler's own code.
    fn list_guards(&mut self, code: &Code<'_>, full: bool, pool: &ConstantPool<'_>) {
        self.guards.clear();
        self.guarded.clear();
        if !full {
            return;
        }
        for [_, _, handler, catch_type] in code.exceptions() {
            let catches_errors = catch_type == 0
                || matches!(
                    pool.class_name(catch_type),
                    Some(
                        b"java/lang/Throwable"
                            | b"java/lang/Error"
                            | b"java/lang/VirtualMachineError"
                            | b"java/lang/StackOverflowError"
                    )
                );
            if catches_errors {
                self.guards.push((handler, catch_type));
            }
        }
        self.guards.sort_unstable();
        self.guards.dedup();
        self.guarded
            .extend(self.guards.iter().map(|(handler, _)| *handler));
        self.guarded.dedup();
    }

    fn write_code(
        &self,
        code: &[u8],
        snippets: &MethodSnippets,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let base = out.len();
        out.reserve(self.layout.new_len() as usize);
        out.extend_from_slice(snippets.prologue.bytes());
        let mut islands = self.layout.islands().iter().copied().peekable();
        let mut next = 0;
        for site in self.layout.sites() {
            let pc = site.pc as usize;
            while let Some(island) = islands.next_if(|island| island.before <= site.pc) {
                self.write_island(island, code, &mut next, out)?;
            }
            out.extend_from_slice(code.get(next..pc).ok_or(Malformed::TRUNCATED)?);
            if site.starts_handler {
                out.extend_from_slice(snippets.repair.bytes());
            }
            if site.kind == SiteKind::Return {
                out.extend_from_slice(snippets.exit.bytes());
            }
            debug_assert_eq!(out.len() - base, site.new_pc as usize);
            next = pc + site.len as usize;
            self.write_site(site, code, out)?;
            if let SiteKind::Allocation(made) = site.kind {
                out.extend_from_slice(snippets.after(made).bytes());
            }
        }
        for island in islands {
            self.write_island(island, code, &mut next, out)?;
        }
        out.extend_from_slice(code.get(next..).ok_or(Malformed::TRUNCATED)?);
        debug_assert_eq!(out.len() - base, self.layout.new_len() as usize);
        Ok(())
    }

    fn write_island(
        &self,
        island: Island,
        code: &[u8],
        next: &mut usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let before = island.before as usize;
        out.extend_from_slice(code.get(*next..before).ok_or(Malformed::TRUNCATED)?);
        *next = before;
        let from = self.layout.island_address(island);
        out.put_u8(opcode::GOTO_W);
        out.put_i32(offset(from, self.layout.branch_target(island.target)?));
        Ok(())
    }

    /// Writes the instruction of a site.
    fn write_site(&self, site: &Site, code: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let (pc, len) = (site.pc as usize, site.len as usize);
        let instruction = code.get(pc..pc + len).ok_or(Malformed::TRUNCATED)?;
        match site.kind {
            SiteKind::Plain | SiteKind::Return | SiteKind::Allocation(_) => {
                out.extend_from_slice(instruction)
            }
            SiteKind::Branch {
                target,
                reach: Reach::Wide,
            } => {
                // goto_w and jsr_w follow each other as goto and jsr do.
                out.put_u8(instruction[0] - opcode::GOTO + opcode::GOTO_W);
                out.put_i32(offset(site.new_pc, self.layout.branch_target(target)?));
            }
            SiteKind::Branch { target, reach } => {
                let to = match reach {
                    Reach::Island(before) => self.layout.island_address(Island { before, target }),
                    _ => self.layout.branch_target(target)?,
                };
                out.put_u8(instruction[0]);
                out.put_u16(offset(site.new_pc, to) as u16);
            }
            SiteKind::WideBranch { target } => {
                out.put_u8(instruction[0]);
                out.put_i32(offset(site.new_pc, self.layout.branch_target(target)?));
            }
            SiteKind::Switch => self.write_switch(site, code, out)?,
        }
        Ok(())
    }

    fn write_switch(&self, site: &Site, code: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let pc = site.pc as usize;
        let switch = Switch::parse(code, pc)?;
        let padding = (site.new_pc & !3) + 3 - site.new_pc;
        out.put_u8(code[pc]);
        out.extend(std::iter::repeat_n(0, padding as usize));
        let base = out.len();
        let body = code.get(switch.body..switch.body + switch.body_len());
        out.extend_from_slice(body.ok_or(Malformed::TRUNCATED)?);
        for place in switch.offset_places() {
            let old = i32_at(code, switch.body + place).ok_or(Malformed::TRUNCATED)?;
            let target = u32::try_from(i64::from(site.pc) + i64::from(old))
                .map_err(|_| Malformed("branch out of the method"))?;
            let to = self.layout.branch_target(target)?;
            out.patch_u32(base + place, offset(site.new_pc, to) as u32);
        }
        Ok(())
    }

    fn write_exceptions(
        &self,
        code: &Code<'_>,
        snippets: &MethodSnippets,
        body_end: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), MethodSkip> {
        let has_tail = !snippets.tail.bytes().is_empty();
        let count = self.guards.len() + code.exceptions.len() / 8 + usize::from(has_tail);
        out.put_u16(u16::try_from(count).map_err(|_| MethodSkip::FrameTooLarge)?);
        // First, since the first entry that fits is taken.
        for &(handler, catch_type) in &self.guards {
            let start = self.layout.branch_target(u32::from(handler))?;
            let end = start + snippets.lengths().repair;
            [start, end, end]
                .into_iter()
                .for_each(|address| out.put_u16(address as u16));
            out.put_u16(catch_type);
        }
        for [start, end, handler, catch_type] in code.exceptions() {
            out.put_u16(self.layout.branch_target(u32::from(start))? as u16);
            out.put_u16(self.layout.range_end(u32::from(end))? as u16);
            out.put_u16(self.layout.branch_target(u32::from(handler))? as u16);
            out.put_u16(catch_type);
        }
        if has_tail {
            // Last: it gets what no handler of the method catches.
            let start = snippets.lengths().prologue;
            for address in [start, body_end, body_end] {
                out.put_u16(address as u16);
            }
            out.put_u16(0);
        }
        Ok(())
    }

    /// A LineNumberTable: start and line of each entry.
    fn write_lines(&self, content: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut reader = Reader::new(content);
        let count = reader.u16()?;
        out.put_u16(count);
        for _ in 0..count {
            out.put_u16(self.layout.debug_address(u32::from(reader.u16()?)) as u16);
            out.put_u16(reader.u16()?);
        }
        out.extend_from_slice(content.get(reader.position()..).unwrap_or_default());
        Ok(())
    }

    /// A LocalVariableTable or LocalVariableTypeTable: start, length, name, type and index of
    /// each entry.
    fn write_variables(&self, content: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let relocation = Relocation {
            layout: &self.layout,
            guards: 0,
        };
        let mut reader = Reader::new(content);
        let count = reader.u16()?;
        out.put_u16(count);
        for _ in 0..count {
            let (start, len) = relocation.range(reader.u16()?, reader.u16()?)?;
            out.put_u16(start);
            out.put_u16(len);
            out.extend_from_slice(reader.take(6)?);
        }
        out.extend_from_slice(content.get(reader.position()..).unwrap_or_default());
        Ok(())
    }
}

/// The offset of a branch between new addresses.
fn offset(from: u32, to: u32) -> i32 {
    to as i32 - from as i32
}

struct Relocation<'a> {
    layout: &'a Layout,
    /// The number of entries put before the others of the exception table.
    guards: u16,
}

impl Relocate for Relocation<'_> {
    fn instruction(&self, pc: u16) -> Result<u16, Malformed> {
        Ok(self.layout.instruction(u32::from(pc))? as u16)
    }

    fn range(&self, start: u16, len: u16) -> Result<(u16, u16), Malformed> {
        let (start, end) = (u32::from(start), u32::from(start) + u32::from(len));
        let (start, end) = (
            self.layout.debug_address(start),
            self.layout.debug_address(end),
        );
        Ok((start as u16, end.saturating_sub(start) as u16))
    }

    fn exception_entry(&self, index: u16) -> u16 {
        index.saturating_add(self.guards)
    }
}
