//! Single objects: what is in them, who holds them, why they are alive.

use std::sync::Arc;

use hprof_server::views::entries::entries;
use hprof_server::views::fields::{FieldsQuery, fields};
use hprof_server::views::object::object;
use hprof_server::views::opened::Opened;
use hprof_server::views::paths::path;
use hprof_server::views::references::{Direction, ReferencesQuery, references};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Question;
use super::page::Page;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::Session;

/// Entries of a collection that are shown beside its fields.
const ENTRIES: usize = 10;

/// Asks for an object.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ObjectQuestion {
    /// The heap dump.
    file: String,
    /// The identifier of the object, such as 0x7f001230.
    object: String,
    #[serde(flatten)]
    page: Page,
}

impl Question for ObjectQuestion {
    const NAME: &'static str = "object";
    const ABOUT: &'static str = "Shows an object: class, sizes, value, root, dominator; its fields with \
        their values, or the elements of an array; of collections the first entries too. Rows whose value \
        is an object have its identifier in `object`, to ask on.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let (id, query) = (self.object.clone(), self.page.query()?);
        let view = move |opened: &Arc<Opened>| {
            let head = object(opened, &id)?;
            let table = fields(opened, &id, FieldsQuery::default(), &query)?;
            let mut few = query;
            (few.limit, few.filter, few.sort, few.offset) = (Some(ENTRIES), None, None, None);
            let entries = entries(opened, &id, &few)?;
            Ok((head, table, entries))
        };
        let (head, table, entries) = session.heap(call, &self.file, view).await?;
        let mut answer = self.page.answer(&table).with("object", head);
        if entries.total > 0 {
            answer = answer
                .with("entries", &entries.rows)
                .with("entries_total", entries.total);
        }
        Ok(answer
            .next("object with the identifier of a field's value: the next level")
            .next("path_to_root: why it is alive; references with direction=in: who holds it"))
    }
}

/// Asks for the way from a root.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PathToRoot {
    /// The heap dump.
    file: String,
    /// The identifier of the object.
    object: String,
}

impl Question for PathToRoot {
    const NAME: &'static str = "path_to_root";
    const ABOUT: &'static str = "Shows why an object is alive: the shortest path from a garbage-collection \
        root to it, each step with the field or element that holds the next. The step of your own code that \
        should have let go is the cause of a leak.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let id = self.object;
        let found = session
            .heap(call, &self.file, move |opened| path(opened, &id))
            .await?;
        Ok(Answer::new(found)
            .cut_at("items")
            .next("object with the identifier of a step: its fields")
            .next("references with direction=in: other holders, if cutting this path would not be enough"))
    }
}

/// The way of references.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Way {
    /// Who holds the object.
    In,
    /// Which objects it holds.
    Out,
}

/// Asks for references.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReferencesQuestion {
    /// The heap dump.
    file: String,
    /// The identifier of the object.
    object: String,
    /// `in`: who holds the object; `out`: which objects it holds.
    direction: Way,
    #[serde(flatten)]
    page: Page,
}

impl Question for ReferencesQuestion {
    const NAME: &'static str = "references";
    const ABOUT: &'static str = "Lists who holds an object (direction=in), or which objects it holds \
        (direction=out), with the field or element of each reference, class and sizes.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let which = ReferencesQuery {
            direction: match self.direction {
                Way::In => Direction::In,
                Way::Out => Direction::Out,
            },
        };
        let id = self.object;
        let view = move |opened: &_, query: &_| references(opened, &id, which, query);
        let answer = self.page.ask(session, call, &self.file, view).await?;
        Ok(answer.next("object or references with the `object` of a row"))
    }
}
