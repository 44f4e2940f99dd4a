//! SQL over a heap dump: a query runs in a process of its own, so that one that takes too much
//! memory or time ends nothing else.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use utoipa::ToSchema;

use super::ViewError;
use super::opened::Files;

/// Rows of the largest answer.
pub const MAX_ROWS: usize = 10_000;
/// Rows of an answer that is asked for without a limit.
const ROWS: usize = 1000;
/// The longest query, in bytes.
const MAX_SQL: usize = 64 << 10;
/// The largest answer, in bytes of JSON.
const MAX_ANSWER: u64 = 16 << 20;
/// The longest message of an error, in bytes.
const MAX_ERROR: u64 = 16 << 10;
/// How long a query may take.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A query.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlQuery {
    /// SQL as SQLite has it; it begins with SELECT, WITH, VALUES or EXPLAIN.
    pub sql: String,
    /// Rows that are wanted, up to 10000; 1000 without it.
    pub limit: Option<usize>,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SqlColumn {
    /// The name that the query gives it.
    pub key: String,
    /// The label in words, for people.
    pub label: String,
    /// `text`, `count`, `bytes` or `object`, as far as name and values tell.
    pub kind: &'static str,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SqlAnswer {
    /// The columns.
    pub columns: Vec<SqlColumn>,
    /// The rows, each an array in the order of the columns.
    #[schema(value_type = Vec<Vec<Object>>)]
    pub rows: Vec<Vec<Value>>,
    /// True if there are more rows.
    pub truncated: bool,
    /// Sentences about what the rows cannot tell, such as an identifier that no object has.
    pub notes: Vec<String>,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// The tables that queries may name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SqlSchema {
    /// The tables.
    pub tables: Vec<SqlTable>,
    /// Functions of objects.
    pub functions: Vec<SqlFunction>,
    /// Queries to begin with.
    #[serde(default)]
    pub examples: Vec<SqlExample>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SqlTable {
    /// Its name.
    pub name: String,
    /// A phrase that says which thing a row stands for.
    pub about: String,
    /// Its columns.
    pub columns: Vec<SqlTableColumn>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SqlTableColumn {
    /// Its name.
    pub name: String,
    /// Its type in SQL.
    #[serde(rename = "type")]
    pub kind: String,
    /// A phrase that says which property the column has.
    pub about: String,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SqlFunction {
    /// How it is called.
    pub call: String,
    /// A phrase that says which rows the query gives.
    pub about: String,
}

/// A query to begin with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SqlExample {
    /// The question in words.
    pub title: String,
    /// The query.
    pub sql: String,
}

const EXAMPLES: [(&str, &str); 6] = [
    (
        "Which classes retain most?",
        "SELECT name, objects AS all_objects, size AS all_bytes, retained\nFROM classes ORDER BY retained DESC LIMIT 20",
    ),
    (
        "Which strings occur most often?",
        "SELECT value, count(*) AS n, sum(size) AS bytes FROM strings\nGROUP BY value ORDER BY bytes DESC LIMIT 20",
    ),
    (
        "Which objects retain most?",
        "SELECT id, class, size, retained FROM objects WHERE dominator IS NULL\nORDER BY retained DESC LIMIT 20",
    ),
    (
        "Who refers to the instances of a class, and in which field?",
        "SELECT r.source_class, r.name, count(*) AS n\nFROM objects o JOIN references r ON r.target = o.id\nWHERE o.class = 'java.util.HashMap' GROUP BY 1, 2 ORDER BY n DESC LIMIT 20",
    ),
    (
        "How are the values of a field distributed?",
        "SELECT value, count(*) AS n FROM fields\nWHERE class = 'java.lang.Thread' AND name = 'daemon' GROUP BY 1 ORDER BY n DESC",
    ),
    (
        "What do the stacks of threads hold?",
        "SELECT name, retained, frames, locals, top FROM threads ORDER BY retained DESC",
    ),
];

/// The command that runs queries, and the memory that one may take, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Runner<'a> {
    /// `hprof-rs`.
    pub executable: &'a Path,
    /// The limit of a query's process, in bytes.
    pub memory: u64,
    /// How long a query may take.
    pub deadline: Duration,
}

impl Runner<'_> {
    fn start(&self, arguments: &[&std::ffi::OsStr]) -> Result<Child, ViewError> {
        let mut command = Command::new(self.executable);
        command.arg("query").arg("--json").args(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_remove(crate::DATABASE_VARIABLE);
        // The process ends with the request, however that ends.
        command.kill_on_drop(true);
        command.spawn().map_err(ViewError::failed)
    }

    /// Asks a dump in SQL. Ends the process where the answer is complete, too large, too late, or
    /// no longer wanted.
    ///
    /// # Errors
    /// If the query is none, with SQLite's reason, or takes too long.
    pub async fn ask(&self, files: &Files, query: &SqlQuery) -> Result<SqlAnswer, ViewError> {
        let limit = query.limit.unwrap_or(ROWS);
        if limit == 0 || limit > MAX_ROWS {
            return Err(ViewError::invalid(format!("limit: 1 to {MAX_ROWS} rows")));
        }
        if query.sql.len() > MAX_SQL {
            return Err(ViewError::invalid(format!(
                "the query has more than {MAX_SQL} bytes"
            )));
        }
        let started = Instant::now();
        let answer = tokio::time::timeout(self.deadline, self.run(files, &query.sql, limit));
        let mut answer = answer.await.map_err(|_| {
            let seconds = self.deadline.as_secs();
            ViewError::TooLong(format!(
                "the query took more than {seconds} s: ask for less, by a condition on a key \
                 column such as id, class or target"
            ))
        })??;
        answer.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(answer)
    }

    async fn run(&self, files: &Files, sql: &str, limit: usize) -> Result<SqlAnswer, ViewError> {
        let rows = limit.to_string();
        let memory = self.memory.to_string();
        let mut child = self.start(&[
            "--arrays".as_ref(),
            "--limit".as_ref(),
            rows.as_ref(),
            "--memory".as_ref(),
            memory.as_ref(),
            "--index".as_ref(),
            files.index.as_ref(),
            "--trust-index".as_ref(),
            files.dump.as_ref(),
            "-".as_ref(),
        ])?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut input), Some(output), Some(errors)) = (input, output, errors) else {
            return Err(ViewError::failed("a process without pipes"));
        };
        let sql = sql.to_owned();
        // A command that ends before it has read all says why on standard error.
        let write = async move { input.write_all(sql.as_bytes()).await };
        let writing = tokio::spawn(write);
        let message = tokio::spawn(async move {
            let mut message = Vec::new();
            let _ = errors.take(MAX_ERROR).read_to_end(&mut message).await;
            message
        });
        let (answer, end) = read_answer(output, limit).await?;
        if end == End::Cut {
            // No caller waits for the rest of the rows.
            child.start_kill().map_err(ViewError::failed)?;
            child.wait().await.map_err(ViewError::failed)?;
            writing.abort();
            return answer.ok_or_else(|| ViewError::failed("no answer"));
        }
        let status = child.wait().await.map_err(ViewError::failed)?;
        let message = message.await.map_err(ViewError::failed)?;
        match answer.filter(|_| status.success()) {
            Some(answer) => Ok(answer),
            None => Err(refusal(
                files,
                &String::from_utf8_lossy(&message),
                status.code(),
            )),
        }
    }

    /// The tables that queries may name, as the command tells them.
    ///
    /// # Errors
    /// If the command cannot be run.
    pub async fn schema(&self) -> Result<SqlSchema, ViewError> {
        let child = self.start(&[])?;
        let output = tokio::time::timeout(self.deadline, child.wait_with_output()).await;
        let output = output.map_err(|_| ViewError::failed("the command does not end"))?;
        let output = output.map_err(ViewError::failed)?;
        let mut schema: SqlSchema =
            serde_json::from_slice(&output.stdout).map_err(ViewError::failed)?;
        let examples = EXAMPLES.iter().map(|(title, sql)| SqlExample {
            title: (*title).to_owned(),
            sql: (*sql).to_owned(),
        });
        schema.examples = examples.collect();
        Ok(schema)
    }
}

/// The message of a command that failed, without the place of the server's files.
fn refusal(files: &Files, message: &str, status: Option<i32>) -> ViewError {
    // Status 3: the process would have taken more memory than it may.
    if status == Some(3) {
        return ViewError::TooLong(
            "the query needs more memory than one may take: ask for less".to_owned(),
        );
    }
    let message = message.trim();
    let message = message.strip_prefix("hprof-rs: ").unwrap_or(message);
    // Further lines are for terminals: the page has the schema beside the query.
    let message = message.lines().next().unwrap_or_default();
    if message.is_empty() {
        return ViewError::failed(format!("the query ended with status {status:?}"));
    }
    let path = files.dump.to_string_lossy();
    ViewError::Invalid(message.replace(&*path, &files.name))
}

/// Why no more of an answer is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The command has ended its output.
    Whole,
    /// There is more than the server takes.
    Cut,
}

/// Reads columns, rows and notes, a line each, up to a number of rows; `None` if the output is no answer.
async fn read_answer(
    output: impl AsyncRead + Unpin,
    limit: usize,
) -> Result<(Option<SqlAnswer>, End), ViewError> {
    let mut lines = BufReader::new(output.take(MAX_ANSWER)).lines();
    let mut names: Option<Vec<String>> = None;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut truncated = false;
    let mut notes = Vec::new();
    let mut end = End::Whole;
    while let Some(line) = lines.next_line().await.map_err(ViewError::failed)? {
        let line = line.trim().trim_end_matches(',');
        if let Some(list) = line.strip_prefix("\"columns\": ") {
            names = serde_json::from_str(list).ok();
        } else if line.starts_with('[') {
            // The last line of an answer that is too large ends in its middle.
            match serde_json::from_str(line) {
                Ok(row) if rows.len() < limit => rows.push(row),
                _ => {
                    end = End::Cut;
                    break;
                }
            }
        } else if line == "\"truncated\": true" {
            truncated = true;
        } else if let Some(list) = line.strip_prefix("\"notes\": ") {
            notes = serde_json::from_str(list).unwrap_or_default();
        }
    }
    if lines.get_ref().get_ref().limit() == 0 {
        end = End::Cut;
    }
    let answer = |names: Vec<String>| SqlAnswer {
        columns: columns(names, &rows),
        rows,
        truncated: truncated || end == End::Cut,
        notes,
        millis: 0,
    };
    Ok((names.map(answer), end))
}

/// Columns with their kinds, as far as names and values tell.
fn columns(names: Vec<String>, rows: &[Vec<Value>]) -> Vec<SqlColumn> {
    let kind = |(at, key): (usize, String)| {
        let values = || {
            rows.iter()
                .filter_map(|row| row.get(at))
                .filter(|value| !value.is_null())
        };
        let is_id = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("0x"));
        let name = key.to_lowercase();
        let is_size = ["size", "retained", "bytes"]
            .iter()
            .any(|word| name.contains(word));
        let kind = match (values().next().is_some(), is_size) {
            (false, _) => "text",
            _ if values().all(is_id) => "object",
            (true, true) if values().all(Value::is_number) => "bytes",
            _ if values().all(Value::is_number) => "count",
            _ => "text",
        };
        let label = key.clone();
        SqlColumn { key, label, kind }
    };
    names.into_iter().enumerate().map(kind).collect()
}

#[cfg(test)]
mod tests;
