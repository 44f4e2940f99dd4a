//! The one interface of all modes.

use std::time::Duration;

use hprof_wire::control::{Mode, Reply};

use super::context::Context;
use crate::vm::StillInside;

/// Records one mode.
///
/// Its methods run on the profile thread, but for [`start`](Self::start), which the thread of VMInit
/// runs before it hands the recorder over. What callbacks and signal handlers record into belongs to
/// the recorder's room and is shared with it.
pub trait Recorder: Send {
    /// How requests call the mode.
    fn mode(&self) -> Mode;

    /// Returns true if the run has this mode, recording or stopped.
    fn is_on(&self) -> bool;

    /// Begins to record; the VM is up. What fails is reported and left out.
    fn start(&mut self, cx: &mut Context<'_>);

    /// When the next [`tick`](Self::tick) must be, if that matters to the mode.
    fn due_in(&self) -> Option<Duration> {
        None
    }

    /// Does what is due: takes over what was recorded, and looks names up while classes are loaded.
    fn tick(&mut self, cx: &mut Context<'_>) -> Activity;

    /// Returns true if a dump would show anything of the program. Modes that always do need not count.
    fn has_counts(&self) -> bool {
        true
    }

    /// Why the mode has counted nothing in the whole run although there was something to count, asked after the last dump.
    fn nothing(&self, _cx: &Context<'_>) -> Option<Nothing> {
        None
    }

    /// Writes the mode's part of a dump. It is called once more when a front-end was lost meanwhile
    /// and all has to go to another output. `is_last` says that nothing will be recorded after it.
    ///
    /// # Errors
    /// [`Incomplete`]: the part lacks something, which is reported.
    fn dump(&mut self, cx: &mut Context<'_>, is_last: bool) -> Result<(), Incomplete>;

    /// The dump has ended. If it was written, new counts begin.
    fn end_dump(&mut self, cx: &mut Context<'_>, is_written: bool);

    /// Sets all counts to zero.
    fn reset(&mut self, cx: &mut Context<'_>);

    /// Succeeds if a request can ask for [`stop`](Self::stop) by name.
    ///
    /// # Errors
    /// A sentence that says why not, and what else there is.
    fn can_stop(&self) -> Result<(), String> {
        Ok(())
    }

    /// Records no more until [`resume`](Self::resume); counts stay.
    ///
    /// # Errors
    /// The VM's error.
    fn stop(&mut self, cx: &mut Context<'_>) -> Result<(), String>;

    /// Records again.
    ///
    /// # Errors
    /// The VM's error.
    fn resume(&mut self, cx: &mut Context<'_>) -> Result<(), String>;

    /// Keeps this many frames of stacks to come.
    fn set_depth(&mut self, _cx: &mut Context<'_>, _depth: u32) {}

    /// Takes everything back that the mode has put into the VM. Nothing is called afterwards.
    ///
    /// # Errors
    /// A callback is still under way after `limit`: an environment stays, without effect.
    fn detach(&mut self, cx: &mut Context<'_>, limit: Duration) -> Result<(), StillInside>;

    /// Returns true if it records now.
    fn is_recording(&self) -> bool;

    /// Adds counters of the mode and of its cost.
    fn status(&self, _reply: &mut Reply) {}
}

/// A mode has counted nothing of what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nothing {
    /// The option, what it has nothing of, why, and what to do. One line.
    pub text: String,
    /// Standard error has a line about it already, as when the start has failed.
    pub is_reported: bool,
}

impl Nothing {
    /// A reason that the end of the run reports.
    pub fn because(text: String) -> Self {
        Self {
            text,
            is_reported: false,
        }
    }

    /// A reason that was reported when it was found.
    pub fn reported(text: String) -> Self {
        Self {
            text,
            is_reported: true,
        }
    }
}

/// The result of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Nothing.
    #[default]
    Idle,
    /// Work, which is complete.
    Busy,
    /// More than a tick may do: the next one follows at once.
    Unfinished,
}

/// A part of a dump is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete;
