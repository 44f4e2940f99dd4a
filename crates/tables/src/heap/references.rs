//! The table `references`.

use bytes::Bytes;
use hprof_analysis::graph::{Block, Static};
use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::snapshot::Snapshot;
use hprof_format::binary::{BasicType, Ids, SubRecord};
use parquet::data_type::ByteArray;
use rustc_hash::FxHashSet;

use crate::TableError;
use crate::batch::Cell;
use crate::export::Export;
use crate::file::Rows;
use crate::folder::Writing;

/// The bytes of the dump in one task: some row groups.
const TASK: u64 = 16 << 20;

/// Writes it.
pub fn write(
    writing: &mut Writing<'_>,
    export: &Export<'_>,
    snapshot: &Snapshot,
) -> Result<(), TableError> {
    let tasks = tasks(snapshot.graph().blocks());
    let all = References::new(snapshot);
    writing.table("references", |file| {
        // The last task has what no record of an object holds.
        file.tasks(tasks.len() + 1, |task, rows| {
            let Some(&blocks) = tasks.get(task) else {
                return all.others(rows);
            };
            let mut met = vec![None; snapshot.graph().classes().list().len()];
            for block in blocks {
                all.block(block, &mut met, rows)?;
                (export.progress)(block.bytes);
            }
            if let (Some(first), Some(last)) = (blocks.first(), blocks.last()) {
                snapshot.forget(first.offset as usize..(last.offset + last.bytes) as usize);
            }
            Ok(())
        })
    })?;
    Ok(())
}

/// The runs of sub-records in tasks of about equal size.
fn tasks(blocks: &[Block]) -> Vec<&[Block]> {
    let mut tasks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, block) in blocks.iter().enumerate() {
        bytes += block.bytes;
        if bytes >= TASK {
            tasks.push(&blocks[start..=at]);
            (start, bytes) = (at + 1, 0);
        }
    }
    if start < blocks.len() {
        tasks.push(&blocks[start..]);
    }
    tasks
}

/// A text that all threads may copy without a counter in memory that they would fight for.
fn fixed(text: &'static str) -> ByteArray {
    ByteArray::from(Bytes::from_static(text.as_bytes()))
}

/// By class, as far as a task has met it: the places of its references, and the names of the
/// fields. Copies of a text count themselves, so each task has texts of its own.
type Met = Vec<Option<Fields>>;

/// The places of references among the values of a class, and the names of the fields.
type Fields = Vec<(usize, ByteArray)>;

/// Finds the references of all objects.
struct References<'a> {
    snapshot: &'a Snapshot,
    /// Objects with a reference that keeps nothing alive.
    weak: FxHashSet<u64>,
    kinds: Kinds,
}

struct Kinds {
    field: ByteArray,
    element: ByteArray,
    static_field: ByteArray,
    constant: ByteArray,
    local: ByteArray,
    class: ByteArray,
    defined_class: ByteArray,
}

/// Who refers, how, and by which name or index.
struct Place {
    source: ObjectNumber,
    /// The identifier of the source.
    id: u64,
    kind: ByteArray,
    name: Cell,
    position: Cell,
}

impl<'a> References<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let passed_over = snapshot.graph().passed_over().iter();
        Self {
            snapshot,
            weak: passed_over.map(|&(source, _)| source).collect(),
            kinds: Kinds {
                field: fixed("field"),
                element: fixed("element"),
                static_field: fixed("static"),
                constant: fixed("constant"),
                local: fixed("local"),
                class: fixed("class"),
                defined_class: fixed("defined_class"),
            },
        }
    }

    /// The references in the values of a class.
    fn fields(&self, class: ClassNumber) -> Fields {
        let fields = self.snapshot.graph().classes().fields(class);
        let references = fields.filter(|placed| placed.field.basic_type() == BasicType::Object);
        references
            .map(|placed| (placed.offset, ByteArray::from(placed.field.name.as_str())))
            .collect()
    }

    /// The references in fields and elements.
    fn block(&self, block: &Block, met: &mut Met, rows: &mut Rows<'_>) -> Result<(), TableError> {
        let graph = self.snapshot.graph();
        let id_size = graph.id_size();
        for sub_record in graph.sub_records(self.snapshot.file(), block).flatten() {
            match sub_record {
                SubRecord::Instance {
                    object,
                    class,
                    values,
                    ..
                } => {
                    let class = graph.classes().by_id(class.get()).unwrap_or_default();
                    let fields = met[class.index()].get_or_insert_with(|| self.fields(class));
                    let Some(source) = graph.number(object.get()).filter(|_| !fields.is_empty())
                    else {
                        continue;
                    };
                    for (offset, name) in &*fields {
                        let bytes = values.get(*offset..).unwrap_or_default();
                        let bytes = bytes.get(..id_size.bytes()).unwrap_or_default();
                        let id = Ids::new(bytes, id_size).get(0).unwrap_or(0);
                        let place = || Place {
                            source,
                            id: object.get(),
                            kind: self.kinds.field.clone(),
                            name: Cell::Text(name.clone()),
                            position: Cell::Null,
                        };
                        self.push(id, place, rows)?;
                    }
                }
                SubRecord::ObjectArray {
                    array, elements, ..
                } => {
                    let Some(source) = graph.number(array.get()) else {
                        continue;
                    };
                    for (at, id) in elements.iter().enumerate() {
                        let place = || Place {
                            source,
                            id: array.get(),
                            kind: self.kinds.element.clone(),
                            name: Cell::Null,
                            position: Cell::small(at),
                        };
                        self.push(id, place, rows)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The references of classes, stacks and loaders.
    fn others(&self, rows: &mut Rows<'_>) -> Result<(), TableError> {
        let (snapshot, graph) = (self.snapshot, self.snapshot.graph());
        for class in graph
            .classes()
            .list()
            .iter()
            .filter(|class| class.is_described)
        {
            let Some(source) = graph.number(class.id).filter(|_| class.id != 0) else {
                continue;
            };
            let mut push = |kind: &ByteArray, name: &str, id| {
                let place = || Place {
                    source,
                    id: class.id,
                    kind: kind.clone(),
                    name: Cell::text(name),
                    position: Cell::Null,
                };
                self.push(id, place, rows)
            };
            let is_reference =
                |field: &&Static| BasicType::from_code(field.type_code) == Some(BasicType::Object);
            for field in class.statics.iter().filter(is_reference) {
                push(&self.kinds.static_field, &field.name, field.bits)?;
            }
            for constant in &class.constants {
                push(&self.kinds.constant, &constant.name, constant.bits)?;
            }
            push(&self.kinds.class, "super class", class.super_id)?;
            push(&self.kinds.class, "class loader", class.loader)?;
            push(&self.kinds.class, "signers", class.signers)?;
            push(&self.kinds.class, "protection domain", class.domain)?;
        }
        for (thread, local) in graph.locals() {
            let place = || Place {
                source: *thread,
                id: graph.id(*thread),
                kind: self.kinds.local.clone(),
                name: Cell::text(&snapshot.local_in_words(local)),
                position: Cell::Null,
            };
            self.push(graph.id(local.object()), place, rows)?;
        }
        for class in graph.classes().list().iter().filter(|class| class.id != 0) {
            let loader = graph.number(class.loader).filter(|_| class.loader != 0);
            let is_loader = |loader: &ObjectNumber| {
                let class = graph.class_of(*loader);
                graph.classes().is_a(class, "java.lang.ClassLoader")
            };
            if let Some(source) = loader.filter(is_loader) {
                let place = || Place {
                    source,
                    id: class.loader,
                    kind: self.kinds.defined_class.clone(),
                    name: Cell::text("defined class"),
                    position: Cell::Null,
                };
                self.push(class.id, place, rows)?;
            }
        }
        Ok(())
    }

    /// Adds a reference to the object with an identifier, if the dump has it.
    #[inline]
    fn push(
        &self,
        id: u64,
        place: impl FnOnce() -> Place,
        rows: &mut Rows<'_>,
    ) -> Result<(), TableError> {
        if id == 0 {
            return Ok(());
        }
        let Some(target) = self.snapshot.graph().number(id) else {
            return Ok(());
        };
        let place = place();
        let is_weak = self.weak.contains(&(place.source.index() as u64))
            && self.snapshot.is_passed_over(place.source, target);
        rows.push([
            Cell::id(place.id),
            Cell::Text(place.kind),
            place.name,
            place.position,
            Cell::id(id),
            Cell::Boolean(!is_weak),
        ])
    }
}
