//! How much may be said about strangers: a client that can connect can do so a million times.

use std::time::Instant;

/// Lets some events through and counts the others.
#[derive(Debug)]
pub struct Limit {
    left: f64,
    looked: Option<Instant>,
    dropped: u64,
}

/// Lines at once.
const BURST: f64 = 2000.0;
/// Lines a second after these.
const RATE: f64 = 20.0;

impl Default for Limit {
    fn default() -> Self {
        Self {
            left: BURST,
            looked: None,
            dropped: 0,
        }
    }
}

impl Limit {
    /// Returns the number of events that were not reported before if one more may be reported now, or else `None`.
    pub fn allows(&mut self, now: Instant) -> Option<u64> {
        let since = self.looked.replace(now);
        let passed = since.map_or(0.0, |since| {
            now.saturating_duration_since(since).as_secs_f64()
        });
        self.left = (self.left + passed * RATE).min(BURST);
        if self.left < 1.0 {
            self.dropped += 1;
            return None;
        }
        self.left -= 1.0;
        Some(std::mem::take(&mut self.dropped))
    }

    /// How many were not said since the last time that one was.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_counted_instead_of_said() {
        let mut limit = Limit::default();
        let start = Instant::now();
        let said = (0..100_000)
            .filter(|_| limit.allows(start).is_some())
            .count();
        assert_eq!(said as f64, BURST);
        let later = start + Duration::from_secs(1);
        assert_eq!(limit.allows(later), Some(100_000 - BURST as u64));
        let said = (0..100).filter(|_| limit.allows(later).is_some()).count();
        assert_eq!(said as f64, RATE - 1.0);
        assert_eq!(limit.dropped(), 100 - (RATE as u64 - 1));
    }
}
