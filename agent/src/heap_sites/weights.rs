//! The number of objects that a recorded one represents.
//!
//! With sampling, HotSpot records the allocations that sampling points fall
//! into, whose distances in bytes are geometric with the given mean
//! (`threadHeapSampler.cpp`, JEP 331). An object of `s` bytes is therefore
//! recorded with probability `1 - exp(-s / mean)`, and counts as the inverse of
//! that many objects.

use super::sites::Count;

/// Counting, exact or sampled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    interval: u32,
}

/// Sampled objects are counted in fractions of this size.
const SAMPLED_UNIT: u64 = 1 << 10;

impl Weights {
    /// For a mean distance of `interval` bytes; 0 records everything.
    pub(super) fn new(interval: u32) -> Self {
        Self { interval }
    }

    /// The weight of an object of `size` bytes, in fractions of [`Self::unit`].
    #[inline]
    pub(super) fn count(self, size: u64) -> Count {
        if self.interval == 0 {
            return Count {
                objects: 1,
                bytes: size,
            };
        }
        let probability = -(-(size as f64) / f64::from(self.interval)).exp_m1();
        let weight = if probability > 0.0 {
            1.0 / probability
        } else {
            0.0
        };
        Count {
            objects: (weight * SAMPLED_UNIT as f64).round() as u64,
            bytes: (weight * size as f64).round() as u64,
        }
    }

    /// How much one object is in [`Count::objects`].
    pub(super) fn unit(self) -> u64 {
        if self.interval == 0 { 1 } else { SAMPLED_UNIT }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_counts_are_exact() {
        let weights = Weights::new(0);
        let count = weights.count(24);
        assert_eq!((count.objects, count.bytes, weights.unit()), (1, 24, 1));
    }

    #[test]
    fn small_objects_stand_for_a_whole_interval_and_huge_ones_for_themselves() {
        let weights = Weights::new(1 << 20);
        let small = weights.count(16);
        let objects = small.objects as f64 / weights.unit() as f64;
        assert!((objects - 65_536.5).abs() < 0.01, "{objects}");
        assert!(small.bytes.abs_diff(1 << 20) < 16);
        let huge = weights.count(100 << 20);
        assert_eq!((huge.objects, huge.bytes), (weights.unit(), 100 << 20));
        assert_eq!(weights.count(0).objects, 0);
    }

    /// Sampling points at geometric distances, as in the VM.
    #[test]
    fn the_estimate_is_unbiased() {
        let mut state = 0x1234_5678_9abc_def1u64;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mean = 4096.0;
        let weights = Weights::new(4096);
        let sizes = [16u64, 64, 1000, 8192];
        let mut estimated = [Count::default(); 4];
        let rounds = 400_000;
        let mut next = -mean * uniform().ln();
        for round in 0..rounds {
            let kind = round % sizes.len();
            let size = sizes[kind] as f64;
            if next <= size {
                estimated[kind] += weights.count(sizes[kind]);
                next = -mean * uniform().ln();
            } else {
                next -= size;
            }
        }
        for (size, count) in sizes.iter().zip(estimated) {
            let truth = (rounds / sizes.len()) as f64;
            let objects = count.objects as f64 / weights.unit() as f64;
            // The variance of an estimate is (1 - p) / p for each object.
            let p = 1.0 - (-(*size as f64) / mean).exp();
            let sigma = (truth * (1.0 - p) / p).sqrt();
            assert!(
                (objects - truth).abs() < 4.0 * sigma + 1.0,
                "size {size}: {objects} for {truth} +- {sigma}"
            );
            let bytes = count.bytes as f64 / *size as f64;
            assert!((bytes - objects).abs() < 0.01 * truth);
        }
    }
}
