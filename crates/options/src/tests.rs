//! From option string to settings.

use std::path::Path;
use std::time::Duration;

use hprof_format::rank::Cutoff;
use proptest::prelude::*;

use super::*;

const PROCESS: Process = Process {
    pid: 9128,
    start: StartTime {
        year: 2026,
        month: 2,
        day: 6,
        hour: 13,
        minute: 13,
        second: 42,
    },
};

fn settings(text: &str) -> Settings {
    match parse(text, None) {
        Ok(Request::Options(raw)) => resolve(&raw, &PROCESS).expect(text),
        other => panic!("{text:?}: {other:?}"),
    }
}

fn failure(text: &str) -> Failure {
    load(text, None, &PROCESS).expect_err(text)
}

/// Checks the error line up to the line number in the brackets.
#[track_caller]
fn assert_line(text: &str, expected: &str, module: &str) {
    let failure = failure(text);
    let expected = format!("HPROF ERROR: {expected} [{module}.rs:");
    assert!(
        failure.lines[0].starts_with(&expected),
        "{text}: {:?}",
        failure.lines
    );
}

#[test]
fn defaults() {
    let all = settings("");
    let modes = Modes {
        heap_dump: true,
        heap_sites: true,
        by_default: true,
        ..Modes::default()
    };
    let expected = Settings {
        text: String::new(),
        modes,
        format: Format::Text,
        destination: Destination::File("java.hprof.txt".into()),
        picture: None,
        packing: None,
        depth: 4,
        has_depth: false,
        interval: Duration::from_millis(10),
        cutoff: Cutoff::DEFAULT,
        lineno: true,
        thread: false,
        doe: true,
        msa: false,
        force: true,
        has_force: false,
        verbose: true,
        strip: Strip::None,
        primfields: true,
        primarrays: true,
        logflags: 0,
        debugflags: 0,
        coredump: false,
        errorexit: false,
        pause: false,
        debug: false,
        netwait: Duration::ZERO,
        lost: Lost::File,
        exitcmd: false,
        control: true,
        signal: None,
        engine: Engine::Auto,
        sample_clock: SampleClock::Cpu,
        filter: ThreadFilter::default(),
        states: true,
        c_stack: false,
        vm_threads: false,
        event: None,
        timeline: false,
        timeline_max: 10_000_000,
        heap_interval: 0,
        native_interval: 0,
        native_lock_threshold: Duration::ZERO,
        slow: SlowMethods::default(),
        shortcut: true,
        clock: Clock::Sampled,
        include: Patterns::default(),
        exclude: Patterns::default(),
        live: Live::Exact,
        locks: Locks::NONE,
        lock_threshold: Duration::ZERO,
    };
    assert_eq!(all, expected);
}

#[test]
fn written_values_arrive() {
    let text = "cpu=samples,depth=8,interval=1,cutoff=0,lineno=n,thread=y,doe=n,msa=y,force=n,\
                verbose=n,dumplevel=1,primfields=n,primarrays=n,logflags=4,debugflags=1,coredump=y,\
                errorexit=y,pause=y,debug=y,netwait=5,lost=detach,exitcmd=y,control=n,signal=VTALRM,engine=safepoint,heapinterval=512k,shortcut=n,\
                live=estimate,lockthreshold=250,clock=exact,include=com.example:*Servlet,exclude=java,filter=http-*:main,states=n,cstack=y,vmthreads=y,timeline=y,timelinemax=1000,format=b,file=f";
    let modes = Modes {
        cpu_samples: true,
        ..Modes::default()
    };
    let expected = Settings {
        text: text.into(),
        modes,
        format: Format::Binary,
        destination: Destination::File("f".into()),
        picture: None,
        packing: None,
        depth: 8,
        has_depth: true,
        interval: Duration::from_millis(1),
        cutoff: Cutoff::below(0.0),
        lineno: false,
        thread: true,
        doe: false,
        msa: true,
        force: false,
        has_force: true,
        verbose: false,
        strip: Strip::Values,
        primfields: false,
        primarrays: false,
        logflags: 4,
        debugflags: 1,
        coredump: true,
        errorexit: true,
        pause: true,
        debug: true,
        netwait: Duration::from_secs(5),
        lost: Lost::Detach,
        exitcmd: true,
        control: false,
        signal: Some(libc::SIGVTALRM),
        engine: Engine::Safepoint,
        sample_clock: SampleClock::Cpu,
        filter: ThreadFilter::parse("http-*:main").unwrap(),
        states: false,
        c_stack: true,
        vm_threads: true,
        event: None,
        timeline: true,
        timeline_max: 1000,
        heap_interval: 524_288,
        native_interval: 0,
        native_lock_threshold: Duration::ZERO,
        slow: SlowMethods::default(),
        shortcut: false,
        clock: Clock::Exact,
        include: Patterns::parse("com.example:*Servlet").unwrap(),
        exclude: Patterns::parse("java").unwrap(),
        live: Live::Estimate,
        locks: Locks::NONE,
        lock_threshold: Duration::from_micros(250),
    };
    assert_eq!(settings(text), expected);
    assert!(settings(text).checks_output());
    assert_eq!(
        settings(text).error_policy(),
        ErrorPolicy {
            fatal: true,
            abort: true
        }
    );
}

#[test]
fn the_last_clock_of_samples_counts() {
    for (text, wall) in [
        ("cpu=wall", true),
        ("cpu=samples,cpu=wall", true),
        ("cpu=wall,cpu=y", false),
        ("heap=dump", false),
    ] {
        assert_eq!(settings(text).samples_wall(), wall, "{text}");
    }
    let refused = failure("cpu=wall,filter=a::b");
    assert!(refused.lines[0].contains("filter"), "{refused:?}");
}

#[test]
fn heap_is_on_only_if_no_mode_is() {
    for text in ["monitor=n", "format=b", "depth=3", "monitor=y,monitor=n"] {
        let modes = settings(text).modes;
        assert!(
            modes.heap_dump && modes.heap_sites && modes.by_default,
            "{text}"
        );
        assert!(modes.tracks_objects() && !modes.counts_calls());
    }
    for text in ["monitor=y", "cpu=samples", "cpu=old"] {
        let modes = settings(text).modes;
        assert!(
            !modes.heap_dump && !modes.heap_sites && !modes.by_default,
            "{text}"
        );
    }
    let dump = settings("heap=dump").modes;
    assert!(dump.heap_dump && !dump.heap_sites && !dump.by_default);
}

#[test]
fn the_last_of_times_and_old_decides() {
    let times = settings("cpu=old,cpu=times,depth=9");
    assert!(times.modes.cpu_times && !times.modes.cpu_old && times.modes.counts_calls());
    assert_eq!(times.call_depth(), 9);
    let old = settings("cpu=times,cpu=old,depth=9");
    assert!(old.modes.cpu_old && !old.modes.cpu_times && old.modes.counts_calls());
    assert_eq!((old.call_depth(), old.depth), (2, 9));
}

#[test]
fn the_default_file_goes_by_the_format() {
    let file = |text: &str| match settings(text).destination {
        Destination::File(file) => file,
        net => panic!("{net:?}"),
    };
    assert_eq!(file("cpu=samples"), Path::new("java.hprof.txt"));
    assert_eq!(file("cpu=samples,format=b"), Path::new("java.hprof"));
    assert_eq!(
        file("file=x-%p-%t-%%.out"),
        Path::new("x-9128-20260206-131342-%.out")
    );
    assert_eq!(file("file=x.%d"), Path::new("x.%d"));
}

#[test]
fn binary_output_excludes_call_times_and_monitors_in_this_order() {
    let cpu = "hprof option error: cpu=times|old is not supported with format=b; \
               leave out format=b, or cpu=times|old";
    let monitor = "hprof option error: monitor=y is not supported with format=b; \
                   leave out format=b, or monitor=y";
    for (text, start) in [
        ("format=b,cpu=times", cpu),
        ("cpu=old,format=b", cpu),
        ("format=b,monitor=y,cpu=times,cpu=samples", cpu),
        ("format=b,monitor=y", monitor),
        ("monitor=y,cpu=samples,format=b", monitor),
    ] {
        assert_line(text, &format!("{start} ({text})"), "resolve");
    }
    assert_eq!(settings("format=b,cpu=times,format=a").format, Format::Text);
}

#[test]
fn samples_and_call_times_are_run_separately() {
    assert_line(
        "cpu=samples,cpu=times",
        "hprof option error: cpu=samples and cpu=times cannot be combined: \
         run the program once with each of them (cpu=samples,cpu=times)",
        "resolve",
    );
    assert!(failure("cpu=old,cpu=y").lines[0].contains("cpu=samples and cpu=old cannot"));
}

#[test]
fn native_memory_has_text_and_tables_of_its_own() {
    let native = settings("native=512k");
    assert!(native.modes.native && !native.modes.tracks_objects());
    assert_eq!(native.native_interval, 524_288);
    assert!(!settings("native=0,cpu=samples").modes.native);
    for (options, why) in [
        (
            "native=1m,format=b",
            "native= is not supported with format=b",
        ),
        (
            "native=1m,file=a.hprof.gz",
            "native= does not support; give",
        ),
        (
            "native=1m,heap=all",
            "native= and heap=sites cannot be combined",
        ),
    ] {
        let line = &failure(options).lines[0];
        assert!(line.contains(why), "{line}");
    }
}

#[test]
fn native_locks_have_a_threshold() {
    let all = settings("nativelock=y");
    assert!(all.modes.native_lock && !all.modes.tracks_objects());
    assert_eq!(all.native_lock_threshold, Duration::ZERO);
    let long = settings("nativelock=100us,native=1m,monitor=y");
    assert!(long.modes.native_lock && long.modes.native && long.modes.monitor);
    assert_eq!(long.native_lock_threshold, Duration::from_micros(100));
    assert!(!settings("nativelock=n,cpu=samples").modes.native_lock);
    for (options, why) in [
        ("nativelock=100", "y, n or a time, such as 100us"),
        (
            "nativelock=y,format=b",
            "nativelock= is not supported with format=b",
        ),
    ] {
        let line = &failure(options).lines[0];
        assert!(line.contains(why), "{line}");
    }
}

#[test]
fn depth_ends_at_its_limit() {
    assert_eq!(settings("depth=2048").depth, 2048);
    assert_eq!(settings("depth=0").depth, 0);
    assert_eq!(settings("depth=5000,depth=6").depth, 6);
    assert_line(
        "depth=2049",
        "hprof option error: depth option value must be at most 2048; \
         2049 frames per trace are too many (depth=2049)",
        "resolve",
    );
}

#[test]
fn ports_are_checked_when_setting_up() {
    for (text, host) in [
        ("net=h:1", "h"),
        ("net=[::1]:1", "::1"),
        ("net=h:00001", "h"),
    ] {
        let expected = Destination::Net {
            host: host.into(),
            port: 1,
        };
        assert_eq!(settings(text).destination, expected);
    }
    for port in [
        "0",
        "-1",
        "x",
        "65536",
        "80x",
        " 80",
        "70000",
        "99999999999",
    ] {
        let text = format!("net=h:{port}");
        let expected = format!("invalid port number: {port} in {text}; a port is 1 to 65535");
        assert_line(&text, &expected, "resolve");
        assert_eq!(failure(&text).exit, ExitKind::Status(1));
    }
    let [line] = failure("net=[::1]:0").lines.try_into().expect("one line");
    assert!(line.contains("0 in net=[::1]:0; a port"), "{line}");
    assert!(failure("net=fe80::1:80").lines[0].contains("brackets"));
}

#[test]
fn signals_and_engines() {
    assert_eq!(settings("signal=auto").signal, None);
    assert_eq!(
        settings("signal=27,signal=SIGALRM").signal,
        Some(libc::SIGALRM)
    );
    assert_eq!(settings("engine=signal,engine=auto").engine, Engine::Auto);
    let start = "hprof option error: signal option value must be auto, or the name or number of \
                 a signal; ";
    for (text, reason) in [
        (
            "signal=SIGSEGV",
            "SIGSEGV is taken: the JVM handles errors with it",
        ),
        ("signal=prof", "did you mean signal=SIGPROF?"),
    ] {
        assert_line(text, &format!("{start}{reason} ({text})"), "resolve");
    }
}

#[test]
fn cross_checks_respect_errorexit() {
    let failure = failure("format=b,monitor=y,errorexit=y");
    assert_eq!(failure.lines[1..], ["HPROF TERMINATED PROCESS"]);
    assert_eq!(failure.exit, ExitKind::Status(9));
}

#[test]
fn modes_that_are_built_start() {
    for (text, heap, cpu) in [
        ("", true, false),
        ("depth=3", true, false),
        ("heap=all", true, false),
        ("heap=sites,heap=dump,cpu=samples", true, true),
        ("cpu=samples", false, true),
        ("cpu=y,format=b,file=x", false, true),
        ("cpu=samples,thread=y,interval=1", false, true),
    ] {
        match load(text, None, &PROCESS) {
            Ok(Start::Profile(settings)) => {
                let modes = settings.modes;
                assert_eq!((modes.heap_dump, modes.heap_sites), (heap, heap), "{text}");
                assert_eq!(modes.cpu_samples, cpu, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(
        load("help", Some("bogus"), &PROCESS),
        Ok(Start::Help(help_text()))
    );
}

proptest! {
    #[test]
    fn settings_keep_their_promises(
        text in "((heap=(dump|sites|all)|cpu=(y|times|old)|monitor=[yn]|format=[ab]|depth=[0-9]{1,5}\
                 |interval=[1-9]{1,10}|signal=[A-Z0-9]{1,4}|net=[a-z]:[0-9]{1,6}),){0,6}",
    ) {
        let Ok(Request::Options(raw)) = parse(&text, None) else { return Ok(()) };
        let Ok(settings) = resolve(&raw, &PROCESS) else { return Ok(()) };
        let modes = settings.modes;
        prop_assert!(settings.depth <= settings::MAX_DEPTH);
        prop_assert!(settings.interval >= Duration::from_millis(1));
        prop_assert!(modes.tracks_objects() || modes.counts_calls() || modes.cpu_samples || modes.monitor || modes.native || modes.native_lock || modes.slow);
        prop_assert!(!(modes.cpu_samples && modes.counts_calls()));
        let binary = settings.format == Format::Binary;
        prop_assert!(!(binary && (modes.counts_calls() || modes.monitor || modes.native)));
    }
}

#[test]
fn names_that_promise_other_formats_are_refused() {
    for (options, end) in [
        ("cpu=samples,file=a.json", ".json"),
        ("heap=dump,file=d/a.JFR", ".JFR"),
        ("heap=dump,format=b", ""),
        ("heap=dump,format=b,file=a.json", ""),
        ("cpu=samples,file=a.speedscope.json", ""),
        ("file=app-2024.01.31", ""),
    ] {
        if end.is_empty() {
            settings(options);
            continue;
        }
        let failure = failure(options);
        let detail = format!("the agent does not write {end}, as ");
        assert!(failure.lines[0].contains(&detail), "{:?}", failure.lines);
        assert!(
            failure.lines[0].contains("format=a|b"),
            "{:?}",
            failure.lines
        );
    }
}

#[test]
fn names_of_pictures_ask_for_pictures() {
    let page = settings("cpu=samples,file=a.html");
    assert_eq!(
        (page.picture, page.depth),
        (Some(Picture::Html), PICTURE_DEPTH)
    );
    assert_eq!(page.cutoff, Cutoff::below(0.0));
    let shallow = settings("depth=4,cpu=samples,file=a.svg");
    assert_eq!((shallow.picture, shallow.depth), (Some(Picture::Svg), 4));
    let written = settings("cpu=samples,format=a,file=a.html");
    assert_eq!((written.picture, written.depth), (None, 4));
    for (options, what, file) in [
        ("heap=dump,file=a.html", "heap dump", "a.html"),
        ("file=a.html", "heap dump", "a.html"),
        ("cpu=old,file=a.svg", "profile of cpu=old", "a.svg"),
    ] {
        let failure = failure(options);
        let detail = format!("a {what} has no stacks to draw, so it cannot go to {file};");
        assert!(failure.lines[0].contains(&detail), "{:?}", failure.lines);
    }
}

#[test]
fn levels_and_strips_are_one_rule() {
    let strip = |text: &str| settings(text).strip;
    assert_eq!(strip("format=b"), Strip::None);
    assert_eq!(strip("format=b,dumplevel=2,strip=arrays"), Strip::Arrays);
    assert_eq!(strip("format=b,strip=values"), Strip::Values);
    assert_eq!(strip("format=b,dumplevel=1"), Strip::Values);
    assert_eq!(strip("dumplevel=0,format=b,heap=all"), Strip::Contents);
    assert_eq!(strip("dumplevel=2,strip=none"), Strip::None);
    let kept = strip("format=b,strip=all-but=a.Config:int[]");
    assert!(kept.keeps_array("int[]") && kept.keeps_field("a.Config", "a.Config", "x"));
    for (text, said) in [
        (
            "format=b,dumplevel=3",
            "dumplevel option value must be 0|1|2",
        ),
        (
            "format=b,strip=all",
            "strip option value must be none|arrays|values|all-but=<pattern>[:...]; 'all' is not",
        ),
        (
            "format=b,dumplevel=1,strip=arrays",
            "dumplevel=1 and strip= cannot be combined",
        ),
        (
            "dumplevel=1",
            "dumplevel=1 needs format=b; leave it out for text, which never holds primitive",
        ),
        ("heap=dump,strip=arrays", "strip=arrays needs format=b"),
    ] {
        assert!(
            failure(text).lines[0].contains(said),
            "{text}: {:?}",
            failure(text).lines
        );
    }
}

#[test]
fn a_compressed_file_is_binary_unless_the_format_is_given() {
    for (text, format, packing) in [
        (
            "heap=dump,file=a-%p.hprof.gz",
            Format::Binary,
            Some(Packing::Gzip),
        ),
        (
            "file=a.hprof.zst,dumplevel=1",
            Format::Binary,
            Some(Packing::Zstd),
        ),
        (
            "format=a,file=a.hprof.zst",
            Format::Text,
            Some(Packing::Zstd),
        ),
        ("format=b,file=a.hprof", Format::Binary, None),
        ("format=b,file=a.gz", Format::Binary, None),
    ] {
        let settings = settings(text);
        assert_eq!(
            (settings.format, settings.packing),
            (format, packing),
            "{text}"
        );
    }
    let said = "a.hprof.gz selects format=b, which monitor=y does not support";
    assert!(failure("monitor=y,file=a.hprof.gz").lines[0].contains(said));
    let said = "the agent does not write .gz";
    assert!(failure("heap=dump,file=a.gz").lines[0].contains(said));
}
