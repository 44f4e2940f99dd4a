//! Questions over many dumps, in the SQL that SQLite and PostgreSQL share.
//!
//! `docs/fleet/*.sql` asks exported tables the same, over all classes of each dump; here each dump has
//! its largest classes only. Parameters are `?N`, which PostgreSQL gets as `$N`.

mod answers;
mod sql;

pub use answers::{Build, Carrier, FleetSuspect, Growth, Measure, Regression, Service};

use super::figures::Figures;
use super::{CatalogueError, Result};
use crate::ids::DumpId;
use crate::time::Millis;

/// Rows of an answer.
pub const MAX_ROWS: usize = 1000;
/// Dumps of a host that show growth, at least.
pub const LEAST_DUMPS: u64 = 3;

/// A value that goes into a database, or comes out.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// None.
    Null,
    /// A whole number.
    Number(i64),
    /// A number with a fraction.
    Real(f64),
    /// Text.
    Text(String),
}

/// A statement that reads, with its parameters. Only this module makes them.
#[derive(Debug)]
pub struct Question<'a> {
    pub(super) sql: &'static str,
    pub(super) values: &'a [Value],
}

/// The figures of dumps, and questions over them.
pub trait FleetFigures {
    /// Keeps the figures of a dump that has none; without figures, notes that there are none to be had.
    /// False if that has happened before, or there is no such dump.
    ///
    /// # Errors
    /// All calls fail if the database does.
    fn keep_figures(&self, dump: &DumpId, figures: Option<&Figures>) -> Result<bool>;

    /// The rows of a question.
    ///
    /// # Errors
    /// If the database fails.
    fn ask(&self, question: &Question<'_>) -> Result<Vec<Vec<Value>>>;

    /// Heap dumps that were analysed before figures were kept, the newest first.
    ///
    /// # Errors
    /// If the database fails.
    fn without_figures(&self, limit: usize) -> Result<Vec<DumpId>> {
        rows(self, sql::WITHOUT_FIGURES, &[number(limit)], |row| {
            let id = row.text()?;
            id.parse().map_err(|_| strange())
        })
    }

    /// The services, those with the largest live heaps first.
    ///
    /// # Errors
    /// If the database fails.
    fn services(&self) -> Result<Vec<Service>> {
        rows(self, sql::SERVICES, &[number(MAX_ROWS)], |row| {
            Ok(Service {
                name: row.text()?,
                hosts: row.count()?,
                dumps: row.count()?,
                newest: row.time()?,
                live_bytes: row.count()?,
                array_waste: row.count()?,
                string_waste: row.maybe()?,
            })
        })
    }

    /// The builds of a service, the newest first.
    ///
    /// # Errors
    /// If the database fails.
    fn builds(&self, service: &str) -> Result<Vec<Build>> {
        rows(
            self,
            sql::BUILDS,
            &[text(service), number(MAX_ROWS)],
            |row| {
                Ok(Build {
                    name: row.text()?,
                    hosts: row.count()?,
                    dumps: row.count()?,
                    newest: row.time()?,
                })
            },
        )
    }

    /// The classes of a service that grew from each of the last dumps of a host to the next, those that
    /// grew most first. Hosts with fewer than [`LEAST_DUMPS`] dumps are left out.
    ///
    /// # Errors
    /// If the database fails.
    fn growth(&self, service: &str, last: u64, measure: Measure) -> Result<Vec<Growth>> {
        let last = i64::try_from(last).unwrap_or(i64::MAX);
        let values = [
            text(service),
            Value::Number(last),
            measure.value(),
            number(MAX_ROWS),
        ];
        let points = rows(self, sql::GROWTH, &values, |row| {
            Ok(Growth {
                name: row.text()?,
                hosts: row.count()?,
                grown: row.count()?,
                sizes: vec![row.count()?],
                objects: row.count()?,
            })
        })?;
        let mut found: Vec<Growth> = Vec::new();
        // A row for each dump, the oldest first.
        for mut point in points {
            match found.last_mut().filter(|last| last.name == point.name) {
                Some(last) => {
                    last.sizes.append(&mut point.sizes);
                    last.objects = point.objects;
                }
                None => found.push(point),
            }
        }
        Ok(found)
    }

    /// The classes that take more in the new build of a service than in the old one, those that grew
    /// most first. Each host counts with its newest dump of a build.
    ///
    /// # Errors
    /// If the database fails.
    fn regressions(
        &self,
        service: &str,
        old: &str,
        new: &str,
        measure: Measure,
    ) -> Result<Vec<Regression>> {
        let values = [
            text(service),
            text(old),
            text(new),
            measure.value(),
            number(MAX_ROWS),
        ];
        rows(self, sql::REGRESSIONS, &values, |row| {
            Ok(Regression {
                name: row.text()?,
                old_hosts: row.count()?,
                new_hosts: row.count()?,
                old: row.count()?,
                new: row.count()?,
            })
        })
    }

    /// The suspects of all services, or of those that a service carries; those of most services first.
    /// With a code that one only.
    ///
    /// # Errors
    /// If the database fails.
    fn suspects(&self, service: Option<&str>, code: Option<&str>) -> Result<Vec<FleetSuspect>> {
        let values = [
            text(service.unwrap_or_default()),
            text(code.unwrap_or_default()),
            number(MAX_ROWS),
        ];
        rows(self, sql::SUSPECTS, &values, |row| {
            Ok(FleetSuspect {
                code: row.text()?,
                signature: row.text()?,
                title: row.text()?,
                services: row.count()?,
                hosts: row.count()?,
                dumps: row.count()?,
                first: row.time()?,
                last: row.time()?,
                retained: row.count()?,
                share: row.real()?,
            })
        })
    }

    /// The services that carry a suspect, those first in which it keeps most alive.
    ///
    /// # Errors
    /// If the database fails.
    fn carriers(&self, code: &str) -> Result<Vec<Carrier>> {
        rows(
            self,
            sql::CARRIERS,
            &[text(code), number(MAX_ROWS)],
            |row| {
                Ok(Carrier {
                    service: row.text()?,
                    hosts: row.count()?,
                    dumps: row.count()?,
                    first: row.time()?,
                    last: row.time()?,
                    retained: row.count()?,
                    share: row.real()?,
                    dump: row.text()?,
                })
            },
        )
    }
}

/// A text as both databases take it.
fn text(text: &str) -> Value {
    Value::Text(text.replace('\0', ""))
}

fn number(number: usize) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

fn strange() -> CatalogueError {
    CatalogueError::failed("an answer has another form than was asked for")
}

/// The values of a row, from left to right.
struct Fields(std::vec::IntoIter<Value>);

impl Fields {
    fn text(&mut self) -> Result<String> {
        match self.0.next() {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(strange()),
        }
    }

    fn maybe(&mut self) -> Result<Option<u64>> {
        match self.0.next() {
            Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => Ok(Some(u64::try_from(number).unwrap_or(0))),
            _ => Err(strange()),
        }
    }

    fn count(&mut self) -> Result<u64> {
        self.maybe()?.ok_or_else(strange)
    }

    fn time(&mut self) -> Result<Millis> {
        match self.0.next() {
            Some(Value::Number(number)) => Ok(Millis(number)),
            _ => Err(strange()),
        }
    }

    fn real(&mut self) -> Result<f64> {
        match self.0.next() {
            Some(Value::Real(number)) => Ok(number),
            _ => Err(strange()),
        }
    }
}

/// The rows of a question as values.
fn rows<F: FleetFigures + ?Sized, T>(
    fleet: &F,
    sql: &'static str,
    values: &[Value],
    value: impl Fn(&mut Fields) -> Result<T>,
) -> Result<Vec<T>> {
    let found = fleet.ask(&Question { sql, values })?;
    let found = found
        .into_iter()
        .map(|row| value(&mut Fields(row.into_iter())));
    found.collect()
}
