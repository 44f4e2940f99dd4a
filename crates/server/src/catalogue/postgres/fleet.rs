//! Figures of dumps in PostgreSQL.

use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::rows::get;
use super::{PostgresCatalogue, plain};
use crate::catalogue::figures::{Figures, kept};
use crate::catalogue::fleet::{FleetFigures, Question, Value};
use crate::catalogue::{CatalogueError, Result};
use crate::ids::DumpId;

/// The columns that [`Parameters`] sets in the table `dumps`; parameters begin at `first`.
pub(super) fn columns(first: usize) -> String {
    let at = |place: usize| first + place;
    format!(
        "figures = ${}, taken_at = coalesce(${}, uploaded_at), live_objects = ${},
         live_bytes = ${}, array_waste = ${}, string_waste = ${}",
        at(0),
        at(1),
        at(2),
        at(3),
        at(4),
        at(5)
    )
}

/// Steps of a statement that add the rows of [`Parameters`] to the dump in `marked (id)`.
pub(super) fn additions(first: usize) -> String {
    let at = |place: usize| first + place;
    format!(
        "classes AS (
             INSERT INTO class_figures (name, objects, shallow, retained, place, dump)
             SELECT given.*, marked.id FROM marked,
                 unnest(${}::text[], ${}::bigint[], ${}::bigint[], ${}::bigint[])
                 WITH ORDINALITY AS given
             ON CONFLICT DO NOTHING),
         suspects AS (
             INSERT INTO suspect_figures (code, signature, title, retained, share, place, dump)
             SELECT given.*, marked.id FROM marked,
                 unnest(${}::text[], ${}::text[], ${}::text[], ${}::bigint[], ${}::double precision[])
                 WITH ORDINALITY AS given
             ON CONFLICT DO NOTHING)",
        at(6),
        at(7),
        at(8),
        at(9),
        at(10),
        at(11),
        at(12),
        at(13),
        at(14)
    )
}

/// Figures as parameters.
pub(super) struct Parameters {
    mark: i64,
    totals: [Option<i64>; 5],
    names: Vec<String>,
    classes: [Vec<i64>; 3],
    texts: [Vec<String>; 3],
    retained: Vec<i64>,
    shares: Vec<f64>,
}

impl Parameters {
    /// The parameters of figures, or of none.
    pub(super) fn new(figures: Option<&Figures>) -> Self {
        let mark = if figures.is_some() { 1 } else { 2 };
        let none = Figures::default();
        let of = figures.unwrap_or(&none);
        let total = |amount: u64| figures.map(|_| kept(amount));
        Self {
            mark,
            totals: [
                of.taken_at.map(|time| time.0),
                total(of.live_objects),
                total(of.live_bytes),
                total(of.array_waste),
                of.string_waste.map(kept),
            ],
            names: of.classes.iter().map(|row| plain(&row.name)).collect(),
            classes: [
                of.classes.iter().map(|row| kept(row.objects)).collect(),
                of.classes.iter().map(|row| kept(row.shallow)).collect(),
                of.classes.iter().map(|row| kept(row.retained)).collect(),
            ],
            texts: [
                of.suspects.iter().map(|row| plain(&row.code)).collect(),
                of.suspects
                    .iter()
                    .map(|row| plain(&row.signature))
                    .collect(),
                of.suspects.iter().map(|row| plain(&row.title)).collect(),
            ],
            retained: of.suspects.iter().map(|row| kept(row.retained)).collect(),
            shares: of.suspects.iter().map(|row| row.share).collect(),
        }
    }

    /// In the order of [`columns`], then of [`additions`].
    pub(super) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&self.mark];
        values.extend(self.totals.iter().map(|it| it as &(dyn ToSql + Sync)));
        values.push(&self.names);
        values.extend(self.classes.iter().map(|it| it as &(dyn ToSql + Sync)));
        values.extend(self.texts.iter().map(|it| it as &(dyn ToSql + Sync)));
        values.push(&self.retained);
        values.push(&self.shares);
        values
    }
}

fn value(row: &Row, column: usize) -> Result<Value> {
    let kind = row.columns().get(column).map(|it| it.type_().clone());
    let found = match kind {
        Some(Type::INT8) => get::<Option<i64>>(row, column)?.map(Value::Number),
        Some(Type::FLOAT8) => get::<Option<f64>>(row, column)?.map(Value::Real),
        Some(Type::TEXT) => get::<Option<String>>(row, column)?.map(Value::Text),
        _ => {
            return Err(CatalogueError::failed(
                "an answer has a column of another type",
            ));
        }
    };
    Ok(found.unwrap_or(Value::Null))
}

impl FleetFigures for PostgresCatalogue {
    fn keep_figures(&self, dump: &DumpId, figures: Option<&Figures>) -> Result<bool> {
        let sql = format!(
            "WITH marked AS (
                 UPDATE dumps SET {} WHERE id = $1 AND figures = 0 RETURNING id), {}
             SELECT id FROM marked",
            columns(2),
            additions(2)
        );
        let parameters = Parameters::new(figures);
        let id = dump.as_str();
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&id];
        values.extend(parameters.values());
        self.change(&sql, &values)
    }

    fn ask(&self, question: &Question<'_>) -> Result<Vec<Vec<Value>>> {
        let sql = question.sql.replace('?', "$");
        let values = question.values.iter().map(|value| match value {
            Value::Null => &None::<i64> as &(dyn ToSql + Sync),
            Value::Number(number) => number,
            Value::Real(number) => number,
            Value::Text(text) => text,
        });
        let values: Vec<_> = values.collect();
        let row = |row: &Row| (0..row.len()).map(|column| value(row, column)).collect();
        self.rows(&sql, &values)?.iter().map(row).collect()
    }
}
