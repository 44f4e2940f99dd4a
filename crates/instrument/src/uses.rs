//! The methods that code calls, and the fields that it writes.

use crate::bytes::u16_at;
use crate::constant_pool::{ConstantPool, PoolBuffers, tag};
use crate::error::{ClassSkip, MethodSkip};
use crate::opcode::{
    INVOKEDYNAMIC, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, NEW, PUTFIELD, length,
};

const PUTSTATIC: u8 = 179;
const INVOKEINTERFACE: u8 = 185;

/// An instruction that does more than compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// It calls a method.
    Call(Call),
    /// It writes a field.
    Write,
    /// It calls what is linked when it first runs.
    Dynamic,
}

/// A method that is called, by the names in the class file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// The class that is named, with slashes.
    pub class: String,
    /// The method's name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: String,
    /// The method of this class or its superclasses is meant, not one that overrides it.
    pub is_special: bool,
}

/// The constants of a class, as the VM gives them out: the bytes of its entries.
#[derive(Debug, Clone)]
pub struct Constants {
    /// A byte that is no tag, the count, and the entries: the parser wants them so.
    bytes: Vec<u8>,
}

impl Constants {
    /// Constants from their count, as a class file has it (one more than the last index), and bytes.
    pub fn new(count: u16, entries: &[u8]) -> Self {
        let mut bytes = vec![0];
        bytes.extend_from_slice(&count.to_be_bytes());
        bytes.extend_from_slice(entries);
        Self { bytes }
    }

    /// The address in a constructor's code at which it calls another constructor for its own object; `None` if it calls none,
    /// as that of `Object`.
    ///
    /// It is the first such call that belongs to no `new` before it: arguments may make objects too, and compilers put the
    /// constructor of a new object behind the `new`, with others in between like brackets.
    ///
    /// # Errors
    /// Constants or code that this crate does not understand.
    pub fn own_construction(&self, code: &[u8]) -> Result<Option<u32>, MethodSkip> {
        let mut buffers = PoolBuffers::default();
        let pool = self.parse(&mut buffers)?;
        let (mut open, mut pc) = (0u32, 0);
        while let Some(&opcode) = code.get(pc) {
            let is_construction = || {
                let call = call(&pool, opcode, u16_at(code, pc + 1)?)?;
                Some(call.name == "<init>")
            };
            match opcode {
                NEW => open += 1,
                INVOKESPECIAL if is_construction() == Some(true) => match open.checked_sub(1) {
                    Some(left) => open = left,
                    None => return Ok(u32::try_from(pc).ok()),
                },
                _ => {}
            }
            pc += length(code, pc)?;
        }
        Ok(None)
    }

    fn parse<'a>(&'a self, buffers: &'a mut PoolBuffers) -> Result<ConstantPool<'a>, MethodSkip> {
        ConstantPool::parse(&self.bytes, 1, buffers).map_err(|skip| match skip {
            ClassSkip::Malformed(malformed) => MethodSkip::Malformed(malformed),
            _ => MethodSkip::Malformed(crate::Malformed("constants")),
        })
    }

    /// The calls and writes of code that belongs to these constants.
    ///
    /// # Errors
    /// Constants or code that this crate does not understand.
    pub fn uses(&self, code: &[u8]) -> Result<Vec<Use>, MethodSkip> {
        let mut buffers = PoolBuffers::default();
        let pool = self.parse(&mut buffers)?;
        let mut uses = Vec::new();
        let mut pc = 0;
        while let Some(&opcode) = code.get(pc) {
            let index = u16_at(code, pc + 1);
            match opcode {
                PUTSTATIC | PUTFIELD => uses.push(Use::Write),
                INVOKEDYNAMIC => uses.push(Use::Dynamic),
                INVOKEVIRTUAL..=INVOKEINTERFACE => {
                    let call = index.and_then(|index| call(&pool, opcode, index));
                    uses.push(call.map_or(Use::Dynamic, Use::Call));
                }
                _ => {}
            }
            pc += length(code, pc)?;
        }
        Ok(uses)
    }
}

fn call(pool: &ConstantPool<'_>, opcode: u8, index: u16) -> Option<Call> {
    let text = |index| Some(String::from_utf8_lossy(pool.utf8(index)?).into_owned());
    let (class, name_and_type) = pool.pair(index, &[tag::METHODREF, tag::INTERFACE_METHODREF])?;
    let (name, descriptor) = pool.pair(name_and_type, &[tag::NAME_AND_TYPE])?;
    Some(Call {
        class: String::from_utf8_lossy(pool.class_name(class)?).into_owned(),
        name: text(name)?,
        descriptor: text(descriptor)?,
        is_special: matches!(opcode, INVOKESPECIAL | INVOKESTATIC),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf8(text: &str) -> Vec<u8> {
        let mut bytes = vec![1, 0, text.len() as u8];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    #[test]
    fn a_constructor_calls_another_for_its_own_object_once() {
        let entries = [
            utf8("A"),
            utf8("<init>"),
            utf8("(I)V"),
            vec![7, 0, 1],
            vec![12, 0, 2, 0, 3],
            vec![10, 0, 4, 0, 5],
        ];
        let constants = Constants::new(7, &entries.concat());
        // aload_0; new, dup, iconst_0, its constructor; the own one; new, its constructor; return.
        let code = [
            42, 187, 0, 4, 89, 3, 183, 0, 6, 183, 0, 6, 187, 0, 4, 183, 0, 6, 177,
        ];
        assert_eq!(constants.own_construction(&code), Ok(Some(9)));
        assert_eq!(constants.own_construction(&[177]), Ok(None));
        assert!(constants.own_construction(&[202]).is_err());
    }

    #[test]
    fn calls_have_the_names_of_the_constants() {
        let entries = [
            utf8("A"),
            utf8("set"),
            utf8("(I)V"),
            vec![7, 0, 1],
            vec![12, 0, 2, 0, 3],
            vec![10, 0, 4, 0, 5],
        ];
        let constants = Constants::new(7, &entries.concat());
        // iload_1, invokevirtual 6, invokespecial 6, putfield 9, invokedynamic 1, invokestatic 1, return
        let code = [
            27, 182, 0, 6, 183, 0, 6, 181, 0, 9, 186, 0, 1, 0, 0, 184, 0, 1, 177,
        ];
        let call = |is_special| {
            Use::Call(Call {
                class: "A".to_owned(),
                name: "set".to_owned(),
                descriptor: "(I)V".to_owned(),
                is_special,
            })
        };
        let expected = [
            call(false),
            call(true),
            Use::Write,
            Use::Dynamic,
            Use::Dynamic,
        ];
        assert_eq!(constants.uses(&code).unwrap(), expected);
        assert!(constants.uses(&[202]).is_err());
        assert!(Constants::new(9, &[1, 0]).uses(&code).is_err());
    }
}
