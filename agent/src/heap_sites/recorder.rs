//! The recorder of heap=sites.

use std::sync::Arc;
use std::time::Duration;

use hprof_format::model::{HeapSummary, SiteOrder, SiteRow, SiteTable};
use hprof_format::rank::{Cutoff, RankedSiteTable};
use hprof_wire::control::Mode;
use parking_lot::Mutex;

use super::HeapSites;
use super::marks::SiteMarks;
use super::profile::{Collection, SiteFigures, SitesProfile};
use crate::os::clock::LocalTime;
use crate::recording::{Activity, Context, Incomplete, Nothing, Recorder, left_out};
use crate::vm::StillInside;

/// The figures of all sites. A heap dump looks there for where its objects were allocated; both are
/// at work on the profile thread only.
pub type SharedSites = Arc<Mutex<SitesProfile>>;

/// Writes the figures of sites.
pub struct SitesRecorder {
    sites: &'static HeapSites,
    profile: SharedSites,
    marks: SiteMarks,
    /// A request has stopped the mode once.
    was_stopped: bool,
    /// A table had an allocation.
    has_counted: bool,
}

/// The selection for a table of sites.
#[derive(Clone, Copy)]
pub struct SiteRequest {
    /// Which figure ranks the sites.
    pub order: SiteOrder,
    /// Only sites that have changed since the last table.
    pub incremental: bool,
    /// Collect garbage first.
    pub force_gc: bool,
    /// The smallest share of a site that is shown.
    pub cutoff: Cutoff,
}

impl SitesRecorder {
    /// A recorder of `sites`. There must be one only.
    pub fn new(sites: &'static HeapSites) -> Self {
        Self {
            sites,
            profile: Arc::new(Mutex::new(SitesProfile::new(sites))),
            marks: SiteMarks::default(),
            was_stopped: false,
            has_counted: false,
        }
    }

    /// The figures, for heap dumps.
    pub fn shared(&self) -> SharedSites {
        Arc::clone(&self.profile)
    }

    /// From now on each table is noted: a front-end may ask for what has changed since.
    pub fn note_tables(&mut self) {
        self.marks.wanted = true;
    }

    /// The totals as they are, without a collection.
    pub fn totals(&mut self, cx: &mut Context<'_>) -> HeapSummary {
        let collection = Collection::of(cx.run, false);
        let mut figures = self.profile.lock().collect(cx.vm, cx.names, collection);
        self.marks.since_clear(&mut figures);
        figures.totals
    }

    /// Writes a table with its traces.
    pub fn write_table(&mut self, cx: &mut Context<'_>, request: SiteRequest) {
        let collection = Collection::of(cx.run, request.force_gc);
        let mut profile = self.profile.lock();
        let mut figures = profile.collect(cx.vm, cx.names, collection);
        drop(profile);
        self.has_counted = self.has_counted || figures.totals.allocated_objects > 0;
        self.marks.since_clear(&mut figures);
        self.marks.show(&mut figures.rows, request.incremental);
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
                class_id: cx.names.methods.class_object(&row.class_name),
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
        let general = (!cx.run.settings.modes.cpu_samples).then(|| cx.general_remark());
        let names = &*cx.names;
        cx.output.write(|writer| {
            let traces = table.rows().iter().map(|ranked| ranked.row.trace);
            names.write_traces(writer, traces)?;
            writer.site_table(&table, &LocalTime::now().ctime())
        });
        let left_out = [left_out::of_sites(&table)];
        let remarks = header.iter().chain(&left_out).chain(&remarks);
        remarks
            .chain(&general)
            .for_each(|line| cx.output.remark(line));
    }
}

impl Recorder for SitesRecorder {
    fn mode(&self) -> Mode {
        Mode::Sites
    }

    fn is_on(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.sites.start(cx.vm.jni);
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        match self.profile.lock().tick(cx.vm, cx.names) {
            true => Activity::Unfinished,
            false => Activity::Idle,
        }
    }

    fn nothing(&self, cx: &Context<'_>) -> Option<Nothing> {
        if self.has_counted || self.was_stopped {
            return None;
        }
        // There is no program that allocates nothing.
        let why = match cx.run.settings.heap_interval {
            0 => "the VM has reported none; use heap=dump, which needs no events",
            _ => "the program allocated too little for heapinterval=, so leave it out",
        };
        Some(Nothing::because(format!(
            "heap=sites has recorded no allocation: {why}"
        )))
    }

    fn dump(&mut self, cx: &mut Context<'_>, is_last: bool) -> Result<(), Incomplete> {
        cx.announce(" allocation sites ...");
        if is_last {
            // Daemon threads go on, and compete for the VM's locks with what follows.
            let _ = self.sites.set_recording(false);
        }
        let request = SiteRequest {
            order: SiteOrder::LiveBytes,
            incremental: false,
            force_gc: true,
            cutoff: cx.run.settings.cutoff,
        };
        self.write_table(cx, request);
        Ok(())
    }

    /// Figures of sites are those since the start.
    fn end_dump(&mut self, _cx: &mut Context<'_>, _is_written: bool) {}

    fn reset(&mut self, cx: &mut Context<'_>) {
        let figures = self
            .profile
            .lock()
            .collect(cx.vm, cx.names, Collection::NotAsked);
        self.marks.clear(figures);
    }

    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        self.was_stopped = true;
        let stopped = self.sites.set_recording(false);
        stopped.map_err(|error| error.to_string())
    }

    fn resume(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        let resumed = self.sites.set_recording(true);
        resumed.map_err(|error| error.to_string())
    }

    fn set_depth(&mut self, _cx: &mut Context<'_>, depth: u32) {
        self.sites.set_depth(depth);
    }

    fn detach(&mut self, cx: &mut Context<'_>, limit: Duration) -> Result<(), StillInside> {
        self.sites.take_hooks_back(cx.vm.jni);
        self.sites.detach(limit)?;
        // SAFETY: the gate is closed for good and all have left; a run is detached once.
        unsafe { self.profile.lock().forget(cx.vm.jni) };
        Ok(())
    }

    fn is_recording(&self) -> bool {
        self.sites.is_recording()
    }
}
