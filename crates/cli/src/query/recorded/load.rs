//! Fills the tables that a query reads.

use std::collections::{BTreeSet, HashMap};

use hprof_foreign::jfr::any::{Event, Field, Visitor};
use hprof_format::ids::TraceSerial;
use jiff::Timestamp;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Statement, ToSql, params_from_iter};

use super::{View, stored};
use crate::events::{Cell, Recording, cell};

/// The tables that a query reads.
#[derive(Debug, Default)]
pub(super) struct TablesRead {
    /// The tables of types, by number.
    pub(super) types: BTreeSet<usize>,
    /// True if the table of stacks is read, too.
    pub(super) stacks: bool,
}

/// Which tables a query reads, by the steps that SQLite would take.
pub(super) fn tables_of(connection: &Connection, sql: &str) -> rusqlite::Result<TablesRead> {
    let mut roots: HashMap<i64, String> = HashMap::new();
    let mut tables =
        connection.prepare("SELECT rootpage, name FROM sqlite_schema WHERE type = 'table'")?;
    let mut rows = tables.query([])?;
    while let Some(row) = rows.next()? {
        roots.insert(row.get(0)?, row.get(1)?);
    }
    let mut read = TablesRead::default();
    let starts_with = |word: &str| {
        let text = sql.trim_start();
        text.get(..word.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(word))
    };
    // It has no rows of tables.
    if starts_with("explain") {
        connection.prepare(sql)?;
        return Ok(read);
    }
    // For errors at places of the query itself.
    connection.prepare(sql)?;
    let mut steps = connection.prepare(&format!("EXPLAIN {sql}"))?;
    let mut rows = steps.query([])?;
    while let Some(row) = rows.next()? {
        let opcode: String = row.get("opcode")?;
        if opcode != "OpenRead" && opcode != "ReopenIdx" {
            continue;
        }
        let name = roots.get(&row.get::<_, i64>("p2")?);
        match name.and_then(|name| name.strip_prefix('~')) {
            Some("stacks") => read.stacks = true,
            Some(number) => read.types.extend(number.parse::<usize>().ok()),
            None => {}
        }
    }
    Ok(read)
}

/// Reads the events of some types into their tables.
pub(super) fn fill(
    connection: &Connection,
    recording: &Recording,
    views: &[View<'_>],
    read: &TablesRead,
) -> rusqlite::Result<()> {
    if read.types.is_empty() {
        return Ok(());
    }
    connection.execute_batch("BEGIN")?;
    let mut tables = HashMap::new();
    for &number in &read.types {
        let view = &views[number];
        let places = vec!["?"; stored(view)].join(", ");
        let insert = format!("INSERT INTO \"~{number}\" VALUES ({places})");
        let fields = view.fields.iter().map(|&at| &view.of.fields[at]);
        tables.insert(
            view.name,
            Table {
                insert: connection.prepare(&insert)?,
                has_duration: view.columns.iter().any(|it| it.name == "duration"),
                has_stacks: view.of.has_stacks,
                fields: fields.collect(),
            },
        );
    }
    let mut filling = Filling {
        tables,
        with_stacks: read.stacks,
        traces: BTreeSet::new(),
        row: Vec::new(),
        failure: None,
    };
    let found = recording.visit(&mut filling);
    let Filling {
        traces,
        failure,
        tables,
        ..
    } = filling;
    drop(tables);
    if let Some(error) = failure {
        return Err(error);
    }
    let mut insert = connection.prepare("INSERT INTO \"~stacks\" VALUES (?, ?, ?)")?;
    for trace in traces {
        let frames = found.stacks.frames_of(trace).iter();
        let frames: Vec<String> = frames
            .map(|&frame| found.stacks.frame(frame))
            .map(|frame| format!("{} ({})", frame.name(), frame.place()))
            .collect();
        let top = frames.first();
        insert.execute((trace.get(), top, frames.join("\n")))?;
    }
    connection.execute_batch("COMMIT")
}

struct Table<'a> {
    insert: Statement<'a>,
    has_duration: bool,
    has_stacks: bool,
    fields: Vec<&'a Field>,
}

struct Filling<'a> {
    tables: HashMap<&'a str, Table<'a>>,
    with_stacks: bool,
    traces: BTreeSet<TraceSerial>,
    row: Vec<Cell>,
    /// The first error, which ends the filling.
    failure: Option<rusqlite::Error>,
}

impl Visitor for Filling<'_> {
    fn wants(&self, name: &str) -> bool {
        self.failure.is_none() && self.tables.contains_key(name)
    }

    fn event(&mut self, event: &mut Event<'_, '_, '_>) {
        let Some(table) = self.tables.get_mut(event.name) else {
            return;
        };
        if self.failure.is_some() {
            return;
        }
        let row = &mut self.row;
        row.clear();
        row.push(Cell::Text(utc(event.at)));
        row.push(Cell::Number(event.at));
        if table.has_duration {
            row.push(Cell::Nanos(event.duration));
        }
        row.extend(table.fields.iter().map(|field| cell(event, field)));
        if table.has_stacks {
            let is_wanted = self.with_stacks && event.has_stack();
            let trace = is_wanted.then(|| event.trace()).flatten();
            self.traces.extend(trace);
            row.push(trace.map_or(Cell::None, |it| Cell::Number(i64::from(it.get()))));
        }
        let inserted = table.insert.execute(params_from_iter(row.iter()));
        self.failure = inserted.err();
    }
}

/// A moment in UTC with nine digits of the second, so that texts are in the order of time.
fn utc(at: i64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(at)).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{at:.9}")
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::None => rusqlite::types::Null.to_sql(),
            Self::Number(number) | Self::Bytes(number) => number.to_sql(),
            Self::Nanos(nanos) => Ok(i64::try_from(*nanos).unwrap_or(i64::MAX).into()),
            Self::Fraction(number) => number.to_sql(),
            Self::Flag(is_set) => is_set.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}
