//! The requests that carry a profile.

use std::io::Write;

use anyhow::bail;
use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_analysis::stacks::Weights;
use hprof_stacks::pictures::pprof;
use hprof_stacks::pictures::profile::{Profile, all_weights};

use super::destination::{Destination, PushAs};
use crate::export::{self, Resource};
use crate::open::Opened;

/// One request.
pub struct Parcel {
    /// The path with its query.
    pub path: String,
    /// The type of the body.
    pub content_type: &'static str,
    /// Its encoding, if the protocol wants it in a header.
    pub encoding: Option<&'static str>,
    /// The body, compressed.
    pub body: Vec<u8>,
}

/// The requests for a profile: one of OTLP, or one for each measure.
///
/// # Errors
/// If the file has no costs.
pub fn parcels(
    opened: &Opened,
    resource: &Resource,
    to: &Destination,
) -> anyhow::Result<Vec<Parcel>> {
    let contents = &opened.contents;
    let weights: Vec<Weights> = all_weights(contents);
    let weights: Vec<Weights> = weights.into_iter().filter(|it| it.total > 0).collect();
    if weights.is_empty() {
        bail!(
            "{} has no stacks with costs, and nothing was sent",
            opened.name
        );
    }
    let thread_name = |serial| contents.thread(serial)?.name.clone();
    let profile = |weights| Profile {
        title: &opened.name,
        stacks: &contents.stacks,
        weights,
        thread_name: &thread_name,
        remarks: &contents.comments,
        own: None,
        depth: contents.stack_limit(),
    };
    match to.protocol {
        PushAs::Otlp => {
            let request = export::otlp(opened, &profile(weights), resource)?;
            let mut packed = GzEncoder::new(Vec::new(), Compression::default());
            packed.write_all(&request)?;
            Ok(vec![Parcel {
                path: to.path.clone(),
                content_type: "application/x-protobuf",
                encoding: Some("gzip"),
                body: packed.finish()?,
            }])
        }
        PushAs::Pyroscope => {
            let span = export::span(opened);
            let from = span.from.max(0).unsigned_abs() / 1_000_000_000;
            let to_end = span.to.max(0).unsigned_abs().div_ceil(1_000_000_000);
            let name = encoded(&series(resource));
            let mut parcels = Vec::new();
            for one in weights {
                let mut body = Vec::new();
                pprof::write(&profile(vec![one]), &mut body)?;
                parcels.push(Parcel {
                    path: format!(
                        "{}?name={name}&from={from}&until={}&format=pprof&spyName=hprof-rs",
                        to.path,
                        to_end.max(from + 1)
                    ),
                    content_type: "application/octet-stream",
                    // The format itself is gzipped.
                    encoding: None,
                    body,
                });
            }
            Ok(parcels)
        }
    }
}

/// The name of a service with its labels, as Pyroscope has it: `shop{host_name="a"}` without the quotes.
fn series(resource: &Resource) -> String {
    let good = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut labels = Vec::new();
    for (key, value) in resource.attributes() {
        if key != "service.name" {
            let key: String = key.chars().map(good).collect();
            let value = value.replace(['{', '}', ',', '=', '"'], "_");
            labels.push(format!("{key}={value}"));
        }
    }
    let name = resource.service().replace(['{', '}', ',', '='], "_");
    match labels.is_empty() {
        true => name,
        false => format!("{name}{{{}}}", labels.join(",")),
    }
}

/// Text for the query of a URL.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_the_labels_of_its_resource() {
        let mut resource = Resource::named("shop");
        resource.add("host.name", "a{1}");
        assert_eq!(series(&resource), "shop{host_name=a_1_}");
        assert_eq!(encoded("a{b=c}é"), "a%7Bb%3Dc%7D%C3%A9");
    }
}
