//! Threads: who they are, what they do, and threads of our own.

use std::os::raw::c_char;
use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jlong, jobject};

use super::env::call;
use super::guard::guard;
use super::jni::{Jni, LocalRef};
use super::memory::{VmMemory, take_string};
use super::{Jvmti, JvmtiError, Result};

/// What a THREAD START record says of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Name of the thread now.
    pub name: String,
    /// Name of its group, empty when it has none (any more).
    pub group: String,
    /// Name of the group's parent, empty for the top group.
    pub parent_group: String,
}

/// JVMTI thread state bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadState(u32);

impl ThreadState {
    pub(super) fn new(bits: i32) -> Self {
        Self(bits as u32)
    }

    /// Whether all of these bits are set: `JVMTI_THREAD_STATE_...`.
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }

    /// Whether the thread is runnable, which includes blocking native calls.
    pub fn is_runnable(self) -> bool {
        self.0 & raw::JVMTI_THREAD_STATE_RUNNABLE != 0
    }

    /// Whether the thread is suspended.
    pub fn is_suspended(self) -> bool {
        self.0 & raw::JVMTI_THREAD_STATE_SUSPENDED != 0
    }
}

impl Jvmti {
    /// All live platform threads, as local references of the caller.
    ///
    /// # Errors
    /// What `GetAllThreads` says.
    pub fn all_threads(&self) -> Result<VmMemory<'_, jobject>> {
        let mut count = 0;
        let mut threads = ptr::null_mut();
        call!(self, GetAllThreads, &mut count, &mut threads)?;
        // SAFETY: the VM allocated `count` references for us.
        Ok(unsafe { VmMemory::new(self, threads, count.max(0) as usize) })
    }

    /// The current thread.
    ///
    /// # Errors
    /// What `GetCurrentThread` says.
    pub fn current_thread<'a>(&self, jni: &'a Jni) -> Result<LocalRef<'a>> {
        let mut thread = ptr::null_mut();
        call!(self, GetCurrentThread, &mut thread)?;
        Ok(jni.own(thread))
    }

    /// Name and groups of a thread; null is the current one.
    ///
    /// # Errors
    /// What `GetThreadInfo` says.
    pub fn thread_info(&self, jni: &Jni, thread: jobject) -> Result<ThreadInfo> {
        let mut info = raw::jvmtiThreadInfo {
            name: ptr::null_mut(),
            priority: 0,
            is_daemon: false,
            thread_group: ptr::null_mut(),
            context_class_loader: ptr::null_mut(),
        };
        call!(self, GetThreadInfo, thread, &mut info)?;
        let group = jni.own(info.thread_group);
        let _loader = jni.own(info.context_class_loader);
        // SAFETY: the VM allocated the name for us.
        let name = unsafe { take_string(self, info.name) }.unwrap_or_default();
        let (group, parent) = self.group_names(jni, group.as_raw());
        Ok(ThreadInfo {
            name,
            group,
            parent_group: parent,
        })
    }

    /// The top thread group.
    ///
    /// # Errors
    /// What `GetTopThreadGroups` says.
    pub fn top_thread_group<'a>(&self, jni: &'a Jni) -> Result<LocalRef<'a>> {
        let mut count = 0;
        let mut groups = ptr::null_mut();
        call!(self, GetTopThreadGroups, &mut count, &mut groups)?;
        // SAFETY: the VM allocated `count` references for us.
        let groups = unsafe { VmMemory::<'_, jobject>::new(self, groups, count.max(0) as usize) };
        let mut owned = groups.iter().map(|&group| jni.own(group));
        owned.next().ok_or(JvmtiError::INTERNAL)
    }

    fn group_names(&self, jni: &Jni, group: jobject) -> (String, String) {
        let mut parent_name = String::new();
        let Some((name, parent)) = self.group_info(group) else {
            return (String::new(), parent_name);
        };
        let parent = jni.own(parent);
        if let Some((text, grand_parent)) = self.group_info(parent.as_raw()) {
            parent_name = text;
            drop(jni.own(grand_parent));
        }
        (name, parent_name)
    }

    fn group_info(&self, group: jobject) -> Option<(String, jobject)> {
        if group.is_null() {
            return None;
        }
        let mut info = raw::jvmtiThreadGroupInfo {
            parent: ptr::null_mut(),
            name: ptr::null_mut::<c_char>(),
            max_priority: 0,
            is_daemon: false,
        };
        call!(self, GetThreadGroupInfo, group, &mut info).ok()?;
        // SAFETY: the VM allocated the name for us.
        let name = unsafe { take_string(self, info.name) }.unwrap_or_default();
        Some((name, info.parent))
    }

    /// The state of a thread.
    ///
    /// # Errors
    /// What `GetThreadState` says.
    pub fn thread_state(&self, thread: jobject) -> Result<ThreadState> {
        let mut state = 0;
        call!(self, GetThreadState, thread, &mut state)?;
        Ok(ThreadState::new(state))
    }

    /// CPU time of a platform thread in nanoseconds.
    ///
    /// # Errors
    /// What `GetThreadCpuTime` says; the capability is needed.
    pub fn thread_cpu_nanos(&self, thread: jobject) -> Result<u64> {
        let mut nanos: jlong = 0;
        call!(self, GetThreadCpuTime, thread, &mut nanos)?;
        Ok(u64::try_from(nanos).unwrap_or(0))
    }

    /// A number kept by the VM with the thread (or virtual thread); 0 until set.
    /// Null is the current thread.
    ///
    /// # Errors
    /// What `GetThreadLocalStorage` says.
    pub fn thread_local(&self, thread: jobject) -> Result<usize> {
        let mut value = ptr::null_mut();
        call!(self, GetThreadLocalStorage, thread, &mut value)?;
        Ok(value as usize)
    }

    /// Sets the number kept with a thread.
    ///
    /// # Errors
    /// What `SetThreadLocalStorage` says.
    pub fn set_thread_local(&self, thread: jobject, value: usize) -> Result<()> {
        call!(self, SetThreadLocalStorage, thread, value as *const _)
    }

    /// Runs `body` on a new daemon thread of the VM, which `thread` (a
    /// `java.lang.Thread` that was never started) stands for.
    ///
    /// # Errors
    /// What `RunAgentThread` says.
    pub fn run_agent_thread(&self, thread: jobject, body: AgentThreadBody) -> Result<()> {
        let argument = Box::into_raw(Box::new(body));
        let result = call!(
            self,
            RunAgentThread,
            thread,
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

/// What an agent thread runs.
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
