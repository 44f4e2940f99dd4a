//! One class, and its instances.

use std::sync::Arc;

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::retained::{RetainedBy, loader_name};
use serde::Serialize;
use utoipa::ToSchema;

use super::ViewError;
use super::object::{ClassName, class_name};
use super::objects::Objects;
use super::opened::Opened;
use super::page::TableQuery;
use super::retained;
use super::table::{Table, hex};
use super::values::{in_words, type_name};
use hprof_analysis::graph::{Class, Static};
use hprof_analysis::snapshot::Value;
use hprof_format::binary::BasicType;

/// The head of a class.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ClassHead {
    /// The identifier of the class object.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The super class.
    pub superclass: Option<ClassName>,
    /// The loader in words.
    pub loader: String,
    /// The identifier of the loader; null for the boot loader.
    pub loader_object: Option<String>,
    /// Live instances.
    pub instances: u64,
    /// Instances that no root reaches.
    pub unreached: u64,
    /// The shallow size of the live instances, in bytes.
    pub shallow: u64,
    /// The retained size of the live instances of all classes of this name, in bytes; null while
    /// that is not known.
    pub retained: Option<u64>,
    /// False if `retained` is a lower bound.
    pub retained_is_exact: bool,
    /// The room that an instance takes, in bytes; null if it differs or is not known.
    pub instance_bytes: Option<u64>,
    /// The fields that the class declares.
    pub fields: Vec<DeclaredField>,
    /// Its static fields.
    pub statics: Vec<StaticField>,
    /// Classes directly below it.
    pub subclasses: Vec<ClassName>,
}

/// A field that a class declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DeclaredField {
    /// Its name.
    pub name: String,
    /// Its type; `reference` for all objects.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// A static field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct StaticField {
    /// Its name.
    pub name: String,
    /// Its type; `reference` for all objects.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its value in words.
    pub value: String,
    /// The object that it refers to.
    pub object: Option<String>,
}

/// Classes below a class that its head names.
const MAX_SUBCLASSES: usize = 1000;
/// Instances that are sorted by what they retain without being asked to.
const SORTED: usize = 100_000;

fn kind(code: u8) -> &'static str {
    BasicType::from_code(code).map_or("", type_name)
}

/// The head of a class.
///
/// # Errors
/// If the dump has no such class.
pub fn class(opened: &Arc<Opened>, id: &str) -> Result<ClassHead, ViewError> {
    let number = opened.class(id)?;
    let snapshot = &opened.snapshot;
    let classes = snapshot.graph().classes();
    let class: &Class = classes.get(number);
    let sum = opened
        .sums()
        .get(number.index())
        .copied()
        .unwrap_or_default();
    let known = retained::known(opened, RetainedBy::Class)?;
    let statics = class.statics.iter().map(|field: &Static| {
        let value = snapshot.static_value(field);
        StaticField {
            name: field.name.clone(),
            kind: kind(field.type_code),
            value: in_words(opened, &value),
            object: match value {
                Value::Object(object) => Some(hex(opened.id(object))),
                _ => None,
            },
        }
    });
    let below = classes
        .numbers()
        .filter(|&it| classes.get(it).super_class == Some(number));
    Ok(ClassHead {
        id: hex(class.id),
        name: class.name.clone(),
        superclass: class.super_class.map(|above| class_name(opened, above)),
        loader: loader_name(snapshot, class.loader),
        loader_object: (class.loader != 0).then(|| hex(class.loader)),
        instances: sum.live,
        unreached: sum.unreached,
        shallow: sum.live_bytes,
        retained: known
            .bytes
            .get(&class.name)
            .copied()
            .or((sum.live == 0).then_some(0)),
        retained_is_exact: known.is_exact,
        instance_bytes: class.instance_bytes,
        fields: (class.fields.iter())
            .map(|field| DeclaredField {
                name: field.name.clone(),
                kind: kind(field.type_code),
            })
            .collect(),
        statics: statics.collect(),
        subclasses: below
            .take(MAX_SUBCLASSES)
            .map(|it| class_name(opened, it))
            .collect(),
    })
}

/// The instances of a class itself, live or not.
///
/// # Errors
/// If the dump has no such class, or the query names no column.
pub fn instances(opened: &Arc<Opened>, id: &str, query: &TableQuery) -> Result<Table, ViewError> {
    let class = opened.class(id)?;
    let graph = opened.snapshot.graph();
    let sum = opened.sums().get(class.index()).copied();
    let total = sum.map_or(0, |sum| sum.live + sum.unreached) as usize;
    let is_instance = |&object: &ObjectNumber| graph.class_of(object) == class;
    let instances = graph.objects().filter(is_instance);
    if total <= SORTED || query.is_rearranged() {
        return Objects::new(opened, instances.collect::<Vec<_>>()).page(query);
    }
    let first: Vec<ObjectNumber> = instances.take(query.last_row()).collect();
    let table = Objects::new(opened, first).first_of(total).page(query)?;
    let note = format!(
        "more than {SORTED} instances are in the order of their identifiers; sort=-retained sorts them"
    );
    Ok(table.with_note(Some(note)))
}
