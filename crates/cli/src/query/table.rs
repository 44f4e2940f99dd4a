//! Tables that SQLite reads through: rows are made when they are asked for, and nothing is copied.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::sync::Arc;

use rusqlite::ffi;
use rusqlite::types::{Null, ValueRef};
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConnection, VTabCursor,
};
use rusqlite::{Connection, Error, Result};

use super::Heap;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// There is none.
    Null,
    /// A number without a fraction.
    Integer(i64),
    /// A number with a fraction.
    Real(f64),
    /// Text.
    Text(Cow<'a, str>),
}

impl Cell<'_> {
    /// A number of bytes or objects.
    pub fn count(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// A truth as SQL has it.
    pub fn truth(is_true: bool) -> Self {
        Self::Integer(i64::from(is_true))
    }
}

impl<'a> From<Option<Self>> for Cell<'a> {
    fn from(cell: Option<Self>) -> Self {
        cell.unwrap_or(Cell::Null)
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

/// A column: its name, its type in SQL, what it says.
pub type Column = (&'static str, &'static str, &'static str);

/// A column by whose value rows are found without looking at all of them, and about how many rows
/// that are.
pub type Key = (usize, i64);

/// The key columns that hold identifiers.
const IDENTIFIERS: [&str; 5] = ["id", "object", "dominator", "source", "target"];

/// The rows of a table.
pub trait Rows: Sized + 'static {
    /// The table's name.
    const NAME: &'static str;
    /// The meaning of a row.
    const ABOUT: &'static str;
    /// The columns.
    const COLUMNS: &'static [Column];
    /// The columns to find rows by.
    const KEYS: &'static [Key] = &[];

    /// About how many rows there are.
    fn estimate(heap: &Heap) -> usize;

    /// All rows, or those that have a value in one of the key columns. The first row is reached by
    /// the first [`Rows::advance`].
    ///
    /// # Errors
    /// If there is no room for what the table needs.
    fn start(heap: &Heap, key: Option<(usize, &str)>) -> std::io::Result<Self>;

    /// Goes to the next row; false if there is none.
    fn advance(&mut self, heap: &Heap) -> bool;

    /// A column of the row.
    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a>;
}

/// A table of a connection.
#[repr(C)]
struct Table<R> {
    base: ffi::sqlite3_vtab,
    heap: Arc<Heap>,
    rows: PhantomData<R>,
}

/// A walk over a table.
#[repr(C)]
struct Cursor<R> {
    base: ffi::sqlite3_vtab_cursor,
    heap: Arc<Heap>,
    rows: Option<R>,
    row: i64,
}

/// Makes a table known to a connection.
///
/// # Errors
/// Errors of SQLite.
pub fn register<R: Rows>(connection: &Connection, heap: &Arc<Heap>) -> Result<()> {
    let module = const { &Module::<Table<R>>::eponymous_only_module() };
    connection.create_module(R::NAME, module, Some(Arc::clone(heap)))
}

/// The declaration of a table.
pub fn declaration<R: Rows>() -> String {
    let columns: Vec<String> = R::COLUMNS
        .iter()
        .map(|(name, sql_type, _)| format!("\"{name}\" {sql_type}"))
        .collect();
    format!("CREATE TABLE \"{}\" ({})", R::NAME, columns.join(", "))
}

// SAFETY: `Table` is `repr(C)` and begins with a `sqlite3_vtab`.
unsafe impl<'vtab, R: Rows> VTab<'vtab> for Table<R> {
    type Aux = Arc<Heap>;
    type Cursor = Cursor<R>;

    fn connect(
        _: &mut VTabConnection,
        heap: Option<&Self::Aux>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let heap = heap.ok_or_else(|| Error::ModuleError("no heap".to_owned()))?;
        let declaration = CString::new(declaration::<R>())?;
        let table = Self {
            base: ffi::sqlite3_vtab::default(),
            heap: Arc::clone(heap),
            rows: PhantomData,
        };
        Ok((Cow::Owned(declaration), table))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let all = R::estimate(&self.heap).max(1) as f64;
        let mut best: Option<(usize, Key)> = None;
        for (place, constraint) in info.constraints().enumerate() {
            let is_equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            if !is_equal || !constraint.is_usable() {
                continue;
            }
            let column = constraint.column();
            let name = usize::try_from(column)
                .ok()
                .and_then(|at| R::COLUMNS.get(at));
            if name.is_some_and(|name| IDENTIFIERS.contains(&name.0))
                && let Some(literal) = info.rhs_value(place)?
            {
                self.heap.note_unknown(literal);
            }
            let key = R::KEYS.iter().find(|key| key.0 as c_int == column);
            if let Some(&key) = key
                && best.is_none_or(|(_, best)| key.1 < best.1)
            {
                best = Some((place, key));
            }
        }
        let Some((place, (column, rows))) = best else {
            info.set_estimated_cost(all * 10.0);
            info.set_estimated_rows(all as i64);
            return Ok(true);
        };
        // SQLite looks at the value again, so rows that do not have it do no harm.
        info.constraint_usage(place).set_argv_index(1);
        info.set_idx_num(column as c_int + 1);
        info.set_estimated_cost(10.0 + rows as f64 * 10.0);
        info.set_estimated_rows(rows);
        Ok(true)
    }

    fn open(&'vtab mut self) -> Result<Self::Cursor> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            heap: Arc::clone(&self.heap),
            rows: None,
            row: 0,
        })
    }
}

impl<R: Rows> Cursor<R> {
    fn advance(&mut self) {
        self.row += 1;
        if let Some(rows) = &mut self.rows
            && !rows.advance(&self.heap)
        {
            self.rows = None;
        }
    }
}

// SAFETY: `Cursor` is `repr(C)` and begins with a `sqlite3_vtab_cursor`.
unsafe impl<R: Rows> VTabCursor for Cursor<R> {
    fn filter(&mut self, index: c_int, _: Option<&str>, values: &Filters<'_>) -> Result<()> {
        let column = (index as usize).checked_sub(1).map(|at| R::COLUMNS[at].0);
        if column.is_some_and(|column| IDENTIFIERS.contains(&column))
            && let Some(value) = values.iter().next()
        {
            self.heap.note_misspelt(value);
        }
        let key: Option<String> = match index {
            0 => None,
            // A null equals nothing, and numbers are no names.
            _ => match values.get::<Option<String>>(0) {
                Ok(Some(text)) => Some(text),
                _ => {
                    self.rows = None;
                    return Ok(());
                }
            },
        };
        let key = key.as_deref().map(|text| (index as usize - 1, text));
        let rows = R::start(&self.heap, key);
        let rows = rows.map_err(|error| Error::ModuleError(error.to_string()))?;
        self.rows = Some(rows);
        self.row = 0;
        self.advance();
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.advance();
        Ok(())
    }

    fn eof(&self) -> bool {
        self.rows.is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let Some(rows) = &self.rows else {
            return context.set_result(&Null);
        };
        match rows.cell(&self.heap, column as usize) {
            Cell::Null => context.set_result(&Null),
            Cell::Integer(number) => context.set_result(&number),
            Cell::Real(number) => context.set_result(&number),
            Cell::Text(text) => context.set_result(&text.as_ref()),
        }
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row)
    }
}

/// A value that SQLite gives, as a cell.
pub fn cell_of(value: ValueRef<'_>) -> Cell<'_> {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(String::from_utf8_lossy(bytes)),
    }
}
