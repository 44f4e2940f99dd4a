//! Which rows are too small for a table.

use super::share;

/// Which rows of a table are left out.
///
/// ```
/// use hprof_format::rank::Cutoff;
///
/// // Half of the total is in rows of a hundredth each.
/// let weights = || [50].into_iter().chain([1; 50]);
/// assert_eq!(Cutoff::below(0.02).kept(weights(), 100), 1);
/// let bounded = Cutoff { share: 0.02, most_left_out: 0.1, most_rows: 100 };
/// assert_eq!(bounded.kept(weights(), 100), 41);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cutoff {
    /// Rows with a smaller share of the total may be left out. If this is not a number, no row is,
    /// as no share is less.
    pub share: f64,
    /// Smaller rows stay while more than this fraction of the total would be left out,
    pub most_left_out: f64,
    /// and while the table has fewer rows than this.
    pub most_rows: usize,
}

impl Cutoff {
    /// The default: the JDK's agent left out rows below 0.01 %, however
    /// many there were. Where stacks are deep, small rows are many and add up to a large share.
    ///
    /// More than 10,000 rows cannot pass by their share either.
    pub const DEFAULT: Self = Self {
        share: 0.0001,
        most_left_out: 0.01,
        most_rows: 10_000,
    };

    /// Leaves out all rows below a share, as the JDK's agent did.
    pub const fn below(share: f64) -> Self {
        Self {
            share,
            most_left_out: 1.0,
            most_rows: 0,
        }
    }

    /// How many of the weights stay, which come in descending order.
    pub fn kept(self, weights: impl IntoIterator<Item = u64>, total: u64) -> usize {
        let mut sum = 0u64;
        let is_kept = |&(row, weight): &(usize, u64)| {
            let left = share(total.saturating_sub(sum), total);
            sum = sum.saturating_add(weight);
            self.share.is_nan()
                || share(weight, total) >= self.share
                || (left > self.most_left_out && row < self.most_rows)
        };
        weights.into_iter().enumerate().take_while(is_kept).count()
    }
}

impl From<f64> for Cutoff {
    fn from(share: f64) -> Self {
        Self::below(share)
    }
}

/// The sum of the rows that a table omits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LeftOut {
    /// How many rows.
    pub rows: usize,
    /// The sum of what they count.
    pub weight: u64,
    /// The sum as a fraction of the total.
    pub share: f64,
}

impl LeftOut {
    /// The rows left out of a table with a `total`, whose other rows add up to `shown`.
    pub(super) fn new(rows: usize, shown: u64, total: u64) -> Self {
        match rows {
            0 => Self::default(),
            rows => Self::of(rows, total.saturating_sub(shown), total),
        }
    }

    pub(super) fn of(rows: usize, weight: u64, total: u64) -> Self {
        Self {
            rows,
            weight,
            share: share(weight, total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_more_is_left_out_than_may_be(
            mut weights in prop::collection::vec(0u64..1000, 0..60),
            share in 0.0f64..0.2,
            most_left_out in 0.0f64..0.5,
        ) {
            weights.sort_by_key(|&weight| std::cmp::Reverse(weight));
            let total: u64 = weights.iter().sum();
            let weights = || weights.iter().copied();
            let bounded = Cutoff { share, most_left_out, most_rows: 60 };
            let kept = bounded.kept(weights(), total);
            let below = Cutoff::below(share).kept(weights(), total);
            let few = Cutoff { most_rows: 10, ..bounded };
            prop_assert_eq!(few.kept(weights(), total), kept.min(below.max(10)));
            prop_assert!(kept >= below);
            let shown: u64 = weights().take(kept).sum();
            let left = total - shown;
            prop_assert!(left as f64 <= most_left_out * total as f64 + 1e-6);
            // One row fewer would leave too much out, unless it passes by its own share.
            if let Some(last) = kept.checked_sub(1).filter(|_| kept > below) {
                let last = weights().nth(last).unwrap_or_default();
                prop_assert!((left + last) as f64 > most_left_out * total as f64 - 1e-6);
            }
            prop_assert_eq!(Cutoff::below(f64::NAN).kept(weights(), total), weights().count());
        }
    }
}
