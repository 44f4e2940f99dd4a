//! The name of a class's source file.

use crate::bytes::Reader;
use crate::constant_pool::{ConstantPool, PoolBuffers};
use crate::error::Malformed;
use crate::mutf8::Mutf8;

/// The SourceFile attribute of `class` (Java Virtual Machine Specification 4.7.10), if it has one
/// and can be read.
pub fn source_file(class: &[u8]) -> Option<String> {
    find(class).ok().flatten()
}

fn find(class: &[u8]) -> Result<Option<String>, Malformed> {
    let mut buffers = PoolBuffers::default();
    let pool = ConstantPool::parse(class, 8, &mut buffers).map_err(|_| Malformed("constants"))?;
    let mut reader = Reader::starting_at(class, pool.end());
    reader.skip(6)?;
    let interfaces = usize::from(reader.u16()?);
    reader.skip(interfaces * 2)?;
    // Fields, then methods.
    for _ in 0..2 {
        for _ in 0..reader.u16()? {
            reader.skip(6)?;
            for _ in 0..reader.u16()? {
                reader.skip(2)?;
                let len = reader.len32()?;
                reader.skip(len)?;
            }
        }
    }
    for _ in 0..reader.u16()? {
        let name = reader.u16()?;
        let len = reader.len32()?;
        let content = reader.take(len)?;
        if let (Some(b"SourceFile"), [high, low]) = (pool.utf8(name), content) {
            let name = pool.utf8(u16::from_be_bytes([*high, *low]));
            return Ok(name.map(|name| Mutf8(name).to_string()));
        }
    }
    Ok(None)
}
