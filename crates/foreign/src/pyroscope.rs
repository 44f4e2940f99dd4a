//! Requests of Pyroscope's push service: `push.v1.PushRequest`
//! (<https://github.com/grafana/pyroscope>, `api/push/v1/push.proto`), which has pprof profiles with labels.

use crate::pprof::wire::{Fields, Value, whole};

/// A series of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series<'a> {
    /// Names and values of its labels.
    pub labels: Vec<(String, String)>,
    /// Its profiles, as they came: pprof, gzipped or not.
    pub profiles: Vec<&'a [u8]>,
}

/// Labels of a series; others are left out.
const MAX_LABELS: usize = 128;

/// The series of a request, one after the other.
///
/// # Errors
/// The place of the first byte that is damaged, counted within its series.
pub fn read(bytes: &[u8]) -> impl Iterator<Item = Result<Series<'_>, usize>> {
    Fields::of(bytes).filter_map(|field| match field {
        Ok((1, Value::Bytes(bytes))) => Some(series(bytes)),
        Ok(_) => None,
        Err(at) => Some(Err(at)),
    })
}

fn series(bytes: &[u8]) -> Result<Series<'_>, usize> {
    let mut series = Series::default();
    for field in Fields::of(bytes) {
        match field? {
            (1, Value::Bytes(label)) if series.labels.len() < MAX_LABELS => {
                series.labels.push(pair(label));
            }
            (2, Value::Bytes(sample)) => {
                for field in Fields::of(sample) {
                    if let (1, Value::Bytes(profile)) = field? {
                        series.profiles.push(profile);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(series)
}

fn pair(bytes: &[u8]) -> (String, String) {
    let (mut name, mut value) = (String::new(), String::new());
    for (field, found) in whole(bytes) {
        let Value::Bytes(text) = found else { continue };
        let text = || String::from_utf8_lossy(text).into_owned();
        match field {
            1 => name = text(),
            2 => value = text(),
            _ => {}
        }
    }
    (name, value)
}

/// When a pprof profile began, in nanoseconds since 1970-01-01 UTC, and its length in nanoseconds; zeros if it has neither.
pub fn span(profile: &[u8]) -> (u64, u64) {
    let (mut from, mut length) = (0, 0);
    for (field, value) in whole(profile) {
        match (field, value) {
            (9, Value::Number(time)) => from = time,
            (10, Value::Number(time)) => length = time,
            _ => {}
        }
    }
    (from, length)
}

#[cfg(test)]
mod tests {
    use hprof_stacks::pictures::message::Message;
    use proptest::prelude::*;

    use super::*;

    fn message(fields: &[(u64, &[u8])]) -> Vec<u8> {
        Message::of(fields).0
    }

    #[test]
    fn a_request_has_series_with_labels_and_profiles() {
        let label = message(&[(1, b"service_name"), (2, b"shop")]);
        let [one, two] = [&b"one"[..], b"two"].map(|it| message(&[(1, it), (2, b"an id")]));
        let series = message(&[(1, &label), (2, &one), (2, &two)]);
        let whole = message(&[(1, &series)]).len();
        let request = message(&[(1, &series), (9, b"later"), (1, b"")]);
        let found: Vec<Series<'_>> = read(&request).collect::<Result<_, _>>().unwrap();
        assert_eq!(found[0].labels, [("service_name".into(), "shop".into())]);
        assert_eq!(found[0].profiles, [b"one", b"two"]);
        assert_eq!(found[1], Series::default());
        // A part of a series never passes for the whole one.
        for end in 1..request.len() - 2 {
            let mut cut = read(&request[..end]);
            assert!(cut.any(|it| it.is_err()) || end >= whole, "{end}");
        }
    }

    #[test]
    fn profiles_have_their_time() {
        let mut profile = Message::default();
        profile.number(9, 1_700_000_000_000_000_000);
        profile.number(10, 15_000_000_000);
        assert_eq!(
            span(&profile.0),
            (1_700_000_000_000_000_000, 15_000_000_000)
        );
        assert_eq!(span(b""), (0, 0));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (read(&bytes).count(), span(&bytes));
        }
    }
}
