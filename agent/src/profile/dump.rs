//! A dump: every recorder writes its part, once more if the output is lost meanwhile.

use hprof_wire::control::Mode;
use hprof_wire::marks;

use super::facts;
use super::recorders::Recorders;
use super::threads::renew_names;
use crate::names::HiddenNames;
use crate::output::DumpEnd;
use crate::recording::Context;
use crate::report;

/// The result of a dump.
#[derive(Clone, Copy)]
pub(super) struct Dumped {
    /// The output has got it, perhaps without one of its parts.
    pub(super) is_written: bool,
    /// The output has got all of it.
    pub(super) is_whole: bool,
}

/// Writes the parts of these modes, or of all that are on, and begins new counts. `is_last` tells that
/// nothing is recorded after it.
pub(super) fn dump(
    cx: &mut Context<'_>,
    recorders: &mut Recorders,
    modes: &[Mode],
    is_last: bool,
) -> Dumped {
    renew_names(cx);
    let (is_written, is_whole) = loop {
        if recorders.of(modes).next().is_some() {
            cx.announce("Dumping");
        }
        cx.output.begin_dump();
        let parts = recorders.of(modes).map(|it| it.dump(cx, is_last));
        let (mut has_any, mut has_all, mut has_none) = (false, true, true);
        for part in parts {
            has_none = false;
            has_any |= part.is_ok();
            has_all &= part.is_ok();
        }
        if let Some(remark) = HiddenNames::remark() {
            cx.output.remark(remark);
        }
        describe(cx);
        if is_last {
            write_nothing(cx, recorders);
        }
        match cx.output.end_dump(has_any || has_none) {
            DumpEnd::Written => break (true, has_all),
            DumpEnd::Failed => break (false, false),
            // The front-end is lost, and a file is there instead.
            DumpEnd::Again => {}
        }
    };
    if is_whole && cx.run.settings.verbose && recorders.of(modes).next().is_some() {
        report::raw(" done.\n");
    } else {
        report::end_line();
    }
    recorders
        .of(modes)
        .for_each(|it| it.end_dump(cx, is_written));
    Dumped {
        is_written,
        is_whole,
    }
}

/// Writes the facts of the run. A file of nothing but a heap dump is as the VM writes it.
fn describe(cx: &mut Context<'_>) {
    let settings = cx.settings();
    if !settings.modes.only_dumps() {
        for text in facts::of(cx).texts() {
            cx.output.mark_after_tables(text);
        }
        return;
    }
    let millis = cx.output.age().as_millis();
    let remark = format!("hprof-rs: run_ms={millis} depth={}", settings.depth);
    cx.output.remark(remark);
}

/// Writes a mark for each mode that has counted nothing in the whole run.
fn write_nothing(cx: &mut Context<'_>, recorders: &Recorders) {
    let on = recorders.all().filter(|it| it.is_on());
    let found = on.filter_map(|it| Some((it.mode(), it.nothing(cx)?.text)));
    for (mode, why) in found.collect::<Vec<_>>() {
        let mark = marks::Nothing { mode, why }.to_string();
        cx.output.write(|writer| writer.mark(&mark));
    }
}
