//! Requests that came lately, by their digests: a sender that got no answer sends again, and the profile counts once.

use std::collections::VecDeque;
use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;
use sha2::{Digest as _, Sha256};

use crate::log::{Entry, Protocol};

/// How long a request is known, in seconds. Senders give up before.
pub(super) const REMEMBERED: u64 = 60 * 60;
/// The requests that are known at once; beyond it the oldest are forgotten. Each takes about 60 bytes.
const MAX_KNOWN: usize = 1 << 20;
/// The bytes of a request in the index: its digest, and when it came.
const ENCODED: usize = 24;

/// The first half of a SHA-256: a sender cannot make a request that passes for another's.
pub(super) type Digest = [u8; 16];

/// The digest of a request, if two that are equal cannot be two profiles: profiles of OTLP have numbers and times. A
/// request to `/ingest` without a time counts each time it comes.
pub(super) fn digest(entry: &Entry) -> Option<Digest> {
    let mut sum = Sha256::new();
    match &entry.protocol {
        Protocol::Otlp => sum.update(b"otlp"),
        Protocol::PushService => sum.update(b"push service"),
        Protocol::Ingest(ingest, content_type) => {
            let from = ingest.from.as_deref()?;
            let until = ingest.until.as_deref().unwrap_or_default();
            for part in [&*ingest.name, from, until, content_type] {
                sum.update((part.len() as u64).to_le_bytes());
                sum.update(part);
            }
        }
    }
    sum.update(&entry.body);
    sum.finalize().first_chunk().copied()
}

/// The requests that came lately.
#[derive(Debug, Default)]
pub(super) struct Seen {
    known: std::collections::HashSet<Digest, BuildHasherDefault<FxHasher>>,
    /// The oldest first, with the seconds at which they came.
    order: VecDeque<(Digest, u64)>,
    /// The newest of these that the index does not have.
    fresh: usize,
}

impl Seen {
    pub(super) fn has(&self, digest: &Digest) -> bool {
        self.known.contains(digest)
    }

    /// Notes a request that came at a time, in seconds.
    pub(super) fn add(&mut self, digest: Digest, came: u64) {
        if !self.known.insert(digest) {
            return;
        }
        self.order.push_back((digest, came));
        self.fresh += 1;
        while let Some(&(oldest, then)) = self.order.front()
            && (self.order.len() > MAX_KNOWN || then + REMEMBERED < came)
        {
            self.order.pop_front();
            self.known.remove(&oldest);
        }
        self.fresh = self.fresh.min(self.order.len());
    }

    /// Those that the index does not have, for it, and the second at which the last of them is forgotten.
    pub(super) fn fresh(&self) -> Option<(Vec<u8>, u64)> {
        let first = self.order.len() - self.fresh;
        let last = self.order.back().filter(|_| self.fresh > 0)?;
        let mut bytes = Vec::with_capacity(self.fresh * ENCODED);
        for (digest, came) in self.order.range(first..) {
            bytes.extend(digest);
            bytes.extend(came.to_le_bytes());
        }
        Some((bytes, last.1 + REMEMBERED))
    }

    /// The index has all.
    pub(super) fn are_kept(&mut self) {
        self.fresh = 0;
    }

    /// Adds those that the index has.
    pub(super) fn load(&mut self, bytes: &[u8]) {
        for entry in bytes.chunks_exact(ENCODED) {
            let (Some(digest), Some(came)) = (entry.first_chunk(), entry.last_chunk()) else {
                continue;
            };
            self.add(*digest, u64::from_le_bytes(*came));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(at: u8) -> Digest {
        [at; 16]
    }

    #[test]
    fn requests_are_known_for_an_hour_and_after_a_restart() {
        let mut seen = Seen::default();
        seen.add(number(1), 1000);
        seen.add(number(2), 1000 + REMEMBERED);
        assert!(seen.has(&number(1)) && seen.has(&number(2)));
        let (bytes, until) = seen.fresh().expect("two");
        assert_eq!((bytes.len(), until), (2 * ENCODED, 1000 + 2 * REMEMBERED));
        seen.are_kept();
        assert!(seen.fresh().is_none());
        let mut again = Seen::default();
        again.load(&bytes);
        again.are_kept();
        assert!(again.has(&number(1)) && again.has(&number(2)));
        again.add(number(3), 1001 + REMEMBERED);
        assert!(!again.has(&number(1)) && again.has(&number(2)));
        assert_eq!(again.fresh().expect("one").0.len(), ENCODED);
    }
}
