//! Counts the objects that a dump refers to and lacks, without its graph.

use std::convert::Infallible;
use std::ops::ControlFlow;

use hprof_format::binary::{SubRecord, SubRecords};
use hprof_format::model::RootKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::build::{ClassPlan, plans};
use super::classes::Classes;
use super::ids::IdMap;
use super::options::{Follow, ReferenceKind};
use super::{Gaps, scan};
use crate::contents::{Contents, Format};
use crate::heap::Layout;
use crate::walk::{Pass, each_segment};

/// The inputs of counting.
struct Counting<'a> {
    ids: &'a IdMap,
    classes: &'a Classes,
    plans: &'a [ClassPlan],
    archives: &'a FxHashSet<u64>,
}

impl Gaps {
    /// Counts what each heap dump of a file in memory lacks, `None` for those that hold nothing.
    /// That takes a bit for every word of a heap.
    pub fn of_all(file: &[u8], contents: &Contents) -> Vec<Option<Self>> {
        let mut dumps = vec![Vec::new(); contents.dumps.len()];
        each_segment(file, &|_| {}, |dump, segment| {
            if let Some(segments) = dumps.get_mut(dump) {
                segments.push(segment);
            }
            ControlFlow::Continue(())
        });
        let count = |segments: &Vec<SubRecords<'_>>| {
            (!segments.is_empty()).then(|| Self::count(file, contents, segments))
        };
        dumps.iter().map(count).collect()
    }

    fn count(file: &[u8], contents: &Contents, segments: &[SubRecords<'_>]) -> Self {
        let Format::Binary { id_size, .. } = contents.format else {
            return Self::default();
        };
        let nothing = |_| {};
        let pass = Pass {
            threads: 0,
            progress: &nothing,
            forget: &|_| {},
        };
        let scan = scan::scan(segments, id_size, false, pass);
        let mut gaps = Self::default();
        for root in scan.roots.iter().filter(|root| !root.object.is_null()) {
            let is_there = scan.ids.number(root.object.get()).is_some();
            gaps.dangling_roots += u64::from(!is_there);
        }
        let archives = archives(&scan.roots);
        let classes = Classes::new(
            scan.classes,
            &scan.used_classes,
            &contents.names,
            Layout::assumed(id_size, false),
            contents.format.is_android(),
            id_size,
            FxHashMap::default(),
        );
        let follow = Follow {
            kinds: ReferenceKind::ALL.into(),
            without: Vec::new(),
        };
        let counting = Counting {
            ids: &scan.ids,
            classes: &classes,
            plans: &plans(&classes, &follow),
            archives: &archives,
        };
        let parts = pass.run(Pass::tasks_of(&scan.blocks), |tasks| {
            let mut part = Self::default();
            for task in tasks {
                let Ok::<(), Infallible>(()) =
                    pass.runs(file, id_size, &scan.blocks, task, |sub_record| {
                        counting.add(sub_record, id_size.bytes(), &mut part);
                        Ok(())
                    });
            }
            part
        });
        for part in parts {
            gaps.dangling_references += part.dangling_references;
            gaps.archived_references += part.archived_references;
            gaps.without_class += part.without_class;
        }
        gaps.dangling_references += counting.of_classes();
        gaps
    }
}

/// The objects of global references of native code: among them HotSpot's array of the objects of
/// its archive, of which it loads, and dumps, only what the program uses (JEP 310).
pub(super) fn archives(roots: &[hprof_format::model::Root]) -> FxHashSet<u64> {
    let is_global =
        |root: &&hprof_format::model::Root| matches!(root.kind, RootKind::JniGlobal { .. });
    let globals = roots.iter().filter(is_global);
    globals.map(|root| root.object.get()).collect()
}

impl Counting<'_> {
    fn dangles(&self, bytes: &[u8], at: usize, width: usize) -> bool {
        let Some(field) = bytes.get(at..at + width) else {
            return false;
        };
        let id = (field.iter()).fold(0, |id: u64, &byte| id << 8 | u64::from(byte));
        id != 0 && self.ids.number(id).is_none()
    }

    fn add(&self, sub_record: &SubRecord<'_>, width: usize, gaps: &mut Gaps) {
        match *sub_record {
            SubRecord::Instance { class, values, .. } => {
                let class = self.classes.by_id(class.get());
                let known = class.filter(|&class| self.classes.get(class).is_described);
                let Some(class) = known else {
                    gaps.without_class += 1;
                    return;
                };
                let references = self.plans[class.index()].all_references();
                let dangling = references.filter(|&at| self.dangles(values, at, width));
                gaps.dangling_references += dangling.count() as u64;
            }
            SubRecord::ObjectArray {
                array, elements, ..
            } => {
                let bytes = elements.as_bytes();
                let places = (0..bytes.len()).step_by(width);
                let dangling = places.filter(|&at| self.dangles(bytes, at, width));
                let dangling = dangling.count() as u64;
                gaps.dangling_references += dangling;
                if dangling > 0 && self.archives.contains(&array.get()) {
                    gaps.archived_references += dangling;
                }
            }
            _ => {}
        }
    }

    /// Of class objects, whose references no instance record tells.
    fn of_classes(&self) -> u64 {
        let described = self
            .classes
            .list()
            .iter()
            .filter(|class| class.is_described);
        let dangling = |id: &u64| *id != 0 && self.ids.number(*id).is_none();
        described
            .map(|class| class.references().filter(dangling).count() as u64)
            .sum()
    }
}
