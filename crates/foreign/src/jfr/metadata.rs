//! The metadata event of a chunk: which types there are, and how their values are laid out.
//!
//! The event holds strings, and a tree of elements with attributes: `class` elements with `field`
//! elements in them (`jdk.jfr.internal.MetadataReader`).

use std::borrow::Cow;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::bytes::Cursor;

/// Deeper trees are none that a JVM wrote.
const MAX_DEPTH: usize = 32;

/// The number of a type in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct TypeId(pub(super) u32);

/// The place of a string in the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StringIndex(u32);

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Unit {
    /// A number without a unit of time.
    #[default]
    None,
    /// Ticks of the chunk's clock.
    Ticks,
    /// Nanoseconds.
    Nanos,
    /// Milliseconds.
    Millis,
}

/// A field of a type.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: StringIndex,
    pub(super) of: TypeId,
    /// Its value is the number of an entry in the pool of its type.
    pub(super) is_pooled: bool,
    pub(super) is_array: bool,
    pub(super) unit: Unit,
    /// It is a number of bytes.
    pub(super) is_bytes: bool,
}

/// A type: its name, and where its fields are among those of all types.
#[derive(Debug)]
struct Type {
    name: StringIndex,
    label: Option<StringIndex>,
    fields: Range<u32>,
}

/// The types of a chunk. Names are held once, however often the metadata refers to them.
#[derive(Debug, Default)]
pub(super) struct Metadata<'a> {
    strings: Vec<Cow<'a, str>>,
    fields: Vec<Field>,
    types: FxHashMap<TypeId, Type>,
}

impl<'a> Metadata<'a> {
    /// The types of a metadata event whose bytes begin after its head, at the start time. `None` if
    /// it is damaged.
    pub(super) fn parse(mut cursor: Cursor<'a>) -> Option<Self> {
        // Start time, duration, number of the metadata.
        for _ in 0..3 {
            cursor.number()?;
        }
        let mut metadata = Self::default();
        for _ in 0..cursor.length()? {
            metadata.strings.push(cursor.text()?.decode());
        }
        let mut tree = Tree {
            cursor,
            metadata,
            annotations: Vec::new(),
            of_class: Vec::new(),
            labels: Vec::new(),
        };
        tree.element(Place::Root, 0)?;
        let Tree {
            mut metadata,
            annotations,
            labels,
            ..
        } = tree;
        let spans: Vec<TypeId> = metadata.named("jdk.jfr.Timespan").collect();
        let amounts: Vec<TypeId> = metadata.named("jdk.jfr.DataAmount").collect();
        let label: Vec<TypeId> = metadata.named("jdk.jfr.Label").collect();
        for (of, class, value) in labels {
            if label.contains(&class)
                && let Some(of) = metadata.types.get_mut(&of)
            {
                of.label = Some(value);
            }
        }
        for (field, class, value) in annotations {
            let field = &mut metadata.fields[field];
            if amounts.contains(&class) {
                let value = metadata.strings.get(value.0 as usize);
                field.is_bytes = value.is_some_and(|it| it == "BYTES");
            }
            if field.unit == Unit::None && spans.contains(&class) {
                field.unit = match metadata.strings.get(value.0 as usize).map(Cow::as_ref) {
                    Some("TICKS") => Unit::Ticks,
                    Some("NANOSECONDS") => Unit::Nanos,
                    Some("MILLISECONDS") => Unit::Millis,
                    _ => Unit::None,
                };
            }
        }
        Some(metadata)
    }

    /// The types with a name. A chunk of a JVM with several class loaders may have more than one.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = TypeId> {
        let types = self.types.iter();
        types
            .filter(move |(_, it)| self.string(it.name) == name)
            .map(|(&id, _)| id)
    }

    /// The types that have a field with a name, and their names.
    pub(super) fn with_field(&self, field: &str) -> impl Iterator<Item = (TypeId, &str)> {
        let types = self.types.iter();
        types
            .filter(move |&(&id, _)| {
                let mut fields = self.fields(id).iter();
                fields.any(|it| self.string(it.name) == field)
            })
            .map(|(&id, it)| (id, self.string(it.name)))
    }

    /// The name of a type; `None` if the chunk lacks the type.
    pub(super) fn name(&self, id: TypeId) -> Option<&str> {
        self.types.get(&id).map(|it| self.string(it.name))
    }

    /// The label of a type, for people; `None` if it has none.
    pub(super) fn label(&self, id: TypeId) -> Option<&str> {
        let label = self.types.get(&id)?.label?;
        Some(self.string(label))
    }

    /// The fields of a type; none if the chunk lacks the type.
    pub(super) fn fields(&self, id: TypeId) -> &[Field] {
        let fields = self.types.get(&id).map(|it| it.fields.clone());
        let fields = fields.map(|it| it.start as usize..it.end as usize);
        fields.map_or(&[], |it| &self.fields[it])
    }

    /// A string of the metadata.
    pub(super) fn string(&self, index: StringIndex) -> &str {
        self.strings
            .get(index.0 as usize)
            .map_or("", |it| it.as_ref())
    }
}

/// Where an element is in the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Metadata,
    Class,
    Field,
    Annotation,
    /// An annotation of a class.
    ClassAnnotation,
    /// Where nothing is needed.
    Elsewhere,
}

impl Place {
    /// The place of an element in another.
    fn of(self, name: &str) -> Self {
        match (self, name) {
            (Self::Root, "metadata") => Self::Metadata,
            (Self::Metadata, "class") => Self::Class,
            (Self::Class, "field") => Self::Field,
            (Self::Field, "annotation") => Self::Annotation,
            (Self::Class, "annotation") => Self::ClassAnnotation,
            _ => Self::Elsewhere,
        }
    }
}

/// The attributes that are needed, by the strings that are their values.
#[derive(Default)]
struct Attributes {
    id: Option<StringIndex>,
    name: Option<StringIndex>,
    class: Option<StringIndex>,
    pooled: Option<StringIndex>,
    dimension: Option<StringIndex>,
    value: Option<StringIndex>,
    first_value: Option<StringIndex>,
}

/// The reading of the tree. Nothing of it is kept but types, fields and annotations of fields.
struct Tree<'a> {
    cursor: Cursor<'a>,
    metadata: Metadata<'a>,
    /// The field, the class of the annotation, and its value.
    annotations: Vec<(usize, TypeId, StringIndex)>,
    /// The annotations of the class that is read: their class and value.
    of_class: Vec<(TypeId, StringIndex)>,
    /// The type, the class of its annotation, and the value.
    labels: Vec<(TypeId, TypeId, StringIndex)>,
}

impl Tree<'_> {
    fn string(&mut self) -> Option<StringIndex> {
        let index = u32::try_from(self.cursor.number()?).ok()?;
        let is_there = (index as usize) < self.metadata.strings.len();
        is_there.then_some(StringIndex(index))
    }

    fn number(&self, string: Option<StringIndex>) -> Option<u32> {
        self.metadata.string(string?).parse().ok()
    }

    fn attributes(&mut self) -> Option<Attributes> {
        let mut all = Attributes::default();
        for _ in 0..self.cursor.length()? {
            let (key, value) = (self.string()?, self.string()?);
            let place = match self.metadata.string(key) {
                "id" => &mut all.id,
                "name" => &mut all.name,
                "class" => &mut all.class,
                "constantPool" => &mut all.pooled,
                "dimension" => &mut all.dimension,
                "value" => &mut all.value,
                "value-0" => &mut all.first_value,
                _ => continue,
            };
            place.get_or_insert(value);
        }
        Some(all)
    }

    /// Reads an element that is in another.
    fn element(&mut self, within: Place, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let name = self.string()?;
        let mut place = match depth {
            0 => Place::Root,
            _ => within.of(self.metadata.string(name)),
        };
        let attributes = self.attributes()?;
        let first_field = self.metadata.fields.len() as u32;
        let mut class = None;
        match place {
            Place::Class => {
                let id = self.number(attributes.id).map(TypeId);
                class = id.zip(attributes.name);
                if class.is_none() {
                    place = Place::Elsewhere;
                }
                self.of_class.clear();
            }
            Place::Field => {
                let pooled = attributes.pooled;
                let field = Field {
                    name: attributes.name?,
                    of: TypeId(self.number(attributes.class)?),
                    is_pooled: pooled.is_some_and(|it| self.metadata.string(it) == "true"),
                    is_array: self.number(attributes.dimension).is_some_and(|it| it > 0),
                    unit: Unit::None,
                    is_bytes: false,
                };
                self.metadata.fields.push(field);
            }
            Place::Annotation => {
                let field = self.metadata.fields.len().checked_sub(1);
                let class = self.number(attributes.class).map(TypeId);
                let value = attributes.value.or(attributes.first_value);
                if let (Some(field), Some(class), Some(value)) = (field, class, value) {
                    self.annotations.push((field, class, value));
                }
            }
            Place::ClassAnnotation => {
                let class = self.number(attributes.class).map(TypeId);
                let value = attributes.value.or(attributes.first_value);
                self.of_class.extend(class.zip(value));
            }
            Place::Root | Place::Metadata | Place::Elsewhere => {}
        }
        for _ in 0..self.cursor.length()? {
            self.element(place, depth + 1)?;
        }
        if let Some((id, name)) = class {
            let fields = first_field..self.metadata.fields.len() as u32;
            let annotations = self.of_class.drain(..);
            self.labels
                .extend(annotations.map(|(class, value)| (id, class, value)));
            let of = Type {
                name,
                label: None,
                fields,
            };
            self.metadata.types.insert(id, of);
        }
        Some(())
    }
}
