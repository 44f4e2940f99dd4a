//! Where compiled Java code lies.

use crate::vm::{Field, VmStructs};

/// The bounds of the code cache, read where the VM keeps them: they are set
/// once, when the VM reserves the cache.
#[derive(Clone, Copy)]
pub(super) struct CodeCache {
    low: Option<usize>,
    high: Option<usize>,
}

impl CodeCache {
    pub(super) fn of(structs: VmStructs) -> Self {
        Self {
            low: structs.address(Field::CodeCacheLow),
            high: structs.address(Field::CodeCacheHigh),
        }
    }

    /// Whether `address` lies in the cache. Safe in a signal handler.
    pub(super) fn contains(&self, address: usize) -> bool {
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return false;
        };
        // SAFETY: both are addresses of static words of the VM (vmStructs.cpp),
        // mapped as long as it runs.
        let (low, high) = unsafe { (*(low as *const usize), *(high as *const usize)) };
        low <= address && address < high
    }
}
