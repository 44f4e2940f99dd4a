//! Allocations on JDK 8, which has no event for them: code calls `HprofSites` with each object that it has made.
//!
//! The constructor of `Object` gets every instance, whichever way it is made: by code, reflection, or native code. Arrays and
//! copies have their calls behind the instructions that make them (`hprof_instrument`, `Shape::Allocations`). The JDK's own
//! agent counted in the same way. Objects that the VM makes by itself, without a constructor, are not seen.
//!
//! Between the constructor of `Object` and the code that has made an instance are the constructors of its classes. Each calls
//! another one for its own object at one place of its code, which tells them from constructors that make other objects.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hprof_instrument::{
    AllocationHooks, Constants, Hooks, MethodHook, MethodInfo, MethodNumber, Rewriter, Shape,
};
use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jclass, jint, jobject};
use parking_lot::{Mutex, RwLock};

use super::HeapSites;
use super::event::Allocation;
use crate::recording::{STEP, StartWatch};
use crate::vm::{
    BoolFlag, Class, JMethodId, Jni, Jvmti, JvmtiError, LocalRef, NativeMethod, Ref, Result,
    StackFrame, Vm, VmStructs,
};

const HOOK_CLASS: &CStr = c"java/lang/HprofSites";
const HOOK_CLASS_FILE: &[u8] = include_bytes!("../../hooks/classes/HprofSites.eight.class");
/// Classes of the agent, by the start of their names.
const OWN_CLASSES: &[u8] = b"java/lang/Hprof";

/// No other hooks are inserted.
const HOOKS: Hooks<'static> = Hooks {
    class: HOOK_CLASS.to_bytes(),
    enter: b"",
    exit: b"",
    repair: b"",
    count: b"",
};
const ALLOCATION_HOOKS: AllocationHooks<'static> = AllocationHooks {
    made: b"made",
    nested: b"nested",
    reflected: b"reflected",
    copied: b"copied",
};

/// Frames of hooks and constructors at most, which stacks do not show.
pub(super) const INNER_FRAMES: usize = 64;
/// Stands for the place in a method that calls no constructor for its own object.
const NOWHERE: i64 = -2;

/// Has the compilers join strings by the methods that code calls: by code of their own they would make strings unseen. A
/// value of the user stays.
pub(super) fn let_strings_be_made(structs: Option<VmStructs>) {
    let flag =
        structs.and_then(|structs| structs.default_bool_flag(BoolFlag::OptimizeStringConcat));
    if let Some(flag) = flag {
        // SAFETY: the VM's own table says that the flag lies there, a bool; compilers read it when they begin with a method.
        unsafe { flag.write_volatile(0) };
    }
}

/// How an object was made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Made,
    Nested,
    Reflected,
    Copied,
}

/// The hooks, and what is known of constructors.
pub(super) struct SiteHooks {
    /// Classes get hooks as they load.
    engaged: AtomicBool,
    rewriter: Mutex<Rewriter>,
    /// The constructor of `Object`; not known before the start.
    root: RwLock<Option<JMethodId>>,
    /// Where methods that were seen call another constructor for their own object.
    constructions: RwLock<HashMap<u64, i64>>,
    hooked: AtomicU64,
    refused: AtomicU64,
    /// Classes without hooks, as they are not understood.
    skipped: AtomicU64,
}

impl SiteHooks {
    pub(super) fn new() -> Self {
        Self {
            engaged: AtomicBool::new(false),
            rewriter: Mutex::new(Rewriter::new().counting_allocations(ALLOCATION_HOOKS)),
            root: RwLock::new(None),
            constructions: RwLock::new(HashMap::new()),
            hooked: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
        }
    }

    /// Has the classes that are loaded, and those to come, call the hooks.
    ///
    /// # Errors
    /// The VM does not take the hook class.
    pub(super) fn engage(&self, jvmti: &Jvmti, jni: &Jni) -> Result<()> {
        if jni.find_class(HOOK_CLASS).is_err() {
            let class = jni.define_boot_class(HOOK_CLASS, HOOK_CLASS_FILE)?;
            // SAFETY: the functions have the parameters of these descriptors.
            unsafe { jni.register_natives(class.get(), &natives()) }?;
        }
        let object = jni.find_class(c"java/lang/Object")?;
        let root = jni.method_id(object.get(), c"<init>", c"()V")?;
        *self.root.write() = Some(root);
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, true)?;
        self.engaged.store(true, Ordering::Release);
        // First, as its constructor tells of all instances, also those of classes that never get hooks.
        self.retransform(jvmti, &[object.get()]);
        self.retransform_all(jvmti, jni, Some(&StartWatch::begin("heap=sites")))
    }

    /// Gives all classes their own code back.
    ///
    /// # Errors
    /// The VM's error; then some hooks stay, without effect.
    pub(super) fn disengage(&self, jvmti: &Jvmti, jni: &Jni) -> Result<()> {
        if !self.engaged.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let done = self.retransform_all(jvmti, jni, None);
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, false)?;
        done
    }

    /// Sends all classes through the class-file hook, or those that come before a watch gives up.
    fn retransform_all(&self, jvmti: &Jvmti, jni: &Jni, watch: Option<&StartWatch>) -> Result<()> {
        let jni = &*jni.large_local_frame();
        let loaded = jvmti.loaded_classes(jni)?;
        let classes = loaded.iter().map(LocalRef::get);
        let classes: Vec<Ref<'_, Class>> = classes
            .filter(|&class| jvmti.is_modifiable(class) && !jvmti.is_interface_without_code(class))
            .collect();
        for (index, step) in classes.chunks(STEP).enumerate() {
            let left = classes.len() - index * STEP;
            if watch.is_some_and(|watch| watch.gives_up("arrays and copies in code", left)) {
                break;
            }
            self.retransform(jvmti, step);
        }
        Ok(())
    }

    fn retransform(&self, jvmti: &Jvmti, classes: &[Ref<'_, Class>]) {
        if jvmti.retransform(classes).is_ok() {
            return;
        }
        for class in classes.chunks(1) {
            if jvmti.retransform(class).is_err() {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The class with its hooks; `None` to leave it as it is.
    fn rewrite(&self, name: &[u8], class: &[u8]) -> Option<Vec<u8>> {
        if !self.engaged.load(Ordering::Acquire) || name.starts_with(OWN_CLASSES) {
            return None;
        }
        let mut select = |method: &MethodInfo<'_>| {
            let is_counted = method.allocates() && !is_copying(method);
            is_counted.then_some(MethodHook {
                number: MethodNumber(0),
                shape: Shape::Allocations,
            })
        };
        let mut rewriter = self.rewriter.lock();
        match rewriter.rewrite(class, &HOOKS, &mut select) {
            Ok(done) => {
                self.hooked.fetch_add(1, Ordering::Relaxed);
                Some(done.bytes.to_vec())
            }
            Err(hprof_instrument::ClassSkip::NothingHooked) => None,
            Err(_) => {
                self.skipped.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// How many of the innermost frames, below the hook, are the constructors of the object that was made.
    pub(super) fn inner_frames(&self, vm: Vm<'_>, frames: &[StackFrame]) -> usize {
        let root = *self.root.read();
        if frames.first().map(|frame| frame.method) != root {
            return 0;
        }
        let rest = frames.get(1..).unwrap_or_default();
        let own = |frame: &&StackFrame| self.construction(vm, frame.method) == frame.location;
        1 + rest.iter().take_while(own).count()
    }

    /// Where a method calls another constructor for its own object.
    fn construction(&self, vm: Vm<'_>, method: JMethodId) -> i64 {
        let key = method.as_word();
        if let Some(&known) = self.constructions.read().get(&key) {
            return known;
        }
        let found = construction(vm, method).unwrap_or(NOWHERE);
        self.constructions.write().insert(key, found);
        found
    }

    /// A remark on what has hooks.
    pub(super) fn remark(&self) -> String {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        format!(
            "hprof-rs: each allocation was counted by a hook: hooked_classes={} refused_classes={} classes_not_understood={}",
            load(&self.hooked),
            load(&self.refused),
            load(&self.skipped),
        )
    }
}

/// True for methods whose callers are counted in their place, as the compilers replace them.
fn is_copying(method: &MethodInfo<'_>) -> bool {
    method.class == "java/util/Arrays"
        && (method.name == "copyOf" || method.name == "copyOfRange")
        && method
            .descriptor
            .to_string()
            .ends_with("Ljava/lang/Class;)[Ljava/lang/Object;")
}

/// Asks the VM for [`SiteHooks::construction`]. `None` if the method is no constructor, or the VM does not answer.
fn construction(vm: Vm<'_>, method: JMethodId) -> Option<i64> {
    let Vm { jvmti, jni } = vm;
    if jvmti.method_name(method).ok()?.name != "<init>" {
        return None;
    }
    let code = jvmti.bytecodes(method).ok()?;
    let class = jvmti.declaring_class(jni, method).ok()?;
    let (count, constants) = jvmti.constants(class.get()).ok()?;
    let place = Constants::new(count, &constants).own_construction(&code);
    place.ok()?.map(i64::from)
}

impl HeapSites {
    /// The current thread ends.
    pub(super) fn forget_reflected(&self, jni: &Jni) {
        let reflected = self.threads.with_known(|thread| thread.reflected.take());
        if let Some(weak) = reflected.flatten() {
            jni.delete_weak(weak);
        }
    }

    /// Code has made an object, on the current thread.
    fn made(&self, jni: &Jni, object: Ref<'_>, way: Way) {
        if !self.recording.load(Ordering::Relaxed) {
            return;
        }
        let Some(thread) = self.threads.current() else {
            return;
        };
        // A copy may be what was told of last.
        let reflected = match way {
            Way::Made | Way::Nested => None,
            Way::Reflected | Way::Copied => thread.reflected.take(),
        };
        if let Some(weak) = reflected {
            let is_same = way == Way::Copied && jni.is_weak_of(object, &weak);
            jni.delete_weak(weak);
            if is_same {
                return;
            }
        }
        if way == Way::Reflected {
            thread.reflected.set(jni.new_weak(object).ok());
        }
        let class = jni.object_class(object);
        let Ok(size) = self.jvmti.object_size(object) else {
            return;
        };
        self.event(
            jni,
            Allocation {
                object,
                class: class.get(),
                size,
            },
        );
        let signature = || self.jvmti.class_signature(class.get());
        if way == Way::Nested && signature().is_ok_and(|it| it.starts_with("[[")) {
            // SAFETY: the object is an array of arrays.
            unsafe { jni.each_element(object, |element| self.made(jni, element, Way::Nested)) };
        }
    }
}

/// Runs a native method of the hooks.
///
/// # Safety
/// The arguments are parameters of the native method that runs.
unsafe fn native(env: *mut JNIEnv, object: jobject, way: Way) {
    HeapSites::callback(|sites| {
        // SAFETY: the VM passes the environment of the current thread, and the reference, by the caller's promise.
        let (jni, object) = unsafe { (Jni::new(env), Ref::from_raw(object)) };
        if let Some(object) = object {
            sites.made(&jni, object, way);
        }
    });
}

unsafe extern "system" fn made(env: *mut JNIEnv, _class: jclass, object: jobject) {
    // SAFETY: parameters of this native method.
    unsafe { native(env, object, Way::Made) };
}

unsafe extern "system" fn nested(env: *mut JNIEnv, _class: jclass, object: jobject) {
    // SAFETY: parameters of this native method.
    unsafe { native(env, object, Way::Nested) };
}

unsafe extern "system" fn reflected(env: *mut JNIEnv, _class: jclass, object: jobject) {
    // SAFETY: parameters of this native method.
    unsafe { native(env, object, Way::Reflected) };
}

unsafe extern "system" fn copied(env: *mut JNIEnv, _class: jclass, object: jobject) {
    // SAFETY: parameters of this native method.
    unsafe { native(env, object, Way::Copied) };
}

fn natives() -> [NativeMethod; 4] {
    let native = |name: &'static CStr, function: *mut c_void| NativeMethod {
        name,
        signature: c"(Ljava/lang/Object;)V",
        function,
    };
    [
        native(c"made", made as *const () as *mut c_void),
        native(c"nested", nested as *const () as *mut c_void),
        native(c"reflected", reflected as *const () as *mut c_void),
        native(c"copied", copied as *const () as *mut c_void),
    ]
}

pub(super) unsafe extern "C" fn class_file_load(
    _env: *mut raw::jvmtiEnv,
    _jni: *mut JNIEnv,
    _redefined: jclass,
    _loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    len: jint,
    bytes: *const u8,
    new_len: *mut jint,
    new_bytes: *mut *mut u8,
) {
    HeapSites::callback(|sites| {
        let (Ok(len), Some(hooks)) = (usize::try_from(len), &sites.hooks) else {
            return;
        };
        if bytes.is_null() {
            return;
        }
        // SAFETY: the VM passes the name as a C string, or none, and the class file with its length.
        let (name, bytes) = unsafe {
            let name = match name.is_null() {
                true => c"",
                false => CStr::from_ptr(name),
            };
            (name.to_bytes(), std::slice::from_raw_parts(bytes, len))
        };
        let Some(changed) = hooks.rewrite(name, bytes) else {
            return;
        };
        if let Ok((memory, len)) = sites.jvmti.copy_for_vm(&changed) {
            // SAFETY: the VM passes places for the new class file, and frees it.
            unsafe {
                *new_len = len;
                *new_bytes = memory;
            }
        }
    });
}

/// The capabilities that hooks need.
pub(super) fn want(wanted: &mut crate::vm::Capabilities) {
    wanted.set_can_retransform_classes(1);
    wanted.set_can_retransform_any_class(1);
    wanted.set_can_generate_all_class_hook_events(1);
    wanted.set_can_get_bytecodes(1);
    wanted.set_can_get_constant_pool(1);
}

/// The error of a VM that does not give the capabilities.
pub(super) fn refused(refused: &crate::vm::Capabilities) -> Result<()> {
    match refused.can_retransform_classes() {
        0 => Ok(()),
        _ => Err(JvmtiError::NOT_AVAILABLE),
    }
}
