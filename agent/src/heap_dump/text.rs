//! Text output: the VM's dump is read once while it is written, for classes, threads, roots and
//! totals, which the text has in front; and then once more, when each object becomes lines.

use std::io::Read;
use std::sync::Arc;

use hprof_format::binary::{BasicType, IdSize, Record, SubRecord, SubRecords, Value};
use hprof_format::ids::ObjectId;
use hprof_format::model::{
    HeapField, HeapInstance, HeapObjectArray, HeapPrimitiveArray, HeapTotals, PrimitiveValues,
};
use hprof_format::reader::Damage;
use hprof_format::writer::ProfileWriter;

use super::ids::DumpIds;
use super::reader::{DumpError, DumpReader, Growth, Visitor};
use super::sizes::Sizes;
use super::survey::Survey;
use super::vm_dump::Place;
use super::write::{Serials, each_class, roots, stacks};
use super::{Failure, Request, follow, locate, primitive_array};
use crate::heap_sites::SitesProfile;
use crate::vm::ArrayLayout;

/// Writes a dump as text; returns the number of objects.
///
/// # Errors
/// [`Failure`].
pub fn dump(
    request: &Request<'_>,
    writer: &mut dyn ProfileWriter,
    ids: &mut DumpIds<'_>,
    sites: Option<&mut SitesProfile>,
) -> Result<u64, Failure> {
    let sizes = Sizes::measure(request.vm.jvmti, request.vm.jni);
    let arrays = sizes.as_ref().map(Sizes::arrays);
    let mut look = |place: &Place, live: bool| {
        let mut survey = Survey::new(arrays);
        let (dumped, read) = follow(request, place, live, false, &mut survey);
        (dumped, (survey, read))
    };
    let (place, (dumped, (survey, read))) = match sites {
        Some(sites) => locate(request, ids, sites, &mut look)?,
        None => {
            let place = Place::create(request.output).map_err(Failure::NoDump)?;
            let result = look(&place, request.prepare(ids));
            (Arc::new(place), result)
        }
    };
    dumped.map_err(Failure::NoDump)?;
    let file = read.map_err(|error| Failure::NoDump(error.to_string()))?;
    drop(place);
    ids.write_traces(writer)?;
    let mut serials = Serials::default();
    serials.name_traces(ids, &survey);
    for thread in serials.name_threads(ids, &survey) {
        thread.write(writer)?;
    }
    stacks(writer, &survey, &serials, request.content.lines)?;
    let classes = ClassText::of(&survey, sizes.as_ref());
    let totals = HeapTotals {
        objects: survey.objects,
        bytes: survey.array_bytes
            + survey
                .classes
                .iter()
                .zip(&classes)
                .map(|(class, text)| class.instances * text.size)
                .sum::<u64>(),
    };
    writer.heap_begin(&totals, request.ctime)?;
    roots(writer, ids, &survey, &serials)?;
    let growth = Growth::default();
    growth.finish();
    let mut objects = TextObjects::new(writer, ids, &survey, &classes, arrays);
    let read = DumpReader::new(&file, &growth, true).and_then(|it| it.read(&mut objects));
    if let Err(DumpError::Output(error)) = read {
        return Err(error.into());
    }
    let strip = request.content.strip;
    each_class(&survey, ids, 0, strip, &mut |class| {
        writer.heap_class(class)
    })?;
    writer.heap_end()?;
    match read {
        Ok(()) => Ok(survey.objects),
        Err(error) => Err(Failure::CutOff(error.to_string())),
    }
}

/// Writes objects and arrays as text.
struct TextObjects<'a> {
    writer: &'a mut dyn ProfileWriter,
    ids: &'a DumpIds<'a>,
    arrays: Option<ArrayLayout>,
    classes: &'a [ClassText],
    survey: &'a Survey,
    fields: Vec<HeapField<'a>>,
    elements: Vec<ObjectId>,
}

/// The data for the lines of a class's instances.
struct ClassText {
    name: Box<str>,
    /// The size of an instance.
    size: u64,
    /// Names of reference fields, the topmost class's first, and where they lie in the values.
    references: Box<[(Box<str>, usize)]>,
}

impl ClassText {
    /// For all classes of a dump, in its order.
    fn of(survey: &Survey, sizes: Option<&Sizes>) -> Vec<Self> {
        let mut all = Vec::with_capacity(survey.classes.len());
        for class in &survey.classes {
            let mut levels = Vec::new();
            let mut at = 0;
            for class in survey.hierarchy(class.id) {
                let mut level = Vec::new();
                for (name, basic_type) in &class.fields {
                    if *basic_type == BasicType::Object {
                        level.push((Box::from(survey.text(*name)), at));
                    }
                    at += basic_type.width(IdSize::Eight);
                }
                levels.push(level);
            }
            all.push(Self {
                name: class.name.clone(),
                size: match sizes {
                    // Each array has a size of its own.
                    Some(sizes) if !class.name.ends_with(']') => {
                        sizes.instance(&class.name, &survey.layout(class.id))
                    }
                    _ => 0,
                },
                references: levels.into_iter().rev().flatten().collect(),
            });
        }
        all
    }
}

impl<'a> TextObjects<'a> {
    /// Writes the objects of the dump that `survey` and `classes` are about.
    fn new(
        writer: &'a mut dyn ProfileWriter,
        ids: &'a DumpIds<'a>,
        survey: &'a Survey,
        classes: &'a [ClassText],
        arrays: Option<ArrayLayout>,
    ) -> Self {
        Self {
            writer,
            ids,
            arrays,
            classes,
            survey,
            fields: Vec::new(),
            elements: Vec::new(),
        }
    }

    fn array_bytes(&self, length: u64, width: Option<u64>) -> u64 {
        self.arrays.map_or(0, |layout| layout.bytes(length, width))
    }

    fn instance(
        &mut self,
        object: ObjectId,
        class: ObjectId,
        values: &[u8],
    ) -> std::io::Result<()> {
        let text = self.survey.place(class).map(|place| &self.classes[place]);
        self.fields.clear();
        for (name, at) in text.iter().flat_map(|text| &text.references) {
            let value = values.get(*at..).unwrap_or_default();
            if let Some(value) = Value::read(BasicType::Object, value, IdSize::Eight) {
                self.fields.push(HeapField { name, value });
            }
        }
        self.writer.heap_instance(&HeapInstance {
            object,
            size: text.map_or(0, |text| text.size),
            trace: self.ids.trace(object),
            class,
            class_name: text.map_or("Unknown_class", |text| &text.name),
            fields: &[&self.fields],
        })
    }

    fn primitive_array(
        &mut self,
        array: ObjectId,
        element: BasicType,
        length: u64,
    ) -> std::io::Result<()> {
        let width = element.width(IdSize::Eight) as u64;
        self.writer.heap_primitive_array(&HeapPrimitiveArray {
            array,
            size: self.array_bytes(length, Some(width)),
            trace: self.ids.trace(array),
            values: PrimitiveValues::Omitted {
                element,
                length: usize::try_from(length).unwrap_or(usize::MAX),
            },
        })
    }
}

impl Visitor for TextObjects<'_> {
    fn record(&mut self, _: &Record<'_>) -> Result<(), DumpError> {
        Ok(())
    }

    fn sub_records(&mut self, bytes: &mut [u8], offset: u64) -> Result<usize, DumpError> {
        let mut subs = SubRecords::new(bytes, IdSize::Eight, offset);
        loop {
            let done = (subs.offset() - offset) as usize;
            let written = match subs.next() {
                None | Some(Err(Damage::SubRecordBody { .. })) => return Ok(done),
                Some(Err(damage)) => return Err(damage.into()),
                Some(Ok(SubRecord::Instance {
                    object,
                    class,
                    values,
                    ..
                })) => self.instance(object, class, values),
                Some(Ok(SubRecord::ObjectArray {
                    array,
                    class,
                    elements,
                    ..
                })) => {
                    self.elements.clear();
                    self.elements.extend(elements.iter().map(ObjectId::new));
                    let name = self.survey.class(class).map(|class| &*class.name);
                    self.writer.heap_object_array(&HeapObjectArray {
                        array,
                        size: self.array_bytes(self.elements.len() as u64, None),
                        trace: self.ids.trace(array),
                        class,
                        class_name: name.unwrap_or("Unknown_class"),
                        elements: &self.elements,
                    })
                }
                Some(Ok(SubRecord::PrimitiveArray {
                    array,
                    element,
                    values,
                    ..
                })) => {
                    let length = values.len() / element.width(IdSize::Eight);
                    self.primitive_array(array, element, length as u64)
                }
                // Classes and roots are written from the survey.
                Some(Ok(_)) => Ok(()),
            };
            written.map_err(DumpError::Output)?;
        }
    }

    fn large_array(
        &mut self,
        head: &[u8; primitive_array::HEAD],
        _elements: &mut dyn Read,
        _offset: u64,
    ) -> Result<(), DumpError> {
        let Some((length, element)) = primitive_array::elements(head) else {
            return Ok(());
        };
        let id: [u8; 8] = head[1..].first_chunk().copied().unwrap_or_default();
        let array = ObjectId::new(u64::from_be_bytes(id));
        self.primitive_array(array, element, u64::from(length))
            .map_err(DumpError::Output)
    }
}
