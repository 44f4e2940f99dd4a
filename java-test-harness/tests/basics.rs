//! A program under the agent does what it does without it, and leaves a profile.

use java_test_harness::{Run, each_collector, each_release};

/// The agent's message on standard error after it has written a profile.
const DUMPED: &str = "Dumping CPU usage by sampling running threads ... done.\n";

#[test]
fn a_program_runs_as_without_the_agent() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .agent("cpu=samples,depth=8")
            .class("Hello")
            .run();
        let outcome = outcome.expect_status(0);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str()),
            ("hello\n", DUMPED)
        );
        assert_eq!(outcome.files(), ["java.hprof.txt"]);
        let profile = outcome.profile();
        assert_eq!(profile.thread("main").group, "main");
        assert!(
            profile
                .ended_threads
                .contains(&profile.thread("main").serial)
        );
        assert_eq!(profile.tables.len(), 1);
        assert_eq!(profile.counter("internal_errors"), 0);
    });
}

#[test]
fn every_collector_is_fine() {
    each_collector(|jdk, collector| {
        let run = |class: &str, arguments: &[&str]| {
            let run = Run::new(jdk).jvm_args(collector.arguments());
            let run = run.agent("cpu=samples,interval=1").class(class);
            let outcome = run.args(arguments).run().expect_status(0);
            assert_eq!(outcome.stderr, DUMPED);
            outcome
        };
        let outcome = run("HelloWorld", &[]);
        assert!(outcome.stdout.starts_with("Hello, world\n"));
        assert_eq!(outcome.profile().counter("internal_errors"), 0);
        // A kernel that ticks every 4 ms looks at it 25 times; the one above may end before it looks.
        let outcome = run("Spin", &["0.1"]);
        assert!(outcome.profile().table().total > 0);
    });
}

/// Users look up there what the last lines of a profile mean.
#[test]
fn every_counter_of_a_profile_is_in_the_document() {
    let document = include_str!("../../docs/counters.md");
    each_release(|jdk| {
        for options in [
            "cpu=samples",
            "cpu=wall",
            "cpu=times",
            "cpu=times,clock=exact",
            "heap=sites",
            "monitor=y",
        ] {
            let run = Run::new(jdk).agent(options).class("Hello").run();
            let profile = run.expect_status(0).profile();
            let words = profile.comments.iter().filter(|line| {
                // These lines tell who wrote the profile, and reasons with their own words.
                let others = [
                    "hprof-rs agent:",
                    "hprof-rs vm:",
                    "hprof-rs command:",
                    "hprof-rs: skipped_",
                ];
                line.starts_with("hprof-rs") && !others.iter().any(|start| line.starts_with(start))
            });
            let words = words.flat_map(|line| line.split_whitespace());
            let names: Vec<&str> = words
                .filter_map(|word| Some(word.split_once('=')?.0))
                .collect();
            assert!(names.len() > 8, "{options}: {names:?}");
            for name in names {
                let is_there = document.contains(&format!("`{name}`")) || name == "cpu";
                assert!(is_there, "{name} of {options}, {jdk}, is not described");
            }
        }
    });
}

#[test]
fn verbose_n_is_silent() {
    each_release(|jdk| {
        let outcome = Run::new(jdk)
            .agent("cpu=samples,verbose=n")
            .class("Hello")
            .run();
        let outcome = outcome.expect_status(0);
        assert_eq!(outcome.stderr, "");
        assert_eq!(outcome.profile().tables.len(), 1);
    });
}

/// The agent reads names of up to 256 units by itself, and asks the VM for longer ones.
#[test]
fn threads_have_the_names_and_groups_they_start_with_and_their_last_name() {
    let (longest, longer) = ("a".repeat(256), "b".repeat(257));
    let long = "c".repeat(3000);
    each_release(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples").class("ThreadNames");
        let outcome = run.run().expect_status(0);
        assert_eq!(outcome.stderr, DUMPED);
        let profile = outcome.profile();
        let threads = profile.threads.iter().filter(|it| it.group == "inner");
        let mut names: Vec<(u32, Vec<&str>)> = Vec::new();
        for thread in threads {
            match names.last_mut() {
                Some((serial, names)) if *serial == thread.serial => names.push(&thread.name),
                _ => names.push((thread.serial, vec![&thread.name])),
            }
        }
        let names: Vec<Vec<&str>> = names.into_iter().map(|(_, names)| names).collect();
        let last = |first: &str| {
            let serial = profile.threads.iter().find(|it| it.name == first);
            let serial = serial.map(|it| it.serial);
            let of = profile.threads.iter().rev();
            let mut of = of.filter(|it| Some(it.serial) == serial);
            of.next().map(|it| it.name.as_str())
        };
        assert_eq!(last("main"), Some("main renamed"), "{jdk}");
        let expected = [
            "",
            "plain",
            "r\u{f6}t \u{4e2d}\u{6587} \u{1f600}",
            &longest,
            &longer,
            &long,
        ];
        let mut expected: Vec<_> = expected.map(|name| vec![name, "renamed"]).into();
        // It may have started after it got its name.
        let kept = match names.last() {
            Some(kept) if kept.len() == 1 => vec!["kept renamed"],
            _ => vec!["kept", "kept renamed"],
        };
        expected.push(kept);
        assert_eq!(names, expected, "{jdk}");
    });
}

#[test]
fn agent_threads_are_hidden() {
    each_release(|jdk| {
        let run = Run::new(jdk)
            .agent("cpu=samples,thread=y,interval=1")
            .class("Spin")
            .args(["1"]);
        let profile = run.run().expect_status(0).profile();
        assert!(
            profile
                .threads
                .iter()
                .all(|thread| !thread.name.to_lowercase().contains("hprof"))
        );
        let known: Vec<u32> = profile.threads.iter().map(|thread| thread.serial).collect();
        assert!(
            profile
                .ended_threads
                .iter()
                .all(|serial| known.contains(serial))
        );
        for trace in profile.traces.values() {
            assert!(
                trace.thread.is_some_and(|serial| known.contains(&serial)),
                "{trace:?}"
            );
        }
    });
}

#[test]
fn the_agent_loads_once_only() {
    each_release(|jdk| {
        let run = Run::new(jdk)
            .agent("cpu=samples")
            .agent("cpu=samples")
            .class("Hello");
        let outcome = run.run().expect_status(9);
        assert!(
            outcome
                .stderr
                .contains("HPROF ERROR: Cannot load this JVM TI agent twice")
        );
        assert_eq!(outcome.stdout, "");
    });
}
