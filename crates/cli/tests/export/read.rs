//! Reads tables back, with the reader of the crate `parquet`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};

/// A row by column.
pub type Row = BTreeMap<String, Value>;

/// All files below a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// The rows of a table, of all its dumps.
pub fn table(lake: &Path, name: &str) -> Vec<Row> {
    files(&lake.join(name))
        .iter()
        .flat_map(|path| rows(path))
        .collect()
}

/// The rows of a file.
pub fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| {
        let row = row.expect("a row");
        let cells = row.get_column_iter();
        cells
            .map(|(name, field)| (name.clone(), value(field)))
            .collect()
    })
    .collect()
}

/// The metadata of a file under a key.
pub fn metadata(path: &Path, key: &str) -> Option<String> {
    let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    let pair = pairs.iter().find(|pair| pair.key == key)?;
    pair.value.clone()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::Int(value) => json!(value),
        Field::Long(value) | Field::TimestampMillis(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(value) => json!(value),
        other => panic!("{other:?}"),
    }
}

/// The sums of columns by another one.
pub fn sums(rows: &[Row], by: &str, columns: &[&str]) -> BTreeMap<String, Vec<i64>> {
    let mut all: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for row in rows {
        let key = row[by].as_str().expect("a text").to_owned();
        let sums = all.entry(key).or_insert_with(|| vec![0; columns.len() + 1]);
        sums[0] += 1;
        for (sum, column) in sums[1..].iter_mut().zip(columns) {
            *sum += match &row[*column] {
                Value::Bool(value) => i64::from(*value),
                value => value.as_i64().unwrap_or(0),
            };
        }
    }
    all
}
