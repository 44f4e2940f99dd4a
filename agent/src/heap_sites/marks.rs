//! The figures with which commands compare sites: those of the last reset and of the last table.

use std::collections::HashMap;

use hprof_format::ids::TraceSerial;
use hprof_format::model::HeapSummary;

use super::profile::{SiteFigure, SiteFigures};

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
    pub(super) fn clear(&mut self, figures: SiteFigures) {
        self.cleared = Some(by_site(&figures.rows));
        self.shown.clear();
    }

    /// Takes what was there before the last clearing off. Of a site's live objects at most as many
    /// are new as were allocated since.
    pub(super) fn since_clear(&self, figures: &mut SiteFigures) {
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
    pub(super) fn show(&mut self, rows: &mut Vec<SiteFigure>, incremental: bool) {
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
