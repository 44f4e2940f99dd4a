use super::*;

const SECOND: i64 = 1_000_000_000;
/// 2026-11-29, 23:59:50 UTC, for 20 s.
const SPAN: Window = Window {
    from: 1_795_996_790 * SECOND,
    to: 1_795_996_810 * SECOND,
};

fn window(from: &str, to: &str) -> Result<(i64, i64), NoWindow> {
    let bound = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a time"));
    let argument = WindowArgument {
        from: bound(from),
        until: bound(to),
    };
    let found = argument.of(Some(SPAN))?;
    Ok((
        (found.from - SPAN.from) / SECOND,
        (found.to - SPAN.from) / SECOND,
    ))
}

#[test]
fn ends_are_distances_or_clock_times() {
    for (from, to, expected) in [
        ("", "", (0, 20)),
        ("+5s", "", (5, 20)),
        ("+5", "+8", (5, 8)),
        ("+0m5s", "-10s", (5, 10)),
        ("-1m", "", (0, 20)),
        ("23:59:55Z", "00:00:03Z", (5, 13)),
        ("", "00:00:03.5Z", (0, 13)),
        ("2026-11-29T23:59:55Z", "2026-11-30T01:00:01+01:00", (5, 11)),
        ("23:59Z", "+1s", (0, 1)),
    ] {
        assert_eq!(window(from, to), Ok(expected), "{from} {to}");
    }
}

#[test]
fn a_window_without_time_is_refused() {
    assert!(matches!(window("+8s", "+5s"), Err(NoWindow::Inverted(_))));
    assert!(matches!(window("+5s", "+5s"), Err(NoWindow::Inverted(_))));
    for (from, to) in [
        ("+20s", ""),
        ("", "+0s"),
        ("14:00:00Z", "14:01:00Z"),
        ("", "-20s"),
    ] {
        let found = window(from, to);
        assert!(
            matches!(found, Err(NoWindow::Outside { .. })),
            "{from} {to}"
        );
    }
    let none = WindowArgument::default().of(None);
    assert_eq!(none, Err(NoWindow::NoTimes));
}

#[test]
fn other_texts_are_no_times() {
    for text in [
        "",
        "+",
        "-",
        "+-5s",
        "14",
        "5s",
        "+5 apples",
        "25:00:00",
        "2026-11-29",
    ] {
        assert!(text.parse::<Bound>().is_err(), "{text}");
    }
}
