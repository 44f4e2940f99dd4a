//! Counts the objects that a dump refers to and lacks, without its graph.

use std::convert::Infallible;
use std::ops::ControlFlow;

use hprof_format::binary::{SubRecord, SubRecords};
use hprof_format::model::RootKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::build::{ClassPlan, plans};
use super::classes::Classes;
use super::ids::IdMap;
use super::missing::MissingIds;
use super::options::{Follow, ReferenceKind};
use super::{Gaps, repeated, roots, scan};
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
    /// That takes a bit for every word of a heap. The numbers beside are a few of the identifiers
    /// that several objects have.
    pub fn of_all(file: &[u8], contents: &Contents) -> Vec<Option<(Self, Vec<u64>)>> {
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

    fn count(file: &[u8], contents: &Contents, segments: &[SubRecords<'_>]) -> (Self, Vec<u64>) {
        let Format::Binary { id_size, .. } = contents.format else {
            return Default::default();
        };
        let nothing = |_| {};
        let pass = Pass {
            threads: 0,
            progress: &nothing,
            forget: &|_| {},
        };
        let scan = scan::scan(segments, id_size, false, pass);
        let mut gaps = Self {
            repeated_objects: scan.repeated(),
            ..Self::default()
        };
        let repeated = match gaps.repeated_objects {
            0 => Vec::new(),
            _ => repeated::examples(file, id_size, &scan.ids, &scan.blocks, pass),
        };
        for root in scan.roots.iter().filter(|root| !root.object.is_null()) {
            if scan.ids.number(root.object.get()).is_some() {
                continue;
            }
            match roots::is_undumped_class(root, &contents.names, &scan.used_classes) {
                true => gaps.undumped_classes += 1,
                false => gaps.dangling_roots += 1,
            }
        }
        let has_numbers = scan.has_arrays_of_numbers();
        let archives = archives(&scan.roots, contents.is_android());
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
            let mut part = Part::default();
            for task in tasks {
                let Ok::<(), Infallible>(()) =
                    pass.runs(file, id_size, &scan.blocks, task, |sub_record| {
                        counting.add(sub_record, id_size.bytes(), &mut part);
                        Ok(())
                    });
            }
            part
        });
        let mut all = Part::default();
        counting.of_classes(&mut all);
        for part in parts {
            all.dangling += part.dangling;
            all.archived += part.archived;
            all.without_class += part.without_class;
            all.missing.merge(part.missing);
        }
        gaps.dangling_references = all.dangling;
        gaps.archived_references = all.archived;
        gaps.without_class = all.without_class;
        gaps.missing_objects = all.missing.len();
        gaps.lacks_arrays = contents.is_android() && gaps.missing_objects > 0 && !has_numbers;
        (gaps, repeated)
    }
}

/// The objects of global references of native code: among them HotSpot's array of the objects of
/// its archive, of which it loads, and dumps, only what the program uses (JEP 310). Android has none.
pub(super) fn archives(roots: &[hprof_format::model::Root], is_android: bool) -> FxHashSet<u64> {
    if is_android {
        return FxHashSet::default();
    }
    let is_global =
        |root: &&hprof_format::model::Root| matches!(root.kind, RootKind::JniGlobal { .. });
    let globals = roots.iter().filter(is_global);
    let ids = globals.map(|root| root.object.get());
    ids.filter(|&id| id != 0).collect()
}

/// The results of one thread.
#[derive(Default)]
struct Part {
    dangling: u64,
    archived: u64,
    without_class: u64,
    missing: MissingIds,
}

impl Part {
    /// Counts a reference to an object that the file lacks.
    fn add(&mut self, id: u64, is_archived: bool) {
        self.dangling += 1;
        match is_archived {
            true => self.archived += 1,
            false => self.missing.add(id),
        }
    }
}

impl Counting<'_> {
    /// The identifier in a field, if the file lacks its object.
    fn dangling(&self, bytes: &[u8], at: usize, width: usize) -> Option<u64> {
        let field = bytes.get(at..at + width)?;
        let id = (field.iter()).fold(0, |id: u64, &byte| id << 8 | u64::from(byte));
        (id != 0 && self.ids.number(id).is_none()).then_some(id)
    }

    fn add(&self, sub_record: &SubRecord<'_>, width: usize, part: &mut Part) {
        match *sub_record {
            SubRecord::Instance { class, values, .. } => {
                let class = self.classes.by_id(class.get());
                let known = class.filter(|&class| self.classes.get(class).is_described);
                let plan = known.map(|class| &self.plans[class.index()]);
                let Some(plan) = plan.filter(|plan| plan.is_whole()) else {
                    part.without_class += 1;
                    return;
                };
                let references = plan.all_references();
                for id in references.filter_map(|at| self.dangling(values, at, width)) {
                    part.add(id, false);
                }
            }
            SubRecord::ObjectArray {
                array, elements, ..
            } => {
                let bytes = elements.as_bytes();
                let places = (0..bytes.len()).step_by(width);
                for id in places.filter_map(|at| self.dangling(bytes, at, width)) {
                    part.add(id, self.archives.contains(&array.get()));
                }
            }
            _ => {}
        }
    }

    /// Adds the gaps of class objects, whose references no instance record tells.
    fn of_classes(&self, part: &mut Part) {
        let described = self
            .classes
            .list()
            .iter()
            .filter(|class| class.is_described);
        let is_dangling = |id: &u64| *id != 0 && self.ids.number(*id).is_none();
        for id in described.flat_map(|class| class.references().filter(is_dangling)) {
            part.add(id, false);
        }
    }
}
