//! A profile that is open: its costs, and the trees that were made of them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hprof_analysis::contents::{Contents, ReadOptions, read};
use hprof_analysis::input::Input;
use hprof_format::ids::ThreadSerial;
use hprof_stacks::events::Clock;
use hprof_stacks::pictures::about::clock_of;
use hprof_stacks::pictures::profile::all_weights;
use hprof_stacks::slow_table::{Most, SlowTable};
use hprof_stacks::{CallTree, Measure, Stacks, Weights, by_thread, may_wait, without_idle};
use hprof_thread_dumps::pool_of;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::views::ViewError;
use crate::views::cache::Held;
use crate::views::page::compile;
use crate::views::profile::remarks::losses;

/// Larger files are no profiles that a server holds in memory.
pub(super) const MAX_BYTES: u64 = 2 << 30;
/// Trees that are kept for the next request.
const KEPT: usize = 4;
/// Threads that a profile names.
const THREADS: usize = 5000;
/// The begin of a group's key. Keys of threads are numbers.
const GROUP: &str = "group:";

/// Which stacks of a profile are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProfileQuery {
    /// The key of a dimension; the first without it.
    pub dimension: Option<String>,
    /// The key of a thread or of a group of threads, of whose stacks alone the answer is.
    pub thread: Option<String>,
    /// On the wall clock, true for stacks without those that wait for work: threads of pools without a task, event
    /// loops without an event, threads of the VM. Stacks stay if all of them wait for work.
    #[serde(default)]
    pub busy: bool,
    /// True for stacks from their innermost method on.
    #[serde(default)]
    pub invert: bool,
}

/// How a flame graph is cut.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FlameQuery {
    /// A regular expression, upper or lower case: only stacks with a method that it matches.
    pub filter: Option<String>,
    /// The share of the whole below which frames are left out, from 0 to 1.
    #[serde(default = "least")]
    pub least: f64,
    /// For comparisons: the id of the profile that is compared with this one.
    pub with: Option<String>,
}

/// The share of half a pixel.
fn least() -> f64 {
    0.0005
}

impl Default for FlameQuery {
    fn default() -> Self {
        Self {
            filter: None,
            least: least(),
            with: None,
        }
    }
}

/// Where in a call tree the wanted rows are.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// The `node` of the row whose children are wanted; the top of the tree without it.
    pub node: Option<String>,
}

/// A quantity that a profile has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Dimension {
    /// The value of the parameter `dimension`.
    pub key: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// `samples`, `ms`, `calls`, `bytes` or `objects`.
    pub unit: &'static str,
    /// The sum of all stacks.
    pub total: u64,
    /// The part of `total` that `busy` leaves out: threads that wait for work.
    pub waits: u64,
}

/// A thread with its part of the first dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ThreadCost {
    /// The value of the parameter `thread`.
    pub key: String,
    /// Its name.
    pub name: String,
    /// The sum of its stacks.
    pub total: u64,
    /// The part of `total` in which it waits for work.
    pub waits: u64,
    /// The key of its group, if other threads are in it.
    pub group: Option<String>,
}

/// Threads whose names differ in a number, such as those of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ThreadGroup {
    /// The value of the parameter `thread`.
    pub key: String,
    /// The names of its threads, with `*` for the number.
    pub name: String,
    /// How many threads have costs.
    pub threads: u64,
    /// The sum of their stacks.
    pub total: u64,
    /// The part of `total` in which they wait for work.
    pub waits: u64,
}

/// The head of a profile.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ProfileAbout {
    /// `cpu`, `times`, `allocation` or `contention`, of the first dimension.
    pub kind: &'static str,
    /// The unit of the first dimension.
    pub unit: &'static str,
    /// The sum of the first dimension.
    pub total: u64,
    /// The name of the file.
    pub title: String,
    /// All quantities that the profile has.
    pub dimensions: Vec<Dimension>,
    /// The threads of the first dimension, those that cost most first; none if the profile does not
    /// tell threads apart.
    pub threads: Vec<ThreadCost>,
    /// Groups of these threads, those that cost most first.
    pub groups: Vec<ThreadGroup>,
    /// The gaps of the profile, as sentences; empty for a sound one.
    pub notes: Vec<String>,
    /// The profiler's own counts and settings, as they stand in the file.
    pub remarks: Vec<String>,
    /// True if the profile tells when its samples were taken.
    pub has_timeline: bool,
    /// Timed calls (`slow=`), with strips of the slowest; null if none were timed.
    #[schema(value_type = Option<Object>)]
    pub slow: Option<SlowTable>,
}

/// The parameters of a tree, its filter, and the tree.
type KeptTree = ((ProfileQuery, String), Arc<CallTree>);

/// A profile that is open.
#[derive(Debug)]
pub struct ProfileFile {
    pub(super) title: String,
    pub(super) contents: Arc<Contents>,
    weights: Vec<Weights>,
    notes: Vec<String>,
    has_timeline: bool,
    slow: Option<SlowTable>,
    /// The costs without threads that wait for work, and the cost of these, in the order of `weights`.
    busy: OnceLock<Vec<Option<(Weights, u64)>>>,
    trees: Mutex<Vec<KeptTree>>,
    bytes: u64,
}

impl ProfileFile {
    /// Reads a profile.
    ///
    /// # Errors
    /// If it cannot be read, is too large, or has no stacks with costs.
    pub fn open(path: &Path, title: &str) -> Result<Self, ViewError> {
        let bytes = std::fs::metadata(path).map_err(ViewError::failed)?.len();
        if bytes > MAX_BYTES {
            return Err(ViewError::NotReady(
                "the profile is larger than 2 GiB; convert it to a smaller form first".to_owned(),
            ));
        }
        let options = ReadOptions {
            with_heap: false,
            largest: 0,
            ..ReadOptions::default()
        };
        let read = |options: &ReadOptions<'_>| {
            let input = Input::open(path).map_err(ViewError::failed)?;
            read(input, options).map_err(ViewError::failed)
        };
        let mut contents = read(&options)?;
        if contents.slow.is_there() {
            // Strips need the times of samples.
            let options = ReadOptions {
                with_times: true,
                ..options
            };
            contents = read(&options)?;
        }
        let slow = SlowTable::of(&contents.slow, &contents.call_strips(), Most::OF_PAGES);
        contents.timeline = None;
        let weights = all_weights(&contents);
        Ok(Self {
            slow,
            ..Self::new(title, Arc::new(contents), weights)
        })
    }

    /// The contents of a recording under way so far, with remarks of the recorder.
    pub fn of_recording(
        title: &str,
        contents: Arc<Contents>,
        weights: Vec<Weights>,
        notes: Vec<String>,
    ) -> Self {
        Self {
            notes,
            has_timeline: true,
            slow: SlowTable::of(&contents.slow, &contents.call_strips(), Most::OF_PAGES),
            ..Self::new(title, contents, weights)
        }
    }

    fn new(title: &str, contents: Arc<Contents>, mut weights: Vec<Weights>) -> Self {
        weights.retain(|weights| weights.total > 0);
        let rows: usize = weights.iter().map(|weights| weights.rows.len()).sum();
        let bytes = 64 * rows as u64
            + 200 * contents.stacks.frame_count() as u64
            + 200 * contents.stacks.len() as u64
            + (1 << 20);
        Self {
            title: title.to_owned(),
            contents,
            weights,
            notes: Vec::new(),
            has_timeline: false,
            slow: None,
            busy: OnceLock::new(),
            trees: Mutex::default(),
            bytes,
        }
    }

    /// The greatest number of frames in a stack, if that is known.
    pub fn stack_limit(&self) -> Option<usize> {
        self.contents.stack_limit()
    }

    /// The stacks that costs refer to.
    pub fn stacks(&self) -> &Stacks {
        &self.contents.stacks
    }

    /// The costs that a query names, of stacks with a method that `filter` matches.
    ///
    /// # Errors
    /// If the profile has no such dimension or thread, or the filter is no regular expression.
    pub fn weights(
        &self,
        query: &ProfileQuery,
        filter: Option<&str>,
    ) -> Result<Weights, ViewError> {
        let found = match query.dimension.as_deref().filter(|key| !key.is_empty()) {
            None => (!self.weights.is_empty()).then_some(0),
            Some(key) => (self.weights.iter()).position(|weights| weights.measure.name() == key),
        };
        let found = found.map(|at| match self.busy(at).filter(|_| query.busy) {
            Some((busy, _)) => busy.clone(),
            None => self.weights[at].clone(),
        });
        let mut weights = found.ok_or_else(|| {
            let keys: Vec<&str> = self.weights.iter().map(|it| it.measure.name()).collect();
            match keys.as_slice() {
                [] => ViewError::missing("the profile counted nothing"),
                keys => ViewError::invalid(format!("dimension: one of {}", keys.join(", "))),
            }
        })?;
        let stacks = &self.contents.stacks;
        if let Some(thread) = query.thread.as_deref().filter(|key| !key.is_empty()) {
            let wanted: Box<dyn Fn(ThreadSerial) -> bool> = match thread.strip_prefix(GROUP) {
                Some(name) => Box::new(move |serial| pool_of(&self.thread_name(serial)) == name),
                None => {
                    let wanted: u32 = thread.parse().map_err(|_| {
                        ViewError::invalid(
                            "thread: the key of one of the profile's threads or groups",
                        )
                    })?;
                    Box::new(move |serial| serial.get() == wanted)
                }
            };
            let mut known = FxHashMap::default();
            weights.rows.retain(|row| {
                let trace = stacks.trace(row.trace);
                let serial = trace.and_then(|it| it.thread);
                serial.is_some_and(|it| *known.entry(it).or_insert_with(|| wanted(it)))
            });
        }
        let filter = filter.filter(|text| !text.is_empty());
        if let Some(filter) = filter {
            let filter = compile(filter)?;
            let mut known = FxHashMap::default();
            weights.rows.retain(|row| {
                let of_class = row
                    .class
                    .as_deref()
                    .is_some_and(|class| filter.is_match(class));
                let mut frames = stacks.frames_of(row.trace).iter();
                of_class
                    || frames.any(|&frame| {
                        let matches = || filter.is_match(&stacks.frame(frame).name());
                        *known.entry(frame).or_insert_with(matches)
                    })
            });
        }
        let is_part = query.thread.is_some() || filter.is_some();
        if is_part {
            // Costs that the profiler's cutoff left out belong to no thread or method.
            weights.total = weights.rows.iter().map(|row| row.value).sum();
        }
        Ok(weights)
    }

    /// The call tree that a query names; the last few are kept.
    ///
    /// # Errors
    /// As [`Self::weights`] has them.
    pub fn tree(
        &self,
        query: &ProfileQuery,
        filter: Option<&str>,
    ) -> Result<Arc<CallTree>, ViewError> {
        let key = (query.clone(), filter.unwrap_or_default().to_owned());
        let known = self
            .trees
            .lock()
            .iter()
            .find(|tree| tree.0 == key)
            .map(|it| it.1.clone());
        if let Some(tree) = known {
            return Ok(tree);
        }
        let weights = self.weights(query, filter)?;
        let stacks = &self.contents.stacks;
        let tree = Arc::new(match query.invert {
            false => CallTree::new(stacks, &weights),
            true => CallTree::with_innermost_first(stacks, &weights),
        });
        let mut trees = self.trees.lock();
        trees.push((key, Arc::clone(&tree)));
        if trees.len() > KEPT {
            trees.remove(0);
        }
        Ok(tree)
    }

    /// The head of the profile.
    pub fn about(&self) -> ProfileAbout {
        let is_wall = clock_of(&self.contents.comments) == Some(Clock::Wall);
        let dimension = |(at, weights): (usize, &Weights)| Dimension {
            key: weights.measure.name(),
            label: match weights.measure {
                Measure::Samples if is_wall => Measure::Wall.title(),
                measure => measure.title(),
            },
            unit: weights.measure.unit(),
            total: weights.total,
            waits: self.busy(at).map_or(0, |it| it.1),
        };
        let first = self.weights.first();
        let mut notes = self.notes.clone();
        notes.extend(losses(&self.contents.comments));
        if let Some(damage) = self.contents.damage.entries.first() {
            notes.push(format!("the file is damaged: {}", damage.message));
        }
        if first.is_none() {
            notes.push("the profile counted nothing".to_owned());
        }
        let (threads, groups) =
            first.map_or_else(Default::default, |weights| self.threads(weights));
        ProfileAbout {
            kind: first.map_or("cpu", |weights| kind(weights.measure)),
            unit: first.map_or("samples", |weights| weights.measure.unit()),
            total: first.map_or(0, |weights| weights.total),
            title: self.title.clone(),
            dimensions: self.weights.iter().enumerate().map(dimension).collect(),
            threads,
            groups,
            notes,
            remarks: self.contents.comments.clone(),
            has_timeline: self.has_timeline,
            slow: self.slow.clone(),
        }
    }

    /// The costs without threads that wait for work, and the cost of these; none for measures that count no waits, and
    /// where one of both is nothing.
    fn busy(&self, at: usize) -> Option<&(Weights, u64)> {
        let clock = clock_of(&self.contents.comments);
        let all = self.busy.get_or_init(|| {
            let of = |weights: &Weights| {
                let busy = || without_idle(&self.contents.stacks, weights);
                may_wait(weights.measure, clock).then(busy).flatten()
            };
            self.weights.iter().map(of).collect()
        });
        all.get(at)?.as_ref()
    }

    /// The cost of threads that wait for work, which is left out of what a query with `busy` asks for.
    pub fn left_out(&self, query: &ProfileQuery) -> u64 {
        let key = query.dimension.as_deref().filter(|key| !key.is_empty());
        let at = key.map_or(Some(0), |key| {
            let mut all = self.weights.iter();
            all.position(|weights| weights.measure.name() == key)
        });
        let busy = at.filter(|_| query.busy).and_then(|at| self.busy(at));
        busy.map_or(0, |it| it.1)
    }

    fn thread_name(&self, serial: ThreadSerial) -> Cow<'_, str> {
        let thread = self.contents.thread(serial);
        let name = thread.and_then(|thread| thread.name.as_deref());
        match name.filter(|name| !name.is_empty()) {
            Some(name) => name.into(),
            None => format!("thread {serial}").into(),
        }
    }

    /// The threads of the first dimension, and their groups.
    fn threads(&self, weights: &Weights) -> (Vec<ThreadCost>, Vec<ThreadGroup>) {
        let stacks = &self.contents.stacks;
        let mut awake = FxHashMap::default();
        if let Some((busy, _)) = self.busy(0) {
            awake.extend(by_thread(stacks, busy));
        }
        let mut threads: Vec<ThreadCost> = Vec::new();
        let mut groups: FxHashMap<String, ThreadGroup> = FxHashMap::default();
        for (serial, total) in by_thread(stacks, weights) {
            let Some(of) = serial else {
                continue;
            };
            let waits = match self.busy(0) {
                Some(_) => total - awake.get(&serial).copied().unwrap_or(0).min(total),
                None => 0,
            };
            let name = self.thread_name(of).into_owned();
            let pool = pool_of(&name);
            let key = format!("{GROUP}{pool}");
            let group = groups.entry(key.clone()).or_insert_with(|| ThreadGroup {
                key: key.clone(),
                name: pool,
                threads: 0,
                total: 0,
                waits: 0,
            });
            group.threads += 1;
            group.total += total;
            group.waits += waits;
            if threads.len() < THREADS {
                threads.push(ThreadCost {
                    key: of.get().to_string(),
                    name,
                    total,
                    waits,
                    group: Some(key),
                });
            }
        }
        for thread in &mut threads {
            let of_several = |key: &String| groups.get(key).is_some_and(|it| it.threads > 1);
            thread.group = thread.group.take().filter(of_several);
        }
        let mut groups: Vec<_> = groups.into_values().filter(|it| it.threads > 1).collect();
        groups.sort_by(|a, b| (b.total, &a.key).cmp(&(a.total, &b.key)));
        (threads, groups)
    }
}

fn kind(measure: Measure) -> &'static str {
    match measure {
        Measure::Samples | Measure::Wall | Measure::NativeSamples => "cpu",
        Measure::Time | Measure::Calls => "times",
        Measure::AllocatedBytes
        | Measure::AllocatedObjects
        | Measure::LiveBytes
        | Measure::LiveObjects
        | Measure::NativeBytes => "allocation",
        Measure::Contention | Measure::Waits | Measure::NativeLock => "contention",
        Measure::Events | Measure::EventTime | Measure::EventBytes => "events",
    }
}

impl Held for ProfileFile {
    fn bytes(&self) -> u64 {
        // A tree has about as many nodes as the stacks have frames.
        self.bytes * (1 + self.trees.lock().len() as u64)
    }
}
