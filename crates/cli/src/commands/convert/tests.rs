use super::*;

#[test]
fn names_tell_formats() {
    for (name, to) in [
        ("a.b.html", Some(To::Html)),
        ("a.speedscope.json", Some(To::Speedscope)),
        ("a.otlp", Some(To::Otlp)),
        ("a.OTLP.gz", Some(To::Otlp)),
        ("a.firefox.json", Some(To::Firefox)),
        ("a.json", Some(To::Json)),
        ("a.PB.GZ", Some(To::Pprof)),
        ("java.hprof.txt", Some(To::Text)),
        ("java.hprof", Some(To::Binary)),
        ("a.gz", None),
        ("html", None),
        (".html", None),
    ] {
        assert_eq!(format_of_name(Path::new(name)), to, "{name}");
    }
}
