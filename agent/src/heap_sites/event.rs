//! The hot path: what happens at each allocation.

use std::sync::atomic::Ordering;

use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jclass, jlong, jobject};

use super::HeapSites;
use super::cache::Entry;
use super::hooks;
use super::live::Followed;
use super::sites::{Count, SiteId};
use super::threads::{ThreadMode, ThreadState};
use crate::hash::mix;
use crate::options::Live;
use crate::vm::{Class, JMethodId, Jni, JvmtiError, Ref, StackFrame, Vm, WeakRef};

/// The callbacks of the mode's own environment.
pub(super) fn table() -> raw::jvmtiEventCallbacks {
    raw::jvmtiEventCallbacks {
        SampledObjectAlloc: Some(sampled_object_alloc),
        GarbageCollectionStart: Some(garbage_collection_start),
        GarbageCollectionFinish: Some(garbage_collection_finish),
        ClassFileLoadHook: Some(hooks::class_file_load),
        ..Default::default()
    }
}

/// With live=estimate, how many recorded objects of a site are followed before only some
/// of them are.
const FOLLOWED_ALL: u64 = 1024;
/// With live=estimate, one in two to the power of this is followed beyond.
const ESTIMATE_SHIFT: u8 = 4;

/// Where a stack is known by its key, it is still walked for one in this many objects of a site, and
/// compared: far more often in tests.
const CHECKED: u64 = if cfg!(debug_assertions) {
    1 << 4
} else {
    1 << 12
};

unsafe extern "C" fn sampled_object_alloc(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    HeapSites::callback(|sites| {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(jni) };
        // SAFETY: parameters of this callback.
        let (object, class) = unsafe { (Ref::from_raw(object), Ref::from_raw(class)) };
        let (Some(object), Some(class)) = (object, class) else {
            return;
        };
        let allocation = Allocation {
            object,
            class,
            size: u64::try_from(size).unwrap_or(0),
        };
        sites.event(&jni, allocation);
    });
}

/// In a collection pause; nothing of the VM may be called.
unsafe extern "C" fn garbage_collection_start(_env: *mut raw::jvmtiEnv) {
    HeapSites::callback(HeapSites::collection_starts);
}

/// In a collection pause; nothing of the VM may be called.
unsafe extern "C" fn garbage_collection_finish(_env: *mut raw::jvmtiEnv) {
    HeapSites::callback(|sites| {
        sites.collections.fetch_add(1, Ordering::Relaxed);
    });
}

/// A new object, by references of the event.
#[derive(Clone, Copy)]
pub(super) struct Allocation<'a> {
    pub(super) object: Ref<'a>,
    pub(super) class: Ref<'a, Class>,
    pub(super) size: u64,
}

/// Returns true if the stack of the next object of a site is walked and compared, after `seen` objects of the site.
#[inline]
pub(super) fn is_checked(seen: u64) -> bool {
    seen.is_multiple_of(CHECKED)
}

/// The key of a stack and a class, by the word that objects of the class have, or 0 where it is not known. A stack
/// may allocate objects of many classes (`Array.newInstance`).
#[inline]
pub(super) fn with_class(key: u64, class_word: u64) -> u64 {
    match class_word {
        0 => key,
        _ => mix(key, class_word),
    }
}

/// The key of a stack that the VM gave.
fn key_of(serial: u32, frames: &[StackFrame]) -> u64 {
    frames.iter().fold(u64::from(serial), |hash, frame| {
        mix(mix(hash, frame.method.as_word()), frame.location as u64)
    })
}

impl HeapSites {
    pub(super) fn event(&self, jni: &Jni, allocation: Allocation<'_>) {
        let Some(thread) = self.threads.current() else {
            return;
        };
        thread.jni.set(jni.as_raw());
        // What the agent itself allocates is not the program's.
        if thread.inside.replace(true) {
            return;
        }
        match thread.mode.get() {
            ThreadMode::Recording => self.record(jni, &thread, allocation),
            ThreadMode::Priming | ThreadMode::Primed => thread.mode.set(ThreadMode::Primed),
        }
        thread.inside.set(false);
    }

    #[inline]
    fn record(&self, jni: &Jni, thread: &ThreadState, allocation: Allocation<'_>) {
        thread.count_event();
        let count = self.weights.count(allocation.size);
        let serial = self.serial(thread);
        let depth = self.depth.load(Ordering::Relaxed);
        // Frames of hooks and constructors come before those that are kept.
        let wanted = match (&self.hooks, depth) {
            (Some(_), 1..) => depth + hooks::INNER_FRAMES,
            _ => depth,
        };
        let find = |key| {
            let same = |mirror| self.is_mirror(jni, allocation.class, mirror);
            thread.cache().find(key, same)
        };
        let stack_keys = self.stack_keys.get();
        let key = stack_keys
            .and_then(|keys| keys.key(jni, Some(&thread.places), wanted, u64::from(serial)))
            .map(|key| with_class(key, thread.class_word.get()));
        let entry = match key.and_then(find) {
            Some(entry) if !is_checked(entry.seen()) => Some(entry),
            known => {
                let mut buffer = thread.buffer.take();
                buffer.resize(wanted, StackFrame::NONE);
                let frames = self.stack(jni, &mut buffer, depth);
                let has_key = key.is_some();
                let key = key.unwrap_or_else(|| key_of(serial, frames));
                let known = match known {
                    Some(entry) => self.check(jni, allocation, serial, frames, entry),
                    None => {
                        thread.count_taken();
                        if has_key { None } else { find(key) }
                    }
                };
                let entry = known
                    .or_else(|| self.miss(jni, thread, allocation, count, key, serial, frames));
                thread.buffer.set(buffer);
                entry
            }
        };
        if let Some(entry) = entry {
            let seen = entry.seen();
            entry.add(count);
            self.learn_words(jni, thread, allocation, entry);
            let weak = || jni.new_weak(allocation.object).ok();
            self.follow(thread, count, allocation.size, entry.site(), seen, weak);
        }
    }

    /// The entry found by the key of a stack, if the stack itself leads to it as well.
    #[cold]
    fn check<'a>(
        &self,
        jni: &Jni,
        allocation: Allocation<'_>,
        serial: u32,
        frames: &[StackFrame],
        entry: &'a Entry,
    ) -> Option<&'a Entry> {
        // Of an obsolete method that cannot be told.
        if frames.iter().any(|frame| frame.method == JMethodId::NONE) {
            return Some(entry);
        }
        let class = self
            .classes
            .intern(&self.jvmti, jni, allocation.class)
            .ok()?;
        let stack = self.stacks.intern(serial, frames);
        if self.sites.intern(stack, class.id) == entry.site() {
            return Some(entry);
        }
        self.unrecorded.mistaken.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// The stack of the program's code that has made the object, up to `depth` frames.
    fn stack<'a>(&self, jni: &Jni, buffer: &'a mut [StackFrame], depth: usize) -> &'a [StackFrame] {
        if buffer.is_empty() {
            return &[];
        }
        let hook = i32::from(self.hooks.is_some());
        match self.jvmti.current_stack_below(hook, buffer) {
            Ok(count) => {
                let vm = Vm {
                    jvmti: &self.jvmti,
                    jni,
                };
                let taken = buffer.get(..count).unwrap_or_default();
                let inner = self.hooks.as_ref();
                let inner = inner.map_or(0, |hooks| hooks.inner_frames(vm, taken));
                let all = buffer.get_mut(inner..count).unwrap_or_default();
                let shown = all.len().min(depth);
                let frames = all.get_mut(..shown).unwrap_or_default();
                vm.without_obsolete(frames);
                frames
            }
            // The VM attaches a native thread, and allocates its Thread object: there are no
            // frames yet.
            Err(JvmtiError::INVALID_THREAD) => &[],
            Err(_) => {
                self.unrecorded.stacks.fetch_add(1, Ordering::Relaxed);
                &[]
            }
        }
    }

    /// A site that is not in the thread's cache. When it cannot go there, all is
    /// done here and `None` is returned.
    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn miss<'a>(
        &self,
        jni: &Jni,
        thread: &'a ThreadState,
        allocation: Allocation<'_>,
        count: Count,
        key: u64,
        serial: u32,
        frames: &[StackFrame],
    ) -> Option<&'a Entry> {
        let Ok(class) = self.classes.intern(&self.jvmti, jni, allocation.class) else {
            self.unrecorded.classes.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let stack = self.stacks.intern(serial, frames);
        let site = self.sites.intern(stack, class.id);
        let seen = self.sites.objects(site);
        let entry = class.mirror.and_then(|mirror| {
            // SAFETY: `record` comes here only without an entry of the cache.
            unsafe {
                self.threads.reshape(thread, |cache| {
                    let mut flush = |site, count| self.sites.add(site, count);
                    cache.insert(key, mirror, site, seen, &mut flush)
                })
            }
        });
        if entry.is_none() {
            self.sites.add(site, count);
            let weak = || jni.new_weak(allocation.object).ok();
            self.follow(thread, count, allocation.size, site, seen, weak);
        }
        entry
    }

    /// Follows an object of `size` bytes, to which `weak` makes a reference, or by chance does not.
    #[inline]
    pub(super) fn follow(
        &self,
        thread: &ThreadState,
        count: Count,
        size: u64,
        site: SiteId,
        seen: u64,
        weak: impl FnOnce() -> Option<WeakRef>,
    ) {
        let mut shift = self.shift.load(Ordering::Relaxed);
        // With sampling, a recorded object counts as many.
        if self.live == Live::Estimate && seen >= FOLLOWED_ALL * count.objects {
            shift += ESTIMATE_SHIFT;
        }
        if shift > 0 && !thread.one_in(shift) {
            return;
        }
        if !self.has_segment(thread) {
            self.segments.count_dropped();
            return;
        }
        let Some(weak) = weak() else {
            self.unrecorded.references.fetch_add(1, Ordering::Relaxed);
            return;
        };
        thread.push(Followed {
            weak,
            site,
            shift,
            size,
        });
    }

    /// Sees to it that the thread has a segment with room for an object. False while there is
    /// none, because the profile thread is late.
    #[inline]
    fn has_segment(&self, thread: &ThreadState) -> bool {
        if thread.has_room() {
            return true;
        }
        let may_go = self.segments.has_room();
        if may_go {
            thread.replace_segment(|segment| self.hand_over(segment));
        }
        may_go
    }

    /// As [`Self::serial`], if no call of the VM is needed to tell.
    #[inline]
    pub(super) fn known_serial(&self, thread: &ThreadState) -> Option<u32> {
        let is_known =
            !self.per_thread || thread.virtual_serial.get() != 0 || thread.serial.get() != 0;
        is_known.then(|| self.serial(thread))
    }

    /// The serial that the thread's stacks are kept under, 0 for all threads together.
    #[inline]
    fn serial(&self, thread: &ThreadState) -> u32 {
        if !self.per_thread {
            return 0;
        }
        let virtual_serial = thread.virtual_serial.get();
        if virtual_serial != 0 {
            thread.virtual_used.set(true);
            return virtual_serial;
        }
        if thread.serial.get() == 0 {
            thread.serial.set((self.serial_of_current)());
        }
        thread.serial.get()
    }
}
