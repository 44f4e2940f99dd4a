//! The profile thread's work for heap=sites.

use std::sync::atomic::Ordering;

use hprof_format::model::{SiteOrder, SiteRow, SiteTable};
use hprof_format::rank::RankedSiteTable;

use super::Profile;
use super::collector::Collector;
use crate::clock::LocalTime;
use crate::heap_sites::SiteFigures;
use crate::names::Location;
use crate::vm::{Jni, Jvmti, StackFrame};

impl Collector {
    /// Lets heap=sites do what is due. True when there is more to do at once.
    pub(super) fn tick_sites(&mut self, jvmti: Jvmti, jni: &Jni) -> bool {
        let tables = &mut self.tables;
        self.sites.as_mut().is_some_and(|sites| {
            sites.tick(jni, &mut |thread, stack| {
                tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
            })
        })
    }

    pub(super) fn dump_sites(&mut self, profile: &Profile, jvmti: Jvmti, jni: &Jni) {
        let Some(sites) = &mut self.sites else {
            return;
        };
        let tables = &mut self.tables;
        let may_collect = profile.may_collect();
        let collected = profile.collected_before_exit.load(Ordering::Acquire);
        let SiteFigures {
            rows,
            totals,
            header,
            remarks,
            is_after_gc,
        } = sites.collect(jni, may_collect, collected, &mut |thread, stack| {
            tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
        });
        let rows: Vec<SiteRow<'_>> = rows
            .iter()
            .map(|row| SiteRow {
                class_name: &row.class_name,
                class_id: tables.methods.class_object(&row.class_name),
                element: row.element,
                trace: row.trace,
                live_bytes: row.figures.live_bytes,
                live_objects: row.figures.live_objects,
                allocated_bytes: row.figures.allocated_bytes,
                allocated_objects: row.figures.allocated_objects,
            })
            .collect();
        let table = SiteTable {
            order: SiteOrder::LiveBytes,
            is_incremental: false,
            is_after_gc,
            totals,
            rows: &rows,
        };
        let table = RankedSiteTable::new(&table, profile.settings.cutoff);
        let general = (!profile.settings.modes.cpu_samples).then(|| self.general_remark(profile));
        self.output.write(|writer| {
            header.iter().try_for_each(|line| writer.comment(line))?;
            let traces = table.rows().iter().map(|ranked| ranked.row.trace);
            self.tables.write_traces(writer, traces)?;
            writer.site_table(&table, &LocalTime::now().ctime())?;
            let mut remarks = remarks.iter().chain(&general);
            remarks.try_for_each(|line| writer.comment(line))
        });
    }
}

pub(super) fn stack_location(frame: &StackFrame) -> Location {
    Location {
        method: frame.method,
        bytecode: u32::try_from(frame.location).ok(),
    }
}
