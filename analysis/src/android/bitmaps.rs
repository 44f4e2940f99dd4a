//! Bitmaps and which of them are equal.

use std::hash::Hasher;

use hprof_format::binary::SubRecord;
use rustc_hash::{FxHashMap, FxHasher};
use serde::Serialize;

use crate::numbers::{ClassNumber, ObjectNumber};
use crate::snapshot::Snapshot;

/// Bitmaps of one size and content.
#[derive(Debug, Clone, Serialize)]
pub struct BitmapRow {
    /// Pixels from left to right.
    pub width: i64,
    /// Pixels from top to bottom.
    pub height: i64,
    /// The bytes of one; of pixels outside of the heap four for each.
    pub bytes: u64,
    /// How many bitmaps have the same pixels. Where pixels lie outside of the heap, as in
    /// Android 8 and later, equal ones are not known.
    pub count: u64,
    /// One of them, by number.
    pub object: ObjectNumber,
}

/// All live bitmaps (`android.graphics.Bitmap`), the largest first.
pub fn bitmaps(snapshot: &Snapshot) -> Vec<BitmapRow> {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let is_bitmap = |class: &ClassNumber| classes.get(*class).name == "android.graphics.Bitmap";
    let Some(bitmap) = classes.numbers().find(is_bitmap) else {
        return Vec::new();
    };
    let mut rows: Vec<BitmapRow> = Vec::new();
    let mut equal: FxHashMap<u64, usize> = FxHashMap::default();
    for object in graph.objects() {
        if graph.class_of(object) != bitmap || snapshot.dominators().place(object).is_none() {
            continue;
        }
        let size = |name| {
            snapshot
                .field(object, name)
                .and_then(|value| value.integer())
        };
        let (width, height) = (size("mWidth").unwrap_or(0), size("mHeight").unwrap_or(0));
        let buffer = snapshot.field_object(object, "mBuffer");
        let located = buffer.and_then(|buffer| graph.locate(snapshot.file(), buffer));
        let bytes = match located {
            Some((_, SubRecord::PrimitiveArray { values, .. })) => {
                let mut hasher = FxHasher::default();
                hasher.write_i64(width);
                hasher.write(values);
                let row = *equal.entry(hasher.finish()).or_insert(rows.len());
                if let Some(known) = rows.get_mut(row) {
                    known.count += 1;
                    continue;
                }
                values.len() as u64
            }
            _ => u64::try_from(width.saturating_mul(height).saturating_mul(4)).unwrap_or(0),
        };
        rows.push(BitmapRow {
            width,
            height,
            bytes,
            count: 1,
            object,
        });
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.bytes * row.count), row.object));
    rows
}
