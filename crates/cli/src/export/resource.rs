//! The resource of OpenTelemetry to which profiles belong: attributes of the service, by their standard names.

use std::env;

use anyhow::{Context, bail};

/// The name that a service without one has by OpenTelemetry's specification.
const UNKNOWN_SERVICE: &str = "unknown_service:java";
const SERVICE_NAME: &str = "service.name";

/// Attributes, each key once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    attributes: Vec<(String, String)>,
}

impl Resource {
    /// The attributes that the environment states, by `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
    ///
    /// # Errors
    /// If it states them otherwise than OpenTelemetry's specification has it.
    pub fn of_environment() -> anyhow::Result<Self> {
        let text = |name| env::var(name).ok().filter(|text| !text.is_empty());
        Self::stated(
            text("OTEL_RESOURCE_ATTRIBUTES").as_deref(),
            text("OTEL_SERVICE_NAME").as_deref(),
        )
        .context("the environment variable OTEL_RESOURCE_ATTRIBUTES")
    }

    fn stated(attributes: Option<&str>, service: Option<&str>) -> anyhow::Result<Self> {
        let mut new = Self {
            attributes: Vec::new(),
        };
        new.add_stated(attributes, service)?;
        Ok(new)
    }

    /// Adds what the values of `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` state.
    ///
    /// # Errors
    /// As [`pairs`]; then nothing of the first is added.
    pub fn add_stated(
        &mut self,
        attributes: Option<&str>,
        service: Option<&str>,
    ) -> anyhow::Result<()> {
        if let Some(service) = service {
            self.add(SERVICE_NAME, service);
        }
        for (key, value) in pairs(attributes.unwrap_or_default())? {
            self.add(&key, &value);
        }
        Ok(())
    }

    /// Adds an attribute, unless there is one of this key: what the user states counts.
    pub fn add(&mut self, key: &str, value: &str) {
        if !self.attributes.iter().any(|(known, _)| known == key) {
            self.attributes.push((key.to_owned(), value.to_owned()));
        }
    }

    #[cfg(all(test, feature = "capture"))]
    pub fn named(service: &str) -> Self {
        Self {
            attributes: vec![(SERVICE_NAME.to_owned(), service.to_owned())],
        }
    }

    /// The name of the service.
    #[cfg(feature = "capture")]
    pub fn service(&self) -> &str {
        let mut all = self.attributes.iter();
        all.find(|(key, _)| key == SERVICE_NAME)
            .map_or(UNKNOWN_SERVICE, |(_, value)| value)
    }

    /// All attributes; the name of the service is always there.
    pub fn attributes(&self) -> Vec<(String, String)> {
        let mut all = self.clone();
        all.add(SERVICE_NAME, UNKNOWN_SERVICE);
        all.attributes
    }
}

/// `key=value` with commas between, of which `%2C` and the like stand for characters, as OpenTelemetry's environment
/// variables have them.
///
/// # Errors
/// If a part has no `=`, or no key. The error does not show values, as they may be secret.
pub fn pairs(text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for (at, part) in text.split(',').enumerate() {
        if part.trim().is_empty() {
            continue;
        }
        match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                pairs.push((decoded(key.trim())?, decoded(value.trim())?));
            }
            _ => bail!(
                "part {} is no key=value; write key=value with commas between",
                at + 1
            ),
        }
    }
    Ok(pairs)
}

/// Text in which `%XX` stands for a byte.
fn decoded(text: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let digits = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let is_hex = |it: &&str| it.bytes().all(|byte| byte.is_ascii_hexdigit());
        match digits.filter(is_hex) {
            Some(digits) if first == b'%' => {
                bytes.push(u8::from_str_radix(digits, 16)?);
                rest = &after[2..];
            }
            _ => bytes.push(first),
        }
    }
    String::from_utf8(bytes).context("%XX does not give UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_states_attributes() {
        let resource = Resource::stated(
            Some("deployment=a%2Cb, service.name=other ,,x=%zz=%"),
            Some("shop"),
        );
        let mut resource = resource.expect("attributes");
        resource.add("x", "kept");
        resource.add("host.name", "h");
        let expected = [
            ("service.name", "shop"),
            ("deployment", "a,b"),
            ("x", "%zz=%"),
            ("host.name", "h"),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(resource.attributes(), expected);
        let none = Resource::stated(None, None).expect("nothing");
        assert_eq!(none.attributes()[0].1, "unknown_service:java");
    }

    #[test]
    fn mistakes_do_not_show_values() {
        let error = Resource::stated(Some("a=b,secret"), None).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("part 2") && !text.contains("secret"),
            "{text}"
        );
    }
}
