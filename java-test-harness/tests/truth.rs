//! The profile agrees with what the programs know about themselves.

use java_test_harness::{Jdk, Outcome, Run, each_jdk};

/// Runs Spin for N CPU seconds in total.
fn spin(jdk: &'static Jdk, options: &str, seconds: f64, threads: u32) -> Outcome {
    let run = Run::new(jdk).agent(options).class("Spin");
    let each = seconds / f64::from(threads);
    run.args([each.to_string(), threads.to_string()])
        .run()
        .expect_status(0)
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let far = (found - expected).abs() > tolerance;
    assert!(
        !far,
        "{what}: {found:.4} in the profile, in truth {expected:.4} ± {tolerance:.4}"
    );
}

/// The share of the first of two methods in their samples, against the CPU seconds that they used.
///
/// A kernel ticks every 4 ms, so a CPU second has at most 250 different moments, however short the
/// interval. A share may be off by four standard deviations of that many.
#[track_caller]
fn assert_share(what: &str, (first, other): (u64, u64), (seconds, other_seconds): (f64, f64)) {
    let all = (first + other) as f64;
    let truth = seconds / (seconds + other_seconds);
    let moments = all.min((seconds + other_seconds) * 250.0);
    let deviation = (truth * (1.0 - truth) / moments).sqrt();
    let what = format!("share {what}");
    assert_near(&what, first as f64 / all, truth, 4.0 * deviation);
}

/// Shares of the methods, and samples × interval against the CPU time used.
///
/// The benchmark `truth` takes longer and is stricter.
fn check(jdk: &'static Jdk, interval: u32, threads: u32) {
    let outcome = spin(
        jdk,
        &format!("cpu=samples,interval={interval}"),
        3.0,
        threads,
    );
    let profile = outcome.profile();
    let (hot, warm) = (outcome.printed("hot"), outcome.printed("warm"));
    let [hot_samples, warm_samples] = ["Spin.hot", "Spin.warm"].map(|it| profile.samples_with(it));
    assert_share("of hot()", (hot_samples, warm_samples), (hot, warm));

    let sampled = profile.table().total as f64 * f64::from(interval) / 1000.0;
    let truth = outcome.printed("cpu");
    // A thread's last interval may end behind its last tick.
    let last = 0.01 * f64::from(threads);
    assert_near("CPU seconds", sampled, truth, 0.05 * truth + last);
    assert_eq!(profile.counter("lost_samples"), 0);
}

#[test]
fn one_thread_every_10_ms() {
    each_jdk(|jdk| check(jdk, 10, 1));
}

#[test]
fn two_threads_every_10_ms() {
    each_jdk(|jdk| check(jdk, 10, 2));
}

#[test]
fn eight_threads_every_10_ms() {
    each_jdk(|jdk| check(jdk, 10, 8));
}

#[test]
fn one_thread_every_millisecond() {
    each_jdk(|jdk| check(jdk, 1, 1));
}

#[test]
fn two_threads_every_millisecond() {
    each_jdk(|jdk| check(jdk, 1, 2));
}

#[test]
fn eight_threads_every_millisecond() {
    each_jdk(|jdk| check(jdk, 1, 8));
}

#[test]
fn each_thread_gets_its_own_samples() {
    each_jdk(|jdk| {
        let outcome = spin(jdk, "cpu=samples,interval=1,thread=y", 2.0, 4);
        let profile = outcome.profile();
        for number in 0..4 {
            let name = format!("spinner-{number}");
            let serial = profile.thread(&name).serial;
            let [hot, warm] = ["Spin.hot", "Spin.warm"].map(|method| {
                profile.samples(|trace| trace.thread == Some(serial) && trace.has(method))
            });
            let truth = ["hot", "warm"].map(|it| outcome.printed(&format!("{name}.{it}")));
            let seconds = truth[0] + truth[1];
            let sampled = (hot + warm) as f64 / 1000.0;
            assert_near(&name, sampled, seconds, 0.01 + 0.05 * seconds);
            let what = format!("of hot() on {name}");
            assert_share(&what, (hot, warm), truth.into());
            assert!(profile.ended_threads.contains(&serial));
        }
    });
}

#[test]
fn loops_without_safepoint_polls_get_their_share() {
    each_jdk(|jdk| {
        let flags = ["-XX:-UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=0"];
        let run = Run::new(jdk)
            .jvm_args(flags)
            .agent("cpu=samples")
            .class("Bias")
            .args(["2"]);
        let outcome = run.run().expect_status(0);
        let (hot, cheap) = (outcome.printed("hot"), outcome.printed("cheap"));
        assert!(
            hot / (hot + cheap) > 0.95,
            "the program is not what it should be"
        );
        let profile = outcome.profile();
        let share = profile.samples(|trace| trace.is_in("Bias.hot")) as f64
            / profile.samples(|trace| trace.has("Bias.main")) as f64;
        assert!(
            share >= 0.90,
            "only {share} of the samples in the loop that used {hot} s"
        );
    });
}

#[test]
fn waiting_gets_no_samples() {
    for engine in ["signal", "safepoint"] {
        each_jdk(|jdk| {
            let options = format!("cpu=samples,thread=y,engine={engine}");
            let run = Run::new(jdk).agent(&options).class("Blocked").args(["2"]);
            let outcome = run.run().expect_status(0);
            let profile = outcome.profile();
            let samples = |name: &str| {
                let serial = profile.thread(name).serial;
                profile.samples(|trace| trace.thread == Some(serial))
            };
            for name in ["accept", "read", "pipe", "sleep", "park", "wait", "enter"] {
                // The VM spins before it waits for a monitor, and longer where it gets no processor.
                let used = outcome.printed(name);
                assert!(used < 0.05, "{name} was not waiting");
                // One for each interval of CPU time, and one more by chance; two seconds of waiting would be 200.
                let most = 1.0 + used / 0.01;
                assert!(
                    samples(name) as f64 <= most,
                    "samples on the thread \"{name}\""
                );
            }
            let truth = outcome.printed("spinner");
            assert!(truth > 0.1, "the spinner got no CPU");
            // The safepoint engine misses what falls between two of its looks.
            let tolerance = if engine == "signal" {
                0.02 + 0.05 * truth
            } else {
                0.5 * truth
            };
            assert_near(
                "CPU seconds",
                samples("spinner") as f64 / 100.0,
                truth,
                tolerance,
            );
        });
    }
}

#[test]
fn depth_is_what_was_asked_for() {
    each_jdk(|jdk| {
        for depth in [0, 1, 4, 100, 2048] {
            let run = Run::new(jdk).agent(&format!("cpu=samples,interval=1,depth={depth}"));
            let run = run.class("DeepRecursion").args(["spin", "0.3", "3000"]);
            let profile = run.run().expect_status(0).profile();
            let longest = profile
                .traces
                .values()
                .map(|trace| trace.frames.len())
                .max();
            if depth == 0 {
                assert!(longest.unwrap_or(0) == 0, "frames in spite of depth=0");
                continue;
            }
            assert_eq!(longest, Some(depth));
            let trace = profile
                .traces
                .values()
                .find(|it| it.is_in("DeepRecursion.bottom"));
            let trace = trace.expect("a trace of the bottom");
            assert_eq!(trace.frames.len(), depth);
            assert!(
                trace.frames[1..]
                    .iter()
                    .all(|it| it.starts_with("DeepRecursion.down("))
            );
        }
    });
}

#[test]
fn lines_are_those_of_the_source() {
    each_jdk(|jdk| {
        let profile = spin(jdk, "cpu=samples,interval=1,depth=2", 1.0, 1).profile();
        let source = std::fs::read_to_string(java_test_harness::java_sources().join("Spin.java"));
        let source: Vec<String> = source.unwrap().lines().map(str::to_owned).collect();
        let (_, trace) = profile
            .traces
            .iter()
            .find(|(_, it)| it.is_in("Spin.hot"))
            .unwrap();
        for (frame, code) in trace
            .frames
            .iter()
            .zip(["Math.sin", "hot(System.nanoTime()"])
        {
            let line = frame
                .strip_suffix(')')
                .and_then(|it| it.rsplit(':').next())
                .unwrap();
            let line: usize = line
                .parse()
                .unwrap_or_else(|_| panic!("no line in {frame}"));
            assert!(
                source[line - 1].contains(code),
                "{frame}: {}",
                source[line - 1]
            );
            assert!(frame.contains("(Spin.java:"));
        }
        let profile = spin(jdk, "cpu=samples,interval=1,lineno=n", 1.0, 1).profile();
        assert!(profile.samples_with("Spin.hot") > 0);
        for frame in profile.traces.values().flat_map(|trace| &trace.frames) {
            assert!(
                !frame
                    .trim_end_matches(')')
                    .ends_with(|it: char| it.is_ascii_digit()),
                "{frame}"
            );
        }
    });
}

#[test]
fn cutoff_leaves_out_small_rows_only() {
    let jdk = Jdk::feature_release(17);
    let all = spin(jdk, "cpu=samples,interval=1,cutoff=0", 1.0, 1).profile();
    assert_eq!(
        all.table().rows.iter().map(|row| row.count).sum::<u64>(),
        all.table().total
    );
    let large = spin(jdk, "cpu=samples,interval=1,cutoff=0.1", 1.0, 1).profile();
    let table = large.table();
    assert!(!table.rows.is_empty() && table.rows.iter().all(|row| row.self_percent >= 10.0));
    let shown: u64 = table.rows.iter().map(|row| row.count).sum();
    assert!(shown < table.total);
    assert_eq!(large.counter("samples_below_cutoff"), table.total - shown);
    assert!(large.counter("rows_below_cutoff") > 0);
}

#[test]
fn the_default_cutoff_hides_at_most_a_hundredth_of_deep_stacks() {
    let jdk = Jdk::feature_release(17);
    let run = Run::new(jdk).agent("cpu=samples,interval=1,depth=64");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/java");
    let compiled = run.path("compiled");
    std::fs::create_dir(&compiled).unwrap();
    let run = run
        .class("CompileLoop")
        .args([sources])
        .args([&compiled])
        .args(["3"]);
    let profile = run.run().expect_status(0).profile();
    let table = profile.table();
    let shown: u64 = table.rows.iter().map(|row| row.count).sum();
    let left = table.total - shown;
    assert_eq!(profile.counter("samples_below_cutoff"), left);
    assert!(
        left * 100 <= table.total,
        "{left} of {} samples",
        table.total
    );
}

/// Where thousands of threads start a second, only one in N gets a timer at once and stands for the others. Without
/// that, their time in the profile were an Nth of the truth, or less.
///
/// About 250 / N moments of a CPU second are seen, which is too few for a narrow bound. On a busy machine the program
/// starts too few threads for an N; and a thread that gets its CPU at a tick of the kernel and ends before the next one
/// is seen by none, with a timer or without.
#[test]
fn threads_that_end_at_once_are_stood_for() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples,interval=1,depth=8,cutoff=0");
        let outcome = run.class("ShortWork").args(["5"]).run().expect_status(0);
        let profile = outcome.profile();
        let (threads, cpu) = (outcome.printed("threads"), outcome.printed("cpu"));
        let at_once = threads - profile.counter("delayed_timers") as f64;
        if at_once > 0.25 * threads {
            eprintln!("{jdk}: {at_once} of {threads} threads had a timer at once, not compared");
            return;
        }
        let in_work = |method: &str| {
            profile.samples(|trace| trace.has("ShortWork.work") && trace.has(method)) as f64
        };
        let [hot, warm] = ["ShortWork.hot", "ShortWork.warm"].map(in_work);
        let share = (hot + warm) / 1000.0 / cpu;
        assert!(
            (0.35..2.0).contains(&share),
            "{share} of {cpu} CPU seconds were sampled, {at_once} of {threads} threads had a timer at once"
        );
        assert_near("share of hot()", hot / (hot + warm), 0.75, 0.25);
    });
}

/// The share of a method that has four fifths of each cycle of some length, which the sampler must not be in step with.
/// In step, it would see one method all the time.
fn check_cycle(jdk: &'static Jdk, options: &str, micros: u32) {
    let run = Run::new(jdk).agent(options).class("Lockstep");
    let outcome = run.args([micros.to_string(), "3".to_owned()]).run();
    let outcome = outcome.expect_status(0);
    let profile = outcome.profile();
    let of = |name: &str| ["most", "rest"].map(|it| outcome.printed(&format!("{it}{name}")));
    let (cpu, wall) = (of(""), of(".wall"));
    let [most, rest] =
        ["Lockstep.most", "Lockstep.rest"].map(|method| profile.samples_with(method) as f64);
    let is_wall = options.contains("cpu=wall");
    let [true_most, true_rest] = if is_wall { wall } else { cpu };
    if options.contains("safepoint") && wall.iter().sum::<f64>() > 1.3 * cpu.iter().sum::<f64>() {
        // Where CPUs are rare, threads wait for the next tick while that engine looks.
        return;
    }
    let (share, truth) = (most / (most + rest), true_most / (true_most + true_rest));
    // A look counts more or less than one sample, as the time since the one before was; many where CPUs are rare.
    let looks = match is_wall {
        true => (most + rest).min(profile.counter("looks") as f64),
        false => (most + rest).min((true_most + true_rest) * 250.0),
    };
    let deviation = 1.4 * (truth * (1.0 - truth) / looks).sqrt();
    let what = format!("{options}: share of most() in cycles of {micros} us");
    // The first samples are taken at ticks, before the thread is known to run for long.
    assert_near(&what, share, truth, 4.0 * deviation + 0.02);
}

#[test]
fn work_in_step_with_the_scheduler_gets_its_share() {
    each_jdk(|jdk| check_cycle(jdk, "cpu=samples", 4000));
}

#[test]
fn work_in_step_with_any_sampler_gets_its_share() {
    let jdk = Jdk::feature_release(17);
    check_cycle(jdk, "cpu=samples,engine=signal", 8000);
    check_cycle(jdk, "cpu=samples,interval=1", 4000);
    check_cycle(jdk, "cpu=samples,engine=safepoint", 10_000);
    check_cycle(jdk, "cpu=wall,filter=main", 10_000);
}
