//! Objects of known sites are counted without the VM's event ([`SampleHook`]).
//!
//! The VM's event costs more than all that is done with it. So the VM is intercepted where it begins: if the thread's cache has
//! the key of its stack with the object's class, all is done here. Any other object has its event, and so has one in
//! [some thousands](super::event), for the check.
//!
//! The class is compared by the word that the object itself has for it. Another class may get the word once
//! the class was unloaded, so the entry's weak reference to the mirror is looked at too. The size comes from the
//! entry as well, and from the length of an array.

use std::sync::atomic::Ordering;

use hprof_format::binary::{BasicType, IdSize};
use parking_lot::Mutex;

use super::HeapSites;
use super::cache::Entry;
use super::classes::Class;
use super::event::{Allocation, is_checked, with_class};
use super::threads::{ThreadMode, ThreadState};
use crate::os::elf;
use crate::os::maps::{Mapping, mappings};
use crate::vm::{
    ArrayLayout, BoolFlag, Jni, Jvmti, NewObject, SAMPLE_HOOK_SYMBOLS, SampleHook, VmLibrary,
    VmStructs, measure_arrays,
};

/// The layout of objects in this VM, and the hook.
pub(super) struct Shortcut {
    hook: SampleHook,
    class: ClassWord,
    arrays: ArrayLayout,
}

/// Where objects have their class.
#[derive(Clone, Copy)]
enum ClassWord {
    /// In the first word, which new objects of a class have alike.
    Header,
    /// In 32 bits after it.
    Narrow,
    /// In the word after it.
    Wide,
}

/// Bytes of the first word of an object.
const HEADER: usize = 8;

impl ClassWord {
    /// Where an array has its length, 32 bits: after the class (`arrayOop.hpp`).
    fn length_offset(self) -> usize {
        match self {
            Self::Header => HEADER,
            Self::Narrow => HEADER + 4,
            Self::Wide => 2 * HEADER,
        }
    }
}

/// In the shape of arrays, whose low bits are those of the width of an element, with 0 for references; else
/// the shape is the size of an instance.
const ARRAY: u32 = 1 << 31;
/// The shape of objects that differ in size though their class is one.
const UNKNOWN: u32 = 0;

/// The hook, installed by this run or the first one that wanted it.
///
/// # Errors
/// Why there is none. All works without it, slower.
///
/// # Safety
/// As for [`SampleHook::install`].
pub(super) unsafe fn hook(
    jvmti: &Jvmti,
    library: Option<VmLibrary>,
) -> Result<SampleHook, &'static str> {
    static INSTALLED: Mutex<Option<SampleHook>> = Mutex::new(None);
    let mut installed = INSTALLED.lock();
    if let Some(hook) = *installed {
        return Ok(hook);
    }
    // Its functions check what they are called with in other ways, and take handles in other forms.
    let level = jvmti.system_property(c"jdk.debug");
    if level.is_some_and(|level| level != "release") {
        return Err("it is a debug build");
    }
    // SAFETY: by the caller's promise.
    let hook = unsafe { install(library)? };
    *installed = Some(hook);
    Ok(hook)
}

/// # Safety
/// As for [`SampleHook::install`].
unsafe fn install(library: Option<VmLibrary>) -> Result<SampleHook, &'static str> {
    let library = library.ok_or("it is not HotSpot")?;
    // The kernel's path: those of the loader may have links that lead elsewhere by now.
    let path = path_of(library)?;
    let functions = elf::functions(&path, SAMPLE_HOOK_SYMBOLS);
    let functions = functions.map_err(|_| "the JVM's library cannot be read")?;
    let functions = functions.ok_or("the JVM's library has no symbols")?;
    // Else another file may have come in its place before it was opened.
    if path_of(library)? != path {
        return Err(REPLACED);
    }
    // SAFETY: by the caller's promise.
    unsafe {
        SampleHook::install(
            library,
            functions.map(|it| (it.address, it.code)),
            is_counted,
        )
    }
}

const REPLACED: &str = "the file of the JVM's library was replaced";

/// The path of the file that the VM's library was loaded from.
fn path_of(library: VmLibrary) -> Result<String, &'static str> {
    let mappings = mappings();
    let mapping = Mapping::of(&mappings, library.code());
    let path = &mapping.ok_or("the JVM's library is not mapped")?.path;
    match path.ends_with(" (deleted)") {
        true => Err(REPLACED),
        false => Ok(path.clone()),
    }
}

/// The [`Decide`](crate::vm::Decide) of the hook.
extern "C" fn is_counted(object: NewObject) -> bool {
    let Some(sites) = HeapSites::newest() else {
        return false;
    };
    let Some(shortcut) = sites.shortcut.get() else {
        return false;
    };
    sites.jvmti.callback(false, || {
        let counted = sites
            .threads
            .with_known(|thread| sites.count(shortcut, thread, object));
        counted.flatten().is_some()
    })
}

impl Shortcut {
    /// Learns how objects look. `None` where that is not known.
    pub(super) fn learn(
        hook: SampleHook,
        structs: VmStructs,
        jvmti: &Jvmti,
        jni: &Jni,
    ) -> Option<Self> {
        let class = match (
            structs.bool_flag(BoolFlag::UseCompactObjectHeaders),
            structs.bool_flag(BoolFlag::UseCompressedClassPointers),
        ) {
            (Some(true), _) => ClassWord::Header,
            (_, Some(true)) => ClassWord::Narrow,
            (_, Some(false)) => ClassWord::Wide,
            (_, None) => return None,
        };
        let arrays = measure_arrays(jvmti, jni).ok()?;
        Some(Self {
            hook,
            class,
            arrays,
        })
    }

    #[inline]
    fn class_word(&self, object: NewObject) -> u64 {
        // SAFETY: every object has these, and is at least 16 bytes large, or 8 with its class in the first word.
        unsafe {
            match self.class {
                ClassWord::Header => object.word(0),
                ClassWord::Narrow => u64::from(object.half(HEADER)),
                ClassWord::Wide => object.word(HEADER),
            }
        }
    }

    /// The bytes of an object of this shape.
    #[inline]
    fn size(&self, object: NewObject, shape: u32) -> u64 {
        if shape & ARRAY == 0 {
            return u64::from(shape);
        }
        // SAFETY: it is an array.
        let length = unsafe { object.half(self.class.length_offset()) };
        let width = u64::from(shape & !ARRAY);
        let width = (width != 0).then_some(width);
        self.arrays.bytes(u64::from(length), width)
    }
}

impl HeapSites {
    /// Counts and follows a new object if its site is known. `None` if it is to have its event.
    #[inline]
    fn count(&self, shortcut: &Shortcut, thread: &ThreadState, object: NewObject) -> Option<()> {
        if thread.inside.get() {
            return None;
        }
        let class_word = shortcut.class_word(object);
        thread.class_word.set(class_word);
        let env = thread.jni.get();
        if env.is_null() || thread.mode.get() != ThreadMode::Recording {
            return None;
        }
        // SAFETY: the environment of this thread.
        let jni = unsafe { Jni::new(env) };
        let serial = self.known_serial(thread)?;
        let depth = self.depth.load(Ordering::Relaxed);
        let keys = self.stack_keys.get()?;
        let key = keys.key(&jni, Some(&thread.places), depth, u64::from(serial))?;
        let key = with_class(key, class_word);
        let entry = thread.cache().find_word(key, class_word)?;
        let seen = entry.seen();
        if is_checked(seen) {
            return None;
        }
        let shape = entry.shape().filter(|&shape| shape != UNKNOWN)?;
        let size = shortcut.size(object, shape);
        thread.class_word.set(0);
        thread.count_without_event();
        let count = self.weights.count(size);
        entry.add(count);
        let site = entry.site();
        self.follow(thread, count, size, site, seen, || {
            let spare = self.spare.and_then(|spare| thread.spare_reference(spare));
            // SAFETY: the object that the hook was told of. References are spare where the collector works in pauses only.
            unsafe {
                match spare {
                    Some(weak) => {
                        shortcut.hook.refer(&weak, object);
                        Some(weak)
                    }
                    None => shortcut.hook.new_weak(object),
                }
            }
        });
        Some(())
    }

    /// Lets the next objects of an entry's site be counted without an event.
    #[inline]
    pub(super) fn learn_words(
        &self,
        jni: &Jni,
        thread: &ThreadState,
        allocation: Allocation<'_>,
        entry: &Entry,
    ) {
        let class_word = thread.class_word.take();
        if class_word != 0 && entry.is_new() {
            entry.learn(class_word, self.shape(jni, allocation));
        }
    }

    #[cold]
    fn shape(&self, jni: &Jni, allocation: Allocation<'_>) -> u32 {
        let class = self.classes.intern(&self.jvmti, jni, allocation.class);
        class.map_or(UNKNOWN, |class| shape_of(&class, allocation.size))
    }
}

/// The shape of objects of a class, one of which has this size.
fn shape_of(class: &Class, size: u64) -> u32 {
    match class.element {
        Some(BasicType::Object) => ARRAY,
        Some(element) => ARRAY | u32::try_from(element.width(IdSize::Eight)).unwrap_or(0),
        // A class has its static fields, and a chunk of a stack the stack.
        None if ["java.lang.Class", "jdk.internal.vm.StackChunk"].contains(&&*class.name) => {
            UNKNOWN
        }
        None => u32::try_from(size)
            .ok()
            .filter(|size| size & ARRAY == 0)
            .unwrap_or(UNKNOWN),
    }
}
