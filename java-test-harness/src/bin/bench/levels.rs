//! Heap dumps with less in them, against the VM's full dump of the heap in the same JVM.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use java_test_harness::Jdk;

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};
use super::heap::big;

/// A dump of the agent, and what it is compared with.
struct Case {
    options: &'static str,
    file: &'static str,
    /// The VM compresses its dump as well.
    is_packed: bool,
    /// The most times as long as the VM's full dump.
    most: Wanted,
}

const fn case(options: &'static str, file: &'static str, is_packed: bool, most: Wanted) -> Case {
    Case {
        options,
        file,
        is_packed,
        most,
    }
}

const CASES: [Case; 5] = [
    case(
        "dumplevel=2,format=b",
        "a.hprof",
        false,
        Wanted::AtMost(1.05),
    ),
    case("dumplevel=2", "a.hprof.gz", true, Wanted::AtMost(1.05)),
    case(
        "dumplevel=1,format=b",
        "a.hprof",
        false,
        Wanted::AtMost(1.1),
    ),
    case("dumplevel=1", "a.hprof.gz", false, Wanted::AtMost(1.3)),
    case("dumplevel=1", "a.hprof.zst", false, Wanted::Any),
];

/// A dump of the VM and one of the agent.
struct Pair {
    vm_seconds: f64,
    seconds: f64,
    vm_bytes: f64,
    /// On the disk.
    bytes: f64,
    /// By how much the largest memory of the JVM grew with the agent's dump, in MiB.
    more: f64,
}

/// The most memory that a process has had, in MiB.
fn largest_memory(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: f64 = kibibytes.context("no VmHWM")?.trim().parse()?;
    Ok(kibibytes / 1024.0)
}

fn pair(jdk: &'static Jdk, case: &Case) -> Result<Pair> {
    let Case { options, file, .. } = case;
    let options = format!("heap=dump,doe=n,{options},file={file}");
    let running = big(jdk).agent(&options).args(["wait"]).start();
    running.wait_for_line("full");
    // The first command makes the VM load classes.
    running.jcmd(&["VM.version"]);
    let full = running.path("vm.hprof");
    let started = Instant::now();
    let name = full.to_str().context("no text")?;
    match case.is_packed {
        true => running.jcmd(&["GC.heap_dump", "-gz=1", name]),
        false => running.jcmd(&["GC.heap_dump", name]),
    };
    let vm_seconds = started.elapsed().as_secs_f64();
    let vm_bytes = fs::metadata(&full)?.len() as f64;
    fs::remove_file(full)?;
    let before = largest_memory(running.pid())?;
    let started = Instant::now();
    // Ends when the dump is written.
    running.jcmd(&["JVMTI.data_dump"]);
    let seconds = started.elapsed().as_secs_f64();
    ensure!(running.stderr().contains(" objects, "), "no dump");
    let more = largest_memory(running.pid())? - before;
    let bytes = fs::metadata(running.path(file))?.blocks() as f64 * 512.0;
    fs::write(running.path("end"), "")?;
    running.finish().expect_status(0);
    Ok(Pair {
        vm_seconds,
        seconds,
        vm_bytes,
        bytes,
        more,
    })
}

/// Dumps of 13 million objects.
pub fn levels(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    // JDK 11 compresses nothing.
    for jdk in Jdk::tested().into_iter().filter(|jdk| jdk.feature() >= 17) {
        for case in CASES {
            let name = format!("{jdk}, {},file={}", case.options, case.file);
            if !arguments.chooses(&name) {
                continue;
            }
            let pairs = (0..arguments.pairs).map(|_| pair(jdk, &case));
            let pairs = pairs.collect::<Result<Vec<_>>>()?;
            let of = |value: fn(&Pair) -> f64| median(pairs.iter().map(value));
            let mut add = |measure, unit, plain, profiled, result, wanted| {
                figures.add(Figure {
                    benchmark: "levels",
                    case: name.clone(),
                    measure,
                    plain: Some(plain),
                    profiled,
                    unit,
                    result,
                    wanted,
                });
            };
            let (vm, ours) = (of(|it| it.vm_seconds), of(|it| it.seconds));
            let ratio = of(|it| it.seconds / it.vm_seconds);
            add("wall : jcmd, ratio", "s", vm, ours, ratio, case.most);
            let (vm, ours) = (of(|it| it.vm_bytes / 1e6), of(|it| it.bytes / 1e6));
            add("size, ratio", "MB", vm, ours, ours / vm, Wanted::Any);
            let more = of(|it| it.more);
            add("memory, more", "MiB", 0.0, more, more, Wanted::AtMost(40.0));
        }
    }
    Ok(())
}
