//! What is shown: the measures of one profile.

use hprof_format::ids::ThreadSerial;

use crate::methods::{MethodCost, by_method};
use crate::table::Stacks;
use crate::weights::{Measure, Weights};
use crate::{CallTree, Tables};

/// A profile as pictures and other tools need it.
pub struct Profile<'a> {
    /// What it is called: the name of its file.
    pub title: &'a str,
    /// The traces.
    pub stacks: &'a Stacks,
    /// What they cost, in one or several measures.
    pub weights: Vec<Weights>,
    /// Tells the names of threads.
    pub thread_name: &'a dyn Fn(ThreadSerial) -> Option<String>,
    /// The profiler's remarks.
    pub remarks: &'a [String],
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
    /// What is counted: `CPU samples`.
    pub title: String,
    /// The unit of the costs: `samples`.
    pub unit: String,
    /// True if the leaves of the tree are classes of objects, no methods.
    pub ends_in_class: bool,
    /// The costs.
    pub tree: CallTree,
    /// What a row of the table is: `method`.
    pub row: &'static str,
    /// The rows of the table, most costly first.
    pub rows: Vec<MethodCost>,
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
            title: weights.measure.title().to_owned(),
            unit: weights.measure.unit().to_owned(),
            ends_in_class: !is_inverted && weights.rows.iter().any(|row| row.class.is_some()),
            tree,
            row: "method",
            rows: by_method(stacks, weights),
        }
    }
}

impl Profile<'_> {
    /// A picture for each measure that counted anything.
    pub fn views(&self, are_inverted: bool) -> Vec<View> {
        let counted = self.weights.iter().filter(|weights| weights.total > 0);
        counted
            .map(|weights| View::of(self.stacks, weights, are_inverted))
            .collect()
    }
}
