//! The questions, one file for each subject.

mod classes;
mod files;
mod heap;
mod logs;
mod objects;
mod page;
mod profile;
mod sql;
mod threads;

use std::sync::Arc;

use rmcp::handler::server::common::schema_for_type;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::Session;

/// A question that an assistant can ask. Its fields are the arguments, with their descriptions.
trait Question: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The name of the tool.
    const NAME: &'static str;
    /// Its answer, and when to call it.
    const ABOUT: &'static str;

    /// Answers.
    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal>;
}

fn tool<T: Question>() -> Tool {
    let mut schema: JsonObject = schema_for_type::<T>().as_ref().clone();
    for key in ["$schema", "title", "description"] {
        schema.remove(key);
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    let hints = ToolAnnotations::new().read_only(true).open_world(false);
    Tool::new(T::NAME, T::ABOUT, schema).with_annotations(hints)
}

fn read<T: Question>(arguments: Map<String, Value>) -> Result<T, Refusal> {
    let read = serde_json::from_value(Value::Object(arguments));
    read.map_err(|error| Refusal::Wrong(format!("the arguments of {}: {error}", T::NAME)))
}

/// Refuses arguments that a tool does not have: a caller who gives one expects it to have an
/// effect.
///
/// # Errors
/// If there is one.
pub fn check(tool: &Tool, arguments: &Map<String, Value>) -> Result<(), Refusal> {
    let known = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    let names = || known.into_iter().flat_map(|known| known.keys());
    match arguments
        .keys()
        .find(|name| !names().any(|known| known == *name))
    {
        None => Ok(()),
        Some(wrong) => {
            let names: Vec<&str> = names().map(String::as_str).collect();
            let wrong: String = wrong.chars().take(80).collect();
            let name = &tool.name;
            Err(Refusal::Wrong(match names.as_slice() {
                [] => format!("{name} takes no arguments, not {wrong}"),
                names => format!(
                    "{name} has no argument {wrong}; it has {}",
                    names.join(", ")
                ),
            }))
        }
    }
}

macro_rules! questions {
    ($($question:ty,)*) => {
        /// All tools, in the order in which an assistant needs them.
        pub fn list() -> Vec<Tool> {
            vec![$(tool::<$question>()),*]
        }

        /// Asks the question of a name.
        ///
        /// # Errors
        /// Returns the errors of the query.
        pub async fn ask(
            name: &str,
            arguments: Map<String, Value>,
            session: Arc<Session>,
            call: Call,
        ) -> Result<Answer, Refusal> {
            $(if name == <$question as Question>::NAME {
                let question = read::<$question>(arguments)?;
                // On the heap: the futures of all questions would be one large value.
                return Box::pin(question.ask(&session, &call)).await;
            })*
            Err(Refusal::Wrong(format!("there is no tool {name}")))
        }
    };
}

questions! {
    files::ListFiles,
    files::Open,
    heap::Suspects,
    heap::Dominators,
    objects::ObjectQuestion,
    objects::PathToRoot,
    objects::ReferencesQuestion,
    heap::Histogram,
    classes::ClassQuestion,
    classes::PathsToClass,
    threads::Threads,
    threads::ThreadQuestion,
    heap::Waste,
    sql::QuerySchema,
    sql::Query,
    heap::Diff,
    profile::Methods,
    profile::Callers,
    profile::Callees,
    profile::CallTreeQuestion,
    logs::RecordingFindings,
    logs::GcLog,
    logs::ThreadDumps,
    logs::ProcessMemoryFile,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_tool_and_argument_is_described() {
        let tools = list();
        assert!(tools.len() > 20);
        for tool in &tools {
            let about = tool.description.as_deref().unwrap_or_default();
            assert!(about.len() > 60, "{}: {about}", tool.name);
            let schema = &tool.input_schema;
            assert_eq!(schema["type"], "object", "{}", tool.name);
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                let about = property["description"].as_str().unwrap_or_default();
                assert!(about.len() > 10, "{} {name}: {property}", tool.name);
            }
        }
        let size = serde_json::to_string(&tools).unwrap().len();
        // An assistant reads all of them before it asks anything.
        assert!(size < 24_000, "{size}");
    }

    #[test]
    fn arguments_that_do_not_exist_are_refused_with_those_that_do() {
        let tool = tool::<heap::Histogram>();
        let wrong = json!({"file": "a", "top": 5});
        let refusal = check(&tool, wrong.as_object().unwrap())
            .unwrap_err()
            .to_string();
        assert!(refusal.contains("no argument top"), "{refusal}");
        assert!(refusal.contains("limit"), "{refusal}");
        let right = json!({"file": "a", "limit": 5, "by": "package"});
        check(&tool, right.as_object().unwrap()).unwrap();
        read::<heap::Histogram>(right.as_object().unwrap().clone()).unwrap();
        let wrong = json!({"file": "a", "limit": -1});
        assert!(read::<heap::Histogram>(wrong.as_object().unwrap().clone()).is_err());
    }
}
