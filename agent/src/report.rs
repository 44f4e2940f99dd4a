//! Lines on stderr. They must never fail: the program may have closed it.

use std::io::Write;
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::options::error::{error_line, fatal_end};
use crate::options::{ErrorPolicy, ExitKind};

/// True if the last text did not end its line, as in the middle of a dump.
static LINE_OPEN: AtomicBool = AtomicBool::new(false);

/// The error policy of `errorexit` and `coredump`, once the options are known.
static POLICY: OnceLock<ErrorPolicy> = OnceLock::new();

/// Makes errors from now on as fatal as the user wants them.
pub fn set_policy(policy: ErrorPolicy) {
    let _ = POLICY.set(policy);
}

/// Prints an error in the shape that scripts look for:
/// `HPROF ERROR: <text> [<source file>:<line>]`. With `errorexit=y`, ends the
/// process.
#[track_caller]
pub fn error(text: &str) {
    line(&error_line(text, Location::caller()));
    if let Some(policy) = POLICY.get().filter(|policy| policy.fatal) {
        let (lines, exit) = fatal_end(*policy);
        for text in lines {
            line(text);
        }
        end_process(exit);
    }
}

/// Ends the process at once, without a word from the VM and without the exit
/// handlers of a VM that may be half made.
pub fn end_process(exit: ExitKind) -> ! {
    match exit {
        // SAFETY: ends the process, and needs nothing for it.
        ExitKind::Status(status) => unsafe { libc::_exit(status) },
        ExitKind::Abort => {
            // SAFETY: restores the default action, so that abort leaves a core.
            unsafe { libc::signal(libc::SIGABRT, libc::SIG_DFL) };
            std::process::abort()
        }
    }
}

/// Prints a remark that is no error.
pub fn note(text: &str) {
    line(&format!("HPROF: {text}"));
}

/// Prints text as it is; it need not be a whole line.
pub fn raw(text: &str) {
    LINE_OPEN.store(!text.ends_with('\n'), Ordering::Relaxed);
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Ends a line that [`raw`] has left open.
pub fn end_line() {
    if LINE_OPEN.load(Ordering::Relaxed) {
        raw("\n");
    }
}

fn line(text: &str) {
    let start = if LINE_OPEN.load(Ordering::Relaxed) {
        "\n"
    } else {
        ""
    };
    raw(&format!("{start}{text}\n"));
}
