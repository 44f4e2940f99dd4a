//! Forms of a copy for readers that do not take every record, or that take shorter ones.
//!
//! | Form | Readers, and what they take |
//! |---|---|
//! | MAT | versions up to 1.0.2 and no Android records: the file becomes what `hprof-conv` of the Android SDK writes |
//! | Shark | Android records, but it throws at `PRIMITIVE_ARRAY_NODATA` (`StreamingHprofReader.kt`), as KOOM's fork does |
//! | KOOM | its stripped files: elements are left out, counts and lengths of segments stay (`hprof_strip.cpp`, `input/koom.rs`) |
//! | no data | `PRIMITIVE_ARRAY_NODATA` for arrays of zeros, as ART had it (`hprof.cc`): hprof-conv, hprof-slurp, heaptrail and this tool |

use std::io::{self, Write};

use hprof_format::binary::{Body, IdSize, SubRecord, SubRecords, tags};
use hprof_format::model::{Root, RootKind};
use hprof_format::reader::{FileHeader, Version};

use super::bitmaps::Bitmaps;

/// The bytes of a record's head: tag, time, length.
const RECORD_HEAD: usize = 9;

/// The most bytes of zeros that stand for elements in a segment: no heap of a phone is larger. A made file could
/// claim more than any memory holds.
const MAX_ZEROS: u64 = 1 << 30;

/// The reader that a copy is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// All records stay.
    #[default]
    Same,
    /// Eclipse MAT, VisualVM and others for Java SE: no Android records.
    Mat,
    /// Shark, the library of LeakCanary: arrays without elements have zeros.
    Shark,
    /// KOOM's tools, which fill elements in again.
    Koom,
    /// Readers of Android's `PRIMITIVE_ARRAY_NODATA`.
    NoData,
}

impl Form {
    /// True if only Android dumps have it.
    pub fn is_for_android(self) -> bool {
        matches!(self, Self::Koom | Self::NoData)
    }
}

/// A writer that changes the records that pass through it. It holds one record at a time.
pub(super) struct Reshaped<'b, W> {
    out: W,
    form: Form,
    bitmaps: Option<&'b Bitmaps>,
    header: Option<FileHeader>,
    held: Vec<u8>,
    /// The bytes of a record that still pass as they are.
    passing: u64,
}

impl<'b, W: Write> Reshaped<'b, W> {
    pub fn new(out: W, form: Form, bitmaps: Option<&'b Bitmaps>) -> Self {
        Self {
            out,
            form,
            bitmaps,
            header: None,
            held: Vec::new(),
            passing: 0,
        }
    }

    /// Writes what is held of a record that ends too soon, as it is.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.out.flush()
    }

    /// Passes on records that are there as a whole.
    fn advance(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let mut at = 0;
        loop {
            let rest = &held[at..];
            if self.passing > 0 && !rest.is_empty() {
                let length = rest
                    .len()
                    .min(usize::try_from(self.passing).unwrap_or(usize::MAX));
                self.out.write_all(&rest[..length])?;
                self.passing -= length as u64;
                at += length;
                continue;
            }
            let Some(header) = &self.header else {
                if rest.len() < FileHeader::LENGTH {
                    break;
                }
                self.begin(&rest[..FileHeader::LENGTH])?;
                at += FileHeader::LENGTH;
                continue;
            };
            let id_size = header.id_size;
            let Some(head) = rest.first_chunk::<RECORD_HEAD>() else {
                break;
            };
            let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize;
            let is_heap = matches!(
                head[0],
                tags::record::HEAP_DUMP | tags::record::HEAP_DUMP_SEGMENT
            );
            if !is_heap {
                self.passing = (RECORD_HEAD + length) as u64;
                continue;
            }
            let Some(body) = rest.get(RECORD_HEAD..RECORD_HEAD + length) else {
                break;
            };
            self.segment(head, body, id_size)?;
            at += RECORD_HEAD + length;
        }
        self.held = held;
        self.held.drain(..at);
        Ok(())
    }

    fn begin(&mut self, bytes: &[u8]) -> io::Result<()> {
        let header = FileHeader::parse(bytes).map_err(io::Error::other)?;
        let mut written = header;
        if self.form == Form::Mat && header.version == Version::V1_0_3 {
            written.version = Version::V1_0_2;
        }
        self.header = Some(header);
        self.out.write_all(&written.to_bytes())
    }

    fn segment(
        &mut self,
        head: &[u8; RECORD_HEAD],
        body: &[u8],
        id_size: IdSize,
    ) -> io::Result<()> {
        let mut out = Vec::with_capacity(body.len());
        let mut zeros = 0;
        let mut subs = SubRecords::new(body, id_size, 0);
        loop {
            let at = subs.offset() as usize;
            match subs.next() {
                None => break,
                Some(Ok(sub)) => {
                    if let SubRecord::PrimitiveArrayNoData {
                        element, length, ..
                    } = sub
                    {
                        zeros += u64::from(length) * element.width(id_size) as u64;
                    }
                    if self.fills() && zeros > MAX_ZEROS {
                        let what = "arrays without elements claim to be larger than a phone's memory; \
                                    choose another reader than mat and shark";
                        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                    }
                    self.sub_record(&sub, &body[at..subs.offset() as usize], id_size, &mut out);
                }
                Some(Err(_)) => {
                    // The copy ends with what can be read, so this is an unknown kind of damage.
                    out.extend_from_slice(&body[at..]);
                    break;
                }
            }
        }
        let length = match self.form {
            // As KOOM's hook, which changes the bytes and not the length before them.
            Form::Koom => body.len() - self.bitmaps.map_or(0, |it| it.removed_bytes(body, id_size)),
            _ => out.len(),
        };
        if length == 0 && !body.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(length).map_err(io::Error::other)?;
        self.out.write_all(&head[..5])?;
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(&out)
    }

    /// True if zeros become elements of arrays without any.
    fn fills(&self) -> bool {
        matches!(self.form, Form::Mat | Form::Shark)
    }

    fn sub_record(&self, sub: &SubRecord<'_>, bytes: &[u8], id_size: IdSize, out: &mut Vec<u8>) {
        if let Some(bitmaps) = self.bitmaps {
            if bitmaps.removes(sub) {
                return;
            }
            if let Some(changed) = bitmaps.repointed(sub, bytes, id_size) {
                out.extend(changed);
                return;
            }
        }
        match (self.form, sub) {
            (Form::Mat, SubRecord::HeapInfo { .. } | SubRecord::Unreachable { .. }) => {}
            (Form::Mat, SubRecord::Root(root)) if is_android(root.kind) => {
                let root = Root {
                    kind: RootKind::Unknown,
                    ..*root
                };
                encode(&SubRecord::Root(root), id_size, out);
            }
            (
                Form::Mat | Form::Shark,
                &SubRecord::PrimitiveArrayNoData {
                    array,
                    trace,
                    element,
                    length,
                },
            ) => {
                let values = vec![0; length as usize * element.width(id_size)];
                let array = SubRecord::PrimitiveArray {
                    array,
                    trace,
                    element,
                    values: &values,
                };
                encode(&array, id_size, out);
            }
            (Form::Koom, SubRecord::PrimitiveArray { values, .. }) => {
                out.extend_from_slice(&bytes[..bytes.len() - values.len()]);
            }
            (
                Form::NoData,
                &SubRecord::PrimitiveArray {
                    array,
                    trace,
                    element,
                    values,
                },
            ) if values.iter().all(|&byte| byte == 0) => {
                let length = (values.len() / element.width(id_size)) as u32;
                let array = SubRecord::PrimitiveArrayNoData {
                    array,
                    trace,
                    element,
                    length,
                };
                encode(&array, id_size, out);
            }
            _ => out.extend_from_slice(bytes),
        }
    }
}

impl<W: Write> Write for Reshaped<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let needed = self.needed();
        if self.held.len() >= needed {
            self.advance()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W> Reshaped<'_, W> {
    /// The bytes that must be held before anything can be passed on.
    fn needed(&self) -> usize {
        if self.passing > 0 || self.header.is_none() {
            return 1;
        }
        match self.held.first_chunk::<RECORD_HEAD>() {
            None => RECORD_HEAD,
            Some(head) => {
                let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize;
                match head[0] {
                    tags::record::HEAP_DUMP | tags::record::HEAP_DUMP_SEGMENT => {
                        RECORD_HEAD + length
                    }
                    _ => RECORD_HEAD,
                }
            }
        }
    }
}

fn encode(sub: &SubRecord<'_>, id_size: IdSize, out: &mut Vec<u8>) {
    let mut body = Body::new(id_size);
    sub.encode(&mut body);
    out.extend_from_slice(body.bytes());
}

/// True for the kinds of roots that only Android has.
fn is_android(kind: RootKind) -> bool {
    matches!(
        kind,
        RootKind::InternedString
            | RootKind::Finalizing
            | RootKind::Debugger
            | RootKind::ReferenceCleanup
            | RootKind::VmInternal
            | RootKind::JniMonitor { .. }
    )
}
