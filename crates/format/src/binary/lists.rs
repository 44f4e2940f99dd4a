//! Lists inside records, decoded as they are iterated.

use super::body::{Body, IdSize};
use super::bytes::{Fields, id};
use crate::ids::{ClassSerial, TraceSerial};

/// Identifiers, one after the other. Which kind is up to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids<'a> {
    bytes: &'a [u8],
    id_size: IdSize,
}

impl<'a> Ids<'a> {
    /// Wraps the raw bytes; a part of an identifier at the end is cut off.
    #[inline]
    pub fn new(bytes: &'a [u8], id_size: IdSize) -> Self {
        let whole = bytes.len() - bytes.len() % id_size.bytes();
        Self {
            bytes: &bytes[..whole],
            id_size,
        }
    }

    /// The number of identifiers.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.id_size.bytes()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The width of each.
    pub fn id_size(&self) -> IdSize {
        self.id_size
    }

    /// The raw bytes.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The identifier at an index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        let width = self.id_size.bytes();
        let start = index.checked_mul(width)?;
        let field = self.bytes.get(start..start.checked_add(width)?)?;
        Some(match self.id_size {
            IdSize::Four => id::<4>(field, 0),
            IdSize::Eight => id::<8>(field, 0),
        })
    }

    /// All identifiers in order. `for_each` and other folds are faster than a `for` loop, since
    /// they decide on the width once.
    #[inline]
    pub fn iter(&self) -> IdsIter<'a> {
        IdsIter { rest: *self }
    }

    pub(crate) fn write(&self, body: &mut Body) {
        if body.id_size() == self.id_size {
            body.raw(self.bytes);
        } else {
            self.iter().for_each(|id| {
                body.id(id);
            });
        }
    }
}

impl<'a> IntoIterator for Ids<'a> {
    type Item = u64;
    type IntoIter = IdsIter<'a>;

    fn into_iter(self) -> IdsIter<'a> {
        self.iter()
    }
}

/// Iterates over [`Ids`].
#[derive(Debug, Clone)]
pub struct IdsIter<'a> {
    rest: Ids<'a>,
}

impl Iterator for IdsIter<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let first = self.rest.get(0)?;
        self.rest.bytes = &self.rest.bytes[self.rest.id_size.bytes()..];
        Some(first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }

    #[inline]
    fn fold<B, F: FnMut(B, u64) -> B>(self, init: B, mut f: F) -> B {
        let bytes = self.rest.bytes;
        match self.rest.id_size {
            IdSize::Four => bytes
                .chunks_exact(4)
                .fold(init, |acc, field| f(acc, id::<4>(field, 0))),
            IdSize::Eight => bytes
                .chunks_exact(8)
                .fold(init, |acc, field| f(acc, id::<8>(field, 0))),
        }
    }
}

impl ExactSizeIterator for IdsIter<'_> {}

/// One row of a `CPU SAMPLES` record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSample {
    /// Samples, or milliseconds.
    pub cost: u32,
    /// The trace.
    pub trace: TraceSerial,
}

/// The rows of a `CPU SAMPLES` record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuSamples<'a>(pub(crate) &'a [u8]);

impl<'a> CpuSamples<'a> {
    pub(crate) const ROW: usize = 8;

    /// Wraps the raw bytes; a part of a row at the end is cut off.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(&bytes[..bytes.len() - bytes.len() % Self::ROW])
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.0.len() / Self::ROW
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CpuSample> + use<'a> {
        self.0.chunks_exact(Self::ROW).map(|row| CpuSample {
            cost: super::bytes::u4(row, 0),
            trace: TraceSerial::new(super::bytes::u4(row, 4)),
        })
    }
}

/// One row of an `ALLOC SITES` record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocSite {
    /// 0 if the objects are no arrays, else the code of the elements' [`BasicType`].
    ///
    /// [`BasicType`]: super::BasicType
    pub array_kind: u8,
    /// The class of the objects.
    pub class: ClassSerial,
    /// Where they were allocated.
    pub trace: TraceSerial,
    /// Bytes still alive, modulo 2^32 in files of the JDK's agent.
    pub live_bytes: u32,
    /// Objects still alive.
    pub live_instances: u32,
    /// Bytes ever allocated.
    pub allocated_bytes: u32,
    /// Objects ever allocated.
    pub allocated_instances: u32,
}

impl AllocSite {
    /// Appends the row.
    pub fn write(&self, body: &mut Body) {
        body.u1(self.array_kind).class(self.class).trace(self.trace);
        body.u4(self.live_bytes).u4(self.live_instances);
        body.u4(self.allocated_bytes).u4(self.allocated_instances);
    }

    fn read(row: &[u8]) -> Option<Self> {
        let (&array_kind, rest) = row.split_first()?;
        let mut fields = Fields::new(rest, IdSize::Four);
        Some(Self {
            array_kind,
            class: fields.class()?,
            trace: fields.trace()?,
            live_bytes: fields.u4()?,
            live_instances: fields.u4()?,
            allocated_bytes: fields.u4()?,
            allocated_instances: fields.u4()?,
        })
    }
}

/// The rows of an `ALLOC SITES` record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocSiteRows<'a>(pub(crate) &'a [u8]);

impl<'a> AllocSiteRows<'a> {
    pub(crate) const ROW: usize = 25;

    /// Wraps the raw bytes; a part of a row at the end is cut off.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(&bytes[..bytes.len() - bytes.len() % Self::ROW])
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.0.len() / Self::ROW
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = AllocSite> + use<'a> {
        self.0.chunks_exact(Self::ROW).filter_map(AllocSite::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_iterate_alike_in_both_ways() {
        let bytes: Vec<u8> = (0xf0..=0xff).chain(1..4).collect();
        for (id_size, expected) in [
            (
                IdSize::Four,
                vec![0xf0f1_f2f3, 0xf4f5_f6f7, 0xf8f9_fafb, 0xfcfd_feff],
            ),
            (
                IdSize::Eight,
                vec![0xf0f1_f2f3_f4f5_f6f7, 0xf8f9_fafb_fcfd_feff],
            ),
        ] {
            let ids = Ids::new(&bytes, id_size);
            assert_eq!(ids.len(), expected.len());
            let mut folded = Vec::new();
            ids.iter().for_each(|id| folded.push(id));
            assert_eq!(folded, expected);
            let mut looped = Vec::new();
            for id in ids {
                looped.push(id);
            }
            assert_eq!(looped, expected);
            assert_eq!(ids.get(expected.len()), None);
            assert_eq!(ids.get(usize::MAX), None);
        }
    }
}
