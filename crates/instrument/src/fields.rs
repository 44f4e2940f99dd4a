//! Adding fields to a class.

use crate::bytes::{Put, Reader};
use crate::constant_pool::{ConstantPool, PoolBuffers, PoolFull};
use crate::error::{ClassSkip, Malformed};
use crate::rewriter::{assemble, check_header};

/// A field to add, with names in modified UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewField<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its type descriptor, as `J` or `Ljava/lang/Object;`.
    pub descriptor: &'a [u8],
    /// Its access flags (Java Virtual Machine Specification table 4.5-A).
    pub access_flags: u16,
}

/// Returns `class` with `fields` added after those it has, without attributes.
///
/// A VM accepts that while a class is first loaded, not when it is redefined. It fits a class
/// that [`Rewriter`](crate::Rewriter) has rewritten, or will.
///
/// # Errors
///
/// The class is damaged or too new, has one of the fields already, or has no room for them.
pub fn add_fields(class: &[u8], fields: &[NewField<'_>]) -> Result<Vec<u8>, ClassSkip> {
    check_header(class)?;
    let mut buffers = PoolBuffers::default();
    let mut pool = ConstantPool::parse(class, 8, &mut buffers)?;
    let start = pool.end();
    let mut reader = Reader::starting_at(class, start);
    reader.skip(6)?;
    let interfaces = usize::from(reader.u16()?);
    reader.skip(interfaces * 2)?;
    let count_at = reader.position();
    let count = reader.u16()?;
    for _ in 0..count {
        reader.skip(2)?;
        let name = reader.u16()?;
        let descriptor = reader.u16()?;
        let (name, descriptor) = (pool.utf8(name), pool.utf8(descriptor));
        let same =
            |field: &NewField<'_>| name == Some(field.name) && descriptor == Some(field.descriptor);
        if fields.iter().any(same) {
            return Err(ClassSkip::FieldExists);
        }
        for _ in 0..reader.u16()? {
            reader.skip(2)?;
            let len = reader.len32()?;
            reader.skip(len)?;
        }
    }
    let end = reader.position();
    let new_count = u16::try_from(usize::from(count) + fields.len());
    let new_count = new_count.map_err(|_| Malformed("too many fields"))?;

    let mut body = class.get(start..end).unwrap_or_default().to_vec();
    body.patch_u16(count_at - start, new_count);
    for field in fields {
        let full = |PoolFull| ClassSkip::ConstantPoolFull;
        body.put_u16(field.access_flags);
        body.put_u16(pool.add_utf8(field.name).map_err(full)?);
        body.put_u16(pool.add_utf8(field.descriptor).map_err(full)?);
        body.put_u16(0);
    }
    body.extend_from_slice(class.get(end..).unwrap_or_default());
    let mut out = Vec::new();
    assemble(class, &pool, &body, &mut out);
    Ok(out)
}
