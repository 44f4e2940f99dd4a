//! A profile that is open: its costs, and the trees that were made of them.

use std::path::Path;
use std::sync::Arc;

use hprof_analysis::contents::{Contents, ReadOptions, read};
use hprof_analysis::input::Input;
use hprof_stacks::pictures::profile::all_weights;
use hprof_stacks::{CallTree, Measure, Stacks, Weights, by_thread};
use parking_lot::Mutex;
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
const THREADS: usize = 1000;

/// Which stacks of a profile are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProfileQuery {
    /// The key of a dimension; the first without it.
    pub dimension: Option<String>,
    /// The key of a thread, of whose stacks alone the answer is.
    pub thread: Option<String>,
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
    /// The gaps of the profile, as sentences; empty for a sound one.
    pub notes: Vec<String>,
    /// The profiler's own counts and settings, as they stand in the file.
    pub remarks: Vec<String>,
    /// True if the profile tells when its samples were taken.
    pub has_timeline: bool,
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
        let input = Input::open(path).map_err(ViewError::failed)?;
        let contents = read(input, &options).map_err(ViewError::failed)?;
        let weights = all_weights(&contents);
        Ok(Self::new(title, Arc::new(contents), weights))
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
            None => self.weights.first(),
            Some(key) => self
                .weights
                .iter()
                .find(|weights| weights.measure.name() == key),
        };
        let mut weights = found.cloned().ok_or_else(|| {
            let keys: Vec<&str> = self.weights.iter().map(|it| it.measure.name()).collect();
            match keys.as_slice() {
                [] => ViewError::missing("the profile counted nothing"),
                keys => ViewError::invalid(format!("dimension: one of {}", keys.join(", "))),
            }
        })?;
        let stacks = &self.contents.stacks;
        if let Some(thread) = query.thread.as_deref().filter(|key| !key.is_empty()) {
            let serial: u32 = thread.parse().map_err(|_| {
                ViewError::invalid("thread: the key of one of the profile's threads, a number")
            })?;
            weights.rows.retain(|row| {
                let trace = stacks.trace(row.trace);
                trace
                    .and_then(|it| it.thread)
                    .is_some_and(|it| it.get() == serial)
            });
        }
        let filter = filter.filter(|text| !text.is_empty());
        if let Some(filter) = filter {
            let filter = compile(filter)?;
            let mut known = rustc_hash::FxHashMap::default();
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
        let dimension = |weights: &Weights| Dimension {
            key: weights.measure.name(),
            label: weights.measure.title(),
            unit: weights.measure.unit(),
            total: weights.total,
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
        ProfileAbout {
            kind: first.map_or("cpu", |weights| kind(weights.measure)),
            unit: first.map_or("samples", |weights| weights.measure.unit()),
            total: first.map_or(0, |weights| weights.total),
            title: self.title.clone(),
            dimensions: self.weights.iter().map(dimension).collect(),
            threads: first.map_or_else(Vec::new, |weights| self.threads(weights)),
            notes,
            remarks: self.contents.comments.clone(),
            has_timeline: self.has_timeline,
        }
    }

    fn threads(&self, weights: &Weights) -> Vec<ThreadCost> {
        let costs = by_thread(&self.contents.stacks, weights).into_iter();
        let known = costs.filter_map(|(serial, total)| {
            let serial = serial?;
            let name = self
                .contents
                .thread(serial)
                .and_then(|thread| thread.name.clone());
            Some(ThreadCost {
                key: serial.get().to_string(),
                name: name.unwrap_or_else(|| format!("thread {serial}")),
                total,
            })
        });
        known.take(THREADS).collect()
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
        Measure::Contention | Measure::Waits => "contention",
    }
}

impl Held for ProfileFile {
    fn bytes(&self) -> u64 {
        // A tree has about as many nodes as the stacks have frames.
        self.bytes * (1 + self.trees.lock().len() as u64)
    }
}
