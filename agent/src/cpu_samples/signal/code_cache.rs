//! Where compiled Java code lies.

use crate::vm::{Field, VmStructs};

/// The bounds of the code cache, read where the VM keeps them: they are set
/// once, when the VM reserves the cache.
#[derive(Clone, Copy)]
pub struct CodeCache {
    low: Option<usize>,
    high: Option<usize>,
}

impl CodeCache {
    /// The code cache of this VM.
    pub fn of(structs: VmStructs) -> Self {
        let (low, high) = match structs.address(Field::OnlyCodeHeap) {
            Some(only) => {
                // SAFETY: the static field holds the address of the only heap, which is never freed.
                let heap = unsafe { *(only as *const usize) };
                let memory = structs
                    .offset(Field::HeapMemory)
                    .filter(|_| heap != 0)
                    .map(|at| heap + at);
                let of_memory = |field| Some(memory? + structs.offset(field)?);
                (of_memory(Field::SpaceLow), of_memory(Field::SpaceHigh))
            }
            None => (
                structs.address(Field::CodeCacheLow),
                structs.address(Field::CodeCacheHigh),
            ),
        };
        Self { low, high }
    }

    /// Returns true if `address` lies in the cache. Safe in a signal handler.
    pub fn contains(&self, address: usize) -> bool {
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return false;
        };
        // SAFETY: both are addresses of words of the VM (vmStructs.cpp), static or of a heap of code, mapped as long
        // as it runs.
        let (low, high) = unsafe { (*(low as *const usize), *(high as *const usize)) };
        low <= address && address < high
    }
}
