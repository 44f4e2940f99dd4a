//! Instructions that make objects.
//!
//! A new instance is known when the constructor of `Object` gets it: before that, code must not hand it to a method. Arrays and
//! copies are known after the instruction that makes them.

use crate::bytes::u16_at;
use crate::constant_pool::{ConstantPool, tag};
use crate::opcode::{
    ANEWARRAY, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, MULTIANEWARRAY, NEWARRAY, length,
};

/// The method to call with an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    /// By an instruction, or as the clone of an array.
    Here,
    /// With the arrays in it.
    Nested,
    /// By `java.lang.reflect.Array`, or as a clone: callers may say so again.
    Reflected,
    /// By a method that may have said so: `Arrays.copyOf`, `copyOfRange`, another `clone`.
    Copied,
}

const CLONE: (&[u8], &[u8]) = (b"clone", b"()Ljava/lang/Object;");
/// Native methods of `java.lang.reflect.Array`.
const REFLECTED: (&[u8], &[u8]) = (b"newArray", b"(Ljava/lang/Class;I)Ljava/lang/Object;");
const REFLECTED_NESTED: (&[u8], &[u8]) =
    (b"multiNewArray", b"(Ljava/lang/Class;[I)Ljava/lang/Object;");
/// Methods of `java.util.Arrays` that the compilers know (`_copyOf` and `_copyOfRange` in `vmSymbols.hpp`).
const COPIED: [(&[u8], &[u8]); 2] = [
    (
        b"copyOf",
        b"([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object;",
    ),
    (
        b"copyOfRange",
        b"([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object;",
    ),
];

/// How the instruction at `pc` makes the object that is on the stack afterwards; `None` if it makes none.
pub(crate) fn made(code: &[u8], pc: usize, pool: &ConstantPool<'_>) -> Option<Made> {
    let opcode = *code.get(pc)?;
    match opcode {
        NEWARRAY | ANEWARRAY => Some(Made::Here),
        MULTIANEWARRAY => Some(Made::Nested),
        INVOKEVIRTUAL..=INVOKESTATIC => {
            let (class, name, descriptor) = called(pool, u16_at(code, pc + 1)?)?;
            let method = (name, descriptor);
            match (opcode, class) {
                (INVOKEVIRTUAL, class) if class.starts_with(b"[") && method == CLONE => {
                    Some(Made::Here)
                }
                (INVOKESPECIAL, b"java/lang/Object") if method == CLONE => Some(Made::Reflected),
                // The method may be that of `Object`, or one that calls it.
                (INVOKESPECIAL, _) | (INVOKEVIRTUAL, b"java/lang/Object") if method == CLONE => {
                    Some(Made::Copied)
                }
                (INVOKESTATIC, b"java/lang/reflect/Array") if method == REFLECTED => {
                    Some(Made::Reflected)
                }
                (INVOKESTATIC, b"java/lang/reflect/Array") if method == REFLECTED_NESTED => {
                    Some(Made::Nested)
                }
                (INVOKESTATIC, b"java/util/Arrays") if COPIED.contains(&method) => {
                    Some(Made::Copied)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// True for code that makes arrays or copies.
pub(crate) fn has_any(code: &[u8], pool: &ConstantPool<'_>) -> bool {
    let mut pc = 0;
    while pc < code.len() {
        if made(code, pc, pool).is_some() {
            return true;
        }
        match length(code, pc) {
            Ok(len) => pc += len,
            Err(_) => return false,
        }
    }
    false
}

/// Class, name and descriptor of a method that is called.
fn called<'a>(pool: &'a ConstantPool<'_>, index: u16) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
    let (class, name_and_type) = pool.pair(index, &[tag::METHODREF])?;
    let (name, descriptor) = pool.pair(name_and_type, &[tag::NAME_AND_TYPE])?;
    Some((
        pool.class_name(class)?,
        pool.utf8(name)?,
        pool.utf8(descriptor)?,
    ))
}
