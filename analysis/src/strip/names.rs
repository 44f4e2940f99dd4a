//! The first pass: which strings are names, and where references lie in instances.

use std::io::Read;

use hprof_format::binary::{BasicType, IdSize, Record, SubRecord};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::reader::{Event, StreamError, StreamReader};
use rustc_hash::{FxHashMap, FxHashSet};

use super::StripError;
use crate::heap::ClassShape;

/// No class has more super classes than this; in damaged files they may go in circles.
const MAX_HIERARCHY: usize = 256;

/// The facts about a file that copying needs.
#[derive(Debug)]
pub struct StripPlan {
    names: FxHashSet<StringId>,
    shapes: FxHashMap<ObjectId, ClassShape>,
    id_size: IdSize,
    with_fields: bool,
}

impl StripPlan {
    /// Reads a file for the first time. `with_fields` tells that fields of primitive types are to
    /// be emptied too.
    ///
    /// # Errors
    /// If it is no binary HPROF file or reading fails. Damage is no error here.
    pub fn of(input: impl Read, with_fields: bool) -> Result<Self, StripError> {
        let mut reader = match StreamReader::new(input) {
            Ok(reader) => reader,
            Err(StreamError::Io(error)) => return Err(error.into()),
            Err(StreamError::Header(error)) => return Err(error.into()),
            Err(StreamError::Damage(_)) => {
                return Err(hprof_format::reader::HeaderError::TooShort.into());
            }
        };
        let mut plan = Self {
            names: FxHashSet::default(),
            shapes: FxHashMap::default(),
            id_size: reader.header().id_size,
            with_fields,
        };
        while let Some(event) = reader.next() {
            match event {
                Ok(Event::Record(found)) => plan.record(&found.record),
                Ok(Event::SubRecord {
                    sub_record: SubRecord::Class(class),
                    ..
                }) => {
                    plan.names.extend(class.statics.iter().map(|it| it.name));
                    plan.names.extend(class.fields.iter().map(|it| it.name));
                    if with_fields {
                        let shape = ClassShape::new(&class);
                        plan.shapes.entry(class.class).or_insert(shape);
                    }
                }
                Ok(Event::SubRecord {
                    sub_record: SubRecord::HeapInfo { name, .. },
                    ..
                }) => {
                    plan.names.insert(name);
                }
                Err(StreamError::Io(error))
                    if error.kind() != std::io::ErrorKind::UnexpectedEof =>
                {
                    return Err(error.into());
                }
                Err(StreamError::Io(_)) => break,
                Ok(_) | Err(_) => {}
            }
        }
        Ok(plan)
    }

    fn record(&mut self, record: &Record<'_>) {
        match *record {
            Record::LoadClass { name, .. } => {
                self.names.insert(name);
            }
            Record::Frame {
                method,
                signature,
                source_file,
                ..
            } => self.names.extend([method, signature, source_file]),
            Record::StartThread {
                name,
                group,
                parent_group,
                ..
            } => self.names.extend([name, group, parent_group]),
            _ => {}
        }
    }

    /// The width of identifiers.
    pub(super) fn id_size(&self) -> IdSize {
        self.id_size
    }

    /// True if fields are to be emptied.
    pub(super) fn empties_fields(&self) -> bool {
        self.with_fields
    }

    /// True if a string names something.
    pub(super) fn is_name(&self, id: StringId) -> bool {
        self.names.contains(&id)
    }

    /// The values of a class's instances that are no references, as pairs of place and length;
    /// `None` if a class of the hierarchy is not known.
    pub(super) fn values(&self, class: ObjectId) -> Option<Vec<(usize, usize)>> {
        let (mut values, mut at) = (Vec::new(), 0);
        let mut next = class;
        for _ in 0..MAX_HIERARCHY {
            if next.is_null() {
                return Some(values);
            }
            let shape = self.shapes.get(&next)?;
            for &(_, basic_type) in &shape.fields {
                let width = basic_type.width(self.id_size);
                if basic_type != BasicType::Object {
                    values.push((at, width));
                }
                at += width;
            }
            next = shape.super_class;
        }
        None
    }
}
