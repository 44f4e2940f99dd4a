//! Writes profiles as OpenTelemetry has them: an `ExportProfilesServiceRequest` of OTLP
//! (<https://github.com/open-telemetry/opentelemetry-proto>, `profiles/v1development`, version 1.10).
//!
//! Each measure is a profile of its own, as the format gives a profile one type of values. Traces, frames and names are
//! in the dictionary that all profiles share.

mod dictionary;
mod resource;
mod samples;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::message::Message;
use super::pprof;
use super::profile::Profile;
use crate::Measure;
use crate::requests::Requests;
use crate::timeline::{Timeline, Window};
use dictionary::Dictionary;
pub use resource::{
    PATH, Resource, UNKNOWN_SERVICE, WrongPairs, container_of_groups, container_of_mounts, pairs,
    service_of,
};
pub use samples::{Untimed, untimed};

/// The attributes of a resource that are whole numbers by OpenTelemetry's conventions.
const NUMBERS: &[&str] = &["process.pid"];

/// The facts of a profile that are not in its stacks.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The attributes of the resource, such as `service.name`, each key once.
    pub resource: &'a [(String, String)],
    /// When it was recorded.
    pub span: Window,
    /// Its costs with their times.
    pub timeline: Option<&'a Timeline>,
    /// The requests that threads worked for, which costs with times link to.
    pub requests: &'a Requests,
    /// A number that no other profile has, by which a receiver finds what is sent twice.
    pub id: [u8; 16],
    /// The version of this program.
    pub version: &'a str,
}

/// Type and unit of a measure, by the words of pprof. Times are in nanoseconds.
fn sample_type(measure: Measure) -> (&'static str, &'static str) {
    match pprof::sample_type(measure) {
        (name, "milliseconds") => (name, "nanoseconds"),
        others => others,
    }
}

/// The request, without compression.
pub fn request(profile: &Profile<'_>, origin: &Origin<'_>) -> Vec<u8> {
    let mut dictionary = Dictionary::new();
    let mut scope = Message::default();
    scope.bytes(1, b"hprof-rs");
    scope.bytes(2, origin.version.as_bytes());
    let mut scope_profiles = Message::default();
    scope_profiles.bytes(1, &scope.0);
    for (at, weights) in profile.weights.iter().enumerate() {
        let mut encoded = Message::default();
        let (name, unit) = sample_type(weights.measure);
        encoded.bytes(1, &value_type(&mut dictionary, name, unit).0);
        for sample in samples::of(profile, weights, origin.timeline, origin.requests) {
            encoded.bytes(2, &dictionary.sample(profile, &sample).0);
        }
        encoded.fixed(3, origin.span.from.max(0).unsigned_abs());
        encoded.number(4, origin.span.length());
        let counts_samples = weights.measure == Measure::Samples;
        if let Some(timeline) = origin.timeline.filter(|_| counts_samples)
            && let Some(nanos) = timeline.sample_nanos
        {
            let clock = if timeline.is_wall { "wall" } else { "cpu" };
            let period = value_type(&mut dictionary, clock, "nanoseconds");
            encoded.bytes(5, &period.0);
            encoded.number(6, nanos);
        }
        let mut id = origin.id;
        // All profiles of a request differ.
        id[15] ^= at as u8;
        encoded.bytes(7, &id);
        scope_profiles.bytes(2, &encoded.0);
    }
    let mut resource = Message::default();
    for (key, value) in origin.resource {
        let mut attribute = Message::default();
        attribute.bytes(1, key.as_bytes());
        let number = value.parse().ok().filter(|_| NUMBERS.contains(&&**key));
        let value = number.map_or_else(|| text_value(value), number_value);
        attribute.bytes(2, &value.0);
        resource.bytes(1, &attribute.0);
    }
    let mut resource_profiles = Message::default();
    resource_profiles.bytes(1, &resource.0);
    resource_profiles.bytes(2, &scope_profiles.0);
    let mut request = Message::default();
    request.bytes(1, &resource_profiles.0);
    request.bytes(2, &dictionary.finish().0);
    request.0
}

fn value_type(dictionary: &mut Dictionary, name: &str, unit: &str) -> Message {
    let mut message = Message::default();
    message.number(1, dictionary.string(name));
    message.number(2, dictionary.string(unit));
    message
}

/// The `AnyValue` of a string.
fn text_value(text: &str) -> Message {
    let mut value = Message::default();
    value.bytes(1, text.as_bytes());
    value
}

/// The `AnyValue` of a whole number.
fn number_value(number: u32) -> Message {
    let mut value = Message::default();
    value.number(3, number.into());
    value
}

/// A request as it is sent: by gzip.
///
/// # Errors
/// None, as it is written to memory.
pub fn packed(request: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(request)?;
    packed.finish()
}
