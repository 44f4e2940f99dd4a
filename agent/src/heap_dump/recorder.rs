//! The recorder of heap=dump.

use std::sync::atomic::Ordering;
use std::time::Duration;

use hprof_format::ids::ThreadSerial;
use hprof_wire::control::Mode;

use super::ids::DumpIds;
use super::write::Content;
use super::{Failure, Garbage, Request, Summary, dump};
use crate::heap_sites::SharedSites;
use crate::options::{Format, Settings};
use crate::os::clock::LocalTime;
use crate::recording::{Activity, Context, Incomplete, Recorder, Run};
use crate::report;
use crate::vm::{StillInside, VmDumper, VmLibrary, VmStructs};

/// Writes all objects when a dump is asked for. Nothing is recorded before.
pub struct HeapDumpRecorder {
    is_on: bool,
    /// The allocation sites of heap=all.
    sites: Option<SharedSites>,
    /// The serial of the profile thread, when a heap dump has shown it, and the generation of the
    /// output that has it.
    own: Option<(u32, ThreadSerial)>,
    /// The result of the last heap dump.
    result: Option<Result<Summary, Lack>>,
}

/// Why a profile is without its heap dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    /// Nothing of it was written.
    NoDump,
    /// Its end is missing.
    CutOff,
    /// The output failed.
    Output,
}

impl HeapDumpRecorder {
    /// A recorder for a run with these settings, whose objects have the traces of `sites`.
    pub fn new(settings: &Settings, sites: Option<SharedSites>) -> Self {
        Self {
            is_on: settings.modes.heap_dump,
            sites,
            own: None,
            result: None,
        }
    }

    /// Writes all objects. A failure is reported, and the profile continues without it.
    ///
    /// # Errors
    /// [`Incomplete`]: there is no whole heap dump.
    pub fn write(&mut self, cx: &mut Context<'_>) -> Result<(), Incomplete> {
        self.try_write(cx).map(|_| ()).map_err(|_| Incomplete)
    }

    fn try_write(&mut self, cx: &mut Context<'_>) -> Result<Summary, Lack> {
        let settings = cx.settings();
        let scratch = cx.output.scratch_path();
        let ctime = LocalTime::now().ctime();
        let library = VmLibrary::of(cx.vm.jvmti);
        let structs = library.and_then(VmStructs::of);
        let own_threads = cx.run.own_threads.lock().clone();
        let request = Request {
            dumper: VmDumper::of(library),
            vm: cx.vm,
            output: &scratch,
            host: cx.output.host(),
            content: Content {
                text: settings.format == Format::Text,
                fields: settings.primfields,
                arrays: settings.primarrays,
                strip: &settings.strip,
                lines: settings.lineno,
            },
            ctime: &ctime,
            garbage: garbage(cx.run),
            own_threads: &own_threads,
            collects_in_pause: !structs.is_some_and(VmStructs::moves_objects_concurrently),
        };
        let generation = cx.output.generation();
        let held = cx.output.take_held_threads();
        let own = self.own.filter(|&(shown_in, _)| shown_in == generation);
        let own_serial = own.map(|(_, serial)| serial);
        let mut ids = DumpIds::new(cx.run, cx.vm.jni, cx.names, own_serial, held);
        let mut sites = self.sites.as_ref().map(|sites| sites.lock());
        let mut result = Err(Lack::Output);
        let mut remark = None;
        cx.output.write(|writer| {
            remark = Some(
                match dump(&request, writer, &mut ids, sites.as_deref_mut()) {
                    Ok(summary) => {
                        result = Ok(summary);
                        summary.to_string()
                    }
                    Err(Failure::Output(error)) => return Err(error),
                    Err(failure) => {
                        result = Err(match failure {
                            Failure::CutOff(_) => Lack::CutOff,
                            _ => Lack::NoDump,
                        });
                        report::error(&failure.to_string());
                        failure.to_string()
                    }
                },
            );
            Ok(())
        });
        self.own = ids.own_serial().map(|serial| (generation, serial));
        let held = ids.into_held();
        // Another output has all threads of its own.
        if cx.output.generation() == generation {
            cx.output.put_held_threads(held);
        }
        if let Some(remark) = remark {
            cx.output.remark(remark);
        }
        result
    }
}

fn garbage(run: &Run) -> Garbage {
    if run.may_collect() {
        Garbage::Collect
    } else if run.was_collected() {
        Garbage::CollectedBefore
    } else {
        Garbage::NotCollected
    }
}

impl Recorder for HeapDumpRecorder {
    fn mode(&self) -> Mode {
        Mode::Heap
    }

    fn is_on(&self) -> bool {
        self.is_on
    }

    fn start(&mut self, _cx: &mut Context<'_>) {}

    fn tick(&mut self, _cx: &mut Context<'_>) -> Activity {
        Activity::Idle
    }

    fn dump(&mut self, cx: &mut Context<'_>, is_last: bool) -> Result<(), Incomplete> {
        if is_last && cx.run.heap_was_dumped.load(Ordering::Acquire) {
            return Ok(());
        }
        cx.announce(" Java heap ...");
        cx.run.dumping_heap.store(true, Ordering::Release);
        let result = self.try_write(cx);
        cx.run.dumping_heap.store(false, Ordering::Release);
        self.result = Some(result);
        result.map(|_| ()).map_err(|_| Incomplete)
    }

    /// Tells what was written, or where the profile is that lacks its heap dump.
    fn end_dump(&mut self, cx: &mut Context<'_>, is_written: bool) {
        let place = || cx.output.present_place();
        match self.result.take() {
            Some(Err(Lack::NoDump)) => {
                report::note(&format!("the profile in {} has no heap dump", place()));
            }
            Some(Err(Lack::CutOff)) => report::note(&format!(
                "the profile in {} has a heap dump that is cut off",
                place()
            )),
            Some(Ok(summary)) if is_written && cx.run.settings.verbose => {
                report::note(&summary.to_string());
            }
            // The output has said what is wrong with it.
            Some(Ok(_) | Err(Lack::Output)) | None => {}
        }
    }

    fn reset(&mut self, _cx: &mut Context<'_>) {}

    fn can_stop(&self) -> Result<(), String> {
        Err("a heap dump is not recorded over time; ask for 'dump heap'".to_owned())
    }

    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        Ok(())
    }

    fn resume(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        Ok(())
    }

    fn detach(&mut self, _cx: &mut Context<'_>, _limit: Duration) -> Result<(), StillInside> {
        Ok(())
    }

    fn is_recording(&self) -> bool {
        false
    }
}
