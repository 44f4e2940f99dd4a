//! Files of speedscope (<https://www.speedscope.app>, `file-format-spec.ts`).

use std::ops::Range;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::Line;
use hprof_stacks::pictures::CLASS_FILE;
use hprof_stacks::{FrameIndex, Measure};
use serde::Deserialize;

use crate::builder::{Builder, ClassIndex};
use crate::json::{self, Scale};
use crate::{Kind, Profile};

/// The schema that every file states.
pub(crate) const SCHEMA: &str = "speedscope.app/file-format-schema";

#[derive(Deserialize)]
struct File {
    shared: Shared,
    profiles: Vec<OneProfile>,
}

#[derive(Deserialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
struct Frame {
    name: String,
    file: Option<String>,
    line: Option<f64>,
}

/// A profile of type `sampled`, or of type `evented`. Not an enumeration, for which serde would hold
/// all of it once more.
#[derive(Deserialize)]
struct OneProfile {
    name: String,
    unit: String,
    #[serde(default)]
    samples: Vec<Vec<usize>>,
    #[serde(default)]
    weights: Vec<f64>,
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Edge,
    frame: usize,
    at: f64,
}

#[derive(Deserialize, PartialEq)]
enum Edge {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

/// Reads a file.
pub(crate) fn read(file: &[u8], passed: &mut dyn FnMut(Range<usize>)) -> Profile {
    let mut builder = Builder::new(file.len());
    match serde_json::from_slice(file) {
        Ok(found) => add(&mut builder, found),
        Err(error) => json::damage(&mut builder, file, &error),
    }
    passed(0..file.len());
    builder.finish(Kind::Speedscope, None)
}

fn add(builder: &mut Builder, file: File) {
    let frames = file.shared.frames.iter();
    let frames: Vec<Place> = frames.map(|it| place(builder, it)).collect();
    for profile in file.profiles {
        let (name, unit) = (profile.name.as_str(), profile.unit.as_str());
        let own = Scale::of_title(name);
        // Other tools write a profile for each thread.
        let thread = own.is_none().then(|| builder.thread(name));
        let scale = own.unwrap_or_else(|| of_unit(unit));
        let mut adding = Adding {
            builder,
            frames: &frames,
            thread,
            scale,
            unknown: 0,
        };
        for (stack, weight) in profile.samples.iter().zip(profile.weights) {
            adding.add(stack, weight);
        }
        adding.events(&profile.events);
        if adding.unknown > 0 {
            let message = format!(
                "{} frames of stacks are not among those of the file",
                adding.unknown
            );
            builder.damage(None, 0, message);
        }
    }
}

/// A frame of the file, and the class of objects that it stands for in files of this project.
struct Place {
    frame: FrameIndex,
    class: Option<ClassIndex>,
}

fn place(builder: &mut Builder, frame: &Frame) -> Place {
    let is_class = frame.file.as_deref() == Some(CLASS_FILE);
    let line = match frame.line {
        Some(line) if (1.0..=f64::from(i32::MAX)).contains(&line) => Line::Number(line as u32),
        _ => Line::Unknown,
    };
    Place {
        frame: builder.named_frame(&frame.name, frame.file.as_deref(), line),
        class: is_class.then(|| builder.class(&frame.name)),
    }
}

fn of_unit(unit: &str) -> Scale {
    match unit {
        "nanoseconds" => Scale::new(Measure::Time, 1.0),
        "microseconds" => Scale::new(Measure::Time, 1e3),
        "milliseconds" => Scale::new(Measure::Time, 1e6),
        "seconds" => Scale::new(Measure::Time, 1e9),
        "bytes" => Scale::new(Measure::AllocatedBytes, 1.0),
        _ => Scale::new(Measure::Samples, 1.0),
    }
}

struct Adding<'a> {
    builder: &'a mut Builder,
    frames: &'a [Place],
    thread: Option<ThreadSerial>,
    scale: Scale,
    unknown: u64,
}

impl Adding<'_> {
    /// Adds the cost of a stack, outermost frame first.
    fn add(&mut self, stack: &[usize], weight: f64) {
        let class = stack.last().and_then(|&at| self.frames.get(at)?.class);
        let stack = &stack[..stack.len() - usize::from(class.is_some())];
        let trace = self.trace(stack);
        let cost = self.scale.cost(weight);
        self.builder.add(self.scale.measure, trace, class, cost);
    }

    fn trace(&mut self, stack: &[usize]) -> TraceSerial {
        let mut frames = Vec::with_capacity(stack.len());
        for &at in stack.iter().rev() {
            match self.frames.get(at) {
                Some(place) => frames.push(place.frame),
                None => self.unknown += 1,
            }
        }
        self.builder.trace(self.thread, &frames)
    }

    /// Adds the time between two events to the stack that was open between them.
    fn events(&mut self, events: &[Event]) {
        let mut open: Vec<usize> = Vec::new();
        let mut last = events.first().map_or(0.0, |event| event.at);
        for event in events {
            if !open.is_empty() && event.at > last {
                self.add(&open, event.at - last);
            }
            last = event.at;
            match event.kind {
                Edge::Open => open.push(event.frame),
                // Closed out of order by some tools: the frame and what it has called are over.
                Edge::Close => match open.iter().rposition(|&at| at == event.frame) {
                    Some(at) => open.truncate(at),
                    None => self.unknown += 1,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_stacks::by_method;

    #[test]
    fn samples_and_events_are_read() {
        let file = br#"{"$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": {"frames": [{"name": "a.B.main"}, {"name": "a.B.work", "file": "B.java", "line": 7}]},
            "profiles": [
                {"type": "sampled", "name": "main", "unit": "milliseconds", "startValue": 0,
                 "endValue": 5, "samples": [[0], [0, 1], [0, 9]], "weights": [1, 3.5, 0.5]},
                {"type": "evented", "name": "other", "unit": "microseconds", "startValue": 0,
                 "endValue": 9000, "events": [{"type": "O", "frame": 0, "at": 1000},
                 {"type": "O", "frame": 1, "at": 3000}, {"type": "C", "frame": 1, "at": 8000},
                 {"type": "C", "frame": 0, "at": 9000}]}]}"#;
        assert_eq!(crate::Kind::of(file), Some(Kind::Speedscope));
        let profile = read(file, &mut |_| {});
        let [weights] = &profile.weights[..] else {
            panic!("{:?}", profile.weights)
        };
        assert_eq!((weights.measure, weights.total), (Measure::Time, 13));
        let costs = by_method(&profile.stacks, weights);
        let own = |name: &str| costs.iter().find(|it| it.name == name).map(|it| it.own);
        assert!(matches!(own("a.B.work"), Some(8 | 9)), "{costs:?}");
        assert_eq!(profile.threads.len(), 2);
        assert_eq!(profile.damaged, 1);
        let cut = read(&file[..200], &mut |_| {});
        assert_eq!(cut.damaged, 1);
        assert!(cut.damage[0].message.starts_with("line "));
    }
}
