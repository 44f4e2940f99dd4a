//! Memory that a JNI library takes, which is compiled here.

#![allow(clippy::disallowed_macros)]

use std::fs;
use std::process::Command;

use java_test_harness::{Jdk, Run, Running, each_jdk};

use crate::support::Scene;
use crate::{MAPPED, account, check_sum, first_cause};

const SOURCE: &str = r"
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void Java_NativeMemory_allocate(void *env, void *type, int megabytes) {
    for (int i = 0; i < megabytes; i++) {
        char *block = malloc(1 << 20);
        if (block != NULL) memset(block, 1, 1 << 20);
    }
}

void Java_NativeMemory_huge(void *env, void *type, int megabytes) {
    size_t size = (size_t) megabytes << 20;
    char *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return;
    madvise(start, size, MADV_HUGEPAGE);
    for (size_t at = 0; at < size; at += 2 << 20) start[at] = 1;
}

void Java_NativeMemory_map(void *env, void *type, int megabytes) {
    size_t size = (size_t) megabytes << 20;
    char *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start != MAP_FAILED) memset(start, 1, size);
}
";

/// The library in the scene's folder; `None` without a C compiler.
fn library(scene: &Scene) -> Option<String> {
    let source = scene.path("taker.c");
    fs::write(&source, SOURCE).expect("a file");
    let library = scene.path("libtaker.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .status();
    let is_there = compiled.is_ok_and(|status| status.success());
    let required = std::env::var_os("HPROF_RS_BUILD_TOOLS").is_some_and(|it| it == "required");
    assert!(is_there || !required, "there is no C compiler");
    is_there.then(|| library.to_str().expect("a path in UTF-8").to_owned())
}

fn started(jdk: &'static Jdk, mode: &str, library: &str) -> Running {
    let jvm = Run::new(jdk)
        .jvm_args(["-XX:NativeMemoryTracking=summary"])
        .class("NativeMemory")
        .args([mode, MAPPED, library])
        .start();
    jvm.wait_for_line("ready");
    jvm
}

#[test]
fn a_leak_of_a_jni_library_is_named_with_the_library() {
    let scene = Scene::new();
    let Some(library) = library(&scene) else {
        eprintln!("not tested: there is no C compiler");
        return;
    };
    each_jdk(|jdk| {
        let jvm = started(jdk, "jni", &library);
        let account = account(&scene, &jvm, &[]);
        assert_eq!(first_cause(&account), "native_memory", "{account:#}");
        assert_eq!(account["causes"][0]["libraries"][0], "libtaker.so");
        check_sum(&account, 0.02);
    });
}

#[test]
fn memory_that_a_library_maps_is_unexplained_and_said_so() {
    let scene = Scene::new();
    let Some(library) = library(&scene) else {
        eprintln!("not tested: there is no C compiler");
        return;
    };
    let jvm = started(Jdk::feature_release(17), "map", &library);
    let account = account(&scene, &jvm, &[]);
    assert_eq!(first_cause(&account), "unexplained", "{account:#}");
    assert!(
        crate::row(&account, "unexplained") >= 200 << 20,
        "{account:#}"
    );
    assert_eq!(account["causes"][0]["libraries"][0], "libtaker.so");
}

#[test]
fn huge_pages_are_named() {
    let scene = Scene::new();
    let Some(library) = library(&scene) else {
        eprintln!("not tested: there is no C compiler");
        return;
    };
    let jvm = started(Jdk::feature_release(17), "huge", &library);
    let account = account(&scene, &jvm, &[]);
    let rows = account["table"]["rows"].as_array().expect("rows");
    let huge: u64 = rows.iter().filter_map(|row| row["huge"].as_u64()).sum();
    // A kernel without them, or one that has none left, gives small pages.
    if huge < 150 << 20 {
        eprintln!("not tested: the kernel gave {huge} bytes of huge pages");
        return;
    }
    let causes = account["causes"].as_array().expect("causes").iter();
    let mut names = causes.map(|cause| &cause["cause"]);
    assert!(names.any(|name| name == "huge_pages"), "{account:#}");
}
