//! Commands of the front-end that wait to be carried out, and how much time they may take.
//!
//! A front-end can send commands faster than they are carried out, by mistake or on purpose. Equal
//! ones that wait become one, which answers all. A command that reports may pass over others that
//! report, but over none that changes what is recorded.

use std::time::{Duration, Instant};

use hprof_wire::command::Command;
use hprof_wire::control::Request;
use hprof_wire::frames::Incoming;

use crate::recording::{Asked, Order};

/// The orders that wait.
#[derive(Debug, Default)]
pub(super) struct Orders {
    waiting: Vec<Order>,
    commands: usize,
}

/// How far back an equal command is looked for.
const LOOK_BACK: usize = 16;
/// As many orders are handed over at once.
const BATCH: usize = 32;
/// With more than this, no more are read.
const MAX_ORDERS: usize = 256;
const MAX_COMMANDS: usize = 1 << 16;

impl Orders {
    /// Takes a command in.
    pub(super) fn push(&mut self, incoming: Incoming) {
        let (serial, asked) = match incoming {
            Incoming::Command(frame) if frame.command == Command::Eof => return,
            Incoming::Command(frame) => (frame.serial, Ok(Asked::Command(frame.command))),
            Incoming::Request { serial, line } => {
                let request = line.parse().map_err(|error| format!("{error}"));
                (serial, request.and_then(allowed).map(Asked::Request))
            }
            Incoming::Bad { serial, error } => (serial, Err(error.to_string())),
        };
        self.commands += 1;
        let reports = only_reports(&asked);
        let equal = self
            .waiting
            .iter_mut()
            .rev()
            .take(if reports { LOOK_BACK } else { 1 })
            .take_while(|order| !reports || only_reports(&order.asked))
            .find(|order| order.asked == asked);
        match equal {
            Some(order) => order.serials.push(serial),
            None => self.waiting.push(Order {
                asked,
                serials: vec![serial],
            }),
        }
    }

    /// Returns true if enough wait already.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_ORDERS || self.commands >= MAX_COMMANDS
    }

    /// Takes the next ones out, in their order; none when there are none.
    pub(super) fn take(&mut self) -> Vec<Order> {
        let taken: Vec<Order> = self
            .waiting
            .drain(..self.waiting.len().min(BATCH))
            .collect();
        self.commands -= taken.iter().map(|order| order.serials.len()).sum::<usize>();
        taken
    }
}

/// A request that a front-end may make: a program that listens at a port must not choose options, nor end
/// the run.
fn allowed(request: Request) -> Result<Request, String> {
    match request {
        Request::Start(_) => {
            Err("options come from the program's command line or `hprof-rs attach` only".to_owned())
        }
        Request::Detach => Err("only `hprof-rs control PID detach` ends the run".to_owned()),
        request => Ok(request),
    }
}

/// Returns true if it changes nothing that a later command could show.
fn only_reports(asked: &Result<Asked, String>) -> bool {
    match asked {
        Ok(Asked::Command(command)) => match command {
            Command::ForceGc
            | Command::DumpHeap
            | Command::AllocSites { .. }
            | Command::HeapSummary
            | Command::DumpTraces
            | Command::CpuSamples { .. } => true,
            Command::Exit | Command::Control(_) | Command::Eof => false,
        },
        Ok(Asked::Request(request)) => {
            matches!(
                request,
                Request::Gc | Request::Status | Request::Metrics | Request::Object(_)
            )
        }
        Err(_) => true,
    }
}

/// Keeps commands from taking more than half of the time, once they have taken [`BURST`].
#[derive(Debug)]
pub(super) struct Pacer {
    debt: Duration,
    looked: Instant,
}

/// The time that commands may take without a pause.
const BURST: Duration = Duration::from_secs(10);

impl Pacer {
    /// Nothing has been carried out yet.
    pub(super) fn new() -> Self {
        Self {
            debt: Duration::ZERO,
            looked: Instant::now(),
        }
    }

    /// Commands have taken this long, up to now. Returns the pause that has to follow.
    pub(super) fn worked(&mut self, took: Duration) -> Duration {
        let passed = self.looked.elapsed().saturating_sub(took);
        self.looked = Instant::now();
        self.settle(passed, took)
    }

    /// Time without commands pays for time with them.
    fn settle(&mut self, idle: Duration, took: Duration) -> Duration {
        self.debt = self.debt.saturating_sub(idle) + took;
        self.debt.saturating_sub(BURST)
    }
}

#[cfg(test)]
mod tests {
    use hprof_wire::command::{Control, Frame};

    use super::*;

    fn orders(commands: &[Command]) -> Vec<(Command, Vec<u32>)> {
        let mut orders = Orders::default();
        for (serial, &command) in (0..).zip(commands) {
            orders.push(Incoming::Command(Frame { serial, command }));
        }
        let taken = orders.take().into_iter();
        taken
            .map(|order| match order.asked {
                Ok(Asked::Command(command)) => (command, order.serials),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn equal_commands_that_wait_become_one() {
        use Command::{DumpHeap, ForceGc};
        let clear = Command::Control(Control::ClearCpu);
        assert_eq!(
            orders(&[DumpHeap, ForceGc, DumpHeap, DumpHeap, ForceGc]),
            [(DumpHeap, vec![0, 2, 3]), (ForceGc, vec![1, 4])]
        );
        // None passes over one that changes something.
        assert_eq!(
            orders(&[DumpHeap, clear, DumpHeap, clear, clear, DumpHeap]),
            [
                (DumpHeap, vec![0]),
                (clear, vec![1]),
                (DumpHeap, vec![2]),
                (clear, vec![3, 4]),
                (DumpHeap, vec![5]),
            ]
        );
    }

    #[test]
    fn a_front_end_chooses_no_options_and_ends_no_run() {
        let mut orders = Orders::default();
        for (serial, line) in ["status", "start file=/x", "detach", "start", "nonsense"]
            .into_iter()
            .enumerate()
        {
            orders.push(Incoming::Request {
                serial: serial as u32,
                line: line.to_owned(),
            });
        }
        let asked: Vec<_> = orders.take().into_iter().map(|order| order.asked).collect();
        assert_eq!(asked[0], Ok(Asked::Request(Request::Status)));
        assert!(asked[1].is_err() && asked[2].is_err() && asked[4].is_err());
        assert_eq!(asked[3], Ok(Asked::Request(Request::Resume(Vec::new()))));
    }

    #[test]
    fn a_flood_is_bounded_and_keeps_its_order() {
        let mut orders = Orders::default();
        let mut pushed = 0;
        while !orders.is_full() {
            let command = Command::Control(Control::Depth(pushed as u16));
            let frame = Frame {
                serial: pushed,
                command,
            };
            orders.push(Incoming::Command(frame));
            pushed += 1;
        }
        assert_eq!(pushed as usize, MAX_ORDERS);
        let mut expected = 0;
        loop {
            let taken = orders.take();
            if taken.is_empty() {
                break;
            }
            assert!(taken.len() <= BATCH);
            for order in taken {
                assert_eq!(order.serials, [expected]);
                expected += 1;
            }
        }
        assert_eq!(expected, pushed);
        let mut same = 0;
        while !orders.is_full() {
            let command = Command::DumpHeap;
            orders.push(Incoming::Command(Frame { serial: 1, command }));
            same += 1;
        }
        assert_eq!(same, MAX_COMMANDS);
        assert_eq!(orders.take().len(), 1);
        assert!(!orders.is_full());
    }

    #[test]
    fn commands_get_half_of_the_time() {
        let mut pacer = Pacer::new();
        let second = Duration::from_secs(1);
        for _ in 0..10 {
            assert_eq!(pacer.settle(Duration::ZERO, second), Duration::ZERO);
        }
        for _ in 0..100 {
            let pause = pacer.settle(Duration::ZERO, second);
            assert_eq!(pause, second);
            assert_eq!(pacer.settle(pause, Duration::ZERO), Duration::ZERO);
        }
    }
}
