//! One object: its head for the inspector.

use hprof_analysis::leaks::sites_of;
use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::retained::loader_name;
use serde::Serialize;
use utoipa::ToSchema;

use super::ViewError;
use super::opened::Opened;
use super::table::hex;
use super::values::{Preview, preview};

/// The head of an object.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ObjectHead {
    /// Its identifier.
    pub object: String,
    /// Its class.
    pub class: ClassName,
    /// The object in a few words.
    pub name: String,
    /// Its shallow size, in bytes.
    pub shallow: u64,
    /// Its retained size, in bytes; 0 if no root reaches it.
    pub retained: u64,
    /// The share of the live heap, from 0 to 100.
    pub percent: f64,
    /// True if a root reaches it.
    pub is_live: bool,
    /// True for a class object.
    pub is_class: bool,
    /// The number of elements of an array.
    pub length: Option<u64>,
    /// The value in a reader's terms: text, date, entries.
    pub value: Option<Preview>,
    /// The loader of its class in words; of a class object its own.
    pub loader: String,
    /// The identifier of that loader; null for the boot loader.
    pub loader_object: Option<String>,
    /// The object without which it would be gone.
    pub dominator: Option<ObjectName>,
    /// The methods that allocated it, innermost first, if the dump tells.
    pub trace: Option<Vec<String>>,
    /// Why it is a root itself, in words.
    pub root: Vec<String>,
}

/// A class by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClassName {
    /// The identifier of the class object; null for classes that the dump lacks.
    pub id: Option<String>,
    /// The name.
    pub name: String,
}

/// An object by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ObjectName {
    /// Its identifier.
    pub object: String,
    /// The object in a few words.
    pub name: String,
}

/// The head of an object.
///
/// # Errors
/// If the dump has no such object.
pub fn object(opened: &Opened, id: &str) -> Result<ObjectHead, ViewError> {
    let object = opened.object(id)?;
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    let dominators = snapshot.dominators();
    let place = dominators.place(object);
    let dominator = place.and_then(|place| dominators.above(place));
    let dominator = dominator.map(|above| object_name(opened, dominators.object(above)));
    let of_class = graph.class_of_object(object);
    let loader = graph
        .classes()
        .get(of_class.unwrap_or(graph.class_of(object)))
        .loader;
    let sites = sites_of(snapshot, std::iter::once(object), 1);
    let retained = snapshot.retained(object);
    Ok(ObjectHead {
        object: hex(opened.id(object)),
        class: class_name(opened, graph.class_of(object)),
        name: snapshot.describe(object),
        shallow: graph.size(object),
        retained,
        percent: opened.percent(retained),
        is_live: place.is_some(),
        is_class: of_class.is_some(),
        length: snapshot.array_length(object),
        value: preview(opened, object),
        loader: loader_name(snapshot, loader),
        loader_object: (loader != 0).then(|| hex(loader)),
        dominator,
        trace: sites.into_iter().next().map(|site| site.stack),
        root: (graph.roots_of(object).iter())
            .map(|root| snapshot.root_in_words(root))
            .collect(),
    })
}

/// An object by name.
pub(super) fn object_name(opened: &Opened, object: ObjectNumber) -> ObjectName {
    ObjectName {
        object: hex(opened.id(object)),
        name: opened.snapshot.describe(object),
    }
}

/// A class by name.
pub(super) fn class_name(opened: &Opened, class: ClassNumber) -> ClassName {
    let class = opened.snapshot.graph().classes().get(class);
    ClassName {
        id: (class.id != 0).then(|| hex(class.id)),
        name: class.name.clone(),
    }
}
