//! Methods: finding their code, and describing them to the caller.

use crate::allocations;
use crate::annotations;
use crate::bytes::{Reader, u16_at};
use crate::constant_pool::ConstantPool;
use crate::error::{Malformed, MethodSkip};
use crate::mutf8::Mutf8;
use crate::opcode;

/// `ACC_NATIVE`, one of the access flags of a method.
pub(crate) const ACC_NATIVE: u16 = 0x0100;

/// A Code attribute (Java Virtual Machine Specification 4.7.3), cut into its parts.
#[derive(Clone, Copy)]
pub(crate) struct Code<'a> {
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) bytes: &'a [u8],
    /// Entries of eight bytes: start, end, handler, catch type.
    pub(crate) exceptions: &'a [u8],
    pub(crate) attribute_count: u16,
    pub(crate) attributes: &'a [u8],
}

impl<'a> Code<'a> {
    fn parse(content: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(content);
        let max_stack = reader.u16()?;
        let max_locals = reader.u16()?;
        let len = reader.len32()?;
        if len == 0 || len > usize::from(u16::MAX) {
            return Err(Malformed("length of code"));
        }
        let bytes = reader.take(len)?;
        let exception_count = usize::from(reader.u16()?);
        let exceptions = reader.take(exception_count * 8)?;
        let attribute_count = reader.u16()?;
        let attributes = content.get(reader.position()..).unwrap_or_default();
        Ok(Self {
            max_stack,
            max_locals,
            bytes,
            exceptions,
            attribute_count,
            attributes,
        })
    }

    /// The attributes of the code: name index and content.
    pub(crate) fn attributes(&self) -> Attributes<'a> {
        Attributes {
            reader: Reader::new(self.attributes),
            left: self.attribute_count,
        }
    }

    /// The exception table: start, end, handler and catch type of each entry.
    pub(crate) fn exceptions(&self) -> impl Iterator<Item = [u16; 4]> + use<'a> {
        self.exceptions
            .chunks_exact(8)
            .map(|entry| [0, 2, 4, 6].map(|at| u16::from_be_bytes([entry[at], entry[at + 1]])))
    }
}

/// Walks a list of attributes.
pub(crate) struct Attributes<'a> {
    reader: Reader<'a>,
    left: u16,
}

impl<'a> Attributes<'a> {
    /// Name index and content of the next attribute.
    pub(crate) fn next(&mut self) -> Result<Option<(u16, &'a [u8])>, Malformed> {
        if self.left == 0 {
            return match self.reader.is_at_end() {
                true => Ok(None),
                false => Err(Malformed("bytes after the attributes")),
            };
        }
        self.left -= 1;
        let name = self.reader.u16()?;
        let len = self.reader.len32()?;
        Ok(Some((name, self.reader.take(len)?)))
    }
}

/// One `method_info` structure and where its parts are in the class.
pub(crate) struct Method<'a> {
    pub(crate) access_flags: u16,
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    /// Content of the Code attribute, not read yet, and where it starts in the class.
    pub(crate) code: Option<(&'a [u8], usize)>,
    annotations: &'a [u8],
}

impl<'a> Method<'a> {
    /// Reads the method at `reader`, and advances it past the method.
    pub(crate) fn parse(
        reader: &mut Reader<'a>,
        pool: &ConstantPool<'a>,
    ) -> Result<Self, Malformed> {
        let access_flags = reader.u16()?;
        let name = pool
            .original_utf8(reader.u16()?)
            .ok_or(Malformed("name of a method"))?;
        let descriptor = pool
            .original_utf8(reader.u16()?)
            .ok_or(Malformed("descriptor of a method"))?;
        let mut method = Self {
            access_flags,
            name,
            descriptor,
            code: None,
            annotations: Default::default(),
        };
        for _ in 0..reader.u16()? {
            let name = reader.u16()?;
            let len = reader.len32()?;
            let at = reader.position();
            let content = reader.take(len)?;
            match pool.original_utf8(name) {
                Some(b"Code") if method.code.is_some() => return Err(Malformed("two Codes")),
                Some(b"Code") => method.code = Some((content, at)),
                Some(b"RuntimeVisibleAnnotations") => method.annotations = content,
                _ => (),
            }
        }
        Ok(method)
    }

    pub(crate) fn parse_code(&self) -> Option<(Result<Code<'a>, Malformed>, usize)> {
        self.code.map(|(content, at)| (Code::parse(content), at))
    }

    /// True for the constructor of `Object`, by the name of its class.
    pub(crate) fn is_root(&self, class: &[u8]) -> bool {
        class == b"java/lang/Object" && self.name == b"<init>"
    }

    /// Methods that never get hooks, but those for allocations.
    pub(crate) fn reserved(&self, class: &[u8], code: &Code<'_>) -> Option<MethodSkip> {
        match (class, self.name, self.descriptor) {
            (b"java/lang/Object", b"<init>", _) | (b"java/lang/Thread", b"<clinit>", _) => {
                Some(MethodSkip::Reserved)
            }
            (_, b"finalize", b"()V") if code.bytes == [opcode::RETURN] => {
                Some(MethodSkip::EmptyFinalizer)
            }
            _ => None,
        }
    }
}

/// A method with code, as [`SelectMethod`](crate::SelectMethod) sees it.
pub struct MethodInfo<'a> {
    /// Internal name of the class, as `java/lang/Thread`.
    pub class: Mutf8<'a>,
    /// Name of the method, `<init>` and `<clinit>` among them.
    pub name: Mutf8<'a>,
    /// Its descriptor, as `(I)J`.
    pub descriptor: Mutf8<'a>,
    /// Its access flags (Java Virtual Machine Specification table 4.6-A).
    pub access_flags: u16,
    /// Length of its code in bytes, 1 to 65,535.
    pub code_len: u16,
    /// The line its code starts with, if the class has line numbers.
    pub first_line: Option<u16>,
    pub(crate) code: &'a [u8],
    pub(crate) annotations: &'a [u8],
    pub(crate) pool: &'a ConstantPool<'a>,
}

impl<'a> MethodInfo<'a> {
    pub(crate) fn new(
        class: &'a [u8],
        method: &Method<'a>,
        code: &Code<'a>,
        pool: &'a ConstantPool<'a>,
    ) -> Self {
        Self {
            class: Mutf8(class),
            name: Mutf8(method.name),
            descriptor: Mutf8(method.descriptor),
            access_flags: method.access_flags,
            code_len: code.bytes.len() as u16,
            first_line: first_line(code, pool),
            code: code.bytes,
            annotations: method.annotations,
            pool,
        }
    }

    /// Returns whether the code calls nothing, throws nothing by itself, takes no monitor and has
    /// no backward branch: then it runs for a short and bounded time and calls can be counted
    /// without knowing when it ends. Class initialization and class loading that such code may
    /// cause, once, are not looked for.
    pub fn is_leaf(&self) -> bool {
        let mut pc = 0;
        while let Some(&opcode) = self.code.get(pc) {
            match opcode {
                opcode::INVOKEVIRTUAL..=opcode::INVOKEDYNAMIC
                | opcode::ATHROW
                | opcode::MONITORENTER
                | opcode::MONITOREXIT
                | opcode::JSR..=opcode::LOOKUPSWITCH
                | opcode::GOTO_W
                | opcode::JSR_W => return false,
                opcode::IFEQ..=opcode::GOTO | opcode::IFNULL | opcode::IFNONNULL => {
                    match u16_at(self.code, pc + 1) {
                        Some(offset) if (offset as i16) > 0 => (),
                        _ => return false,
                    }
                }
                _ => (),
            }
            match opcode::length(self.code, pc) {
                Ok(len) => pc += len,
                Err(_) => return false,
            }
        }
        true
    }

    /// True where [`Shape::Allocations`](crate::Shape::Allocations) has something to call: the code makes arrays or
    /// copies, or is the constructor of `Object`.
    pub fn allocates(&self) -> bool {
        let is_root = self.class.0 == b"java/lang/Object" && self.name.0 == b"<init>";
        is_root || allocations::has_any(self.code, self.pool)
    }

    /// Returns whether the JIT compilers may replace the method by code of their own, which runs no
    /// hooks: `@IntrinsicCandidate`, until JDK 15 `@HotSpotIntrinsicCandidate`.
    pub fn is_intrinsic_candidate(&self) -> bool {
        annotations::has_type(self.annotations, |index| {
            matches!(
                self.pool.utf8(index),
                Some(
                    b"Ljdk/internal/vm/annotation/IntrinsicCandidate;"
                        | b"Ljdk/internal/HotSpotIntrinsicCandidate;"
                )
            )
        })
    }
}

/// The line of the lowest address in the line number tables.
fn first_line(code: &Code<'_>, pool: &ConstantPool<'_>) -> Option<u16> {
    let mut first: Option<(u16, u16)> = None;
    let mut attributes = code.attributes();
    while let Ok(Some((name, content))) = attributes.next() {
        if pool.utf8(name) != Some(b"LineNumberTable") {
            continue;
        }
        for entry in content.get(2..).unwrap_or_default().chunks_exact(4) {
            let (pc, line) = (u16_at(entry, 0)?, u16_at(entry, 2)?);
            if first.is_none_or(|(lowest, _)| pc < lowest) {
                first = Some((pc, line));
            }
            if pc == 0 {
                return Some(line);
            }
        }
    }
    first.map(|(_, line)| line)
}
