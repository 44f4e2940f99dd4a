//! Memory of the VM is given back before the environment that it came from ends.
use hprof_vm::{JMethodId, Jvmti, VmMemory};

fn outlive(jvmti: Jvmti, method: JMethodId) -> Option<VmMemory<'static, u8>> {
    jvmti.bytecodes(method).ok()
}

fn main() {}
