//! The table of profiles that programs pushed to a server. It is a file of its own, as it is of many programs.

use super::ColumnType::{Long, Text, Time};
use super::Storage::Differences;
use super::Table;
use super::declared::{column, optional, stored};

/// The costs of pushed profiles.
pub static PUSHED: Table = Table {
    name: "pushed",
    about: "the sum of a time, a thread and a stack",
    order: "by segment of the store, then series, then time",
    columns: &[
        stored(
            "time",
            Time,
            Differences,
            "its second, or the middle of the time that it sums",
        ),
        column("service", Text, "the label `service.name`"),
        optional(column("host", Text, "the label `host.name`")),
        optional(column("pod", Text, "the label `k8s.pod.name`")),
        column("labels", Text, "all labels, as JSON"),
        column("kind", Text, "the kind of its value, such as `samples`"),
        column("unit", Text, "the unit of its value"),
        optional(column("thread", Text, "the name of the thread")),
        column("method", Text, "the innermost frame"),
        column(
            "stack",
            Text,
            "the frames from the outermost on, with `;` between",
        ),
        column("value", Long, "the sum"),
    ],
};
