//! Reads profiles as OpenTelemetry has them, and the answers of their receivers; [`request`] of `hprof-stacks` writes them.

mod file;
pub mod read;

pub(crate) use file::{is_at, read_part, span};

#[cfg(test)]
mod tests;

pub use hprof_stacks::pictures::otlp::{Origin, Untimed, request, untimed};

use crate::pprof::wire::{Value, whole};

/// The profiles that a receiver rejects of a request that it has taken, and why, by its answer (an
/// `ExportProfilesServiceResponse`); none if it has taken all or says something else.
pub fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let mut found = None;
    for (field, value) in whole(answer) {
        let (1, Value::Bytes(partly)) = (field, value) else {
            continue;
        };
        let mut told = (0, String::new());
        for (field, value) in whole(partly) {
            match (field, value) {
                (1, Value::Number(profiles)) => told.0 = profiles,
                (2, Value::Bytes(why)) => told.1 = String::from_utf8_lossy(why).into_owned(),
                _ => {}
            }
        }
        found = Some(told);
    }
    found.filter(|told| told.0 > 0 || !told.1.is_empty())
}
