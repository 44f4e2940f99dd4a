//! The rows of answers over many dumps.

use crate::time::Millis;

/// The size by which classes are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The bytes that would be free without the objects of the class.
    #[default]
    Retained,
    /// The objects' own bytes.
    Shallow,
}

impl Measure {
    pub(super) fn value(self) -> super::Value {
        super::Value::Number(i64::from(self == Self::Retained))
    }
}

/// A service: its hosts with their newest dumps. Sizes are bytes, over all hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// The label `service`.
    pub name: String,
    /// Hosts with dumps.
    pub hosts: u64,
    /// All dumps.
    pub dumps: u64,
    /// The time of the newest.
    pub newest: Millis,
    /// Live objects.
    pub live_bytes: u64,
    /// The bytes that equal strings and arrays waste.
    pub array_waste: u64,
    /// The bytes that equal strings waste, where they were counted.
    pub string_waste: Option<u64>,
}

/// A build of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    /// The label `build`.
    pub name: String,
    /// Hosts with dumps of it.
    pub hosts: u64,
    /// Its dumps.
    pub dumps: u64,
    /// The time of the newest.
    pub newest: Millis,
}

/// A class that grew from each dump of a host to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// The class.
    pub name: String,
    /// The hosts on which it grew.
    pub hosts: u64,
    /// By how many bytes, over these hosts.
    pub grown: u64,
    /// Its objects in the newest dumps.
    pub objects: u64,
    /// Its bytes from the oldest to the newest dump, over these hosts. A host with fewer dumps counts
    /// with its oldest before that.
    pub sizes: Vec<u64>,
}

/// A class that takes more in a build than in another. Sizes are bytes of a host, on average.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The class.
    pub name: String,
    /// Hosts with dumps of the old build.
    pub old_hosts: u64,
    /// Hosts with dumps of the new build.
    pub new_hosts: u64,
    /// Its size in the old build.
    pub old: u64,
    /// Its size in the new build.
    pub new: u64,
}

/// A suspect over all services.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetSuspect {
    /// Its name in addresses.
    pub code: String,
    /// The classes and fields that hold it.
    pub signature: String,
    /// The suspicion in a sentence, of one of the dumps.
    pub title: String,
    /// The services that carry it.
    pub services: u64,
    /// Their hosts that carry it.
    pub hosts: u64,
    /// The dumps that have it.
    pub dumps: u64,
    /// The time of the first of these dumps.
    pub first: Millis,
    /// The time of the last.
    pub last: Millis,
    /// The most bytes that it keeps alive in a dump.
    pub retained: u64,
    /// Its largest share of a live heap, from 0 to 1.
    pub share: f64,
}

/// A service that carries a suspect.
#[derive(Debug, Clone, PartialEq)]
pub struct Carrier {
    /// The service.
    pub service: String,
    /// Its hosts that carry it.
    pub hosts: u64,
    /// The dumps that have it.
    pub dumps: u64,
    /// The time of the first of these dumps.
    pub first: Millis,
    /// The time of the last.
    pub last: Millis,
    /// The most bytes that it keeps alive in a dump.
    pub retained: u64,
    /// Its largest share of a live heap, from 0 to 1.
    pub share: f64,
    /// The last of these dumps.
    pub dump: String,
}
