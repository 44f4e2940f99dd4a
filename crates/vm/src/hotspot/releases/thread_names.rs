//! The names that HotSpot gives its own threads, of which the kernel keeps 15 bytes: the first ones, and from JDK 26 the
//! first seven and the last six of longer names, with two dots between.

/// The task of a thread that runs no Java code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmThreadKind {
    /// It collects garbage. The serial collector works in the VM's thread instead.
    Collector,
    /// It compiles methods.
    Compiler,
    /// Any other of the VM: safepoints, timers.
    Vm,
}

// The last four are those of JDK 8: its parallel collector, G1 and CMS.
const COLLECTORS: [&str; 10] = [
    "GC Thread",
    "G1 ",
    "ZGC",
    "Shenandoah",
    "ParGC",
    "StringDedup",
    "GC task thread",
    "Gang worker",
    "Concurrent Mark",
    "String Dedup",
];
const COMPILERS: [&str; 5] = ["C1 Compiler", "C2 Compiler", "JVMCI", "LibGraal", "Sweeper"];
const VM: [&str; 5] = [
    "VM Thread",
    "VM Periodic",
    "Service Thread",
    "Monitor Deflat",
    "Notification",
];

impl VmThreadKind {
    /// The kind of a thread by its name; `None` for threads that are not the VM's.
    pub fn of_name(name: &str) -> Option<Self> {
        let begins = |names: &[&str]| names.iter().any(|&begin| begins_with(name, begin));
        // ZGC's, and those of its older form, which JDK 21 has beside the generational one.
        let rest = name.strip_prefix(['Z', 'X']).unwrap_or_default();
        let is_z = ["Direct", "Driver", "Stat", "Unmap", "Uncommit", "Worker"]
            .iter()
            .any(|&task| rest.starts_with(task));
        if begins(&COLLECTORS) || is_z {
            Some(Self::Collector)
        } else if begins(&COMPILERS) {
            Some(Self::Compiler)
        } else {
            begins(&VM).then_some(Self::Vm)
        }
    }
}

/// The bytes of a name that the kernel keeps.
const KEPT: usize = 15;
/// The first bytes of a name that JDK 26 and later keep of a longer one.
const FIRST: usize = 7;

/// Returns true if the name before it was shortened began like this, as far as can be seen.
fn begins_with(name: &str, begin: &str) -> bool {
    let is_short = name.len() == KEPT && name.get(FIRST..).is_some_and(|it| it.starts_with(".."));
    match begin.get(..FIRST) {
        Some(first) if is_short => name.starts_with(first),
        _ => name.starts_with(begin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_hotspot_are_known_by_name() {
        for (name, kind) in [
            ("GC Thread#0", Some(VmThreadKind::Collector)),
            ("G1 Conc#0", Some(VmThreadKind::Collector)),
            ("ZWorkerYoung#0", Some(VmThreadKind::Collector)),
            ("XDirector", Some(VmThreadKind::Collector)),
            ("Shenandoah GC T", Some(VmThreadKind::Collector)),
            ("C2 CompilerThre", Some(VmThreadKind::Compiler)),
            ("GC task thread#", Some(VmThreadKind::Collector)),
            ("Gang worker#0 (", Some(VmThreadKind::Collector)),
            ("VM Thread", Some(VmThreadKind::Vm)),
            ("VM Periodic Tas", Some(VmThreadKind::Vm)),
            ("C2 Comp..hread0", Some(VmThreadKind::Compiler)),
            ("C1 Comp..hread2", Some(VmThreadKind::Compiler)),
            ("JVMCI C..hread0", Some(VmThreadKind::Compiler)),
            ("Shenand..read#0", Some(VmThreadKind::Collector)),
            ("StringD..cessor", Some(VmThreadKind::Collector)),
            ("ZWorker..ung#10", Some(VmThreadKind::Collector)),
            ("VM Peri..Thread", Some(VmThreadKind::Vm)),
            ("Monitor..Thread", Some(VmThreadKind::Vm)),
            ("C2 Comp..", None),
            ("Referen..andler", None),
            ("java", None),
            ("Zoo", None),
            ("", None),
        ] {
            assert_eq!(VmThreadKind::of_name(name), kind, "{name}");
        }
    }
}
