//! One Parquet file, whose row groups several threads encode.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescPtr, SchemaDescriptor};

use crate::TableError;
use crate::batch::{Batch, Cell, RowGroup};
use crate::schema::{Storage, Table, VERSION, VERSION_KEY};

/// The rows of a row group. A row takes about a hundred bytes before it is encoded, so that a
/// thread holds no more than some 30 MB.
pub const ROWS: usize = 1 << 18;

/// The share of look-ups for which a Bloom filter cannot rule a row group out, although it lacks
/// the value.
const BLOOM_ERRORS: f64 = 0.01;

/// A file that is being written.
pub struct TableFile {
    table: &'static Table,
    writer: SerializedFileWriter<BufWriter<File>>,
    shape: Shape,
    rows: u64,
}

/// The parts of a file that do not change, for threads that encode.
#[derive(Clone)]
struct Shape {
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
}

impl TableFile {
    /// Begins the file of a table; `facts` go into its metadata.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(
        table: &'static Table,
        file: File,
        facts: &[(&str, String)],
    ) -> Result<Self, TableError> {
        let schema = table.parquet()?;
        let properties = Arc::new(properties(table, facts)?);
        let descriptor = Arc::new(SchemaDescriptor::new(schema.clone()));
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(Self {
            table,
            writer: SerializedFileWriter::new(file, schema, properties.clone())?,
            shape: Shape {
                schema: descriptor,
                properties,
            },
            rows: 0,
        })
    }

    /// Writes rows that one thread makes.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn rows<const N: usize>(
        &mut self,
        rows: impl IntoIterator<Item = [Cell; N]>,
    ) -> Result<(), TableError> {
        let mut batch = Batch::new(self.table);
        for row in rows {
            batch.push(row);
            if batch.len() == ROWS {
                let group = batch.encode(&self.shape.schema, &self.shape.properties)?;
                self.append(group)?;
            }
        }
        if batch.len() > 0 {
            let group = batch.encode(&self.shape.schema, &self.shape.properties)?;
            self.append(group)?;
        }
        Ok(())
    }

    /// Writes the rows of tasks, numbered from 0, which all cores make. The rows of a task follow
    /// those of the task before, whichever thread is faster, so that equal dumps make equal files.
    ///
    /// A task whose turn has not come waits with its first full row group, so that each thread
    /// holds one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn tasks(
        &mut self,
        tasks: usize,
        work: impl Fn(usize, &mut Rows<'_>) -> Result<(), TableError> + Sync,
    ) -> Result<(), TableError> {
        let (table, shape) = (self.table, self.shape.clone());
        let turn = Turn {
            file: Mutex::new((self, 0)),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
        };
        let next = AtomicUsize::new(0);
        let run = || -> Result<(), TableError> {
            let mut rows = Rows {
                batch: Batch::new(table),
                shape: shape.clone(),
                turn: &turn,
                task: 0,
            };
            loop {
                rows.task = next.fetch_add(1, Ordering::Relaxed);
                if rows.task >= tasks {
                    return Ok(());
                }
                work(rows.task, &mut rows)?;
                rows.end()?;
            }
        };
        let guarded = || {
            // Others must not wait for a thread that failed, or that panics.
            let end = EndOnDrop(&turn);
            let result = run();
            if result.is_ok() {
                std::mem::forget(end);
            }
            result
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let others = (1..threads.min(tasks)).map(|_| scope.spawn(guarded));
            let others: Vec<_> = others.collect();
            let mut result = guarded();
            for other in others {
                match other.join() {
                    Ok(other) => result = result.and(other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result
        })
    }

    fn append(&mut self, group: RowGroup) -> Result<(), TableError> {
        let mut writer = self.writer.next_row_group()?;
        for (bytes, result) in group.columns {
            writer.append_column(&Bytes::from(bytes), result)?;
        }
        let rows = writer.close()?.num_rows();
        self.rows += u64::try_from(rows).unwrap_or_default();
        Ok(())
    }

    /// Ends the file; gives the number of its rows.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<u64, TableError> {
        let file = self.writer.into_inner()?;
        let file = file.into_inner().map_err(|error| error.into_error())?;
        file.sync_all()?;
        Ok(self.rows)
    }
}

/// The file, and the task whose turn it is.
struct Turn<'f> {
    file: Mutex<(&'f mut TableFile, usize)>,
    changed: Condvar,
    is_over: AtomicBool,
}

/// Ends the wait of all threads.
struct EndOnDrop<'t, 'f>(&'t Turn<'f>);

impl Drop for EndOnDrop<'_, '_> {
    fn drop(&mut self) {
        let _file = (self.0.file.lock()).unwrap_or_else(PoisonError::into_inner);
        self.0.is_over.store(true, Ordering::Relaxed);
        self.0.changed.notify_all();
    }
}

/// Takes the rows of one task after the other.
pub struct Rows<'t> {
    batch: Batch,
    shape: Shape,
    turn: &'t Turn<'t>,
    task: usize,
}

impl Rows<'_> {
    /// Adds a row.
    ///
    /// # Errors
    /// If the file cannot be written.
    #[inline]
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) -> Result<(), TableError> {
        self.batch.push(row);
        match self.batch.len() {
            ROWS => self.write(false),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), TableError> {
        self.write(true)
    }

    /// Writes the rows that are there, once it is the turn of this task.
    fn write(&mut self, is_end: bool) -> Result<(), TableError> {
        let group = match self.batch.len() {
            0 => None,
            _ => Some((self.batch).encode(&self.shape.schema, &self.shape.properties)?),
        };
        let mut file = (self.turn.file.lock()).unwrap_or_else(PoisonError::into_inner);
        while file.1 != self.task {
            if self.turn.is_over.load(Ordering::Relaxed) {
                // The thread that failed has the error.
                return Ok(());
            }
            file = (self.turn.changed.wait(file)).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(group) = group {
            file.0.append(group)?;
        }
        if is_end {
            file.1 += 1;
            self.turn.changed.notify_all();
        }
        Ok(())
    }
}

fn properties(table: &Table, facts: &[(&str, String)]) -> Result<WriterProperties, TableError> {
    let mut metadata = vec![KeyValue::new(VERSION_KEY.to_owned(), VERSION.to_string())];
    let pairs = facts
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
    metadata.extend(pairs);
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("hprof-rs {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::Page);
    for column in table.columns {
        let path = ColumnPath::from(column.name);
        if column.storage != Storage::Dictionary {
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if column.storage == Storage::Key {
            builder = builder
                .set_column_bloom_filter_enabled(path.clone(), true)
                .set_column_bloom_filter_fpp(path.clone(), BLOOM_ERRORS)
                .set_column_bloom_filter_max_ndv(path, ROWS as u64);
        }
    }
    Ok(builder.build())
}
