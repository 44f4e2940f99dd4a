//! Bitmaps and which of them are equal.

use std::hash::Hasher;

use hprof_format::binary::SubRecord;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::Serialize;

use crate::numbers::{ClassNumber, ObjectNumber, Place};
use crate::snapshot::{Snapshot, Value};

/// Bitmaps of one size and content.
#[derive(Debug, Clone, Serialize)]
pub struct BitmapRow {
    /// Pixels from left to right.
    pub width: i64,
    /// Pixels from top to bottom.
    pub height: i64,
    /// The bytes of one buffer of pixels.
    pub bytes: u64,
    /// True if the buffer is not in the file, as in Android 8 and later or after Matrix: `bytes` is
    /// then four for each pixel.
    pub is_estimate: bool,
    /// How many bitmaps have the same pixels. Where pixels are not in the file, equal ones are not
    /// known.
    pub count: u64,
    /// How many buffers these bitmaps have.
    pub buffers: u64,
    /// One of them, by number.
    pub object: ObjectNumber,
}

/// The most pixels of a side. What is larger is damage, and not told as a size.
const MAX_SIDE: i64 = 1 << 16;

/// The bytes of pixels with four bytes each.
fn estimate(width: i64, height: i64) -> u64 {
    let side = |pixels: i64| u64::try_from(pixels).ok().filter(|_| pixels <= MAX_SIDE);
    side(width)
        .zip(side(height))
        .map_or(0, |(width, height)| 4 * width * height)
}

/// The live bitmaps (`android.graphics.Bitmap`).
fn live(snapshot: &Snapshot) -> impl Iterator<Item = (ObjectNumber, Place)> + '_ {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let is_bitmap = |class: &ClassNumber| classes.get(*class).name == "android.graphics.Bitmap";
    let bitmap = classes.numbers().find(is_bitmap);
    let objects = graph.objects().filter(move |_| bitmap.is_some());
    objects.filter_map(move |object| {
        let is_one = Some(graph.class_of(object)) == bitmap;
        let place = snapshot.dominators().place(object);
        Some((object, place.filter(|_| is_one)?))
    })
}

fn size(snapshot: &Snapshot, bitmap: ObjectNumber) -> (i64, i64) {
    let side = |name| snapshot.field(bitmap, name)?.integer();
    (side("mWidth").unwrap_or(0), side("mHeight").unwrap_or(0))
}

/// All live bitmaps, the largest first.
pub fn bitmaps(snapshot: &Snapshot) -> Vec<BitmapRow> {
    let graph = snapshot.graph();
    let is_blank = snapshot.contents().lacks_elements || snapshot.is_stripped();
    let mut rows: Vec<BitmapRow> = Vec::new();
    let mut equal: FxHashMap<u64, usize> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    for (object, _) in live(snapshot) {
        let (width, height) = size(snapshot, object);
        let buffer = snapshot.field_object(object, "mBuffer");
        let located = buffer.and_then(|buffer| graph.locate(snapshot.file(), buffer));
        let (bytes, is_estimate) = match (located, buffer) {
            (Some((_, SubRecord::PrimitiveArray { values, .. })), Some(buffer)) => {
                let mut hasher = FxHasher::default();
                match is_blank {
                    true => hasher.write_usize(buffer.index()),
                    false => hasher.write(values),
                }
                hasher.write_i64(width);
                let is_new = seen.insert(buffer);
                let row = *equal.entry(hasher.finish()).or_insert(rows.len());
                if let Some(known) = rows.get_mut(row) {
                    known.count += 1;
                    known.buffers += u64::from(is_new);
                    continue;
                }
                (values.len() as u64, false)
            }
            _ => (estimate(width, height), true),
        };
        rows.push(BitmapRow {
            width,
            height,
            bytes,
            is_estimate,
            count: 1,
            buffers: 1,
            object,
        });
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.bytes * row.buffers), row.object));
    rows
}

/// The bytes of bitmaps' pixels that the dump refers to and lacks, by place in the dominator tree.
pub(super) struct MissingPixels {
    /// Places in their order, with the sum of all before them and their own.
    sums: Vec<(Place, u64)>,
}

impl MissingPixels {
    pub fn new(snapshot: &Snapshot) -> Self {
        let mut sums = Vec::new();
        if snapshot.graph().gaps().missing_objects > 0 {
            let lacks_buffer = |bitmap| {
                let buffer = snapshot.field(bitmap, "mBuffer");
                matches!(buffer, Some(Value::Missing(_)))
            };
            for (bitmap, place) in live(snapshot).filter(|&(bitmap, _)| lacks_buffer(bitmap)) {
                let (width, height) = size(snapshot, bitmap);
                sums.push((place, estimate(width, height)));
            }
        }
        sums.sort_unstable();
        let mut sum = 0;
        for (_, bytes) in &mut sums {
            sum += *bytes;
            *bytes = sum;
        }
        Self { sums }
    }

    /// Returns the missing bytes of the bitmaps that an object keeps alive, itself perhaps.
    pub fn below(&self, snapshot: &Snapshot, object: ObjectNumber) -> u64 {
        let dominators = snapshot.dominators();
        let Some(place) = dominators.place(object) else {
            return 0;
        };
        let before = |end: Place| {
            let found = self.sums.partition_point(|(place, _)| *place < end);
            found.checked_sub(1).map_or(0, |last| self.sums[last].1)
        };
        before(dominators.end(place)) - before(place)
    }
}
