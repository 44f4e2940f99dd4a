//! Figures of dumps in a file.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Transaction, params, params_from_iter};

use super::SqliteCatalogue;
use crate::catalogue::figures::{Figures, kept};
use crate::catalogue::fleet::{FleetFigures, Question, Value};
use crate::catalogue::{CatalogueError, Result};
use crate::ids::DumpId;

/// Keeps the figures of a dump that has none; false if it has, or is not there.
pub(super) fn keep(
    transaction: &Transaction<'_>,
    dump: &str,
    figures: Option<&Figures>,
) -> Result<bool> {
    let taken_at = figures.and_then(|it| it.taken_at).map(|time| time.0);
    let string_waste = figures.and_then(|it| it.string_waste).map(kept);
    let is_marked = transaction.execute(
        "UPDATE dumps SET figures = ?1, taken_at = coalesce(?2, uploaded_at), live_objects = ?3,
             live_bytes = ?4, array_waste = ?5, string_waste = ?6
         WHERE id = ?7 AND figures = 0",
        params![
            if figures.is_some() { 1 } else { 2 },
            taken_at,
            figures.map(|it| kept(it.live_objects)),
            figures.map(|it| kept(it.live_bytes)),
            figures.map(|it| kept(it.array_waste)),
            string_waste,
            dump
        ],
    )? > 0;
    let Some(figures) = figures.filter(|_| is_marked) else {
        return Ok(is_marked);
    };
    let mut add = transaction.prepare(
        "INSERT INTO class_figures (dump, place, name, objects, shallow, retained)
         VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    for (place, row) in figures.classes.iter().enumerate() {
        let (objects, shallow) = (kept(row.objects), kept(row.shallow));
        let retained = kept(row.retained);
        add.execute(params![dump, place, row.name, objects, shallow, retained])?;
    }
    let mut add = transaction.prepare(
        "INSERT INTO suspect_figures (dump, place, code, signature, title, retained, share)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (place, row) in figures.suspects.iter().enumerate() {
        let retained = kept(row.retained);
        add.execute(params![
            dump,
            place,
            row.code,
            row.signature,
            row.title,
            retained,
            row.share
        ])?;
    }
    Ok(true)
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn value(value: ValueRef<'_>) -> Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Number(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(_) => return Err(CatalogueError::failed("it has bytes for a text")),
    })
}

impl FleetFigures for SqliteCatalogue {
    fn keep_figures(&self, dump: &DumpId, figures: Option<&Figures>) -> Result<bool> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let is_kept = keep(&transaction, dump.as_str(), figures)?;
        transaction.commit()?;
        Ok(is_kept)
    }

    fn ask(&self, question: &Question<'_>) -> Result<Vec<Vec<Value>>> {
        let connection = self.lock();
        let mut statement = connection.prepare(question.sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(question.values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| value(row.get_ref(column)?));
            found.push(values.collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }
}
