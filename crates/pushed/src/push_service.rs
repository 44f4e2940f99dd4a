//! Requests of Pyroscope's push service, as its clients of Python and Rust and Grafana Alloy send them.

use hprof_foreign::{Kind as Format, pyroscope};

use crate::MAX_UNPACKED;
use crate::batch::Batch;
use crate::ingest::{label, unpacked};

/// Profiles of a request.
const MAX_PROFILES: usize = 4096;
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

impl Batch {
    /// The profiles of a request that came at a time, in seconds.
    ///
    /// # Errors
    /// A sentence for the sender, if the request is wrong.
    pub(super) fn of_push_service(body: &[u8], came: u64) -> Result<Self, String> {
        let mut batch = Self::default();
        let (mut room, mut left) = (MAX_UNPACKED, MAX_PROFILES);
        for series in pyroscope::read(body) {
            let series = series.map_err(|at| {
                format!("the body is no push.v1.PushRequest: at byte {at} it is damaged or cut")
            })?;
            let labels = series.labels.iter();
            let labels: Vec<_> = labels
                .filter_map(|(name, value)| label(name, value))
                .collect();
            for profile in series.profiles {
                left = left.checked_sub(1).ok_or_else(|| {
                    format!("a request has at most {MAX_PROFILES} profiles; send fewer")
                })?;
                let file = unpacked(profile)?;
                room = room.checked_sub(file.len()).ok_or_else(|| {
                    format!("the profiles take more than {MAX_UNPACKED} bytes when they are unpacked; send fewer")
                })?;
                let (from, length) = pyroscope::span(&file);
                let span = match from / SECOND {
                    0 => (came, came),
                    from => (from, from.saturating_add(length.div_ceil(SECOND))),
                };
                let read = hprof_foreign::read(&file, Format::Pprof, &mut |_| {});
                let profile = read.map_err(|error| error.to_string())?;
                batch.add_profile(&labels, span, &profile, came)?;
            }
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use hprof_stacks::pictures::message::Message;

    use super::*;

    /// A profile of one sample of a function, with a type and its unit.
    fn pprof(function: &str, value: u64, from: u64) -> Vec<u8> {
        let mut profile = Message::default();
        let part = |fields: &[(u64, u64)]| {
            let mut part = Message::default();
            fields
                .iter()
                .for_each(|&(field, value)| part.number(field, value));
            part.0
        };
        profile.bytes(1, &part(&[(1, 1), (2, 2)]));
        profile.bytes(2, &part(&[(1, 1), (2, value)]));
        let line = part(&[(1, 1)]);
        let mut location = Message::default();
        location.number(1, 1);
        location.bytes(4, &line);
        profile.bytes(4, &location.0);
        profile.bytes(5, &part(&[(1, 1), (2, 3)]));
        for text in ["", "samples", "count", function] {
            profile.bytes(6, text.as_bytes());
        }
        profile.number(9, from * SECOND);
        profile.number(10, 10 * SECOND);
        profile.0
    }

    fn request(labels: &[(&str, &str)], profiles: &[Vec<u8>]) -> Vec<u8> {
        let mut series = Message::default();
        for (name, value) in labels {
            let mut label = Message::default();
            label.bytes(1, name.as_bytes());
            label.bytes(2, value.as_bytes());
            series.bytes(1, &label.0);
        }
        for profile in profiles {
            let mut sample = Message::default();
            sample.bytes(1, profile);
            series.bytes(2, &sample.0);
        }
        let mut request = Message::default();
        request.bytes(1, &series.0);
        request.0
    }

    #[test]
    fn profiles_have_labels_and_times_of_the_sender() {
        let labels = [
            ("__name__", "process_cpu"),
            ("service_name", "shop"),
            ("zone", "b"),
        ];
        let from = 1_700_000_000;
        let body = request(
            &labels,
            &[pprof("main", 7, from), pprof("main", 8, from + 10)],
        );
        let batch = Batch::of_push_service(&body, from + 20).unwrap();
        assert_eq!((batch.profiles, batch.rejected), (2, 0));
        let found: Vec<_> = batch
            .costs
            .iter()
            .map(|costs| {
                (
                    &costs.series.labels,
                    costs.rows[0].0.second,
                    costs.rows[0].1,
                )
            })
            .collect();
        let labels = [("service.name", "shop"), ("zone", "b")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let labels = labels.into_iter().collect();
        assert_eq!(
            found,
            [
                (&labels, from as u32 + 5, 7),
                (&labels, from as u32 + 15, 8)
            ]
        );
        // A clock that is hours ahead.
        let batch = Batch::of_push_service(&body, from - 8000).unwrap();
        assert_eq!((batch.profiles, batch.rejected), (0, 2));
        let many = request(&[], &vec![Vec::new(); MAX_PROFILES + 1]);
        for wrong in [&body[..body.len() - 1], b"no request", &many] {
            assert!(Batch::of_push_service(wrong, from).is_err());
        }
    }
}
