//! Zeros in the place of values, for `dumplevel` and `strip`. Lengths never change, and so sizes do not.

use std::ops::Range;

use hashbrown::HashMap;
use hprof_format::binary::{BasicType, IdSize, Value};
use hprof_format::ids::ObjectId;

use super::primitive_array;
use super::survey::Survey;
use crate::options::Strip;

/// The value that a static field has in the dump.
pub fn static_value(strip: &Strip, class: &str, field: &str, value: Value) -> Value {
    match value {
        Value::Object(_) if strip.empties_references() => Value::Object(ObjectId::NULL),
        Value::Object(_) => value,
        _ if strip.keeps_field(class, class, field) => value,
        Value::Boolean(_) => Value::Boolean(false),
        Value::Char(_) => Value::Char(0),
        Value::Float(_) => Value::Float(0.0),
        Value::Double(_) => Value::Double(0.0),
        Value::Byte(_) => Value::Byte(0),
        Value::Short(_) => Value::Short(0),
        Value::Int(_) => Value::Int(0),
        Value::Long(_) => Value::Long(0),
    }
}

/// Knows which bytes of objects become zero. Memory grows with the classes.
pub struct Blanks {
    strip: &'static Strip,
    /// Primitive fields of instances are blanked whatever `strip` is (`primfields=n`).
    clears_fields: bool,
    /// By the code of the element type.
    keeps_arrays: [bool; 16],
    /// Places in [`Self::classes`].
    places: HashMap<ObjectId, usize>,
    classes: Vec<Blank>,
    /// Objects of a class come in a row often.
    last: (ObjectId, usize),
}

/// The bytes of an instance's values that become zero, in order.
struct Blank {
    ranges: Box<[Range<usize>]>,
    /// How long the values are by the fields of the class.
    length: usize,
}

impl Blanks {
    /// For what `strip` leaves out; with `clears_fields` also all primitive fields of instances.
    pub fn new(strip: &'static Strip, clears_fields: bool) -> Self {
        let mut keeps_arrays = [true; 16];
        for element in BasicType::ALL {
            let class = format!("{}[]", element.name());
            keeps_arrays[usize::from(element.code() & 15)] = strip.keeps_array(&class);
        }
        Self {
            strip,
            clears_fields,
            keeps_arrays,
            places: HashMap::new(),
            classes: Vec::new(),
            last: (ObjectId::NULL, usize::MAX),
        }
    }

    /// Returns true if an array with elements of this type keeps them.
    #[inline]
    pub fn keeps_elements(&self, element: BasicType) -> bool {
        self.keeps_arrays[usize::from(element.code() & 15)]
    }

    /// Returns true if the primitive array at the start of `bytes` keeps its elements.
    #[inline]
    pub fn keeps_elements_of(&self, bytes: &[u8]) -> bool {
        let element = bytes.get(primitive_array::at::TYPE).copied();
        let element = element.and_then(BasicType::from_code);
        element.is_some_and(|element| self.keeps_elements(element))
    }

    /// Returns true if arrays of objects keep their elements.
    #[inline]
    pub fn keeps_references(&self) -> bool {
        !self.strip.empties_references()
    }

    /// Blanks the values of an instance.
    #[inline]
    pub fn instance(&mut self, survey: &Survey, class: ObjectId, values: &mut [u8]) {
        match self.strip {
            Strip::None | Strip::Arrays if !self.clears_fields => return,
            Strip::Contents => {
                values.fill(0);
                return;
            }
            _ => {}
        }
        if self.last.0 != class || self.last.1 >= self.classes.len() {
            self.last = (class, self.place(survey, class));
        }
        let blank = &self.classes[self.last.1];
        for range in &blank.ranges {
            if let Some(bytes) = values.get_mut(range.clone()) {
                bytes.fill(0);
            }
        }
        // The types of values whose class the dump lacks are unknown.
        if let Some(unknown) = values.get_mut(blank.length..) {
            unknown.fill(0);
        }
    }

    fn place(&mut self, survey: &Survey, class: ObjectId) -> usize {
        if let Some(&place) = self.places.get(&class) {
            return place;
        }
        let place = self.classes.len();
        self.classes.push(self.blank(survey, class));
        self.places.insert(class, place);
        place
    }

    fn blank(&self, survey: &Survey, class: ObjectId) -> Blank {
        let name = survey.class(class).map_or("", |class| &class.name);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        for declaring in survey.hierarchy(class) {
            for &(field, basic_type) in &declaring.fields {
                let end = at + basic_type.width(IdSize::Eight);
                let stays = basic_type == BasicType::Object
                    || !self.clears_fields
                        && (self.strip).keeps_field(name, &declaring.name, survey.text(field));
                match ranges.last_mut() {
                    _ if stays => {}
                    Some(last) if last.end == at => last.end = end,
                    _ => ranges.push(at..end),
                }
                at = end;
            }
        }
        Blank {
            ranges: ranges.into(),
            length: at,
        }
    }
}
