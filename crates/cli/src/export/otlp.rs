//! Profiles for OpenTelemetry.

use hprof_foreign::otlp::{Origin, request, untimed};
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::requests::Requests;
use hprof_stacks::timeline::Window;

use super::{Resource, created};
use crate::open::Opened;
use crate::render::out::tell;
use crate::render::screen::count;

/// The request of OTLP that holds a profile, without compression. Says on standard error what it has no times of.
///
/// # Errors
/// If the system gives no random number.
pub fn otlp(
    opened: &Opened,
    profile: &Profile<'_>,
    resource: &Resource,
) -> anyhow::Result<Vec<u8>> {
    let contents = &opened.contents;
    let timeline = contents.timeline.as_ref();
    for untimed in timeline.map_or_else(Vec::new, |timeline| untimed(profile, timeline)) {
        tell!(
            "hprof-rs: {}: the recording has times of {} of {} {} only: the profile has sums without times",
            untimed.measure.name(),
            count(untimed.timed),
            count(untimed.total),
            untimed.measure.unit(),
        );
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id)?;
    let attributes = resource.attributes();
    let requests = Requests::of(&contents.slow.methods);
    let origin = Origin {
        resource: &attributes,
        span: span(opened),
        timeline,
        requests: &requests,
        id,
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(request(profile, &origin))
}

/// The time of a profile; without one, the moment when it was made.
pub fn span(opened: &Opened) -> Window {
    let contents = &opened.contents;
    let of_timeline = contents.timeline.as_ref().map(|it| it.span);
    of_timeline.or(contents.span).unwrap_or_else(|| {
        let millis = created::millis(contents, opened.modified);
        let nanos = i64::try_from(millis.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        Window {
            from: nanos,
            to: nanos,
        }
    })
}
