//! Requests of the control socket, on any thread: what needs no run, and what the profile thread is
//! asked for.

use hprof_wire::control::{Reply, Request};

use super::session;
use super::state::{Profile, is_running};
use crate::control;
use crate::objects;
use crate::vm::VmHandle;

/// Carries a request out and says what came of it.
pub fn serve(request: Request, vm: VmHandle) -> Reply {
    let running = Profile::get().filter(|_| is_running());
    match (request, running) {
        (Request::Start(options), _) => start(&options, vm),
        (Request::Detach, running) => {
            let reply = running.map_or_else(Reply::default, Profile::detach);
            if reply.error.is_none() {
                objects::forget();
                control::close();
            }
            reply
        }
        (request, Some(profile)) => profile.request(request),
        (Request::Object(query), None) => {
            // SAFETY: the handle's VM, and this thread's environment, the only one that is used here.
            let asked = unsafe { vm.attached(|jni| objects::answer(&query, jni)) };
            asked.unwrap_or_else(|code| {
                Reply::error(format!("the VM takes no thread of the agent ({code})"))
            })
        }
        (Request::Status, None) => {
            let mut reply = Reply::default();
            reply.push("state", "idle");
            reply.push("version", env!("CARGO_PKG_VERSION"));
            reply.push("pid", std::process::id());
            reply
        }
        (Request::Metrics, None) => Reply::default(),
        (_, None) => Reply::error("nothing is profiled; begin with 'start cpu=samples'"),
    }
}

fn start(options: &str, vm: VmHandle) -> Reply {
    // SAFETY: the handle's VM, and this thread's environment, the only one that is used here.
    let begun = unsafe { vm.attached(|jni| session::begin(vm.as_raw(), jni, options)) };
    match begun {
        Ok(Ok(true)) => {
            Profile::get().map_or_else(Reply::default, |profile| profile.request(Request::Status))
        }
        Ok(Ok(false)) => Reply::error(
            "these options name no mode; there are cpu=samples, cpu=times, heap=sites, heap=dump, \
             monitor=y, native=512k, nativelock=y",
        ),
        Ok(Err(refused)) => Reply::error(refused.to_string()),
        Err(code) => Reply::error(format!("the VM takes no thread of the agent ({code})")),
    }
}
