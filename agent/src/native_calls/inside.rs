//! Hooks that are at work.

use std::cell::Cell;

thread_local! {
    /// Without a destructor, so that it is there until the thread is gone.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A hook that is at work. Others on the same thread only call the function.
pub struct Inside;

impl Inside {
    /// `None` inside of another hook.
    pub fn enter() -> Option<Self> {
        match IS_INSIDE.replace(true) {
            true => None,
            false => Some(Self),
        }
    }

    /// Hooks on the current thread, one of the agent's, only call the function from now on.
    pub fn ignore_current_thread() {
        IS_INSIDE.set(true);
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_do_not_nest() {
        let outer = Inside::enter();
        assert!(outer.is_some() && Inside::enter().is_none());
        drop(outer);
        assert!(Inside::enter().is_some());
    }
}
