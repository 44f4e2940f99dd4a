//! The life of the profile thread: messages, ticks of the recorders, the end.

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use hprof_native_headers as raw;
use hprof_wire::control::Reply;

use super::dispatch::Dispatcher;
use super::recorders::Recorders;
use super::state::Profile;
use super::thread::ProfileThread;
use super::{advice, check, dump, exit_hook, identity, peer, siblings};
use crate::options::Format;
use crate::recording::{Activity, Context, Message, Nothing, Phase, Recorder};
use crate::report;
use crate::vm::{Jni, Vm};

/// How long samples may wait in the ring. Names are looked up afterwards, so it
/// must be short against the life of a class.
const TICK: Duration = Duration::from_millis(20);
/// Between ticks when classes were unloaded before their methods had been looked up.
const MIN_TICK: Duration = Duration::from_millis(1);
/// Between ticks when the program has been idle.
const MAX_TICK: Duration = Duration::from_millis(100);

/// The events that a run may have enabled in the VM.
const EVENTS: [raw::jvmtiEvent; 9] = [
    raw::JVMTI_EVENT_THREAD_START,
    raw::JVMTI_EVENT_THREAD_END,
    raw::JVMTI_EVENT_CLASS_LOAD,
    raw::JVMTI_EVENT_CLASS_PREPARE,
    raw::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
    raw::JVMTI_EVENT_COMPILED_METHOD_LOAD,
    raw::JVMTI_EVENT_DATA_DUMP_REQUEST,
    raw::JVMTI_EVENT_VM_DEATH,
    raw::JVMTI_EVENT_VM_INIT,
];

/// Longest wait for callbacks that are under way when their events go off. They take microseconds, but
/// their threads may not run.
const MAX_CALLBACK: Duration = Duration::from_secs(5);

/// Works until the run ends.
pub(super) fn work(mut thread: ProfileThread, profile: &'static Profile, jni: &Jni) {
    let vm = Vm {
        jvmti: &profile.run.jvmti,
        jni,
    };
    thread.begin();
    thread.tell_tables("start");
    if let Some(source) = thread.output.source() {
        if let Some(sites) = &mut thread.recorders.sites {
            sites.note_tables();
        }
        peer::listen(profile, source);
    }
    let mut ticked = Instant::now();
    let mut pause = TICK;
    loop {
        let due = thread.recorders.all().filter_map(Recorder::due_in).min();
        let wait = due.map_or(pause, |due| due.min(pause));
        match thread.next_message(wait) {
            Ok(Message::Records) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::Commands { orders, done }) => {
                let mut dispatcher = Dispatcher::new(&mut thread, vm);
                for order in orders {
                    dispatcher.command(order);
                }
                let _ = done.send(());
            }
            Ok(Message::Request { request, reply }) => {
                let answer = Dispatcher::new(&mut thread, vm).request(request);
                let _ = reply.send(answer);
            }
            Ok(Message::Connected(sink)) => {
                if let Some(source) = thread.output.reconnect(sink) {
                    peer::listen(profile, source);
                }
            }
            Ok(Message::Dump { done }) => {
                // A failure is on standard error; SIGQUIT has no answer.
                let _ = Dispatcher::new(&mut thread, vm).dump(&[]);
                let _ = done.send(());
            }
            Ok(Message::Detach { reply }) => {
                profile.run.set_phase(Phase::Dead);
                let whole = finish(&mut thread, profile, vm);
                let mut answer = match whole {
                    true => Reply::default(),
                    false => Reply::error("the last dump could not be written, see standard error"),
                };
                answer.push("output", thread.output.place());
                detach(thread, profile, vm);
                let _ = reply.send(answer);
                return;
            }
            Ok(Message::Finish { done }) => {
                finish(&mut thread, profile, vm);
                let _ = done.send(());
                return;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
        tick_due(&mut thread, vm);
        if thread.output.is_push_due() {
            // A failure is on standard error.
            let _ = Dispatcher::new(&mut thread, vm).dump(&[]);
        }
        if thread.output.take_abandoned() {
            peer::leave(profile);
        }
        if let Some(endpoint) = thread.output.take_lost() {
            peer::reconnect(profile, endpoint);
        }
        if ticked.elapsed() >= pause {
            pause = tick(&mut thread, vm, pause);
            ticked = Instant::now();
        }
    }
}

/// Ticks the recorders that cannot wait for the others.
fn tick_due(thread: &mut ProfileThread, vm: Vm<'_>) {
    let (mut cx, recorders) = thread.split(vm);
    for recorder in recorders.all_mut() {
        if recorder.due_in() == Some(Duration::ZERO) {
            recorder.tick(&mut cx);
        }
    }
}

/// Ticks all recorders; returns the time to the next tick.
fn tick(thread: &mut ProfileThread, vm: Vm<'_>, pause: Duration) -> Duration {
    let unknown = thread.unknown_methods();
    let (mut cx, recorders) = thread.split(vm);
    let activities = recorders.all_mut().map(|it| it.tick(&mut cx));
    let activity = activities.max().unwrap_or_default();
    thread.refresh();
    match activity {
        Activity::Unfinished => Duration::ZERO,
        _ if thread.unknown_methods() > unknown => MIN_TICK,
        Activity::Busy => (pause * 2).clamp(MIN_TICK, TICK),
        Activity::Idle => (pause * 2).clamp(MIN_TICK, MAX_TICK),
    }
}

/// Writes what is left. False when it could not be written.
fn finish(thread: &mut ProfileThread, profile: &Profile, vm: Vm<'_>) -> bool {
    let settings = &thread.run.settings;
    let (mut cx, recorders) = thread.split(vm);
    // Nothing is recorded after this.
    let _ = recorders.samples.stop(&mut cx);
    recorders.samples.tick(&mut cx);
    if settings.doe && siblings::began().is_some() && recorders.are_empty() && cx.output.forget() {
        if profile.advises.is_some() {
            report::raw(&advice::no_data(&identity::this_jvm(cx.run)));
        }
        report_nothing(&cx, recorders);
        return true;
    }
    let mut has_nothing = false;
    let written = if settings.doe {
        let dumped = dump::dump(&mut cx, recorders, &[], true);
        has_nothing = report_nothing(&cx, recorders);
        dumped.is_whole
    } else {
        // A front-end that is lost at the last moment has a file as its successor.
        cx.output.commit() || cx.output.commit()
    };
    thread.output.close();
    thread.tell_tables("end");
    check_output(thread);
    if let (Some(from), Some(file)) = (&profile.advises, thread.output.last_file()) {
        let of = siblings::began().map(|_| identity::this_jvm(thread.run));
        report::raw(&match has_nothing {
            true => advice::nothing(&file, from),
            false => advice::lines(&file, settings, from, of.as_deref()),
        });
    }
    written
}

/// Reports each mode that has counted nothing of what it was asked for. Whether that is true of all of them.
fn report_nothing(cx: &Context<'_>, recorders: &Recorders) -> bool {
    let on = || recorders.all().filter(|it| it.is_on());
    let found: Vec<Nothing> = on().filter_map(|it| it.nothing(cx)).collect();
    for nothing in &found {
        if !nothing.is_reported {
            report::note(&nothing.text);
        }
    }
    !found.is_empty() && found.len() == on().count()
}

/// Reads the finished file back, where the options ask for that.
fn check_output(thread: &ProfileThread) {
    let settings = &thread.run.settings;
    if !settings.checks_output() || settings.format != Format::Binary {
        return;
    }
    let Some(path) = thread.output.finished_file() else {
        return;
    };
    if settings.packing.is_some() {
        let path = path.display();
        report::note(&format!(
            "{path} is compressed; check it with: hprof-rs check {path}"
        ));
        return;
    }
    check::check_file(&path);
    if settings.lists_output() && settings.modes.heap_dump {
        check::list_file(&path);
    }
}

/// Takes everything back that the run has put into the VM. What stays is the profile's structure: a
/// callback that has just begun may still find it, and find its environment closed.
fn detach(mut thread: ProfileThread, profile: &Profile, vm: Vm<'_>) {
    let (mut cx, recorders) = thread.split(vm);
    // Classes get their own code back by an event.
    let mut done = match recorders.times.take() {
        Some(mut times) => times.detach(&mut cx, MAX_CALLBACK),
        None => Ok(()),
    };
    for event in EVENTS {
        // An event that this run did not have cannot be refused.
        let _ = vm.jvmti.set_event(event, false);
    }
    for recorder in recorders.all_mut() {
        done = recorder.detach(&mut cx, MAX_CALLBACK).and(done);
    }
    drop(thread);
    exit_hook::unregister(profile, vm.jni);
    let run = profile.run;
    run.threads.forget();
    Profile::withdraw();
    *profile.outbox.write() = None;
    let own = run.jvmti.close(MAX_CALLBACK);
    if own.is_ok() {
        run.own_threads.lock().clear();
    }
    if let Err(error) = done.and(own) {
        report::note(&format!("{error}: the VM keeps what it has for it"));
    }
}
