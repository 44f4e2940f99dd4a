//! Profiles that programs pushed to a server, as one Parquet file.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use hprof_pushed::{Archive, Choice, Cost};
use hprof_tables::schema::PUSHED;
use hprof_tables::{Cell, TableError, TableFile};

use super::Export;
use crate::render::screen::{bytes, plural};
use crate::window::Bound;

/// The end of the file's name.
const ENDING: &str = "parquet";
const NANOS: i64 = 1_000_000_000;

/// The second of a bound, up to which nothing of it is left out.
fn second(bound: Bound, option: &str) -> anyhow::Result<u32> {
    let nanos = match bound {
        Bound::Moment(nanos) => nanos,
        Bound::BeforeEnd(distance) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
            i64::try_from(now)?.saturating_sub(i64::try_from(distance)?)
        }
        Bound::Local(at) => {
            let at = at.to_zoned(jiff::tz::TimeZone::system())?;
            i64::try_from(at.timestamp().as_nanosecond())?
        }
        Bound::AfterStart(_) | Bound::Clock(..) => {
            bail!("{option}: a date and time such as 2026-11-29T14:03:10Z, or -1h for an hour ago")
        }
    };
    Ok(u32::try_from(nanos.div_euclid(NANOS))?)
}

/// Optional text.
fn optional(text: &str) -> Cell {
    Cell::from((!text.is_empty()).then(|| Cell::text(text)))
}

fn row(cost: &Cost<'_>) -> [Cell; 11] {
    let [service, host, pod] = cost.places;
    [
        Cell::Long(i64::from(cost.second) * 1000),
        Cell::text(service),
        optional(host),
        optional(pod),
        Cell::text(cost.labels),
        Cell::text(cost.kind),
        Cell::text(cost.unit),
        optional(cost.thread),
        Cell::text(cost.method),
        Cell::text(cost.stack),
        Cell::count(cost.value),
    ]
}

/// Exports a window of the store; gives a line that says so.
pub fn export(arguments: &Export, folder: &Path) -> anyhow::Result<String> {
    let output = &arguments.parquet;
    if output.extension().is_none_or(|it| it != ENDING) {
        bail!("--pushed writes one file: give --parquet a name that ends in .parquet");
    }
    let inner = folder.join("pushed");
    let store: PathBuf = if inner.is_dir() {
        inner
    } else {
        folder.to_owned()
    };
    let bound = |bound: Option<Bound>, option| bound.map(|it| second(it, option)).transpose();
    let choice = Choice {
        selector: arguments.selector.clone().unwrap_or_default(),
        kind: arguments.kind.clone(),
        from: bound(arguments.from, "--from")?.unwrap_or(0),
        to: bound(arguments.until, "--until")?.unwrap_or(u32::MAX),
    };
    let shown = || format!("cannot read the pushed profiles in {}", store.display());
    let archive = Archive::open(&store).with_context(shown)?;
    let place = output.parent().filter(|it| *it != Path::new(""));
    let cannot = || format!("cannot write to {}", output.display());
    // As any file that a program writes; the name that users see comes at the end.
    let new = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(place.unwrap_or(Path::new(".")))
        .with_context(cannot)?;
    let facts = [("hprof-rs.selector", choice.selector.clone())];
    let mut table = TableFile::new(&PUSHED, new.reopen()?, &facts).with_context(cannot)?;
    archive.each(&choice, |costs| -> Result<(), TableError> {
        table.rows(costs.map(|cost| row(&cost)))
    })?;
    let rows = table.finish().with_context(cannot)?;
    if rows == 0 {
        bail!("no pushed profile is of this time, kind and selector, and no file was written");
    }
    let size = new.as_file().metadata()?.len();
    new.persist(output)
        .map_err(|error| error.error)
        .with_context(cannot)?;
    Ok(format!(
        "{} of pushed profiles, {}, to {}",
        plural(rows, "row", "rows"),
        bytes(size),
        output.display()
    ))
}
