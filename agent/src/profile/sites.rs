//! The profile thread's work for heap=sites.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use hprof_format::ids::TraceSerial;
use hprof_format::model::{HeapSummary, SiteOrder, SiteRow, SiteTable};
use hprof_format::rank::{Cutoff, RankedSiteTable};

use super::Profile;
use super::collector::Collector;
use super::left_out;
use crate::heap_sites::{SiteFigure, SiteFigures};
use crate::names::Location;
use crate::os::clock::LocalTime;
use crate::vm::{Jni, Jvmti, StackFrame};

/// What a table of sites is to show.
#[derive(Clone, Copy)]
pub(super) struct SiteRequest {
    pub(super) order: SiteOrder,
    /// Only sites that have changed since the last table.
    pub(super) incremental: bool,
    pub(super) force_gc: bool,
    pub(super) cutoff: Cutoff,
}

impl SiteRequest {
    /// What a dump shows.
    pub(super) fn of_dump(profile: &Profile) -> Self {
        Self {
            order: SiteOrder::LiveBytes,
            incremental: false,
            force_gc: true,
            cutoff: profile.settings.cutoff,
        }
    }
}

/// Figures of sites at moments that commands refer to.
#[derive(Default)]
pub(super) struct SiteMarks {
    /// A front-end may ask for what has changed.
    pub(super) wanted: bool,
    cleared: Option<Figures>,
    shown: Figures,
}

type Figures = HashMap<(String, TraceSerial), HeapSummary>;

impl SiteMarks {
    /// All counts start again now.
    fn clear(&mut self, figures: SiteFigures) {
        self.cleared = Some(by_site(&figures.rows));
        self.shown.clear();
    }

    /// Takes what was there before the last clearing off. Of a site's live objects at most as many
    /// are new as were allocated since.
    fn since_clear(&self, figures: &mut SiteFigures) {
        let Some(cleared) = &self.cleared else {
            return;
        };
        let mut totals = HeapSummary::default();
        figures.rows.retain_mut(|row| {
            let key = (row.class_name.clone(), row.trace);
            let now = &mut row.figures;
            if let Some(before) = cleared.get(&key) {
                now.allocated_bytes = now.allocated_bytes.saturating_sub(before.allocated_bytes);
                let objects = now.allocated_objects;
                now.allocated_objects = objects.saturating_sub(before.allocated_objects);
                now.live_bytes = now.live_bytes.min(now.allocated_bytes);
                now.live_objects = now.live_objects.min(now.allocated_objects);
            }
            totals.live_bytes += now.live_bytes;
            totals.live_objects += now.live_objects;
            totals.allocated_bytes += now.allocated_bytes;
            totals.allocated_objects += now.allocated_objects;
            now.allocated_objects > 0
        });
        figures.totals = totals;
    }

    /// Notes what is shown, and leaves out what was shown before if only changes are wanted.
    fn show(&mut self, rows: &mut Vec<SiteFigure>, incremental: bool) {
        if !self.wanted {
            return;
        }
        let shown = std::mem::replace(&mut self.shown, by_site(rows));
        if incremental {
            rows.retain(|row| {
                shown.get(&(row.class_name.clone(), row.trace)) != Some(&row.figures)
            });
        }
    }
}

fn by_site(rows: &[SiteFigure]) -> Figures {
    let rows = rows.iter();
    rows.map(|row| ((row.class_name.clone(), row.trace), row.figures))
        .collect()
}

impl Collector {
    /// Lets heap=sites do what is due. True when there is more to do at once.
    pub(super) fn tick_sites(&mut self, jvmti: &Jvmti, jni: &Jni) -> bool {
        let tables = &mut self.tables;
        self.sites.as_mut().is_some_and(|sites| {
            sites.tick(jni, &mut |thread, stack| {
                tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
            })
        })
    }

    /// The totals as they are, without a collection; `None` when no sites are recorded.
    pub(super) fn site_totals(
        &mut self,
        profile: &Profile,
        jvmti: &Jvmti,
        jni: &Jni,
    ) -> Option<HeapSummary> {
        let (sites, tables) = (self.sites.as_mut()?, &mut self.tables);
        let collected = profile.collected_before_exit.load(Ordering::Acquire);
        let mut figures = sites.collect(jni, false, collected, &mut |thread, stack| {
            tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
        });
        self.site_marks.since_clear(&mut figures);
        Some(figures.totals)
    }

    /// Sets all figures to zero.
    pub(super) fn clear_sites(&mut self, jvmti: &Jvmti, jni: &Jni) -> bool {
        let (Some(sites), tables) = (&mut self.sites, &mut self.tables) else {
            return false;
        };
        let figures = sites.collect(jni, false, false, &mut |thread, stack| {
            tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
        });
        self.site_marks.clear(figures);
        true
    }

    pub(super) fn dump_sites(
        &mut self,
        profile: &Profile,
        jvmti: &Jvmti,
        jni: &Jni,
        request: SiteRequest,
    ) {
        let Some(sites) = &mut self.sites else {
            return;
        };
        let tables = &mut self.tables;
        let may_collect = request.force_gc && profile.may_collect();
        let collected = profile.collected_before_exit.load(Ordering::Acquire);
        let mut figures = sites.collect(jni, may_collect, collected, &mut |thread, stack| {
            tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
        });
        self.site_marks.since_clear(&mut figures);
        self.site_marks.show(&mut figures.rows, request.incremental);
        let SiteFigures {
            rows,
            totals,
            header,
            remarks,
            is_after_gc,
        } = figures;
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
            order: request.order,
            is_incremental: request.incremental,
            is_after_gc,
            totals,
            rows: &rows,
        };
        let table = RankedSiteTable::new(&table, request.cutoff);
        let general = (!profile.settings.modes.cpu_samples).then(|| self.general_remark(profile));
        self.output.write(|writer| {
            header.iter().try_for_each(|line| writer.comment(line))?;
            let traces = table.rows().iter().map(|ranked| ranked.row.trace);
            self.tables.write_traces(writer, traces)?;
            writer.site_table(&table, &LocalTime::now().ctime())?;
            let left_out = [left_out::of_sites(&table)];
            let mut remarks = left_out.iter().chain(&remarks).chain(&general);
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
