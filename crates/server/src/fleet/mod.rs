//! Questions over many dumps: the figures that are kept of each, and the tables that answer.

mod figures;
mod fill;
mod tables;

/// `docs/fleet/*.sql`: questions to exported tables, by the names of the files.
pub const SQL: [(&str, &str); 7] = [
    (
        "growing-classes.sql",
        include_str!("../../../../docs/fleet/growing-classes.sql"),
    ),
    (
        "suspects.sql",
        include_str!("../../../../docs/fleet/suspects.sql"),
    ),
    (
        "regressions.sql",
        include_str!("../../../../docs/fleet/regressions.sql"),
    ),
    (
        "duplicate-strings.sql",
        include_str!("../../../../docs/fleet/duplicate-strings.sql"),
    ),
    (
        "duplicate-contents.sql",
        include_str!("../../../../docs/fleet/duplicate-contents.sql"),
    ),
    (
        "top-retained.sql",
        include_str!("../../../../docs/fleet/top-retained.sql"),
    ),
    (
        "thread-counts.sql",
        include_str!("../../../../docs/fleet/thread-counts.sql"),
    ),
];

pub use fill::run;
pub use tables::{builds, carriers, growth, regressions, services, suspects, waste};
