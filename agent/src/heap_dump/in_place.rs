//! The VM's own file becomes the profile's: its objects stay where the VM has written them.
//!
//! A copy of a dump takes as much time and disk space as the dump. Here objects are only read while the VM
//! writes, and what `strip` leaves out is replaced by zeros in the VM's file. In front of the objects the VM
//! has its names, stacks and classes, which give way to the profile's; what is behind them is cut
//! off, and the profile continues there.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use hprof_format::binary::{Body, IdSize, Record, SubRecord, SubRecords, tags};
use hprof_format::ids::{ObjectId, TraceSerial};
use hprof_format::model::Root;
use hprof_format::reader::Damage;

use super::primitive_array;
use super::reader::{DumpError, Visitor};
use super::splice::{CLASS, HEAD, TRACE, id_at, object_length};
use super::strip::Blanks;
use super::survey::Survey;
use super::thread_objects::{ThreadObjects, ThreadRoots};
use super::write::{Content, Serials};
use crate::os::holes;

/// HotSpot gives this trace to all objects.
pub const VM_TRACE: TraceSerial = TraceSerial::new(1);
/// Arrays of as many bytes without values become holes.
const HOLE: u64 = 64 << 10;
/// How many bytes of a large array's elements are passed over at once.
const SCRATCH: usize = 256 << 10;

/// Where all objects are in the file.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The first object.
    pub start: u64,
    /// The end of the segment in which it is.
    pub first_segment_end: u64,
    /// The head of the segment in which the last object is.
    pub last_segment: u64,
    /// The end of the last object.
    pub end: u64,
    /// The end of the last object that was there when it was read: of a large array only the head is read.
    pub sure_end: u64,
}

/// Reads a dump, and changes its objects where they are.
pub struct InPlace {
    file: File,
    content: Content,
    blanks: Blanks,
    /// Names, classes, stacks and roots of the dump.
    pub survey: Survey,
    threads: Threads,
    /// Objects and arrays.
    pub objects: u64,
    segment: (u64, u64),
    /// Once an object has come.
    pub region: Option<Region>,
    /// Roots since the last object.
    waiting: Vec<(u64, Root)>,
    /// Roots between objects, and where.
    placed: Vec<(u64, Root)>,
    /// Something is between objects that cannot stay there.
    is_unsuited: bool,
    scratch: Vec<u8>,
}

/// How threads are found among objects.
pub enum Threads {
    /// By their class, as soon as an object comes.
    ByClass(Option<Box<ThreadObjects>>),
    /// By the roots, which come before objects, as names come later.
    ByRoot(Option<Box<ThreadRoots>>),
}

impl Threads {
    /// The threads, now that names are known.
    pub fn named(self, survey: &Survey) -> ThreadObjects {
        match self {
            Self::ByClass(Some(threads)) => *threads,
            Self::ByRoot(Some(threads)) => threads.named(survey),
            Self::ByClass(None) | Self::ByRoot(None) => ThreadObjects::new(survey),
        }
    }
}

impl InPlace {
    /// For a file whose names come before its objects, or, without `has_names`, whose roots do.
    pub fn new(file: File, content: Content, has_names: bool) -> Self {
        Self {
            file,
            content,
            blanks: Blanks::new(content.strip, !content.fields),
            survey: Survey::default(),
            threads: match has_names {
                true => Threads::ByClass(None),
                false => Threads::ByRoot(None),
            },
            objects: 0,
            segment: (0, 0),
            region: None,
            waiting: Vec::new(),
            placed: Vec::new(),
            is_unsuited: false,
            scratch: Vec::new(),
        }
    }

    /// Where the objects are, if there are as many bytes of them and nothing else is among them.
    pub fn suited(&self, least: u64) -> Option<Region> {
        let region = self.region.filter(|_| !self.is_unsuited)?;
        (region.end - region.start >= least).then_some(region)
    }

    /// All bytes are `by` bytes farther from the start of the file.
    pub fn shift(&mut self, by: u64) {
        if let Some(region) = &mut self.region {
            region.start += by;
            region.first_segment_end += by;
            region.last_segment += by;
            region.end += by;
            region.sure_end += by;
        }
        let roots = self.waiting.iter_mut().chain(&mut self.placed);
        roots.for_each(|(at, _)| *at += by);
    }

    /// All was read. Returns what is known, the threads, and the roots that stay between objects.
    pub fn finish(mut self, names: Option<Survey>) -> (Survey, ThreadObjects, Vec<(u64, Root)>) {
        let rest = self.waiting.drain(..).map(|(_, root)| root);
        self.survey.roots.extend(rest);
        if let Some(names) = names {
            self.survey.take_names(names);
        }
        let threads = self.threads.named(&self.survey);
        (self.survey, threads, self.placed)
    }

    /// The threads among the objects so far: where objects are read once more, their values may be gone.
    pub fn into_threads(self) -> Threads {
        self.threads
    }

    /// An object comes after these roots.
    fn place_roots(&mut self, is_first: bool) {
        if is_first {
            let roots = self.waiting.drain(..).map(|(_, root)| root);
            self.survey.roots.extend(roots);
        } else {
            self.placed.append(&mut self.waiting);
        }
    }

    #[inline(always)]
    fn note(&mut self, object: ObjectId, class: ObjectId, values: &[u8]) {
        match &mut self.threads {
            Threads::ByClass(Some(threads)) => threads.note(object, class, values),
            Threads::ByRoot(Some(threads)) => threads.note(object, class, values),
            Threads::ByClass(None) | Threads::ByRoot(None) => {}
        }
    }

    fn begin(&mut self) {
        match &mut self.threads {
            Threads::ByClass(threads) => {
                *threads = Some(Box::new(ThreadObjects::new(&self.survey)));
            }
            Threads::ByRoot(threads) => {
                *threads = Some(Box::new(ThreadRoots::new(&self.survey.roots)));
            }
        }
    }

    fn extend(&mut self, from: u64, to: u64, is_read: bool) {
        let (segment, end) = self.segment;
        let region = self.region.get_or_insert(Region {
            start: from,
            first_segment_end: end,
            last_segment: segment,
            end: from,
            sure_end: from,
        });
        region.sure_end = if is_read { to } else { region.end };
        region.end = to;
        region.last_segment = segment;
    }

    fn changes_objects(&self) -> bool {
        !self.content.strip.is_none() || !self.content.fields
    }
}

impl Visitor for InPlace {
    fn record(&mut self, record: &Record<'_>) -> Result<(), DumpError> {
        self.survey.record(record)
    }

    fn segment(&mut self, head: u64, length: u64) {
        const SEGMENT_HEAD: u64 = 9;
        self.segment = (head, head + SEGMENT_HEAD + length);
    }

    fn sub_records(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize, DumpError> {
        let trace = VM_TRACE.get().to_be_bytes();
        let changes = self.changes_objects();
        let mut is_changed = changes;
        // The first object, and the end of the last.
        let (mut first, mut end) = (None, 0);
        let mut holes = Vec::new();
        let mut at = 0;
        while let Some(&tag) = bytes.get(at) {
            let Some(length) = object_length(&bytes[at..]) else {
                let mut subs = SubRecords::new(&bytes[at..], IdSize::Eight, offset + at as u64);
                match subs.next() {
                    Some(Ok(SubRecord::Root(root))) => {
                        self.waiting.push((offset + at as u64, root));
                    }
                    Some(Ok(sub)) => {
                        self.is_unsuited |= self.region.is_some() || first.is_some();
                        self.survey.add(&sub);
                    }
                    Some(Err(Damage::SubRecordBody { .. })) | None => break,
                    Some(Err(damage)) => return Err(damage.into()),
                }
                at = (subs.offset() - offset) as usize;
                continue;
            };
            let Some(object) = bytes.get_mut(at..at + length) else {
                break;
            };
            if !self.waiting.is_empty() || first.is_none() {
                let is_first = self.region.is_none() && first.is_none();
                self.place_roots(is_first);
                if is_first {
                    self.begin();
                }
                first = first.or(Some(at));
            }
            self.objects += 1;
            if object[TRACE..TRACE + 4] != trace {
                object[TRACE..TRACE + 4].copy_from_slice(&trace);
                is_changed = true;
            }
            if tag == tags::heap::INSTANCE_DUMP {
                let (id, class) = (id_at(object, 1), id_at(object, CLASS));
                self.note(id, class, &object[HEAD..]);
                if changes {
                    self.blanks
                        .instance(&self.survey, class, &mut object[HEAD..]);
                }
            } else if tag == tags::heap::OBJECT_ARRAY_DUMP {
                if !self.blanks.keeps_references() {
                    object[HEAD..].fill(0);
                }
            } else if changes && !self.blanks.keeps_elements_of(object) {
                object[primitive_array::HEAD..].fill(0);
                if length as u64 >= HOLE {
                    let start = offset + at as u64;
                    holes.push(start + primitive_array::HEAD as u64..start + length as u64);
                }
            }
            at += length;
            end = at;
        }
        if let Some(first) = first {
            self.extend(offset + first as u64, offset + end as u64, true);
            if is_changed {
                self.file
                    .write_all_at(&bytes[first..end], offset + first as u64)?;
            }
            for hole in holes {
                holes::clear(&self.file, hole)?;
            }
        }
        Ok(at)
    }

    fn large_array(
        &mut self,
        head: &[u8; primitive_array::HEAD],
        elements: &mut dyn Read,
        offset: u64,
    ) -> Result<(), DumpError> {
        let Some((length, element)) = primitive_array::elements(head) else {
            return Ok(());
        };
        let is_first = self.region.is_none();
        self.place_roots(is_first);
        if is_first {
            self.begin();
        }
        self.objects += 1;
        let trace = VM_TRACE.get().to_be_bytes();
        if head[TRACE..TRACE + 4] != trace {
            self.file.write_all_at(&trace, offset + TRACE as u64)?;
        }
        let start = offset + primitive_array::HEAD as u64;
        let end = start + u64::from(length) * element.width(IdSize::Eight) as u64;
        let keeps = self.blanks.keeps_elements(element);
        self.extend(offset, end, false);
        if !keeps {
            // The VM must have written what is to become zero.
            self.scratch.resize(SCRATCH, 0);
            let mut left = end - start;
            while left > 0 {
                match elements.read(&mut self.scratch)? {
                    0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                    found => left -= found as u64,
                }
            }
            holes::clear(&self.file, start..end)?;
        }
        Ok(())
    }
}

/// Gives roots that stay between objects the profile's serials, in the profile's file. They were `moved`
/// bytes before their places there.
///
/// # Errors
/// The file system's.
pub fn name_roots(
    placed: &[(u64, Root)],
    serials: &Serials,
    file: &File,
    moved: i64,
) -> io::Result<()> {
    let mut body = Body::new(IdSize::Eight);
    for (at, root) in placed {
        body.clear();
        let root = Root {
            kind: serials.root(root.kind),
            ..*root
        };
        SubRecord::Root(root).encode(&mut body);
        file.write_all_at(body.bytes(), at.wrapping_add_signed(moved))?;
    }
    Ok(())
}
