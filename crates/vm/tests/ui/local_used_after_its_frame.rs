//! A local reference ends before the frame it was made in.
use hprof_vm::{Class, Jni, LocalRef};

fn outlive(jni: &Jni) -> Option<LocalRef<'_, Class>> {
    let frame = jni.local_frame(16);
    frame.find_class(c"java/lang/Object").ok()
}

fn main() {}
