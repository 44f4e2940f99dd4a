//! The parts of a recording without end: a file for each minute, for instance.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hprof_analysis::contents::{Contents, CpuTable, MonitorTable, SiteTable};

/// The files of a recording without end.
pub struct Windows {
    each: Duration,
    next: Instant,
    /// The costs in the files that were written.
    before: Option<Contents>,
    /// The costs in the files, including the one that is being written.
    taken: Option<Contents>,
    files: VecDeque<PathBuf>,
    keeps: usize,
}

impl Windows {
    /// A file for each time of this length, of which the last `keeps` stay.
    pub fn new(each: Duration, keeps: usize) -> Self {
        Self {
            each,
            next: Instant::now() + each,
            before: None,
            taken: None,
            files: VecDeque::new(),
            keeps,
        }
    }

    /// Returns true if it is time for the next file.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// The costs that came since the last file that was written.
    pub fn take(&mut self, now: Contents) -> Contents {
        while self.is_due() {
            self.next += self.each;
        }
        let more = match &self.before {
            Some(before) => difference(now.clone(), before),
            None => now.clone(),
        };
        self.taken = Some(now);
        more
    }

    /// Returns true if a file has this name already.
    pub fn has(&self, file: &str) -> bool {
        self.files.iter().any(|known| known.as_os_str() == file)
    }

    /// Notes a file that was written. Gives those that are too many, oldest first.
    pub fn wrote(&mut self, file: PathBuf) -> Vec<PathBuf> {
        self.before = self.taken.take().or(self.before.take());
        self.files.retain(|known| *known != file);
        self.files.push_back(file);
        let many = self.files.len().saturating_sub(self.keeps);
        self.files.drain(..many).collect()
    }
}

/// The costs that `now` has beyond those of `before`, which it continues: traces keep their numbers.
fn difference(mut now: Contents, before: &Contents) -> Contents {
    let earlier = before.cpu.iter();
    for (table, earlier) in now.cpu.iter_mut().zip(earlier) {
        less_cpu(table, earlier);
    }
    for (table, earlier) in now.sites.iter_mut().zip(&before.sites) {
        less_sites(table, earlier);
    }
    // A table is there once a thread has waited, so those of both kinds are paired apart.
    for is_native in [false, true] {
        let of_kind = |table: &&MonitorTable| table.is_native == is_native;
        let earlier = before.monitors.iter().filter(of_kind);
        let tables = now.monitors.iter_mut();
        let tables = tables.filter(|table| table.is_native == is_native);
        for (table, earlier) in tables.zip(earlier) {
            less_monitors(table, earlier);
        }
    }
    now
}

fn less_cpu(table: &mut CpuTable, earlier: &CpuTable) {
    let costs: HashMap<_, _> = earlier
        .rows
        .iter()
        .map(|row| (row.trace, (row.cost, row.calls)))
        .collect();
    for row in &mut table.rows {
        let (cost, calls) = costs.get(&row.trace).copied().unwrap_or_default();
        row.cost = row.cost.saturating_sub(cost);
        row.calls = row.calls.map(|all| all.saturating_sub(calls.unwrap_or(0)));
    }
    let has_calls = |calls: Option<u64>| calls.is_some_and(|calls| calls > 0);
    table
        .rows
        .retain(|row| row.cost > 0 || has_calls(row.calls));
    table.total = table.total.saturating_sub(earlier.total);
}

/// Live objects are counted as of now.
fn less_sites(table: &mut SiteTable, earlier: &SiteTable) {
    table.totals = None;
    let mut sums = HashMap::new();
    for row in &earlier.rows {
        let sum: &mut (u64, u64) = sums.entry((row.trace, row.class_name.clone())).or_default();
        *sum = (sum.0 + row.allocated_bytes, sum.1 + row.allocated_objects);
    }
    for row in &mut table.rows {
        // Classes of several loaders may have one name: each row takes its part.
        if let Some(sum) = sums.get_mut(&(row.trace, row.class_name.clone())) {
            let bytes = row.allocated_bytes.min(sum.0);
            let objects = row.allocated_objects.min(sum.1);
            row.allocated_bytes -= bytes;
            row.allocated_objects -= objects;
            *sum = (sum.0 - bytes, sum.1 - objects);
        }
    }
    table
        .rows
        .retain(|row| row.allocated_bytes > 0 || row.live_bytes > 0);
}

fn less_monitors(table: &mut MonitorTable, earlier: &MonitorTable) {
    let waits: HashMap<_, _> = earlier
        .rows
        .iter()
        .map(|row| {
            let key = (row.trace, row.class_name.clone(), row.lock);
            (key, (row.count, row.millis))
        })
        .collect();
    for row in &mut table.rows {
        let key = (row.trace, row.class_name.clone(), row.lock);
        let (count, millis) = waits.get(&key).copied().unwrap_or_default();
        row.count = row.count.saturating_sub(count);
        row.millis = row.millis.saturating_sub(millis);
    }
    table.rows.retain(|row| row.count > 0 || row.millis > 0);
    table.total_millis = table.total_millis.saturating_sub(earlier.total_millis);
}

#[cfg(test)]
mod tests {
    use hprof_analysis::contents::{CpuRow, SiteRow};
    use hprof_format::ids::TraceSerial;
    use hprof_format::model::{CpuKind, SiteOrder};

    use super::*;

    fn cpu(rows: &[(u32, u64)]) -> CpuTable {
        let row = |&(trace, cost): &(u32, u64)| CpuRow {
            trace: TraceSerial::new(trace),
            cost,
            calls: None,
        };
        CpuTable {
            kind: CpuKind::Samples,
            total: rows.iter().map(|row| row.1).sum(),
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn a_window_has_what_came_since_the_one_before() {
        let first = cpu(&[(1, 5), (2, 7)]);
        let mut second = cpu(&[(1, 5), (2, 9), (3, 1)]);
        less_cpu(&mut second, &first);
        assert_eq!(second, cpu(&[(2, 2), (3, 1)]));
    }

    #[test]
    fn two_rows_of_one_name_lose_what_was_allocated_before_once() {
        let table = |rows: &[(u64, u64)]| SiteTable {
            order: SiteOrder::AllocatedBytes,
            is_native: false,
            totals: None,
            rows: rows
                .iter()
                .map(|&(bytes, live)| SiteRow {
                    trace: TraceSerial::new(1),
                    class_name: "A".into(),
                    live_bytes: live,
                    live_objects: 0,
                    allocated_bytes: bytes,
                    allocated_objects: bytes / 10,
                })
                .collect(),
        };
        let mut now = table(&[(100, 0), (60, 0), (5, 5)]);
        less_sites(&mut now, &table(&[(90, 0), (40, 0)]));
        let bytes: Vec<u64> = now.rows.iter().map(|row| row.allocated_bytes).collect();
        assert_eq!(bytes.iter().sum::<u64>(), 35);
    }

    #[test]
    fn the_oldest_files_are_too_many() {
        let mut windows = Windows::new(Duration::from_secs(60), 2);
        let mut wrote = |name: &str| windows.wrote(PathBuf::from(name));
        assert!(wrote("a").is_empty() && wrote("b").is_empty());
        assert_eq!(wrote("c"), [PathBuf::from("a")]);
        // Two in one second have one name.
        assert!(wrote("c").is_empty());
        assert_eq!(wrote("d"), [PathBuf::from("b")]);
    }
}
