//! Binary output: instances and arrays are copied as they are, but for their allocation trace and what
//! `strip` leaves out. Class and object ids are addresses and stay.

use std::fs::File;
use std::io::{self, Read};

use hprof_format::binary::{IdSize, Record, SubRecords, tags};
use hprof_format::ids::{ObjectId, TraceSerial};
use hprof_format::model::{HeapTotals, Root, Trace};
use hprof_format::reader::Damage;
use hprof_format::writer::ProfileWriter;

use super::ids::DumpIds;
use super::in_place::{Threads, VM_TRACE, name_roots};
use super::primitive_array;
use super::reader::{DumpError, Visitor};
use super::strip::Blanks;
use super::survey::Survey;
use super::thread_objects::ThreadObjects;
use super::write::{Content, Serials, each_class, roots, stacks};

/// Copies a dump into a binary profile, while the VM writes it.
pub struct Splice<'a, 'n> {
    writer: &'a mut (dyn ProfileWriter + Send),
    ids: &'a mut DumpIds<'n>,
    content: Content,
    blanks: Blanks,
    /// The traces of objects are known.
    is_joined: bool,
    survey: Survey,
    serials: Serials,
    /// Threads that were found before values were blanked.
    threads: Option<Threads>,
    /// Once the first object has come.
    begun: Option<Begun>,
    placed: Placed,
}

/// Roots that are in the profile's file already, with the VM's serials.
#[derive(Default)]
pub struct Placed {
    /// Each root, and where it was found.
    pub roots: Vec<(u64, Root)>,
    /// The profile's file, in which each is `moved` bytes farther.
    pub file: Option<File>,
    /// See there.
    pub moved: i64,
}

struct Begun {
    threads: ThreadObjects,
    /// How many classes are written.
    classes: usize,
    objects: u64,
}

/// Bytes of the heads of instances and of object arrays.
pub const HEAD: usize = 25;
/// Where the trace is.
pub const TRACE: usize = 9;
/// Where the class of an instance is.
pub const CLASS: usize = 13;
/// How many bytes of a large array's elements are copied at once.
const LARGE_PIECE: usize = 256 << 10;

impl<'a, 'n> Splice<'a, 'n> {
    /// Copies into `writer`.
    pub fn new(
        writer: &'a mut (dyn ProfileWriter + Send),
        ids: &'a mut DumpIds<'n>,
        content: Content,
        is_joined: bool,
    ) -> Self {
        Self {
            writer,
            ids,
            content,
            blanks: Blanks::new(content.strip, !content.fields),
            is_joined,
            survey: Survey::default(),
            serials: Serials::default(),
            threads: None,
            begun: None,
            placed: Placed::default(),
        }
    }

    /// Names and stacks of the dump are known.
    pub fn set_names(&mut self, survey: Survey) {
        self.survey = survey;
    }

    /// Objects may come that were read before, and blanked: these are the threads among them.
    pub fn set_threads(&mut self, threads: Threads) {
        self.threads = Some(threads);
    }

    /// Writes what comes before `objects` objects, which are in the profile's file already or will be, and a
    /// segment's head for the `first` bytes of them. All that was written is in the sink then.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn begin_before(
        &mut self,
        objects: u64,
        threads: ThreadObjects,
        first: u32,
    ) -> io::Result<()> {
        self.writer.trace(&Trace {
            serial: VM_TRACE,
            thread: None,
            frames: &[],
        })?;
        let begun = self.begin()?;
        (begun.objects, begun.threads) = (objects, threads);
        self.writer.heap_encoded(first)?;
        self.writer.flush()
    }

    /// The roots that are between objects already.
    pub fn set_placed(&mut self, placed: Placed) {
        self.placed = placed;
    }

    /// Returns true if anything was written.
    pub fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Writes what comes before the objects. HotSpot's dumpers have all names, classes and stacks
    /// there.
    fn begin(&mut self) -> io::Result<&mut Begun> {
        let begun = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let (writer, survey) = (&mut *self.writer, &self.survey);
                self.serials.name_traces(self.ids, survey);
                stacks(writer, survey, &self.serials, self.content.lines)?;
                // All names before the heap: see `heap_class_names`.
                let ids = &*self.ids;
                let strip = self.content.strip;
                each_class(survey, ids, 0, strip, &mut |class| {
                    writer.heap_class_names(class)
                })?;
                // Their classes have the ids of the dump now.
                ids.write_traces(writer)?;
                writer.heap_begin(&HeapTotals::default(), "")?;
                each_class(survey, ids, 0, strip, &mut |class| writer.heap_class(class))?;
                let threads = self.threads.take();
                let threads = threads.map(|threads| threads.named(survey));
                Begun {
                    threads: threads.unwrap_or_else(|| ThreadObjects::new(survey)),
                    classes: survey.classes.len(),
                    objects: 0,
                }
            }
        };
        Ok(self.begun.insert(begun))
    }

    /// Writes the rest and the end mark when all was read; returns the number of objects.
    pub fn end(mut self) -> io::Result<u64> {
        self.begin()?;
        let Some(begun) = self.begun else {
            return Ok(0);
        };
        let (writer, survey) = (self.writer, &mut self.survey);
        let ids = &mut *self.ids;
        let strip = self.content.strip;
        each_class(survey, ids, begun.classes, strip, &mut |class| {
            writer.heap_class(class)
        })?;
        survey.threads = Some(Box::new(begun.threads));
        let written = survey.roots.len();
        let placed = self.placed.roots.iter().map(|(_, root)| *root);
        survey.roots.extend(placed);
        let new = self.serials.name_threads(ids, survey);
        survey.roots.truncate(written);
        if let Some(file) = &self.placed.file {
            name_roots(&self.placed.roots, &self.serials, file, self.placed.moved)?;
        }
        roots(writer, ids, survey, &self.serials)?;
        writer.heap_end()?;
        new.iter().try_for_each(|thread| thread.write(writer))?;
        Ok(begun.objects)
    }
}

impl Visitor for Splice<'_, '_> {
    fn record(&mut self, record: &Record<'_>) -> Result<(), DumpError> {
        self.survey.record(record)
    }

    fn sub_records(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize, DumpError> {
        let joins = self.is_joined;
        let mut trace = TraceSerial::SYSTEM.get().to_be_bytes();
        // Up to `kept`, `bytes` is what will be written; up to `at` it was looked at.
        let (mut kept, mut at) = (0, 0);
        while let Some(&tag) = bytes.get(at) {
            let Some(length) = object_length(&bytes[at..]) else {
                let mut subs = SubRecords::new(&bytes[at..], IdSize::Eight, offset + at as u64);
                match subs.next() {
                    Some(Ok(sub)) => self.survey.add(&sub),
                    Some(Err(Damage::SubRecordBody { .. })) | None => break,
                    Some(Err(damage)) => return Err(damage.into()),
                }
                at = (subs.offset() - offset) as usize;
                continue;
            };
            let Some(object) = bytes.get_mut(at..at + length) else {
                break;
            };
            let begun = match &mut self.begun {
                Some(begun) => begun,
                None => self.begin().map_err(DumpError::Output)?,
            };
            begun.objects += 1;
            let mut keep = length;
            if tag == tags::heap::INSTANCE_DUMP {
                let (id, class) = (id_at(object, 1), id_at(object, CLASS));
                begun.threads.note(id, class, &object[HEAD..]);
                self.blanks
                    .instance(&self.survey, class, &mut object[HEAD..]);
            } else if tag == tags::heap::OBJECT_ARRAY_DUMP {
                if !self.blanks.keeps_references() {
                    object[HEAD..].fill(0);
                }
            } else if !self.content.arrays {
                object[primitive_array::at::LENGTH..primitive_array::at::TYPE].fill(0);
                keep = primitive_array::HEAD;
            } else if !self.blanks.keeps_elements_of(object) {
                object[primitive_array::HEAD..].fill(0);
            }
            if joins {
                trace = self.ids.trace(id_at(object, 1)).get().to_be_bytes();
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
        _offset: u64,
    ) -> Result<(), DumpError> {
        let mut head = *head;
        let trace = self.ids.trace(id_at(&head, 1)).get().to_be_bytes();
        head[primitive_array::at::TRACE..primitive_array::at::LENGTH].copy_from_slice(&trace);
        let Some((length, element)) = primitive_array::elements(&head) else {
            return Ok(());
        };
        if !self.content.arrays {
            let begun = self.begin().map_err(DumpError::Output)?;
            begun.objects += 1;
            head[primitive_array::at::LENGTH..primitive_array::at::TYPE].fill(0);
            return self.write(&head);
        }
        let begun = self.begin().map_err(DumpError::Output)?;
        begun.objects += 1;
        let keeps = self.blanks.keeps_elements(element);
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
        let mut buffer = vec![0; LARGE_PIECE];
        // What is left out need not be read.
        while !keeps && left > 0 {
            let most = left.min(LARGE_PIECE as u64);
            out.write_all(&buffer[..most as usize])
                .map_err(DumpError::Output)?;
            left -= most;
        }
        let mut failure = None;
        while left > 0 {
            let most = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
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
            out.write_all(&buffer[..found]).map_err(DumpError::Output)?;
            left -= found as u64;
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Splice<'_, '_> {
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
pub fn object_length(bytes: &[u8]) -> Option<usize> {
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

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..]
        .first_chunk()
        .map_or(0, |field| u32::from_be_bytes(*field))
}

/// The id at a place, null behind the end.
#[inline]
pub fn id_at(bytes: &[u8], at: usize) -> ObjectId {
    let field = bytes[at..].first_chunk();
    ObjectId::new(field.map_or(0, |field| u64::from_be_bytes(*field)))
}
