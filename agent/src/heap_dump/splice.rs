//! The second reading for binary output: instances and arrays are copied as they are, but for their
//! allocation trace. Class and object ids are addresses and stay.

use std::io::{self, Read};

use hprof_format::binary::{BasicType, IdSize, SubRecords, tags};
use hprof_format::ids::{ObjectId, TraceSerial};
use hprof_format::reader::Damage;
use hprof_format::writer::ProfileWriter;

use super::primitive_array;
use super::reader::{DumpError, Visitor};
use super::survey::Survey;

/// Copies objects into a binary profile.
pub struct Splice<'a> {
    writer: &'a mut dyn ProfileWriter,
    survey: &'a Survey,
    keeps_fields: bool,
    keeps_arrays: bool,
}

/// Bytes of the heads of instances and of object arrays.
const HEAD: usize = 25;
const TRACE: usize = 9;

impl<'a> Splice<'a> {
    /// Without `keeps_fields`, primitive fields are written as 0; without `keeps_arrays`, primitive
    /// arrays without their elements.
    pub fn new(
        writer: &'a mut dyn ProfileWriter,
        survey: &'a Survey,
        keeps_fields: bool,
        keeps_arrays: bool,
    ) -> Self {
        Self {
            writer,
            survey,
            keeps_fields,
            keeps_arrays,
        }
    }

    fn clear_primitives(&self, instance: &mut [u8]) {
        let class = ObjectId::new(u64_at(instance, 13));
        let mut at = HEAD;
        for class in self.survey.hierarchy(class) {
            for (_, basic_type) in &class.fields {
                let end = at + basic_type.width(IdSize::Eight);
                if *basic_type != BasicType::Object
                    && let Some(value) = instance.get_mut(at..end)
                {
                    value.fill(0);
                }
                at = end;
            }
        }
    }
}

impl Visitor for Splice<'_> {
    fn record(&mut self, _: &hprof_format::binary::Record<'_>) -> Result<(), DumpError> {
        Ok(())
    }

    fn sub_records(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize, DumpError> {
        let trace = TraceSerial::SYSTEM.get().to_be_bytes();
        // Up to `kept`, `bytes` is what will be written; up to `at` it was looked at.
        let (mut kept, mut at) = (0, 0);
        while let Some(&tag) = bytes.get(at) {
            let Some(length) = object_length(&bytes[at..]) else {
                match other_length(&bytes[at..], offset + at as u64)? {
                    Some(length) => at += length,
                    None => break,
                }
                continue;
            };
            let Some(object) = bytes.get_mut(at..at + length) else {
                break;
            };
            let mut keep = length;
            match tag {
                tags::heap::INSTANCE_DUMP if !self.keeps_fields => self.clear_primitives(object),
                tags::heap::PRIMITIVE_ARRAY_DUMP if !self.keeps_arrays => {
                    object[primitive_array::at::LENGTH..primitive_array::at::TYPE].fill(0);
                    keep = primitive_array::HEAD;
                }
                _ => {}
            }
            object[TRACE..TRACE + 4].copy_from_slice(&trace);
            if kept < at {
                bytes.copy_within(at..at + keep, kept);
            }
            kept += keep;
            at += length;
        }
        self.write(&bytes[..kept])?;
        Ok(at)
    }

    fn large_array(
        &mut self,
        head: &[u8; primitive_array::HEAD],
        elements: &mut dyn Read,
    ) -> Result<(), DumpError> {
        let mut head = *head;
        let trace = TraceSerial::SYSTEM.get().to_be_bytes();
        head[primitive_array::at::TRACE..primitive_array::at::LENGTH].copy_from_slice(&trace);
        let Some((length, element)) = primitive_array::elements(&head) else {
            return Ok(());
        };
        if !self.keeps_arrays {
            head[primitive_array::at::LENGTH..primitive_array::at::TYPE].fill(0);
            return self.write(&head);
        }
        let width = element.width(IdSize::Eight) as u64;
        let whole = primitive_array::HEAD as u64 + u64::from(length) * width;
        // It came out of a segment whose length has as many bits.
        let whole = u32::try_from(whole).map_err(|_| DumpError::Unfinished(0))?;
        let out = self
            .writer
            .heap_encoded(whole)
            .and_then(|out| out.write_all(&head).map(|()| out))
            .map_err(DumpError::Output)?;
        let mut left = u64::from(whole) - primitive_array::HEAD as u64;
        let mut buffer = vec![0; 256 << 10];
        let mut failure = None;
        while left > 0 {
            let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let found = match elements.read(&mut buffer[..most]) {
                Ok(found) if found > 0 && failure.is_none() => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The length is written already: zeros keep the rest of the file readable.
                result => {
                    let error = result.err();
                    failure.get_or_insert(error.unwrap_or(io::ErrorKind::UnexpectedEof.into()));
                    buffer.fill(0);
                    most
                }
            };
            out.write_all(&buffer[..found])
                .map_err(DumpError::Output)?;
            left -= found as u64;
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Splice<'_> {
    fn write(&mut self, objects: &[u8]) -> Result<(), DumpError> {
        let Ok(length) = u32::try_from(objects.len()) else {
            return Err(DumpError::Unfinished(0));
        };
        if length == 0 {
            return Ok(());
        }
        self.writer
            .heap_encoded(length)
            .and_then(|out| out.write_all(objects))
            .map_err(DumpError::Output)
    }
}

/// The length of the instance or array at the start of `bytes`, which may lack its end; `None` if it
/// lacks its head, or is something else.
#[inline]
fn object_length(bytes: &[u8]) -> Option<usize> {
    match bytes[0] {
        tags::heap::INSTANCE_DUMP => {
            let head = bytes.first_chunk::<HEAD>()?;
            Some(HEAD + u32_at(head, 21) as usize)
        }
        tags::heap::OBJECT_ARRAY_DUMP => {
            let head = bytes.first_chunk::<HEAD>()?;
            Some(HEAD + u32_at(head, 13) as usize * 8)
        }
        tags::heap::PRIMITIVE_ARRAY_DUMP => {
            let head = bytes.first_chunk::<{ primitive_array::HEAD }>()?;
            let (length, element) = primitive_array::elements(head)?;
            Some(primitive_array::HEAD + length as usize * element.width(IdSize::Eight))
        }
        _ => None,
    }
}

/// The length of any sub-record, `None` if it is cut off.
fn other_length(bytes: &[u8], offset: u64) -> Result<Option<usize>, DumpError> {
    let mut subs = SubRecords::new(bytes, IdSize::Eight, offset);
    match subs.next() {
        Some(Ok(_)) => Ok(Some((subs.offset() - offset) as usize)),
        Some(Err(Damage::SubRecordBody { .. })) | None => Ok(None),
        Some(Err(damage)) => Err(damage.into()),
    }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |field| u32::from_be_bytes(*field))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |field| u64::from_be_bytes(*field))
}
