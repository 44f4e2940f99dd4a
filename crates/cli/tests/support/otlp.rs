//! The messages of OTLP's profiles (opentelemetry-proto 1.10, `profiles/v1development`), read by a library that the
//! writer does not use.

use std::collections::HashMap;

pub use prost::Message;

#[derive(Clone, PartialEq, prost::Message)]
pub struct Request {
    #[prost(message, repeated, tag = "1")]
    pub resource_profiles: Vec<ResourceProfiles>,
    #[prost(message, optional, tag = "2")]
    pub dictionary: Option<Dictionary>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResourceProfiles {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_profiles: Vec<ScopeProfiles>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AnyValue {
    #[prost(string, tag = "1")]
    pub text: String,
    #[prost(int64, tag = "3")]
    pub number: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ScopeProfiles {
    #[prost(message, repeated, tag = "2")]
    pub profiles: Vec<Profile>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    #[prost(message, optional, tag = "1")]
    pub sample_type: Option<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
    #[prost(fixed64, tag = "3")]
    pub time_unix_nano: u64,
    #[prost(uint64, tag = "4")]
    pub duration_nano: u64,
    #[prost(message, optional, tag = "5")]
    pub period_type: Option<ValueType>,
    #[prost(int64, tag = "6")]
    pub period: i64,
    #[prost(bytes = "vec", tag = "7")]
    pub profile_id: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueType {
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(int32, tag = "2")]
    pub unit: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    #[prost(int32, tag = "1")]
    pub stack: i32,
    #[prost(int32, repeated, tag = "2")]
    pub attributes: Vec<i32>,
    #[prost(int64, repeated, tag = "4")]
    pub values: Vec<i64>,
    #[prost(fixed64, repeated, tag = "5")]
    pub times: Vec<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Dictionary {
    #[prost(message, repeated, tag = "1")]
    pub mappings: Vec<Nothing>,
    #[prost(message, repeated, tag = "2")]
    pub locations: Vec<Location>,
    #[prost(message, repeated, tag = "3")]
    pub functions: Vec<Function>,
    #[prost(message, repeated, tag = "4")]
    pub links: Vec<Nothing>,
    #[prost(string, repeated, tag = "5")]
    pub strings: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub attributes: Vec<Attribute>,
    #[prost(message, repeated, tag = "7")]
    pub stacks: Vec<Stack>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Nothing {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    #[prost(message, repeated, tag = "3")]
    pub lines: Vec<Line>,
    #[prost(int32, repeated, tag = "4")]
    pub attributes: Vec<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Line {
    #[prost(int32, tag = "1")]
    pub function: i32,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Function {
    #[prost(int32, tag = "1")]
    pub name: i32,
    #[prost(int32, tag = "3")]
    pub file: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Attribute {
    #[prost(int32, tag = "1")]
    pub key: i32,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Stack {
    #[prost(int32, repeated, tag = "1")]
    pub locations: Vec<i32>,
}

impl Request {
    pub fn of(bytes: &[u8]) -> Self {
        Self::decode(bytes).expect("a request of OTLP")
    }

    pub fn dictionary(&self) -> &Dictionary {
        self.dictionary.as_ref().expect("a dictionary")
    }

    pub fn profiles(&self) -> &[Profile] {
        &self.resource_profiles[0].scope_profiles[0].profiles
    }

    pub fn resource(&self) -> HashMap<&str, &str> {
        let resource = self.resource_profiles[0].resource.as_ref();
        let attributes = &resource.expect("a resource").attributes;
        attributes
            .iter()
            .map(|it| {
                (
                    it.key.as_str(),
                    it.value.as_ref().expect("a value").text.as_str(),
                )
            })
            .collect()
    }

    pub fn string(&self, at: i32) -> &str {
        &self.dictionary().strings[at as usize]
    }

    /// Type and unit of a profile.
    pub fn kind(&self, profile: &Profile) -> (&str, &str) {
        let kind = profile.sample_type.as_ref().expect("a type");
        (self.string(kind.kind), self.string(kind.unit))
    }

    /// The attributes of a sample or location.
    pub fn attributes(&self, indices: &[i32]) -> HashMap<&str, &str> {
        let table = &self.dictionary().attributes;
        let attributes = indices.iter().map(|&at| &table[at as usize]);
        attributes
            .map(|it| {
                (
                    self.string(it.key),
                    it.value.as_ref().expect("a value").text.as_str(),
                )
            })
            .collect()
    }

    /// The names of a sample's frames, innermost first, with their types.
    pub fn frames(&self, sample: &Sample) -> Vec<(&str, Option<&str>)> {
        let dictionary = self.dictionary();
        let stack = &dictionary.stacks[sample.stack as usize];
        let locations = stack.locations.iter();
        locations
            .map(|&at| {
                let location = &dictionary.locations[at as usize];
                let function = location.lines[0].function as usize;
                let attributes = self.attributes(&location.attributes);
                let kind = attributes.get("profile.frame.type").copied();
                (self.string(dictionary.functions[function].name), kind)
            })
            .collect()
    }

    /// Checks that all that `profiles.proto` demands of a request holds.
    pub fn check(&self) {
        let all = self.dictionary();
        assert_eq!(all.strings[0], "");
        assert_eq!((all.mappings.len(), all.links.len()), (1, 1));
        assert_eq!(all.locations[0], Location::default());
        assert_eq!(all.functions[0], Function::default());
        assert_eq!(all.attributes[0], Attribute::default());
        assert_eq!(all.stacks[0], Stack::default());
        let mut strings = all.strings.clone();
        strings.sort_unstable();
        strings.dedup();
        assert_eq!(strings.len(), all.strings.len(), "each string once");
        let mut ids = Vec::new();
        for profile in self.profiles() {
            assert_eq!(profile.profile_id.len(), 16);
            ids.push(&profile.profile_id);
            assert!(profile.time_unix_nano > 0);
            for sample in &profile.samples {
                assert!(sample.stack > 0 && !self.frames(sample).is_empty());
                assert!(!sample.values.is_empty());
                assert!(sample.times.is_empty() || sample.times.len() == sample.values.len());
                let end = profile.time_unix_nano + profile.duration_nano;
                let span = profile.time_unix_nano..end;
                assert!(sample.times.iter().all(|time| span.contains(time)));
            }
        }
        let profiles = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), profiles, "each profile has a number of its own");
    }

    /// The sum of a type of values.
    pub fn sum(&self, name: &str) -> u64 {
        let mut profiles = self.profiles().iter();
        let profile = profiles.find(|it| self.kind(it).0 == name).expect("a type");
        let values = profile.samples.iter().flat_map(|it| &it.values);
        values.sum::<i64>().try_into().expect("a sum")
    }
}
