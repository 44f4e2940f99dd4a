//! The file format of speedscope (<https://www.speedscope.app>), a flame graph viewer.

use std::collections::HashMap;

use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::{FrameIndex, Measure, Weights};
use serde_json::{Value, json};

/// A profile of type "sampled", after speedscope's file-format-spec.ts.
pub fn document(contents: &Contents, weights: &Weights, name: &str) -> Value {
    let mut frames: Vec<Value> = Vec::new();
    let mut index: HashMap<FrameIndex, usize> = HashMap::new();
    let mut classes: HashMap<&str, usize> = HashMap::new();
    let mut samples: Vec<Vec<usize>> = Vec::new();
    let mut costs: Vec<u64> = Vec::new();
    for row in weights.rows.iter().filter(|row| row.value > 0) {
        let stack = contents.stacks.frames_of(row.trace).iter().rev();
        let mut sample: Vec<usize> = stack
            .map(|&at| {
                *index.entry(at).or_insert_with(|| {
                    let frame = contents.stacks.frame(at);
                    let mut value = json!({"name": frame.name()});
                    if let Some(file) = &frame.source_file {
                        value["file"] = json!(file);
                    }
                    if let hprof_format::model::Line::Number(line) = frame.line {
                        value["line"] = json!(line);
                    }
                    frames.push(value);
                    frames.len() - 1
                })
            })
            .collect();
        if let Some(class) = &row.class {
            sample.push(*classes.entry(class).or_insert_with(|| {
                frames.push(json!({"name": class}));
                frames.len() - 1
            }));
        }
        samples.push(sample);
        costs.push(row.value);
    }
    if weights.missing() > 0 {
        frames.push(json!({"name": "<below the cutoff>"}));
        samples.push(vec![frames.len() - 1]);
        costs.push(weights.missing());
    }
    let unit = match weights.measure {
        Measure::Time | Measure::Contention => "milliseconds",
        Measure::AllocatedBytes | Measure::LiveBytes => "bytes",
        _ => "none",
    };
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("hprof-rs ", env!("CARGO_PKG_VERSION")),
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": [{
            "type": "sampled",
            "name": format!("{} of {name}", weights.measure.title()),
            "unit": unit,
            "startValue": 0,
            "endValue": costs.iter().sum::<u64>(),
            "samples": samples,
            "weights": costs,
        }],
    })
}
