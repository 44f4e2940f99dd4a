//! Files for pprof, speedscope and the Firefox Profiler.

use super::*;

/// The messages of pprof's `proto/profile.proto`, read by a library that the writer does not use.
mod pprof {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
        #[prost(int64, repeated, tag = "13")]
        pub comment: Vec<i64>,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub kind: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub label: Vec<Label>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Label {
        #[prost(int64, tag = "1")]
        pub key: i64,
        #[prost(int64, tag = "2")]
        pub text: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "3")]
        pub system_name: i64,
        #[prost(int64, tag = "4")]
        pub filename: i64,
    }
}

#[test]
fn pprof_files_say_what_the_profile_says() {
    for file in PROFILES {
        let packed = convert(file, "p.pb.gz", &[]);
        let mut bytes = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        let profile = pprof::Profile::decode(&bytes[..]).unwrap();
        assert_eq!(profile.string_table[0], "");
        let text = |index: i64| profile.string_table[index as usize].as_str();
        let functions: HashMap<u64, &str> = profile
            .function
            .iter()
            .map(|function| (function.id, text(function.name)))
            .collect();
        let locations: HashMap<u64, &str> = profile
            .location
            .iter()
            .map(|location| (location.id, functions[&location.line[0].function_id]))
            .collect();
        assert_eq!(locations.len(), profile.location.len(), "ids differ");
        assert!(!locations.contains_key(&0) && !functions.contains_key(&0));
        let first = profile.sample_type[0].kind;
        assert_eq!(profile.default_sample_type, first);
        let sum: i64 = profile.sample.iter().map(|sample| sample.value[0]).sum();
        assert_eq!(sum as u64, samples(file, first_measure(file)), "{file}");
        for sample in &profile.sample {
            assert_eq!(sample.value.len(), profile.sample_type.len());
            assert!(
                sample
                    .location_id
                    .iter()
                    .all(|id| locations.contains_key(id))
            );
        }
        if file == "cpu-samples-thread.txt" {
            let threads: Vec<&str> = profile
                .sample
                .iter()
                .flat_map(|sample| &sample.label)
                .map(|label| text(label.text))
                .collect();
            assert!(threads.contains(&"spinner"), "{threads:?}");
            let innermost: Vec<&str> = profile
                .sample
                .iter()
                .map(|s| locations[&s.location_id[0]])
                .collect();
            assert!(innermost.contains(&"Spin.hot"), "{innermost:?}");
        }
    }
}

/// The requirements of speedscope's file-format-spec.ts for a file with sampled profiles.
#[test]
fn speedscope_files_follow_the_specification() {
    for file in PROFILES {
        let value: Value =
            serde_json::from_str(&text(file, "p.speedscope.json", &[])).expect("JSON");
        assert_eq!(
            value["$schema"],
            "https://www.speedscope.app/file-format-schema.json"
        );
        let frames = value["shared"]["frames"].as_array().unwrap();
        assert!(frames.iter().all(|frame| frame["name"].is_string()));
        assert!(frames.iter().all(|frame| {
            let line = frame.get("line");
            line.is_none_or(|line| line.is_u64())
        }));
        let profiles = value["profiles"].as_array().unwrap();
        assert!(!profiles.is_empty());
        let active = value["activeProfileIndex"].as_u64().unwrap() as usize;
        assert!(active < profiles.len());
        for profile in profiles {
            assert_eq!(profile["type"], "sampled");
            assert!(profile["name"].is_string());
            let units = [
                "none",
                "nanoseconds",
                "microseconds",
                "milliseconds",
                "seconds",
                "bytes",
            ];
            assert!(units.contains(&profile["unit"].as_str().unwrap()));
            let samples = profile["samples"].as_array().unwrap();
            let weights = profile["weights"].as_array().unwrap();
            assert_eq!(samples.len(), weights.len());
            let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
            let (start, end) = (&profile["startValue"], &profile["endValue"]);
            assert_eq!(end.as_u64().unwrap() - start.as_u64().unwrap(), sum);
            for index in samples.iter().flat_map(|stack| stack.as_array().unwrap()) {
                assert!((index.as_u64().unwrap() as usize) < frames.len());
            }
        }
        let first = &profiles[0]["endValue"];
        assert_eq!(first.as_u64(), Some(samples(file, first_measure(file))));
    }
}

/// The rules of the Firefox Profiler's processed profile format: tables of columns of one length,
/// whose indexes are within the table that they are for.
#[test]
fn firefox_files_have_tables_that_fit_together() {
    for file in PROFILES {
        let value: Value = serde_json::from_str(&text(file, "p.firefox.json", &[])).expect("JSON");
        let meta = &value["meta"];
        assert!(meta["preprocessedProfileVersion"].as_u64() > Some(40));
        assert!(meta["interval"].is_number() && meta["startTime"].is_number());
        let categories = meta["categories"].as_array().unwrap();
        let strings = value["shared"]["stringArray"].as_array();
        let mut first = 0;
        let title = value["threads"][0]["processName"].clone();
        for thread in value["threads"].as_array().unwrap() {
            let strings = strings
                .or_else(|| thread["stringArray"].as_array())
                .expect("strings");
            let (samples, stacks) = (&thread["samples"], &thread["stackTable"]);
            let (frames, functions) = (&thread["frameTable"], &thread["funcTable"]);
            within(samples, "stack", length(stacks));
            within(stacks, "frame", length(frames));
            within(stacks, "prefix", length(stacks));
            within(frames, "func", length(functions));
            within(frames, "category", categories.len());
            within(functions, "name", strings.len());
            let weights = column(samples, "weight");
            assert_eq!(weights.len(), length(samples));
            if thread["processName"] == title {
                first += weights.iter().map(|w| w.as_u64().unwrap()).sum::<u64>();
            }
        }
        assert_eq!(first, samples(file, first_measure(file)), "{file}");
    }
}

/// A sample weighs 31 bits at most; a count of 62 bits must not become two thousand million samples.
#[test]
fn a_firefox_file_of_huge_counts_stays_small() {
    let scene = Scene::new();
    let count = 1u64 << 62;
    let profile = format!(
        "JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:08 2026\n\nTRACE 1:\n\tA.b(A.java:1)\n\
         CPU SAMPLES BEGIN (total = {count}) Fri Nov 20 10:34:08 2026\n\
         rank   self  accum   count trace method\n\
         \x20  1 100.00% 100.00% {count}      1 A.b\nCPU SAMPLES END\n"
    );
    fs::write(scene.path("huge.txt"), profile).expect("a file");
    let name = "huge.firefox.json";
    let output = run(
        &mut scene.hprof_rs(&["convert", "huge.txt", "-o", name]),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let written = fs::read(scene.path(name)).expect("the output");
    assert!(written.len() < 2_000_000, "{} bytes", written.len());
    let value: Value = serde_json::from_slice(&written).expect("JSON");
    let thread = &value["threads"][0];
    let sum: u64 = column(&thread["samples"], "weight")
        .iter()
        .map(|weight| weight.as_u64().expect("a weight"))
        .sum();
    let unit = 1u64 << 20;
    assert_eq!(sum, count / unit);
    let title = thread["processName"].as_str().expect("a name");
    assert!(title.ends_with(" / 1048576"), "{title}");
}

fn column<'a>(table: &'a Value, name: &str) -> &'a Vec<Value> {
    table[name]
        .as_array()
        .unwrap_or_else(|| panic!("no column {name} in {table}"))
}

fn length(table: &Value) -> usize {
    table["length"].as_u64().expect("a length") as usize
}

/// Checks that a column has the table's length and holds nulls and indexes below `limit`.
fn within(table: &Value, name: &str, limit: usize) {
    let values = column(table, name);
    assert_eq!(values.len(), length(table), "{name}");
    for value in values.iter().filter(|value| !value.is_null()) {
        assert!(
            (value.as_u64().unwrap() as usize) < limit,
            "{name}: {value}"
        );
    }
}
