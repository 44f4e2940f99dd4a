//! All references of an object, each with its place.

use std::ops::Range;

use hprof_format::binary::{BasicType, IdSize, Ids, SubRecord};

use super::Snapshot;
use super::describe::{Edge, EdgeKind};
use crate::graph::Static;
use crate::numbers::ObjectNumber;

/// The references of an object, in the order of its fields or elements; nulls, and objects that
/// the file lacks, are left out. Those that do not keep alive what they refer to are there too.
#[derive(Debug, Default)]
pub struct ReferenceList {
    listed: Vec<(Edge, ObjectNumber)>,
    /// Where in the file the elements of an array lie, which may be many.
    elements: Range<usize>,
}

impl ReferenceList {
    fn add_class(&mut self, snapshot: &Snapshot, object: ObjectNumber) {
        let class = snapshot.class_object(object);
        let class = class.map(|class| (Edge::to_class(), class));
        self.listed.extend(class);
    }
}

impl Snapshot {
    /// The references of an object.
    pub fn reference_list(&self, object: ObjectNumber) -> ReferenceList {
        let mut list = ReferenceList::default();
        let target_of = |id: u64| self.graph.number(id).filter(|_| id != 0);
        let mut add = |kind, name: &str, id: u64| {
            if let Some(target) = target_of(id) {
                list.listed.push((Edge::new(kind, name), target));
            }
        };
        if let Some(class) = self.graph.class_of_object(object) {
            let class = self.graph.classes().get(class);
            let is_reference =
                |field: &&Static| BasicType::from_code(field.type_code) == Some(BasicType::Object);
            for field in class.statics.iter().filter(is_reference) {
                add(EdgeKind::Static, &field.name, field.bits);
            }
            for constant in &class.constants {
                add(EdgeKind::Constant, &constant.name, constant.bits);
            }
            add(EdgeKind::Class, "super class", class.super_id);
            add(EdgeKind::Class, "class loader", class.loader);
            add(EdgeKind::Class, "signers", class.signers);
            add(EdgeKind::Class, "protection domain", class.domain);
            list.add_class(self, object);
            return list;
        }
        match self.graph.locate(&self.file, object) {
            Some((_, SubRecord::Instance { values, .. })) => {
                let (classes, class) = (self.graph.classes(), self.graph.class_of(object));
                for placed in classes.fields(class) {
                    let is_reference = placed.field.basic_type() == BasicType::Object;
                    let field = is_reference.then(|| values.get(placed.offset..)).flatten();
                    let id = field.and_then(|field| self.id_in(field)).unwrap_or(0);
                    if let Some(target) = target_of(id) {
                        list.listed
                            .push((Edge::of_field(classes, class, &placed), target));
                    }
                }
            }
            Some((_, SubRecord::ObjectArray { elements, .. })) => {
                let bytes = elements.as_bytes();
                let start = bytes.as_ptr().addr() - self.file.as_ptr().addr();
                list.elements = start..start + bytes.len();
            }
            _ => {}
        }
        let locals = self.graph.locals();
        let start = locals.partition_point(|local| local.0 < object);
        for (_, local) in locals[start..].iter().take_while(|local| local.0 == object) {
            let name = self.local_in_words(local);
            list.listed
                .push((Edge::new(EdgeKind::Local, name), local.object()));
        }
        let own = self.graph.id(object);
        if self
            .graph
            .classes()
            .is_a(self.graph.class_of(object), "java.lang.ClassLoader")
        {
            let classes = self.graph.classes().list().iter();
            for class in classes.filter(|class| class.loader == own && class.id != 0) {
                if let Some(target) = self.graph.number(class.id) {
                    let edge = Edge::new(EdgeKind::DefinedClass, "defined class");
                    list.listed.push((edge, target));
                }
            }
        }
        list.add_class(self, object);
        list
    }

    /// The identifier at the start of a field.
    pub(super) fn id_in(&self, field: &[u8]) -> Option<u64> {
        let bytes = field.get(..self.graph.id_size().bytes())?;
        Ids::new(bytes, self.graph.id_size()).get(0)
    }

    /// The reference at a position of a list, with how it is held; `None` after its end.
    ///
    /// The inner value is `None` for elements that are null or that the file lacks.
    pub fn reference_at(
        &self,
        list: &ReferenceList,
        at: usize,
    ) -> Option<Option<(Edge, ObjectNumber)>> {
        if let Some((edge, target)) = list.listed.get(at) {
            return Some(Some((edge.clone(), *target)));
        }
        let element = at - list.listed.len();
        let width = match self.graph.id_size() {
            IdSize::Four => 4,
            IdSize::Eight => 8,
        };
        let bytes = self.file.get(list.elements.clone())?;
        let bytes = bytes.get(element * width..)?.get(..width)?;
        let id = self.id_in(bytes)?;
        Some(
            self.graph
                .number(id)
                .filter(|_| id != 0)
                .map(|target| (Edge::new(EdgeKind::Element, element.to_string()), target)),
        )
    }

    /// True if the reference from one object to another is one that does not keep it alive.
    pub fn is_passed_over(&self, from: ObjectNumber, to: ObjectNumber) -> bool {
        let reference = (from.index() as u64, to.index() as u64);
        self.graph.passed_over().binary_search(&reference).is_ok()
    }
}
