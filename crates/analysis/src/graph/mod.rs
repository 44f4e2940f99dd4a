//! The heap of a dump as a graph: objects, what they refer to, and why they are alive.
//!
//! Objects are numbered in the order of their identifiers. Two passes over the dump make the
//! graph: the first finds all objects and classes, the second what they refer to. Values of fields
//! stay in the dump; [`Graph::locate`] finds an object in it again.

mod array;
mod build;
mod class_of;
mod classes;
mod gaps;
mod ids;
mod inbound;
mod links;
mod locate;
mod missing;
mod number;
mod options;
mod references;
mod repeated;
mod roots;
mod scan;
mod sizes;
mod store;

use std::io;
use std::ops::{ControlFlow, Range};

use hprof_format::binary::{IdSize, SubRecords};
use thiserror::Error;

use crate::contents::{Contents, DamageLog, Format};
use crate::heap::{Layout, LayoutSource};
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::parallel;
use crate::trace::{Work, advance, phase};
use crate::walk::{Pass, each_segment};

pub use crate::walk::Block;
pub use array::{Array, Plain};
pub use class_of::{ClassOf, ClassView};
pub(crate) use classes::MAX_INSTANCE;
pub use classes::{Class, ClassKind, Classes, Field, PlacedField, Static};
pub(crate) use ids::IdMapHead;
pub use ids::{IdMap, IdPlan};
pub use inbound::Inbound;
pub use links::Links;
pub(crate) use locate::Blocks;
pub use missing::MAX_MISSING_OBJECTS;
pub use number::{Cell, Number};
pub(crate) use options::is_referent;
pub use options::{Follow, ReferenceKind};
pub(crate) use references::TooMany;
pub use references::{ReferenceView, References};
pub use roots::{GraphRoot, NOTHING};
pub(crate) use sizes::LARGE as LARGE_SIZE;
pub use sizes::Sizes;
pub use store::Store;

/// Why a graph cannot be made.
#[derive(Debug, Error)]
pub enum GraphError {
    /// The file has no such heap dump.
    #[error("the file holds {0} binary heap dumps")]
    NoDump(usize),
    /// Memory or the scratch file is not enough.
    #[error("no room for the graph of the heap: {0}")]
    Store(io::Error),
}

impl From<io::Error> for GraphError {
    // Not as a source: who prints a chain of errors would say it twice.
    fn from(error: io::Error) -> Self {
        Self::Store(error)
    }
}

/// How to make a graph.
#[derive(Clone, Copy)]
pub struct GraphOptions<'a> {
    /// Which references keep objects alive.
    pub follow: &'a Follow,
    /// Where arrays are kept.
    pub store: &'a Store,
    /// The number of threads to use; 0 for as many as the machine has.
    pub threads: usize,
    /// True for object numbers of eight bytes, however few there are.
    pub wide: bool,
    /// Receives the number of bytes that were passed over since the last call. Each byte of the
    /// dump is passed over twice.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Receives the part of the file that is not needed for now.
    pub forget: &'a (dyn Fn(Range<usize>) + Sync),
}

/// The missing and the surplus parts of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Gaps {
    /// References to objects that the file lacks.
    pub dangling_references: u64,
    /// Dangling references in arrays that native code holds. HotSpot's archive has an array of classes and
    /// other objects of which it loads, and dumps, only what the program uses (JEP 310).
    pub archived_references: u64,
    /// The objects that the other dangling references lead to. No more than [`MAX_MISSING_OBJECTS`] are
    /// distinguished.
    pub missing_objects: u64,
    /// Android: true if objects are missing, and of all primitive arrays only such of bytes and characters
    /// are there, as in the files that Matrix shrinks.
    pub lacks_arrays: bool,
    /// Roots whose object the file lacks.
    pub dangling_roots: u64,
    /// Roots that are loaded classes without a dump of their own, as HotSpot writes of old versions of redefined
    /// classes. They are none of `dangling_roots`.
    #[serde(default)]
    pub undumped_classes: u64,
    /// Objects of classes that the file does not describe.
    pub without_class: u64,
    /// Objects whose identifier another object before them has.
    #[serde(default)]
    pub repeated_objects: u64,
}

/// References, with numbers as wide as they have to be.
#[derive(Debug)]
pub enum Width {
    /// Four bytes.
    Narrow(References<u32>),
    /// Eight bytes.
    Wide(References<u64>),
}

/// The heap as a graph.
#[derive(Debug)]
pub struct Graph {
    pub(crate) id_size: IdSize,
    pub(crate) is_android: bool,
    pub(crate) ids: IdMap,
    pub(crate) classes: Classes,
    pub(crate) width: Width,
    pub(crate) class_of: ClassOf,
    pub(crate) sizes: Sizes,
    pub(crate) roots: Vec<GraphRoot>,
    pub(crate) locals: Vec<(ObjectNumber, GraphRoot)>,
    pub(crate) passed_over: Vec<(u64, u64)>,
    pub(crate) blocks: locate::Blocks,
    pub(crate) heaps: Vec<(u32, String)>,
    pub(crate) layout: Layout,
    pub(crate) layout_source: LayoutSource,
    pub(crate) gaps: Gaps,
    pub(crate) damage: DamageLog,
    pub(crate) follow: Follow,
}

impl Graph {
    /// Makes the graph of the heap dump with a number, from 0, of a file in memory. `contents` is
    /// what was read from the file outside of heap dumps.
    ///
    /// # Errors
    /// If there is no such dump, or no room. Damage is no error; see [`Graph::damage`].
    pub fn new(
        file: &[u8],
        contents: &Contents,
        dump: usize,
        options: GraphOptions<'_>,
    ) -> Result<Self, GraphError> {
        let Format::Binary { id_size, .. } = contents.format else {
            return Err(GraphError::NoDump(0));
        };
        let dumps = contents.dumps.len();
        let segments = segments(file, dump, options.forget);
        if dump >= dumps {
            return Err(GraphError::NoDump(dumps));
        }
        let is_android = contents.is_android();
        let progress = |bytes| {
            advance(bytes);
            (options.progress)(bytes);
        };
        let pass = Pass {
            threads: options.threads,
            progress: &progress,
            forget: options.forget,
        };
        // Identifiers of four bytes are running numbers in most files.
        let sees_addresses = id_size.bytes() == 8 && !is_android;
        let total = file.len() as u64;
        let scan = phase(Work::Objects, total, || {
            scan::scan(&segments, id_size, sees_addresses, pass)
        });
        let (layout, layout_source) = if is_android {
            (Layout::assumed(id_size, false), LayoutSource::Stated)
        } else if let Some(layout) = scan.observer.layout() {
            (layout, LayoutSource::Measured)
        } else {
            let is_of_agent = contents.settings.is_some();
            (Layout::assumed(id_size, is_of_agent), LayoutSource::Assumed)
        };
        let names = &contents.names;
        let has_numbers = scan.has_arrays_of_numbers();
        let repeated_objects = scan.repeated();
        let dumped = scan.classes.iter().map(|class| class.id);
        let measured = scan.observer.sizes(names, dumped);
        let classes = Classes::new(
            scan.classes,
            &scan.used_classes,
            names,
            layout,
            is_android,
            id_size,
            measured,
        );
        let mut gaps = Gaps {
            repeated_objects,
            ..Gaps::default()
        };
        let (ids, blocks) = (scan.ids, scan.blocks);
        let mut roots = Vec::with_capacity(scan.roots.len());
        let mut slots = roots::FrameSlots::default();
        for root in &scan.roots {
            match ids.number(root.object.get()) {
                Some(object) => roots.push(slots.placed(GraphRoot::new(object, root.kind))),
                None if roots::is_undumped_class(root, names, &scan.used_classes) => {
                    gaps.undumped_classes += 1
                }
                None => gaps.dangling_roots += u64::from(!root.object.is_null()),
            }
        }
        roots::add_boot_classes(&mut roots, &classes, &ids);
        let roots::Sorted { roots, locals } = roots::sort(roots);
        let extra = roots::extra(&locals, &classes, &ids);
        let archives = gaps::archives(&scan.roots, is_android);
        let plan = build::Plan {
            file,
            id_size,
            ids: &ids,
            blocks: &blocks,
            classes: &classes,
            layout,
            follow: options.follow,
            extra: &extra,
            archives: &archives,
            store: options.store,
        };
        let is_narrow = !options.wide && ids.len() < 1 << 31;
        let narrow = if is_narrow {
            match phase(Work::References, total, || build::build::<u32>(&plan, pass)) {
                Ok(built) => Some(built),
                Err(error) if is_too_many(&error) => None,
                Err(error) => return Err(error.into()),
            }
        } else {
            None
        };
        let (width, class_of, sizes, passed_over, counts) = match narrow {
            Some(b) => {
                let width = Width::Narrow(b.references);
                (width, b.class_of, b.sizes, b.passed_over, b.counts)
            }
            None => {
                let b = phase(Work::References, total, || build::build::<u64>(&plan, pass))?;
                let width = Width::Wide(b.references);
                (width, b.class_of, b.sizes, b.passed_over, b.counts)
            }
        };
        gaps.dangling_references = counts.dangling;
        gaps.archived_references = counts.archived;
        gaps.missing_objects = counts.missing;
        gaps.lacks_arrays = is_android && counts.missing > 0 && !has_numbers;
        gaps.without_class = counts.without_class;
        let heap_name = |(heap, name)| {
            let name = names.string(name);
            (
                heap,
                name.map_or_else(String::new, |name| name.into_owned()),
            )
        };
        Ok(Self {
            id_size,
            is_android,
            ids,
            classes,
            width,
            class_of,
            sizes,
            roots,
            locals,
            passed_over,
            blocks: locate::Blocks::new(blocks),
            heaps: scan.heaps.into_iter().map(heap_name).collect(),
            layout,
            layout_source,
            gaps,
            damage: scan.damage,
            follow: options.follow.clone(),
        })
    }

    /// All objects.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = ObjectNumber> + Clone + use<> {
        ObjectNumber::new(0).up_to(ObjectNumber::new(self.len()))
    }

    /// The objects of the classes that are marked, in the order of their numbers; all cores look for them.
    pub(crate) fn objects_of(&self, is_wanted: &[bool]) -> Vec<ObjectNumber> {
        /// Objects in one task.
        const TASK: usize = 1 << 16;
        let classes = self.class_of.view();
        let parts = parallel::run(0, self.len().div_ceil(TASK), |tasks| {
            let objects = tasks.flat_map(|task| TASK * task..self.len().min(TASK * (task + 1)));
            let is_wanted = |object: &usize| is_wanted[classes.of(*object).index()];
            let found = objects.filter(is_wanted).map(ObjectNumber::new);
            found.collect::<Vec<_>>()
        });
        let mut found: Vec<ObjectNumber> = parts.concat();
        found.sort_unstable();
        found
    }

    /// The number of objects, class objects included.
    pub fn len(&self) -> usize {
        self.class_of.len()
    }

    /// True if the dump has no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The width of identifiers in the file.
    pub fn id_size(&self) -> IdSize {
        self.id_size
    }

    /// True for dumps of Android.
    pub fn is_android(&self) -> bool {
        self.is_android
    }

    /// The identifier of an object.
    pub fn id(&self, object: ObjectNumber) -> u64 {
        self.ids.id(object.index())
    }

    /// As [`Graph::id`], faster for objects near each other: `near` is where the last one was found, and
    /// 0 at first.
    #[inline]
    pub fn id_near(&self, object: ObjectNumber, near: &mut usize) -> u64 {
        self.ids.id_near(object.index(), near)
    }

    /// The number of the object with an identifier.
    #[inline]
    pub fn number(&self, id: u64) -> Option<ObjectNumber> {
        self.ids.number(id).map(ObjectNumber::new)
    }

    /// All classes.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The class of an object.
    #[inline]
    pub fn class_of(&self, object: ObjectNumber) -> ClassNumber {
        self.class_of.view().of(object.index())
    }

    /// The class that a class object stands for.
    pub fn class_of_object(&self, object: ObjectNumber) -> Option<ClassNumber> {
        // Its identifier takes longer to find out.
        if self.class_of(object) != self.classes.class_of_classes() {
            return None;
        }
        let class = self.classes.by_id(self.id(object))?;
        self.classes.get(class).is_described.then_some(class)
    }

    /// The room that an object takes in the VM's heap, in bytes. Class objects count nothing where
    /// the VM dumps classes without the room they take, as most do.
    #[inline]
    pub fn size(&self, object: ObjectNumber) -> u64 {
        8 * u64::from(self.sizes.of(object.index()))
    }

    /// The sizes of all objects.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The garbage-collection roots, ordered by object.
    pub fn roots(&self) -> &[GraphRoot] {
        &self.roots
    }

    /// The roots of stacks, with the object of the thread that keeps them alive, ordered by thread.
    pub fn locals(&self) -> &[(ObjectNumber, GraphRoot)] {
        &self.locals
    }

    /// References that do not keep alive what they refer to, as object numbers; sorted.
    pub fn passed_over(&self) -> &[(u64, u64)] {
        &self.passed_over
    }

    /// Android's heaps by number.
    pub fn heaps(&self) -> &[(u32, String)] {
        &self.heaps
    }

    /// How the VM lays out objects, and how that is known.
    pub fn layout(&self) -> (Layout, LayoutSource) {
        (self.layout, self.layout_source)
    }

    /// The missing parts of the file.
    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// The damage of the heap dump.
    pub fn damage(&self) -> &DamageLog {
        &self.damage
    }

    /// Which references keep objects alive.
    pub fn follow(&self) -> &Follow {
        &self.follow
    }

    /// References of either width.
    pub fn width(&self) -> &Width {
        &self.width
    }

    /// The references of an object, without its class.
    pub fn references(&self, object: ObjectNumber) -> Vec<ObjectNumber> {
        fn of<N: Number>(references: &References<N>, object: ObjectNumber) -> Vec<ObjectNumber> {
            let targets = references.view().of(object.index());
            targets.map(ObjectNumber::new).collect()
        }
        match &self.width {
            Width::Narrow(references) => of(references, object),
            Width::Wide(references) => of(references, object),
        }
    }

    /// References and classes, for walks over the graph. Classes that are roots are left out.
    pub fn links<'a, N: Number>(&'a self, references: &'a References<N>) -> Links<'a, N> {
        Links::new(references, self.class_of.view(), &self.followed_classes())
    }

    /// As [`Self::links`], for those who follow few.
    pub(crate) fn few_links<'a, N: Number>(
        &'a self,
        references: &'a References<N>,
    ) -> Links<'a, N> {
        Links::of_few(references, self.class_of.view(), &self.followed_classes())
    }

    /// By class: its object, if its instances keep that alive and nothing else does so anyway.
    fn followed_classes(&self) -> Vec<Option<usize>> {
        let is_root = |object: usize| {
            let object = ObjectNumber::new(object);
            let found = self.roots.binary_search_by_key(&object, GraphRoot::object);
            found.is_ok()
        };
        let class_object = |class: &Class| {
            let object = self.ids.number(class.id).filter(|_| class.id != 0)?;
            (!is_root(object)).then_some(object)
        };
        self.classes.list().iter().map(class_object).collect()
    }

    /// The roots of an object.
    pub fn roots_of(&self, object: ObjectNumber) -> &[GraphRoot] {
        let start = self.roots.partition_point(|root| root.object() < object);
        let end = self.roots.partition_point(|root| root.object() <= object);
        &self.roots[start..end]
    }
}

fn is_too_many(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TooMany>())
}

/// The segments of one heap dump.
fn segments<'f>(
    file: &'f [u8],
    wanted: usize,
    forget: &(dyn Fn(Range<usize>) + Sync),
) -> Vec<SubRecords<'f>> {
    let mut segments = Vec::new();
    each_segment(file, forget, |dump, heap| {
        if dump == wanted {
            segments.push(heap);
        }
        match dump > wanted {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    segments
}
