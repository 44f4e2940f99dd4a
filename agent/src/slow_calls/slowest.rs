//! The slowest calls of a method.

use hprof_stacks::slow::SlowCall;

/// How many are kept.
const MOST: usize = 10;

/// The slowest calls, the slowest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Slowest {
    calls: Vec<SlowCall>,
}

impl Slowest {
    /// Returns true if a call of this time belongs to them.
    pub(super) fn takes(&self, wall: u64) -> bool {
        self.calls.len() < MOST || wall > self.floor()
    }

    /// Adds a call, and drops the fastest if there are too many.
    pub(super) fn add(&mut self, call: SlowCall) {
        // Behind those that took as long: the first is kept.
        let at = self.calls.partition_point(|it| it.wall >= call.wall);
        self.calls.insert(at, call);
        self.calls.truncate(MOST);
    }

    /// Only longer calls belong to them, once there are enough.
    pub(super) fn floor(&self) -> u64 {
        match self.calls.get(MOST - 1) {
            Some(last) => last.wall,
            None => 0,
        }
    }

    /// The time of the slowest.
    pub(super) fn longest(&self) -> u64 {
        self.calls.first().map_or(0, |call| call.wall)
    }

    pub(super) fn calls(&self) -> &[SlowCall] {
        &self.calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_slowest_stay() {
        let mut slowest = Slowest::default();
        let walls = (0..50u64).map(|n| n * 37 % 50);
        for wall in walls {
            if slowest.takes(wall) {
                slowest.add(SlowCall {
                    wall,
                    ..SlowCall::default()
                });
            }
        }
        let walls: Vec<_> = slowest.calls().iter().map(|call| call.wall).collect();
        assert_eq!(walls, (40..50).rev().collect::<Vec<_>>());
        assert_eq!((slowest.longest(), slowest.floor()), (49, 40));
    }
}
