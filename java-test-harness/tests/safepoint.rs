//! Both engines under the VM's own checks, and what the safepoint engine counts.

use java_test_harness::{Run, each_jdk};

/// The reference to a thread that the VM puts beside its stack is the caller's own: deleting it
/// is an error that only -Xcheck:jni tells. It also warns of a callback that makes more local
/// references than it has room for.
#[test]
fn both_engines_pass_the_jni_checks() {
    each_jdk(|jdk| {
        for engine in ["signal", "safepoint"] {
            let outcome = Run::new(jdk)
                .jvm_arg("-Xcheck:jni")
                .agent(&format!("cpu=samples,engine={engine},interval=1,thread=y"))
                .class("Spin")
                .args(["1", "2"])
                .run()
                .expect_status(0);
            for text in [&outcome.stdout, &outcome.stderr] {
                assert!(
                    !text.contains("WARNING"),
                    "{engine}: the JNI checks complain"
                );
            }
            assert!(outcome.profile().table().total > 0, "{engine}: no samples");
        }
    });
}

/// A VM that is asked for what it keeps with a thread uses freed memory if the thread ends meanwhile
/// (`GetThreadLocalStorage`; it crashed JDK 21). Here threads end all the time under the engine that looks at
/// all of them 1,000 times a second.
#[test]
fn threads_that_end_while_the_safepoint_engine_looks_do_no_harm() {
    each_jdk(|jdk| {
        for options in [
            "cpu=samples,engine=safepoint,interval=1",
            "cpu=samples,engine=safepoint,interval=1,monitor=y",
        ] {
            for _ in 0..3 {
                let outcome = Run::new(jdk)
                    .agent(options)
                    .class("ShortThreads")
                    .args(["2016"])
                    .run()
                    .expect_status(0);
                assert_eq!(outcome.stdout.trim(), "2016", "{options}");
            }
        }
    });
}
