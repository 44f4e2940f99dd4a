//! The index of a dump: its graph and dominators in a file, to be mapped when the dump is opened
//! again.
//!
//! A file begins with a prelude of 64 bytes: the magic, the version, and where the head lies. Then
//! come arrays of numbers in the byte order of the machine, each at a multiple of 64 bytes, and at
//! the end the head in JSON, which says what the index was made of and where each array lies.
//! Checksums (XXH3) of all that lies between prelude and head, in pieces, are in the head, whose own
//! is in the prelude. They are looked at when the file is opened, so that a damaged index is made
//! anew and never asked; unless a [seal](super::seals) says that this was done, and the file has
//! not changed since.

use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use hprof_format::binary::IdSize;
use memmap2::Mmap;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use zerocopy::IntoBytes;

use super::checksums::{checksums, hash};
use super::open::map_file;
use super::seals;
use super::soundness::is_sound;
use crate::contents::DamageLog;
use crate::dominators::{Dominators, Spans, Sums, Tree};
use crate::graph::{
    Array, Blocks, Class, ClassOf, Classes, Follow, Gaps, Graph, GraphRoot, IdMap, IdMapHead,
    Number, References, Sizes, Store, Width,
};
use crate::heap::{Layout, LayoutSource};
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::whole_file::WholeFile;

const MAGIC: &[u8; 8] = b"hprof-rs";
/// Raised with every change of the layout, so that older indexes are rebuilt.
const VERSION: u32 = 10;
pub(super) const PRELUDE: u64 = 64;

/// The inputs of an index. Another dump, or another way to look at it, has another index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    bytes: u64,
    modified_nanos: u128,
    sample: u64,
    dump: u64,
    follow: Follow,
    wide: bool,
    little_endian: bool,
}

impl Key {
    pub fn new(
        path: &Path,
        file: &[u8],
        dump: usize,
        follow: &Follow,
        wide: bool,
    ) -> io::Result<Self> {
        let modified = fs::metadata(path)?.modified()?;
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            bytes: file.len() as u64,
            modified_nanos: modified.as_nanos(),
            sample: sample(file),
            dump: dump as u64,
            follow: follow.clone(),
            wide,
            little_endian: cfg!(target_endian = "little"),
        })
    }
}

/// A hash of the start, the end and places between.
fn sample(file: &[u8]) -> u64 {
    const PART: usize = 4096;
    let mut hasher = FxHasher::default();
    let places = 64.min(file.len() / PART + 1);
    for place in 0..places {
        let start = (file.len().saturating_sub(PART) / places.max(1)) * place;
        hasher.write(&file[start..(start + PART).min(file.len())]);
    }
    hasher.write(&file[file.len().saturating_sub(PART)..]);
    hasher.finish()
}

/// All of an index that is no array.
#[derive(Serialize, Deserialize)]
struct Head {
    key: Key,
    four_byte_ids: bool,
    is_android: bool,
    ids: IdMapHead,
    classes: Vec<Class>,
    chunks: Vec<u64>,
    heaps: Vec<(u32, String)>,
    layout: Layout,
    layout_source: LayoutSource,
    gaps: Gaps,
    damage: DamageLog,
    is_wide: bool,
    has_wide_spans: bool,
    has_wide_classes: bool,
    /// Start and bytes of each array.
    arrays: Vec<(u64, u64)>,
    /// The checksum of each piece of what lies before the head.
    checksums: Vec<u64>,
}

/// The arrays of a graph and its dominators, in the order of the file.
fn arrays<'a, N: Number>(
    graph: &'a Graph,
    ids: &'a [u8],
    references: &'a References<N>,
    tree: &'a Tree<N>,
    locals: &'a (Vec<u64>, Vec<GraphRoot>),
    passed_over: &'a [u64],
) -> Vec<&'a [u8]> {
    let mut arrays = vec![
        ids,
        graph.class_of.bytes(),
        graph.sizes.small.bytes(),
        graph.sizes.large.bytes(),
        graph.roots.as_bytes(),
        locals.0.as_bytes(),
        locals.1.as_bytes(),
        passed_over.as_bytes(),
        graph.blocks.list.bytes(),
        references.start.bytes(),
        tree.objects.bytes(),
        tree.places.bytes(),
        tree.above.bytes(),
        tree.sums.sizes.small.bytes(),
        tree.sums.sizes.large.bytes(),
        tree.sums.before.bytes(),
        tree.indirect.bytes(),
    ];
    match &tree.spans {
        Spans::Narrow { small, large } => arrays.extend([small.bytes(), large.bytes()]),
        Spans::Wide(spans) => arrays.push(spans.bytes()),
    }
    arrays.extend(references.chunks.iter().map(|chunk| chunk.bytes()));
    arrays
}

/// Writes an index of at most `most` bytes, and gives their number. It appears under its name when
/// it is complete.
pub(crate) fn write(
    path: &Path,
    key: &Key,
    graph: &Graph,
    dominators: &Dominators,
    most: u64,
) -> io::Result<u64> {
    let (head_of_ids, ids) = graph.ids.parts();
    let locals: (Vec<u64>, Vec<GraphRoot>) = (graph.locals.iter())
        .map(|&(thread, root)| (thread.index() as u64, root))
        .unzip();
    let passed_over: Vec<u64> = (graph.passed_over.iter())
        .flat_map(|&(from, to)| [from, to])
        .collect();
    let (arrays, chunks, has_wide_spans) = match (&graph.width, dominators) {
        (Width::Narrow(references), Dominators::Narrow(tree)) => (
            arrays(graph, ids, references, tree, &locals, &passed_over),
            references
                .chunks
                .iter()
                .map(|chunk| chunk.len() as u64)
                .collect(),
            matches!(tree.spans, Spans::Wide(_)),
        ),
        (Width::Wide(references), Dominators::Wide(tree)) => (
            arrays(graph, ids, references, tree, &locals, &passed_over),
            references
                .chunks
                .iter()
                .map(|chunk| chunk.len() as u64)
                .collect(),
            matches!(tree.spans, Spans::Wide(_)),
        ),
        _ => {
            return Err(io::Error::other(
                "graph and dominators are of different widths",
            ));
        }
    };
    let needed: u64 = arrays.iter().map(|bytes| bytes.len() as u64).sum();
    if needed > most {
        let words = format!("it would take {needed} bytes, more than --index-limit allows");
        return Err(io::Error::other(words));
    }
    let whole = WholeFile::for_path(path, 0o600)?;
    let file = whole.file();
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut at = PRELUDE;
    out.write_all(&[0; PRELUDE as usize])?;
    let mut places = Vec::new();
    for bytes in arrays {
        let padding = at.next_multiple_of(PRELUDE) - at;
        out.write_all(&[0; PRELUDE as usize][..padding as usize])?;
        at += padding;
        out.write_all(bytes)?;
        places.push((at, bytes.len() as u64));
        at += bytes.len() as u64;
    }
    out.flush()?;
    drop(out);
    let written = map_file(file)?;
    let checksums = checksums(&written, PRELUDE as usize..written.len());
    drop(written);
    let head = Head {
        checksums,
        key: key.clone(),
        four_byte_ids: graph.id_size == IdSize::Four,
        is_android: graph.is_android,
        ids: head_of_ids,
        classes: graph.classes.list().to_vec(),
        chunks,
        heaps: graph.heaps.clone(),
        layout: graph.layout,
        layout_source: graph.layout_source,
        gaps: graph.gaps,
        damage: graph.damage.clone(),
        is_wide: matches!(graph.width, Width::Wide(_)),
        has_wide_spans,
        has_wide_classes: matches!(graph.class_of, ClassOf::Wide(_)),
        arrays: places,
    };
    let head = serde_json::to_vec(&head)?;
    let mut file_ref = file;
    file_ref.write_all(&head)?;
    let mut prelude = Vec::new();
    prelude.extend(MAGIC);
    prelude.extend(VERSION.to_le_bytes());
    prelude.extend([0; 4]);
    prelude.extend(at.to_le_bytes());
    prelude.extend((head.len() as u64).to_le_bytes());
    prelude.extend(hash(&head).to_le_bytes());
    file_ref.seek(SeekFrom::Start(0))?;
    file_ref.write_all(&prelude)?;
    whole.publish(path)?;
    Ok(at + head.len() as u64)
}

/// The results of a look at a place where an index may lie.
pub(crate) enum Found {
    /// None of this dump, or one that is damaged or of another version.
    Nothing,
    /// A file that another user has made, or could have changed.
    Foreign,
    /// The graph and dominators.
    Index(Box<(Graph, Dominators)>),
}

/// Looks for the index of a dump at a place. With `trusts` no other user can have made it, so that
/// checksums are enough.
pub(crate) fn read(path: &Path, key: &Key, trusts: bool, store: &Store) -> Found {
    let Ok(file) = open_own(path) else {
        return Found::Nothing;
    };
    let Some(file) = file else {
        return Found::Foreign;
    };
    let seals = seals::folder_for(&file);
    match read_file(&file, key, trusts, seals.as_deref(), store) {
        Some(found) => Found::Index(Box::new(found)),
        None => Found::Nothing,
    }
}

/// Opens a file that only this user can have written; `None` if others can have. What is asked is
/// the open file, as the name may lead to another one a moment later.
pub(super) fn open_own(path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        // A link, or what may not even be read.
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let about = file.metadata()?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    Ok((is_own && about.is_file() && about.mode() & 0o022 == 0).then_some(file))
}

fn read_file(
    file: &File,
    key: &Key,
    trusts: bool,
    seals: Option<&Path>,
    store: &Store,
) -> Option<(Graph, Dominators)> {
    let is_sealed = seals.is_some_and(|folder| seals::is_sealed(folder, file));
    let map = Arc::new(map_file(file).ok()?);
    // Before it is looked at, from one end to the other.
    store.watch_map(&map);
    let prelude = map.get(..PRELUDE as usize)?;
    let number = |at: usize| prelude[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    if &prelude[..8] != MAGIC || prelude[8..12] != VERSION.to_le_bytes() {
        return None;
    }
    let start = usize::try_from(number(16)?).ok()?;
    let length = usize::try_from(number(24)?).ok()?;
    let end = start.checked_add(length)?;
    let head = map.get(start..end)?;
    if hash(head) != number(32)? || end != map.len() || start < PRELUDE as usize {
        return None;
    }
    let head: Head = serde_json::from_slice(head).ok()?;
    if head.key != *key {
        return None;
    }
    if !is_sealed && checksums(&map, PRELUDE as usize..start) != head.checksums {
        return None;
    }
    let (graph, dominators) = if head.is_wide {
        let (graph, dominators) = assemble::<u64>(head, &map)?;
        (graph(Width::Wide), Dominators::Wide(dominators))
    } else {
        let (graph, dominators) = assemble::<u32>(head, &map)?;
        (graph(Width::Narrow), Dominators::Narrow(dominators))
    };
    if !is_sealed {
        if !trusts && !is_sound(&graph, &dominators, key.bytes) {
            return None;
        }
        if let Some(folder) = seals.filter(|_| !trusts) {
            seals::seal(folder, file);
        }
    }
    Some((graph, dominators))
}

/// Makes a graph once it is known which width its references are.
type Finish<N> = Box<dyn FnOnce(fn(References<N>) -> Width) -> Graph>;

fn assemble<N: Number>(head: Head, map: &Arc<Mmap>) -> Option<(Finish<N>, Tree<N>)> {
    let mut places = head.arrays.iter();
    let mut place = || {
        let &(start, bytes) = places.next()?;
        Some((usize::try_from(start).ok()?, usize::try_from(bytes).ok()?))
    };
    macro_rules! next {
        ($element:ty) => {{
            let (start, bytes) = place()?;
            Array::<$element>::of_index(map, start, bytes)?
        }};
    }
    let (start, bytes) = place()?;
    let ids = IdMap::of_index(head.ids, map, start, bytes)?;
    let class_of = match head.has_wide_classes {
        true => ClassOf::Wide(next!(ClassNumber)),
        false => ClassOf::Narrow(next!(u16)),
    };
    let sizes = Sizes {
        small: next!(u8),
        large: next!([u64; 2]),
    };
    let roots = next!(GraphRoot).to_vec();
    let threads = next!(u64);
    let local_roots = next!(GraphRoot);
    let passed_over = next!(u64);
    let blocks = next!(crate::graph::Block);
    let start = next!(N);
    let tree = Tree {
        objects: next!(N),
        places: next!(N),
        above: next!(N),
        sums: Sums {
            sizes: Sizes {
                small: next!(u8),
                large: next!([u64; 2]),
            },
            before: next!(u64),
        },
        indirect: next!(u64),
        spans: match head.has_wide_spans {
            true => Spans::Wide(next!(N)),
            false => Spans::Narrow {
                small: next!(u8),
                large: next!([N; 2]),
            },
        },
    };
    let mut chunks = Vec::new();
    for &length in &head.chunks {
        let chunk = next!(N);
        if chunk.len() as u64 != length {
            return None;
        }
        chunks.push(chunk);
    }
    let count = ids.len();
    let lengths = [class_of.len(), sizes.len(), start.len(), tree.places.len()];
    if lengths.iter().any(|&length| length != count) || threads.len() != local_roots.len() {
        return None;
    }
    let id_size = if head.four_byte_ids {
        IdSize::Four
    } else {
        IdSize::Eight
    };
    let locals = (threads.iter().zip(local_roots.iter()))
        .map(|(&thread, &root)| (ObjectNumber::new(thread as usize), root))
        .collect();
    let passed_over = passed_over.chunks_exact(2).map(|p| (p[0], p[1])).collect();
    let references = References { start, chunks };
    let finish = move |width: fn(References<N>) -> Width| Graph {
        id_size,
        is_android: head.is_android,
        ids,
        classes: Classes::of_list(head.classes, id_size),
        width: width(references),
        class_of,
        sizes,
        roots,
        locals,
        passed_over,
        blocks: Blocks::new(blocks),
        heaps: head.heaps,
        layout: head.layout,
        layout_source: head.layout_source,
        gaps: head.gaps,
        damage: head.damage,
        follow: head.key.follow,
    };
    Some((Box::new(finish), tree))
}

/// An index taken apart, for tests that change it.
#[cfg(test)]
pub(super) struct Reading {
    /// All before the head.
    pub body: Vec<u8>,
    pub head: Vec<u8>,
    /// Start and bytes of each array.
    pub arrays: Vec<(usize, usize)>,
}

#[cfg(test)]
impl Reading {
    pub fn of(file: &[u8]) -> Option<Self> {
        let start = u64::from_le_bytes(file[16..24].try_into().ok()?) as usize;
        let head: Head = serde_json::from_slice(&file[start..]).ok()?;
        let arrays = head.arrays.iter();
        Some(Self {
            body: file[..start].to_vec(),
            head: file[start..].to_vec(),
            arrays: arrays
                .map(|&(start, bytes)| (start as usize, bytes as usize))
                .collect(),
        })
    }
}

/// Puts an index together again, with the checksums that it needs.
#[cfg(test)]
pub(super) fn reseal(reading: &Reading) -> Vec<u8> {
    let mut head = reading.head.clone();
    if let Ok(mut fields) = serde_json::from_slice::<serde_json::Value>(&head) {
        let pieces = reading.body[PRELUDE as usize..].chunks(super::checksums::PIECE);
        let sums: Vec<u64> = pieces.map(hash).collect();
        fields["checksums"] = serde_json::json!(sums);
        // Numbers of 128 bits are beyond what a value of JSON holds.
        if let Ok(sealed) = serde_json::to_vec(&fields) {
            head = sealed;
        }
    }
    let mut file = reading.body.clone();
    file.extend(&head);
    file[24..32].copy_from_slice(&(head.len() as u64).to_le_bytes());
    file[32..40].copy_from_slice(&hash(&head).to_le_bytes());
    file
}
