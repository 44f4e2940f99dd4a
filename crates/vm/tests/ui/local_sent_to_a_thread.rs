//! A local reference belongs to one thread, and so does what is borrowed of it.
use hprof_vm::Ref;

fn send(object: Ref<'_>) {
    std::thread::scope(|scope| {
        scope.spawn(move || object.as_raw().is_null());
    });
}

fn main() {}
