//! Reads the values of objects out of the dump.

use hprof_format::binary::{BasicType, IdSize, SubRecord};
use serde::Serialize;

use super::Snapshot;
use crate::graph::Static;
use crate::heap::Text;
use crate::numbers::{ClassNumber, ObjectNumber};

/// A value of a field or element.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "value", rename_all = "lowercase")]
pub enum Value {
    /// No object.
    Null,
    /// An object, by number.
    Object(ObjectNumber),
    /// An object that the file lacks, by identifier.
    Missing(u64),
    /// A boolean.
    Boolean(bool),
    /// A character.
    Char(char),
    /// A number without a fraction.
    Integer(i64),
    /// A number with a fraction, as Java would print it.
    Float(f64),
}

/// A field with its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldValue {
    /// The name.
    pub name: String,
    /// The class that declares it.
    pub class: ClassNumber,
    /// The value.
    pub value: Value,
}

impl Value {
    /// The object, if it is one that the file has.
    pub fn object(&self) -> Option<ObjectNumber> {
        match self {
            Self::Object(object) => Some(*object),
            _ => None,
        }
    }

    /// The number, if it is one without a fraction.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }
}

/// A decimal number as Java prints it (`Double.toString` since JDK 19): the fewest digits that tell
/// it from others, two at least; very large and small ones have an exponent.
pub fn decimal(value: f64) -> String {
    let is_small = |size: f64| (1e-3..1e7).contains(&size);
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value.is_infinite() && value > 0.0 => "Infinity".to_owned(),
        _ if value.is_infinite() => "-Infinity".to_owned(),
        _ if value == 0.0 || is_small(value.abs()) => {
            let text = value.to_string();
            match text.contains('.') {
                true => text,
                false => text + ".0",
            }
        }
        _ => two_digits(format!("{value:e}"), || format!("{value:.1e}")).replace('e', "E"),
    }
}

/// A number of type `float`, with the digits that are meant: 0.1 rather than 0.10000000149011612.
pub fn of_float(value: f32) -> f64 {
    let text = two_digits(format!("{value:e}"), || format!("{value:.1e}"));
    text.parse().unwrap_or(f64::from(value))
}

/// The shortest form with an exponent, or where that has a single digit the best of two.
fn two_digits(shortest: String, best: impl Fn() -> String) -> String {
    match shortest.contains('.') {
        true => shortest,
        false => best(),
    }
}

impl Snapshot {
    /// The value in the first bytes of a field or element, as the dump has them; `None` if they are
    /// too few.
    pub fn value(&self, basic_type: BasicType, bytes: &[u8]) -> Option<Value> {
        let width = match basic_type {
            BasicType::Object => self.graph.id_size().bytes(),
            other => other.width(IdSize::Eight),
        };
        let bytes = bytes.get(..width)?;
        let bits = bytes
            .iter()
            .fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        Some(self.value_of_bits(basic_type, bits))
    }

    fn value_of_bits(&self, basic_type: BasicType, bits: u64) -> Value {
        match basic_type {
            BasicType::Object if bits == 0 => Value::Null,
            BasicType::Object => {
                (self.graph.number(bits)).map_or(Value::Missing(bits), Value::Object)
            }
            BasicType::Boolean => Value::Boolean(bits != 0),
            BasicType::Char => {
                let unit = char::from_u32(bits as u16 as u32);
                Value::Char(unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            BasicType::Float => Value::Float(of_float(f32::from_bits(bits as u32))),
            BasicType::Double => Value::Float(f64::from_bits(bits)),
            BasicType::Byte => Value::Integer(i64::from(bits as i8)),
            BasicType::Short => Value::Integer(i64::from(bits as i16)),
            BasicType::Int => Value::Integer(i64::from(bits as i32)),
            BasicType::Long => Value::Integer(bits as i64),
        }
    }

    /// The value of a static field.
    pub fn static_value(&self, field: &Static) -> Value {
        let basic_type = BasicType::from_code(field.type_code).unwrap_or(BasicType::Long);
        self.value_of_bits(basic_type, field.bits)
    }

    /// The fields of an instance that is no array, those of its class first, then those of its
    /// super class, and so on.
    pub fn fields(&self, object: ObjectNumber) -> Vec<FieldValue> {
        let Some((_, SubRecord::Instance { values, .. })) = self.graph.locate(&self.file, object)
        else {
            return Vec::new();
        };
        let class = self.graph.class_of(object);
        let fields = self.graph.classes().fields(class);
        fields
            .filter_map(|placed| {
                let bytes = values.get(placed.offset..)?;
                Some(FieldValue {
                    name: placed.field.name.clone(),
                    class: placed.class,
                    value: self.value(placed.field.basic_type(), bytes)?,
                })
            })
            .collect()
    }

    /// The value of the first field with a name.
    pub fn field(&self, object: ObjectNumber, name: &str) -> Option<Value> {
        let Some((_, SubRecord::Instance { values, .. })) = self.graph.locate(&self.file, object)
        else {
            return None;
        };
        self.field_of(self.graph.class_of(object), values, name)
    }

    /// The value of the first field with a name, among the values of an instance of a class.
    pub(crate) fn field_of(&self, class: ClassNumber, values: &[u8], name: &str) -> Option<Value> {
        let placed = self.graph.classes().field(class, name)?;
        self.value(placed.field.basic_type(), values.get(placed.offset..)?)
    }

    /// The first static field of a class object, or field of an instance, that refers to an object.
    pub(crate) fn field_to(&self, from: ObjectNumber, to: ObjectNumber) -> Option<&str> {
        let (classes, id) = (self.graph.classes(), self.graph.id(to));
        if let Some(class) = self.graph.class_of_object(from) {
            let mut statics = classes.get(class).statics.iter();
            let found = statics.find(|field| {
                let kind = BasicType::from_code(field.type_code);
                kind == Some(BasicType::Object) && field.bits == id
            });
            return found.map(|field| &*field.name);
        }
        let Some((_, SubRecord::Instance { values, .. })) = self.graph.locate(&self.file, from)
        else {
            return None;
        };
        let mut fields = classes.fields(self.graph.class_of(from));
        let found = fields.find(|placed| {
            placed.field.basic_type() == BasicType::Object
                && values.get(placed.offset..).and_then(|it| self.id_in(it)) == Some(id)
        });
        found.map(|placed| &*placed.field.name)
    }

    /// The object that a field refers to.
    pub fn field_object(&self, object: ObjectNumber, name: &str) -> Option<ObjectNumber> {
        self.field(object, name)?.object()
    }

    /// The elements of an array of references.
    pub fn elements(&self, array: ObjectNumber) -> Vec<Value> {
        self.each_element(array).collect()
    }

    /// The elements of an array of references, each looked up when its turn comes.
    pub(crate) fn each_element(&self, array: ObjectNumber) -> impl Iterator<Item = Value> + '_ {
        let elements = match self.graph.locate(&self.file, array) {
            Some((_, SubRecord::ObjectArray { elements, .. })) => Some(elements),
            _ => None,
        };
        let ids = elements.into_iter().flat_map(|elements| elements.iter());
        ids.map(|id| self.value_of_bits(BasicType::Object, id))
    }

    /// The number of elements of an array.
    pub fn array_length(&self, array: ObjectNumber) -> Option<u64> {
        match self.graph.locate(&self.file, array)?.1 {
            SubRecord::ObjectArray { elements, .. } => Some(elements.len() as u64),
            SubRecord::PrimitiveArray {
                element, values, ..
            } => Some((values.len() / element.width(IdSize::Eight)) as u64),
            SubRecord::PrimitiveArrayNoData { length, .. } => Some(u64::from(length)),
            _ => None,
        }
    }

    /// The first `most` elements of a primitive array.
    pub fn primitives(&self, array: ObjectNumber, most: usize) -> Vec<Value> {
        let Some((
            _,
            SubRecord::PrimitiveArray {
                element, values, ..
            },
        )) = self.graph.locate(&self.file, array)
        else {
            return Vec::new();
        };
        let chunks = values.chunks_exact(element.width(IdSize::Eight)).take(most);
        chunks
            .filter_map(|bytes| self.value(element, bytes))
            .collect()
    }

    /// The text of a `java.lang.String`, at most `most` characters of it.
    ///
    /// `value` is a `char[]` up to JDK 8, of which older ones use the part from `offset` on, and
    /// since JDK 9 a `byte[]` in Latin-1 or UTF-16 (JEP 254). Android has either, and up to
    /// version 8 no `coder`.
    pub fn string(&self, object: ObjectNumber, most: usize) -> Option<String> {
        Some(self.characters(object)?.decode(most))
    }

    /// The number of characters of a `java.lang.String`, a pair of surrogates as one.
    pub fn string_length(&self, object: ObjectNumber) -> Option<u64> {
        Some(self.characters(object)?.characters())
    }

    fn characters(&self, object: ObjectNumber) -> Option<Text<'_>> {
        let class = self.graph.class_of(object);
        if self.graph.classes().get(class).name != "java.lang.String" {
            return None;
        }
        let (_, SubRecord::Instance { values, .. }) = self.graph.locate(&self.file, object)? else {
            return None;
        };
        let integer = |name| self.field_of(class, values, name)?.integer();
        let array = self.field_of(class, values, "value")?.object()?;
        let coder = integer("coder").unwrap_or(0);
        let part = integer("offset").zip(integer("count"));
        let SubRecord::PrimitiveArray {
            element, values, ..
        } = self.graph.locate(&self.file, array)?.1
        else {
            return None;
        };
        // Only arrays of characters were shared, by JDKs without `coder`.
        let part = part.filter(|_| element == BasicType::Char);
        let part = part.and_then(|(offset, count)| {
            Some((u32::try_from(offset).ok()?, u32::try_from(count).ok()?))
        });
        Text::of(element, coder == 1, part, values)
            .or_else(|| Text::of(element, coder == 1, None, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_numbers_are_those_that_java_prints() {
        for (value, text) in [
            (0.75, "0.75"),
            (2.0, "2.0"),
            (-0.0, "-0.0"),
            (0.001, "0.001"),
            (0.000_999, "9.99E-4"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (123_456_789.0, "1.23456789E8"),
            (2e23, "2.0E23"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (1e300, "1.0E300"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (of_float(0.1), "0.1"),
            (of_float(f32::from_bits(1)), "1.4E-45"),
            (of_float(f32::MAX), "3.4028235E38"),
            (of_float(f32::NAN), "NaN"),
        ] {
            assert_eq!(decimal(value), text);
        }
    }
}
