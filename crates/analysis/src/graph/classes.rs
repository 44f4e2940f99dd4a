//! The classes of a dump.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hprof_format::binary::{BasicType, ClassDump, IdSize, Value};
use hprof_format::ids::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::options::ReferenceKind;
use crate::heap::{ClassShape, Layout, Sizes};
use crate::names::Names;
use crate::numbers::ClassNumber;

/// The kind of a class's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClassKind {
    /// Instances that are no arrays, or arrays of references.
    Objects,
    /// Arrays of a primitive type, by its code.
    Primitives(u8),
}

/// A field that a class declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The code of the type.
    pub type_code: u8,
}

impl Field {
    /// The type.
    pub fn basic_type(&self) -> BasicType {
        BasicType::from_code(self.type_code).unwrap_or(BasicType::Byte)
    }
}

/// A static field, or with a number as its name a constant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Static {
    /// The name.
    pub name: String,
    /// The code of the type.
    pub type_code: u8,
    /// The value's bits, in the low bytes.
    pub bits: u64,
}

/// A class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The identifier of the class object; 0 for primitive arrays whose class is not in the dump.
    pub id: u64,
    /// The name as Java source has it.
    pub name: String,
    /// The kind of the objects.
    pub kind: ClassKind,
    /// False if the file does not describe the class.
    pub is_described: bool,
    /// The super class, if it is known.
    pub super_class: Option<ClassNumber>,
    /// The identifier of the super class.
    pub super_id: u64,
    /// The loader, 0 for the boot loader.
    pub loader: u64,
    /// The signers, or 0.
    pub signers: u64,
    /// The protection domain, or 0.
    pub domain: u64,
    /// The room that an instance takes in bytes; `None` if the hierarchy is not known.
    pub instance_bytes: Option<u64>,
    /// The fields that the class itself declares, in the order of their values.
    pub fields: Vec<Field>,
    /// Static fields.
    pub statics: Vec<Static>,
    /// Constants that hold objects, named by their index.
    pub constants: Vec<Static>,
    /// The kind of `java.lang.ref.Reference` of the instances.
    pub reference_kind: Option<ReferenceKind>,
}

/// A field of an instance with its place among the values.
#[derive(Debug, Clone, Copy)]
pub struct PlacedField<'a> {
    /// The field.
    pub field: &'a Field,
    /// The class that declares it.
    pub class: ClassNumber,
    /// The first byte of its value.
    pub offset: usize,
}

/// All classes of a dump, by number.
#[derive(Debug, Clone, Default)]
pub struct Classes {
    list: Vec<Class>,
    by_id: FxHashMap<u64, ClassNumber>,
    primitives: [ClassNumber; 16],
    id_bytes: usize,
    /// Fields of classes with many, by class and name, once they were looked for.
    known_fields: Arc<Mutex<KnownFields>>,
    /// The class of class objects, once it was looked for.
    of_classes: OnceLock<ClassNumber>,
}

/// The declaring class of a field, its place among the fields of that class, and the first byte
/// of its value.
type KnownField = (ClassNumber, usize, usize);

type KnownFields = FxHashMap<(ClassNumber, Box<str>), Option<KnownField>>;

/// Fields of a class and the classes above it that are looked through each time.
const FEW_FIELDS: usize = 64;

/// No instance has more bytes: its record states them in four.
pub(crate) const MAX_INSTANCE: u64 = 1 << 40;

/// No class has more super classes; in damaged files they may go in circles.
const MAX_HIERARCHY: usize = 256;

/// A class dump, kept until all names are known.
#[derive(Debug, Clone)]
pub(super) struct RawClass {
    pub shape: ClassShape,
    pub id: ObjectId,
    pub signers: u64,
    pub domain: u64,
    pub statics: Vec<(hprof_format::ids::StringId, u8, u64)>,
    pub constants: Vec<(u16, u64)>,
}

impl RawClass {
    pub fn new(dump: &ClassDump<'_>) -> Self {
        let statics = dump.statics.iter().map(|field| {
            let code = field.value.basic_type().code();
            (field.name, code, bits(field.value))
        });
        let constants = dump.constants.iter().filter_map(|c| match c.value {
            Value::Object(id) if !id.is_null() => Some((c.index, id.get())),
            _ => None,
        });
        Self {
            shape: ClassShape::new(dump),
            id: dump.class,
            signers: dump.signers.get(),
            domain: dump.domain.get(),
            statics: statics.collect(),
            constants: constants.collect(),
        }
    }
}

fn bits(value: Value) -> u64 {
    match value {
        Value::Object(id) => id.get(),
        Value::Boolean(value) => u64::from(value),
        Value::Char(value) => u64::from(value),
        Value::Float(value) => u64::from(value.to_bits()),
        Value::Double(value) => value.to_bits(),
        Value::Byte(value) => value as u64,
        Value::Short(value) => value as u64,
        Value::Int(value) => value as u64,
        Value::Long(value) => value as u64,
    }
}

impl Classes {
    /// Joins class dumps with names; classes that are in use but not described get an entry too.
    pub(super) fn new(
        raw: Vec<RawClass>,
        used: &FxHashSet<u64>,
        names: &Names,
        layout: Layout,
        is_android: bool,
        id_size: IdSize,
        measured: FxHashMap<ObjectId, u64>,
    ) -> Self {
        let mut classes = Self {
            id_bytes: id_size.bytes(),
            ..Self::default()
        };
        // Stands for classes that are not known.
        classes
            .list
            .push(Class::unknown(0, "<unknown class>".to_owned()));
        let text = |id| names.string(id).unwrap_or_default().into_owned();
        let mut shapes: FxHashMap<ObjectId, ClassShape> = FxHashMap::default();
        for raw in raw {
            let id = raw.id.get();
            if classes.by_id.contains_key(&id) {
                continue;
            }
            let shape = &raw.shape;
            classes.push(Class {
                super_id: shape.super_class.get(),
                loader: shape.loader.get(),
                signers: raw.signers,
                domain: raw.domain,
                fields: (shape.fields.iter())
                    .map(|&(name, basic_type)| Field {
                        name: text(name),
                        type_code: basic_type.code(),
                    })
                    .collect(),
                statics: (raw.statics.iter())
                    .map(|&(name, type_code, bits)| Static {
                        name: text(name),
                        type_code,
                        bits,
                    })
                    .collect(),
                constants: (raw.constants.iter())
                    .map(|&(index, bits)| Static {
                        name: index.to_string(),
                        type_code: BasicType::Object.code(),
                        bits,
                    })
                    .collect(),
                is_described: true,
                ..Class::unknown(id, class_name(names, raw.id))
            });
            shapes.insert(raw.id, raw.shape);
        }
        let mut unknown: Vec<u64> = used.iter().copied().collect();
        unknown.sort_unstable();
        for id in unknown {
            if !classes.by_id.contains_key(&id) {
                classes.push(Class::unknown(id, class_name(names, ObjectId::new(id))));
            }
        }
        let mut sizes = Sizes::new(layout, is_android, &shapes)
            .of_vm(names)
            .measured(measured);
        let mut by_name: FxHashMap<String, ClassNumber> = FxHashMap::default();
        for number in classes.numbers().skip(1) {
            let class = &classes.list[number.index()];
            let super_class = classes.by_id.get(&class.super_id).copied();
            let bytes = sizes.instance(ObjectId::new(class.id));
            by_name.entry(class.name.clone()).or_insert(number);
            let class = &mut classes.list[number.index()];
            class.super_class = super_class;
            class.instance_bytes = bytes;
        }
        for element in BasicType::ALL {
            if element == BasicType::Object {
                continue;
            }
            let name = format!("{}[]", element.name());
            let number = by_name.get(&name).copied().unwrap_or_else(|| {
                let number = classes.next_number();
                classes.list.push(Class::unknown(0, name));
                number
            });
            classes.list[number.index()].kind = ClassKind::Primitives(element.code());
            classes.primitives[usize::from(element.code() & 15)] = number;
        }
        classes.mark_references();
        classes
    }

    /// The class of class objects.
    pub(super) fn class_of_classes(&self) -> ClassNumber {
        *self.of_classes.get_or_init(|| {
            let is_class = |class: &ClassNumber| self.get(*class).name == "java.lang.Class";
            let found = self.numbers().find(is_class);
            found.unwrap_or(ClassNumber::UNKNOWN)
        })
    }

    /// The classes that an index holds.
    pub(crate) fn of_list(list: Vec<Class>, id_size: IdSize) -> Self {
        let mut classes = Self {
            id_bytes: id_size.bytes(),
            ..Self::default()
        };
        for class in list {
            if let ClassKind::Primitives(code) = class.kind {
                classes.primitives[usize::from(code & 15)] = classes.next_number();
            }
            if class.id == 0 {
                classes.list.push(class);
            } else {
                classes.push(class);
            }
        }
        classes
    }

    /// The number that the next class gets.
    fn next_number(&self) -> ClassNumber {
        ClassNumber::new(self.list.len())
    }

    fn push(&mut self, class: Class) {
        self.by_id.insert(class.id, self.next_number());
        self.list.push(class);
    }

    fn mark_references(&mut self) {
        for class in self.numbers() {
            let kind = (self.hierarchy(class))
                .find_map(|class| ReferenceKind::of_class(&self.list[class.index()].name));
            self.list[class.index()].reference_kind = kind;
        }
    }

    /// Changes classes, such as their names and those of their fields.
    pub(crate) fn change(&mut self, change: impl FnMut(&mut Class)) {
        self.known_fields = Arc::default();
        self.list.iter_mut().for_each(change);
    }

    /// All classes.
    pub fn list(&self) -> &[Class] {
        &self.list
    }

    /// The numbers of all classes.
    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = ClassNumber> + Clone + use<> {
        ClassNumber::new(0).up_to(self.next_number())
    }

    /// A class. Numbers that no class has stand for the last one.
    pub fn get(&self, class: ClassNumber) -> &Class {
        &self.list[class.index().min(self.list.len() - 1)]
    }

    /// The class whose object has this identifier.
    #[inline]
    pub fn by_id(&self, id: u64) -> Option<ClassNumber> {
        self.by_id.get(&id).copied()
    }

    /// The class of the arrays of a primitive type.
    #[inline]
    pub fn primitive_array(&self, element: BasicType) -> ClassNumber {
        self.primitives[usize::from(element.code() & 15)]
    }

    /// The class and its super classes, upwards.
    pub fn hierarchy(&self, class: ClassNumber) -> impl Iterator<Item = ClassNumber> + '_ {
        let mut next = Some(class);
        std::iter::from_fn(move || {
            let class = next?;
            next = self.list[class.index()].super_class;
            Some(class)
        })
        .take(MAX_HIERARCHY)
    }

    /// True if a class or one of its super classes has this name.
    pub fn is_a(&self, class: ClassNumber, name: &str) -> bool {
        self.hierarchy(class)
            .any(|class| self.get(class).name == name)
    }

    /// The first field with a name.
    pub fn field(&self, class: ClassNumber, name: &str) -> Option<PlacedField<'_>> {
        let mut fields = self.fields(class);
        let found = fields
            .by_ref()
            .take(FEW_FIELDS)
            .find(|placed| placed.field.name == name);
        if found.is_some() || fields.next().is_none() {
            return found;
        }
        // A caller that asks for one name of such a class asks for those of all its instances.
        let mut known = (self.known_fields.lock()).unwrap_or_else(PoisonError::into_inner);
        let key = (class, Box::from(name));
        let place = *known.entry(key).or_insert_with(|| {
            let (mut declared_by, mut number) = (class, 0);
            self.fields(class).find_map(|placed| {
                if placed.class != declared_by {
                    (declared_by, number) = (placed.class, 0);
                }
                number += 1;
                let is_it = placed.field.name == name;
                is_it.then_some((declared_by, number - 1, placed.offset))
            })
        });
        let (class, number, offset) = place?;
        let field = self.get(class).fields.get(number)?;
        Some(PlacedField {
            field,
            class,
            offset,
        })
    }

    /// All fields of an instance, in the order of their values.
    pub fn fields(&self, class: ClassNumber) -> impl Iterator<Item = PlacedField<'_>> {
        let mut offset = 0;
        let id_bytes = self.id_bytes;
        self.hierarchy(class)
            .flat_map(|class| self.get(class).fields.iter().map(move |f| (class, f)))
            .map(move |(class, field)| {
                let start = offset;
                offset += match field.basic_type() {
                    BasicType::Object => id_bytes,
                    other => other.width(IdSize::Eight),
                };
                PlacedField {
                    field,
                    class,
                    offset: start,
                }
            })
    }
}

impl Class {
    /// The identifiers of what the class object refers to, nulls too.
    pub(super) fn references(&self) -> impl Iterator<Item = u64> {
        let statics = self.statics.iter().chain(&self.constants);
        let objects =
            statics.filter(|s| BasicType::from_code(s.type_code) == Some(BasicType::Object));
        let ids = [self.super_id, self.loader, self.signers, self.domain];
        ids.into_iter().chain(objects.map(|s| s.bits))
    }

    fn unknown(id: u64, name: String) -> Self {
        Self {
            id,
            name,
            kind: ClassKind::Objects,
            is_described: false,
            super_class: None,
            super_id: 0,
            loader: 0,
            signers: 0,
            domain: 0,
            instance_bytes: None,
            fields: Vec::new(),
            statics: Vec::new(),
            constants: Vec::new(),
            reference_kind: None,
        }
    }
}

fn class_name(names: &Names, id: ObjectId) -> String {
    names.class(id).unwrap_or_else(|| format!("<class {id:x}>"))
}
