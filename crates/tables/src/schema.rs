//! The tables: names, columns, types, meanings, and the version of all that.

use std::fmt::Write as _;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};

mod declared;
mod pushed;

pub use declared::TABLES;
pub use pushed::PUSHED;

/// The version of the schema, also in the metadata of each file under [`VERSION_KEY`].
///
/// It is raised when a table or column is added, removed or changes its type or meaning.
pub const VERSION: u32 = 1;

/// The key of the version in the metadata of a file.
pub const VERSION_KEY: &str = "hprof-rs.schema";

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A signed number of 64 bits. Identifiers of objects are such, since Spark has no unsigned
    /// numbers.
    Long,
    /// A signed number of 32 bits.
    Int,
    /// A number with a fraction.
    Double,
    /// True or false.
    Boolean,
    /// Text in UTF-8.
    Text,
    /// A point in time, in milliseconds since 1970-01-01 UTC.
    Time,
}

impl ColumnType {
    /// The name of the type in SQL, which DuckDB and Spark share.
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Long => "BIGINT",
            Self::Int => "INT",
            Self::Double => "DOUBLE",
            Self::Boolean => "BOOLEAN",
            Self::Text => "STRING",
            Self::Time => "TIMESTAMP",
        }
    }

    fn physical(self) -> (Physical, Option<LogicalType>) {
        match self {
            Self::Long => (Physical::INT64, None),
            Self::Int => (Physical::INT32, None),
            Self::Double => (Physical::DOUBLE, None),
            Self::Boolean => (Physical::BOOLEAN, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Time => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
            ),
        }
    }
}

/// How the values of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// With a dictionary, while that is small.
    Dictionary,
    /// As differences, for numbers that mostly ascend.
    Differences,
    /// As differences, with a Bloom filter to find one value.
    Key,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub column_type: ColumnType,
    /// True if a row may have no value.
    pub is_optional: bool,
    /// The storage of its values.
    pub storage: Storage,
    /// The meaning of a value.
    pub about: &'static str,
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The name, also of its folder and of its files.
    pub name: &'static str,
    /// The meaning of a row.
    pub about: &'static str,
    /// The order of the rows of a dump.
    pub order: &'static str,
    /// The columns.
    pub columns: &'static [Column],
}

impl Table {
    /// The table with a name.
    ///
    /// # Panics
    /// If there is none; names are those of [`TABLES`].
    pub(crate) fn named(name: &str) -> &'static Self {
        let found = TABLES.iter().find(|table| table.name == name);
        found.unwrap_or_else(|| panic!("no table {name} is declared"))
    }

    /// The schema of a file.
    ///
    /// # Errors
    /// Returns errors of the crate `parquet`, which a declared table does not cause.
    pub(crate) fn parquet(&self) -> Result<TypePtr, ParquetError> {
        let field = |column: &Column| {
            let (physical, logical) = column.column_type.physical();
            let repetition = match column.is_optional {
                true => Repetition::OPTIONAL,
                false => Repetition::REQUIRED,
            };
            let built = Type::primitive_type_builder(column.name, physical)
                .with_repetition(repetition)
                .with_logical_type(logical)
                .build()?;
            Ok(Arc::new(built))
        };
        let fields: Result<Vec<_>, ParquetError> = self.columns.iter().map(field).collect();
        let group = Type::group_type_builder(self.name).with_fields(fields?);
        Ok(Arc::new(group.build()?))
    }
}

/// The schema in Markdown, as docs/fleet/schema.md holds it.
pub fn markdown() -> String {
    let mut text = format!(
        "# Tables of `hprof-rs export`\n\n\
         Schema version {VERSION}. Each file has the version in its metadata, under the key \
         `{VERSION_KEY}`.\nA test compares this page with the declaration in `crates/tables/src/schema/`.\n\n\
         All tables are partitioned by `service`, `host`, `date` and `dump`. These four are texts \
         and lie in the names of folders.\nIdentifiers of objects are signed numbers; `hex(id)` \
         prints them as the commands do. Sizes are bytes in the VM's heap.\n"
    );
    for table in TABLES {
        let _ = write!(
            text,
            "\n## {}\n\nA row is {}. Order: {}.\n\n| Column | Type | Null | Meaning |\n|---|---|---|---|\n",
            table.name, table.about, table.order
        );
        for column in table.columns {
            let null = match column.is_optional {
                true => "yes",
                false => "no",
            };
            let (name, sql, about) = (column.name, column.column_type.sql(), column.about);
            let _ = writeln!(text, "| `{name}` | {sql} | {null} | {about} |");
        }
    }
    text
}
