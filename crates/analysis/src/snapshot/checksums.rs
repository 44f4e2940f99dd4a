//! Checksums of an index (XXH3), piece by piece.

use std::ops::Range;

use memmap2::Mmap;
use twox_hash::XxHash3_64;

use crate::parallel;

/// The checksum of some bytes.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// The bytes of a piece.
pub(super) const PIECE: usize = 4 << 20;

/// The checksums of all pieces in a range of a map, on all cores.
pub(super) fn checksums(map: &Mmap, range: Range<usize>) -> Vec<u64> {
    let body = map.get(range).unwrap_or_default();
    let pieces: Vec<&[u8]> = body.chunks(PIECE).collect();
    let parts = parallel::run(0, pieces.len(), |tasks| {
        let sum = |task: usize| {
            let piece = pieces[task];
            let sum = hash(piece);
            // What a query needs comes back; the rest need not stay.
            let start = piece.as_ptr().addr() - map.as_ptr().addr();
            crate::input::forget(map, start..start + piece.len());
            (task, sum)
        };
        tasks.map(sum).collect::<Vec<_>>()
    });
    let mut sums = vec![0; pieces.len()];
    for (task, sum) in parts.into_iter().flatten() {
        sums[task] = sum;
    }
    sums
}
