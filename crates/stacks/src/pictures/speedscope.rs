//! The file format of speedscope (<https://www.speedscope.app>), a flame graph viewer.

use std::collections::HashMap;

use hprof_format::model::Line;
use serde_json::{Value, json};

use super::CLASS_FILE;
use super::profile::Profile;
use crate::table::FrameIndex;
use crate::weights::Weights;

/// The frames that all profiles of a file share.
#[derive(Default)]
struct Frames {
    list: Vec<Value>,
    methods: HashMap<FrameIndex, usize>,
    others: HashMap<String, usize>,
    classes: HashMap<String, usize>,
}

impl Frames {
    fn method(&mut self, profile: &Profile<'_>, at: FrameIndex) -> usize {
        *self.methods.entry(at).or_insert_with(|| {
            let frame = profile.stacks.frame(at);
            let mut value = json!({"name": frame.name()});
            if let Some(file) = &frame.source_file {
                value["file"] = json!(file);
            }
            if let Line::Number(line) = frame.line {
                value["line"] = json!(line);
            }
            self.list.push(value);
            self.list.len() - 1
        })
    }

    fn other(&mut self, name: &str) -> usize {
        if let Some(&known) = self.others.get(name) {
            return known;
        }
        self.list.push(json!({"name": name}));
        self.others.insert(name.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }

    fn class(&mut self, name: &str) -> usize {
        if let Some(&known) = self.classes.get(name) {
            return known;
        }
        self.list.push(json!({"name": name, "file": CLASS_FILE}));
        self.classes.insert(name.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// A file with a profile of type "sampled" for each measure, after speedscope's
/// file-format-spec.ts.
pub fn document(profile: &Profile<'_>) -> Value {
    let mut frames = Frames::default();
    let profiles: Vec<Value> = profile
        .weights
        .iter()
        .map(|weights| one(profile, weights, &mut frames))
        .collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("hprof-rs ", env!("CARGO_PKG_VERSION")),
        "name": profile.title,
        "activeProfileIndex": 0,
        "shared": {"frames": frames.list},
        "profiles": profiles,
    })
}

fn one(profile: &Profile<'_>, weights: &Weights, frames: &mut Frames) -> Value {
    let mut samples: Vec<Vec<usize>> = Vec::new();
    let mut costs: Vec<u64> = Vec::new();
    for row in weights.rows.iter().filter(|row| row.value > 0) {
        let stack = profile.stacks.frames_of(row.trace).iter().rev();
        let mut sample: Vec<usize> = stack.map(|&at| frames.method(profile, at)).collect();
        if sample.is_empty() {
            sample.push(frames.other(crate::call_tree::EMPTY));
        }
        if let Some(class) = &row.class {
            sample.push(frames.class(class));
        }
        samples.push(sample);
        costs.push(row.value);
    }
    if weights.missing() > 0 {
        samples.push(vec![frames.other(crate::call_tree::CUT_OFF)]);
        costs.push(weights.missing());
    }
    let unit = match weights.measure {
        measure if measure.is_time() => "milliseconds",
        measure if measure.unit() == "bytes" => "bytes",
        _ => "none",
    };
    json!({
        "type": "sampled",
        "name": format!("{} of {}", weights.measure.title(), profile.title),
        "unit": unit,
        "startValue": 0,
        "endValue": costs.iter().sum::<u64>(),
        "samples": samples,
        "weights": costs,
    })
}
