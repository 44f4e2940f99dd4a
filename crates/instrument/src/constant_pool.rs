//! The constant pool: where its entries are, and what is added at its end.
//!
//! Entries keep their numbers and their bytes (Java Virtual Machine Specification 4.4). New ones
//! are only ever appended, so no reference anywhere in the class changes.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::bytes::{Put, Reader, u16_at};
use crate::error::{ClassSkip, Malformed};

/// Tags of the entries this crate reads or makes (Java Virtual Machine Specification table 4.4-A).
pub(crate) mod tag {
    pub(crate) const UTF8: u8 = 1;
    pub(crate) const INTEGER: u8 = 3;
    pub(crate) const LONG: u8 = 5;
    pub(crate) const DOUBLE: u8 = 6;
    pub(crate) const CLASS: u8 = 7;
    pub(crate) const FIELDREF: u8 = 9;
    pub(crate) const METHODREF: u8 = 10;
    pub(crate) const INTERFACE_METHODREF: u8 = 11;
    pub(crate) const NAME_AND_TYPE: u8 = 12;
}

/// The pool would need more than its 65,534 entries, or a text more than 65,535 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolFull;

/// Memory of a [`ConstantPool`], kept from class to class.
#[derive(Default)]
pub(crate) struct PoolBuffers {
    /// Where the tag of each entry is: in the class, or past its end in `added`. Zero for the
    /// unused entry 0 and for the second half of a long or double.
    offsets: Vec<u32>,
    added: Vec<u8>,
    classes: HashTable<u16>,
    hasher: DefaultHashBuilder,
}

/// The constant pool of one class.
pub(crate) struct ConstantPool<'a> {
    class: &'a [u8],
    end: usize,
    buffers: &'a mut PoolBuffers,
    classes_listed: bool,
}

impl<'a> ConstantPool<'a> {
    /// Reads the pool that starts with its count at `start`.
    pub(crate) fn parse(
        class: &'a [u8],
        start: usize,
        buffers: &'a mut PoolBuffers,
    ) -> Result<Self, ClassSkip> {
        let mut reader = Reader::starting_at(class, start);
        let count = usize::from(reader.u16()?);
        buffers.offsets.clear();
        buffers.offsets.reserve(count + 16);
        buffers.added.clear();
        buffers.classes.clear();
        buffers.offsets.push(0);
        while buffers.offsets.len() < count {
            let at = u32::try_from(reader.position()).map_err(|_| Malformed::TRUNCATED)?;
            buffers.offsets.push(at);
            match reader.u8()? {
                tag::UTF8 => {
                    let len = reader.u16()?;
                    reader.skip(usize::from(len))?;
                }
                // Class, String, MethodType, Module, Package.
                tag::CLASS | 8 | 16 | 19 | 20 => reader.skip(2)?,
                // MethodHandle.
                15 => reader.skip(3)?,
                // Integer, Float, Fieldref, Methodref, InterfaceMethodref, NameAndType, Dynamic,
                // InvokeDynamic.
                tag::INTEGER | 4 | 9..=12 | 17 | 18 => reader.skip(4)?,
                tag::LONG | tag::DOUBLE => {
                    reader.skip(8)?;
                    buffers.offsets.push(0);
                }
                other => return Err(ClassSkip::UnknownConstant(other)),
            }
        }
        if buffers.offsets.len() > count.max(1) {
            return Err(Malformed("long or double as last constant").into());
        }
        Ok(Self {
            class,
            end: reader.position(),
            buffers,
            classes_listed: false,
        })
    }

    /// The offset of the first byte after the pool.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The number of entries with the added ones, counted as the class file does (plus one).
    pub(crate) fn count(&self) -> u16 {
        u16::try_from(self.buffers.offsets.len()).unwrap_or(u16::MAX)
    }

    /// The bytes of the added entries.
    pub(crate) fn added(&self) -> &[u8] {
        &self.buffers.added
    }

    /// Tag and content of an entry; the content extends to the end of the data.
    fn entry(&self, index: u16) -> Option<(u8, &[u8])> {
        let at = *self.buffers.offsets.get(usize::from(index))? as usize;
        let bytes = if at < self.class.len() {
            self.class.get(at..)?
        } else {
            self.buffers.added.get(at - self.class.len()..)?
        };
        // Entry 0 and second halves have offset 0, where the magic number 0xCAFEBABE stands: its
        // first byte is no tag that is ever asked for.
        bytes.split_first().map(|(tag, content)| (*tag, content))
    }

    /// The bytes of a Utf8 entry, in the VM's modified UTF-8.
    pub(crate) fn utf8(&self, index: u16) -> Option<&[u8]> {
        match self.entry(index)? {
            (tag::UTF8, content) => {
                let len = usize::from(u16_at(content, 0)?);
                content.get(2..2 + len)
            }
            _ => None,
        }
    }

    /// As [`Self::utf8`] for entries the class came with, whose bytes outlive the pool.
    pub(crate) fn original_utf8(&self, index: u16) -> Option<&'a [u8]> {
        let at = *self.buffers.offsets.get(usize::from(index))? as usize;
        match self.class.get(at)? {
            &tag::UTF8 => {
                let len = usize::from(u16_at(self.class, at + 1)?);
                self.class.get(at + 3..at + 3 + len)
            }
            _ => None,
        }
    }

    /// The internal name of a Class entry.
    pub(crate) fn class_name(&self, index: u16) -> Option<&[u8]> {
        match self.entry(index)? {
            (tag::CLASS, content) => self.utf8(u16_at(content, 0)?),
            _ => None,
        }
    }

    /// As [`Self::class_name`] for entries the class came with.
    pub(crate) fn class_utf8(&self, index: u16) -> Option<&'a [u8]> {
        match self.entry(index)? {
            (tag::CLASS, content) => self.original_utf8(u16_at(content, 0)?),
            _ => None,
        }
    }

    /// The two entries that an entry with one of these tags refers to.
    pub(crate) fn pair(&self, index: u16, tags: &[u8]) -> Option<(u16, u16)> {
        match self.entry(index)? {
            (tag, content) if tags.contains(&tag) => {
                Some((u16_at(content, 0)?, u16_at(content, 2)?))
            }
            _ => None,
        }
    }

    /// Returns whether some Class entry has this name.
    pub(crate) fn names_class(&self, name: &[u8]) -> bool {
        (1..self.count()).any(|index| self.class_name(index) == Some(name))
    }

    fn push(&mut self, tag: u8, content: &[&[u8]]) -> Result<u16, PoolFull> {
        let index = self.buffers.offsets.len();
        // The count, one more than the last index, is 16 bits wide too.
        if index >= usize::from(u16::MAX) {
            return Err(PoolFull);
        }
        let offset = self.class.len() + self.buffers.added.len();
        self.buffers
            .offsets
            .push(u32::try_from(offset).map_err(|_| PoolFull)?);
        self.buffers.added.put_u8(tag);
        for part in content {
            self.buffers.added.extend_from_slice(part);
        }
        u16::try_from(index).map_err(|_| PoolFull)
    }

    pub(crate) fn add_utf8(&mut self, text: &[u8]) -> Result<u16, PoolFull> {
        let len = u16::try_from(text.len()).map_err(|_| PoolFull)?;
        self.push(tag::UTF8, &[&len.to_be_bytes(), text])
    }

    pub(crate) fn add_integer(&mut self, value: i32) -> Result<u16, PoolFull> {
        self.push(tag::INTEGER, &[&value.to_be_bytes()])
    }

    /// Adds a Class entry without looking for an existing one.
    pub(crate) fn add_class(&mut self, name: &[u8]) -> Result<u16, PoolFull> {
        let name = self.add_utf8(name)?;
        self.push(tag::CLASS, &[&name.to_be_bytes()])
    }

    pub(crate) fn add_methodref(
        &mut self,
        class: u16,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<u16, PoolFull> {
        let name = self.add_utf8(name)?;
        let descriptor = self.add_utf8(descriptor)?;
        let pair = self.push(
            tag::NAME_AND_TYPE,
            &[&name.to_be_bytes(), &descriptor.to_be_bytes()],
        )?;
        self.push(tag::METHODREF, &[&class.to_be_bytes(), &pair.to_be_bytes()])
    }

    /// The Class entry of this name, added if there is none.
    pub(crate) fn class_index(&mut self, name: &[u8]) -> Result<u16, PoolFull> {
        if !self.classes_listed {
            self.list_classes();
        }
        let hash = self.buffers.hasher.hash_one(name);
        let found = self
            .buffers
            .classes
            .find(hash, |&index| self.class_name(index) == Some(name));
        if let Some(&index) = found {
            return Ok(index);
        }
        let index = self.add_class(name)?;
        self.remember_class(hash, index);
        Ok(index)
    }

    fn list_classes(&mut self) {
        self.classes_listed = true;
        for index in 1..self.count() {
            if let Some(name) = self.class_name(index) {
                let hash = self.buffers.hasher.hash_one(name);
                self.remember_class(hash, index);
            }
        }
    }

    fn remember_class(&mut self, hash: u64, index: u16) {
        let mut classes = std::mem::take(&mut self.buffers.classes);
        classes.insert_unique(hash, index, |&other| {
            self.class_name(other)
                .map_or(0, |name| self.buffers.hasher.hash_one(name))
        });
        self.buffers.classes = classes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_with(entries: &[&[u8]], count: u16) -> Vec<u8> {
        let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52];
        class.put_u16(count);
        entries
            .iter()
            .for_each(|entry| class.extend_from_slice(entry));
        class
    }

    #[test]
    fn finds_and_adds_classes() {
        let class = class_with(
            &[b"\x01\x00\x01A", &[5, 0, 0, 0, 0, 0, 0, 0, 1], &[7, 0, 1]],
            5,
        );
        let mut buffers = PoolBuffers::default();
        let mut pool = ConstantPool::parse(&class, 8, &mut buffers).unwrap();
        assert_eq!(pool.end(), class.len());
        assert_eq!(pool.utf8(1), Some(&b"A"[..]));
        assert_eq!(pool.utf8(0), None);
        assert_eq!(pool.class_name(3), None, "second half of the long");
        assert_eq!(pool.class_index(b"A"), Ok(4));
        assert_eq!(pool.class_index(b"B"), Ok(6));
        assert_eq!(pool.class_index(b"B"), Ok(6), "added once");
        assert_eq!(pool.added(), b"\x01\x00\x01B\x07\x00\x05");
        assert_eq!(pool.count(), 7);
    }

    #[test]
    fn unknown_tag_and_truncation_are_told_apart() {
        let mut buffers = PoolBuffers::default();
        let class = class_with(&[&[2, 0, 0]], 2);
        let skip = ConstantPool::parse(&class, 8, &mut buffers).err();
        assert_eq!(skip, Some(ClassSkip::UnknownConstant(2)));
        let class = class_with(&[&[5, 0, 0]], 3);
        let skip = ConstantPool::parse(&class, 8, &mut buffers).err();
        assert_eq!(skip, Some(Malformed::TRUNCATED.into()));
        let class = class_with(&[&[5, 0, 0, 0, 0, 0, 0, 0, 0]], 2);
        assert!(
            ConstantPool::parse(&class, 8, &mut buffers).is_err(),
            "half a long"
        );
    }

    #[test]
    fn pool_ends_at_65534_entries() {
        let class = class_with(&[], 1);
        let mut buffers = PoolBuffers::default();
        let mut pool = ConstantPool::parse(&class, 8, &mut buffers).unwrap();
        for value in 1..=65_534 {
            assert_eq!(pool.add_integer(value), Ok(value as u16));
        }
        assert_eq!(pool.add_integer(0), Err(PoolFull));
        assert_eq!(pool.count(), u16::MAX);
        assert_eq!(pool.added().len(), 65_534 * 5);
    }
}
