use proptest::prelude::*;

use super::super::raw::Timing;
use super::super::settings::Format;
use super::*;

fn raw(text: &str) -> Raw {
    raw_with(text, None)
}

fn raw_with(text: &str, environment: Option<&str>) -> Raw {
    match parse(text, environment) {
        Ok(Request::Options(raw)) => *raw,
        other => panic!("{text:?}: {other:?}"),
    }
}

/// The text between `hprof option error: ` and the quoted options.
fn detail(text: &str) -> String {
    detail_with(text, None)
}

fn detail_with(text: &str, environment: Option<&str>) -> String {
    let failure = parse(text, environment).expect_err(text);
    let line = failure.lines.first().expect("a line");
    let all = match environment {
        Some(more) if text.is_empty() => more.to_owned(),
        Some(more) => format!("{text},{more}"),
        None => text.to_owned(),
    };
    let (detail, _) = line
        .split_once(&format!(" ({all}) [parse.rs:"))
        .expect(line);
    detail
        .strip_prefix("HPROF ERROR: hprof option error: ")
        .expect(line)
        .to_owned()
}

#[track_caller]
fn assert_detail(text: &str, start: &str) {
    let detail = detail(text);
    let advice = detail.strip_prefix(start);
    assert!(
        advice.is_some_and(|a| a.is_empty() || a.starts_with("; ")),
        "{text}: {detail}"
    );
}

#[test]
fn nothing_means_all_defaults() {
    assert_eq!(raw(""), Raw::default());
    assert_eq!(raw_with("", Some("")), Raw::default());
}

#[test]
fn help_must_be_the_whole_command_line() {
    assert_eq!(parse("help", None), Ok(Request::Help));
    assert_eq!(parse("help", Some("bogus=1")), Ok(Request::Help));
    for text in ["help=1", "help,", " help", "Help"] {
        assert!(detail(text).starts_with("Unknown option: "), "{text}");
    }
    assert_detail("cpu=samples,help", "Unknown option: help");
    assert!(detail_with("", Some("help")).starts_with("Unknown option: help; help must be"));
}

#[test]
fn every_row_of_the_error_table_has_its_text() {
    let rule = "cpu=y|samples|wall|times|old";
    for (text, start) in [
        ("bogus=1", "Unknown option: bogus"),
        ("=x", "general syntax error parsing options"),
        ("abcdefghijklmnop=1", "general syntax error parsing options"),
        (
            "file=a,file=b",
            "file or net options should only appear once",
        ),
        (
            "file=a,net=h:1",
            "file or net options should only appear once",
        ),
        (
            "net=h:1,file=a",
            "file or net options should only appear once",
        ),
        (
            "net=h:1,net=h:1",
            "file or net options should only appear once",
        ),
        (
            "file=a,file=",
            "file or net options should only appear once",
        ),
        ("file=", "syntax error parsing file=filename"),
        ("file", "syntax error parsing file=filename"),
        ("net=", "net option missing ':'"),
        ("net", "net option missing ':'"),
        ("net=:80", "net option missing ':'"),
        ("net=host", "net option missing port"),
        ("net=host:", "net option missing port"),
        ("net=host:,doe=y", "net option missing port"),
        ("net=host:1234567890123456", "net option missing port"),
        ("format=", "syntax error parsing format=a|b"),
        ("format=c", "format option value must be a|b"),
        ("depth=", "syntax error parsing depth=DECIMAL"),
        ("depth=x", "depth option value must be decimal and >= 0"),
        ("depth=-1", "depth option value must be decimal and >= 0"),
        ("depth=4x", "depth option value must be decimal and >= 0"),
        ("interval=", "syntax error parsing interval=DECIMAL"),
        (
            "interval=0",
            "interval option value must be decimal and > 0",
        ),
        (
            "interval=1.5",
            "interval option value must be decimal and > 0",
        ),
        ("cutoff=", "syntax error parsing cutoff=DOUBLE"),
        (
            "cutoff=x",
            "cutoff option value must be floating point and >= 0",
        ),
        (
            "cutoff=-0.1",
            "cutoff option value must be floating point and >= 0",
        ),
        ("cpu=", &format!("syntax error parsing {rule}")),
        ("cpu", &format!("syntax error parsing {rule}")),
        ("cpu=n", "cpu option value must be y|samples|wall|times|old"),
        ("heap=", "syntax error parsing heap=dump|sites|all"),
        ("heap=y", "heap option value must be dump|sites|all"),
        (
            "engine=",
            "syntax error parsing engine=auto|signal|walker|safepoint",
        ),
        (
            "engine=fast",
            "engine option value must be auto|signal|walker|safepoint",
        ),
        ("signal=", "syntax error parsing signal=<name|number>"),
        (
            "exitpause=y",
            "The exitpause option was removed, use -XX:OnError='cmd %%p'",
        ),
        (
            "exitpause",
            "The exitpause option was removed, use -XX:OnError='cmd %%p'",
        ),
        (
            "precrash=y",
            "The precrash option was removed, use -XX:OnError='precrash -p %%p'",
        ),
    ] {
        assert_detail(text, start);
    }
}

#[test]
fn every_switch_takes_y_and_n_only() {
    for spec in table::all().filter(|spec| matches!(spec.kind, Kind::Switch(_))) {
        let name = spec.name;
        let start = format!("{name} option value must be y|n");
        for value in ["", "=", "=yes", "=Y", "= y", "=y ", "=1"] {
            assert_detail(&format!("{name}{value}"), &start);
        }
        let Kind::Switch(field) = spec.kind else {
            continue;
        };
        assert!(*field(&mut raw(&format!("{name}=n,{name}=y"))));
        assert!(!*field(&mut raw(&format!("{name}=y,{name}=n"))));
    }
}

#[test]
fn masks_are_read_in_any_base_without_checks() {
    for name in ["logflags", "debugflags", "X"] {
        assert_detail(
            &format!("{name}="),
            &format!("{name} option value must be numeric"),
        );
        assert_detail(name, &format!("{name} option value must be numeric"));
    }
    assert_eq!(raw("logflags=0x1F").logflags, 31);
    assert_eq!(raw("debugflags=010").debugflags, 8);
    assert_eq!(raw("X=zz").x, 0);
    assert_eq!(raw("logflags=4rest").logflags, 4);
}

#[test]
fn names_run_up_to_the_equals_sign() {
    assert_detail("a,b=1", "Unknown option: a,b");
    assert_detail("cpu=samples,,heap=sites", "Unknown option: ,heap");
    assert_detail(",cpu=samples", "Unknown option: ,cpu");
    assert_detail("cpu=samples,,", "Unknown option: ,");
    assert_detail(" cpu=samples", "Unknown option:  cpu");
    assert_detail("CPU=samples", "Unknown option: CPU");
    assert_detail("dep=3", "Unknown option: dep");
    assert_detail("abcdefghijklmno=1", "Unknown option: abcdefghijklmno");
    assert_detail(
        "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}=1",
        "general syntax error parsing options",
    );
}

#[test]
fn one_trailing_comma_is_accepted() {
    assert!(raw("cpu=samples,").cpu_samples);
    assert_eq!(
        raw("file=a,").destination,
        Some(RawDestination::File("a".into()))
    );
}

#[test]
fn values_run_up_to_the_comma() {
    let file = |text: &str| match raw(text).destination {
        Some(RawDestination::File(file)) => file,
        other => panic!("{other:?}"),
    };
    assert_eq!(file("file=a=b=c,doe=n"), "a=b=c");
    assert_eq!(file("file= a b "), " a b ");
    assert_eq!(
        file(&format!("file={}", "x".repeat(4096))),
        "x".repeat(4096)
    );
    assert_detail(
        &format!("file={}", "x".repeat(4097)),
        "syntax error parsing file=filename",
    );
    assert_detail(
        &format!("depth={}", "1".repeat(4097)),
        "syntax error parsing depth=DECIMAL",
    );
    assert_detail(
        &format!("doe={}", "y".repeat(80)),
        "doe option value must be y|n",
    );
    assert!(detail(&format!("doe={}", "y".repeat(80))).ends_with("longer than 79 bytes"));
    assert_detail(
        &format!("net={}:1", "h".repeat(4097)),
        "net option missing ':'",
    );
}

#[test]
fn the_last_scalar_wins_and_modes_add_up() {
    assert_eq!(raw("depth=3,depth=5").depth, 5);
    assert_eq!(raw("format=b,format=a").format, Format::Text);
    let both = raw("heap=dump,heap=sites");
    assert!(both.heap_dump && both.heap_sites);
    let all = raw("heap=all");
    assert!(all.heap_dump && all.heap_sites);
    let cpu = raw("cpu=y,cpu=times");
    assert!(cpu.cpu_samples && cpu.cpu_timing == Some(Timing::Times));
    assert_eq!(raw("cpu=times,cpu=old").cpu_timing, Some(Timing::Old));
    assert_eq!(raw("cpu=old,cpu=times").cpu_timing, Some(Timing::Times));
}

#[test]
fn numbers_are_read_as_c_reads_them() {
    assert_eq!(raw("depth= +7").depth, 7);
    assert_eq!(raw("depth=4294967298").depth, 2);
    assert_eq!(raw("depth=0").depth, 0);
    assert_eq!(raw("depth=010").depth, 10);
    assert_eq!(raw("interval=\t20").interval, 20);
    assert_eq!(raw("interval=4294967297").interval, 1);
    assert_detail(
        "interval=4294967296",
        "interval option value must be decimal and > 0",
    );
    assert_detail(
        "depth=2147483648",
        "depth option value must be decimal and >= 0",
    );
    assert_detail("depth=7 ", "depth option value must be decimal and >= 0");
    assert_detail("depth= ", "depth option value must be decimal and >= 0");
    assert_eq!(raw("cutoff= 1e-3").cutoff, 0.001);
    assert_eq!(raw("cutoff=0x1p-1").cutoff, 0.5);
    assert_eq!(raw("cutoff=inf").cutoff, f64::INFINITY);
    assert_eq!(raw("cutoff=-0").cutoff, 0.0);
    assert!(raw("cutoff=nan").cutoff.is_nan());
}

#[test]
fn net_takes_host_and_port() {
    let net = |text: &str| match raw(text).destination {
        Some(RawDestination::Net { host, port }) => (host, port),
        other => panic!("{other:?}"),
    };
    let pair = |host: &str, port: &str| (host.to_owned(), port.to_owned());
    assert_eq!(net("net=localhost:8000,doe=n"), pair("localhost", "8000"));
    assert_eq!(net("net=h,x:80"), pair("h,x", "80"));
    assert_eq!(net("net=[::1]:8000"), pair("::1", "8000"));
    assert_eq!(net("net=unix:8000"), pair("unix", "8000"));
    let unix = |path: &str| Some(RawDestination::Unix(path.into()));
    assert_eq!(raw("net=unix:/a:b,doe=n").destination, unix("/a:b"));
    assert_eq!(raw("net=unix:./s").destination, unix("./s"));
    assert_eq!(
        net("net=[fe80::1%eth0]:8000,doe=n"),
        pair("fe80::1%eth0", "8000")
    );
    assert_eq!(net("net=h:999999999999999"), pair("h", "999999999999999"));
    for text in ["net=[::1:8000", "net=[]:8000", "net=[", "net=::1:8000"] {
        assert_detail(text, "net option missing ':'");
        assert!(detail(text).contains("net=[::1]:8000"), "{text}");
    }
    for text in [
        "net=[::1]",
        "net=[::1]:",
        "net=[::1]8000",
        "net=[::1],doe=n",
    ] {
        assert_detail(text, "net option missing port");
    }
    assert!(detail("net=fe80::aaaa:bbbb:cccc:dddd:80").contains("net=[::1]:8000"));
}

#[test]
fn the_environment_comes_after_the_command_line() {
    let both = raw_with("depth=3,cpu=samples", Some("depth=7"));
    assert_eq!(
        (both.depth, both.text.as_str()),
        (7, "depth=3,cpu=samples,depth=7")
    );
    let only = raw_with("", Some("depth=7"));
    assert_eq!((only.depth, only.text.as_str()), (7, "depth=7"));
    assert_eq!(raw_with("depth=3", Some("")).text, "depth=3");
    assert!(detail_with("depth=3,", Some("doe=n")).starts_with("Unknown option: ,doe"));
    assert!(detail_with("depth=3", Some("bogus=1")).starts_with("Unknown option: bogus"));
}

#[test]
fn errorexit_acts_from_its_place_on() {
    use super::super::error::ExitKind;
    let exit = |text: &str| parse(text, None).expect_err(text).exit;
    assert_eq!(exit("bogus=1,errorexit=y"), ExitKind::Status(1));
    assert_eq!(exit("errorexit=y,bogus=1"), ExitKind::Status(9));
    assert_eq!(exit("errorexit=y,errorexit=n,bogus=1"), ExitKind::Status(1));
    assert_eq!(exit("errorexit=y,coredump=y,bogus=1"), ExitKind::Abort);
    assert_eq!(exit("debug=y,errorexit=y,bogus=1"), ExitKind::Abort);
    assert_eq!(exit("errorexit=y,bogus=1,coredump=y"), ExitKind::Status(9));
    assert_eq!(exit("coredump=y,bogus=1"), ExitKind::Status(1));
}

#[test]
fn slips_are_answered_with_what_was_meant() {
    assert_eq!(
        detail("dpeth=3"),
        "Unknown option: dpeth; did you mean depth?"
    );
    assert_eq!(
        detail("cpu=sample"),
        "cpu option value must be y|samples|wall|times|old; did you mean cpu=samples?"
    );
    assert_eq!(
        detail("doe=no"),
        "doe option value must be y|n; did you mean doe=n?"
    );
    assert_eq!(
        detail("doe"),
        "doe option value must be y|n; doe needs a value, write doe=y|n"
    );
}

fn option_string() -> impl Strategy<Value = String> {
    let names = table::all().map(|spec| spec.name).collect::<Vec<_>>();
    let value = prop_oneof![
        Just("y".to_owned()),
        Just("n".to_owned()),
        Just("a:1".to_owned()),
        "[0-9a-z:=%\\[\\] +-]{0,8}",
        "\\PC{0,8}",
    ];
    let item = (
        proptest::sample::select(names),
        "[=,]{0,2}",
        value,
        "[,]{0,2}",
    )
        .prop_map(|(name, equals, value, comma)| format!("{name}{equals}{value}{comma}"));
    proptest::collection::vec(item, 0..5).prop_map(|items| items.concat())
}

proptest! {
    #[test]
    fn any_string_is_read_or_refused_in_one_line(text: String, environment: Option<String>) {
        check_outcome(&text, environment.as_deref())?;
    }

    #[test]
    fn any_likely_string_is_read_or_refused_in_one_line(
        text in option_string(),
        environment in proptest::option::of(option_string()),
    ) {
        check_outcome(&text, environment.as_deref())?;
    }
}

fn check_outcome(text: &str, environment: Option<&str>) -> Result<(), TestCaseError> {
    match parse(text, environment) {
        Ok(Request::Help) => prop_assert_eq!(text, "help"),
        Ok(Request::Options(raw)) => prop_assert!(raw.depth >= 0 && raw.interval > 0),
        Err(failure) => {
            prop_assert!(failure.lines[0].starts_with("HPROF ERROR: hprof option error: "));
            prop_assert!(
                failure
                    .lines
                    .iter()
                    .all(|line| !line.contains(char::is_control))
            );
        }
    }
    Ok(())
}
