//! Points in time of a log.

use crate::event::Nanos;
use crate::line::Stamp;

/// Threads log at once, so that lines are out of order by this much.
const MAX_DISORDER: u64 = 10_000_000_000;

/// The points in time of a log, on one scale.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    first_wall: Option<i64>,
    /// Added to times since a JVM has started again.
    offset: u64,
    pub first: Option<Nanos>,
    pub latest: Nanos,
    /// How often a JVM has begun anew.
    pub restarts: u64,
}

impl Clock {
    /// The point in time of a stamp on one scale.
    pub fn at(&mut self, stamp: Stamp) -> Option<Nanos> {
        let own = match (stamp.uptime, stamp.wall) {
            (Some(uptime), _) => uptime.0,
            (None, Some(wall)) => {
                let first = *self.first_wall.get_or_insert(wall);
                u64::try_from(wall.saturating_sub(first)).unwrap_or(0)
            }
            (None, None) => return None,
        };
        let mut at = own.saturating_add(self.offset);
        if at.saturating_add(MAX_DISORDER) < self.latest.0 {
            self.restarts += 1;
            self.offset = self.latest.0.saturating_sub(own);
            at = self.latest.0;
        }
        self.reached(Nanos(at));
        Some(Nanos(at))
    }

    /// A JVM begins. Short runs go back by less than threads may log out of order.
    pub fn begins(&mut self, stamp: Stamp) {
        if let Some(uptime) = stamp.uptime
            && uptime.0.saturating_add(self.offset) < self.latest.0
        {
            self.restarts += 1;
            self.offset = self.latest.0.saturating_sub(uptime.0);
        }
    }

    /// A point in time was reached.
    pub fn reached(&mut self, at: Nanos) {
        self.first.get_or_insert(at);
        self.latest = self.latest.max(at);
    }
}
