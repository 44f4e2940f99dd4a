//! Profiles that the agent writes as pictures, by the name of the file.

use java_test_harness::{Jdk, Outcome, Run, Signal, each_jdk};

fn text(outcome: &Outcome, name: &str) -> String {
    String::from_utf8(outcome.bytes(name)).expect("UTF-8")
}

/// The cost of all lines of collapsed stacks that contain a frame.
fn cost_of(lines: &str, frame: &str) -> u64 {
    let matching = lines.lines().filter(|line| line.contains(frame));
    matching
        .map(|line| {
            let (_, cost) = line.rsplit_once(' ').expect("a cost");
            cost.parse::<u64>().expect("a number")
        })
        .sum()
}

#[test]
fn collapsed_stacks_at_exit() {
    each_jdk(|jdk| {
        let run = Run::new(jdk)
            .agent("cpu=samples,cutoff=0,file=cpu.collapsed")
            .class("Exits")
            .args(["exit", "7"]);
        let outcome = run.run().expect_status(7);
        assert_eq!(outcome.files(), ["cpu.collapsed"]);
        let lines = text(&outcome, "cpu.collapsed");
        // 0.3 s of CPU time in work(), as the program's own clock says.
        assert!(cost_of(&lines, "Exits.main;Exits.work") >= 25, "{lines}");
        let whole = lines.lines().all(|line| {
            line.rsplit_once(' ')
                .is_some_and(|(stack, cost)| !stack.is_empty() && cost.parse::<u64>().is_ok())
        });
        assert!(whole, "{lines}");
    });
}

#[test]
fn a_page_holds_all_dumps_so_far() {
    each_jdk(|jdk| {
        let running = Run::new(jdk)
            .agent("cpu=samples,file=%p.html")
            .class("DumpLoop")
            .start();
        let name = format!("{}.html", running.pid());
        running.wait_for_line("first");
        running.signal(Signal::Quit);
        running.wait_until("the first dump", |running| {
            running.stderr().contains("done.\n")
        });
        let early = std::fs::read_to_string(running.path(&name)).expect("a whole page");
        assert!(early.ends_with("</html>\n"));
        assert!(early.contains("DumpLoop.first") && !early.contains("DumpLoop.third"));
        for go_on in ["go", "end"] {
            std::fs::write(running.path(go_on), "").unwrap();
        }
        let outcome = running.finish().expect_status(0);
        assert_eq!(outcome.files(), [&name, "end", "go"]);
        let page = text(&outcome, &name);
        for method in ["DumpLoop.first", "DumpLoop.third"] {
            assert!(page.contains(method), "{method}");
        }
        assert!(page.contains("lost_samples=0"), "the remarks");
    });
}

#[test]
fn sites_and_times_are_drawn_too() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("heap=sites,file=sites.html")
            .class("AllocPressure")
            .args(["1", "1"])
            .run()
            .expect_status(0);
        let page = text(&outcome, "sites.html");
        for part in [
            "Live bytes",
            "Live objects",
            "Allocated bytes",
            "Allocated objects",
            "AllocPressure.allocate",
            "byte[]",
        ] {
            assert!(page.contains(part), "{part}");
        }
        let outcome = Run::new(jdk)
            .agent("cpu=times,file=times.svg")
            .class("Exits")
            .args(["return"])
            .run()
            .expect_status(0);
        let picture = text(&outcome, "times.svg");
        assert!(picture.contains("Exits.work (") && picture.trim_end().ends_with("</svg>"));
        assert_eq!(outcome.files(), ["times.svg"]);
    });
}

#[test]
fn other_viewers_get_their_files() {
    let agent = |options: &str| {
        Run::new(Jdk::feature_release(17))
            .agent(options)
            .class("Exits")
            .args(["return"])
            .run()
            .expect_status(0)
    };
    let outcome = agent("cpu=samples,thread=y,file=cpu.pb.gz");
    assert_eq!(outcome.bytes("cpu.pb.gz")[..2], [0x1f, 0x8b]);
    let outcome = agent("cpu=samples,file=cpu.speedscope.json");
    let document: serde_json::Value =
        serde_json::from_str(&text(&outcome, "cpu.speedscope.json")).expect("JSON");
    let names = document["shared"]["frames"].as_array().expect("frames");
    assert!(names.iter().any(|frame| frame["name"] == "Exits.work"));
}

#[test]
fn force_n_and_format_keep_their_meaning() {
    let run = || Run::new(Jdk::feature_release(17)).class("Hello");
    let outcome = run()
        .agent("cpu=samples,force=n,file=cpu.svg")
        .file("cpu.svg", "old")
        .run()
        .expect_status(0);
    let other = format!("cpu.{}.svg", outcome.pid);
    assert_eq!(outcome.bytes("cpu.svg"), b"old");
    assert!(text(&outcome, &other).contains("<svg"));
    let outcome = run()
        .agent("cpu=samples,format=a,file=cpu.svg")
        .run()
        .expect_status(0);
    assert_eq!(outcome.text_profile("cpu.svg").tables.len(), 1);
    let outcome = run()
        .agent("heap=dump,file=heap.html")
        .run()
        .expect_status(1);
    assert!(
        outcome.stderr.contains("a heap dump has no stacks to draw"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.files().is_empty());
}
