//! Facts that hold for some JDK releases only: the one place that compares release numbers, and, in
//! [`layout`], that knows HotSpot's data.
//!
//! `docs/new-jdk-checklist.md` tells how each is checked when a new JDK appears.

pub(crate) mod layout;
mod thread_names;

use jni_sys::jint;

pub use layout::{BoolFlag, Field, TextFlag, Type, WordFlag};
pub use thread_names::VmThreadKind;

use crate::{Fault, Jvmti};
use layout::interpreted;

/// The feature release of the running VM, such as 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u32);

impl Release {
    /// The release of the VM of `jvmti`. A VM that does not report it counts as older than all others.
    pub fn of(jvmti: &Jvmti) -> Self {
        match Fault::UnknownRelease.is_wanted() {
            true => Self(u32::MAX),
            false => Self(jvmti.version().unwrap_or(0)),
        }
    }

    /// True for VMs with an event for each allocated object, and with a function for the distance between them:
    /// since JDK 11 (JEP 331). The table of JDK 8 ends before. A VM that does not report its release is asked.
    pub fn has_allocation_events(self) -> bool {
        self.0 == 0 || self.0 >= 11
    }

    /// True for VMs that call the anonymous classes of `Unsafe.defineAnonymousClass` modifiable. A VM that does not report
    /// its release may be one.
    pub(crate) fn has_modifiable_anonymous_classes(self) -> bool {
        self.0 < 11
    }

    /// Words of an interpreted frame that JDK 8 lacks: since JDK 9 there is one for the mirror of the method's class.
    fn missing_frame_words(self) -> isize {
        match self.0 {
            8 => interpreted::MIRROR_WORDS,
            _ => 0,
        }
    }

    /// Words from the frame pointer of an interpreted frame to the address of its bytecode.
    pub(crate) fn interpreted_bytecode(self) -> isize {
        interpreted::BYTECODE + self.missing_frame_words()
    }

    /// Words from there to the first local variable.
    pub(crate) fn interpreted_locals(self) -> isize {
        interpreted::LOCALS + self.missing_frame_words()
    }

    /// True if the classes of the JDK are those of JDK 8: no modules, `sun.misc.Unsafe` in place of the one in
    /// `jdk.internal.misc`, which hooks need.
    pub fn is_before_modules(self) -> bool {
        self.0 == 8
    }

    /// Returns whether new threads start with the default sampling interval, and an array that does not fit
    /// into its thread's allocation buffer silences the thread until that buffer is full. Seen on 11,
    /// not on 17; between them priming does no harm.
    pub fn needs_priming(self) -> bool {
        self.0 < 17
    }

    /// Returns whether unused memory of the heap looks like objects of `class`: arrays of `int`, or
    /// instances of `Object` where there is no room for an array, before JDK 19; instances of classes
    /// that exist for this since (JDK-8284435). `class` is a name as in Java source.
    pub fn may_be_filler(self, class: &str) -> bool {
        class.starts_with("jdk.internal.vm.Filler")
            || (self.0 < 19 && matches!(class, "int[]" | "java.lang.Object"))
    }

    /// Returns whether `can_get_owned_monitor_info` leaves escape analysis on: since JDK 16
    /// (JDK-8230677, JDK-8227745).
    pub fn owned_monitors_are_cheap(self) -> bool {
        self.0 >= 16
    }

    /// The value that the VM adds to each byte of compressed debug information: 1 since JDK 20
    /// (JDK-8292758).
    pub(crate) fn excluded_byte(self) -> u8 {
        u8::from(self.0 >= 20)
    }

    /// Returns whether a thread has the size of its stack in an object of its own: since JDK 19
    /// (JEP 425).
    pub fn threads_have_holders(self) -> bool {
        self.0 >= 19
    }

    /// Returns whether the JNI table has `IsVirtualThread`: since JDK 21. The table of an older VM ends before.
    pub fn has_virtual_threads(self) -> bool {
        self.0 >= 21
    }
}

/// Versions of the management table (`JMM_VERSION` in `jmm.h`), with the place of `DumpHeap0` in each.
/// A VM gives out the table of its own version only.
pub(crate) const MANAGEMENT_TABLES: [(jint, usize); 4] = [
    // JDK 8
    (0x2001_0203, 30),
    // JDK 10 to 13
    (0x2002_0000, 28),
    // JDK 14 to 20
    (0x2003_0000, 29),
    // JDK 21 and later
    (0x2004_0000, 30),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_change_with_their_release() {
        assert!(Release(8).is_before_modules() && !Release(8).has_allocation_events());
        assert!(Release(11).has_allocation_events() && !Release(11).is_before_modules());
        assert_eq!(
            Release(8).interpreted_bytecode(),
            interpreted::BYTECODE + interpreted::MIRROR_WORDS
        );
        assert_eq!(Release(11).interpreted_bytecode(), interpreted::BYTECODE);
        assert!(Release(11).needs_priming() && !Release(17).needs_priming());
        assert!(!Release(11).owned_monitors_are_cheap() && Release(17).owned_monitors_are_cheap());
        assert!(!Release(17).has_virtual_threads() && Release(21).has_virtual_threads());
        assert!(Release(17).may_be_filler("int[]") && !Release(21).may_be_filler("int[]"));
        assert!(Release(21).may_be_filler("jdk.internal.vm.FillerObject"));
        assert!(Release(17).excluded_byte() == 0 && Release(21).excluded_byte() == 1);
    }

    /// No number is an upper bound: a VM that is newer than all known ones is taken for one, and each mode tries itself there.
    #[test]
    fn an_unknown_release_counts_as_the_newest() {
        let facts = |release: Release| {
            (
                [
                    release.has_allocation_events(),
                    release.is_before_modules(),
                    release.needs_priming(),
                    release.may_be_filler("int[]"),
                    release.owned_monitors_are_cheap(),
                    release.threads_have_holders(),
                    release.has_virtual_threads(),
                ],
                release.excluded_byte(),
                release.interpreted_bytecode(),
                release.interpreted_locals(),
            )
        };
        assert_eq!(facts(Release(99)), facts(Release(28)));
        assert_ne!(facts(Release(17)), facts(Release(28)));
    }

    #[test]
    fn a_vm_that_does_not_tell_gets_the_careful_answers() {
        let unknown = Release(0);
        assert!(unknown.needs_priming() && unknown.may_be_filler("int[]"));
        assert!(!unknown.owned_monitors_are_cheap() && !unknown.has_virtual_threads());
        assert!(unknown.has_allocation_events() && !unknown.is_before_modules());
    }
}
