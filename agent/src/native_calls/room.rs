//! Room that takes memory only where it is used.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

/// Types of which zeros are a value.
///
/// # Safety
/// All bytes of a value may be zero.
pub unsafe trait Zeroed {}

/// Values of zeros. They are there for good: a hook may be late.
pub fn zeroed<T: Zeroed>(count: usize) -> &'static [T] {
    let Ok(layout) = Layout::array::<T>(count) else {
        return &[];
    };
    if layout.size() == 0 {
        return &[];
    }
    // SAFETY: the size is not zero; zeros are values of the type, and there are `count` of them, for ever.
    unsafe {
        let room = alloc_zeroed(layout);
        if room.is_null() {
            handle_alloc_error(layout);
        }
        std::slice::from_raw_parts(room.cast::<T>(), count)
    }
}
