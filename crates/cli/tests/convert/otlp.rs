//! Requests of OTLP.

use super::otlp_messages::Request;
use super::*;

#[test]
fn otlp_files_say_what_the_profile_says() {
    for file in PROFILES {
        let request = Request::of(&convert(file, "p.otlp", &[]));
        request.check();
        let measure = first_measure(file);
        let (name, factor) = match measure {
            "time" => ("cpu", 1_000_000),
            "live-bytes" => ("inuse_space", 1),
            "contention" => ("delay", 1_000_000),
            _ => ("samples", 1),
        };
        assert_eq!(request.sum(name), samples(file, measure) * factor, "{file}");
        let unit = request.kind(&request.profiles()[0]).1;
        assert_eq!(unit == "nanoseconds", factor > 1, "{file}: {unit}");
        if file == "cpu-samples-thread.txt" {
            let samples = || request.profiles()[0].samples.iter();
            let is_spinner = |thread: Option<&&str>| thread == Some(&"spinner");
            assert!(samples().any(|it| {
                is_spinner(request.attributes(&it.attributes).get("thread.name"))
                    && request.frames(it)[0] == ("Spin.hot", Some("jvm"))
            }));
        }
    }
}

/// A recording of JDK 17 has the time of each sample.
#[test]
fn samples_of_a_recording_have_their_times() {
    let scene = Scene::new();
    let from = format!(
        "{}/../foreign/tests/data/jdk17.jfr.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut command = scene.hprof_rs(&["convert", &from, "-o", "p.otlp.gz"]);
    command.env("OTEL_SERVICE_NAME", "shop").env(
        "OTEL_RESOURCE_ATTRIBUTES",
        "deployment.environment.name=a%20b",
    );
    let output = run(&mut command, "");
    assert!(output.status.success(), "{}", stderr(&output));
    let mut bytes = Vec::new();
    let packed = fs::read(scene.path("p.otlp.gz")).expect("the output");
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    let request = Request::of(&bytes);
    request.check();
    assert_eq!(request.resource()["service.name"], "shop");
    assert_eq!(request.resource()["deployment.environment.name"], "a b");
    let all = run(
        &mut scene.hprof_rs(&["samples", "--json", "--measure", "samples", &from]),
        "",
    );
    let all: Value = serde_json::from_str(&stdout(&all)).expect("JSON");
    assert_eq!(request.sum("samples"), all["total"].as_u64().unwrap());
    let profiles = request.profiles().iter();
    let mut cpu = profiles.filter(|it| request.kind(it).0 == "samples");
    let cpu = cpu.next().expect("samples");
    assert!(cpu.samples.iter().all(|it| !it.times.is_empty()));
    assert!(cpu.duration_nano > 0);
    assert!(cpu.samples.iter().all(|it| {
        request
            .attributes(&it.attributes)
            .contains_key("thread.name")
    }));
}
