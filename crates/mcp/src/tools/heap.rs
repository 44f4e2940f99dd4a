//! A heap dump as a whole: suspects, dominators, classes, waste, differences.

use std::sync::Arc;

use hprof_server::views::compare::{CompareBy, compare};
use hprof_server::views::dominators::{DominatorsBy, DominatorsQuery, dominators};
use hprof_server::views::histogram::{HistogramBy, HistogramQuery, histogram};
use hprof_server::views::overview::suspects;
use hprof_server::views::waste;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Question;
use super::page::Page;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::{Session, blocking};

/// Steps of a way that are shown at its start and at its end.
const STEPS: usize = 20;

/// Asks for leak suspects.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Suspects {
    /// The heap dump.
    file: String,
}

impl Question for Suspects {
    const NAME: &'static str = "suspects";
    const ABOUT: &'static str = "Names the leak suspects of a heap dump: what keeps an unexpected part \
        of the heap alive, with the facts in sentences, the object at which memory piles up, the path from \
        a root to it with the field of each step, and what it keeps, by class. Observations beside them: deadlocks, \
        the thread that ran out of memory, memory that no root reaches, direct memory. Ask this first about a leak.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let mut found = session
            .heap(call, &self.file, |opened| Ok(suspects(opened)))
            .await?;
        let is_none = found.items.is_empty();
        for item in &mut found.items {
            // Both ends of a long way tell most: the root, and what holds the object.
            if item.path.len() > 2 * STEPS {
                let end = item.path.len() - STEPS;
                item.path.drain(STEPS..end);
            }
        }
        let answer = Answer::new(found).cut_at("items");
        Ok(match is_none {
            true => answer.next("no suspect stands out; dominators shows the largest objects"),
            false => answer
                .next("object with the `object` of a suspect: its fields with their values")
                .next("dominators with node= that object: what it keeps, largest first")
                .next("references with direction=in: all objects that refer to it"),
        })
    }
}

/// The unit of rows of a histogram.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum By {
    #[default]
    Class,
    Package,
    Loader,
    Superclass,
}

/// Asks for classes.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Histogram {
    /// The heap dump.
    file: String,
    /// The unit of rows.
    #[serde(default)]
    by: By,
    #[serde(flatten)]
    page: Page,
}

impl Question for Histogram {
    const NAME: &'static str = "histogram";
    const ABOUT: &'static str = "Counts the live objects of a heap dump by class, package or class loader: \
        number, shallow and retained size. Use filter for a class by name.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let by = HistogramQuery {
            by: match self.by {
                By::Class => HistogramBy::Class,
                By::Package => HistogramBy::Package,
                By::Loader => HistogramBy::Loader,
                By::Superclass => HistogramBy::Superclass,
            },
            node: None,
        };
        let view = move |opened: &_, query: &_| histogram(opened, &by, query);
        let answer = self.page.ask(session, call, &self.file, view).await?;
        Ok(answer
            .next("class with the `class` of a row: its fields, statics and instances")
            .next("paths_to_class: who keeps its instances alive"))
    }
}

/// The unit of rows of the dominator tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TreeBy {
    #[default]
    Object,
    Class,
    Package,
    Loader,
}

/// Asks for the dominator tree.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Dominators {
    /// The heap dump.
    file: String,
    /// The `node` or `object` of a row whose children are wanted; the top of the tree without it.
    node: Option<String>,
    /// The unit of rows; the node of a group of objects belongs to its unit.
    #[serde(default)]
    by: TreeBy,
    #[serde(flatten)]
    page: Page,
}

impl Question for Dominators {
    const NAME: &'static str = "dominators";
    const ABOUT: &'static str = "Shows the dominator tree level by level: without node the objects that \
        keep most memory alive, with node what that object alone keeps alive, the largest first. Go down \
        from level to level until the sizes become many and small: the object above is where memory piles up.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let by = DominatorsQuery {
            by: match self.by {
                TreeBy::Object => DominatorsBy::Object,
                TreeBy::Class => DominatorsBy::Class,
                TreeBy::Package => DominatorsBy::Package,
                TreeBy::Loader => DominatorsBy::Loader,
            },
            node: self.node,
        };
        let view = move |opened: &Arc<_>, query: &_| dominators(opened, &by, query);
        let answer = self.page.ask(session, call, &self.file, view).await?;
        Ok(answer
            .next("dominators with the `node` of a row: what is below it")
            .next("path_to_root: why an object is alive; object: its fields"))
    }
}

/// The kind of waste.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Strings and arrays with equal contents.
    Duplicates,
    /// Collections by class, with their empty places.
    Collections,
}

/// Asks for waste.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Waste {
    /// The heap dump.
    file: String,
    /// Which waste is wanted.
    kind: Kind,
    #[serde(flatten)]
    page: Page,
}

impl Question for Waste {
    const NAME: &'static str = "waste";
    const ABOUT: &'static str = "Shows memory that a program could do without: strings and arrays with \
        equal contents, or collections that are empty or have more places than elements.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let kind = self.kind;
        let view = move |opened: &Arc<_>, query: &_| match kind {
            Kind::Duplicates => waste::duplicates(opened, query),
            Kind::Collections => waste::collections(opened, query),
        };
        self.page.ask(session, call, &self.file, view).await
    }
}

/// The unit of rows of a comparison.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Class,
    Package,
    /// Classes of the objects at the top of the dominator tree.
    Dominator,
}

/// Asks for what has grown.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Diff {
    /// The earlier heap dump.
    before: String,
    /// The later heap dump of the same program.
    after: String,
    /// The unit of rows.
    #[serde(default)]
    by: Unit,
    #[serde(flatten)]
    page: Page,
}

impl Question for Diff {
    const NAME: &'static str = "diff";
    const ABOUT: &'static str = "Compares two heap dumps of a program: objects, shallow and retained size \
        before and after (columns ending in _a, _b, _delta), what has grown most first. What grows from \
        dump to dump while the load stays is a leak.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let by = match self.by {
            Unit::Class => CompareBy::Class,
            Unit::Package => CompareBy::Package,
            Unit::Dominator => CompareBy::Dominator,
        };
        let query = self.page.query()?;
        // Both are read at the same time.
        let (before, after) = tokio::join!(
            session.heap_dump(call, &self.before),
            session.heap_dump(call, &self.after)
        );
        let (before, after, views) = (before?, after?, Arc::clone(session.views()));
        let table = blocking(move || {
            let open = |it: &crate::analyses::Analysis| views.heap(&it.key, it.files.clone());
            Ok(compare(&open(&before)?, &open(&after)?, by, &query)?)
        });
        let answer = self.page.answer(&table.await?);
        Ok(answer.next("paths_to_class in the later dump, for a class that grows: who keeps it"))
    }
}
