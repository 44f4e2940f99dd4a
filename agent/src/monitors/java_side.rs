//! The state of the hooks in `java.util.concurrent.locks`.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};

use hprof_instrument::{Member, MethodNumber, call_for_calls};

use crate::vm::{Class, GlobalRef, Jni, JvmtiError, LocalRef, Release, Result};

/// `HprofLocks.BLOCKER`: the note of what a thread parks for was changed.
pub(super) const BLOCKER: MethodNumber = MethodNumber(0);
/// `HprofLocks.ACQUIRE`: a thread has what it wanted, or gave up.
pub(super) const ACQUIRE: MethodNumber = MethodNumber(1);

/// The class files of the hooks, by the JDK that they are for.
pub(super) struct HookFiles {
    class: &'static [u8],
    /// The class that is prepared while the hook class runs.
    pub(super) started: &'static [u8],
    /// On JDK 8: the class that those of `java.util.concurrent` call in place of `Unsafe`.
    pub(super) notes: Option<&'static [u8]>,
}

const HOOK_FILES: HookFiles = HookFiles {
    class: include_bytes!("../../hooks/classes/HprofLocks.class"),
    started: include_bytes!("../../hooks/classes/HprofLocks$Started.class"),
    notes: None,
};
const HOOK_FILES_OF_8: HookFiles = HookFiles {
    class: include_bytes!("../../hooks/classes/HprofLocks.eight.class"),
    started: include_bytes!("../../hooks/classes/HprofLocks$Started.eight.class"),
    notes: Some(include_bytes!(
        "../../hooks/classes/HprofLocks$Notes.eight.class"
    )),
};

impl HookFiles {
    /// The files for a release.
    pub(super) fn of(release: Release) -> &'static Self {
        match release.is_before_modules() {
            true => &HOOK_FILES_OF_8,
            false => &HOOK_FILES,
        }
    }
}

/// Some classes of JDK 8 note by themselves in a thread what that parks for, by this method.
const PUT_OBJECT: Member<'static> = Member {
    class: b"sun/misc/Unsafe",
    name: b"putObject",
    descriptor: b"(Ljava/lang/Object;JLjava/lang/Object;)V",
};
const PUT_OBJECT_NOTED: &[u8] = b"(Lsun/misc/Unsafe;Ljava/lang/Object;JLjava/lang/Object;)V";
const NOTES_CLASS: &[u8] = b"java/lang/HprofLocks$Notes";
/// These classes.
const NOTING: [&CStr; 3] = [
    STAMPED_LOCK,
    c"java/util/concurrent/Exchanger",
    c"java/util/concurrent/ForkJoinPool",
];

/// A class of JDK 8 with a call of the hooks where it notes what a thread parks for. `None` if it does so nowhere.
pub(super) fn noting(names: &HookNames, class_file: &[u8]) -> Option<Vec<u8>> {
    let noted = Member {
        class: &names.rename(NOTES_CLASS),
        name: PUT_OBJECT.name,
        descriptor: PUT_OBJECT_NOTED,
    };
    call_for_calls(class_file, &PUT_OBJECT, &noted).ok()
}

/// Begins the names of all [`HOOK_NAMES`], as Java source has them.
pub(super) const HOOK_CLASS_PREFIX: &str = "java.lang.HprofLock";

/// The name of the hook class in its class file.
const SIMPLE_NAME: &[u8] = b"HprofLocks";

/// Names of the hook class and the class in it. Classes of the boot loader stay for ever, so each copy of the agent
/// that a JVM has had, as of an earlier version, has taken names for itself.
pub(super) struct HookNames {
    /// The name of the hook class. Its last part is as long as in the class file.
    pub(super) class: &'static CStr,
    /// The name of the class that is prepared while the hook class runs.
    pub(super) started: &'static CStr,
}

/// The names, in the order in which copies take them.
pub(super) static HOOK_NAMES: [HookNames; 8] = [
    names(c"java/lang/HprofLocks", c"java/lang/HprofLocks$Started"),
    names(c"java/lang/HprofLock1", c"java/lang/HprofLock1$Started"),
    names(c"java/lang/HprofLock2", c"java/lang/HprofLock2$Started"),
    names(c"java/lang/HprofLock3", c"java/lang/HprofLock3$Started"),
    names(c"java/lang/HprofLock4", c"java/lang/HprofLock4$Started"),
    names(c"java/lang/HprofLock5", c"java/lang/HprofLock5$Started"),
    names(c"java/lang/HprofLock6", c"java/lang/HprofLock6$Started"),
    names(c"java/lang/HprofLock7", c"java/lang/HprofLock7$Started"),
];

const fn names(class: &'static CStr, started: &'static CStr) -> HookNames {
    HookNames { class, started }
}

impl HookNames {
    /// A class file of the hooks under these names.
    pub(super) fn rename(&self, class_file: &[u8]) -> Vec<u8> {
        let class = self.class.to_bytes();
        let name = class
            .get(class.len() - SIMPLE_NAME.len()..)
            .unwrap_or_default();
        let mut bytes = class_file.to_vec();
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..)
            && let Some(found) = rest
                .windows(SIMPLE_NAME.len())
                .position(|it| it == SIMPLE_NAME)
        {
            at += found + SIMPLE_NAME.len();
            rest[found..found + SIMPLE_NAME.len()].copy_from_slice(name);
        }
        bytes
    }

    /// The name of the class that is called in place of `Unsafe`, on JDK 8.
    pub(super) fn notes(&self) -> CString {
        CString::new(self.rename(NOTES_CLASS)).unwrap_or_default()
    }

    /// Returns true if this is the signature of the class that is prepared.
    pub(super) fn is_started(&self, signature: &str) -> bool {
        let name = signature
            .strip_prefix('L')
            .and_then(|it| it.strip_suffix(';'));
        name.is_some_and(|name| name.as_bytes() == self.started.to_bytes())
    }
}

const STAMPED_LOCK: &CStr = c"java/util/concurrent/locks/StampedLock";

/// The classes that get hooks in methods.
const HOOKED: [&CStr; 4] = [
    c"java/util/concurrent/locks/LockSupport",
    c"java/util/concurrent/locks/AbstractQueuedSynchronizer",
    c"java/util/concurrent/locks/AbstractQueuedLongSynchronizer",
    STAMPED_LOCK,
];

/// The handles of the Java side.
pub(super) struct JavaSide {
    /// None if a run before has given it its natives.
    pub(super) hooks: Option<GlobalRef<Class>>,
    /// How many classes have hooks, and how many get them.
    pub(super) hooked: AtomicU32,
    pub(super) wanted: usize,
}

impl JavaSide {
    pub(super) fn is_complete(&self) -> bool {
        self.hooked.load(Ordering::Relaxed) as usize == self.wanted
    }
}

/// All classes that are changed.
pub(super) fn changed_classes(release: Release) -> Vec<&'static CStr> {
    let noting = NOTING
        .iter()
        .filter(|&&name| notes_itself(release, name.to_bytes()));
    let others = noting.filter(|name| !HOOKED.contains(name));
    HOOKED.iter().chain(others).copied().collect()
}

/// True for classes whose methods get hooks.
pub(super) fn has_hooked_methods(class: &[u8]) -> bool {
    HOOKED.iter().any(|name| name.to_bytes() == class)
}

/// True for classes that note what threads park for without `LockSupport`.
pub(super) fn notes_itself(release: Release, class: &[u8]) -> bool {
    HookFiles::of(release).notes.is_some() && NOTING.iter().any(|name| name.to_bytes() == class)
}

/// Defines the hook class under the first name that no other copy of the agent has taken.
pub(super) fn define_free<'a>(
    jni: &'a Jni,
    files: &HookFiles,
) -> Result<(&'static HookNames, LocalRef<'a, Class>)> {
    let mut refused = JvmtiError::INTERNAL;
    for names in &HOOK_NAMES {
        match jni.define_boot_class(names.class, &names.rename(files.class)) {
            Ok(hooks) => return Ok((names, hooks)),
            Err(error) => refused = error.into(),
        }
        if jni.find_class(names.class).is_err() {
            // The name is free: the VM refuses the class itself.
            break;
        }
    }
    Err(refused)
}

/// The number of a method that gets hooks. Their names have been these from JDK 8
/// to 28.
pub(super) fn number(class: &str, name: &str, descriptor: &str) -> Option<MethodNumber> {
    let class = class.strip_prefix("java/util/concurrent/locks/")?;
    match (class, name) {
        ("LockSupport", "setBlocker" | "setCurrentBlocker") => Some(BLOCKER),
        ("StampedLock", "acquireRead" | "acquireWrite") => Some(ACQUIRE),
        ("AbstractQueuedSynchronizer" | "AbstractQueuedLongSynchronizer", name) => {
            let acquires = match name {
                // The one with a node, since JDK 14; the others call it.
                "acquire" => descriptor.starts_with("(L"),
                "acquireQueued" | "cancelAcquire" => true,
                _ => name.starts_with("doAcquire"),
            };
            acquires.then_some(ACQUIRE)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_file_is_renamed_everywhere() {
        let last = &HOOK_NAMES[7];
        assert_eq!(
            last.rename(b"..java/lang/HprofLocks..HprofLocks$Started..HprofLocks"),
            b"..java/lang/HprofLock7..HprofLock7$Started..HprofLock7"
        );
        assert!(last.is_started("Ljava/lang/HprofLock7$Started;"));
        assert!(!last.is_started("Ljava/lang/HprofLocks$Started;"));
        for names in &HOOK_NAMES {
            let name = names.class.to_str().unwrap().replace('/', ".");
            assert!(name.starts_with(HOOK_CLASS_PREFIX));
        }
    }

    #[test]
    fn methods_get_hooks_by_name() {
        const LOCKS: &str = "java/util/concurrent/locks/";
        let number = |class: &str, name: &str, descriptor: &str| {
            number(&format!("{LOCKS}{class}"), name, descriptor)
        };
        let sync = "AbstractQueuedSynchronizer";
        let node = "(Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$Node;IZZZJ)I";
        assert_eq!(number(sync, "acquire", node), Some(ACQUIRE));
        assert_eq!(number(sync, "acquire", "(I)V"), None);
        assert_eq!(number(sync, "doAcquireNanos", "(IJ)Z"), Some(ACQUIRE));
        assert_eq!(number(sync, "release", "(I)Z"), None);
        assert_eq!(number("LockSupport", "park", "()V"), None);
        assert_eq!(number("LockSupport", "setBlocker", ""), Some(BLOCKER));
    }
}
