//! The input of pictures: the measures of one profile.

use hprof_format::held::Held;
use hprof_format::ids::ThreadSerial;
use rustc_hash::FxHashMap;

use super::about::clock_of;
use crate::idle::{may_wait, without_idle};
use crate::table::Stacks;
use crate::weights::{Measure, Weight, Weights};
use crate::{CallTree, MethodLines, Own, OwnCosts, RunFacts, Tables, by_line};

/// A profile as pictures and other tools need it.
pub struct Profile<'a> {
    /// The name of its file.
    pub title: &'a str,
    /// The traces.
    pub stacks: &'a Stacks,
    /// Their costs, in one or several measures.
    pub weights: Vec<Weights>,
    /// Tells the names of threads.
    pub thread_name: &'a dyn Fn(ThreadSerial) -> Option<String>,
    /// The profiler's remarks.
    pub remarks: &'a [String],
    /// Which methods are the program's; inferred if none.
    pub own: Option<Own>,
    /// The greatest number of frames in a stack, if that is known.
    pub depth: Option<usize>,
}

/// All measures that tables hold, the one to show first in front.
pub fn all_weights(tables: &(impl Tables + ?Sized)) -> Vec<Weights> {
    Measure::ALL
        .into_iter()
        .filter_map(|measure| Weights::of(tables, measure))
        .collect()
}

/// One picture: a tree of costs with its words.
pub struct View {
    /// The measure of the costs; none for pictures of heaps.
    pub measure: Option<Measure>,
    /// The name of the measure, such as `CPU samples`.
    pub title: String,
    /// The unit of the costs: `samples`.
    pub unit: String,
    /// True if the leaves of the tree are classes of objects, no methods.
    pub ends_in_class: bool,
    /// The costs.
    pub tree: CallTree,
    /// How the table beside the picture speaks of costs.
    pub words: Words,
    /// True if the roots of the tree are threads.
    pub has_threads: bool,
    /// The answer for pages; empty in other pictures.
    pub answer: Answer,
    /// In pages of samples on the wall clock: what waits for work, which `tree` lacks.
    pub idle: Option<Idle>,
}

/// The costs of threads that wait for work.
pub struct Idle {
    /// The costs of all threads, those that wait for work too.
    pub whole: CallTree,
    /// The cost of those that wait for work.
    pub cost: u64,
}

/// The part of the program and its hottest lines.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Costs by the program's methods.
    pub own: OwnCosts,
    /// The hottest lines of the methods that cost most.
    pub lines: FxHashMap<String, MethodLines>,
}

/// The number of lines that are kept of a method, for pages that show its source.
const LINES: usize = 100;
/// A method with less than this part of all costs has no lines in a page.
const LEAST_PART: u64 = 1000;

impl Answer {
    /// The answer of one measure.
    pub fn of(stacks: &Stacks, weights: &Weights, own: Option<&Own>, depth: Option<usize>) -> Self {
        // Calls say nothing of where a program should be changed.
        if weights.measure == Measure::Calls {
            return Self::default();
        }
        let mut lines = by_line(stacks, weights);
        lines.retain(|_, method| {
            method.lines.truncate(LINES);
            method.total > weights.total / LEAST_PART && !method.lines.is_empty()
        });
        Self {
            own: OwnCosts::of(stacks, weights, own, depth),
            lines,
        }
    }
}

/// The titles of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// The heading of a method's own cost.
    pub own: &'static str,
    /// The heading of its cost with all that it calls; none if that has no meaning.
    pub total: Option<&'static str>,
    /// The rows of the table.
    pub rows: Rows,
}

/// The rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Methods, and the classes of what they allocate or wait for.
    Methods,
    /// Classes, in trees of packages.
    Classes,
}

impl Words {
    /// The words of a measure.
    pub const fn of(measure: Measure) -> Self {
        let (own, total) = match measure {
            Measure::Samples | Measure::Time | Measure::Wall | Measure::NativeSamples => {
                ("Self", "With calls")
            }
            Measure::Calls => ("Calls", "With calls from it"),
            Measure::AllocatedBytes | Measure::AllocatedObjects | Measure::NativeBytes => {
                ("Allocated here", "Here and in calls")
            }
            Measure::LiveBytes | Measure::LiveObjects => ("Alive from here", "From here and calls"),
            Measure::Contention | Measure::Waits | Measure::NativeLock => {
                ("Waited here", "Here and in calls")
            }
            Measure::Events | Measure::EventTime | Measure::EventBytes => {
                ("Here", "Here and in calls")
            }
        };
        Self {
            own,
            total: Some(total),
            rows: Rows::Methods,
        }
    }

    /// The titles for objects by package and class.
    pub const fn of_classes(own: &'static str) -> Self {
        Self {
            own,
            total: None,
            rows: Rows::Classes,
        }
    }
}

impl View {
    /// The picture of a profile in one measure; if `is_inverted`, each stack from its innermost
    /// method on.
    pub fn of(stacks: &Stacks, weights: &Weights, is_inverted: bool) -> Self {
        let tree = match is_inverted {
            false => CallTree::new(stacks, weights),
            true => CallTree::with_innermost_first(stacks, weights),
        };
        Self {
            measure: Some(weights.measure),
            title: weights.measure.title().to_owned(),
            unit: weights.measure.unit().to_owned(),
            ends_in_class: !is_inverted && weights.rows.iter().any(|row| row.class.is_some()),
            tree,
            words: Words::of(weights.measure),
            has_threads: false,
            answer: Answer::default(),
            idle: None,
        }
    }
}

impl Profile<'_> {
    /// A picture for each measure that counted anything.
    pub fn views(&self, are_inverted: bool) -> Vec<View> {
        let facts = RunFacts::read(self.remarks.iter().map(String::as_str));
        let counted = self.weights.iter().filter(|weights| weights.total > 0);
        let view = |weights: &Weights| View {
            title: facts.title(weights.measure),
            unit: facts.unit(weights.measure).to_owned(),
            ..View::of(self.stacks, weights, are_inverted)
        };
        counted.map(view).collect()
    }

    /// The pictures of a page, which can tell threads apart. Native memory that is held for long comes first.
    pub fn page_views(&self) -> Vec<View> {
        let views = self.views_of_measures();
        self.held_view().into_iter().chain(views).collect()
    }

    /// Native memory that was allocated in the first half of the recording and is still held, by the remarks on it.
    fn held_view(&self) -> Option<View> {
        let held: Vec<Held> = (self.remarks.iter())
            .filter_map(|it| Held::parse(it))
            .collect();
        let rows = held.iter().map(|it| Weight {
            trace: it.trace,
            value: it.bytes,
            class: Some(it.function.as_str().into()),
        });
        let weights = Weights {
            measure: Measure::LiveBytes,
            total: held.iter().map(|it| it.bytes).sum(),
            rows: rows.collect(),
        };
        if weights.total == 0 {
            return None;
        }
        let mut view = View::of(self.stacks, &weights, false);
        view.title = "Held since the first half".to_owned();
        view.words = Words {
            own: "Held from here",
            total: Some("From here and calls"),
            rows: Rows::Methods,
        };
        // Events of the measure are those of all that was allocated.
        view.measure = None;
        view.answer = Answer::of(self.stacks, &weights, self.own.as_ref(), self.depth);
        Some(view)
    }

    fn views_of_measures(&self) -> Vec<View> {
        let mut views = self.views(false);
        let names_thread = |weights: &Weights| {
            let mut rows = weights.rows.iter();
            rows.any(|row| {
                let trace = self.stacks.trace(row.trace);
                trace.is_some_and(|trace| trace.thread.is_some())
            })
        };
        let clock = clock_of(self.remarks);
        let counted = self.weights.iter().filter(|weights| weights.total > 0);
        for (view, weights) in views.iter_mut().zip(counted) {
            view.has_threads = names_thread(weights);
            let tree = |weights: &Weights| match view.has_threads {
                true => CallTree::by_thread(self.stacks, weights, self.thread_name),
                false => CallTree::new(self.stacks, weights),
            };
            let busy = may_wait(weights.measure, clock)
                .then(|| without_idle(self.stacks, weights))
                .flatten();
            let whole = tree(weights);
            let of = |weights| Answer::of(self.stacks, weights, self.own.as_ref(), self.depth);
            match busy {
                Some((busy, cost)) => {
                    (view.tree, view.answer) = (tree(&busy), of(&busy));
                    view.idle = Some(Idle { whole, cost });
                }
                None => (view.tree, view.answer) = (whole, of(weights)),
            }
        }
        views
    }
}
