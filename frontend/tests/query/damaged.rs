//! Reports on damaged dumps.

use super::*;

#[test]
fn every_damaged_dump_gives_a_report_that_says_what_is_missing() {
    let bytes = fs::read(dump()).unwrap();
    let scene = Scene::new();
    let report = |bytes: &[u8]| {
        fs::write(scene.path("damaged.hprof"), bytes).unwrap();
        let output = run(
            &mut scene.hprof_rs(&["report", "--json", "damaged.hprof"]),
            "",
        );
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
        output
    };
    let whole: Value = serde_json::from_str(&stdout(&report(&bytes))).unwrap();
    assert_eq!(whole["notes"], json!([]));
    for part in 3..20 {
        let output = report(&bytes[..bytes.len() * part / 20]);
        if output.status.success() {
            let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
            assert_ne!(told["notes"], json!([]), "{part}/20");
        } else {
            // Before the heap there is nothing to report.
            assert!(
                stderr(&output).contains("no binary heap dump"),
                "{}",
                stderr(&output)
            );
            assert!(part < 10);
        }
    }
    for at in (100..bytes.len()).step_by(bytes.len() / 25) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        let output = report(&flipped);
        match output.status.success() {
            true => drop(serde_json::from_str::<Value>(&stdout(&output)).unwrap()),
            false => assert!(
                stderr(&output).starts_with("hprof-rs: "),
                "{}",
                stderr(&output)
            ),
        }
    }
}

/// The bytes after each record of a sound file.
fn record_ends(bytes: &[u8]) -> Vec<usize> {
    let header = bytes.iter().position(|&byte| byte == 0).unwrap() + 13;
    let mut ends = vec![header];
    while let Some(length) = bytes
        .get(ends[ends.len() - 1] + 5..)
        .and_then(|it| it.get(..4))
    {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        ends.push(ends[ends.len() - 1] + 9 + length);
    }
    ends
}

#[test]
fn damaged_dumps_of_every_producer_give_a_report_or_say_why_not() {
    let names = [
        "hprof-64.bin",
        "hprof-android.bin",
        "heap-all-b.hprof",
        "heap-sites-b.hprof",
        "cpu-samples-b.hprof",
    ];
    let scene = Scene::new();
    for (path, name) in names.iter().filter_map(|name| Some((shared(name)?, name))) {
        let bytes = fs::read(path).unwrap();
        let told = |what: &str, bytes: &[u8], command: &str| {
            fs::write(scene.path("damaged.hprof"), bytes).unwrap();
            let arguments = [command, "--json", "damaged.hprof"];
            let output = run(&mut scene.hprof_rs(&arguments), "");
            let said = stderr(&output);
            assert!(!said.contains("panicked"), "{name}, {what}: {said}");
            if output.status.success() {
                let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
                return Some(told["notes"] != json!([]));
            }
            assert!(said.starts_with("hprof-rs: "), "{name}, {what}: {said}");
            None
        };
        let ends = record_ends(&bytes);
        let last = ends[ends.len() - 1];
        let step = bytes.len() / 3;
        for (round, at) in (step / 2..bytes.len()).step_by(step).enumerate() {
            let command = ["report", "leaks"][round % 2];
            let noted = told("cut", &bytes[..at], command);
            assert_ne!(noted, Some(false), "{name}: the cut at {at} is not told");
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            told("flipped", &flipped, command);
            let end = ends.iter().rfind(|&&end| end <= at && end < last);
            told("cut between records", &bytes[..*end.unwrap()], command);
        }
    }
}
