//! An environment of JNI belongs to one thread.
use hprof_vm::Jni;

fn send(jni: Jni) {
    std::thread::spawn(move || jni.exception_pending());
}

fn main() {}
