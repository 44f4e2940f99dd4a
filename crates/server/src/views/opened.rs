//! An analysis that is ready to be asked: dump and index as maps, and what views have worked out.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hprof_analysis::contents::ReadError;
use hprof_analysis::graph::Inbound;
use hprof_analysis::numbers::{ClassNumber, ObjectNumber, Place};
use hprof_analysis::paths::ShortestPaths;
use hprof_analysis::snapshot::{IndexPlace, OpenOptions, Snapshot, SnapshotError, ThreadInfo};
use hprof_analysis::usage::CollectionRow;

use super::ViewError;
use super::by_class::ClassPart;
use super::cache::Held;
use super::dominators::{DominatorsBy, Group, Largest};
use super::kept::Kept;
use super::later::{Later, Turn};
use super::paths::MergedPaths;
use super::reference_kinds::ReferenceRow;
use super::references::Direction;
use super::report::Report;
use super::retained::RetainedTables;
use super::sites::SiteRow;
use crate::store::Local;

/// Where the files of an analysis lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The dump.
    pub dump: PathBuf,
    /// The name that people gave the dump.
    pub name: String,
    /// The folder of the index.
    pub index: PathBuf,
    /// The worker's report.json.
    pub report: PathBuf,
    /// Keeps the files there.
    pub held: Vec<Local>,
}

/// Dumps up to this size are read again if their index is gone.
const MAX_WITHOUT_INDEX: u64 = 64 << 20;

/// The largest number of objects whose referrers are kept in memory, where they take some twelve bytes each.
const MAX_INBOUND: usize = 50_000_000;

/// The sums over the objects of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassSum {
    /// Live objects.
    pub live: u64,
    /// Their shallow size, in bytes.
    pub live_bytes: u64,
    /// Objects that no root reaches.
    pub unreached: u64,
    /// Their shallow size, in bytes.
    pub unreached_bytes: u64,
}

/// An analysis that is ready to be asked.
pub struct Opened {
    /// The dump with its graph and dominators.
    pub snapshot: Snapshot,
    /// The worker's report.
    pub report: Report,
    /// Where the files lie.
    pub files: Files,
    pub(super) turn: Turn,
    paths: Arc<Later<ShortestPaths>>,
    pub(super) class_references: Kept<(ClassNumber, Direction), Later<Vec<ClassPart>>>,
    inbound: Arc<Later<Inbound>>,
    pub(super) merged: MergedPaths,
    pub(super) largest: Kept<Option<Place>, Largest>,
    pub(super) groups: Kept<(DominatorsBy, String), Vec<Group>>,
    pub(super) retained: Arc<Later<RetainedTables>>,
    pub(super) collections: Arc<Later<Vec<CollectionRow>>>,
    pub(super) references: Arc<Later<Vec<ReferenceRow>>>,
    pub(super) sites: Arc<Later<Vec<SiteRow>>>,
    pub(super) threads: OnceLock<Vec<ThreadInfo>>,
    sums: OnceLock<Vec<ClassSum>>,
    name_ranks: OnceLock<Vec<u32>>,
    own_bytes: u64,
    grown: AtomicU64,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl Opened {
    /// Opens the files of an analysis.
    ///
    /// # Errors
    /// If one cannot be read, or the index of a large dump is gone.
    pub fn open(files: Files, turn: Turn) -> Result<Self, ViewError> {
        let bytes = std::fs::metadata(&files.dump)
            .map_err(ViewError::failed)?
            .len();
        if bytes > MAX_WITHOUT_INDEX && !has_index(&files.index) {
            return Err(ViewError::NotReady(
                "the index of this analysis is gone; retry its job".to_owned(),
            ));
        }
        let options = OpenOptions {
            index: IndexPlace::Folder(files.index.clone()),
            trusts_index: true,
            ..OpenOptions::default()
        };
        let snapshot = Snapshot::open(&files.dump, &options);
        let mut snapshot = snapshot.map_err(|error| refusal(&files, &error))?;
        snapshot.name.clone_from(&files.name);
        let report = Report::read(&files.report).map_err(ViewError::failed)?;
        let mut opened = Self {
            snapshot,
            report,
            files,
            turn,
            paths: Arc::default(),
            class_references: Kept::default(),
            inbound: Arc::default(),
            merged: MergedPaths::default(),
            largest: Kept::default(),
            groups: Kept::default(),
            retained: Arc::default(),
            collections: Arc::default(),
            references: Arc::default(),
            sites: Arc::default(),
            threads: OnceLock::new(),
            sums: OnceLock::new(),
            name_ranks: OnceLock::new(),
            own_bytes: 0,
            grown: AtomicU64::new(0),
        };
        opened.own_bytes = opened.estimate();
        Ok(opened)
    }

    /// The memory beside maps of files, as far as it grows with the dump.
    fn estimate(&self) -> u64 {
        let report = std::fs::metadata(&self.files.report).map_or(0, |found| found.len());
        let classes = self.snapshot.graph().classes().list().iter();
        let names = classes.map(|class| {
            let fields = class.fields.len() + class.statics.len();
            400 + class.name.len() + 80 * fields
        });
        let contents = self.snapshot.contents();
        let strings = 60 * contents.names.string_count() as u64;
        let frames = 160 * contents.stacks.frame_count() as u64;
        (1 << 20) + 3 * report + names.sum::<usize>() as u64 + strings + frames
    }

    /// Notes memory that a table has taken.
    pub(super) fn grow(&self, bytes: u64) {
        self.grown.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The object with an identifier as the API writes it.
    ///
    /// # Errors
    /// If it is no identifier, or the dump has no such object.
    pub fn object(&self, id: &str) -> Result<ObjectNumber, ViewError> {
        let number = parse_id(id)?;
        self.snapshot
            .graph()
            .number(number)
            .ok_or_else(|| ViewError::missing(format!("the dump has no object {number:#x}")))
    }

    /// The class whose class object has an identifier.
    ///
    /// # Errors
    /// If it is no identifier, or the dump has no such class.
    pub fn class(&self, id: &str) -> Result<ClassNumber, ViewError> {
        let number = parse_id(id)?;
        let class = self.snapshot.graph().classes().by_id(number);
        class
            .filter(|_| number != 0)
            .ok_or_else(|| ViewError::missing(format!("the dump has no class {number:#x}")))
    }

    /// The identifier of an object.
    pub fn id(&self, object: ObjectNumber) -> u64 {
        self.snapshot.graph().id(object)
    }

    /// The share of the live heap, from 0 to 100.
    pub fn percent(&self, bytes: u64) -> f64 {
        match self.snapshot.dominators().live_bytes() {
            0 => 0.0,
            all => (bytes as f64 * 10_000.0 / all as f64).round() / 100.0,
        }
    }

    /// The sums of all classes, by number.
    pub fn sums(&self) -> &[ClassSum] {
        self.sums.get_or_init(|| {
            let (graph, dominators) = (self.snapshot.graph(), self.snapshot.dominators());
            let mut sums = vec![ClassSum::default(); graph.classes().list().len()];
            for object in graph.objects() {
                let Some(sum) = sums.get_mut(graph.class_of(object).index()) else {
                    continue;
                };
                let bytes = graph.size(object);
                if dominators.place(object).is_some() {
                    sum.live += 1;
                    sum.live_bytes += bytes;
                } else {
                    sum.unreached += 1;
                    sum.unreached_bytes += bytes;
                }
            }
            self.grow(32 * sums.len() as u64);
            sums
        })
    }

    /// By class: its place in the order of names.
    pub(super) fn name_ranks(&self) -> &[u32] {
        self.name_ranks.get_or_init(|| {
            let classes = self.snapshot.graph().classes();
            let mut order: Vec<ClassNumber> = classes.numbers().collect();
            order.sort_by(|&a, &b| classes.get(a).name.cmp(&classes.get(b).name));
            let mut ranks = vec![0; order.len()];
            for (rank, class) in order.into_iter().enumerate() {
                ranks[class.index()] = rank as u32;
            }
            ranks
        })
    }

    /// Begins, in the background, what the inspector needs for each object: who opens a dump looks at
    /// an object next.
    pub fn prepare(self: &Arc<Self>) {
        let opened = Arc::clone(self);
        let sums = std::thread::Builder::new().name("sums".to_owned());
        // Without a thread, the first request that needs them computes them.
        let _ = sums.spawn(move || opened.sums().len());
        // A request for a path or for referrers reports failures.
        let _ = self.paths(std::time::Duration::ZERO);
        let _ = self.inbound();
    }

    /// The referrers of all objects, if they are known by now; begins to look them up if no other caller has. Never
    /// known for dumps of more than `MAX_INBOUND` objects.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn inbound(self: &Arc<Self>) -> Result<Option<Arc<Inbound>>, ViewError> {
        if self.snapshot.graph().len() > MAX_INBOUND {
            return Ok(None);
        }
        let work = |opened: &Arc<Self>| {
            let snapshot = &opened.snapshot;
            let inbound = Inbound::new(snapshot.graph(), snapshot.store());
            let inbound = inbound.map_err(ViewError::failed)?;
            opened.grow(inbound.bytes());
            Ok(inbound)
        };
        self.inbound.ask(self, work, std::time::Duration::ZERO)
    }

    /// The shortest paths to all objects, if they are there in time.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn paths(
        self: &Arc<Self>,
        patience: std::time::Duration,
    ) -> Result<Option<Arc<ShortestPaths>>, ViewError> {
        let work = |opened: &Arc<Self>| {
            let snapshot = &opened.snapshot;
            let paths = ShortestPaths::new(snapshot.graph(), snapshot.store());
            let width = if snapshot.graph().len() < 1 << 31 {
                8
            } else {
                16
            };
            opened.grow(width * snapshot.graph().len() as u64);
            paths.map_err(ViewError::failed)
        };
        self.paths.ask(self, work, patience)
    }
}

impl Held for Opened {
    fn bytes(&self) -> u64 {
        self.own_bytes + self.grown.load(Ordering::Relaxed)
    }
}

/// Reads an identifier as the API writes it.
///
/// # Errors
/// If it is no hexadecimal number after `0x`.
pub fn parse_id(id: &str) -> Result<u64, ViewError> {
    let digits = id.strip_prefix("0x").filter(|it| !it.starts_with('+'));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| {
        ViewError::invalid("an identifier is a hexadecimal number such as 0x7f001230")
    })
}

/// Says why there is no snapshot: what the file holds is for the visitor, what the system does is
/// for the log.
fn refusal(files: &Files, error: &SnapshotError) -> ViewError {
    match error {
        SnapshotError::Io(_) | SnapshotError::Read(ReadError::Io(_)) => ViewError::failed(error),
        error => {
            let place = files.dump.to_string_lossy();
            ViewError::NotReady(error.to_string().replace(&*place, &files.name))
        }
    }
}

fn has_index(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = files.map(|file| file.file_name());
    names.any(|name| name.as_encoded_bytes().ends_with(b"-index"))
}
