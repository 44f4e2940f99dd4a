//! `hprof-rs query`: SQL over a heap dump or the events of a recording.

mod recorded;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Args;
use hprof_analysis::snapshot::decimal;
use rusqlite::{Connection, Rows};
use serde_json::{Map, Value, json};

use crate::events::{self, Recording};
use crate::export::sheet;
use crate::query::{self, Cell, FUNCTIONS, TABLES};
use crate::render::out::{self, Out, tell};
use crate::render::screen::{Align, Style, count, cut, print, print_json, printable};
use crate::render::table::{self, Parts};
use crate::snapshot::{self, OpenArguments};

/// Query a heap dump, or the events of a recording, with SQL.
///
/// The tables of a heap dump are objects, classes, references, fields, strings, roots and threads; a recording (JFR)
/// has one for each type of events, such as jdk.SocketRead. Without a query, the command lists their columns. The SQL is
/// SQLite's; docs/query.md has more.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Query {
    /// A heap dump in binary format or a recording (JFR), plain or compressed with gzip, zip, zstd, xz or
    /// bzip2; `-` for a heap dump on standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The query; `-` reads it from standard input.
    #[arg(value_name = "SQL")]
    sql: Option<String>,

    /// List the tables with their columns; those of a recording with the number of events.
    #[arg(long, conflicts_with = "sql")]
    tables: bool,

    #[command(flatten)]
    look: OpenArguments,

    /// The number of rows to show; 0 for all [default: 50 on a terminal, else all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Print comma-separated values.
    #[arg(long)]
    csv: bool,

    /// Print JSON; without a query, tables, columns and functions.
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print the rows of the JSON as arrays in the order of the columns, of which several may have
    /// one name.
    #[arg(long, requires = "json")]
    arrays: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs query                                             list tables and columns
  hprof-rs query heap.hprof \"SELECT name, objects, retained FROM classes ORDER BY retained DESC\"
  hprof-rs query heap.hprof \"SELECT value, count(*) AS n FROM strings GROUP BY value ORDER BY n DESC\"
  hprof-rs query heap.hprof \"SELECT source_class, name, count(*) FROM references
                             WHERE target = '0x7ffd00770' GROUP BY 1, 2\"
  hprof-rs query recording.jfr --tables                      the types of events and their fields
  hprof-rs query recording.jfr \"SELECT host, count(*), sum(bytesRead), max(duration) / 1e6 AS ms
                               FROM jdk.SocketRead GROUP BY host ORDER BY ms DESC\"
  hprof-rs query heap.hprof \"SELECT id, field(id, 'user.name') FROM objects
                             WHERE class = 'com.example.Session'\" --csv > sessions.csv";

/// Rows on a terminal.
const ON_TERMINAL: u64 = 50;
/// Rows whose cells decide how wide columns are.
const MEASURED: usize = 1000;
/// Characters of a cell in a table.
const WIDEST: usize = 100;

impl Query {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let recording = match &self.file {
            Some(file) => events::open_if_recording(file)?,
            None => None,
        };
        if let (Some(recording), None) = (&recording, &self.sql) {
            return match self.json {
                true => print_json(&recorded::schema(recording)),
                false => print(&recorded::tables(recording, Style::of_stdout())),
            };
        }
        let (Some(file), Some(sql)) = (&self.file, &self.sql) else {
            return match self.json {
                true => print_json(&schema()),
                false => print(&tables(Style::of_stdout())),
            };
        };
        let sql = match sql.as_str() {
            "-" => io::read_to_string(io::stdin()).context("the query on standard input")?,
            sql => sql.to_owned(),
        };
        if let Some(recording) = recording {
            return self.events(&recording, &sql);
        }
        query::check(&sql)?;
        let snapshot = snapshot::open(file, &self.look)?;
        let name = snapshot.name.clone();
        let (connection, heap) = query::connect(snapshot)?;
        let answer = Asked {
            name: &name,
            connection: &connection,
            sql: &query::prepare(&sql),
            explain: &|error| query::explain(error),
            hints: &|| heap.hints(),
        };
        self.answer(&answer)
    }

    /// Queries the events of a recording.
    fn events(&self, recording: &Recording, sql: &str) -> anyhow::Result<ExitCode> {
        query::check_of(sql, "SELECT * FROM jdk.SocketRead ORDER BY duration DESC")?;
        let views = query::recorded::views(&recording.types);
        let connection = query::recorded::connect(recording, sql)?;
        self.answer(&Asked {
            name: recording.name(),
            connection: &connection,
            sql: &query::recorded::prepare(sql, &views),
            explain: &|error| query::recorded::explain(error, &views),
            hints: &Vec::new,
        })
    }

    fn answer(&self, asked: &Asked<'_>) -> anyhow::Result<ExitCode> {
        let explained = |error: rusqlite::Error| anyhow!("{}", (asked.explain)(&error));
        let mut statement = asked.connection.prepare(asked.sql).map_err(explained)?;
        let head: Vec<String> = (statement.column_names().iter())
            .map(|name| (*name).to_owned())
            .collect();
        let limit = match self.limit {
            Some(0) => u64::MAX,
            Some(limit) => limit,
            None if out::is_terminal() && !self.csv && !self.json => ON_TERMINAL,
            None => u64::MAX,
        };
        let rows = statement.query([]).map_err(explained)?;
        let mut answer = Answer {
            rows,
            left: limit,
            columns: head.len(),
            is_cut: false,
            explain: asked.explain,
        };
        let mut out = Out::new();
        if self.json {
            write_json(&mut out, asked.name, &head, self.arrays, &mut answer)?;
            write_notes(&mut out, answer.is_cut, &(asked.hints)())?;
        } else if self.csv {
            write_csv(&mut out, &head, &mut answer)?;
        } else {
            write_table(&mut out, &head, &mut answer)?;
        }
        out.flush()?;
        if answer.is_cut {
            tell!(
                "hprof-rs: {} rows are shown, and there are more (--limit 0 for all)",
                count(limit)
            );
        }
        for hint in (asked.hints)() {
            tell!("hprof-rs: {hint}");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A query and what it is asked of.
struct Asked<'a> {
    /// The name of the file.
    name: &'a str,
    connection: &'a Connection,
    sql: &'a str,
    explain: Explain<'a>,
    /// Sentences about the answer, once it is there.
    hints: &'a dyn Fn() -> Vec<String>,
}

/// Explains an error of a query.
type Explain<'a> = &'a dyn Fn(&rusqlite::Error) -> String;

/// The rows of an answer as they come.
struct Answer<'s> {
    rows: Rows<'s>,
    left: u64,
    columns: usize,
    is_cut: bool,
    explain: Explain<'s>,
}

impl Answer<'_> {
    fn next(&mut self) -> anyhow::Result<Option<Vec<Cell<'static>>>> {
        let row = self.rows.next();
        let row = row.map_err(|error| anyhow!("{}", (self.explain)(&error)))?;
        let Some(row) = row else {
            return Ok(None);
        };
        if self.left == 0 {
            self.is_cut = true;
            return Ok(None);
        }
        self.left -= 1;
        let mut cells = Vec::with_capacity(self.columns);
        for column in 0..self.columns {
            cells.push(match query::cell_of(row.get_ref(column)?) {
                Cell::Null => Cell::Null,
                Cell::Integer(number) => Cell::Integer(number),
                Cell::Real(number) => Cell::Real(number),
                Cell::Text(text) => Cell::from(text.into_owned()),
            });
        }
        Ok(Some(cells))
    }
}

fn write_csv(out: &mut Out, head: &[String], answer: &mut Answer<'_>) -> anyhow::Result<()> {
    let mut csv = csv::Writer::from_writer(out.data());
    let head = head.iter().map(|name| sheet::text(name));
    csv.write_record(head).map_err(of_system)?;
    while let Some(row) = answer.next()? {
        let cells = row.iter().map(|cell| match cell {
            Cell::Null => String::new(),
            Cell::Integer(number) => number.to_string(),
            Cell::Real(number) => decimal(*number),
            Cell::Text(text) => sheet::text(text),
        });
        csv.write_record(cells).map_err(of_system)?;
    }
    csv.flush()?;
    Ok(())
}

/// The error of the system in an error of the table, such as that of a pipe whose reader has seen enough.
fn of_system(error: csv::Error) -> anyhow::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => anyhow!("{other:?}"),
    }
}

/// An object with the file, the columns, and the rows as objects or arrays; a row a line, so that
/// large answers need not be held.
fn write_json(
    out: &mut Out,
    name: &str,
    head: &[String],
    as_arrays: bool,
    answer: &mut Answer<'_>,
) -> anyhow::Result<()> {
    let head_json = serde_json::to_string(head)?;
    let name = serde_json::to_string(name)?;
    out.json(&format!(
        "{{\n  \"file\": {name},\n  \"columns\": {head_json},\n  \"rows\": ["
    ))?;
    let mut separator = "\n";
    while let Some(row) = answer.next()? {
        let cells = row.into_iter().map(|cell| match cell {
            Cell::Null => Value::Null,
            Cell::Integer(number) => Value::from(number),
            // JSON has no such numbers.
            Cell::Real(number) if !number.is_finite() => Value::from(decimal(number)),
            Cell::Real(number) => Value::from(number),
            Cell::Text(text) => Value::from(text.into_owned()),
        });
        let row = match as_arrays {
            true => Value::Array(cells.collect()),
            false => Value::Object(head.iter().cloned().zip(cells).collect::<Map<_, _>>()),
        };
        let row = serde_json::to_string(&row)?;
        out.json(&format!("{separator}    {row}"))?;
        separator = ",\n";
    }
    out.json("\n  ]")?;
    Ok(())
}

/// The end of the JSON: whether there are more rows, and sentences about them, a line each.
fn write_notes(out: &mut Out, is_cut: bool, notes: &[String]) -> anyhow::Result<()> {
    let notes = serde_json::to_string(notes)?;
    out.json(&format!(
        ",\n  \"truncated\": {is_cut},\n  \"notes\": {notes}\n}}\n"
    ))?;
    Ok(())
}

fn write_table(out: &mut Out, head: &[String], answer: &mut Answer<'_>) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let head: Vec<String> = head.iter().map(|name| printable(name)).collect();
    let mut aligns = vec![Align::Right; head.len()];
    let mut first = vec![head.clone()];
    while first.len() <= MEASURED
        && let Some(row) = answer.next()?
    {
        for (align, cell) in aligns.iter_mut().zip(&row) {
            if matches!(cell, Cell::Text(_)) {
                *align = Align::Left;
            }
        }
        first.push(row.iter().map(in_words).collect());
    }
    let parts = Parts::new(aligns, &first);
    let mut rows = first.split_off(1);
    out.text(&style.bold(&parts.lines(vec![head]).concat()))?;
    while !rows.is_empty() {
        out.text(&parts.lines(std::mem::take(&mut rows)).concat())?;
        while rows.len() < MEASURED
            && let Some(row) = answer.next()?
        {
            rows.push(row.iter().map(in_words).collect());
        }
    }
    Ok(())
}

fn in_words(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Integer(number) => crate::render::screen::signed(i128::from(*number))
            .trim_start_matches('+')
            .to_owned(),
        Cell::Real(number) => decimal(*number),
        Cell::Text(text) => cut(&printable(text), WIDEST),
    }
}

/// The tables with their columns, and the functions, for programs.
fn schema() -> Value {
    let columns = |columns: &[query::Column]| -> Vec<Value> {
        let column = |(name, kind, about): &query::Column| json!({"name": name, "type": kind, "about": about});
        columns.iter().map(column).collect()
    };
    let table = |(name, about, of_table): &query::About| json!({"name": name, "about": about, "columns": columns(of_table)});
    let function = |(call, about): &(&str, &str)| json!({"call": call, "about": about});
    json!({
        "tables": TABLES.iter().map(table).collect::<Vec<_>>(),
        "functions": FUNCTIONS.iter().map(function).collect::<Vec<_>>(),
    })
}

/// The tables with their columns.
fn tables(style: Style) -> String {
    let mut text = String::new();
    for (name, about, columns) in TABLES {
        text.push_str(&format!("{}: {about}\n", style.bold(name)));
        let rows = columns.iter();
        let rows = rows.map(|(column, _, about)| [column, about].map(|it| (*it).to_owned()));
        text.push_str(&table::list(rows, None));
        text.push('\n');
    }
    text.push_str(&style.bold("Functions"));
    text.push('\n');
    let rows = FUNCTIONS.iter();
    let rows = rows.map(|(call, about)| [call, about].map(|it| (*it).to_owned()));
    text.push_str(&table::list(rows, None));
    text.push_str("\nFor example: hprof-rs query heap.hprof \"SELECT * FROM threads\"\n");
    text
}
