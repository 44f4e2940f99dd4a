//! The limit for what transformers of other agents may add to the start of the JVM.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::os::native_thread;
use crate::report;

/// Longest time for the classes of the start beside agents of others, which may transform each of them.
const MAX_START: Duration = Duration::from_secs(30);
/// Classes of one request meanwhile: few enough that the time is looked at in between.
pub const STEP: usize = 32;

/// Looks at the time while classes that are loaded get hooks, and reports a start that stays in the code of another agent,
/// which nothing can end.
pub struct StartWatch {
    began: Instant,
    /// The thread that watches ends when this does.
    _start: Option<mpsc::Sender<()>>,
}

impl StartWatch {
    /// Begins to watch for a mode, by its option; without a thread for it, a start that stays is not reported.
    pub fn begin(mode: &'static str) -> Self {
        let (start, has_ended) = mpsc::channel::<()>();
        let watch = move || {
            if has_ended.recv_timeout(MAX_START) == Err(RecvTimeoutError::Timeout) {
                report::note(&format!(
                    "the JVM has not started after {} s: {mode} waits for another agent, which transforms the classes of \
                     the start; if it never starts, leave out that agent or {mode}",
                    MAX_START.as_secs()
                ));
            }
        };
        Self {
            began: Instant::now(),
            _start: native_thread::spawn("hprof start", watch)
                .ok()
                .map(|_| start),
        }
    }

    /// True when the time is over. Reports it then: `what` of the `left` classes is not counted.
    pub fn gives_up(&self, what: &str, left: usize) -> bool {
        let is_over = self.began.elapsed() >= MAX_START;
        if is_over {
            report::error(&format!(
                "another agent takes over {} s for the classes of the JVM's start: {what} of {left} classes that are loaded \
                 are not counted",
                MAX_START.as_secs()
            ));
        }
        is_over
    }
}
