//! Whether a worker failed because its file system is full: the server tries again then.

use std::error::Error;
use std::io;

use hprof_analysis::contents::ReadError;
use hprof_analysis::graph::GraphError;
use hprof_analysis::snapshot::SnapshotError;
use hprof_analysis::strip::StripError;

/// True if a write failed for lack of room.
pub(super) fn is_cause(error: &anyhow::Error) -> bool {
    let errors = error.chain().filter_map(of_system);
    errors.map(io::Error::kind).any(|kind| {
        matches!(
            kind,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    })
}

/// The system's error that `error` is or hides: errors that print their cause do not name it as their source.
fn of_system<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    #[cfg(feature = "parquet")]
    if let Some(hprof_tables::TableError::Io(error)) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(error) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(StripError::Io(error)) = error.downcast_ref() {
        return Some(error);
    }
    match error.downcast_ref()? {
        SnapshotError::Io(error)
        | SnapshotError::Graph(GraphError::Store(error))
        | SnapshotError::Read(ReadError::Io(error)) => Some(error),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_room_is_seen_through_every_error_that_may_hide_it() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        let all: Vec<anyhow::Error> = vec![
            full().into(),
            anyhow::Error::from(full()).context("cannot unpack"),
            StripError::Io(full()).into(),
            SnapshotError::Io(full()).into(),
            SnapshotError::Graph(GraphError::Store(full())).into(),
            SnapshotError::Read(ReadError::Io(full())).into(),
        ];
        for error in all {
            assert!(is_cause(&error), "{error:#}");
        }
        assert!(!is_cause(&anyhow::anyhow!("x: No space left on device")));
        assert!(!is_cause(&io::Error::from_raw_os_error(libc::EIO).into()));
    }
}
