//! Having a method called where a field would be written, or another method called.

use crate::bytes::{Reader, u16_at};
use crate::constant_pool::{ConstantPool, PoolBuffers, PoolFull, tag};
use crate::error::{ClassSkip, Malformed};
use crate::method::Method;
use crate::opcode::{INVOKESTATIC, INVOKEVIRTUAL, PUTFIELD, length};
use crate::rewriter::{assemble, check_header, skip_supertypes_and_fields};

/// A field, or a method, by the names in the class file, in modified UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its class, with slashes.
    pub class: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor: `J`, `(Ljava/lang/Thread;J)V`.
    pub descriptor: &'a [u8],
}

/// Returns `class` with a call of `setter` in each place where its code writes `field`, an instance's. The
/// setter is a static method that takes the object and the value, and returns nothing.
///
/// Code keeps its length, since both instructions have three bytes. It fits a class that
/// [`Rewriter`](crate::Rewriter) has rewritten, or will.
///
/// # Errors
///
/// The class is damaged or too new, nowhere writes the field, or has no room for the call.
pub fn call_for_writes(
    class: &[u8],
    field: &Member<'_>,
    setter: &Member<'_>,
) -> Result<Vec<u8>, ClassSkip> {
    call_instead(class, PUTFIELD, tag::FIELDREF, field, setter)
}

/// Returns `class` with a call of `other` in each place where its code calls `method`, an instance's, by its class. The
/// other is a static method that takes the object and the arguments, and returns what the method returns.
///
/// # Errors
///
/// The class is damaged or too new, nowhere calls the method, or has no room for the call.
pub fn call_for_calls(
    class: &[u8],
    method: &Member<'_>,
    other: &Member<'_>,
) -> Result<Vec<u8>, ClassSkip> {
    call_instead(class, INVOKEVIRTUAL, tag::METHODREF, method, other)
}

/// Puts a call of `setter` in the place of each instruction `replaced`, of three bytes, that refers to `member`.
fn call_instead(
    class: &[u8],
    replaced: u8,
    kind: u8,
    member: &Member<'_>,
    setter: &Member<'_>,
) -> Result<Vec<u8>, ClassSkip> {
    check_header(class)?;
    let mut buffers = PoolBuffers::default();
    let mut pool = ConstantPool::parse(class, 8, &mut buffers)?;
    let start = pool.end();
    let mut reader = Reader::starting_at(class, start);
    reader.skip(4)?;
    skip_supertypes_and_fields(&mut reader)?;
    let mut writes = Vec::new();
    for _ in 0..reader.u16()? {
        let method = Method::parse(&mut reader, &pool)?;
        let Some((code, content_at)) = method.parse_code() else {
            continue;
        };
        let code = code?.bytes;
        // Behind the sizes of stack and locals, and the length.
        let code_at = content_at + 8;
        let mut pc = 0;
        while let Some(&opcode) = code.get(pc) {
            let is_write = opcode == replaced
                && u16_at(code, pc + 1).is_some_and(|index| is_member(&pool, index, kind, member));
            if is_write {
                writes.push(code_at + pc - start);
            }
            let unknown = |_| Malformed("unknown instruction");
            pc += length(code, pc).map_err(unknown)?;
        }
    }
    if writes.is_empty() {
        return Err(ClassSkip::NotWritten);
    }
    let full = |PoolFull| ClassSkip::ConstantPoolFull;
    let of = pool.class_index(setter.class).map_err(full)?;
    let setter = pool
        .add_methodref(of, setter.name, setter.descriptor)
        .map_err(full)?;
    let [high, low] = setter.to_be_bytes();
    let mut body = class.get(start..).unwrap_or_default().to_vec();
    for at in writes {
        if let Some(instruction) = body.get_mut(at..at + 3) {
            instruction.copy_from_slice(&[INVOKESTATIC, high, low]);
        }
    }
    let mut out = Vec::new();
    assemble(class, &pool, &body, &mut out);
    Ok(out)
}

fn is_member(pool: &ConstantPool<'_>, index: u16, kind: u8, member: &Member<'_>) -> bool {
    let names = || {
        let (class, name_and_type) = pool.pair(index, &[kind])?;
        let (name, descriptor) = pool.pair(name_and_type, &[tag::NAME_AND_TYPE])?;
        Some([
            pool.class_name(class)?,
            pool.utf8(name)?,
            pool.utf8(descriptor)?,
        ])
    };
    names() == Some([member.class, member.name, member.descriptor])
}
