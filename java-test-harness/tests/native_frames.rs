//! cstack=y: frames of native code in the stacks of samples.

use java_test_harness::{Jdk, Outcome, Run, TextProfile, Trace, each_jdk};

const PREFIX: &str = ".[native] ";

fn run(jdk: &'static Jdk, options: &str) -> Outcome {
    let options = format!("cpu=samples,interval=1,depth=16,cutoff=0{options}");
    let run = Run::new(jdk).agent(&options).class("NativeWork");
    run.args(["0.7"]).run().expect_status(0)
}

fn is_native(trace: &Trace) -> bool {
    let innermost = trace.frames.first();
    innermost.is_some_and(|frame| frame.starts_with(PREFIX))
}

/// The share of the samples of a method that fulfil a condition.
fn share(profile: &TextProfile, method: &str, condition: impl Fn(&Trace) -> bool) -> f64 {
    let part = profile.samples(|trace| trace.has(method) && condition(trace));
    part as f64 / profile.samples_with(method) as f64
}

#[test]
fn native_code_stands_above_the_java_method_that_has_called_it() {
    each_jdk(|jdk| {
        let profile = run(jdk, ",cstack=y").profile();
        // Native frames are the innermost ones of their stack, and no more than there is room for.
        for trace in profile.traces.values() {
            let inner = trace.frames.iter();
            let inner = inner.take_while(|frame| frame.starts_with(PREFIX));
            let inner = inner.count();
            let all = trace.frames.iter();
            let all = all.filter(|frame| frame.starts_with(PREFIX));
            assert_eq!(inner, all.count(), "{trace:?}");
            assert!(inner <= 32 && trace.frames.len() - inner <= 16, "{trace:?}");
        }
        let in_zlib = |trace: &Trace| trace.frames.iter().any(|it| it.contains("eflate"));
        let native = share(&profile, "NativeWork.compress", |trace| {
            is_native(trace) && in_zlib(trace)
        });
        assert!(native > 0.9, "{native:.3} of compress is native");
        let native = share(&profile, "NativeWork.read", is_native);
        assert!(native > 0.5, "{native:.3} of read is native");
        let native = share(&profile, "NativeWork.java", is_native);
        assert!(native < 0.1, "{native:.3} of java is native");
        for method in ["compress", "read", "resolve", "java"] {
            let samples = profile.samples_with(&format!("NativeWork.{method}"));
            assert!(samples > 300, "{samples} of {method}");
        }
    });
}

/// A native method, and the function of a library of the JDK that it is.
struct NativeMethod {
    method: &'static str,
    function: &'static str,
}

/// The C library has no frame pointers on any system, nor have most builds of zlib. Frame pointers alone lead from
/// both to Java's frame at once, past the JDK's library.
const CALLERS_WITHOUT_FRAME_POINTERS: [NativeMethod; 2] = [
    NativeMethod {
        method: "java.util.zip.Deflater.deflateBytesBytes",
        function: "[native] Java_java_util_zip_Deflater_deflateBytesBytes",
    },
    NativeMethod {
        method: "java.io.UnixFileSystem.canonicalize0",
        function: "[native] Java_java_io_UnixFileSystem_canonicalize0",
    },
];

#[test]
#[cfg(target_arch = "x86_64")]
fn code_without_frame_pointers_has_its_callers() {
    each_jdk(|jdk| {
        let profile = run(jdk, ",cstack=y").profile();
        for NativeMethod { method, function } in CALLERS_WITHOUT_FRAME_POINTERS {
            let is_inside = |trace: &Trace| {
                let java = trace.frames.iter().find(|it| !it.starts_with(PREFIX));
                is_native(trace) && java.is_some_and(|java| java.contains(method))
            };
            let all = profile.samples(is_inside);
            let with_function = profile.samples(|trace| {
                is_inside(trace) && trace.frames.iter().any(|frame| frame.contains(function))
            });
            // The others were taken while the VM let the thread into the function or out of it, as around a collection.
            let share = with_function as f64 / all as f64;
            assert!(share > 0.9, "{share:.3} of {all} samples in {method}");
            assert!(all > 300, "{all} samples in {method}");
        }
    });
}

#[test]
fn stacks_have_no_native_code_unless_it_is_wanted() {
    each_jdk(|jdk| {
        let profile = run(jdk, "").profile();
        assert_eq!(profile.samples(is_native), 0);
        assert!(profile.samples_with("NativeWork.compress") > 300);
    });
}

#[test]
fn binary_profiles_and_pictures_have_them() {
    each_jdk(|jdk| {
        let outcome = run(jdk, ",cstack=y,format=b");
        let profile = outcome.binary_profile("java.hprof");
        let mut frames = profile.frames.values();
        assert!(frames.any(|frame| frame.method.starts_with(PREFIX)));
        let outcome = run(jdk, ",cstack=y,file=cpu.collapsed");
        let lines = String::from_utf8(outcome.bytes("cpu.collapsed")).expect("UTF-8");
        let found = lines
            .lines()
            .any(|line| line.contains("NativeWork.compress;") && line.contains(";[native] "));
        assert!(found, "{lines}");
    });
}
