//! The dispatcher: all that is asked of a run, by the control socket or by a front-end, is carried out
//! here, on the profile thread.

use hprof_wire::control::{Mode, Reply, Request};
use hprof_wire::marks;

use super::commands;
use super::dump;
use super::identity;
use super::recorders::Recorders;
use super::thread::{Figures, ProfileThread};
use crate::objects;
use crate::os::native_thread;
use crate::output::DumpEnd;
use crate::recording::{Asked, Context, Order, Phase, Recorder};
use crate::report;
use crate::vm::{self, Vm};

/// Why something was not carried out, or not as meant.
pub(super) type Outcome = Result<(), String>;

/// How many refusals are said on standard error; the stream has them all.
const MAX_LINES: u32 = 20;
/// How many equal commands are answered once the end is asked for.
const MAX_LAST_REPLIES: usize = 100;

/// Carries out what is asked for.
pub(super) struct Dispatcher<'a> {
    pub(super) cx: Context<'a>,
    pub(super) recorders: &'a mut Recorders,
    pub(super) figures: &'a mut Figures,
}

impl<'a> Dispatcher<'a> {
    /// On the profile thread. Samples taken so far are counted first.
    pub(super) fn new(thread: &'a mut ProfileThread, vm: Vm<'a>) -> Self {
        let (mut cx, recorders, figures) = thread.split_all(vm);
        recorders.samples.tick(&mut cx);
        Self {
            cx,
            recorders,
            figures,
        }
    }

    /// Carries out a request and says what came of it.
    pub(super) fn request(&mut self, request: Request) -> Reply {
        let mut shows_modes = false;
        let done = match request {
            // Options are for the session, which asks for its modes here.
            Request::Start(_) => self.resume(&[]),
            Request::Resume(modes) => {
                shows_modes = true;
                self.resume(&modes)
            }
            Request::Stop(modes) => {
                shows_modes = true;
                self.stop(&modes)
            }
            Request::Dump(modes) => self.dump(&modes),
            Request::Reset(modes) => self.reset(&modes),
            Request::Gc => self.cx.run.collect_garbage(),
            Request::Status => return self.status(),
            Request::Metrics => return self.metrics(),
            Request::Object(query) => return objects::answer(&query, self.cx.vm.jni),
            Request::Detach => Ok(()),
        };
        let mut reply = match done {
            Ok(()) => Reply::default(),
            Err(text) => Reply::error(text),
        };
        reply.push("output", self.cx.output.place());
        if shows_modes {
            self.push_modes(&mut reply);
        }
        reply
    }

    /// Carries out what a front-end has sent, and replies to it in the stream. Once the end is asked
    /// for nothing is carried out: a client that sends commands must not keep the program.
    pub(super) fn command(&mut self, order: Order) {
        let run = self.cx.run;
        let is_over = || run.phase() != Phase::Live;
        let outcome = loop {
            self.cx.output.begin_dump();
            let mut values = Vec::new();
            let outcome = match &order.asked {
                _ if is_over() => Err("the run ends".to_owned()),
                Ok(Asked::Command(command)) => commands::carry_out(self, *command),
                Ok(Asked::Request(request)) => {
                    // A dump begins and ends by itself.
                    let reply = self.request(request.clone());
                    self.cx.output.begin_dump();
                    values = reply.values;
                    reply.error.map_or(Ok(()), Err)
                }
                Err(error) => Err(error.clone()),
            };
            for (at, &serial) in order.serials.iter().enumerate() {
                if at >= MAX_LAST_REPLIES && is_over() {
                    break;
                }
                for (name, value) in &values {
                    let (name, value) = (name.clone(), value.clone());
                    let value = marks::Value {
                        serial,
                        name,
                        value,
                    };
                    self.cx
                        .output
                        .write(|writer| writer.mark(&value.to_string()));
                }
                let reply = marks::Reply {
                    serial,
                    refused: outcome.clone().err(),
                };
                self.cx
                    .output
                    .write(|writer| writer.mark(&reply.to_string()));
            }
            if self.cx.output.end_reply() != DumpEnd::Again {
                break outcome;
            }
        };
        if let Err(reason) = outcome {
            self.tell_refusal(&reason, order.serials.len(), is_over());
        }
        if let Ok(Asked::Command(command)) = order.asked
            && !is_over()
        {
            commands::after_reply(self, command);
        }
    }

    fn tell_refusal(&mut self, reason: &str, commands: usize, is_over: bool) {
        let told = self.figures.refused;
        let more = u32::try_from(commands).unwrap_or(u32::MAX);
        self.figures.refused = told.saturating_add(more);
        if told < MAX_LINES && !is_over {
            let last = match self.figures.refused {
                ..MAX_LINES => "",
                MAX_LINES.. => "; further refusals are only in the stream",
            };
            report::error(&format!("command refused: {reason}{last}"));
        }
    }

    /// Records again in these modes, or in all that were stopped.
    fn resume(&mut self, modes: &[Mode]) -> Outcome {
        self.recorders.check(modes)?;
        let mut all = self.recorders.of(modes);
        all.try_for_each(|it| it.resume(&mut self.cx))
    }

    /// Adds which modes record now, and which are stopped.
    fn push_modes(&self, reply: &mut Reply) {
        let names = |is_recording: bool| {
            let all = self.recorders.all().filter(|it| it.is_on());
            let named =
                all.filter(|it| it.mode() != Mode::Heap && it.is_recording() == is_recording);
            let names: Vec<&str> = named.map(|it| it.mode().name()).collect();
            names.join(" ")
        };
        for (name, is_recording) in [("recording", true), ("stopped", false)] {
            let names = names(is_recording);
            if !names.is_empty() {
                reply.push(name, names);
            }
        }
    }

    /// Stops these modes, or all that can be stopped; none if one of those that are named cannot.
    fn stop(&mut self, modes: &[Mode]) -> Outcome {
        self.recorders.check(modes)?;
        if !modes.is_empty() {
            self.recorders.of(modes).try_for_each(|it| it.can_stop())?;
        }
        let mut wanted: Vec<_> = self.recorders.of(modes).collect();
        let cx = std::cell::RefCell::new(&mut self.cx);
        all_or_none(
            &mut wanted,
            |it| it.is_recording(),
            |it| it.stop(&mut cx.borrow_mut()),
            |it| it.resume(&mut cx.borrow_mut()),
        )
    }

    /// Writes a dump of these modes, or of all.
    pub(super) fn dump(&mut self, modes: &[Mode]) -> Outcome {
        self.recorders.check(modes)?;
        let dumped = dump::dump(&mut self.cx, self.recorders, modes, false);
        self.figures.dumps += u32::from(dumped.is_written);
        if !dumped.is_whole {
            return Err("the dump could not be written, see the JVM's standard error".to_owned());
        }
        Ok(())
    }

    /// Sets the counts of these modes, or of all, to zero.
    pub(super) fn reset(&mut self, modes: &[Mode]) -> Outcome {
        self.recorders.check(modes)?;
        self.recorders
            .of(modes)
            .for_each(|it| it.reset(&mut self.cx));
        Ok(())
    }

    fn status(&self) -> Reply {
        let (run, recorders) = (self.cx.run, &*self.recorders);
        let modes = recorders.modes(&run.settings);
        let state = match recorders.are_recording() {
            true => "running",
            false => "stopped",
        };
        let mut reply = Reply::default();
        reply.push("state", state);
        reply.push("version", env!("CARGO_PKG_VERSION"));
        reply.push("pid", std::process::id());
        reply.push("modes", identity::modes(&modes));
        self.push_modes(&mut reply);
        reply.push("options", &run.settings.text);
        reply.push("output", self.cx.output.place());
        reply.push("running_ms", self.figures.began.elapsed().as_millis());
        reply.push("samples", recorders.samples.total());
        reply.push("traces", self.cx.names.traces.count());
        reply.push("dumps", self.figures.dumps);
        // Modes that count show their reason at the end: until then there may be counts.
        let failed = recorders.all().filter(|it| it.is_on());
        for it in failed {
            if let Some(nothing) = it.nothing(&self.cx).filter(|it| it.is_reported) {
                reply.push(&format!("nothing_{}", it.mode().name()), nothing.text);
            }
        }
        reply
    }

    fn metrics(&self) -> Reply {
        let (threads, names) = (&self.cx.run.threads, &*self.cx.names);
        let mut reply = Reply::default();
        self.recorders.all().for_each(|it| it.status(&mut reply));
        reply.push("traces", names.traces.count());
        reply.push("traces_cut", names.traces.cut());
        reply.push("table_bytes", names.bytes());
        reply.push("threads_seen", threads.threads_seen());
        reply.push("threads_live", threads.live().len());
        reply.push("threads_without_timer", threads.without_timer());
        reply.push("lost_thread_records", threads.lost_records());
        reply.push("commands_refused", self.figures.refused);
        reply.push("dumps", self.figures.dumps);
        reply.push(
            "profile_thread_cpu_ms",
            native_thread::cpu_time().as_millis(),
        );
        reply.push("internal_errors", vm::panics());
        reply
    }
}

/// Stops all; when one refuses, those that it stopped record again, and the error says what does not.
fn all_or_none<R>(
    all: &mut [R],
    is_recording: impl Fn(&R) -> bool,
    mut stop: impl FnMut(&mut R) -> Outcome,
    mut resume: impl FnMut(&mut R) -> Outcome,
) -> Outcome {
    let before: Vec<bool> = all.iter().map(&is_recording).collect();
    let Err(mut reason) = all.iter_mut().try_for_each(&mut stop) else {
        return Ok(());
    };
    for (it, was_recording) in all.iter_mut().zip(before) {
        if was_recording
            && !is_recording(it)
            && let Err(error) = resume(it)
        {
            reason.push_str(&format!("; what was stopped stays so: {error}"));
        }
    }
    Err(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorder that stops unless it is stuck.
    struct Fake {
        is_recording: bool,
        is_stuck: bool,
    }

    fn stop(all: &mut [Fake]) -> Outcome {
        let stop = |it: &mut Fake| match it.is_stuck {
            true => Err("the VM refuses".to_owned()),
            false => {
                it.is_recording = false;
                Ok(())
            }
        };
        let resume = |it: &mut Fake| {
            it.is_recording = true;
            Ok(())
        };
        all_or_none(all, |it| it.is_recording, stop, resume)
    }

    #[test]
    fn a_mode_that_cannot_stop_leaves_the_others_recording() {
        let fake = |is_recording, is_stuck| Fake {
            is_recording,
            is_stuck,
        };
        let mut all = [fake(true, false), fake(false, false), fake(true, true)];
        assert_eq!(stop(&mut all), Err("the VM refuses".to_owned()));
        assert_eq!(all.map(|it| it.is_recording), [true, false, true]);
        let mut all = [fake(true, false), fake(false, false)];
        assert_eq!(stop(&mut all), Ok(()));
        assert_eq!(all.map(|it| it.is_recording), [false, false]);
    }
}
