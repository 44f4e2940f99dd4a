//! The options for those who doubt the profile: `logflags`, `debug`, `errorexit`, `coredump`.

use java_test_harness::{Jdk, Run, each_collector, each_jdk};

#[test]
fn finished_binary_files_have_no_fault() {
    each_jdk(|jdk| {
        for mode in ["cpu=samples,interval=1,thread=y", "heap=sites", "heap=dump"] {
            let options = format!("{mode},format=b,logflags=4");
            let run = Run::new(jdk).agent(&options);
            let outcome = run.class("HelloWorld").run().expect_status(0);
            let told = outcome.stderr.lines().find(|line| line.contains("checked"));
            let told = told.unwrap_or_default();
            assert!(
                told.contains(" records, ") && told.ends_with(", 0 faults"),
                "{mode}: {told}"
            );
            assert!(!outcome.stderr.contains("ERROR"), "{mode}");
            let files = outcome.files();
            if mode == "heap=dump" {
                assert_eq!(files, ["java.hprof", "java.hprof.check.txt"]);
                let listing = outcome.bytes("java.hprof.check.txt");
                let listing = String::from_utf8(listing).unwrap();
                assert!(listing.contains("HEAP_DUMP_SEGMENT") && listing.contains("INSTANCE_DUMP"));
                assert!(listing.contains("HEAP_DUMP_END"));
            } else {
                assert_eq!(files, ["java.hprof"], "{mode}");
            }
        }
    });
}

#[test]
fn heap_dumps_of_every_collector_have_no_fault() {
    each_collector(|jdk, collector| {
        let run = Run::new(jdk).jvm_args(collector.arguments());
        let outcome = run
            .agent("heap=dump,format=b,debug=y")
            .class("HelloWorld")
            .run();
        let outcome = outcome.expect_status(0);
        assert!(outcome.stderr.contains(", 0 faults"));
        assert_eq!(outcome.files(), ["java.hprof"]);
    });
}

#[test]
fn table_sizes_are_told() {
    let run = Run::new(Jdk::feature_release(17)).agent("cpu=samples,logflags=2");
    let outcome = run.class("HelloWorld").run().expect_status(0);
    for when in ["start", "end"] {
        let start = format!("HPROF: tables at the {when}: classes=");
        assert!(outcome.stderr.contains(&start));
    }
}

#[test]
fn an_error_while_the_program_runs_ends_it_only_if_asked() {
    let jdk = Jdk::feature_release(17);
    let run = |options: &str| Run::new(jdk).agent(options).class("HelloWorld").run();
    let outcome = run("cpu=samples,force=y,file=/dev/full").expect_status(0);
    assert!(outcome.stderr.contains("HPROF ERROR: cannot write"));
    let outcome = run("cpu=samples,force=y,file=/dev/full,errorexit=y").expect_status(9);
    assert!(outcome.stderr.ends_with("HPROF TERMINATED PROCESS\n"));
    let outcome = run("cpu=samples,force=y,file=/dev/full,errorexit=y,coredump=y");
    assert_eq!(outcome.signal, Some(6), "SIGABRT");
    assert!(outcome.stderr.contains("HPROF DUMPING CORE"));
}
