//! The program's threads are registered: serials, THREAD START records, timers.

use std::hash::{DefaultHasher, Hash, Hasher};

use hprof_format::ids::ThreadSerial;

use super::state::Profile;
use crate::cpu_samples::{Engine, sample_thread};
use crate::monitors::Host;
use crate::output::Record;
use crate::recording::{Context, LiveThread, NAMED};
use crate::vm::{Jni, NativeThread, Ref, ThreadReader};

/// The services of the profile for monitor=y.
pub(super) const HOST: Host = Host { serial, log };

/// The serial of a thread. A virtual thread gets one, and its THREAD START record,
/// when it is first asked for.
fn serial(jni: &Jni, thread: Ref<'_>) -> u32 {
    let Some(profile) = Profile::get() else {
        return 0;
    };
    let run = profile.run;
    // SAFETY: what the VM gives as a thread, or keeps as the owner of a lock, is a thread.
    if let Some(serial) = unsafe { run.serial_of_platform_thread(jni, thread) } {
        return serial;
    }
    let Ok(word) = run.jvmti.thread_local(Some(thread)) else {
        return 0;
    };
    // `virtual_threads` gives serials too, and names the threads later.
    let known = word as u32;
    if word & NAMED != 0 {
        return known;
    }
    let serial = match known {
        0 => run.threads.new_serial(),
        known => ThreadSerial::new(known),
    };
    let word = serial.get() as usize | NAMED;
    if run.jvmti.set_thread_local(Some(thread), word).is_err() {
        return 0;
    }
    send_start(profile, jni, thread, serial);
    serial.get()
}

fn log(record: Record) {
    if let Some(profile) = Profile::get() {
        profile.send(record);
    }
}

/// Sends the THREAD START record of a thread. False when it does not reach the profile.
pub(super) fn send_start(
    profile: &Profile,
    jni: &Jni,
    thread: Ref<'_>,
    serial: ThreadSerial,
) -> bool {
    let info = profile.run.thread_info(jni, thread);
    profile.send(Record::ThreadStart { serial, info })
}

/// Registers a thread, current or not, and starts its timer.
pub(super) fn register(
    profile: &'static Profile,
    jni: &Jni,
    thread: Ref<'_>,
    native: Option<NativeThread>,
) {
    let tid = match native {
        Some(native) => native.tid,
        // SAFETY: the call has no arguments and cannot fail.
        None => unsafe { libc::gettid() },
    };
    let vm_thread = native.map_or(0, |native| native.vm_thread);
    let Some(serial) = profile.run.threads.begin(tid, vm_thread) else {
        return;
    };
    // The end of the VM can stop this thread at any call into it: nothing names the thread before its record is sent.
    let info = profile.run.thread_info(jni, thread);
    let name_hash = hash_of(&info.name);
    let is_announced = profile.send(Record::ThreadStart { serial, info });
    let threads = &profile.run.threads;
    threads.set_ready(tid, is_announced, name_hash);
    sample_thread(
        profile.run,
        &profile.sampling,
        jni,
        thread,
        native,
        serial.get(),
    );
}

fn hash_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Tells the profile the name of a thread that ends, if that is not the one it started with.
pub(super) fn send_last_name(profile: &Profile, jni: &Jni, thread: Ref<'_>, known: &LiveThread) {
    let name = profile.run.thread_info(jni, thread).name;
    if known.announced && hash_of(&name) != known.name_hash {
        let serial = known.serial;
        profile.send(Record::ThreadName { serial, name });
    }
}

/// Tells the profile the names that the live platform threads have now.
pub(super) fn renew_names(cx: &mut Context<'_>) {
    let run = cx.run;
    let jni = &*cx.vm.jni.large_local_frame();
    let Ok(threads) = run.jvmti.all_threads(jni) else {
        return;
    };
    for thread in threads {
        let thread = thread.get();
        // SAFETY: the VM has listed the thread.
        let serial = unsafe { run.serial_of_platform_thread(jni, thread) };
        // The agent's own threads have none.
        if let Some(serial) = serial.filter(|&serial| serial != 0) {
            let serial = ThreadSerial::new(serial);
            let name = run.thread_info(jni, thread).name;
            cx.output.record(Record::ThreadName { serial, name });
        }
    }
}

/// Registers the threads that started before their event was enabled.
pub(super) fn register_running(profile: &'static Profile, jni: &Jni) {
    let run = profile.run;
    let jni = &*jni.large_local_frame();
    let Ok(threads) = run.jvmti.all_threads(jni) else {
        return;
    };
    let mut reader = run.thread_reader();
    for thread in threads {
        let thread = thread.get();
        if run.is_own(jni, thread) {
            continue;
        }
        // SAFETY: the VM has listed the thread.
        let read = |reader: &mut ThreadReader<'_>| unsafe { reader.read(jni, thread) };
        match reader.as_mut().and_then(read) {
            Some(native) => register(profile, jni, thread, Some(native)),
            None => register_by_name(profile, jni, thread),
        }
    }
}

/// Registers a thread that started before VMInit on a VM that is not HotSpot,
/// whose kernel thread is not known: the safepoint engine needs no more.
fn register_by_name(profile: &'static Profile, jni: &Jni, thread: Ref<'_>) {
    let run = profile.run;
    let known = run.jvmti.thread_local(Some(thread)).unwrap_or(0) != 0;
    if known
        || !matches!(profile.sampling.engine(), Engine::Safepoint)
        || run.java_threads.get().is_some()
    {
        return;
    }
    let serial = run.threads.new_serial();
    let _ = run
        .jvmti
        .set_thread_local(Some(thread), serial.get() as usize);
    send_start(profile, jni, thread, serial);
}
