//! How many requests an address may send: a bucket for each, which fills by time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Addresses that are remembered; full buckets are forgotten first.
const MAX_ADDRESSES: usize = 10_000;

/// The buckets.
#[derive(Debug)]
pub struct Rates {
    a_second: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    /// Buckets that fill with N requests a second, and hold two seconds' worth.
    pub fn new(a_second: u32) -> Self {
        Self {
            a_second: f64::from(a_second),
            buckets: Mutex::default(),
        }
    }

    /// Takes a request out of the bucket of an address; false if it is empty.
    pub fn take(&self, address: IpAddr, now: Instant) -> bool {
        let full = self.a_second * 2.0;
        let filled = |bucket: &Bucket| {
            let seconds = now.saturating_duration_since(bucket.at).as_secs_f64();
            (bucket.left + seconds * self.a_second).min(full)
        };
        // Every change is a single call.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_ADDRESSES && !buckets.contains_key(&address) {
            buckets.retain(|_, bucket| filled(bucket) < full);
            if buckets.len() >= MAX_ADDRESSES {
                return false;
            }
        }
        let bucket = buckets.entry(address).or_insert(Bucket {
            left: full,
            at: now,
        });
        let left = filled(bucket);
        *bucket = Bucket {
            left: (left - 1.0).max(0.0),
            at: now,
        };
        left >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_address_that_sends_too_much_waits_and_others_do_not() {
        let rates = Rates::new(10);
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let now = Instant::now();
        let taken = (0..100).filter(|_| rates.take(one, now)).count();
        assert_eq!(taken, 20);
        assert!(rates.take(two, now));
        let later = now + Duration::from_millis(550);
        let taken = (0..100).filter(|_| rates.take(one, later)).count();
        assert_eq!(taken, 5);
    }

    #[test]
    fn memory_does_not_grow_with_the_addresses() {
        let rates = Rates::new(10);
        let now = Instant::now();
        for number in 0..20_000_u32 {
            rates.take(IpAddr::from(number.to_be_bytes()), now);
        }
        assert!(rates.buckets.lock().unwrap().len() <= MAX_ADDRESSES);
    }
}
