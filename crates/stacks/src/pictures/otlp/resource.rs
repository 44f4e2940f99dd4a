//! The resource of OpenTelemetry to which profiles belong: attributes of the service, by their standard names.

use std::env;

use thiserror::Error;

/// The path of profiles below a receiver's address.
pub const PATH: &str = "/v1development/profiles";
/// The digits of a container's id.
const ID_DIGITS: usize = 64;
/// The name that a service without one has by OpenTelemetry's specification.
pub const UNKNOWN_SERVICE: &str = "unknown_service:java";
const SERVICE_NAME: &str = "service.name";

/// Text that is no list of `key=value`. It does not show values, as they may be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WrongPairs {
    /// A part has no `=`, or no key; its number from 1.
    #[error("part {0} is no key=value; write key=value with commas between")]
    NoPair(usize),
    /// Bytes that are no text.
    #[error("%XX does not give UTF-8")]
    NoText,
}

/// Attributes, each key once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resource {
    attributes: Vec<(String, String)>,
}

impl Resource {
    /// The attributes that the environment states, by `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
    ///
    /// # Errors
    /// If it states them otherwise than OpenTelemetry's specification has it.
    pub fn of_environment() -> Result<Self, WrongPairs> {
        let text = |name| env::var(name).ok().filter(|text| !text.is_empty());
        Self::stated(
            text("OTEL_RESOURCE_ATTRIBUTES").as_deref(),
            text("OTEL_SERVICE_NAME").as_deref(),
        )
    }

    fn stated(attributes: Option<&str>, service: Option<&str>) -> Result<Self, WrongPairs> {
        let mut new = Self::default();
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
    ) -> Result<(), WrongPairs> {
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

    /// A service without more attributes.
    pub fn named(service: &str) -> Self {
        Self {
            attributes: vec![(SERVICE_NAME.to_owned(), service.to_owned())],
        }
    }

    /// The name of the service.
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
pub fn pairs(text: &str) -> Result<Vec<(String, String)>, WrongPairs> {
    let mut pairs = Vec::new();
    for (at, part) in text.split(',').enumerate() {
        if part.trim().is_empty() {
            continue;
        }
        match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                pairs.push((decoded(key.trim())?, decoded(value.trim())?));
            }
            _ => return Err(WrongPairs::NoPair(at + 1)),
        }
    }
    Ok(pairs)
}

/// Text in which `%XX` stands for a byte.
fn decoded(text: &str) -> Result<String, WrongPairs> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let digits = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let is_hex = |it: &&str| it.bytes().all(|byte| byte.is_ascii_hexdigit());
        match digits.filter(is_hex) {
            Some(digits) if first == b'%' => {
                bytes.push(u8::from_str_radix(digits, 16).map_err(|_| WrongPairs::NoText)?);
                rest = &after[2..];
            }
            _ => bytes.push(first),
        }
    }
    String::from_utf8(bytes).map_err(|_| WrongPairs::NoText)
}

/// The service that a program is: its archive without the ending, or its main class.
pub fn service_of(program: &str) -> Option<&str> {
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name
        .strip_suffix(".jar")
        .or_else(|| name.strip_suffix(".war"))
        .unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

/// The container's id in a list as `/proc/PID/cgroup` has it, such as `0::/system.slice/docker-ID.scope`.
pub fn container_of_groups(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let last = line.rsplit('/').next()?;
        let last = last.strip_suffix(".scope").unwrap_or(last);
        let id = last.rsplit(['-', ':']).next()?;
        is_id(id).then_some(id)
    })
}

/// The container's id in a list of mounts (`proc_pid_mountinfo(5)`): container managers mount files of the container's own
/// folder. In a namespace of its own a process sees no groups above it.
pub fn container_of_mounts(mounts: &str) -> Option<&str> {
    let of_host = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(3);
        let (source, target) = (fields.next()?, fields.next()?);
        (target == "/etc/hostname").then_some(source)
    });
    of_host.into_iter().find_map(|source| {
        let mut parts = source.split('/');
        // containerd has the file in the folder of the pod, whose id is not that of the container.
        parts.find(|part| part.ends_with("containers"))?;
        parts.find(|part| is_id(part))
    })
}

fn is_id(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == ID_DIGITS && text.bytes().all(is_digit)
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

    #[test]
    fn a_service_is_named_after_its_program() {
        assert_eq!(service_of("/opt/shop.jar"), Some("shop"));
        assert_eq!(service_of("com.acme.Main"), Some("com.acme.Main"));
        assert_eq!(service_of("acme/com.acme.Main"), Some("com.acme.Main"));
        assert_eq!(service_of(""), None);
    }

    #[test]
    fn containers_have_ids() {
        let id = "0123456789abcdef".repeat(4);
        for line in [
            format!("0::/system.slice/docker-{id}.scope"),
            format!("12:cpu:/docker/{id}"),
            format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{id}.scope"),
            format!("5:cpu:/kubepods/besteffort/pod1/{id}"),
        ] {
            let all = format!("1:name=systemd:/\n{line}\n");
            assert_eq!(container_of_groups(&all), Some(&*id), "{line}");
        }
        assert_eq!(
            container_of_groups("0::/user.slice/session-1.scope\n"),
            None
        );
        let mount =
            |folder: &str| format!("9 8 0:1 {folder} /etc/hostname rw - ext4 /dev/sda rw\n");
        let docker = mount(&format!("/var/lib/docker/containers/{id}/hostname"));
        assert_eq!(container_of_mounts(&docker), Some(&*id));
        let containerd = mount(&format!("/var/lib/containerd/sandboxes/{id}/hostname"));
        assert_eq!(container_of_mounts(&containerd), None);
    }
}
