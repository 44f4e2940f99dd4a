//! Pages of tables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_server::views::ViewError;
use hprof_server::views::opened::Opened;
use hprof_server::views::page::TableQuery;
use hprof_server::views::table::Table;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::Session;

/// Rows of a page that is asked for without a limit.
const ROWS: usize = 20;
/// Rows of the largest page.
const MAX_ROWS: usize = 200;
/// How long a table may be incomplete before it is shown as it is.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two looks at it.
const PAUSE: Duration = Duration::from_millis(150);

/// The part of a table that is wanted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct Page {
    /// Rows, 1 to 200; 20 without it.
    limit: Option<usize>,
    /// The row to begin at, counted from 0.
    offset: Option<usize>,
    /// A column to sort by, with `-` before it for the largest first.
    sort: Option<String>,
    /// A regular expression that the first column matches, upper or lower case.
    filter: Option<String>,
}

impl Page {
    /// The query for a view.
    ///
    /// # Errors
    /// If the limit is none.
    pub fn query(&self) -> Result<TableQuery, Refusal> {
        let limit = self.limit.unwrap_or(ROWS);
        if limit == 0 || limit > MAX_ROWS {
            return Err(Refusal::Wrong(format!(
                "limit={limit}: a page has 1 to {MAX_ROWS} rows; ask for the rest with offset"
            )));
        }
        Ok(TableQuery {
            offset: self.offset,
            limit: Some(limit),
            sort: self.sort.clone(),
            filter: self.filter.clone(),
            ..TableQuery::default()
        })
    }

    /// An answer with a table's rows.
    pub fn answer(&self, table: &Table) -> Answer {
        let mut answer = Answer::new(serde_json::json!({}))
            .with("rows", &table.rows)
            .with("offset", self.offset.unwrap_or(0))
            .with("total", table.total)
            .cut_at("rows");
        if !table.notes.is_empty() {
            answer = answer.with("notes", &table.notes);
        }
        if table.pending {
            answer = answer.next("some figures are still being worked out; ask again for them");
        }
        answer
    }

    /// Asks a view for a table, again until all of its figures are there.
    ///
    /// # Errors
    /// Returns the errors of the view.
    pub async fn ask<V>(
        &self,
        session: &Session,
        call: &Call,
        file: &str,
        view: V,
    ) -> Result<Answer, Refusal>
    where
        V: Fn(&Arc<Opened>, &TableQuery) -> Result<Table, ViewError> + Send + Sync + 'static,
    {
        let (view, query) = (Arc::new(view), self.query()?);
        let begun = Instant::now();
        loop {
            let (view, query) = (Arc::clone(&view), query.clone());
            let table = session
                .heap(call, file, move |opened| view(opened, &query))
                .await?;
            if !table.pending || begun.elapsed() > PATIENCE {
                return Ok(self.answer(&table));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
