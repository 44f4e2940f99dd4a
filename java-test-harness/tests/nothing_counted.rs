//! A mode that counts nothing of what it was asked for says so, with the reason, and the end does not offer the file as a
//! profile.

use java_test_harness::{Jdk, Outcome, Run};

/// Runs a program as `hprof-rs run` does, whose end offers the profile.
fn run(options: &str) -> Outcome {
    let run = Run::new(Jdk::compiler()).agent(options).class("HelloWorld");
    let run = run.env("HPROF_RS_RUN_FROM", "/");
    run.run().expect_status(0)
}

/// Expects these lines, in any order, and that the profile is offered only if `is_offered`.
fn expect(outcome: &Outcome, lines: &[&str], is_offered: bool) {
    for line in lines {
        let count = outcome.stderr.lines().filter(|it| it == line).count();
        assert_eq!(count, 1, "\"{line}\" in\n{}", outcome.stderr);
    }
    let said = |text: &str| outcome.stderr.contains(text);
    let nothing = " has no counts, for the reason above";
    assert_eq!(said(nothing), !is_offered, "{}", outcome.stderr);
    assert_eq!(said("look at it with"), is_offered, "{}", outcome.stderr);
}

#[test]
fn modes_that_counted_nothing_say_why() {
    let outcome = run("cpu=times,include=no.such.*");
    let line = "HPROF: cpu=times has counted no call: the program loaded no class that include= and exclude= choose";
    expect(&outcome, &[line], false);
    let outcome = run("cpu=old,include=java.util.zip.CRC32C");
    let line = "HPROF: cpu=old has counted no call: the program loaded no class that include= and exclude= choose";
    expect(&outcome, &[line], false);
    let outcome = run("cpu=samples,depth=0");
    let line =
        "HPROF: cpu=samples has no sample with a stack: depth=0 keeps no stacks, so leave it out";
    expect(&outcome, &[line], false);
}

/// One mode has counts, so the file is a profile.
#[test]
fn a_profile_with_some_counts_is_offered() {
    let outcome = run("cpu=times,include=no.such.*,heap=sites");
    let line = "HPROF: cpu=times has counted no call: the program loaded no class that include= and exclude= choose";
    expect(&outcome, &[line], true);
    let outcome = run("cpu=times,heap=sites,monitor=y");
    expect(&outcome, &[], true);
    let remarks = outcome
        .stderr
        .lines()
        .filter(|line| line.starts_with("HPROF:"));
    assert_eq!(remarks.collect::<Vec<_>>(), [""; 0]);
}
