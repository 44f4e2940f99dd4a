//! The state that hooks record into, and the gate to it.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use super::redirect::end_in_child;

/// The one value of its kind in this process, which hooks find without a lock. Leaked, since a hook may be late.
pub struct Leaked<T>(AtomicPtr<T>);

impl<T: Send + Sync + 'static> Leaked<T> {
    /// No value yet.
    pub const fn none() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value, once it was made.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        let value = self.0.load(Ordering::Acquire);
        // SAFETY: null, or leaked by `get_or_make`.
        unsafe { value.as_ref() }
    }

    /// The value, which is made now if there is none. From then on `in_child` runs in each child of a fork.
    pub fn get_or_make(
        &self,
        make: impl FnOnce() -> T,
        in_child: unsafe extern "C" fn(),
    ) -> &'static T {
        if let Some(value) = self.get() {
            return value;
        }
        let made: &'static mut T = Box::leak(Box::new(make()));
        let (order, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let none = ptr::null_mut();
        match self.0.compare_exchange(none, made, order, failure) {
            Ok(_) => {
                // SAFETY: the handler is code of this library, and the C library forgets it when the library is unloaded.
                unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            }
            // Another thread was first; this value is lost, once.
            Err(_) => return self.get().unwrap_or(made),
        }
        made
    }
}

/// Lets hooks into the tables of a mode while it records.
pub struct Gate {
    is_open: AtomicBool,
    /// Hooks that use the tables now.
    inside: AtomicUsize,
}

impl Gate {
    /// Nothing is recorded.
    pub const fn closed() -> Self {
        Self {
            is_open: AtomicBool::new(false),
            inside: AtomicUsize::new(0),
        }
    }

    /// Hooks record from now on.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
    }

    /// No hook records from now on; waits for those that do.
    pub fn close(&self) {
        self.is_open.store(false, Ordering::SeqCst);
        while self.inside.load(Ordering::SeqCst) != 0 {
            thread::yield_now();
        }
    }

    /// Closes in the child of a fork, where import tables stay as they are: it has none of the agent's threads. Hooks of other threads
    /// are lost with them, so this waits for none.
    pub fn close_in_child(&self) {
        end_in_child();
        self.is_open.store(false, Ordering::SeqCst);
    }

    /// Returns whether hooks record, at about this time.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Calls `body`, which may use the tables, unless the gate is closed.
    #[inline]
    pub fn pass<T>(&self, body: impl FnOnce() -> T) -> Option<T> {
        // Counted first: `close` sees this hook, or this hook sees that the gate is closed.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let result = self.is_open.load(Ordering::SeqCst).then(body);
        self.inside.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn nothing_is_inside_of_a_gate_that_was_closed() {
        let gate = Gate::closed();
        assert_eq!(gate.pass(|| 1), None);
        let (is_closed, wrong) = (AtomicBool::new(false), AtomicU32::new(0));
        gate.open();
        thread::scope(|scope| {
            let passes = scope.spawn(|| {
                let mut passed = 0;
                while gate.is_open() {
                    passed += u32::from(
                        gate.pass(|| {
                            thread::yield_now();
                            if is_closed.load(Ordering::SeqCst) {
                                wrong.fetch_add(1, Ordering::SeqCst);
                            }
                        })
                        .is_some(),
                    );
                }
                passed
            });
            while gate.inside.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            gate.close();
            is_closed.store(true, Ordering::SeqCst);
            assert!(passes.join().unwrap() > 0);
        });
        assert_eq!(wrong.into_inner(), 0);
    }

    #[test]
    fn a_value_is_made_once() {
        unsafe extern "C" fn in_child() {}
        static VALUE: Leaked<u32> = Leaked::none();
        assert_eq!(VALUE.get(), None);
        let made = VALUE.get_or_make(|| 7, in_child);
        assert!(ptr::eq(made, VALUE.get_or_make(|| 8, in_child)));
        assert_eq!(VALUE.get(), Some(&7));
    }
}
