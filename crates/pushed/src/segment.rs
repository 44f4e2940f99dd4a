//! Segments: files of costs that never change, in columns.
//!
//! A segment has blocks of rows for each hour of each series, then one for the tree of stacks with its names, then a table of all blocks in
//! JSON, and at its end place and length of that table. Blocks are compressed by zlib, whose checksum shows damage.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};

use crate::batch::{At, Series};
use crate::chunk::{self, Block, Chunk, Rows};
use crate::kind;
use crate::numbers::{damaged, put};
use crate::stacks::Stacks;
use crate::tree::Tree;

/// How files begin and end.
const MAGIC: &[u8; 8] = b"HPRSEG1\n";
/// Place, length and magic at the end.
const TAIL: usize = 24;

/// A series in a segment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub(super) struct Part {
    /// The series.
    #[serde(with = "shared")]
    pub series: Arc<Series>,
    /// Its first second.
    pub from: u32,
    /// Its last second.
    pub to: u32,
    /// The number of its rows.
    pub rows: u64,
    /// The sum of their values.
    pub total: u64,
    /// Its rows, by time.
    pub chunks: Vec<Chunk>,
}

/// A series as files have it.
#[derive(Deserialize)]
struct Stored {
    #[serde(with = "shared")]
    series: Arc<Series>,
    from: u32,
    to: u32,
    rows: u64,
    total: u64,
    #[serde(default)]
    chunks: Vec<Chunk>,
    /// All rows. Files of servers before 2026-12 have this alone.
    block: Option<Block>,
}

impl TryFrom<Stored> for Part {
    type Error = io::Error;

    fn try_from(stored: Stored) -> io::Result<Self> {
        let Stored {
            series,
            from,
            to,
            rows: count,
            total,
            mut chunks,
            block,
        } = stored;
        if let Some(block) = block {
            chunks = vec![Chunk::of_rows(
                from,
                to,
                Rows {
                    count,
                    from,
                    is_relative: false,
                    block,
                },
            )];
        }
        let counted = chunks.iter().map(|chunk| chunk.rows.count);
        if counted.fold(0, u64::saturating_add) != count {
            return Err(damaged());
        }
        Ok(Self {
            series,
            from,
            to,
            rows: count,
            total,
            chunks,
        })
    }
}

/// A series as its fields.
mod shared {
    use super::{Arc, Deserialize, Serialize, Series};

    pub(super) fn serialize<S: serde::Serializer>(
        series: &Arc<Series>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        Series::serialize(series, to)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<Series>, D::Error> {
        Series::deserialize(from).map(Arc::new)
    }
}

#[derive(Serialize, Deserialize)]
struct Table {
    parts: Vec<Part>,
    tree: Block,
}

/// A segment under construction.
pub(super) struct Writer {
    file: File,
    length: u64,
    parts: Vec<Part>,
    has_sums: bool,
    /// The place of the file until it is whole.
    unfinished: Option<PathBuf>,
}

/// On a full disk, what was written of a segment would stay until the next start.
impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(path) = &self.unfinished {
            // If it cannot be removed, the next start does so.
            let _ = fs::remove_file(path);
        }
    }
}

impl Writer {
    /// Begins a file, whose hours have sums for questions about long times if `has_sums`.
    pub(super) fn create(path: &Path, has_sums: bool) -> io::Result<Self> {
        let mut writer = Self {
            file: File::create(path)?,
            length: MAGIC.len() as u64,
            parts: Vec::new(),
            has_sums,
            unfinished: Some(path.to_owned()),
        };
        writer.file.write_all(MAGIC)?;
        Ok(writer)
    }

    fn block(&mut self, bytes: &[u8]) -> io::Result<Block> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::new(6));
        packed.write_all(bytes)?;
        let packed = packed.finish()?;
        self.file.write_all(&packed)?;
        let block = Block {
            at: self.length,
            packed: packed.len() as u64,
            bytes: bytes.len() as u64,
        };
        self.length += block.packed;
        Ok(block)
    }

    /// Adds a series with its rows, which this sorts.
    pub(super) fn add(&mut self, series: &Arc<Series>, rows: &mut [(At, u64)]) -> io::Result<()> {
        rows.sort_unstable_by_key(|row| row.0);
        self.add_hours(series, chunk::hours(rows).map(Ok))
    }

    /// Adds a series whose rows come hour by hour, sorted.
    pub(super) fn add_hours(
        &mut self,
        series: &Arc<Series>,
        hours: impl Iterator<Item = io::Result<impl AsRef<[(At, u64)]>>>,
    ) -> io::Result<()> {
        let is_state = kind::is_state(&series.kind);
        let (mut chunks, mut total) = (Vec::new(), 0_u64);
        for hour in hours {
            let hour = hour?;
            let rows = hour.as_ref();
            if rows.is_empty() {
                continue;
            }
            total = rows
                .iter()
                .fold(total, |sum, row| sum.saturating_add(row.1));
            let has_sums = self.has_sums;
            chunks.push(Chunk::write(rows, has_sums, is_state, |bytes| {
                self.block(bytes)
            })?);
        }
        if let (Some(first), Some(last)) = (chunks.first(), chunks.last()) {
            self.parts.push(Part {
                series: Arc::clone(series),
                from: first.from,
                to: last.to,
                rows: chunks.iter().map(|chunk| chunk.rows.count).sum(),
                total,
                chunks,
            });
        }
        Ok(())
    }

    /// Ends the file with the tree that all rows refer to; the file survives a crash afterwards.
    pub(super) fn finish(mut self, tree: &Tree) -> io::Result<()> {
        let mut bytes = Vec::new();
        put(&mut bytes, tree.names.len() as u64);
        tree.names
            .iter()
            .for_each(|name| put(&mut bytes, name.len() as u64));
        bytes.extend(tree.names.all().as_bytes());
        put(&mut bytes, tree.nodes.len() as u64);
        for (at, node) in tree.nodes.iter().enumerate() {
            put(&mut bytes, at as u64 - u64::from(node.0));
        }
        tree.nodes
            .iter()
            .for_each(|node| put(&mut bytes, node.1.into()));
        let tree = self.block(&bytes)?;
        let parts = std::mem::take(&mut self.parts);
        self.end(&serde_json::to_vec(&Table { parts, tree })?)
    }

    /// Ends the file with its table.
    fn end(mut self, table: &[u8]) -> io::Result<()> {
        let table = self.block(table)?;
        for number in [table.at, table.packed] {
            self.file.write_all(&number.to_le_bytes())?;
        }
        self.file.write_all(MAGIC)?;
        self.file.sync_all()?;
        self.unfinished = None;
        Ok(())
    }
}

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment {
    /// Its number, which is its name.
    pub number: u64,
    /// How often its rows were merged.
    pub level: u32,
    file: File,
    /// The bytes of its file.
    pub bytes: u64,
    /// Its series.
    pub parts: Vec<Part>,
    tree: Block,
}

impl Segment {
    /// Opens a file.
    pub(super) fn open(path: &Path, number: u64, level: u32) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut tail = [0; TAIL];
        let at = bytes.checked_sub(TAIL as u64).ok_or_else(damaged)?;
        file.read_exact_at(&mut tail, at)?;
        let number_at = |at: usize| {
            let number = tail.get(at..at + 8).and_then(|it| it.try_into().ok());
            number.map_or(0, u64::from_le_bytes)
        };
        if tail.get(16..) != Some(&MAGIC[..]) {
            return Err(damaged());
        }
        let (at, packed) = (number_at(0), number_at(8));
        if at.saturating_add(packed) > bytes {
            return Err(damaged());
        }
        let mut table = vec![0; usize::try_from(packed).map_err(|_| damaged())?];
        file.read_exact_at(&mut table, at)?;
        let mut json = Vec::new();
        ZlibDecoder::new(&table[..]).read_to_end(&mut json)?;
        let table: Table = serde_json::from_slice(&json)?;
        Ok(Self {
            number,
            level,
            file,
            bytes,
            parts: table.parts,
            tree: table.tree,
        })
    }

    /// Its first and last second.
    pub(super) fn span(&self) -> (u32, u32) {
        let from = self.parts.iter().map(|part| part.from).min();
        let to = self.parts.iter().map(|part| part.to).max();
        (from.unwrap_or(0), to.unwrap_or(0))
    }

    /// The number of its rows.
    pub(super) fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.rows).sum()
    }

    fn read(&self, block: Block) -> io::Result<Vec<u8>> {
        if block.at.saturating_add(block.packed) > self.bytes {
            return Err(damaged());
        }
        let mut packed = vec![0; usize::try_from(block.packed).map_err(|_| damaged())?];
        self.file.read_exact_at(&mut packed, block.at)?;
        let mut bytes = Vec::new();
        ZlibDecoder::new(&packed[..])
            .take(block.bytes + 1)
            .read_to_end(&mut bytes)?;
        match bytes.len() as u64 == block.bytes {
            true => Ok(bytes),
            false => Err(damaged()),
        }
    }

    /// Adds the rows of a block to others.
    pub(super) fn read_rows(&self, rows: Rows, all: &mut Vec<(At, u64)>) -> io::Result<()> {
        chunk::decode(rows, &self.read(rows.block)?, all)
    }

    /// The rows of a series.
    #[cfg(test)]
    pub(super) fn rows_of(&self, part: &Part) -> io::Result<Vec<(At, u64)>> {
        let mut rows = Vec::new();
        for chunk in &part.chunks {
            self.read_rows(chunk.rows, &mut rows)?;
        }
        Ok(rows)
    }

    /// The stacks that rows refer to.
    pub(super) fn stacks(&self) -> io::Result<Stacks> {
        Stacks::decode(&self.read(self.tree)?)
    }
}

/// Writes a segment as servers did before hours had sums: a series has one block.
#[cfg(test)]
pub(super) fn write_as_before(segment: &Segment, path: &Path) -> io::Result<()> {
    let mut writer = Writer::create(path, false)?;
    let mut parts = Vec::new();
    for part in &segment.parts {
        let rows = segment.rows_of(part)?;
        let block = writer.block(&chunk::encoded_as_before(&rows))?;
        let mut stored = serde_json::to_value(part)?;
        let fields = stored.as_object_mut().expect("fields");
        fields.remove("chunks");
        fields.insert("block".to_owned(), serde_json::to_value(block)?);
        parts.push(stored);
    }
    let tree = segment.read(segment.tree)?;
    let tree = writer.block(&tree)?;
    let table = serde_json::json!({ "parts": parts, "tree": tree });
    writer.end(&serde_json::to_vec(&table)?)
}

#[cfg(test)]
mod tests {
    use super::super::batch::series;
    use super::super::kind;
    use super::*;

    #[test]
    fn a_segment_that_is_not_finished_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.new");
        let series = series([], &kind::of_sender("samples", "count"));
        let mut writer = Writer::create(&path, true).unwrap();
        let full: io::Result<Vec<_>> = Err(io::ErrorKind::StorageFull.into());
        let failed = writer.add_hours(&Arc::new(series), std::iter::once(full));
        assert!(failed.is_err() && path.exists());
        drop(writer);
        assert!(!path.exists());
        let writer = Writer::create(&path, true).unwrap();
        writer.finish(&Tree::default()).unwrap();
        assert!(path.exists());
    }

    #[test]
    fn rows_come_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.seg");
        let mut tree = Tree::default();
        let (main, work) = (tree.stack(["main"]), tree.stack(["main", "work"]));
        let thread = tree.name("worker");
        let kind = kind::of_sender("samples", "count");
        let series = Arc::new(series([("host.name".to_owned(), "a".to_owned())], &kind));
        let row = |second, node, value| {
            let at = At {
                second,
                thread,
                node,
            };
            (at, value)
        };
        let mut rows = vec![row(9, work, u64::MAX), row(7, main, 3), row(7, work, 1)];
        let mut writer = Writer::create(&path, true).unwrap();
        writer.add(&series, &mut rows).unwrap();
        writer.finish(&tree).unwrap();
        let segment = Segment::open(&path, 1, 0).unwrap();
        assert_eq!((segment.span(), segment.rows()), ((7, 9), 3));
        assert_eq!(segment.parts[0].series, series);
        let read = segment.rows_of(&segment.parts[0]).unwrap();
        assert_eq!(
            read,
            [row(7, main, 3), row(7, work, 1), row(9, work, u64::MAX)]
        );
        let stacks = segment.stacks().unwrap();
        assert_eq!((stacks.names, stacks.nodes), (tree.names, tree.nodes));
        let whole = std::fs::read(&path).unwrap();
        for at in 8..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            std::fs::write(&path, &bytes).unwrap();
            let read = Segment::open(&path, 1, 0).and_then(|segment| {
                let rows = segment.rows_of(&segment.parts[0])?;
                segment.stacks().map(|_| rows)
            });
            assert!(read.is_err(), "byte {at}");
        }
    }
}
