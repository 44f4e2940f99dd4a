//! A value that signal handlers read, and that can be exchanged for another while they do.

use std::marker::PhantomData;
use std::ptr;

use crate::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering, fence, yield_now};

/// A value, or none.
pub struct Published<T> {
    value: AtomicPtr<T>,
    /// The number of running handlers.
    inside: AtomicUsize,
    /// Held by the thread that exchanges the value; never by a handler.
    exchange: Mutex<()>,
    /// The value is shared and owned like this, as an `AtomicPtr` does not say.
    content: PhantomData<T>,
}

/// A running handler. The value it sees is not freed before it leaves.
pub struct Inside<'a, T> {
    published: &'a Published<T>,
}

impl<T> Published<T> {
    /// Begins with `value`.
    pub fn new(value: Option<T>) -> Self {
        Self {
            value: AtomicPtr::new(into_raw(value)),
            inside: AtomicUsize::new(0),
            exchange: Mutex::new(()),
            content: PhantomData,
        }
    }

    /// A handler begins. Safe in a signal handler.
    #[inline]
    pub fn enter(&self) -> Inside<'_, T> {
        self.inside.fetch_add(1, Ordering::Relaxed);
        // With the fence in `exchange`: either the handler sees the new value, or the
        // other side sees the handler.
        fence(Ordering::SeqCst);
        Inside { published: self }
    }

    /// Puts another value in place, or none, and returns the old one once the handlers that may have seen it have
    /// left. Never called by a handler, nor by a thread that is inside.
    pub fn exchange(&self, value: Option<T>) -> Option<Box<T>> {
        let _exchange = self.exchange.lock();
        let old = self.value.swap(into_raw(value), Ordering::AcqRel);
        fence(Ordering::SeqCst);
        while self.inside.load(Ordering::Acquire) != 0 {
            yield_now();
        }
        // SAFETY: it came out of a box, and no reference to it is left: handlers
        // that enter from now on see the new one, those before have left.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

impl<T> Default for Published<T> {
    fn default() -> Self {
        Self::new(None)
    }
}

fn into_raw<T>(value: Option<T>) -> *mut T {
    value.map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

impl<T> Inside<'_, T> {
    /// The value, if there is one. Safe in a signal handler.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        let value = self.published.value.load(Ordering::Acquire);
        // SAFETY: a value is freed only after all handlers that may have seen it
        // have left, and this one has not.
        unsafe { value.as_ref() }
    }
}

impl<T> Drop for Inside<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: what the handler did with the value is done.
        self.published.inside.fetch_sub(1, Ordering::Release);
    }
}

impl<T> Drop for Published<T> {
    fn drop(&mut self) {
        let value = self.value.load(Ordering::Acquire);
        if !value.is_null() {
            // SAFETY: it came out of a box, and no other reference to the value exists.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn readers_see_whole_values_until_they_leave() {
        let rounds = if cfg!(miri) { 30 } else { 20_000 };
        let published = Published::default();
        assert!(published.enter().get().is_none());
        std::thread::scope(|scope| {
            let readers = [(); 2].map(|()| {
                scope.spawn(|| {
                    let mut seen = 0;
                    for _ in 0..rounds {
                        let inside = published.enter();
                        if let Some(value) = inside.get() {
                            let value: &Vec<usize> = value;
                            assert_eq!(value[0], value[1]);
                            seen += 1;
                        }
                    }
                    seen
                })
            });
            for round in 0.. {
                let value = (round % 3 != 2).then(|| vec![round; 2]);
                published.exchange(value);
                if readers.iter().all(|reader| reader.is_finished()) {
                    break;
                }
                yield_now();
            }
            for reader in readers {
                assert!(reader.join().unwrap() <= rounds);
            }
        });
        published.exchange(Some(vec![7]));
        assert_eq!(published.exchange(None).as_deref(), Some(&vec![7]));
        assert!(published.exchange(None).is_none());
    }
}
