//! Classes: declarations, instances, and who keeps these alive.

use std::sync::Arc;

use hprof_server::views::ViewError;
use hprof_server::views::classes::{class, instances};
use hprof_server::views::opened::Opened;
use hprof_server::views::paths::{MergedItem, merged_paths};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Question;
use super::page::Page;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::Session;

/// Steps of merged paths that are shown.
const STEPS: usize = 80;
/// The share of the instances below which a way is left out, from 0 to 100.
const LEAST: f64 = 2.0;

/// The identifier of a class that is named by identifier or name.
fn id_of(opened: &Opened, named: &str) -> Result<String, ViewError> {
    if named.starts_with("0x") {
        return Ok(named.to_owned());
    }
    let classes = opened.snapshot.graph().classes();
    let mut found = classes
        .list()
        .iter()
        .filter(|class| class.id != 0 && class.name == named);
    match (found.next(), found.count()) {
        (Some(class), 0) => Ok(format!("{:#x}", class.id)),
        (Some(_), more) => Err(ViewError::Invalid(format!(
            "{} classes have the name {named}; take the identifier of one from histogram by=loader or \
             from query: SELECT id, loader FROM classes WHERE name = '{named}'",
            more + 1
        ))),
        (None, _) => Err(ViewError::Missing(format!(
            "the dump has no class {named}; find its full name with histogram and filter="
        ))),
    }
}

/// Asks for a class.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ClassQuestion {
    /// The heap dump.
    file: String,
    /// The full name of the class, such as java.util.HashMap, or its identifier.
    class: String,
    #[serde(flatten)]
    page: Page,
}

impl Question for ClassQuestion {
    const NAME: &'static str = "class";
    const ABOUT: &'static str = "Shows a class: super class, loader, declared fields, static fields with \
        values, sums, and its instances as a table (sort=-retained for those that keep most).";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let (named, query) = (self.class, self.page.query()?);
        let view = move |opened: &Arc<Opened>| {
            let id = id_of(opened, &named)?;
            Ok((class(opened, &id)?, instances(opened, &id, &query)?))
        };
        let (head, table) = session.heap(call, &self.file, view).await?;
        Ok(self
            .page
            .answer(&table)
            .with("class", head)
            .next("paths_to_class: who keeps the instances alive")
            .next("object with the `object` of an instance: its fields"))
    }
}

/// Asks who keeps a class alive.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PathsToClass {
    /// The heap dump.
    file: String,
    /// The full name of the class, or its identifier.
    class: String,
}

impl Question for PathsToClass {
    const NAME: &'static str = "paths_to_class";
    const ABOUT: &'static str = "Shows who keeps the instances of a class alive: the shortest paths from \
        roots to all of them, merged by the classes on the way, with the share of instances that each way \
        holds. Ways of less than 2 % are left out.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let named = self.class;
        let view = move |opened: &Arc<Opened>| merged_paths(opened, &id_of(opened, &named)?);
        let merged = session.heap(call, &self.file, view).await?;
        let mut steps = Vec::new();
        flatten(&merged.children, 0, &mut steps);
        let is_cut = steps.len() > STEPS;
        steps.truncate(STEPS);
        let mut answer = Answer::new(json!({
            "class": merged.name,
            "live_instances": merged.count,
            "steps": steps,
        }))
        .cut_at("steps");
        if is_cut {
            answer = answer.with("left_out", true);
        }
        Ok(answer.next("class, then path_to_root for one of its instances: the fields on the way"))
    }
}

/// The tree as lines, each with its depth, a way to its end before the next.
fn flatten(items: &[MergedItem], depth: usize, steps: &mut Vec<Value>) {
    for item in items.iter().filter(|item| item.percent >= LEAST) {
        if steps.len() > STEPS {
            return;
        }
        steps.push(json!({
            "depth": depth,
            "class": item.name,
            "instances_held": item.count,
            "percent": item.percent,
            "objects_here": item.objects,
            "repeated": item.repeated,
        }));
        flatten(&item.children, depth + 1, steps);
    }
}
