//! A local reference ends before its thread leaves the VM.
use hprof_vm::{Class, LocalRef, VmHandle};

fn outlive(vm: VmHandle) -> Option<LocalRef<'static, Class>> {
    let found = unsafe { vm.attached(|jni| jni.find_class(c"java/lang/Object").ok()) };
    found.ok().flatten()
}

fn main() {}
