//! The contents of objects: fields, elements, texts.

use std::os::raw::c_char;
use std::ptr;

use super::env::call;
use super::ids::JFieldId;
use super::jni::{Jni, jni};
use super::memory::{VmMemory, take_string};
use super::refs::{Class, LocalRef, Ref};
use crate::{Jvmti, JvmtiError, Result};

/// `ACC_STATIC` (Java Virtual Machine Specification, table 4.5-A).
const STATIC: jni_sys::jint = 0x8;

/// A value of a field or an element.
pub enum Value<'a> {
    /// `boolean`.
    Boolean(bool),
    /// `byte`.
    Byte(i8),
    /// `char`, a unit of UTF-16.
    Char(u16),
    /// `short`.
    Short(i16),
    /// `int`.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// A reference; `None` for null.
    Reference(Option<LocalRef<'a>>),
}

struct Field {
    id: JFieldId,
    name: String,
    /// The first letter of its descriptor.
    kind: u8,
}

/// The fields of a class's instances, those of its superclasses first.
pub struct InstanceFields<'a> {
    class: LocalRef<'a, Class>,
    fields: Vec<Field>,
}

impl InstanceFields<'_> {
    /// The class.
    pub fn class(&self) -> Ref<'_, Class> {
        self.class.get()
    }

    /// Their names, in order. Superclasses may have fields of equal names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// The value of the field at a place; `None` if there is none, or the object is of another class.
    pub fn value<'j>(&self, jni: &'j Jni, object: Ref<'_>, at: usize) -> Option<Value<'j>> {
        let field = self.fields.get(at)?;
        if !jni.is_instance(object, self.class.get()) {
            return None;
        }
        let (object, id) = (object.as_raw(), field.id.as_raw());
        // SAFETY: the object is an instance of the class that the VM gave the fields for, and the letter
        // is that of the field's descriptor; `GetObjectField` makes a local reference.
        let value = unsafe {
            match field.kind {
                b'Z' => Value::Boolean(jni!(jni, v1_2.GetBooleanField, object, id)),
                b'B' => Value::Byte(jni!(jni, v1_2.GetByteField, object, id)),
                b'C' => Value::Char(jni!(jni, v1_2.GetCharField, object, id)),
                b'S' => Value::Short(jni!(jni, v1_2.GetShortField, object, id)),
                b'I' => Value::Int(jni!(jni, v1_2.GetIntField, object, id)),
                b'J' => Value::Long(jni!(jni, v1_2.GetLongField, object, id)),
                b'F' => Value::Float(jni!(jni, v1_2.GetFloatField, object, id)),
                b'D' => Value::Double(jni!(jni, v1_2.GetDoubleField, object, id)),
                _ => {
                    let target = jni!(jni, v1_2.GetObjectField, object, id);
                    Value::Reference(LocalRef::own(jni, target))
                }
            }
        };
        Some(value)
    }
}

impl Jvmti {
    /// The fields of a class's instances.
    ///
    /// # Errors
    /// The error of `GetClassFields`, usually `CLASS_NOT_PREPARED`.
    pub fn instance_fields<'a>(
        &self,
        jni: &'a Jni,
        class: LocalRef<'a, Class>,
    ) -> Result<InstanceFields<'a>> {
        let mut fields = self.declared_fields(class.get())?;
        let mut above = jni.superclass(class.get());
        while let Some(class) = above {
            let mut inherited = self.declared_fields(class.get())?;
            inherited.append(&mut fields);
            fields = inherited;
            above = jni.superclass(class.get());
        }
        Ok(InstanceFields { class, fields })
    }

    /// Where the field of this name, of no superclass, is in each instance of a class, in bytes, if ids have this many bits
    /// besides the offset; `None` when the VM does not tell, or has no such field.
    ///
    /// # Errors
    /// The error of `GetClassFields`, usually `CLASS_NOT_PREPARED`.
    pub(crate) fn field_offset(
        &self,
        class: Ref<'_, Class>,
        name: &str,
        kind_bits: u32,
    ) -> Result<Option<usize>> {
        let fields = self.declared_fields(class)?;
        let id = fields.iter().find(|field| field.name == name);
        Ok(id.and_then(|field| field.id.offset(kind_bits)))
    }

    fn declared_fields(&self, class: Ref<'_, Class>) -> Result<Vec<Field>> {
        let (mut count, mut ids) = (0, ptr::null_mut());
        call!(self, GetClassFields, class.as_raw(), &mut count, &mut ids)?;
        // SAFETY: the VM allocated `count` ids for us.
        let ids = unsafe { VmMemory::new(self, ids, count.max(0) as usize) };
        let mut fields = Vec::with_capacity(ids.len());
        for &id in &*ids {
            let mut modifiers = 0;
            call!(self, GetFieldModifiers, class.as_raw(), id, &mut modifiers)?;
            if modifiers & STATIC != 0 {
                continue;
            }
            let mut name: *mut c_char = ptr::null_mut();
            let mut signature: *mut c_char = ptr::null_mut();
            call!(
                self,
                GetFieldName,
                class.as_raw(),
                id,
                &mut name,
                &mut signature,
                ptr::null_mut()
            )?;
            // SAFETY: the VM allocated both texts for us.
            let texts = unsafe { (take_string(self, name), take_string(self, signature)) };
            let (Some(name), Some(signature)) = texts else {
                return Err(JvmtiError::INTERNAL);
            };
            let kind = signature.bytes().next().unwrap_or(b'L');
            fields.extend(JFieldId::new(id).map(|id| Field { id, name, kind }));
        }
        Ok(fields)
    }

    /// The length of an array and its first elements, at most `most`; `None` for what is no array.
    ///
    /// # Errors
    /// The error of `GetClassSignature`.
    pub fn elements<'a>(
        &self,
        jni: &'a Jni,
        object: Ref<'_>,
        most: usize,
    ) -> Result<Option<(usize, Vec<Value<'a>>)>> {
        let signature = self.class_signature(jni.object_class(object).get())?;
        let Some(element) = signature.strip_prefix('[') else {
            return Ok(None);
        };
        let array = object.as_raw();
        // SAFETY: the object is an array, by its class.
        let length = unsafe { jni!(jni, v1_2.GetArrayLength, array) };
        let length = usize::try_from(length).unwrap_or(0);
        let shown = length.min(most);
        let count = i32::try_from(shown).map_err(|_| JvmtiError::INTERNAL)?;
        macro_rules! region {
            ($function:ident, $zero:expr, $kind:ident) => {{
                let mut values = vec![$zero; shown];
                // SAFETY: the array is of this type, by its class, and has as many elements; so has the place.
                unsafe { jni!(jni, v1_2.$function, array, 0, count, values.as_mut_ptr()) };
                values.into_iter().map(Value::$kind).collect()
            }};
        }
        let values = match element.as_bytes().first() {
            Some(b'Z') => region!(GetBooleanArrayRegion, false, Boolean),
            Some(b'B') => region!(GetByteArrayRegion, 0, Byte),
            Some(b'C') => region!(GetCharArrayRegion, 0, Char),
            Some(b'S') => region!(GetShortArrayRegion, 0, Short),
            Some(b'I') => region!(GetIntArrayRegion, 0, Int),
            Some(b'J') => region!(GetLongArrayRegion, 0, Long),
            Some(b'F') => region!(GetFloatArrayRegion, 0.0, Float),
            Some(b'D') => region!(GetDoubleArrayRegion, 0.0, Double),
            _ => (0..count)
                .map(|at| {
                    // SAFETY: the array holds references and is longer; the result is a new local reference.
                    Value::Reference(unsafe {
                        LocalRef::own(jni, jni!(jni, v1_2.GetObjectArrayElement, array, at))
                    })
                })
                .collect(),
        };
        Ok(Some((length, values)))
    }
}

impl Jni {
    /// The first units of a string, at most `most`, and the number of all; `None` for what is no
    /// instance of `string`, the class `java.lang.String`.
    pub fn text(
        &self,
        string: Ref<'_, Class>,
        object: Ref<'_>,
        most: usize,
    ) -> Option<(String, usize)> {
        if !self.is_instance(object, string) {
            return None;
        }
        let text = object.as_raw();
        // SAFETY: the object is a string.
        let length = unsafe { jni!(self, v1_2.GetStringLength, text) };
        let length = usize::try_from(length).unwrap_or(0);
        let mut units = vec![0u16; length.min(most)];
        let count = i32::try_from(units.len()).ok()?;
        // SAFETY: the string is at least as long, and so is the place.
        unsafe {
            jni!(
                self,
                v1_2.GetStringRegion,
                text,
                0,
                count,
                units.as_mut_ptr()
            )
        };
        Some((String::from_utf16_lossy(&units), length))
    }
}
