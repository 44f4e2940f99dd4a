//! Threads: who they are, what they do, and threads of our own.

use std::os::raw::c_char;
use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jlong, jobject};

use super::env::call;
use super::jni::Jni;
use super::memory::{VmMemory, take_string};
use super::refs::{LocalRef, Ref};
use crate::guard::guard;
use crate::hotspot::releases::Release;
use crate::hotspot::thread_names::{GroupNames, ThreadInfo, ThreadNames};
use crate::{Jvmti, JvmtiError, Result};

/// JVMTI thread state bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadState(u32);

impl ThreadState {
    pub(super) fn new(bits: i32) -> Self {
        Self(bits as u32)
    }

    /// Returns whether all of these bits are set: `JVMTI_THREAD_STATE_...`.
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }

    /// Returns whether the thread is runnable, which includes blocking native calls.
    pub fn is_runnable(self) -> bool {
        self.0 & raw::JVMTI_THREAD_STATE_RUNNABLE != 0
    }

    /// Returns whether the thread is suspended.
    pub fn is_suspended(self) -> bool {
        self.0 & raw::JVMTI_THREAD_STATE_SUSPENDED != 0
    }
}

impl Jvmti {
    /// All live platform threads.
    ///
    /// # Errors
    /// The error of `GetAllThreads`.
    pub fn all_threads<'a>(&self, jni: &'a Jni) -> Result<Vec<LocalRef<'a>>> {
        let mut count = 0;
        let mut threads = ptr::null_mut();
        call!(self, GetAllThreads, &mut count, &mut threads)?;
        // SAFETY: the VM allocated `count` references for us.
        let threads = unsafe { VmMemory::new(self, threads, count.max(0) as usize) };
        // SAFETY: the VM made them for us, as local references.
        Ok(unsafe { jni.own_all(&threads) })
    }

    /// The current thread.
    ///
    /// # Errors
    /// The error of `GetCurrentThread`.
    pub fn current_thread<'a>(&self, jni: &'a Jni) -> Result<LocalRef<'a>> {
        let mut thread = ptr::null_mut();
        call!(self, GetCurrentThread, &mut thread)?;
        // SAFETY: the VM made a local reference.
        unsafe { LocalRef::own(jni, thread) }.ok_or(JvmtiError::INTERNAL)
    }

    /// Name and groups of a thread. Names of groups that are not in `names` are asked for.
    ///
    /// # Errors
    /// The error of `GetThreadInfo`.
    pub fn thread_info(
        &self,
        jni: &Jni,
        thread: Ref<'_>,
        names: &ThreadNames,
    ) -> Result<ThreadInfo> {
        let (name, group) = match names.read(jni, || Release::of(self), thread) {
            Some(read) => read,
            None => self.name_and_group(jni, thread)?,
        };
        let group = group.map(|group| {
            let ask = || self.group_names(jni, group.get());
            names.group(jni, group.get(), ask)
        });
        let group = group.unwrap_or_default();
        Ok(ThreadInfo { name, group })
    }

    /// Name of a thread.
    ///
    /// # Errors
    /// The error of `GetThreadInfo`.
    pub fn thread_name(&self, jni: &Jni, thread: Ref<'_>) -> Result<String> {
        Ok(self.name_and_group(jni, thread)?.0)
    }

    fn name_and_group<'a>(
        &self,
        jni: &'a Jni,
        thread: Ref<'_>,
    ) -> Result<(String, Option<LocalRef<'a>>)> {
        let mut info = raw::jvmtiThreadInfo {
            name: ptr::null_mut(),
            priority: 0,
            is_daemon: false,
            thread_group: ptr::null_mut(),
            context_class_loader: ptr::null_mut(),
        };
        call!(self, GetThreadInfo, thread.as_raw(), &mut info)?;
        // SAFETY: the VM made both local references, or none.
        let (group, _loader): (Option<LocalRef<'_>>, Option<LocalRef<'_>>) = unsafe {
            (
                LocalRef::own(jni, info.thread_group),
                LocalRef::own(jni, info.context_class_loader),
            )
        };
        // SAFETY: the VM allocated the name for us.
        let name = unsafe { take_string(self, info.name) }.unwrap_or_default();
        Ok((name, group))
    }

    /// The top thread group.
    ///
    /// # Errors
    /// The error of `GetTopThreadGroups`.
    pub fn top_thread_group<'a>(&self, jni: &'a Jni) -> Result<LocalRef<'a>> {
        let mut count = 0;
        let mut groups = ptr::null_mut();
        call!(self, GetTopThreadGroups, &mut count, &mut groups)?;
        // SAFETY: the VM allocated `count` references for us.
        let groups = unsafe { VmMemory::<'_, jobject>::new(self, groups, count.max(0) as usize) };
        // SAFETY: the VM made them for us, as local references.
        let mut owned = unsafe { jni.own_all(&groups) }.into_iter();
        owned.next().ok_or(JvmtiError::INTERNAL)
    }

    /// Name of a group, and of its parent; empty for none.
    fn group_names(&self, jni: &Jni, group: Ref<'_>) -> GroupNames {
        let Some((name, parent)) = self.group_info(jni, group) else {
            return GroupNames::default();
        };
        let parent = parent.and_then(|parent| self.group_info(jni, parent.get()));
        GroupNames {
            name,
            parent: parent.map(|(name, _)| name).unwrap_or_default(),
        }
    }

    /// Name and parent of a group.
    fn group_info<'a>(
        &self,
        jni: &'a Jni,
        group: Ref<'_>,
    ) -> Option<(String, Option<LocalRef<'a>>)> {
        let mut info = raw::jvmtiThreadGroupInfo {
            parent: ptr::null_mut(),
            name: ptr::null_mut::<c_char>(),
            max_priority: 0,
            is_daemon: false,
        };
        call!(self, GetThreadGroupInfo, group.as_raw(), &mut info).ok()?;
        // SAFETY: the VM allocated the name for us.
        let name = unsafe { take_string(self, info.name) }.unwrap_or_default();
        // SAFETY: the VM made a local reference, or none.
        Some((name, unsafe { LocalRef::own(jni, info.parent) }))
    }

    /// The state of a thread.
    ///
    /// # Errors
    /// The error of `GetThreadState`.
    pub fn thread_state(&self, thread: Ref<'_>) -> Result<ThreadState> {
        let mut state = 0;
        call!(self, GetThreadState, thread.as_raw(), &mut state)?;
        Ok(ThreadState::new(state))
    }

    /// CPU time of a platform thread in nanoseconds.
    ///
    /// # Errors
    /// The error of `GetThreadCpuTime`; the capability is needed.
    pub fn thread_cpu_nanos(&self, thread: Ref<'_>) -> Result<u64> {
        let mut nanos: jlong = 0;
        call!(self, GetThreadCpuTime, thread.as_raw(), &mut nanos)?;
        Ok(u64::try_from(nanos).unwrap_or(0))
    }

    /// A number kept by the VM with a thread (or virtual thread), `None` being the current one; 0 until
    /// set.
    ///
    /// # Errors
    /// The error of `GetThreadLocalStorage`.
    pub fn thread_local(&self, thread: Option<Ref<'_>>) -> Result<usize> {
        let mut value = ptr::null_mut();
        let thread = thread.map_or(ptr::null_mut(), Ref::as_raw);
        call!(self, GetThreadLocalStorage, thread, &mut value)?;
        Ok(value as usize)
    }

    /// Sets the number kept with a thread, `None` being the current one.
    ///
    /// # Errors
    /// The error of `SetThreadLocalStorage`.
    pub fn set_thread_local(&self, thread: Option<Ref<'_>>, value: usize) -> Result<()> {
        let thread = thread.map_or(ptr::null_mut(), Ref::as_raw);
        call!(self, SetThreadLocalStorage, thread, value as *const _)
    }

    /// Runs `body` on a new daemon thread of the VM, which `thread` (a
    /// `java.lang.Thread` that was never started) stands for.
    ///
    /// # Errors
    /// The error of `RunAgentThread`.
    pub fn run_agent_thread(&self, thread: Ref<'_>, body: AgentThreadBody) -> Result<()> {
        let argument = Box::into_raw(Box::new(body));
        let result = call!(
            self,
            RunAgentThread,
            thread.as_raw(),
            Some(agent_thread),
            argument.cast(),
            raw::JVMTI_THREAD_MAX_PRIORITY as i32,
        );
        if result.is_err() {
            // SAFETY: the VM did not start the thread, so the box is still ours.
            drop(unsafe { Box::from_raw(argument) });
        }
        result
    }
}

/// The body of an agent thread.
pub type AgentThreadBody = Box<dyn FnOnce(&Jni) + Send>;

unsafe extern "C" fn agent_thread(
    _env: *mut raw::jvmtiEnv,
    jni: *mut JNIEnv,
    argument: *mut std::os::raw::c_void,
) {
    // SAFETY: the VM passes the environment of this new thread.
    let jni = unsafe { Jni::new(jni) };
    // SAFETY: `run_agent_thread` passed this box, and the VM runs us once.
    let body = unsafe { Box::from_raw(argument.cast::<AgentThreadBody>()) };
    guard((), || body(&jni));
}
