//! Answers over many dumps as tables.

use crate::catalogue::fleet::{
    Build, Carrier, FleetSuspect, Growth, LEAST_DUMPS, Measure, Regression, Service,
};
use crate::catalogue::{Catalogue, MAX_CLASSES};
use crate::problem::Problem;
use crate::time::Millis;
use crate::views::page::TableQuery;
use crate::views::records::{Of, Records};
use crate::views::table::{Cell, ColumnKind, Links, Table, bytes, column, count, text};

fn time(time: Millis) -> Cell {
    Cell::Count(u64::try_from(time.0).unwrap_or(0))
}

/// A share in percent, from 0 to 100.
fn percent(share: f64) -> Cell {
    Cell::Real((share * 10_000.0).round() / 100.0)
}

fn delta(before: u64, after: u64) -> Cell {
    let delta = i128::from(after) - i128::from(before);
    Cell::Delta(i64::try_from(delta).unwrap_or(i64::MAX))
}

/// The table of an answer; tells if dumps of earlier versions are still to come.
fn answer(catalogue: &dyn Catalogue, mut table: Table) -> Result<Table, Problem> {
    if !catalogue.without_figures(1)?.is_empty() {
        table.pending = true;
        let note = "dumps that an earlier version analysed are still being added";
        table.notes.push(note.to_owned());
    }
    Ok(table)
}

/// Says which classes the rows are about; `nothing` says that there are none.
fn about_classes(mut table: Table, is_empty: bool, nothing: &str) -> Table {
    if is_empty {
        table.notes.push(nothing.to_owned());
    }
    table.notes.push(format!(
        "each dump counts with the {MAX_CLASSES} classes that retain most"
    ));
    table
}

const SERVICES: [Of<Service>; 5] = [
    (text("service", "Service"), |row| row.name.as_str().into()),
    (count("hosts", "Hosts"), |row| row.hosts.into()),
    (count("dumps", "Dumps"), |row| row.dumps.into()),
    (bytes("live", "Live"), |row| row.live_bytes.into()),
    (column("newest", "Newest dump", ColumnKind::Time), |row| {
        time(row.newest)
    }),
];

/// The services: hosts, dumps, live bytes of the newest dump of each host.
///
/// # Errors
/// If the query is wrong, or the database fails.
pub fn services(catalogue: &dyn Catalogue, query: &TableQuery) -> Result<Table, Problem> {
    let rows = Records::new(catalogue.services()?, &SERVICES).largest_first("live");
    answer(catalogue, rows.page(query)?)
}

const WASTE: [Of<Service>; 6] = [
    (text("service", "Service"), |row| row.name.as_str().into()),
    (count("hosts", "Hosts"), |row| row.hosts.into()),
    (bytes("array_waste", "Equal arrays"), |row| {
        row.array_waste.into()
    }),
    (bytes("string_waste", "Equal strings"), |row| {
        row.string_waste.into()
    }),
    (bytes("live", "Live"), |row| row.live_bytes.into()),
    (
        column("percent", "Share", ColumnKind::Percent),
        |row| match row.live_bytes {
            0 => Cell::Null,
            live => percent(row.array_waste as f64 / live as f64),
        },
    ),
];

/// The bytes that equal strings and arrays waste, by service, in the newest dump of each host.
///
/// # Errors
/// If the query is wrong, or the database fails.
pub fn waste(catalogue: &dyn Catalogue, query: &TableQuery) -> Result<Table, Problem> {
    let rows = Records::new(catalogue.services()?, &WASTE).largest_first("array_waste");
    answer(catalogue, rows.page(query)?)
}

const BUILDS: [Of<Build>; 4] = [
    (text("build", "Build"), |row| row.name.as_str().into()),
    (count("hosts", "Hosts"), |row| row.hosts.into()),
    (count("dumps", "Dumps"), |row| row.dumps.into()),
    (column("newest", "Newest dump", ColumnKind::Time), |row| {
        time(row.newest)
    }),
];

/// The builds of a service, the newest first.
///
/// # Errors
/// If the query is wrong, or the database fails.
pub fn builds(
    catalogue: &dyn Catalogue,
    service: &str,
    query: &TableQuery,
) -> Result<Table, Problem> {
    let rows = Records::new(catalogue.builds(service)?, &BUILDS).largest_first("newest");
    answer(catalogue, rows.page(query)?)
}

const GROWTH: [Of<Growth>; 7] = [
    (text("name", "Class"), |row| row.name.as_str().into()),
    (column("trend", "Trend", ColumnKind::Series), |row| {
        Cell::Series(row.sizes.clone())
    }),
    (bytes("grown_delta", "Growth"), |row| delta(0, row.grown)),
    (bytes("first_bytes", "First"), |row| {
        row.sizes.first().copied().into()
    }),
    (bytes("last_bytes", "Last"), |row| {
        row.sizes.last().copied().into()
    }),
    (count("objects", "Objects"), |row| row.objects.into()),
    (count("hosts", "Hosts"), |row| row.hosts.into()),
];

/// The classes of a service that grew from each of the last dumps of a host to the next.
///
/// # Errors
/// If the query is wrong, or the database fails.
pub fn growth(
    catalogue: &dyn Catalogue,
    service: &str,
    last: u64,
    measure: Measure,
    query: &TableQuery,
) -> Result<Table, Problem> {
    let rows = catalogue.growth(service, last, measure)?;
    let is_empty = rows.is_empty();
    let table = Records::new(rows, &GROWTH).largest_first("grown_delta");
    let nothing = "no class of the service grew in each of these dumps";
    let mut table = about_classes(table.page(query)?, is_empty, nothing);
    table.notes.push(format!(
        "a class counts for a host if it grows from each of its last {last} dumps to the next; hosts \
         with fewer than {LEAST_DUMPS} dumps are left out"
    ));
    answer(catalogue, table)
}

const REGRESSIONS: [Of<Regression>; 6] = [
    (text("name", "Class"), |row| row.name.as_str().into()),
    (bytes("old", "Old build"), |row| row.old.into()),
    (bytes("new", "New build"), |row| row.new.into()),
    (bytes("grown_delta", "Growth"), |row| {
        delta(row.old, row.new)
    }),
    (count("old_hosts", "Hosts before"), |row| {
        row.old_hosts.into()
    }),
    (count("new_hosts", "Hosts after"), |row| {
        row.new_hosts.into()
    }),
];

/// The classes that take more in the new build of a service than in the old one.
///
/// # Errors
/// If the query is wrong, or the database fails.
pub fn regressions(
    catalogue: &dyn Catalogue,
    service: &str,
    builds: [&str; 2],
    measure: Measure,
    query: &TableQuery,
) -> Result<Table, Problem> {
    let [old, new] = builds;
    let rows = catalogue.regressions(service, old, new, measure)?;
    let is_empty = rows.is_empty();
    let table = Records::new(rows, &REGRESSIONS).largest_first("grown_delta");
    let nothing = "no class takes more in the new build than in the old one";
    let mut table = about_classes(table.page(query)?, is_empty, nothing);
    let note =
        "sizes are those of a host on average; each host counts with its newest dump of a build";
    table.notes.push(note.to_owned());
    answer(catalogue, table)
}

const SUSPECTS: [Of<FleetSuspect>; 8] = [
    (text("signature", "Suspect"), |row| {
        row.signature.as_str().into()
    }),
    (count("services", "Services"), |row| row.services.into()),
    (count("hosts", "Hosts"), |row| row.hosts.into()),
    (count("dumps", "Dumps"), |row| row.dumps.into()),
    (bytes("most_retained", "Most retained"), |row| {
        row.retained.into()
    }),
    (
        column("percent", "Largest share", ColumnKind::Percent),
        |row| percent(row.share),
    ),
    (
        column("first_seen", "First seen", ColumnKind::Time),
        |row| time(row.first),
    ),
    (column("last_seen", "Last seen", ColumnKind::Time), |row| {
        time(row.last)
    }),
];

/// The suspects of all services, or of those that a service carries, or the one with a code.
///
/// # Errors
/// If the query is wrong, or the database fails.
pub fn suspects(
    catalogue: &dyn Catalogue,
    service: Option<&str>,
    code: Option<&str>,
    query: &TableQuery,
) -> Result<Table, Problem> {
    let rows = catalogue.suspects(service, code)?;
    let table = Records::new(rows, &SUSPECTS).largest_first("services");
    let table = table.about(|row| Links {
        more: vec![
            ("code", row.code.as_str().into()),
            ("title", row.title.as_str().into()),
        ],
        ..Links::default()
    });
    answer(catalogue, table.page(query)?)
}

const CARRIERS: [Of<Carrier>; 7] = [
    (text("service", "Service"), |row| {
        row.service.as_str().into()
    }),
    (count("hosts", "Hosts"), |row| row.hosts.into()),
    (count("dumps", "Dumps"), |row| row.dumps.into()),
    (bytes("most_retained", "Most retained"), |row| {
        row.retained.into()
    }),
    (
        column("percent", "Largest share", ColumnKind::Percent),
        |row| percent(row.share),
    ),
    (
        column("first_seen", "First seen", ColumnKind::Time),
        |row| time(row.first),
    ),
    (column("last_seen", "Last seen", ColumnKind::Time), |row| {
        time(row.last)
    }),
];

/// The services that carry a suspect, each with the last of its dumps.
///
/// # Errors
/// If the query is wrong, or the database fails.
pub fn carriers(
    catalogue: &dyn Catalogue,
    code: &str,
    query: &TableQuery,
) -> Result<Table, Problem> {
    let table = Records::new(catalogue.carriers(code)?, &CARRIERS).largest_first("most_retained");
    let table = table.about(|row| Links {
        more: vec![("dump", row.dump.as_str().into())],
        ..Links::default()
    });
    answer(catalogue, table.page(query)?)
}
