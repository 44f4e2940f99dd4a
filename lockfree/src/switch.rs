//! A ring that can be exchanged for another while handlers fill it.

use std::marker::PhantomData;
use std::ptr;

use crate::ring::{Ring, Sample};
use crate::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering, fence, yield_now};

/// The ring in use, or none.
pub struct RingSwitch<F> {
    ring: AtomicPtr<Ring<F>>,
    /// The number of running handlers.
    inside: AtomicUsize,
    /// Held by whoever drains or exchanges; never by a handler.
    consumer: Mutex<()>,
    /// The ring is shared like this, as an `AtomicPtr` does not say.
    content: PhantomData<Ring<F>>,
}

/// A running handler. The ring it sees is not freed before it leaves.
pub struct Inside<'a, F> {
    switch: &'a RingSwitch<F>,
}

impl<F: Copy> RingSwitch<F> {
    /// Begins with `ring`.
    pub fn new(ring: Ring<F>) -> Self {
        Self {
            ring: AtomicPtr::new(Box::into_raw(Box::new(ring))),
            inside: AtomicUsize::new(0),
            consumer: Mutex::new(()),
            content: PhantomData,
        }
    }

    /// A handler begins. Safe in a signal handler.
    #[inline]
    pub fn enter(&self) -> Inside<'_, F> {
        self.inside.fetch_add(1, Ordering::Relaxed);
        // With the fence in `exchange`: either the handler sees the new ring, or the
        // other side sees the handler.
        fence(Ordering::SeqCst);
        Inside { switch: self }
    }

    /// Hands all samples so far to `consume`, and returns how many there were.
    pub fn drain(&self, consume: impl FnMut(Sample<'_, F>)) -> usize {
        let _consumer = self.consumer.lock();
        let ring = self.ring.load(Ordering::Acquire);
        // SAFETY: the ring is exchanged only under the lock.
        unsafe { ring.as_ref() }.map_or(0, |ring| ring.drain(consume))
    }

    /// Puts another ring in place, or none, once the running handlers have left;
    /// `consume` gets the samples of the old one. Never called by a handler.
    pub fn exchange(&self, ring: Option<Ring<F>>, consume: impl FnMut(Sample<'_, F>)) {
        let _consumer = self.consumer.lock();
        let new = ring.map_or(ptr::null_mut(), |ring| Box::into_raw(Box::new(ring)));
        let old = self.ring.swap(new, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        while self.inside.load(Ordering::Acquire) != 0 {
            yield_now();
        }
        if !old.is_null() {
            // SAFETY: it came out of a box, and no reference to it is left: handlers
            // that enter from now on see the new one, those before have left.
            let old = unsafe { Box::from_raw(old) };
            old.drain(consume);
        }
    }
}

impl<F> Inside<'_, F> {
    /// The ring, if there is one. Safe in a signal handler.
    #[inline]
    pub fn ring(&self) -> Option<&Ring<F>> {
        let ring = self.switch.ring.load(Ordering::Acquire);
        // SAFETY: a ring is freed only after all handlers that may have seen it
        // have left, and this one has not.
        unsafe { ring.as_ref() }
    }
}

impl<F> Drop for Inside<'_, F> {
    #[inline]
    fn drop(&mut self) {
        // Release: what the handler did with the ring is done.
        self.switch.inside.fetch_sub(1, Ordering::Release);
    }
}

impl<F> Drop for RingSwitch<F> {
    fn drop(&mut self) {
        let ring = self.ring.load(Ordering::Acquire);
        if !ring.is_null() {
            // SAFETY: it came out of a box, and no other reference to the switch exists.
            drop(unsafe { Box::from_raw(ring) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ring::Header;
    use std::sync::atomic::AtomicBool;

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
                    if let Some(claim) = inside.ring().and_then(Ring::claim) {
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
        assert!(switch.enter().ring().is_none());
    }
}
