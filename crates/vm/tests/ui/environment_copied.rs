//! There is one owner of a JVMTI environment.
use hprof_vm::Jvmti;

fn copy(jvmti: Jvmti) -> (Jvmti, Jvmti) {
    (jvmti, jvmti)
}

fn main() {}
