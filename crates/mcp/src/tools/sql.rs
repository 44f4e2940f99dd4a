//! Questions in SQL.

use hprof_server::views::sql::SqlQuery;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Question;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::Session;

/// Rows of an answer that is asked for without a limit.
const ROWS: usize = 50;
/// Rows of the largest answer.
const MAX_ROWS: usize = 1000;

/// Asks for the tables.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct QuerySchema {}

impl Question for QuerySchema {
    const NAME: &'static str = "query_schema";
    const ABOUT: &'static str = "Lists the tables, columns and functions that query knows, with examples. \
        Ask this before the first query; it is the same for all heap dumps.";

    async fn ask(self, session: &Session, _call: &Call) -> Result<Answer, Refusal> {
        let schema = session.views().schema(&session.runner()).await?;
        Ok(Answer::new(schema).next("query with SQL over these tables"))
    }
}

/// Asks in SQL.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Query {
    /// The heap dump.
    file: String,
    /// A statement as SQLite has it, that begins with SELECT, WITH, VALUES or EXPLAIN.
    sql: String,
    /// Rows, 1 to 1000; 50 without it.
    limit: Option<usize>,
}

impl Question for Query {
    const NAME: &'static str = "query";
    const ABOUT: &'static str = "Asks a heap dump in SQL (SQLite), for what no other tool answers: sums, \
        joins, values of fields over all instances. Tables are objects, classes, fields, references, roots, \
        strings, threads and more; see query_schema. A query has 30 seconds: give a condition on class, id, \
        source or target.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let limit = self.limit.unwrap_or(ROWS);
        if limit == 0 || limit > MAX_ROWS {
            return Err(Refusal::Wrong(format!(
                "limit={limit}: 1 to {MAX_ROWS} rows"
            )));
        }
        let analysis = session.heap_dump(call, &self.file).await?;
        let _permit = session.views().query_permit().await?;
        let query = SqlQuery {
            sql: self.sql,
            limit: Some(limit),
        };
        let found = session.runner().ask(&analysis.files, &query).await?;
        let columns: Vec<&str> = found
            .columns
            .iter()
            .map(|column| column.key.as_str())
            .collect();
        let answer = Answer::new(serde_json::json!({
            "columns": columns,
            "rows": found.rows,
            "truncated": found.truncated,
            "notes": found.notes,
            "millis": found.millis,
        }));
        let answer = answer.cut_at("rows");
        Ok(match found.truncated {
            true => {
                answer.next("there are more rows: aggregate, or add a condition, LIMIT and OFFSET")
            }
            false => answer,
        })
    }
}
