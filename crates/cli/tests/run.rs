//! `hprof-rs run` with a real JVM.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process};
use support::{Scene, burn, java, run, start, stderr, stdout};

fn assert_samples_of_burn(profile: &str) {
    assert!(profile.contains("Burn.spin(Burn.java:"), "{profile}");
    assert!(profile.contains("CPU SAMPLES BEGIN"), "{profile}");
    assert!(
        profile.trim_end().lines().any(|l| l == "CPU SAMPLES END"),
        "{profile}"
    );
}

#[test]
fn the_program_keeps_its_input_output_arguments_and_status() {
    let scene = Scene::new();
    let (java, burn) = (java(), burn());
    let mut command = scene.hprof_rs(&["run", "--", &java, &burn, "300", "42", "--agent", "-a b"]);
    let output = run(&mut command, "hello");
    assert_eq!(output.status.code(), Some(42), "{}", stderr(&output));
    assert_eq!(stdout(&output), "got hello and 300|42|--agent|-a b\n");
    let said = stderr(&output);
    let said: Vec<&str> = said.lines().filter(|it| it.contains("hprof-rs")).collect();
    let next = "hprof-rs: look at it with: hprof-rs samples java.hprof.txt";
    assert_eq!(said, ["hprof-rs: the profile is in java.hprof.txt", next]);
    assert_samples_of_burn(&scene.profile("java.hprof.txt"));
}

#[test]
fn the_file_is_told_unless_messages_are_not_wanted() {
    let scene = Scene::new();
    let (java, burn) = (java(), burn());
    for (options, said) in [
        ("cpu=samples,verbose=n", false),
        ("cpu=samples,file=cpu.svg", true),
    ] {
        let arguments = ["run", "--agent", options, "--", &java, &burn, "300", "0"];
        let output = run(&mut scene.hprof_rs(&arguments), "hello");
        let text = stderr(&output);
        assert_eq!(
            text.contains("the profile is in "),
            said,
            "{options}: {text}"
        );
    }
}

#[test]
fn options_reach_the_agent() {
    let scene = Scene::new();
    let (java, burn) = (java(), burn());
    let options = "cpu=samples,depth=1,file=deep/p-%p.txt";
    fs::create_dir(scene.path("deep")).unwrap();
    let mut command = scene.hprof_rs(&["run", "--agent", options, "--", &java, &burn, "300", "0"]);
    let child = start(&mut command, "hello");
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // The JVM has the place, and so the id, of the command.
    let profile = scene.profile(&format!("deep/p-{pid}.txt"));
    assert_samples_of_burn(&profile);
    // main is rarely the one frame, but may be.
    let frames = profile.split("\nTRACE ").skip(1).map(|trace| {
        let lines = trace.lines().skip(1);
        lines.take_while(|line| line.starts_with('\t')).count()
    });
    let most = frames.max();
    assert_eq!(most, Some(1), "one frame only: {profile}");
}

#[test]
fn stacks_are_deeper_than_four_frames_unless_that_is_asked_for() {
    let scene = Scene::new();
    let (java, burn) = (java(), burn());
    for (options, deep) in [("heap=sites", true), ("heap=sites,depth=4", false)] {
        let arguments = ["run", "--agent", options, "--", &java, &burn, "1", "0"];
        let output = run(&mut scene.hprof_rs(&arguments), "hello");
        assert!(output.status.success(), "{}", stderr(&output));
        let profile = scene.profile("java.hprof.txt");
        let frames = profile
            .split("TRACE ")
            .map(|trace| trace.lines().filter(|line| line.starts_with('\t')).count());
        let most = frames.max().unwrap_or(0);
        assert_eq!(most > 4, deep, "{options}: {most} frames");
        assert!(most <= 8, "{options}: {most} frames");
    }
}

#[test]
fn a_signal_goes_to_the_jvm() {
    let scene = Scene::new();
    let mut command = scene.hprof_rs(&["run", "--", &java(), &burn(), "forever"]);
    let mut child = start(&mut command, "hello");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().map(|line| line.unwrap());
    let mut rest = String::new();
    let Some(Ok(ready)) = lines.next() else {
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut rest)
            .unwrap();
        panic!("{first:?}: {rest}");
    };
    assert_eq!(ready, format!("ready {}", child.id()));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    // HotSpot ends with 128 and the signal's number, after its exit hooks.
    assert_eq!((status.code(), status.signal()), (Some(143), None));
    assert_samples_of_burn(&scene.profile("java.hprof.txt"));
}

#[test]
fn a_launcher_passes_the_agent_on() {
    let scene = Scene::new();
    // Spaces and quotes in the path, and words that the user has set already.
    let cache = scene.path("it's a \"cache\"");
    let script = "exec \"$0\" \"$@\"";
    let (java, burn) = (java(), burn());
    let mut command = scene.hprof_rs(&["run", "--", "sh", "-c", script, &java, &burn, "300", "7"]);
    command
        .env("XDG_CACHE_HOME", &cache)
        .env("JAVA_TOOL_OPTIONS", "-Dgreeting=kept");
    let output = run(&mut command, "hello");
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(stderr.contains("hprof-rs: sh is not java"), "{stderr}");
    assert!(stderr.contains("file=java.hprof.%p.txt"), "{stderr}");
    assert!(stderr.contains("hprof-rs: the profile of "), "{stderr}");
    assert!(
        stderr.contains("Picked up JAVA_TOOL_OPTIONS: -Dgreeting=kept "),
        "{stderr}"
    );
    assert!(cache.join("hprof-rs/agent").is_dir());
    assert_samples_of_burn(&scene.profile("java.hprof.txt"));
}

/// A script may ask for the version, and start helpers: the last JVM replaced the profile of the program.
#[test]
fn a_script_that_starts_java_several_times_keeps_the_profiles_with_data() {
    let (java, burn) = (java(), burn());
    // On a busy machine two seconds are a few milliseconds of CPU time.
    let script =
        "\"$0\" -version && \"$0\" \"$1\" 2000 0 && \"$0\" \"$1\" 2000 0 && \"$0\" -version";
    for (options, name, other) in [
        (
            "cpu=samples,interval=1",
            "java.hprof.txt",
            ("java.hprof.", ".txt"),
        ),
        (
            "cpu=samples,interval=1,format=b,file=mine",
            "mine",
            ("mine.", ""),
        ),
    ] {
        let scene = Scene::new();
        // That of an earlier run is replaced.
        let earlier = scene.path(name);
        fs::write(&earlier, "earlier").unwrap();
        let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(&earlier).unwrap();
        file.set_modified(hour).unwrap();
        let arguments = [
            "run", "--agent", options, "--", "sh", "-c", script, &java, &burn,
        ];
        let output = run(&mut scene.hprof_rs(&arguments), "hello");
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        let names = fs::read_dir(scene.path("")).unwrap();
        let mut names: Vec<_> = names
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| name != "cache");
        names.sort_by_key(String::len);
        let [first, second] = &names[..] else {
            panic!("{names:?}: {said}")
        };
        assert_eq!(first, name);
        let pid = second
            .strip_prefix(other.0)
            .and_then(|it| it.strip_suffix(other.1));
        let pid: u32 = pid.and_then(|it| it.parse().ok()).expect("the process id");
        for file in &names {
            let samples = run(&mut scene.hprof_rs(&["samples", file]), "");
            assert!(
                stdout(&samples).contains("Burn.spin"),
                "{file}: {}",
                stderr(&samples)
            );
            let told = said.lines().any(|line| {
                line.starts_with("hprof-rs: the profile of ")
                    && line.ends_with(&format!(" is in {file}"))
            });
            assert!(told, "{file}: {said}");
        }
        assert!(
            said.contains(&format!(" (process {pid}) is in {second}")),
            "{said}"
        );
    }
}

#[test]
fn a_jvm_of_a_script_without_a_sample_leaves_no_profile_and_says_so() {
    let scene = Scene::new();
    let (java, burn) = (java(), burn());
    fs::write(scene.path("java.hprof.txt"), "earlier").unwrap();
    // The first moment of a thread is random within its interval, so the chance of a sample is the CPU time of a JVM in it.
    let options = "cpu=samples,interval=1000000000";
    let script = "\"$0\" \"$1\" 1 0";
    let arguments = [
        "run", "--agent", options, "--", "sh", "-c", script, &java, &burn,
    ];
    let output = run(&mut scene.hprof_rs(&arguments), "hello");
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("ended without a sample, so it leaves no profile"),
        "{said}"
    );
    assert_eq!(scene.profile("java.hprof.txt"), "earlier");
    assert_eq!(
        fs::read_dir(scene.path("")).unwrap().count(),
        2,
        "the cache and the file"
    );
}

#[test]
fn bad_options_start_nothing() {
    let scene = Scene::new();
    let mut command = scene.hprof_rs(&["run", "--agent", "cpu=sampels", "--", "no-such-program"]);
    let output = run(&mut command, "");
    assert_eq!(output.status.code(), Some(1));
    let stderr = stderr(&output);
    assert!(
        stderr.starts_with("HPROF ERROR: hprof option error: "),
        "{stderr}"
    );
    assert!(stderr.contains("did you mean cpu=samples?"), "{stderr}");
    assert!(!scene.cache().exists());
}

#[test]
fn help_needs_no_program() {
    let scene = Scene::new();
    let output = run(&mut scene.hprof_rs(&["run", "--agent", "help"]), "");
    assert!(output.status.success());
    assert!(stdout(&output).contains("hprof usage: java -agentlib:hprof="));
}

#[test]
fn mistakes_have_a_sentence_and_a_status() {
    let scene = Scene::new();
    for (arguments, status, text) in [
        (&["run"][..], 2, "there is no command to run"),
        (
            &["run", "--", "no-such-program"],
            127,
            "there is no program no-such-program",
        ),
        (&["run", "--", "/"], 126, "cannot run /: "),
        (&["run", "--agnet", "help"], 2, "--agent"),
    ] {
        let output = run(&mut scene.hprof_rs(arguments), "");
        let stderr = stderr(&output);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{arguments:?}: {stderr}"
        );
        assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    }
}
