//! The inserted instructions.

use crate::allocations::Made;
use crate::constant_pool::{ConstantPool, PoolFull};
use crate::layout::HookLengths;
use crate::opcode;
use crate::plan::{AllocationHooks, Hooks, MethodHook, Shape};

/// A few instructions, at most ten bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Snippet {
    bytes: [u8; 12],
    len: u8,
}

impl Snippet {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn push(&mut self, bytes: &[u8]) {
        let at = usize::from(self.len);
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len() as u8;
    }

    fn op_u16(&mut self, opcode: u8, operand: u16) {
        let [high, low] = operand.to_be_bytes();
        self.push(&[opcode, high, low]);
    }

    /// `lload` or `lstore`, in its shortest form.
    fn long_local(&mut self, opcode: u8, opcode_0: u8, local: u16) {
        match u8::try_from(local) {
            Ok(local @ 0..=3) => self.push(&[opcode_0 + local]),
            Ok(local) => self.push(&[opcode, local]),
            Err(_) => {
                self.push(&[opcode::WIDE]);
                self.op_u16(opcode, local);
            }
        }
    }
}

/// References to the hooks in the constant pool of one class, added when first needed.
#[derive(Default)]
pub(crate) struct HookRefs {
    class: Option<u16>,
    enter: Option<u16>,
    exit: Option<u16>,
    repair: Option<u16>,
    count: Option<u16>,
    made: [Option<u16>; 4],
}

/// The code that is inserted into one method.
#[derive(Default)]
pub(crate) struct MethodSnippets {
    pub(crate) prologue: Snippet,
    pub(crate) exit: Snippet,
    pub(crate) repair: Snippet,
    /// The handler of [`Shape::Around`], behind the code of the method.
    pub(crate) tail: Snippet,
    /// For objects that were made in each way.
    made: [Snippet; 4],
}

impl MethodSnippets {
    /// Makes the snippets of [`Shape::Allocations`]; `is_root` for the constructor of `Object`.
    pub(crate) fn of_allocations(
        class: &[u8],
        hooks: &AllocationHooks<'_>,
        is_root: bool,
        refs: &mut HookRefs,
        pool: &mut ConstantPool<'_>,
    ) -> Result<Self, PoolFull> {
        let class = reference(&mut refs.class, || pool.add_class(class))?;
        let names = [hooks.made, hooks.nested, hooks.reflected, hooks.copied];
        let mut snippets = Self::default();
        for ((slot, name), snippet) in refs.made.iter_mut().zip(names).zip(&mut snippets.made) {
            let descriptor = b"(Ljava/lang/Object;)V";
            let method = reference(slot, || pool.add_methodref(class, name, descriptor))?;
            snippet.push(&[opcode::DUP]);
            snippet.op_u16(opcode::INVOKESTATIC, method);
        }
        if let (true, [Some(made), ..]) = (is_root, refs.made) {
            snippets.prologue.push(&[opcode::ALOAD_0]);
            snippets.prologue.op_u16(opcode::INVOKESTATIC, made);
        }
        Ok(snippets)
    }

    /// The code after an instruction that has made an object.
    pub(crate) fn after(&self, made: Made) -> &Snippet {
        match made {
            Made::Here => &self.made[0],
            Made::Nested => &self.made[1],
            Made::Reflected => &self.made[2],
            Made::Copied => &self.made[3],
        }
    }

    /// Makes the snippets; `local` is the index for the long that `enter` returns, `handlers`
    /// whether the method has exception handlers.
    pub(crate) fn make(
        hooks: &Hooks<'_>,
        hook: MethodHook,
        local: u16,
        handlers: bool,
        refs: &mut HookRefs,
        pool: &mut ConstantPool<'_>,
    ) -> Result<Self, PoolFull> {
        let class = reference(&mut refs.class, || pool.add_class(hooks.class))?;
        let method = |slot: &mut Option<u16>, pool: &mut ConstantPool<'_>, name, descriptor| {
            reference(slot, || pool.add_methodref(class, name, descriptor))
        };
        let mut made = Self::default();
        let number = number(hook, pool)?;
        made.prologue.push(number.bytes());
        match hook.shape {
            // Made by `of_allocations`.
            Shape::Allocations => {}
            Shape::CountOnly => {
                let count = method(&mut refs.count, pool, hooks.count, b"(I)V")?;
                made.prologue.op_u16(opcode::INVOKESTATIC, count);
            }
            Shape::Full | Shape::Around => {
                let enter = method(&mut refs.enter, pool, hooks.enter, b"(I)J")?;
                made.prologue.op_u16(opcode::INVOKESTATIC, enter);
                made.prologue
                    .long_local(opcode::LSTORE, opcode::LSTORE_0, local);
                let exit = method(&mut refs.exit, pool, hooks.exit, b"(J)V")?;
                made.exit.long_local(opcode::LLOAD, opcode::LLOAD_0, local);
                made.exit.op_u16(opcode::INVOKESTATIC, exit);
                if hook.shape == Shape::Around {
                    made.tail = made.exit;
                    made.tail.push(&[opcode::ATHROW]);
                    return Ok(made);
                }
                if handlers {
                    let repair = method(&mut refs.repair, pool, hooks.repair, b"(JI)V")?;
                    made.repair
                        .long_local(opcode::LLOAD, opcode::LLOAD_0, local);
                    made.repair.push(number.bytes());
                    made.repair.op_u16(opcode::INVOKESTATIC, repair);
                }
            }
        }
        Ok(made)
    }

    pub(crate) fn lengths(&self) -> HookLengths {
        let len = |snippet: &Snippet| u32::from(snippet.len);
        HookLengths {
            prologue: len(&self.prologue),
            exit: len(&self.exit),
            repair: len(&self.repair),
            // They are all as long.
            made: len(&self.made[0]),
        }
    }
}

fn reference(
    slot: &mut Option<u16>,
    add: impl FnOnce() -> Result<u16, PoolFull>,
) -> Result<u16, PoolFull> {
    if let Some(index) = *slot {
        return Ok(index);
    }
    let index = add()?;
    *slot = Some(index);
    Ok(index)
}

/// Pushes the number of the method, as an int with the same 32 bits.
fn number(hook: MethodHook, pool: &mut ConstantPool<'_>) -> Result<Snippet, PoolFull> {
    let mut snippet = Snippet::default();
    let number = hook.number.0;
    match number {
        0..=5 => snippet.push(&[opcode::ICONST_0 + number as u8]),
        6..=0x7f => snippet.push(&[opcode::BIPUSH, number as u8]),
        0x80..=0x7fff => snippet.op_u16(opcode::SIPUSH, number as u16),
        _ => {
            let index = pool.add_integer(number as i32)?;
            match u8::try_from(index) {
                Ok(index) => snippet.push(&[opcode::LDC, index]),
                Err(_) => snippet.op_u16(opcode::LDC_W, index),
            }
        }
    }
    Ok(snippet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant_pool::PoolBuffers;
    use crate::plan::MethodNumber;

    const HOOKS: Hooks<'static> = Hooks {
        class: b"H",
        enter: b"enter",
        exit: b"exit",
        repair: b"repair",
        count: b"count",
    };

    fn make(number: u32, shape: Shape, local: u16) -> (MethodSnippets, usize) {
        let class = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 1];
        let mut buffers = PoolBuffers::default();
        let mut pool = ConstantPool::parse(&class, 8, &mut buffers).unwrap();
        let hook = MethodHook {
            number: MethodNumber(number),
            shape,
        };
        let mut refs = HookRefs::default();
        let made = MethodSnippets::make(&HOOKS, hook, local, true, &mut refs, &mut pool).unwrap();
        (made, usize::from(pool.count()))
    }

    #[test]
    fn shortest_forms() {
        assert_eq!(
            make(5, Shape::Full, 3).0.prologue.bytes(),
            [8, 184, 0, 6, 66]
        );
        assert_eq!(
            make(6, Shape::Full, 4).0.prologue.bytes(),
            [16, 6, 184, 0, 6, 55, 4]
        );
        assert_eq!(
            make(128, Shape::Full, 255).0.prologue.bytes(),
            [17, 0, 128, 184, 0, 6, 55, 255]
        );
        let (wide, _) = make(0x8000, Shape::Full, 256);
        assert_eq!(wide.prologue.bytes(), [18, 3, 184, 0, 7, 196, 55, 1, 0]);
        assert_eq!(wide.exit.bytes(), [196, 22, 1, 0, 184, 0, 11]);
        assert_eq!(wide.repair.bytes(), [196, 22, 1, 0, 18, 3, 184, 0, 15]);
    }

    #[test]
    fn counting_needs_no_local() {
        let (made, count) = make(1, Shape::CountOnly, 7);
        assert_eq!(made.prologue.bytes(), [4, 184, 0, 6]);
        assert!(made.exit.bytes().is_empty() && made.repair.bytes().is_empty());
        assert_eq!(count, 7);
    }
}
