//! The slowest calls as strips of time, a letter for each state.

use std::fmt::Write as _;

use hprof_analysis::call_strips::{CallState, CallStrips, NoStrips, Strip};
use hprof_stacks::slow::SlowMethod;

use super::slow::time;
use crate::render::screen::{Style, printable};

/// The letters of a strip.
const CELLS: usize = 50;

/// Why there are no strips, and what to do.
pub(super) fn reason(why: NoStrips) -> &'static str {
    match why {
        NoStrips::NoTimes => {
            "no strips of the slowest calls: the profile has no samples with times; record cpu=wall with slow="
        }
        NoStrips::NoInterval => {
            "no strips of the slowest calls: the profile does not say how often samples were taken; record it anew"
        }
    }
}

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
    let legend: Vec<_> = CallState::ALL
        .into_iter()
        .filter(|state| used.contains(state))
        .map(|state| format!("{} {}", letter(state), words(state)))
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
        let words = words(it.state);
        match &it.method {
            Some(method) => format!("{words} {} ({})", time(it.wall_ns), printable(method)),
            None => format!("{words} {}", time(it.wall_ns)),
        }
    });
    states.collect::<Vec<_>>().join(", ")
}

const fn letter(state: CallState) -> char {
    match state {
        CallState::Running => '#',
        CallState::WaitsForCpu => 'c',
        CallState::WaitsForLock => 'L',
        CallState::InputOutput => 'i',
        CallState::Waits => 'w',
        CallState::Sleeps => 's',
        CallState::NativeWaits => 'n',
        CallState::Vm => 'v',
        CallState::NotRunning => '-',
        CallState::Unknown => '.',
    }
}

const fn words(state: CallState) -> &'static str {
    match state {
        CallState::Running => "running",
        CallState::WaitsForCpu => "waiting for a CPU",
        CallState::WaitsForLock => "waiting for a lock",
        CallState::InputOutput => "input or output",
        CallState::Waits => "waiting",
        CallState::Sleeps => "sleeping",
        CallState::NativeWaits => "native code that waits",
        CallState::Vm => "waiting in the VM",
        CallState::NotRunning => "not running",
        CallState::Unknown => "no sample",
    }
}
