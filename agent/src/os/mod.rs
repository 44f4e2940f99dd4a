//! Services of the operating system: timers on threads' CPU clocks, signals, random
//! numbers, threads of its own, the wall clock, holes in files, functions in ELF files, the numbers of
//! standard input, output and error.
//!
//! Nothing here knows what is profiled. [`timer`], [`signals`] and [`random`] say which of their
//! functions signal handlers may call.

pub mod clock;
pub mod copies;
pub mod descriptors;
pub mod elf;
pub mod functions;
pub mod holes;
pub mod imports;
pub mod kernel_stacks;
pub mod maps;
pub mod native_thread;
pub mod perf_event;
pub mod random;
pub mod signals;
pub mod task;
pub mod timer;

/// Why no signals from timers on CPU clocks can be had.
#[derive(Debug, thiserror::Error)]
pub enum TimerError {
    /// No signal can be had.
    #[error(transparent)]
    Signal(#[from] signals::SignalError),
    /// The kernel refuses CPU-time timers.
    #[error("the kernel refuses thread CPU timers: {0}")]
    Timer(std::io::Error),
}
