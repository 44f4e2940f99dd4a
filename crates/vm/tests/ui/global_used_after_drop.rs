//! A borrow of a global reference ends with it.
use hprof_vm::{GlobalRef, Jni, Ref};

fn use_after_drop(jni: &Jni, global: GlobalRef, thread: Ref<'_>) -> bool {
    let borrowed = global.get();
    drop(global);
    jni.is_same(borrowed, thread)
}

fn main() {}
