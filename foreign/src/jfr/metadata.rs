//! The metadata event of a chunk: which types there are, and how their values are laid out.
//!
//! The event holds strings, and a tree of elements with attributes: `class` elements with `field`
//! elements in them (`jdk.jfr.internal.MetadataReader`).

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::bytes::Cursor;

/// Deeper trees are none that a JVM wrote.
const MAX_DEPTH: usize = 32;

/// The number of a type in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct TypeId(pub(super) u64);

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
pub(super) struct Field<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) of: TypeId,
    /// Its value is the number of an entry in the pool of its type.
    pub(super) is_pooled: bool,
    pub(super) is_array: bool,
    pub(super) unit: Unit,
}

/// A type.
#[derive(Debug)]
pub(super) struct Type<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) fields: Vec<Field<'a>>,
}

/// The types of a chunk.
#[derive(Debug, Default)]
pub(super) struct Metadata<'a> {
    pub(super) types: FxHashMap<TypeId, Type<'a>>,
}

/// An element of the tree.
#[derive(Default)]
struct Element<'a> {
    name: Cow<'a, str>,
    attributes: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    children: Vec<Element<'a>>,
}

impl<'a> Element<'a> {
    fn attribute(&self, name: &str) -> Option<&Cow<'a, str>> {
        let mut all = self.attributes.iter();
        all.find(|(key, _)| key == name).map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    fn named<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Element<'a>> {
        self.children.iter().filter(move |it| it.name == name)
    }
}

impl<'a> Metadata<'a> {
    /// The types of a metadata event whose bytes begin after its head, at the start time. `None` if
    /// it is damaged.
    pub(super) fn parse(mut cursor: Cursor<'a>) -> Option<Self> {
        // Start time, duration, number of the metadata.
        for _ in 0..3 {
            cursor.number()?;
        }
        let count = cursor.length()?;
        let mut strings = Vec::with_capacity(count);
        for _ in 0..count {
            strings.push(cursor.text()?.decode());
        }
        let root = element(&mut cursor, &strings, 0)?;
        let classes = || root.named("metadata").flat_map(|it| it.named("class"));
        let mut names = FxHashMap::default();
        for class in classes() {
            if let (Some(id), Some(name)) = (class.number("id"), class.attribute("name")) {
                names.insert(id, name.as_ref());
            }
        }
        let mut types = FxHashMap::default();
        for class in classes() {
            let (Some(id), Some(name)) = (class.number("id"), class.attribute("name")) else {
                continue;
            };
            let mut fields = Vec::new();
            for field in class.named("field") {
                fields.push(Field {
                    name: field.attribute("name")?.clone(),
                    of: TypeId(field.number("class")?),
                    is_pooled: field
                        .attribute("constantPool")
                        .is_some_and(|it| it == "true"),
                    is_array: field.number("dimension").is_some_and(|it| it > 0),
                    unit: unit(field, &names),
                });
            }
            let name = name.clone();
            types.insert(TypeId(id), Type { name, fields });
        }
        Some(Self { types })
    }

    /// The types with a name. A chunk of a JVM with several class loaders may have more than one.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = TypeId> {
        let types = self.types.iter();
        types
            .filter(move |(_, it)| it.name == name)
            .map(|(&id, _)| id)
    }
}

/// The unit that an annotation states.
fn unit(field: &Element<'_>, names: &FxHashMap<u64, &str>) -> Unit {
    let spans = field.named("annotation").filter(|it| {
        let class = it.number("class").and_then(|class| names.get(&class));
        class == Some(&"jdk.jfr.Timespan")
    });
    let mut values = spans.filter_map(|it| it.attribute("value").or(it.attribute("value-0")));
    match values.next().map(Cow::as_ref) {
        Some("TICKS") => Unit::Ticks,
        Some("NANOSECONDS") => Unit::Nanos,
        Some("MILLISECONDS") => Unit::Millis,
        _ => Unit::None,
    }
}

/// Reads an element. Each takes three bytes or more, so their number is bounded by that of the bytes.
fn element<'a>(
    cursor: &mut Cursor<'a>,
    strings: &[Cow<'a, str>],
    depth: usize,
) -> Option<Element<'a>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let string = |cursor: &mut Cursor<'a>| {
        let index = usize::try_from(cursor.number()?).ok()?;
        strings.get(index).cloned()
    };
    let name = string(cursor)?;
    let mut attributes = Vec::new();
    for _ in 0..cursor.length()? {
        attributes.push((string(cursor)?, string(cursor)?));
    }
    let mut children = Vec::new();
    for _ in 0..cursor.length()? {
        children.push(element(cursor, strings, depth + 1)?);
    }
    Some(Element {
        name,
        attributes,
        children,
    })
}
