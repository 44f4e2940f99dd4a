//! The slowest calls as strips of time, a letter for each state.

use std::fmt::Write as _;

use hprof_stacks::ThreadState;
use hprof_stacks::call_strips::{CallStrips, Strip};
use hprof_stacks::slow::SlowMethod;
use hprof_stacks::slow_remarks::time;

use crate::render::screen::{Style, printable};

/// The letters of a strip.
const CELLS: usize = 50;

/// The strips of the slowest calls of a method, with a legend.
pub(super) fn text(
    style: Style,
    strips: &CallStrips<'_>,
    method: &SlowMethod,
    most: usize,
) -> String {
    let mut text = String::new();
    let mut used = Vec::new();
    let mut without = 0;
    for (number, call) in (1..).zip(method.slowest.iter().take(most)) {
        let Some(strip) = strips.strip(call) else {
            without += 1;
            continue;
        };
        let cells = strip.cells(CELLS);
        let letters: String = cells.iter().map(|state| letter(*state)).collect();
        used.extend(cells);
        let _ = writeln!(text, "{number:>2}  |{letters}|  {}", times(&strip));
    }
    if without > 0 {
        let _ = writeln!(
            text,
            "no sample was taken within {without} of these calls: they are short, or of virtual threads without thread=y"
        );
    }
    if used.is_empty() {
        return text;
    }
    let legend: Vec<_> = ThreadState::ALL
        .into_iter()
        .filter(|state| used.contains(state))
        .map(|state| format!("{} {}", letter(state), state.words()))
        .collect();
    let head = style.dim(&format!("Where their time went: {}", legend.join(", ")));
    let only = match strips.is_wall() {
        true => "",
        false => "samples of CPU time do not say why calls wait; cpu=wall does\n",
    };
    format!("{head}\n{text}{only}")
}

/// The states of a call, those first that took longest.
fn times(strip: &Strip) -> String {
    let states = strip.states.iter().map(|it| {
        let words = it.state.words();
        match &it.method {
            Some(method) => format!("{words} {} ({})", time(it.wall_ns), printable(method)),
            None => format!("{words} {}", time(it.wall_ns)),
        }
    });
    states.collect::<Vec<_>>().join(", ")
}

const fn letter(state: ThreadState) -> char {
    match state {
        ThreadState::Running => '#',
        ThreadState::WaitsForCpu => 'c',
        ThreadState::WaitsForLock => 'L',
        ThreadState::InputOutput => 'i',
        ThreadState::Waits => 'w',
        ThreadState::Sleeps => 's',
        ThreadState::NativeWaits => 'n',
        ThreadState::Vm => 'v',
        ThreadState::Collection => 'G',
        ThreadState::NotRunning => '-',
        ThreadState::Unknown => '.',
    }
}
