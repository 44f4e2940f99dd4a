//! A ring that can be exchanged for another while handlers fill it.

use crate::published::{self, Published};
use crate::ring::{Ring, Sample};
use crate::sync::Mutex;

/// The ring in use, or none.
pub struct RingSwitch<F> {
    ring: Published<Ring<F>>,
    /// Held by the thread that drains or exchanges; never by a handler.
    consumer: Mutex<()>,
}

/// A running handler. The ring it sees is not freed before it leaves.
pub type Inside<'a, F> = published::Inside<'a, Ring<F>>;

impl<F: Copy> RingSwitch<F> {
    /// Begins with `ring`.
    pub fn new(ring: Ring<F>) -> Self {
        Self {
            ring: Published::new(Some(ring)),
            consumer: Mutex::new(()),
        }
    }

    /// A handler begins. Safe in a signal handler.
    #[inline]
    pub fn enter(&self) -> Inside<'_, F> {
        self.ring.enter()
    }

    /// Hands all samples so far to `consume`, and returns how many there were.
    pub fn drain(&self, consume: impl FnMut(Sample<'_, F>)) -> usize {
        let _consumer = self.consumer.lock();
        let inside = self.ring.enter();
        inside.get().map_or(0, |ring| ring.drain(consume))
    }

    /// Puts another ring in place, or none, once the running handlers have left;
    /// `consume` gets the samples of the old one. Never called by a handler.
    pub fn exchange(&self, ring: Option<Ring<F>>, consume: impl FnMut(Sample<'_, F>)) {
        let _consumer = self.consumer.lock();
        if let Some(old) = self.ring.exchange(ring) {
            old.drain(consume);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ring::Header;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::yield_now;

    #[test]
    fn an_exchange_keeps_what_was_taken() {
        let samples = if cfg!(miri) { 30 } else { 20_000 };
        let switch = RingSwitch::new(Ring::<[u64; 16384]>::new(1));
        let ended = AtomicBool::new(false);
        let (mut sent, mut received) = (0u64, 0u64);
        std::thread::scope(|scope| {
            let producer = scope.spawn(|| {
                let mut sent = 0u64;
                for _ in 0..samples {
                    let inside = switch.enter();
                    if let Some(claim) = inside.get().and_then(Ring::claim) {
                        // SAFETY: it has no frames.
                        unsafe { claim.publish(Header::default()) };
                        sent += 1;
                    }
                }
                ended.store(true, Ordering::Release);
                sent
            });
            for round in 0.. {
                let ring = (round % 3 != 2).then(|| Ring::new(round % 2));
                switch.exchange(ring, |_| received += 1);
                switch.drain(|_| received += 1);
                if ended.load(Ordering::Acquire) {
                    break;
                }
                yield_now();
            }
            sent += producer.join().unwrap();
        });
        switch.exchange(None, |_| received += 1);
        assert_eq!(sent, received);
        assert!(switch.enter().get().is_none());
    }
}
