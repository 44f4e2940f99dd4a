//! The table `references`.

use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::{Edge, EdgeKind, ReferenceList};

use super::Heap;
use super::table::{Cell, Column, Key, Rows};

/// References of all objects, or of some.
pub struct References {
    sources: Sources,
    /// Only references to this object.
    target: Option<ObjectNumber>,
    source: ObjectNumber,
    list: ReferenceList,
    at: usize,
    row: Option<(Edge, ObjectNumber)>,
}

enum Sources {
    Range(std::ops::Range<usize>),
    List(std::vec::IntoIter<ObjectNumber>),
}

const SOURCE: usize = 0;

impl Rows for References {
    const NAME: &'static str = "references";
    const ABOUT: &'static str = "a reference from one object to another";
    const COLUMNS: &'static [Column] = &[
        ("source", "TEXT", "id of the object that refers"),
        ("target", "TEXT", "id of the object that is referred to"),
        ("source_class", "TEXT", "name of the class of source"),
        ("target_class", "TEXT", "name of the class of target"),
        (
            "kind",
            "TEXT",
            "field, element, static, local, constant, class or defined_class",
        ),
        (
            "name",
            "TEXT",
            "the field, the index of the element, or what holds it in words",
        ),
        (
            "strong",
            "INTEGER",
            "1 if it keeps target alive; 0 for weak and other references passed over",
        ),
    ];
    const KEYS: &'static [Key] = &[(SOURCE, 5), (1, 5)];

    fn estimate(heap: &Heap) -> usize {
        heap.snapshot.graph().len().saturating_mul(2)
    }

    fn start(heap: &Heap, key: Option<(usize, &str)>) -> std::io::Result<Self> {
        let object = |id: &str| heap.object(id);
        let (sources, target) = match key {
            None => (Sources::Range(0..heap.snapshot.graph().len()), None),
            Some((SOURCE, id)) => {
                let source =
                    object(id).map_or(0..0, |object| object.index()..object.next().index());
                (Sources::Range(source), None)
            }
            Some((_, id)) => {
                let target = object(id);
                let sources = target.map(|target| heap.referrers(target));
                (
                    Sources::List(sources.unwrap_or_default().into_iter()),
                    target,
                )
            }
        };
        Ok(Self {
            sources,
            target,
            source: ObjectNumber::new(0),
            list: ReferenceList::default(),
            at: 0,
            row: None,
        })
    }

    fn advance(&mut self, heap: &Heap) -> bool {
        loop {
            while let Some(found) = heap.snapshot.reference_at(&self.list, self.at) {
                self.at += 1;
                let wanted = self.target;
                self.row = found.filter(|row| wanted.is_none_or(|target| row.1 == target));
                if self.row.is_some() {
                    return true;
                }
            }
            let next = match &mut self.sources {
                Sources::Range(range) => range.next().map(ObjectNumber::new),
                Sources::List(list) => list.next(),
            };
            let Some(source) = next else {
                return false;
            };
            self.source = source;
            self.list = heap.snapshot.reference_list(source);
            self.at = 0;
        }
    }

    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a> {
        let Some((edge, target)) = &self.row else {
            return Cell::Null;
        };
        match column {
            SOURCE => heap.id(self.source),
            1 => heap.id(*target),
            2 => heap.class(self.source),
            3 => heap.class(*target),
            4 => Cell::from(match edge.kind {
                EdgeKind::Field => "field",
                EdgeKind::Static => "static",
                EdgeKind::Element => "element",
                EdgeKind::Constant => "constant",
                EdgeKind::Local => "local",
                EdgeKind::Class => "class",
                EdgeKind::DefinedClass => "defined_class",
                EdgeKind::Unknown => "unknown",
            }),
            5 => Cell::from(edge.name.as_str()),
            _ => Cell::truth(!heap.snapshot.is_passed_over(self.source, *target)),
        }
    }
}

impl Heap {
    /// The objects that refer to one, in ascending order, each once.
    fn referrers(&self, target: ObjectNumber) -> Vec<ObjectNumber> {
        let strong = self.inbound().map(|inbound| inbound.of(target));
        let mut sources: Vec<ObjectNumber> = strong.into_iter().flatten().collect();
        sources.extend(self.snapshot.weak_referrers(target));
        if self.snapshot.graph().class_of_object(target).is_some() {
            sources.extend(self.snapshot.instances(target));
        }
        sources.sort_unstable();
        sources.dedup();
        sources
    }
}
