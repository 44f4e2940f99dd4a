//! Processed profiles of the Firefox Profiler, as it, samply and `perf script gecko` save them
//! (<https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md>).

use std::ops::Range;

use hprof_format::model::Line;
use hprof_stacks::{FrameIndex, Measure};
use serde::Deserialize;

use crate::builder::{Builder, ClassIndex};
use crate::json::{self, Scale};
use crate::{Kind, Profile};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    meta: Meta,
    #[serde(default)]
    threads: Vec<Thread>,
    #[serde(default)]
    shared: Tables,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default)]
    start_time: f64,
    #[serde(default)]
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Category {
    #[serde(default)]
    name: String,
}

impl Meta {
    /// The category of frames that are no methods but the classes of what was allocated or waited
    /// for, in files of this project.
    fn class_category(&self) -> Option<usize> {
        let mut names = self.categories.iter().map(|it| it.name.as_str());
        names.position(|name| name == "Class")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    name: String,
    process_name: Option<String>,
    samples: Samples,
    // Not flattened from `Tables`, for which serde would hold all of the file once more.
    stack_table: Option<StackTable>,
    frame_table: Option<FrameTable>,
    func_table: Option<FuncTable>,
    string_array: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    #[serde(default)]
    stack: Vec<Option<usize>>,
    weight: Option<Vec<Option<f64>>>,
    weight_type: Option<String>,
}

/// The tables that all threads share in newer versions.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Tables {
    stack_table: Option<StackTable>,
    frame_table: Option<FrameTable>,
    func_table: Option<FuncTable>,
    string_array: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct StackTable {
    frame: Vec<usize>,
    prefix: Vec<Option<usize>>,
}

#[derive(Deserialize)]
struct FrameTable {
    func: Vec<usize>,
    #[serde(default)]
    line: Vec<Option<u32>>,
    #[serde(default)]
    category: Vec<Option<usize>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    name: Vec<usize>,
    #[serde(default)]
    file_name: Vec<Option<usize>>,
}

/// Reads a file.
pub(crate) fn read(file: &[u8], passed: &mut dyn FnMut(Range<usize>)) -> Profile {
    let mut builder = Builder::new(file.len());
    let mut created = None;
    match serde_json::from_slice::<File>(file) {
        Ok(found) => {
            created = Some(found.meta.start_time as u64).filter(|&time| time > 0);
            for thread in &found.threads {
                if !add(&mut builder, thread, &found) {
                    let message = format!(
                        "thread {:?} refers to stacks or frames that the file lacks",
                        thread.name
                    );
                    builder.damage(None, 0, message);
                }
            }
        }
        Err(error) => json::damage(&mut builder, file, &error),
    }
    passed(0..file.len());
    builder.finish(Kind::Firefox, created)
}

/// The longest stack that is read; prefixes of damaged files may go in circles.
const MAX_FRAMES: usize = 100_000;

/// Adds a thread; false if parts of it are not there.
fn add(builder: &mut Builder, thread: &Thread, file: &File) -> bool {
    let shared = &file.shared;
    let samples = &thread.samples;
    let (Some(stacks), Some(frames), Some(functions), Some(strings)) = (
        thread.stack_table.as_ref().or(shared.stack_table.as_ref()),
        thread.frame_table.as_ref().or(shared.frame_table.as_ref()),
        thread.func_table.as_ref().or(shared.func_table.as_ref()),
        thread
            .string_array
            .as_ref()
            .or(shared.string_array.as_ref()),
    ) else {
        return samples.stack.iter().all(Option::is_none);
    };
    let process = thread.process_name.as_deref().unwrap_or_default();
    let own = Scale::of_title(process);
    let class_category = own.and(file.meta.class_category());
    let scale = own.unwrap_or(match samples.weight_type.as_deref() {
        Some("tracing-ms") => Scale::new(Measure::Time, 1e6),
        Some("bytes") => Scale::new(Measure::AllocatedBytes, 1.0),
        _ => Scale::new(Measure::Samples, 1.0),
    });
    // This project's files name a thread like the measure if there are no threads.
    let serial = (thread.name != process).then(|| builder.thread(&thread.name));
    let string = |at: usize| strings.get(at).map(String::as_str);
    let known: Vec<Option<FrameIndex>> = (0..frames.func.len())
        .map(|at| {
            let function = frames.func[at];
            let name = string(*functions.name.get(function)?)?;
            let file = functions.file_name.get(function).copied().flatten();
            let line = match frames.line.get(at).copied().flatten() {
                Some(line) if line > 0 => Line::Number(line),
                _ => Line::Unknown,
            };
            Some(builder.named_frame(name, file.and_then(string), line))
        })
        .collect();
    let class_of = |builder: &mut Builder, frame: usize| -> Option<ClassIndex> {
        let category = *frames.category.get(frame)?;
        category.filter(|_| category == class_category)?;
        let name = string(*functions.name.get(*frames.func.get(frame)?)?)?;
        Some(builder.class(name))
    };
    let mut is_whole = true;
    let mut trace = Vec::new();
    for (index, stack) in samples.stack.iter().enumerate() {
        trace.clear();
        let mut next = *stack;
        let innermost = next.and_then(|at| stacks.frame.get(at));
        let class = innermost.and_then(|&frame| class_of(builder, frame));
        if class.is_some() {
            next = next.and_then(|at| stacks.prefix.get(at).copied().flatten());
        }
        while let Some(at) = next.filter(|_| trace.len() < MAX_FRAMES) {
            let frame = stacks.frame.get(at).and_then(|&frame| *known.get(frame)?);
            let Some(frame) = frame else {
                is_whole = false;
                break;
            };
            trace.push(frame);
            next = stacks.prefix.get(at).copied().flatten();
        }
        let weights = samples.weight.as_ref();
        let weight = weights.and_then(|all| *all.get(index)?).unwrap_or(1.0);
        let trace = builder.trace(serial, &trace);
        builder.add(scale.measure, trace, class, scale.cost(weight));
    }
    is_whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_stacks::by_method;

    #[test]
    fn tables_of_threads_and_shared_ones_are_read() {
        let tables = r#""stackTable": {"frame": [0, 1], "prefix": [null, 0], "length": 2},
            "frameTable": {"func": [0, 1], "line": [null, 7], "length": 2},
            "funcTable": {"name": [0, 1], "fileName": [null, 2], "length": 2},
            "stringArray": ["a.B.main", "a.B.work", "B.java"]"#;
        let samples = r#""samples": {"stack": [0, 1, 1, null], "weight": null, "length": 4}"#;
        let meta = r#""meta": {"interval": 1, "startTime": 5.0, "preprocessedProfileVersion": 55}"#;
        for file in [
            format!(r#"{{{meta}, "threads": [{{"name": "main", {samples}, {tables}}}]}}"#),
            format!(
                r#"{{{meta}, "shared": {{{tables}}}, "threads": [{{"name": "main", {samples}}}]}}"#
            ),
        ] {
            assert_eq!(crate::Kind::of(file.as_bytes()), Some(Kind::Firefox));
            let profile = read(file.as_bytes(), &mut |_| {});
            assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
            let costs = by_method(&profile.stacks, &profile.weights[0]);
            assert_eq!((&*costs[0].name, costs[0].own), ("a.B.work", 2));
            assert_eq!(profile.weights[0].total, 4);
            assert_eq!(profile.created_millis, Some(5));
        }
        let circle = format!(r#"{{{meta}, "threads": [{{"name": "main", {samples}, {tables}}}]}}"#)
            .replace("[null, 0]", "[1, 0]");
        assert_eq!(read(circle.as_bytes(), &mut |_| {}).damaged, 0);
    }
}
