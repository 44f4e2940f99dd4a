//! When the rate of events changes.
//!
//! The method is PELT: R. Killick, P. Fearnhead, I. A. Eckley, "Optimal Detection of Changepoints With a Linear
//! Computational Cost", Journal of the American Statistical Association 107 (2012), 1590–1598. It finds the division
//! into segments with the least sum of costs and penalties. The cost of a segment is twice the negative logarithm of
//! the likelihood of its counts under a Poisson distribution of their mean. Load scatters more than that, so costs are
//! divided by how much more neighbours scatter.

/// Penalty of a change in units of the logarithm of the number of counts. Two parameters per change make 2 that of
/// Schwarz' criterion; twice that is not led astray by short bursts.
const PENALTY: f64 = 4.0;

/// The places at which the rate of counts changes, each the first of a new segment, in ascending order.
pub fn change_points(counts: &[u64]) -> Vec<usize> {
    let n = counts.len();
    if n < 2 {
        return Vec::new();
    }
    let mut sums = vec![0_u64; n + 1];
    for (at, &count) in counts.iter().enumerate() {
        sums[at + 1] = sums[at].saturating_add(count);
    }
    let scatter = dispersion(counts);
    let cost = |from: usize, to: usize| {
        let sum = (sums[to] - sums[from]) as f64;
        match sum > 0.0 {
            // Parts that all divisions share are left out.
            true => 2.0 * sum * (1.0 - (sum / (to - from) as f64).ln()) / scatter,
            false => 0.0,
        }
    };
    let penalty = PENALTY * (n as f64).ln();
    let mut best = vec![-penalty; n + 1];
    let mut last = vec![0_usize; n + 1];
    let mut open = vec![0_usize];
    for to in 1..=n {
        let costs: Vec<f64> = open
            .iter()
            .map(|&from| best[from] + cost(from, to))
            .collect();
        let (mut least, mut at) = (f64::INFINITY, 0);
        for (&from, &sum) in open.iter().zip(&costs) {
            if sum + penalty < least {
                (least, at) = (sum + penalty, from);
            }
        }
        (best[to], last[to]) = (least, at);
        // What cannot become the last change later is left out.
        let mut costs = costs.iter();
        open.retain(|_| costs.next().is_some_and(|&sum| sum <= least));
        open.push(to);
    }
    let mut points = Vec::new();
    let mut at = last[n];
    while at > 0 {
        points.push(at);
        at = last[at];
    }
    points.reverse();
    points
}

/// How much more counts scatter than those of a Poisson distribution, 1 or more: the median of what the differences of
/// neighbours show, as changes of the rate are few.
fn dispersion(counts: &[u64]) -> f64 {
    let mut all: Vec<f64> = counts
        .windows(2)
        .filter(|pair| pair[0] + pair[1] > 0)
        .map(|pair| {
            let difference = pair[0].abs_diff(pair[1]) as f64;
            difference * difference / (pair[0] + pair[1]) as f64
        })
        .collect();
    let middle = all.len() / 2;
    if all.is_empty() {
        return 1.0;
    }
    let (_, &mut median, _) = all.select_nth_unstable_by(middle, f64::total_cmp);
    // The median of a squared normal variable is 0.455 of its mean.
    (median / 0.455).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of a mean with the scatter of a Poisson distribution, nearly: twelve dice make a normal variable.
    fn noisy(state: &mut u64, mean: f64) -> u64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            sum += (*state >> 11) as f64 / (1_u64 << 53) as f64;
        }
        (mean + (sum - 6.0) * mean.sqrt()).round().max(0.0) as u64
    }

    #[test]
    fn steps_and_bursts_are_found_where_they_are() {
        let mut state = 1;
        let mut counts = Vec::new();
        for (length, mean) in [(20, 40.0), (10, 380.0), (30, 40.0)] {
            counts.extend((0..length).map(|_| noisy(&mut state, mean)));
        }
        assert_eq!(change_points(&counts), [20, 30]);
        let step: Vec<u64> = [[0; 10], [50; 10]].concat();
        assert_eq!(change_points(&step), [10]);
    }

    #[test]
    fn even_load_has_no_changes() {
        let mut state = 7;
        for mean in [0.0, 1.0, 5.0, 50.0, 200.0] {
            for length in [2, 10, 60, 600] {
                let counts: Vec<u64> = (0..length).map(|_| noisy(&mut state, mean)).collect();
                assert_eq!(change_points(&counts), [0; 0], "{mean} {length}");
            }
        }
        // Work that comes and goes at each look is even too.
        let alternating: Vec<u64> = (0..100).map(|at| at % 2 * 100).collect();
        assert_eq!(change_points(&alternating), [0; 0]);
        assert_eq!(change_points(&[]), [0; 0]);
        assert_eq!(change_points(&[5]), [0; 0]);
    }
}
