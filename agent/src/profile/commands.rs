//! The commands of the wire: those of the manual ("Socket Connection and Communication") and of the
//! JDK's agent.

use hprof_format::model::{HeapSummary, Settings, SiteOrder, SiteTable};
use hprof_format::rank::{Cutoff, RankedSiteTable};
use hprof_wire::command::{Command, Control, SiteFlags};
use hprof_wire::control::Mode;

use super::dispatch::{Dispatcher, Outcome};
use crate::heap_sites::SiteRequest;
use crate::options::settings::MAX_DEPTH;
use crate::os::clock::LocalTime;
use crate::recording::{Context, Recorder};
use crate::report;

/// Carries a command out.
///
/// # Errors
/// A sentence that says why not, or what is missing.
pub(super) fn carry_out(dispatcher: &mut Dispatcher<'_>, command: Command) -> Outcome {
    match command {
        Command::ForceGc => dispatcher.cx.run.collect_garbage(),
        Command::DumpHeap => dispatcher
            .recorders
            .heap
            .write(&mut dispatcher.cx)
            .map_err(|_| "there is no heap dump, see the JVM's standard error".to_owned()),
        Command::AllocSites { flags, cutoff } => alloc_sites(dispatcher, flags, cutoff),
        Command::HeapSummary => heap_summary(dispatcher),
        Command::DumpTraces => {
            if let Some(sites) = &mut dispatcher.recorders.sites {
                sites.tick(&mut dispatcher.cx);
            }
            let names = &*dispatcher.cx.names;
            let serials = names.traces.serials();
            let output = &mut dispatcher.cx.output;
            output.write(|writer| names.write_traces(writer, serials));
            Ok(())
        }
        Command::CpuSamples { cutoff, .. } => cpu_samples(dispatcher, cutoff),
        Command::Control(command) => {
            let outcome = control(dispatcher, command);
            show_settings(dispatcher);
            outcome
        }
        Command::Exit if dispatcher.cx.run.settings.exitcmd => Ok(()),
        Command::Exit => Err("EXIT needs the agent option exitcmd=y".to_owned()),
        Command::Eof => Ok(()),
    }
}

/// Does what must come after the reply to a command: it ends the VM.
pub(super) fn after_reply(dispatcher: &mut Dispatcher<'_>, command: Command) {
    if command == Command::Exit && dispatcher.cx.run.settings.exitcmd {
        exit(&dispatcher.cx);
    }
}

fn alloc_sites(dispatcher: &mut Dispatcher<'_>, flags: SiteFlags, cutoff: f32) -> Outcome {
    let cx = &mut dispatcher.cx;
    let order = if flags.by_allocated {
        SiteOrder::AllocatedBytes
    } else {
        SiteOrder::LiveBytes
    };
    if let Some(sites) = &mut dispatcher.recorders.sites {
        let request = SiteRequest {
            order,
            incremental: flags.incremental,
            force_gc: flags.force_gc,
            cutoff: Cutoff::below(f64::from(cutoff)),
        };
        sites.write_table(cx, request);
        return Ok(());
    }
    let table = SiteTable {
        order,
        is_incremental: flags.incremental,
        is_after_gc: false,
        totals: HeapSummary::default(),
        rows: &[],
    };
    let table = RankedSiteTable::new(&table, f64::from(cutoff));
    let now = LocalTime::now().ctime();
    cx.output.write(|writer| writer.site_table(&table, &now));
    Err("no allocation sites are recorded: start with heap=sites".to_owned())
}

fn heap_summary(dispatcher: &mut Dispatcher<'_>) -> Outcome {
    let cx = &mut dispatcher.cx;
    let sites = dispatcher.recorders.sites.as_mut();
    let totals = sites.map(|sites| sites.totals(cx));
    let summary = totals.unwrap_or_default();
    cx.output.write(|writer| writer.heap_summary(&summary));
    cx.output.remark(format!(
        "hprof-rs: heap summary: live_bytes={} live_objects={} allocated_bytes={} \
         allocated_objects={}",
        summary.live_bytes,
        summary.live_objects,
        summary.allocated_bytes,
        summary.allocated_objects
    ));
    match totals {
        Some(_) => Ok(()),
        None => Err("no allocations are recorded: start with heap=sites".to_owned()),
    }
}

fn cpu_samples(dispatcher: &mut Dispatcher<'_>, cutoff: f32) -> Outcome {
    let samples = &mut dispatcher.recorders.samples;
    samples.write_table(&mut dispatcher.cx, Cutoff::below(f64::from(cutoff)));
    match samples.has_engine() {
        true => Ok(()),
        false => {
            Err("no CPU samples are taken: start with cpu=samples, or send CONTROL 3".to_owned())
        }
    }
}

fn control(dispatcher: &mut Dispatcher<'_>, control: Control) -> Outcome {
    let no_sites = || "no allocation sites are recorded".to_owned();
    let (cx, recorders) = (&mut dispatcher.cx, &mut *dispatcher.recorders);
    match (control, &mut recorders.sites) {
        (Control::AllocTracesOn, Some(sites)) => sites.resume(cx),
        (Control::AllocTracesOff, Some(sites)) => sites.stop(cx),
        (Control::AllocTracesOn | Control::AllocTracesOff, None) => {
            Err(format!("{}: start with heap=sites", no_sites()))
        }
        (Control::CpuSamplingOn(thread), _) => recorders.samples.sample(cx, thread),
        (Control::CpuSamplingOff(thread), _) => recorders.samples.ignore(cx, thread),
        (Control::ClearCpu, _) => {
            let cpu = recorders.all_mut().filter(|it| it.mode() == Mode::Cpu);
            cpu.for_each(|it| it.reset(cx));
            Ok(())
        }
        (Control::ClearSites, Some(sites)) => {
            sites.reset(cx);
            Ok(())
        }
        (Control::ClearSites, None) => Err(no_sites()),
        (Control::Depth(depth), _) => set_depth(dispatcher, u32::from(depth)),
    }
}

fn set_depth(dispatcher: &mut Dispatcher<'_>, depth: u32) -> Outcome {
    if depth > MAX_DEPTH {
        return Err(format!("depth is at most {MAX_DEPTH}, and stays as it was"));
    }
    dispatcher.figures.depth = depth;
    let cx = &mut dispatcher.cx;
    let recorders = dispatcher.recorders.all_mut();
    recorders.for_each(|it| it.set_depth(cx, depth));
    Ok(())
}

/// Tells what is in force now.
fn show_settings(dispatcher: &mut Dispatcher<'_>) {
    let recorders = &*dispatcher.recorders;
    let settings = Settings {
        allocation_traces: recorders.sites.as_ref().is_some_and(|it| it.is_recording()),
        cpu_sampling: recorders.samples.samples_any(),
        depth: dispatcher.figures.depth,
    };
    let output = &mut dispatcher.cx.output;
    output.write(|writer| writer.settings(&settings));
}

/// Ends the VM in order, from a thread of its own: the VM's death waits for this one.
fn exit(cx: &Context<'_>) {
    if cx.run.settings.verbose {
        report::raw("HPROF: received exit event, exiting ...\n");
    }
    let started = cx.run.start_own(cx.vm.jni, "HPROF exit command", |jni| {
        if let Err(error) = jni.exit_vm() {
            report::error(&format!("the exit command failed: {error}"));
        }
    });
    if let Err(error) = started {
        report::error(&format!("the exit command failed: {error}"));
    }
}
