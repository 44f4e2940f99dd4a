//! A weak reference ends with its deletion.
use hprof_vm::{Jni, WeakRef};

fn use_after_delete(jni: &Jni, weak: WeakRef) -> bool {
    jni.delete_weak(weak);
    jni.is_cleared(&weak)
}

fn main() {}
