//! A raw reference takes an unsafe block.
use hprof_vm::{Jvmti, Ref};

fn tag(jvmti: &Jvmti) {
    let object: Option<Ref<'_>> = Ref::from_raw(8 as _);
    let _ = object.map(|object| jvmti.tag(object));
}

fn main() {}
