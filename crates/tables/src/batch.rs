//! Rows of a table in memory, by column, and their encoding as a row group.

use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::SchemaDescPtr;

use crate::schema::{ColumnType, Table};

/// Values of a column, without those that are null.
#[derive(Debug)]
enum Values {
    Long(Vec<i64>),
    Int(Vec<i32>),
    Double(Vec<f64>),
    Boolean(Vec<bool>),
    Text(Vec<ByteArray>),
}

/// A column of a batch.
#[derive(Debug)]
struct Buffer {
    values: Values,
    /// By row 1 for a value and 0 for null; of optional columns only.
    levels: Option<Vec<i16>>,
}

/// A value of a row.
#[derive(Debug, Clone)]
pub enum Cell {
    /// None.
    Null,
    /// A number of 64 bits, or a time.
    Long(i64),
    /// A number of 32 bits.
    Int(i32),
    /// A number with a fraction.
    Double(f64),
    /// A truth.
    Boolean(bool),
    /// Text; a copy shares its bytes.
    Text(ByteArray),
}

impl Cell {
    /// An identifier, whose bits become a signed number.
    pub fn id(id: u64) -> Self {
        Self::Long(id as i64)
    }

    /// A number of bytes or objects.
    pub fn count(number: u64) -> Self {
        Self::Long(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// A small number.
    pub fn small(number: usize) -> Self {
        Self::Int(i32::try_from(number).unwrap_or(i32::MAX))
    }

    /// Text.
    pub fn text(text: &str) -> Self {
        Self::Text(ByteArray::from(text))
    }
}

impl From<Option<Self>> for Cell {
    fn from(cell: Option<Self>) -> Self {
        cell.unwrap_or(Self::Null)
    }
}

/// Rows of a table, by column.
#[derive(Debug)]
pub struct Batch {
    table: &'static Table,
    columns: Vec<Buffer>,
    rows: usize,
}

impl Batch {
    /// No rows yet.
    pub fn new(table: &'static Table) -> Self {
        let column = |column: &crate::schema::Column| Buffer {
            values: match column.column_type {
                ColumnType::Long | ColumnType::Time => Values::Long(Vec::new()),
                ColumnType::Int => Values::Int(Vec::new()),
                ColumnType::Double => Values::Double(Vec::new()),
                ColumnType::Boolean => Values::Boolean(Vec::new()),
                ColumnType::Text => Values::Text(Vec::new()),
            },
            levels: column.is_optional.then(Vec::new),
        };
        Self {
            table,
            columns: table.columns.iter().map(column).collect(),
            rows: 0,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Adds a row: a cell for each column, in their order.
    ///
    /// # Panics
    /// If a cell is none that the column can hold, which the first row of a table shows.
    #[inline]
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) {
        assert_eq!(N, self.columns.len(), "columns of {}", self.table.name);
        for (column, cell) in self.columns.iter_mut().zip(row) {
            let is_null = matches!(cell, Cell::Null);
            match (&mut column.values, cell) {
                (Values::Long(values), Cell::Long(value)) => values.push(value),
                (Values::Int(values), Cell::Int(value)) => values.push(value),
                (Values::Double(values), Cell::Double(value)) => values.push(value),
                (Values::Boolean(values), Cell::Boolean(value)) => values.push(value),
                (Values::Text(values), Cell::Text(value)) => values.push(value),
                (_, Cell::Null) if column.levels.is_some() => {}
                (_, cell) => panic!("{}: {cell:?} in a wrong column", self.table.name),
            }
            if let Some(levels) = &mut column.levels {
                levels.push(i16::from(!is_null));
            }
        }
        self.rows += 1;
    }

    /// Encodes and compresses all rows, and forgets them.
    pub fn encode(
        &mut self,
        schema: &SchemaDescPtr,
        properties: &WriterPropertiesPtr,
    ) -> Result<RowGroup, ParquetError> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (at, column) in self.columns.iter_mut().enumerate() {
            let mut sink = TrackedWrite::new(Vec::new());
            let pages = Box::new(SerializedPageWriter::new(&mut sink));
            let mut writer = get_column_writer(schema.column(at), properties.clone(), pages);
            column.write(&mut writer)?;
            let result = writer.close()?;
            columns.push((sink.into_inner()?, result));
        }
        self.rows = 0;
        Ok(RowGroup { columns })
    }
}

impl Buffer {
    fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.levels.as_deref();
        match (&mut self.values, writer) {
            (Values::Long(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (Values::Int(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (Values::Double(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (Values::Boolean(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            (Values::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, levels, None)?;
                values.clear();
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}

/// An encoded row group: by column its bytes, and what the writer knows of them.
pub struct RowGroup {
    pub columns: Vec<(Vec<u8>, ColumnCloseResult)>,
}
