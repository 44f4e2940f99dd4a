//! The heads of pages: the run in facts, stacks that were cut, threads that wait for work.

use super::show;
use super::support::{Scene, run, stdout};

/// On the wall clock: half of the samples wait for work, a tenth is cut before the program, and the rest asks the database.
const WALL: &str = "\
JAVA PROFILE 1.0.1, created Sun Nov 22 05:47:37 2026

Header.

--------

# hprof-rs agent: version=0.1.0 pid=7 format=a modes=cpu=samples main=shop.Main
THREAD START (obj=50000009, id = 200001, name=\"main\", group=\"main\")
TRACE 300001:
\tjdk.internal.misc.Unsafe.park(Unsafe.java:Unknown line)
\tjava.util.concurrent.LinkedBlockingQueue.take(LinkedBlockingQueue.java:435)
\tjava.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1062)
\tjava.lang.Thread.run(Thread.java:840)
TRACE 300002:
\tshop.Database.read(Database.java:7)
\tshop.Main.main(Main.java:3)
TRACE 300003:
\tjava.net.Socket.read(Socket.java:1)
\tjava.io.Stream.a(Stream.java:1)
\tjava.io.Stream.b(Stream.java:2)
\tjava.io.Stream.c(Stream.java:3)
CPU SAMPLES BEGIN (total = 1000) Sun Nov 22 05:47:38 2026
rank   self  accum   count trace method
   1 50.00% 50.00%     500 300001 jdk.internal.misc.Unsafe.park
   2 40.00% 90.00%     400 300002 shop.Database.read
   3 10.00% 100.0%     100 300003 java.net.Socket.read
CPU SAMPLES END
# hprof-rs run: began=2026-11-29T11:14:00+01:00 run_ms=20000 process_cpu_ms=2100 cpus=4 interval_us=10000 clock=wall depth=4 host=web-1
# hprof-rs vm: OpenJDK 64-Bit Server VM 17.0.15+6
# hprof-rs command: java -Xmx2g -Ddb.password=... shop.Main (2 arguments)
";

#[test]
fn threads_that_wait_for_work_are_behind_a_switch() {
    let Some((_scene, _, browser)) = show("wall.txt", WALL, &[]) else {
        return;
    };
    let head = browser.text("document.querySelector('header').textContent");
    for part in [
        "shop.Main, wall-clock samples every 10 ms, 20 s",
        "2.1 s of CPU in 20 s: 0.1 cores of 4",
        "began 2026-11-29 11:14:00+01:00",
        "OpenJDK 64-Bit Server VM 17.0.15+6",
        "on web-1",
        "java -Xmx2g -Ddb.password=... shop.Main (2 arguments)",
    ] {
        assert!(head.contains(part), "{part}: {head}");
    }
    // On the wall clock nothing advises the wall clock.
    assert!(!head.contains("--wall"), "{head}");
    let button = || browser.text("document.getElementById('idle').textContent");
    let is_on = || browser.text("document.getElementById('idle').getAttribute('aria-pressed')");
    let shown = |frame: &str| !browser.value(&format!("hprofFrame({frame:?})")).is_null();
    let parked = "java.util.concurrent.ThreadPoolExecutor.getTask";
    assert_eq!(
        (button(), is_on()),
        ("Hide waits for work (50.00%)".to_owned(), "true".to_owned())
    );
    assert!(shown("shop.Database.read") && !shown(parked));
    // Shares are of what is shown.
    let headline = browser.text("document.getElementById('headline').textContent");
    assert!(
        headline.starts_with("At least 80\u{a0}% in shop.Database.read (Database.java:7)"),
        "{headline}"
    );
    assert!(
        headline.contains("20\u{a0}% of the cost is in stacks that end after 4 frames"),
        "{headline}"
    );
    browser.value("document.getElementById('idle').click()");
    assert_eq!(is_on(), "false");
    assert!(shown("shop.Database.read") && shown(parked));
    assert_eq!(browser.text("location.hash"), "#idle=1");
    browser.press(&["w"]);
    assert_eq!(is_on(), "true");
    assert!(!shown(parked));
}

#[test]
fn a_profile_of_cpu_time_that_mostly_waited_advises_the_wall_clock() {
    let text = WALL.replace("clock=wall", "clock=cpu");
    let Some((_scene, _, browser)) = show("cpu.txt", &text, &[]) else {
        return;
    };
    let warnings = browser.text("document.getElementById('warnings').textContent");
    assert!(
        warnings.contains("The program mostly waited") && warnings.contains("--wall"),
        "{warnings}"
    );
    assert_eq!(
        browser.text("String(document.getElementById('idle').hidden)"),
        "true"
    );
}

#[test]
fn commands_say_where_stacks_end_before_the_program() {
    let scene = Scene::new();
    std::fs::write(scene.path("wall.txt"), WALL).unwrap();
    let sentence = "10 % of the cost is in stacks that end after 4 frames, before a method of the program; depth=64 shows which";
    for command in ["samples", "summary"] {
        let text = stdout(&run(&mut scene.hprof_rs(&[command, "wall.txt"]), ""));
        assert!(
            text.contains("At least 40 % in shop.Database.read"),
            "{command}: {text}"
        );
        assert!(text.contains(sentence), "{command}: {text}");
    }
    let summary = stdout(&run(&mut scene.hprof_rs(&["summary", "wall.txt"]), ""));
    assert!(
        summary.contains("2.1 s of CPU in 20 s: 0.1 cores of 4"),
        "{summary}"
    );
    let deep = WALL.replace("depth=4", "depth=64");
    std::fs::write(scene.path("deep.txt"), deep).unwrap();
    let text = stdout(&run(&mut scene.hprof_rs(&["samples", "deep.txt"]), ""));
    assert!(
        text.contains("\n40 % in shop.Database.read") && !text.contains("depth="),
        "{text}"
    );
}
