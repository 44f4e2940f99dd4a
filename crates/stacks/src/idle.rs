//! Stacks that wait for work: threads of pools without a task, event loops without an event, threads of the VM.
//!
//! On the wall clock they have most of the samples of a service, and say nothing of where its requests wait.

use crate::events::Clock;
use crate::table::{Frame, FrameIndex, Stacks};
use crate::weights::{Measure, Weights};

/// Methods that wait until there is work, and do nothing else: classes with the starts of the names of their methods.
const WAITERS: [(&str, &str); 28] = [
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
    ("java.util.concurrent.ForkJoinPool", "awaitWork"),
    ("java.lang.ref.Reference", "waitForReferencePendingList"),
    ("java.lang.ref.ReferenceQueue", "remove"),
    ("java.util.concurrent.DelayQueue", "take"),
    ("sun.nio.ch.SelectorImpl", "select"),
    ("sun.nio.ch.EPoll", "wait"),
    ("sun.nio.ch.EPollArrayWrapper", "epollWait"),
    ("sun.nio.ch.KQueue", "poll"),
    ("sun.nio.ch.WEPoll", "wait"),
    ("sun.nio.ch.EPollPort", "poll"),
    ("sun.nio.ch.EPollPoller", "poll"),
    ("sun.nio.ch.Net", "accept"),
    ("sun.nio.ch.ServerSocketChannelImpl", "accept"),
    ("sun.nio.ch.NioSocketImpl", "accept"),
    ("java.net.ServerSocket", "accept"),
    ("java.net.PlainSocketImpl", "socketAccept"),
    ("java.net.AbstractPlainSocketImpl", "accept"),
    ("io.netty.channel.epoll.Native", "epollWait"),
    ("io.netty.channel.epoll.EpollEventLoop", "epollWait"),
    ("io.netty.channel.kqueue.Native", "keventWait"),
    (
        "io.netty.util.concurrent.SingleThreadEventExecutor",
        "takeTask",
    ),
    (
        "org.eclipse.jetty.util.thread.QueuedThreadPool",
        "idleJobPoll",
    ),
    (
        "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner",
        "idleJobPoll",
    ),
    ("org.apache.tomcat.util.net.AprEndpoint$Poller", "poll"),
    (
        "kotlinx.coroutines.scheduling.CoroutineScheduler$Worker",
        "park",
    ),
    ("okhttp3.internal.concurrent.TaskRunner", "awaitTaskToRun"),
    ("jdk.internal.misc.Signal", "findSignal"),
];

/// Methods that wait for work themselves, and run it too: those that only waits stand between them and the end of the stack.
const LOOPS: [(&str, &str); 2] = [
    ("java.util.TimerThread", "mainLoop"),
    ("java.util.TimerThread", "run"),
];

fn is_one_of(frame: &Frame, methods: &[(&str, &str)]) -> bool {
    methods
        .iter()
        .any(|(class, method)| *frame.class_name == **class && frame.method.starts_with(method))
}

/// Returns true if a stack waits for work, innermost frame first, or has no frame of Java at all.
pub fn waits_for_work(stacks: &Stacks, frames: &[FrameIndex]) -> bool {
    let all = || frames.iter().map(|&frame| stacks.frame(frame));
    if all().all(|frame| frame.class_name.is_empty()) {
        return true;
    }
    if all().any(|frame| is_one_of(frame, &WAITERS)) {
        return true;
    }
    let waits = |frame: &&Frame| {
        frame.class_name.is_empty()
            || *frame.class_name == *"java.lang.Object" && frame.method.starts_with("wait")
    };
    all().find(|frame| !waits(frame)).is_some_and(|frame| {
        is_one_of(frame, &LOOPS) && all().any(|it| !it.class_name.is_empty() && waits(&it))
    })
}

/// Returns true if a measure counts threads that wait for work, too.
pub fn may_wait(measure: Measure, clock: Option<Clock>) -> bool {
    match measure {
        Measure::Samples => clock == Some(Clock::Wall),
        Measure::Wall | Measure::NativeSamples => true,
        _ => false,
    }
}

/// The costs of stacks that do something, or wait for something else than work, and the cost of the others. `None` if one of both is
/// nothing.
pub fn without_idle(stacks: &Stacks, weights: &Weights) -> Option<(Weights, u64)> {
    let mut busy = weights.clone();
    busy.rows
        .retain(|row| !waits_for_work(stacks, stacks.frames_of(row.trace)));
    let sum = |weights: &Weights| weights.rows.iter().map(|row| row.value).sum::<u64>();
    let hidden = sum(weights) - sum(&busy);
    busy.total = weights.total.saturating_sub(hidden);
    (hidden > 0 && busy.total > 0).then_some((busy, hidden))
}

#[cfg(test)]
mod tests {
    use hprof_format::ids::TraceSerial;
    use hprof_format::model::Line;

    use super::*;
    use crate::{Trace, Weight};

    #[test]
    fn only_waits_for_work_are_idle() {
        let park = "jdk.internal.misc.Unsafe.park";
        let stacks_of: [(&[&str], bool); 8] = [
            (
                &[
                    park,
                    "java.util.concurrent.LinkedBlockingQueue.take",
                    "java.util.concurrent.ThreadPoolExecutor.getTask",
                ],
                true,
            ),
            // A thread that waits for an answer.
            (
                &[
                    park,
                    "java.util.concurrent.LinkedBlockingQueue.take",
                    "acme.Orders.next",
                ],
                false,
            ),
            (
                &[
                    "java.lang.Object.wait",
                    "java.util.TimerThread.mainLoop",
                    "java.util.TimerThread.run",
                ],
                true,
            ),
            // The timer's task.
            (
                &[
                    "acme.Report.run",
                    "java.util.TimerThread.mainLoop",
                    "java.util.TimerThread.run",
                ],
                false,
            ),
            (&["java.util.TimerThread.mainLoop"], false),
            (
                &[
                    "sun.nio.ch.EPoll.wait",
                    "sun.nio.ch.SelectorImpl.select",
                    "acme.Server.loop",
                ],
                true,
            ),
            (&[".[waiting]"], true),
            (&[], true),
        ];
        let mut stacks = Stacks::default();
        let mut weights = Weights {
            measure: Measure::Wall,
            total: 85,
            rows: Vec::new(),
        };
        for (serial, (frames, is_idle)) in (1..).map(TraceSerial::new).zip(stacks_of) {
            let indices = frames.iter().map(|name| {
                let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
                stacks.intern(Frame {
                    class_name: class.into(),
                    method: method.into(),
                    source_file: None,
                    line: Line::Unknown,
                })
            });
            let (thread, indices) = (None, indices.collect());
            stacks.add(
                serial,
                Trace {
                    thread,
                    frames: indices,
                },
            );
            assert_eq!(
                waits_for_work(&stacks, stacks.frames_of(serial)),
                is_idle,
                "{frames:?}"
            );
            weights.rows.push(Weight {
                trace: serial,
                value: 10,
                class: None,
            });
        }
        let (busy, hidden) = without_idle(&stacks, &weights).unwrap();
        // Five below the cutoff are of no known stack.
        assert_eq!((hidden, busy.total, busy.rows.len()), (50, 35, 3));
        weights.rows.retain(|row| row.trace == TraceSerial::new(1));
        weights.total = 10;
        assert_eq!(without_idle(&stacks, &weights), None);
    }
}
