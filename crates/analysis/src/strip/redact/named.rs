//! Arrays of strings that are secrets by the name of their property, variable or field.

use std::io::{self, Read};

use hprof_format::binary::{SubRecord, Value};
use hprof_format::ids::ObjectId;
use hprof_format::reader::{Buffer, Event};
use rustc_hash::{FxHashMap, FxHashSet};

use super::detectors::is_secret_name;
use super::text::narrowed;
use crate::strip::StripError;
use crate::strip::contents::{Kind, walk};
use crate::strip::names::each_event;
use crate::strip::shapes::{Field, Holder, Shapes, each_reference_holder, number};

/// The longest name of a property that is looked at, in bytes.
const MAX_NAME: usize = 512;

/// A type of services of `java.security.Provider`, whose properties name classes.
const SERVICE: &str = "SecretKeyFactory";

/// Objects, and what they lead to.
#[derive(Default)]
struct References {
    /// Strings with their arrays, and objects of the environment with their strings and arrays, in order.
    leads: Vec<(u64, u64)>,
    /// Keys of maps with their values.
    entries: Vec<(u64, u64)>,
    /// Arrays in which keys and values take turns.
    tables: FxHashSet<u64>,
    /// The objects that fields with the names of secrets refer to, with these names.
    fields: Vec<(u64, Box<str>)>,
}

/// The part that a field has.
#[derive(Clone)]
enum Part {
    /// It leads to the text of the object.
    Text,
    /// It has the key of an entry.
    Key,
    /// It has the value of an entry.
    Value,
    /// It leads to keys and values in turn.
    Table,
    /// Its name is that of a secret.
    Named(Box<str>),
}

/// The arrays that hold secrets by their names, with these names.
pub(super) fn named_arrays<R: Read>(
    open: &mut impl FnMut() -> io::Result<R>,
    shapes: &Shapes,
) -> Result<FxHashMap<u64, Box<str>>, StripError> {
    let mut found = references(open()?, shapes)?;
    let tables = std::mem::take(&mut found.tables);
    if !tables.is_empty() {
        found.entries.extend(entries_in(open, shapes, &tables)?);
    }
    found.leads.sort_unstable();
    let leads = |object: u64| {
        let from = found.leads.partition_point(|lead| lead.0 < object);
        let of = found.leads[from..].iter();
        of.take_while(move |lead| lead.0 == object)
            .map(|lead| lead.1)
    };
    // From an object of the environment to its string, and from that to the array.
    let arrays = |object: u64| {
        let near: Vec<u64> = leads(object).collect();
        let far: Vec<u64> = near.iter().flat_map(|&string| leads(string)).collect();
        [near, far, vec![object]].concat()
    };
    let keys: FxHashSet<u64> = found
        .entries
        .iter()
        .flat_map(|entry| arrays(entry.0))
        .collect();
    let mut names: FxHashMap<u64, Box<str>> = FxHashMap::default();
    if !keys.is_empty() {
        walk(open()?, shapes, &mut |place, chunk| {
            if let Kind::Array { array, element } = place.kind
                && chunk.bytes.len() <= MAX_NAME
                && keys.contains(&array.get())
            {
                let first = narrowed(element, chunk.bytes).into_iter().next();
                let name = first.map_or_else(Vec::new, |view| view.text);
                let name: String = name.iter().map(|&byte| char::from(byte)).collect();
                if is_secret_name(&name) && !name.contains(SERVICE) {
                    names.insert(array.get(), name.into());
                }
            }
            Ok(true)
        })?;
    }
    let mut secret: FxHashMap<u64, Box<str>> = FxHashMap::default();
    for (key, value) in &found.entries {
        let name = arrays(*key).into_iter().find_map(|array| names.get(&array));
        if let Some(name) = name {
            secret.extend(arrays(*value).into_iter().map(|it| (it, name.clone())));
        }
    }
    for (object, name) in &found.fields {
        secret.extend(arrays(*object).into_iter().map(|it| (it, name.clone())));
    }
    Ok(secret)
}

fn references(input: impl Read, shapes: &Shapes) -> Result<References, StripError> {
    let mut found = References::default();
    let mut known: FxHashMap<ObjectId, Vec<(Field, Part)>> = FxHashMap::default();
    each_reference_holder(input, shapes, |holder| match holder {
        Holder::Instance {
            object,
            class,
            fields,
            values,
        } => {
            let parts = known
                .entry(class)
                .or_insert_with(|| parts(shapes, class, fields));
            let (mut key, mut value) = (None, None);
            for (field, part) in parts {
                let Some(target) = field.reference(values) else {
                    continue;
                };
                match part {
                    Part::Text => found.leads.push((object.get(), target)),
                    Part::Key => key = Some(target),
                    Part::Value => value = Some(target),
                    Part::Table => {
                        found.tables.insert(target);
                    }
                    Part::Named(name) => found.fields.push((target, name.clone())),
                }
            }
            found.entries.extend(key.zip(value));
        }
        Holder::Other(SubRecord::Class(class)) => {
            for field in class.statics.iter() {
                let name = shapes.text(field.name);
                if let Value::Object(target) = field.value
                    && !target.is_null()
                    && is_secret_name(name)
                {
                    found.fields.push((target.get(), name.into()));
                }
            }
        }
        Holder::Long | Holder::Other(_) => {}
    })?;
    Ok(found)
}

/// Keys and values that are in `tables`.
fn entries_in<R: Read>(
    open: &mut impl FnMut() -> io::Result<R>,
    shapes: &Shapes,
    tables: &FxHashSet<u64>,
) -> Result<Vec<(u64, u64)>, StripError> {
    let mut entries = Vec::new();
    let mut long = Vec::new();
    each_event(open()?, |event| match event {
        Event::SubRecord {
            sub_record: SubRecord::ObjectArray {
                array, elements, ..
            },
            ..
        } if tables.contains(&array.get()) => {
            let mut elements = elements.iter();
            while let (Some(key), Some(value)) = (elements.next(), elements.next()) {
                entries.push((key, value));
            }
        }
        Event::LongSubRecord {
            offset,
            start: SubRecord::ObjectArray { array, .. },
            bytes,
        } if tables.contains(&array.get()) => long.push((*offset, *bytes)),
        _ => {}
    })?;
    if !long.is_empty() {
        entries_of_long(open()?, shapes, &long, &mut entries)?;
    }
    entries.retain(|&(key, value)| key != 0 && value != 0);
    Ok(entries)
}

/// Adds the keys and values of tables that are too long to be held, each by its place in the file and the bytes of its
/// elements, in the order of the file.
fn entries_of_long(
    input: impl Read,
    shapes: &Shapes,
    tables: &[(u64, u64)],
    entries: &mut Vec<(u64, u64)>,
) -> Result<(), StripError> {
    let id = shapes.id_size.bytes();
    // Tag, identifier, serial of a trace, length, class.
    let head = (9 + 2 * id) as u64;
    let mut input = Buffer::new(input);
    for &(offset, bytes) in tables {
        input.discard((offset + head).saturating_sub(input.offset()))?;
        for _ in 0..bytes / (2 * id) as u64 {
            if !input.fill(2 * id as u64)? {
                return Ok(());
            }
            let (key, value) = input.unread()[..2 * id].split_at(id);
            let (key, value) = (number(key), number(value));
            // Most of a table is free.
            if key != 0 && value != 0 {
                entries.push((key, value));
            }
            input.skip(2 * id);
        }
    }
    Ok(())
}

/// The fields of a class that matter.
fn parts(shapes: &Shapes, class: ObjectId, fields: &[Field]) -> Vec<(Field, Part)> {
    let class = shapes.class_name(class);
    let is_text = matches!(
        class.as_str(),
        "java.lang.String" | "java.lang.StringBuilder" | "java.lang.StringBuffer"
    );
    // Maps without a field "key": Map.of, singletonMap, IdentityHashMap, WeakHashMap.
    let of_map = |name: &str| match (class.as_str(), name) {
        ("java.util.ImmutableCollections$Map1", "k0")
        | ("java.util.Collections$SingletonMap", "k")
        | ("java.util.WeakHashMap$Entry", "referent") => Some(Part::Key),
        ("java.util.ImmutableCollections$Map1", "v0")
        | ("java.util.Collections$SingletonMap", "v") => Some(Part::Value),
        ("java.util.ImmutableCollections$MapN" | "java.util.IdentityHashMap", "table") => {
            Some(Part::Table)
        }
        _ => None,
    };
    // On Unix an environment has objects around its strings, which keep the bytes as well.
    let is_environment = class.starts_with("java.lang.ProcessEnvironment$");
    let of = |field: &Field| {
        let name = shapes.text(field.name);
        if let Some(part) = of_map(name) {
            return Some((*field, part));
        }
        let part = match name {
            "value" if is_text => Part::Text,
            "str" | "bytes" if is_environment => Part::Text,
            "key" => Part::Key,
            "value" | "val" => Part::Value,
            _ if is_secret_name(name) => Part::Named(name.into()),
            _ => return None,
        };
        Some((*field, part))
    };
    fields.iter().filter_map(of).collect()
}
