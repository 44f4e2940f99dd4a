//! An environment that was dropped, and so disposed of, cannot be used.
use hprof_vm::Jvmti;

fn use_after_end(jvmti: Jvmti) {
    let shared = &jvmti;
    drop(jvmti);
    let _ = shared.force_garbage_collection();
}

fn main() {}
