//! Counts events of the kernel for one thread, by `perf_event_open`. The kernel sends the thread a signal after each N
//! events.
//!
//! An event is armed for one signal, and armed again by the handler when it is done, so that events of the handler do not
//! count and no two signals of a thread are on their way. Tracepoints and functions are not: Linux 6.18 stops them at their limit
//! for good (`perf_trace_add` leaves them stopped), so they send signals without end.
//!
//! Calls of a function are counted by a debug register of the CPU, which needs no rights and changes no code. Where all are taken, or a
//! virtual machine has none, the kernel patches the function (uprobes), which root may ask for.
//! The signal tells the descriptor, and a table its thread: the
//! kernel has no room for another value.
//!
//! The signal must be one of the old ones: a real-time signal that finds the queue full becomes SIGIO, whose default action
//! ends the process (`send_sigio_to_task` in the kernel's fcntl.c).

use std::ffi::CString;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use crate::options::{EventSampling, KernelEvent};
use crate::os::functions::{self, Function, NotFound};
use crate::os::kernel_stacks::{self, Buffer};
use crate::vm::Fault;

/// `struct perf_event_attr` in its second version, which all kernels since 2.6.33 take (`PERF_ATTR_SIZE_VER1`).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
}

const _: () = assert!(size_of::<Attributes>() == 72);

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const BREAKPOINT: u32 = 5;
/// `HW_BREAKPOINT_X` of hw_breakpoint.h: when an instruction is carried out.
const EXECUTED: u32 = 4;
/// The kind of events at functions that the kernel patches; it has no number of its own.
const PROBE_KIND: &str = "/sys/bus/event_source/devices/uprobe/type";

/// Bits of `flags`.
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_CALLERS_OUTSIDE_KERNEL: u64 = 1 << 22;
/// `PERF_SAMPLE_CALLCHAIN` of `sample_type`.
const CALLERS: u64 = 1 << 5;

const CLOSE_ON_EXEC: libc::c_ulong = 8;
/// `PERF_EVENT_IOC_ENABLE`, `_DISABLE`, `_REFRESH` and `_RESET`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const REFRESH: libc::c_ulong = 0x2402;
const RESET: libc::c_ulong = 0x2403;
/// Commands of fcntl.h.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const F_OWNER_TID: i32 = 0;

/// Signals from here on are real-time signals, for the kernel.
const FIRST_REAL_TIME: i32 = 32;
/// `si_code` of the signals of a descriptor.
const POLL_IN: i32 = 1;
const POLL_HUP: i32 = 6;

/// Descriptors below this have a place in the table.
const MAX_DESCRIPTORS: usize = 1 << 16;

/// The values of threads by descriptor, and one more; 0 if there is none.
static VALUES: [AtomicUsize; MAX_DESCRIPTORS] = [const { AtomicUsize::new(0) }; MAX_DESCRIPTORS];

/// The buffers of the kernel's frames by descriptor, and their threads; 0 if there is none.
static BUFFERS: [(AtomicUsize, AtomicI32); MAX_DESCRIPTORS] =
    [const { (AtomicUsize::new(0), AtomicI32::new(0)) }; MAX_DESCRIPTORS];

/// An event that this process may count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfEvent {
    what: Counted,
    period: u64,
    /// Events in the kernel count too.
    has_kernel: bool,
    /// Samples have the kernel's frames.
    stacks: KernelStacks,
    weight: u32,
}

/// Samples have frames of the kernel, or not and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelStacks {
    /// They are not wanted, or the event never happens in the kernel.
    None,
    /// The kernel hands them out.
    Given,
    /// The process may not see what happens in the kernel.
    Forbidden,
    /// The kernel maps no buffer for them; its error number.
    NoBuffer(i32),
}

/// An event as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Counted {
    /// By kind and number.
    Numbered { kind: u32, config: u64 },
    /// An instruction at an address is carried out.
    Breakpoint { address: u64 },
    /// The same, by the place in a file, with the number of this kind of events.
    Probe {
        kind: u32,
        file: CString,
        offset: u64,
    },
}

/// Why an event cannot be counted.
#[derive(Debug)]
pub struct Refused {
    event: KernelEvent,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// The kernel's answer.
    Kernel(io::Error),
    /// There is no such function.
    Function(NotFound),
}

impl PerfEvent {
    /// Finds out whether the kernel counts an event for the current thread, and hands out its own frames if they are wanted.
    ///
    /// # Errors
    /// [`Refused`], which says why and what to do.
    pub fn probe(
        sampling: &EventSampling,
        interval: Duration,
        wants_stacks: bool,
    ) -> Result<Self, Refused> {
        let refused_for = |why| Refused {
            event: sampling.event.clone(),
            why,
        };
        let refused = |error| refused_for(Why::Kernel(error));
        let (first, instead) = match &sampling.event {
            KernelEvent::Function(name) => {
                let found = functions::find(name).map_err(|why| refused_for(Why::Function(why)))?;
                let address = found.address as u64;
                (Counted::Breakpoint { address }, probe_of(found))
            }
            event => (numbers(event).map_err(refused)?, None),
        };
        let period = match sampling.event.is_clock() {
            true => u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
            false => u64::from(sampling.every),
        };
        let weight = match sampling.event {
            KernelEvent::CpuClock | KernelEvent::TaskClock => 1,
            // One of the switches is that of the signal.
            KernelEvent::ContextSwitches => sampling.every.saturating_sub(1),
            _ => sampling.every,
        };
        let of = |what: &Counted, has_kernel| Self {
            what: what.clone(),
            period: period.max(1),
            has_kernel,
            stacks: match what {
                // Only in code of the process.
                Counted::Breakpoint { .. } | Counted::Probe { .. } => KernelStacks::None,
                Counted::Numbered { .. } if !wants_stacks => KernelStacks::None,
                Counted::Numbered { .. } if has_kernel => KernelStacks::Given,
                Counted::Numbered { .. } => KernelStacks::Forbidden,
            },
            weight: weight.max(1),
        };
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        let try_it = |event: Self| event.open(tid).map(|file| (event, file));
        let may_leave_kernel_out = !is_of_kernel(&sampling.event);
        let try_both = |what: &Counted| {
            // The kernel lets only root set a breakpoint that it may hit itself.
            let has_kernel = !matches!(what, Counted::Breakpoint { .. });
            try_it(of(what, has_kernel)).or_else(|error| match error.raw_os_error() {
                // An event of the kernel alone has no other part.
                Some(libc::EACCES | libc::EPERM) if has_kernel && may_leave_kernel_out => {
                    try_it(of(what, false))
                }
                _ => Err(error),
            })
        };
        let (mut event, file) = try_both(&first)
            .or_else(|error| match &instead {
                Some(instead) => try_both(instead).map_err(|_| error),
                None => Err(error),
            })
            .map_err(refused)?;
        if event.stacks == KernelStacks::Given {
            match Buffer::map(file) {
                // SAFETY: nothing else has the buffer.
                Ok(buffer) => unsafe { buffer.unmap() },
                Err(error) => {
                    event.stacks = KernelStacks::NoBuffer(error.raw_os_error().unwrap_or(0));
                }
            }
        }
        // SAFETY: the descriptor has just been opened, and nothing else has it.
        unsafe { libc::close(file) };
        Ok(event)
    }

    /// Returns whether samples have frames of the kernel.
    pub fn stacks(&self) -> KernelStacks {
        self.stacks
    }

    /// Returns true if the handler is to [`arm`] the event again.
    pub fn is_armed(&self) -> bool {
        matches!(self.what, Counted::Numbered { kind, .. } if kind != TRACEPOINT)
    }

    /// The events that a signal counts.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns true if events in the kernel count too.
    pub fn has_kernel(&self) -> bool {
        self.has_kernel
    }

    /// Counts the event for a thread of this process, whose signals stand for `value`. Returns the descriptor, which is to be
    /// [`close`]d.
    ///
    /// # Errors
    /// The kernel's error: `ESRCH` if the thread has ended, `EMFILE` if the process has too many open files.
    pub fn start(&self, tid: i32, signal: i32, value: usize) -> io::Result<i32> {
        if Fault::NoTimers.is_wanted() {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let file = self.open(tid)?;
        let owner = [F_OWNER_TID, tid];
        // SAFETY: the descriptor is ours; the kernel reads the owner, a local of two ints as `f_owner_ex` is.
        let is_set = unsafe {
            libc::fcntl(file, F_SETSIG, signal) != -1
                && libc::fcntl(file, F_SETOWN_EX, owner.as_ptr()) != -1
                && libc::fcntl(file, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) != -1
        };
        let error = io::Error::last_os_error();
        let place = usize::try_from(file).ok().and_then(|it| VALUES.get(it));
        match place {
            Some(place) if is_set => {
                if self.stacks == KernelStacks::Given {
                    map_buffer(file, tid);
                }
                // Before the first signal.
                place.store(value.wrapping_add(1), Ordering::Release);
                match self.is_armed() {
                    true => arm(file),
                    // SAFETY: the call takes numbers only; the descriptor is ours.
                    false => unsafe {
                        libc::ioctl(file, ENABLE as _, 0);
                    },
                }
                Ok(file)
            }
            _ => {
                // SAFETY: as above.
                unsafe { libc::close(file) };
                Err(match is_set {
                    true => io::Error::from_raw_os_error(libc::EMFILE),
                    false => error,
                })
            }
        }
    }

    fn open(&self, tid: i32) -> io::Result<i32> {
        let kernel = if self.has_kernel { 0 } else { EXCLUDE_KERNEL };
        let (callers, no_others) = match self.stacks {
            KernelStacks::Given => (CALLERS, EXCLUDE_CALLERS_OUTSIDE_KERNEL),
            _ => (0, 0),
        };
        let mut attributes = Attributes {
            size: size_of::<Attributes>() as u32,
            period: self.period,
            sample_type: callers,
            flags: DISABLED | EXCLUDE_HYPERVISOR | kernel | no_others,
            wakeup_events: 1,
            ..Attributes::default()
        };
        match &self.what {
            &Counted::Numbered { kind, config } => {
                attributes.kind = kind;
                attributes.config = config;
            }
            &Counted::Breakpoint { address } => {
                attributes.kind = BREAKPOINT;
                attributes.breakpoint = EXECUTED;
                attributes.config1 = address;
                // The length that the kernel wants of instructions (`sizeof(long)`).
                attributes.config2 = size_of::<libc::c_long>() as u64;
            }
            Counted::Probe { kind, file, offset } => {
                attributes.kind = *kind;
                attributes.config1 = file.as_ptr() as u64;
                attributes.config2 = *offset;
            }
        }
        // SAFETY: the kernel reads the attributes, a local of this size, and the path of a probe, which `self` holds.
        let file = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                tid,
                -1,
                -1,
                CLOSE_ON_EXEC,
            )
        };
        match i32::try_from(file) {
            Ok(file @ 0..) => Ok(file),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The descriptor of a signal and the value of its thread, by the members of `siginfo_t`: its code, and the word at the
/// place of `si_fd`. `None` if no event sent the signal. Safe in a signal handler.
pub fn sender(code: i32, word: usize) -> Option<(i32, usize)> {
    if code != POLL_IN && code != POLL_HUP {
        return None;
    }
    // The lower half of the word, on the processors that the agent runs on.
    let file = i32::try_from(word & 0xffff_ffff).ok()?;
    let value = VALUES
        .get(usize::try_from(file).ok()?)?
        .load(Ordering::Acquire);
    (value != 0).then(|| (file, value.wrapping_sub(1)))
}

/// Hands out the kernel's frames of the current thread's newest sample, the innermost first, until `receive` returns false. Safe in a
/// signal handler of that thread, whose signal told the descriptor.
pub fn kernel_frames(file: i32, receive: impl FnMut(usize) -> bool) {
    let place = usize::try_from(file).ok().and_then(|it| BUFFERS.get(it));
    let buffer = place.and_then(|(buffer, _)| Buffer::from_number(buffer.load(Ordering::Acquire)));
    if let Some(buffer) = buffer {
        // SAFETY: the event is the current thread's, so that no other thread reads its buffer; `close` unmaps it on this
        // thread, or once no handler runs.
        unsafe { buffer.newest(receive) };
    }
}

/// Maps the buffer of a thread's event. Without it its samples have no frames of the kernel.
fn map_buffer(file: i32, tid: i32) {
    let place = usize::try_from(file).ok().and_then(|it| BUFFERS.get(it));
    match (place, Buffer::map(file)) {
        (Some((buffer, owner)), Ok(mapped)) => {
            owner.store(tid, Ordering::Relaxed);
            buffer.store(mapped.as_number(), Ordering::Release);
        }
        // The caller has found the place of the descriptor in a table of this size.
        (None, _) | (_, Err(_)) => kernel_stacks::note_refused(),
    }
}

/// Takes the buffer of an event that has ended.
fn release_buffer(place: usize) {
    let Some((buffer, owner)) = BUFFERS.get(place) else {
        return;
    };
    let Some(buffer) = Buffer::from_number(buffer.swap(0, Ordering::AcqRel)) else {
        return;
    };
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::gettid() };
    match owner.load(Ordering::Relaxed) == own {
        // SAFETY: only handlers of this thread read it; one that interrupts this call has no way to it any more.
        true => unsafe { buffer.unmap() },
        false => buffer.retire(),
    }
}

/// Has an event send its next signal, after its period from now on. Safe in a signal handler, except that it may change `errno`.
pub fn arm(file: i32) {
    // SAFETY: the calls take numbers only; on a descriptor of another kind they fail.
    unsafe {
        libc::ioctl(file, RESET as _, 0);
        libc::ioctl(file, REFRESH as _, 1);
    }
}

/// Ends an event. No signal of it is sent from now on: a child that a program has just forked has the descriptor too, so that to close
/// it alone would not end the event.
pub fn close(file: i32) {
    let place = usize::try_from(file).ok().and_then(|it| VALUES.get(it));
    // Before the number can be another's.
    let was = place.map_or(0, |place| place.swap(0, Ordering::AcqRel));
    if was != 0 {
        // SAFETY: the descriptor is that of an event which nothing else has closed; the calls take numbers only. To take the
        // flag away waits for a signal that is being sent (`fasync_remove_entry` in the kernel's fcntl.c).
        unsafe {
            libc::ioctl(file, DISABLE as _, 0);
            libc::fcntl(file, libc::F_SETFL, libc::O_NONBLOCK);
        }
        // Before the number can be another's.
        if let Ok(place) = usize::try_from(file) {
            release_buffer(place);
        }
        // SAFETY: as above.
        unsafe { libc::close(file) };
    }
}

/// Returns true if signals of this number are never turned into others.
pub fn takes(signal: i32) -> bool {
    signal < FIRST_REAL_TIME
}

/// Returns true if all of the event happens in the kernel.
fn is_of_kernel(event: &KernelEvent) -> bool {
    matches!(
        event,
        KernelEvent::ContextSwitches | KernelEvent::CpuMigrations | KernelEvent::Tracepoint { .. }
    )
}

/// Type and number of an event, by the kernel's perf_event.h.
fn numbers(event: &KernelEvent) -> io::Result<Counted> {
    let (kind, config) = match event {
        KernelEvent::CpuClock => (SOFTWARE, 0),
        KernelEvent::TaskClock => (SOFTWARE, 1),
        KernelEvent::PageFaults => (SOFTWARE, 2),
        KernelEvent::ContextSwitches => (SOFTWARE, 3),
        KernelEvent::CpuMigrations => (SOFTWARE, 4),
        KernelEvent::MinorFaults => (SOFTWARE, 5),
        KernelEvent::MajorFaults => (SOFTWARE, 6),
        KernelEvent::Cycles => (HARDWARE, 0),
        KernelEvent::Instructions => (HARDWARE, 1),
        KernelEvent::CacheReferences => (HARDWARE, 2),
        KernelEvent::CacheMisses => (HARDWARE, 3),
        KernelEvent::Branches => (HARDWARE, 4),
        KernelEvent::BranchMisses => (HARDWARE, 5),
        KernelEvent::Tracepoint { group, name } => (TRACEPOINT, tracepoint(group, name)?),
        // It has a place instead.
        KernelEvent::Function(_) => return Err(io::ErrorKind::Unsupported.into()),
    };
    Ok(Counted::Numbered { kind, config })
}

/// The probe of a function, where the kernel has them.
fn probe_of(found: Function) -> Option<Counted> {
    let kind = std::fs::read_to_string(PROBE_KIND).ok()?;
    Some(Counted::Probe {
        kind: kind.trim().parse().ok()?,
        file: CString::new(found.file).ok()?,
        offset: found.offset,
    })
}

/// The number of a tracepoint.
fn tracepoint(group: &str, name: &str) -> io::Result<u64> {
    let read = |root: &str| std::fs::read_to_string(format!("{root}/events/{group}/{name}/id"));
    let text = read("/sys/kernel/tracing").or_else(|error| {
        let older = read("/sys/kernel/debug/tracing");
        // The first place is that of all kernels of today.
        older.map_err(|_| error)
    })?;
    let number = text.trim().parse();
    number.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, why } = self;
        let error = match why {
            Why::Kernel(error) => error,
            Why::Function(why) => return write!(f, "event={event}: {why}"),
        };
        let is_function = matches!(event, KernelEvent::Function(_));
        let is_tracepoint = matches!(event, KernelEvent::Tracepoint { .. });
        match error.raw_os_error() {
            Some(libc::ENOENT) if is_tracepoint => write!(
                f,
                "event={event}: there is no such tracepoint, or the tracing file system is not mounted; `perf list tracepoint` \
                 lists those of this kernel"
            ),
            Some(libc::EACCES | libc::EPERM) if is_tracepoint => write!(
                f,
                "event={event}: tracepoints are for root, and for processes with CAP_PERFMON that can read \
                 /sys/kernel/tracing ({error})"
            ),
            Some(libc::EACCES | libc::EPERM) => {
                let path = "/proc/sys/kernel/perf_event_paranoid";
                let level = std::fs::read_to_string(path).unwrap_or_default();
                let wanted = if is_of_kernel(event) { 1 } else { 2 };
                write!(
                    f,
                    "event={event}: the kernel lets this process count no such event (kernel.perf_event_paranoid is {}): set it \
                     to {wanted}, or give the process CAP_PERFMON; the seccomp profile of a container may forbid \
                     perf_event_open, too",
                    match level.trim() {
                        "" => "unknown",
                        level => level,
                    }
                )
            }
            Some(libc::ENOSPC) if is_function => write!(
                f,
                "event={event}: all debug registers of the CPU are taken, by a debugger or another profiler, and only root may \
                 have the kernel patch a function instead"
            ),
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) if is_function => write!(
                f,
                "event={event}: this machine has no debug registers, as some virtual machines, and only root may have the kernel \
                 patch a function instead"
            ),
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => write!(
                f,
                "event={event}: this machine has no counter for it, as most virtual machines; event=cpu-clock and \
                 event=page-faults need none"
            ),
            Some(libc::ENOSYS) => write!(
                f,
                "event={event}: this kernel has no perf events; use cpu=samples"
            ),
            Some(libc::EMFILE | libc::ENFILE) => write!(
                f,
                "event={event}: there are too many open files, and each thread needs one; raise the limit (ulimit -n)"
            ),
            _ => write!(
                f,
                "event={event}: the kernel does not count it: {error}; use cpu=samples"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_descriptors_of_events_are_senders() {
        assert_eq!(sender(libc::SI_TIMER, 3), None);
        assert_eq!(sender(POLL_HUP, 60_000), None);
        assert_eq!(sender(POLL_HUP, usize::MAX), None);
        assert!(takes(libc::SIGSTKFLT) && !takes(libc::SIGRTMIN()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs the kernel")]
    fn a_clock_is_counted_or_refused_with_a_remedy() {
        let sampling = |event: &str| EventSampling {
            event: event.parse().unwrap(),
            every: 1,
        };
        let interval = Duration::from_millis(10);
        match PerfEvent::probe(&sampling("task-clock"), interval, false) {
            Ok(event) => {
                // SAFETY: the call has no arguments and cannot fail.
                let tid = unsafe { libc::gettid() };
                let file = event.start(tid, libc::SIGSTKFLT, 77).unwrap();
                assert_eq!(sender(POLL_IN, file as usize), Some((file, 77)));
                close(file);
                assert_eq!(sender(POLL_IN, file as usize), None);
            }
            Err(refused) => assert!(
                refused.to_string().contains("event=task-clock: "),
                "{refused}"
            ),
        }
        let refused =
            PerfEvent::probe(&sampling("no_group:no_point"), interval, false).unwrap_err();
        assert!(refused.to_string().contains("tracepoint"), "{refused}");
    }
}
