//! hprof-rs: the HPROF profiler as a JVMTI agent, `libhprof_rs.so`.
//!
//! The VM enters through the functions here; what they start is in
//! `profile`. A byte's way: a VM event or signal, the profile thread, the
//! format crate's writer, the sink.
//!
//! The library unwinds on panics and stops them at the boundary to the VM
//! (`vm::guard`): `panic = "abort"` would end the program under profile.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod call_times;
mod control;
mod cpu_samples;
mod heap_dump;
mod heap_sites;
mod intern;
mod lock_fields;
mod monitors;
mod names;
mod native_calls;
mod native_locks;
mod native_memory;
mod objects;
mod os;
mod output;
mod profile;
mod recording;
mod report;
mod sink;
mod slow_calls;

use hprof_options as options;
use hprof_vm::{self as vm, hash};
use std::ffi::{CStr, c_char, c_void};
use std::io::Write;

use jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};

use options::ExitKind;
use profile::Refusal;

/// Start-up with `-agentpath`, `-agentlib` or `-Xrun`.
///
/// # Safety
/// Called by the VM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    vm::guard(JNI_ERR, || {
        vm::report_panics_to(report_panic);
        os::descriptors::occupy_standard();
        let options = if options.is_null() {
            String::new()
        } else {
            // SAFETY: the VM passes a NUL-terminated string.
            unsafe { CStr::from_ptr(options) }
                .to_string_lossy()
                .into_owned()
        };
        // SAFETY: the VM passes itself.
        match unsafe { profile::load(vm, &options, profile::serve) } {
            Ok(()) => JNI_OK,
            Err(refusal) => end_process(&refusal),
        }
    })
}

/// Loading into a running VM, or being loaded there once more, with other options.
///
/// # Safety
/// Called by the VM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    vm::guard(JNI_ERR, || {
        vm::report_panics_to(report_panic);
        vm::pin_library();
        os::descriptors::occupy_standard();
        let options = if options.is_null() {
            String::new()
        } else {
            // SAFETY: the VM passes a NUL-terminated string.
            unsafe { CStr::from_ptr(options) }
                .to_string_lossy()
                .into_owned()
        };
        // SAFETY: the VM passes itself.
        match attach(unsafe { vm::VmHandle::new(vm) }, &options) {
            Ok(()) => JNI_OK,
            Err(profile::NotBegun::Reason(reason)) => {
                report::error(&reason);
                JNI_ERR
            }
            Err(lines) => {
                report::raw(&format!("{lines}\n"));
                JNI_ERR
            }
        }
    })
}

fn attach(vm: vm::VmHandle, options: &str) -> Result<(), profile::NotBegun> {
    // SAFETY: the handle's VM, and this thread's environment, the only one that is used here.
    let runs = unsafe { vm.with_current(|jni| profile::begin(vm.as_raw(), jni, options)) }
        .ok_or_else(|| "the VM does not know this thread".to_owned())??;
    match control::open(vm, profile::serve) {
        // A user who attaches without a mode wants the socket.
        Err(text) if !runs => Err(text.into()),
        Err(text) => {
            report::note(&text);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn report_panic(message: &str) {
    report::error(&format!(
        "internal error, this event is left out: {message}"
    ));
}

/// The VM has gone; all was written at its death.
///
/// # Safety
/// Called by the VM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnUnload(_vm: *mut JavaVM) {}

/// Ends the process as the original does on `help` and on errors at start-up,
/// without a word from the VM.
fn end_process(refusal: &Refusal) -> ! {
    let exit = match refusal {
        Refusal::Help(text) => {
            let mut stdout = std::io::stdout();
            let _ = stdout.write_all(text.as_bytes());
            let _ = stdout.flush();
            ExitKind::Status(0)
        }
        Refusal::Failure(failure) => {
            for line in &failure.lines {
                report::raw(&format!("{line}\n"));
            }
            failure.exit
        }
    };
    report::end_process(exit)
}
